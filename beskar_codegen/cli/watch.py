"""``watch``: generate, and again whenever something changes.

It looks at names, sizes and times of the source files, of pyproject.toml and of the generated files; a look at a
thousand files takes milliseconds, needs no library, and works on every file system. Then ``generate`` runs as usual,
with its cache. A first interrupt or a SIGTERM ends it, with exit code 0: that is how it is meant to end.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from beskar_codegen.cli import commands
from beskar_codegen.read.discovery import source_files
from beskar_codegen.report import ReportFormat
from beskar_codegen.settings import FILE, Settings, SettingsError, find_root, load

_Marks = dict[str, tuple[int, int]]


def watch_project(root: Path | None, flags: Mapping[str, Any], form: ReportFormat, interval: float) -> int:
    """Watch until interrupted; *interval* in seconds. The answer is the exit code."""
    gc.enable()  # this process lives long
    stop = threading.Event()

    def end(signum: int, frame: FrameType | None) -> None:
        stop.set()

    for each in (signal.SIGINT, signal.SIGTERM):
        signal.signal(each, end)
    run = commands.Run(root, flags, form)
    base = (root or find_root(Path.cwd())).resolve()
    print(f"watching {base}; interrupt to end", file=sys.stderr)  # noqa: T201  # for people
    seen: _Marks | None = None
    while not stop.is_set():
        now = _marks(base, flags)
        if now != seen:
            # What changes while this runs is seen at the next look, for these marks were taken before.
            commands.generate(run)
            seen = _with_own_changes(now, _marks(base, flags), base, flags)
        stop.wait(interval)
    return 0


def _marks(base: Path, flags: Mapping[str, Any]) -> _Marks:
    """Size and time of all that a run depends on, by path."""
    marks: _Marks = {}
    settings = _settings(base, flags)
    paths = [base / FILE]
    if settings is not None:
        paths += [each.file for each in source_files(base, settings.source)]
        paths += [base / settings.descriptors, base / settings.contract]
    for path in paths:
        try:
            status = path.stat()
        except OSError:
            continue
        marks[str(path)] = (status.st_mtime_ns, status.st_size)
    return marks


def _with_own_changes(before: _Marks, after: _Marks, base: Path, flags: Mapping[str, Any]) -> _Marks:
    """The marks *before* the run, with those of what the run itself has written."""
    settings = _settings(base, flags)
    if settings is None:
        return before
    marks = dict(before)
    for path in (str(base / settings.descriptors), str(base / settings.contract)):
        marks.pop(path, None)
        if path in after:
            marks[path] = after[path]
    return marks


def _settings(base: Path, flags: Mapping[str, Any]) -> Settings | None:
    try:
        return load(base, root=base, flags=flags)
    except SettingsError:
        return None
