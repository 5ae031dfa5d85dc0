"""``beskar``: the command line.

A command is a thin shell around a public class: it reads its settings, runs a broker, a scheduler, a worker or a
client, and says what came of it. What it says to programs goes to standard output (a result, or JSON with ``--json``)
and nothing else does; logs, progress and errors go to standard error.

Exit codes: 0 fine; 1 an error, told in one line that ends with what to do; 2 wrong use. A process that a second signal
ends at once ends by that signal.

Nothing heavy is imported before a command runs, so that ``beskar --help`` answers at once.
"""

from __future__ import annotations

import os
import sys

__all__ = ["main"]


def main() -> None:
    """Run the command with the arguments of this process; does not return."""
    from beskar_jobs.cli.app import app  # noqa: PLC0415  # the library itself is to stay free of typer
    from beskar_jobs.model.errors import BeskarError, BrokerUnreachable  # noqa: PLC0415  # after the app: errors of use come first

    try:
        app(prog_name="beskar")
    except BrokerUnreachable as problem:
        account = "BESKAR_USERNAME and BESKAR_PASSWORD, or the user in the broker's URL, say who connects"
        sys.exit(f"error: {problem}; {account if problem.denied else '--broker names another'}")
    except BeskarError as problem:
        sys.exit(f"error: {problem}")
    except BrokenPipeError:
        # The reader of our output has gone, as 'head' does. What is still buffered must not fail once more at exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
