"""``beskar-codegen``: the command.

It says what it found on standard output, in the format that is asked for, and what it did on standard error. Exit codes
of ``generate`` and ``check``: 0 fine; 1 generated files are stale, or the contract is broken; 2 diagnostics, or wrong
use. Nothing heavy is imported before a command runs, so that ``--help`` and a check without changes answer at once.

A mistake of the generator itself is one line too; ``--verbose`` shows where it happened.
"""

from __future__ import annotations

import gc
import io
import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process; does not return."""
    gc.disable()  # the process ends with the command, and many small objects live as long as it; watch turns it on
    if isinstance(sys.stdout, io.TextIOWrapper):
        # File names need not be text, nor need what stands in string literals; the escape is one of JSON's too.
        sys.stdout.reconfigure(errors="backslashreplace")
    from beskar_codegen.cli.app import app  # noqa: PLC0415  # the package itself loads nothing

    try:
        app(prog_name="beskar-codegen")
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader of our output has gone, as 'head' does. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
    except Exception as problem:
        if "--verbose" in sys.argv:
            raise
        text = " ".join(str(problem).split())[:300] or "no message"
        text = f"internal error: {type(problem).__name__}: {text}; --verbose shows where"
        sys.stderr.write(f"beskar-codegen: {text}\n")
        sys.exit(2)
