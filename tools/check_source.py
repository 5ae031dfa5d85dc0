"""Checks of the source that no linter at hand makes; part of ``make check``.

    python tools/check_source.py

Three rules, each over the project's own Python files:

* A package's ``__all__`` names exactly its public names: what its ``__init__.py`` defines, and what it imports from its
  own distribution without using it there (also under ``TYPE_CHECKING``, which is how a name is exported lazily). A
  package that exports nothing needs none. Names from elsewhere (``Final``, ``annotations``) are not exports.
* A module of the library stays near 400 lines: above 400 is a warning, above 450 an error.
* Whoever silences a type checker says for which rule, and why: ``# type: ignore[arg-type]  # stub is wrong: …``. In
  tests the rule is enough: there the wrong use is the point.

Findings are printed as ``path:line: text``; the exit status is 1 if one of them is an error. The source is parsed and
never imported.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

LIBRARY = ("beskar_jobs", "beskar_codegen")
ALL_SOURCE = (*LIBRARY, "benchmarks", "examples", "tests", "tools")
# Input of the code generator's tests: projects of their own, with mistakes, one of them not even text.
LEFT_OUT = (Path("tests/codegen/cases"), Path("tests/codegen/project"))
WARN_LINES = 400
MAX_LINES = 450

_IGNORE = re.compile(r"#\s*(?P<tool>type|pyright):\s*ignore(?P<rules>\[[^\]]+\])?(?P<rest>.*)", re.DOTALL)
_REASON = re.compile(r"\s*(#|--|:|-)?\s*\w{2,}")


@dataclass(frozen=True, order=True)
class Finding:
    path: Path
    line: int
    text: str
    is_error: bool = True

    def __str__(self) -> str:
        return f"{self.path}:{self.line}: {'error' if self.is_error else 'warning'}: {self.text}"


def check_exports(path: Path, source: str) -> Iterator[Finding]:
    """Compare ``__all__`` in the ``__init__.py`` at *path* with its public names."""
    own = path.parts[0] if path.parts else ""
    tree = ast.parse(source, str(path))
    used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
    bound: set[str] = set()
    public: set[str] = set()
    declared: ast.expr | None = None
    for statement in _top_level(tree.body):
        for name, value in _bindings(statement, own):
            if name == "__all__":
                declared = value
            elif not name.startswith("_"):
                bound.add(name)
                if not (isinstance(statement, ast.ImportFrom) and name in used):
                    public.add(name)
    if declared is None:
        if public:
            yield Finding(path, 1, f"no __all__, but these public names: {', '.join(sorted(public))}")
        return
    try:
        names = list(ast.literal_eval(declared))
    except ValueError:
        yield Finding(path, declared.lineno, "__all__ is not a literal list, so that no tool can read it")
        return
    if missing := public.difference(names):
        yield Finding(path, declared.lineno, f"__all__ lacks {', '.join(sorted(missing))}")
    if unknown := set(names).difference(bound, ["__version__"]):
        yield Finding(path, declared.lineno, f"__all__ names what is not defined here: {', '.join(sorted(unknown))}")
    if len(set(names)) < len(names):
        yield Finding(path, declared.lineno, "__all__ names something twice")


def _top_level(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Statements that bind names of the module: those of ``if`` and ``try`` at module level too."""
    for statement in body:
        if isinstance(statement, ast.If):
            yield from _top_level([*statement.body, *statement.orelse])
        elif isinstance(statement, ast.Try):
            handlers = [inner for handler in statement.handlers for inner in handler.body]
            yield from _top_level([*statement.body, *handlers, *statement.orelse, *statement.finalbody])
        else:
            yield statement


def _bindings(statement: ast.stmt, own: str) -> Iterator[tuple[str, ast.expr | None]]:
    match statement:
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            yield statement.name, None
        case ast.ImportFrom(module=module, level=level, names=names):
            if level or (module or "").split(".")[0] == own:
                for alias in names:
                    yield alias.asname or alias.name, None
        case ast.Assign(targets=targets, value=value):
            for target in targets:
                for node in ast.walk(target):
                    if isinstance(node, ast.Name):
                        yield node.id, value
        case ast.AnnAssign(target=ast.Name(id=name), value=value):
            yield name, value
        case _:
            pass


def check_length(path: Path, source: str) -> Iterator[Finding]:
    lines = source.count("\n")
    if lines > WARN_LINES:
        rule = f"{lines} lines; a module has about {WARN_LINES} at most ({MAX_LINES} is the end): cut it by topic"
        yield Finding(path, 1, rule, is_error=lines > MAX_LINES)


def check_ignores(path: Path, source: str) -> Iterator[Finding]:
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT or not (found := _IGNORE.search(token.string)):
            continue
        what = f"{found['tool']}: ignore"
        if not found["rules"]:
            yield Finding(path, token.start[0], f"'{what}' without the rule it silences, for example [arg-type]")
        if path.parts[0] != "tests" and not _REASON.match(found["rest"]):
            yield Finding(path, token.start[0], f"'{what}' without a reason behind it on the line")


def check_file(path: Path, source: str) -> Iterator[Finding]:
    """All findings in one file; *path* is relative to the root of the repository."""
    if path.parts[0] in LIBRARY:
        yield from check_length(path, source)
        if path.name == "__init__.py":
            yield from check_exports(path, source)
    yield from check_ignores(path, source)


def main(root: Path) -> int:
    findings: list[Finding] = []
    count = 0
    for top in ALL_SOURCE:
        for file in sorted((root / top).rglob("*.py")):
            path = file.relative_to(root)
            if any(path.is_relative_to(folder) for folder in LEFT_OUT):
                continue
            count += 1
            findings.extend(check_file(path, file.read_text(encoding="utf-8")))
    for finding in sorted(findings):
        print(finding)
    errors = sum(finding.is_error for finding in findings)
    print(f"Checked {count} files: {errors or 'no'} errors, {len(findings) - errors or 'no'} warnings.")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent.parent))
