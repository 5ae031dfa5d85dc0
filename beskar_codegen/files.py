"""Generated files on the disk: what would change, and the change itself. The rest of the generator writes nothing.

A file is written beside its place and renamed, so that it is the old one or the new one, whenever the process ends.
What is the same is left alone, its modification time too. Only files with the generator's own header are overwritten
or removed: one without it is somebody else's (JOBGEN073), one whose digest does not fit its contents was edited
(JOBGEN071). Both are told and left as they are, unless the user forces it; and as long as one is in the way nothing is
written at all, so that the files that belong together stay together. Line ends that a checkout turned into CRLF are no
difference.
"""

from __future__ import annotations

import contextlib
import difflib
import os
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from pathlib import Path

import attrs

from beskar_codegen.breaches import breach
from beskar_codegen.emit.header import read_header
from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers import rules


class ChangeKind(StrEnum):
    """What happens to a file."""

    CREATE = "create"
    UPDATE = "update"
    REMOVE = "remove"


@attrs.frozen
class FileChange:
    """One file that is not as it shall be; the texts are empty where there is no file before or after."""

    kind: ChangeKind
    path: str
    before: str = ""
    after: str = ""

    def diff(self) -> str:
        """The change as a unified diff."""
        return "".join(_diff_lines(self))


@attrs.frozen
class FilePlan:
    """All changes, sorted by path, and what stands in their way."""

    changes: tuple[FileChange, ...] = ()
    problems: tuple[Diagnostic, ...] = ()


def plan_files(
    root: Path,
    wanted: Mapping[str, str],
    *,
    owned: Sequence[str] = (),
    without_header: Iterable[str] = (),
    is_forced: bool = False,
) -> FilePlan:
    """Compare *wanted* with what is there.

    Args:
        wanted: contents by path relative to *root*.
        owned: folders in which generated files that are not wanted are stale, and are removed.
        without_header: paths among *wanted* that carry no header and that the caller has checked.
        is_forced: overwrite also what was edited, or is not ours.
    """
    changes, problems = [], []
    unchecked = set(without_header)
    for path, after in sorted(wanted.items()):
        try:
            before = _read(root / path)
        except OSError as error:
            problems.append(_unwritable(path, error))
            continue
        if before == after:
            continue
        if before is None:
            changes.append(FileChange(ChangeKind.CREATE, path, "", after))
            continue
        problem = None if is_forced or path in unchecked else _in_the_way(path, before)
        if problem is not None:
            problems.append(problem)
        changes.append(FileChange(ChangeKind.UPDATE, path, before, after))
    for path in sorted(set(_generated_below(root, owned)).difference(wanted)):
        before = _read(root / path) or ""
        problem = None if is_forced else _in_the_way(path, before)
        if problem is not None:
            problems.append(problem)
        changes.append(FileChange(ChangeKind.REMOVE, path, before))
    return FilePlan(tuple(changes), tuple(problems))


def apply(root: Path, changes: Iterable[FileChange]) -> list[Diagnostic]:
    """Make the *changes*; those that cannot be made are the answer (JOBGEN072), and their files are as before."""
    problems = []
    for change in changes:
        try:
            if change.kind is ChangeKind.REMOVE:
                _remove(root, root / change.path)
            else:
                write_atomically(root / change.path, change.after.encode())
        except OSError as error:
            problems.append(_unwritable(change.path, error))
    return problems


def write_atomically(path: Path, data: bytes) -> None:
    """Put *data* at *path*, whole or not at all. Folders are made as needed, the permissions of an old file kept.

    Raises:
        OSError: it cannot be done, and nothing has changed.
    """
    path = path.resolve()  # through a symbolic link, which stays one
    path.parent.mkdir(parents=True, exist_ok=True)
    try:
        mode = path.stat().st_mode & 0o777
    except FileNotFoundError:
        mode = 0o666 & ~_umask()
    if path.exists() and not os.access(path, os.W_OK):
        raise PermissionError(13, "Permission denied", str(path))  # a rename would not ask
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
        os.chmod(name, mode)
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(name)
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _read(path: Path) -> str | None:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None
    return data.decode("utf-8", "replace").replace("\r\n", "\n")


def _in_the_way(path: str, text: str) -> Diagnostic | None:
    header = read_header(text)
    if header is None:
        # An empty file is nobody's work: an editor or `touch` has made it.
        return breach(rules.JOBGEN073, Place(path), path=path) if text.strip() else None
    return None if header.is_intact else breach(rules.JOBGEN071, Place(path), path=path)


def _unwritable(path: str, error: OSError) -> Diagnostic:
    return breach(rules.JOBGEN072, Place(path), path=path, problem=error.strerror or str(error))


def _generated_below(root: Path, folders: Sequence[str]) -> Iterator[str]:
    for folder in folders:
        for path in sorted((root / folder).rglob("*.pyi")):
            try:
                with path.open("rb") as file:
                    head = file.read(400)
            except OSError:
                continue
            if head.startswith(b"# Generated by beskar-codegen "):
                yield path.relative_to(root).as_posix()


def _remove(root: Path, path: Path) -> None:
    """Remove *path*, and the folders that are empty without it."""
    path.unlink(missing_ok=True)
    folder = path.parent
    while folder != root and root in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _diff_lines(change: FileChange) -> Iterator[str]:
    old = "/dev/null" if change.kind is ChangeKind.CREATE else f"a/{change.path}"
    new = "/dev/null" if change.kind is ChangeKind.REMOVE else f"b/{change.path}"
    before, after = change.before.splitlines(keepends=True), change.after.splitlines(keepends=True)
    for line in difflib.unified_diff(before, after, old, new):
        if line.endswith("\n"):
            yield line
        else:
            yield line + "\n"
            yield "\\ No newline at end of file\n"
