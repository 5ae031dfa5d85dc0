"""What ``beskar-codegen`` costs on 1,000 handlers in 500 modules, beside mypy on the same corpus in the same run.

    python benchmarks/codegen.py [--modules N]

Each figure is the wall time of a whole process. Of runs that change nothing the best of five is told, of the others the
only one: a cold run writes 500 stubs, and mypy runs without its cache.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

from _handlers_corpus import write_corpus

REPOSITORY = Path(__file__).resolve().parents[1]
CODEGEN = (sys.executable, "-c", "from beskar_codegen.cli import main; main()")


def seconds(root: Path, *command: str, expected: int = 0) -> float:
    environment = {**os.environ, "PYTHONPATH": str(REPOSITORY)}
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=root, env=environment, capture_output=True, text=True, check=False)
    taken = time.perf_counter() - begun
    if done.returncode != expected:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return taken


def best(root: Path, *command: str) -> float:
    return min(seconds(root, *command) for _ in range(5))


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    if old not in text:
        sys.exit(f"{path} has no {old!r}")
    path.write_text(text.replace(old, new, 1))


def tell(what: str, taken: float, goal: str) -> None:
    print(f"{what:<44} {taken:8.2f} s   {goal}", flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--modules", type=int, default=500)
    modules = parser.parse_args().modules
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder) / "shop"
        root.mkdir()
        lines = write_corpus(root, modules)
        print(f"{2 * modules:,} handlers, {lines:,} lines, {os.cpu_count()} cores")
        tell("beskar-codegen --help", best(root, *CODEGEN, "--help"), "goal: below 0.25 s")
        cold = seconds(root, *CODEGEN, "generate")
        tell("generate, cold", cold, "")
        tell("check, nothing changed", best(root, *CODEGEN, "check"), "goal: below 0.5 s")
        edit(root / "shop/jobs/area_001.py", "log.info(", 'log.debug("now")\n        log.info(')
        tell("generate, the body of one file changed", seconds(root, *CODEGEN, "generate"), "goal: below 0.7 s")
        edit(root / "shop/types/area_001.py", "lines: int = 1000", "lines: int = 2000")
        tell("generate, a default in one file changed", seconds(root, *CODEGEN, "generate"), "goal: below 0.7 s")
        mypy = seconds(
            root, sys.executable, "-m", "mypy", "--strict", "--cache-dir", os.devnull, "shop/jobs", "shop/types"
        )
        tell("mypy --strict, cold", mypy, f"codegen takes {cold / mypy:.2f} of it; goal: below 0.25")


if __name__ == "__main__":
    main()
