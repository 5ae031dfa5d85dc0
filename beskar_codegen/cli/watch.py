"""``watch``: generate, and again whenever something changes.

It looks at names, sizes and times of the source files, of pyproject.toml, of the generated files, and of the files
outside of the sources that the last run has read or looked for, which its cache tells; a look at a thousand files takes
milliseconds, needs no library, and works on every file system. Then ``generate`` runs as usual, with its cache. A first
interrupt or a SIGTERM ends it, with exit code 0: that is how it is meant to end.
"""

from __future__ import annotations

import gc
import signal
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import FrameType
from typing import Any

from beskar_codegen.cli import commands
from beskar_codegen.generation import surroundings_of_last_run
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
    outside, _ = _outside(base, flags)
    seen: tuple[_Marks, _Marks] | None = None
    while not stop.is_set():
        now = _marks(base, flags), _marked(outside)
        if now != seen:
            # What changes while this runs is seen at the next look, for these marks were taken before.
            commands.generate(run)
            before, outside, is_as_it_was = outside, *_outside(base, flags)
            inside = _with_own_changes(now[0], _marks(base, flags), base, flags)
            seen = inside, {**_marked(outside), **{path: now[1][path] for path in now[1] if Path(path) in outside}}
            if not is_as_it_was and not outside <= before:
                # Of files that this run was the first to read there are no marks from before it; their bytes tell.
                seen = None
        stop.wait(interval)
    return 0


def _outside(base: Path, flags: Mapping[str, Any]) -> tuple[frozenset[Path], bool]:
    """The files outside of the sources that the last run depended on, and whether they are as they were then."""
    settings = _settings(base, flags)
    if settings is None:
        return frozenset(), True
    surroundings = surroundings_of_last_run(settings)
    return frozenset(base / path for path in surroundings.paths), surroundings.is_as_it_was


def _marks(base: Path, flags: Mapping[str, Any]) -> _Marks:
    """Size and time of what a run depends on, by path, but for what only the run itself finds."""
    settings = _settings(base, flags)
    paths = [base / FILE]
    if settings is not None:
        paths += [each.file for each in source_files(base, settings.source)]
        paths += [base / settings.descriptors, base / settings.contract]
    return _marked(paths)


def _marked(paths: Iterable[Path]) -> _Marks:
    """Size and time of those of *paths* that are there."""
    marks: _Marks = {}
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
