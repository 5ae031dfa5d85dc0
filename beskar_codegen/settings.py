"""Settings: ``[tool.beskar.codegen]`` of the nearest pyproject.toml, from the current folder upward; flags override.

The folder of that file is the project's root, and all paths are relative to it, with forward slashes. Defaults:

===========  ========================================================================================================
source       ``["src"]`` if there is such a folder, else the packages at the root (not ``tests`` and the like), else
             ``["."]``
descriptors  ``jobs.py`` in the package, if the sources are one package; else ``jobs.py`` at the import root
stubs        ``"stubs"``; ``""`` for none
contract     ``"beskar_jobs.lock.json"``
mode         ``"import"``: descriptors import the types from where they are defined; ``"standalone"``: they define them
===========  ========================================================================================================

Without a pyproject.toml the root is the current folder, with these defaults. An unknown key, a value of another type
and a path that leads out of the root are JOBGEN070, naming key and file.
"""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any, Final

import attrs

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place
from beskar_codegen.read.discovery import import_root, relative_path
from beskar_jobs.handlers import rules

FILE: Final = "pyproject.toml"
MODES: Final = ("import", "standalone")
_KEYS: Final = ("source", "descriptors", "stubs", "contract", "mode")
_NO_SOURCE: Final = {
    "tests",
    "test",
    "docs",
    "doc",
    "examples",
    "stubs",
    "build",
    "dist",
    "benchmarks",
    "tools",
    "scripts",
}
_RUFF_LINE_LENGTH: Final = 88


@attrs.frozen
class Settings:
    """What to read, and where to write; see the module's text for the defaults.

    Attributes:
        root: the project's folder, absolute.
        source: folders and files with handlers.
        line_length: Ruff's, from ``[tool.ruff]``, so that generated code passes ``ruff format --check``.
    """

    root: Path
    source: tuple[str, ...]
    descriptors: str
    stubs: str = "stubs"
    contract: str = "beskar_jobs.lock.json"
    mode: str = "import"
    line_length: int = _RUFF_LINE_LENGTH

    @property
    def import_roots(self) -> tuple[str, ...]:
        """The folders that the names of modules start below, ``""`` for the root, each once."""
        return tuple(dict.fromkeys(_import_root(self.root, entry) for entry in self.source))

    @property
    def descriptors_root(self) -> str:
        """The import root that the descriptor module lies below."""
        roots = sorted(self.import_roots, key=len, reverse=True)
        return next((root for root in roots if not root or self.descriptors.startswith(root + "/")), "")


class SettingsError(Exception):
    """The settings cannot be used; *diagnostics* say why."""

    def __init__(self, diagnostics: tuple[Diagnostic, ...]) -> None:
        super().__init__("; ".join(each.message for each in diagnostics))
        self.diagnostics = diagnostics


def load(start: Path, *, root: Path | None = None, flags: Mapping[str, Any] | None = None) -> Settings:
    """The settings that hold in the folder *start*.

    Args:
        root: the project's folder, instead of looking for it.
        flags: values that override the file's, by key; ``None`` for those that were not given.

    Raises:
        SettingsError: JOBGEN070, each breach once.
    """
    root = (root or find_root(start)).resolve()
    table, line_length, lines = _read(root / FILE)
    problems = [
        _problem(f"has no key {key!r}", key="[tool.beskar.codegen]", way=_nearest(key), line=_line(lines, key))
        for key in table
        if key not in _KEYS
    ]
    values: dict[str, Any] = {key: value for key, value in table.items() if key in _KEYS}
    given = {key: value for key, value in (flags or {}).items() if value is not None}
    for origin, each in ((FILE, values), ("command line", given)):
        for key, value in each.items():
            wrong = _wrong(root, key, value)
            if wrong is not None:
                name = key if origin == FILE else f"--{key}"
                problems.append(_problem(wrong[0], key=name, way=wrong[1], line=_line(lines, key), path=origin))
    if problems:
        raise SettingsError(tuple(sorted(set(problems))))
    values |= given
    source = tuple(_clean(entry) for entry in values.get("source") or _default_source(root))
    return Settings(
        root=root,
        source=source,
        descriptors=_clean(values.get("descriptors") or _default_descriptors(root, source)),
        stubs=_clean(values["stubs"]) if values.get("stubs") else values.get("stubs", "stubs"),
        contract=_clean(values.get("contract") or "beskar_jobs.lock.json"),
        mode=values.get("mode", "import"),
        line_length=line_length,
    )


def find_root(start: Path) -> Path:
    """The nearest folder with a pyproject.toml from *start* upward; *start* itself if there is none."""
    start = start.resolve()
    return next((folder for folder in (start, *start.parents) if (folder / FILE).is_file()), start)


def _read(file: Path) -> tuple[dict[str, Any], int, list[str]]:
    """The section, the line length, and the file's lines."""
    try:
        text = file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}, _RUFF_LINE_LENGTH, []
    except (OSError, UnicodeDecodeError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise SettingsError((_problem(f"cannot be read: {reason}", key="the file", way="see to the file"),)) from error
    try:
        document: Any = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        problem = _problem(f"is not valid TOML: {error}", key="the file", way="correct the file")
        raise SettingsError((problem,)) from error
    lines = text.splitlines()
    section: Any = document
    for name in ("tool", "beskar", "codegen"):
        section = section.get(name, {}) if isinstance(section, dict) else section
    if not isinstance(section, dict):
        wrong = _problem("is not a table", key="[tool.beskar.codegen]", way="write it as a section of its own")
        raise SettingsError((wrong,))
    length: Any = document.get("tool", {}).get("ruff", {})
    length = length.get("line-length") if isinstance(length, dict) else None
    return section, length if type(length) is int and length > 0 else _RUFF_LINE_LENGTH, lines


def _wrong(root: Path, key: str, value: object) -> tuple[str, str] | None:
    """What is wrong with *value*, and the way out."""
    if key == "mode":
        if value not in MODES:
            return f'is "import" or "standalone", not {value!r}', 'write mode = "import" or mode = "standalone"'
        return None
    if key == "source":
        if not isinstance(value, list | tuple) or not value or not all(isinstance(each, str) for each in value):
            return f"is a list of folders or files, not {value!r}", 'write source = ["app"]'
        for each in value:
            wrong = _wrong_path(each)
            if wrong is not None:
                return wrong
            if not (root / each).exists():
                return f"names {each!r}, which does not exist", "name folders or files below the project's root"
        return None
    if not isinstance(value, str):
        return f"is a path, not {value!r}", f'write {key} = "…"'
    if not value.strip():
        return None if key == "stubs" else ("is empty", "name a path, or leave the key out for the default")
    if key == "descriptors" and not value.endswith(".py"):
        return f"is the path of a Python module, not {value!r}", 'write descriptors = "app/jobs.py"'
    if key == "contract" and not value.endswith(".json"):
        return f"is the path of a JSON file, not {value!r}", 'write contract = "beskar_jobs.lock.json"'
    if key == "stubs" and not PurePosixPath(value.replace("\\", "/")).parts:
        return "is the project itself, where stubs would stand among the sources", 'write stubs = "stubs"'
    return _wrong_path(value)


def _wrong_path(value: str) -> tuple[str, str] | None:
    path = PurePosixPath(value.replace("\\", "/"))
    if path.is_absolute() or ".." in path.parts or "\0" in value:
        return f"leads out of the project: {value!r}", "name a path below the project's root"
    return None


def _clean(entry: str) -> str:
    return PurePosixPath(entry.replace("\\", "/")).as_posix()


def _default_source(root: Path) -> tuple[str, ...]:
    if (root / "src").is_dir():
        return ("src",)
    packages = sorted(each.parent.name for each in root.glob("*/__init__.py") if each.parent.name not in _NO_SOURCE)
    return tuple(packages) or (".",)


def _default_descriptors(root: Path, source: tuple[str, ...]) -> str:
    packages: list[str] = []
    for entry in source:
        if (root / entry / "__init__.py").is_file():
            packages.append(entry)
        elif entry == "src":
            packages += [f"src/{each.parent.name}" for each in sorted((root / "src").glob("*/__init__.py"))]
        elif entry != "." and (root / entry).is_dir():
            packages.append(entry)
    if len(packages) == 1:
        return f"{packages[0]}/jobs.py"
    base = _import_root(root, source[0])
    return f"{base}/jobs.py" if base else "jobs.py"


def _import_root(root: Path, entry: str) -> str:
    return relative_path(root, import_root(root, root / entry)).removeprefix(".")


def _problem(problem: str, *, key: str, way: str, line: int = 1, path: str = FILE) -> Diagnostic:
    place = Place(FILE, line, 1, line, 1)
    return breach(rules.JOBGEN070, place, path=path, key=key, problem=problem, way=way)


def _nearest(key: str) -> str:
    close = difflib.get_close_matches(key, _KEYS, n=1)
    return f"did you mean {close[0]!r}?" if close else f"the keys are {', '.join(_KEYS)}"


def _line(lines: list[str], key: str) -> int:
    """The line of *key* within the section, as far as a look at the text tells."""
    inside = False
    for number, line in enumerate(lines, 1):
        text = line.strip()
        if text.startswith("["):
            inside = text.replace(" ", "").startswith("[tool.beskar.codegen]")
        elif inside and text.partition("=")[0].strip().strip("\"'") == key:
            return number
    return 1
