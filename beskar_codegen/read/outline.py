"""Cuts a module into what has to be read at once and what is read when somebody asks.

libcst builds a node for every blank and comma, which is why it costs some 100 microseconds a line; and of a module with
handlers the generator needs a few lines. So a module becomes

* its *skeleton*: the module with every top-level class and function blanked out, lines kept: imports and assignments;
* its *chunks*: those classes and functions as text, parsed on demand, functions' bodies cut down to whether they yield.

Where the pieces lie is what the running Python's own parser says, in C. It gives the verdict on syntax, too, except for
syntax that is newer than the running Python (PEP 695 under 3.11): then libcst, which knows it, parses the whole module.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Iterator, Sequence
from typing import Final, Literal

import attrs
import libcst as cst

from beskar_codegen.breaches import breach
from beskar_codegen.model import Diagnostic, Place
from beskar_jobs.handlers import rules

Kind = Literal["class", "function"]


@attrs.frozen(eq=False)
class Chunk:
    """A top-level class or function: *text* begins at *line*, and stands in *short* with its functions' bodies cut."""

    kind: Kind
    name: str
    line: int
    text: str
    short: str


@attrs.frozen(eq=False)
class Outline:
    """A module, cut."""

    skeleton: str
    chunks: tuple[Chunk, ...]
    problem: Diagnostic | None = None


def outlined(path: str, text: str) -> Outline:
    """Cut the module *text*. A syntax error is the outline's problem."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like: not ours to tell
            tree = ast.parse(text)
    except SyntaxError as error:
        return _outlined_by_libcst(path, text, error)
    except (ValueError, RecursionError, MemoryError) as error:
        return _failed(path, 1, 1, f"cannot be parsed: {error or 'it is nested too deeply'}")
    return _cut(text.split("\n"), list(_pieces(tree)))


@attrs.frozen
class _Body:
    """A function's body: first and last line, where in the first line it begins, whether it yields."""

    start: int
    end: int
    column: int
    yields: bool


_Piece = tuple[Kind, str, int, int, list[_Body]]


def _pieces(tree: ast.Module) -> Iterator[_Piece]:
    """Classes and functions at the top: kind, name, first and last line, bodies of the functions within."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            kind: Kind = "class" if isinstance(node, ast.ClassDef) else "function"
            first = min([node.lineno, *(each.lineno for each in node.decorator_list)])
            yield kind, node.name, first, node.end_lineno or node.lineno, list(_bodies(node))


def _bodies(node: ast.stmt) -> Iterator[_Body]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        first = node.body[0]
        start = first.lineno
        if isinstance(first, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            start = min([start, *(each.lineno for each in first.decorator_list)])
        yield _Body(start, node.end_lineno or start, first.col_offset, _yields(node.body))
    elif isinstance(node, ast.ClassDef):
        for each in node.body:
            yield from _bodies(each)


_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)


def _yields(body: Sequence[ast.AST]) -> bool:
    """Whether a function with this *body* is a generator; what yields in a function within does not count."""
    pending = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _cut(lines: list[str], pieces: list[_Piece]) -> Outline:
    skeleton = list(lines)
    chunks = []
    floor = 0
    for kind, name, start, last, bodies in pieces:
        first = start - 1
        while first > floor and not lines[first].startswith(("@", "class", "def", "async")):
            first -= 1  # "@(" in a line of its own
        floor = last
        own = lines[first:last]
        skeleton[first:last] = [""] * len(own)
        chunks.append(Chunk(kind, name, first + 1, "\n".join(own) + "\n", _shortened(lines, first, last, bodies)))
    return Outline("\n".join(skeleton), tuple(chunks))


def _shortened(lines: list[str], first: int, last: int, bodies: list[_Body]) -> str:
    short = lines[first:last]
    for each in bodies:
        body = lines[each.start - 1 : each.end]
        indent = body[0][: each.column]
        if indent.strip():
            continue  # begins in the line of its def
        if any(line.lstrip().startswith("@") for line in body) or "job_handler" in "\n".join(body):
            continue  # may hold a handler
        cut = [indent + ("yield" if each.yields else "..."), *[""] * (len(body) - 1)]
        short[each.start - 1 - first : each.end - first] = cut
    return "\n".join(short) + "\n"


def _outlined_by_libcst(path: str, text: str, error: SyntaxError) -> Outline:
    """The same by libcst, for syntax newer than the running Python's; *error* stands if libcst refuses it as well."""
    line, column = error.lineno or 1, max(error.offset or 1, 1)
    if "too many" in (error.msg or ""):  # nested so deeply that libcst's parser might not survive it
        return _failed(path, line, column, f"has a syntax error: {error.msg}")
    try:
        module = cst.parse_module(text)
        return _cut_by_libcst(module)
    except (cst.ParserSyntaxError, RecursionError, ValueError):
        return _failed(path, line, column, f"has a syntax error: {error.msg}")


def _cut_by_libcst(module: cst.Module) -> Outline:
    codes = [module.code_for_node(statement) for statement in module.body]
    rest = sum(map(len, codes)) + sum(len(module.code_for_node(each)) for each in module.footer)
    header = module.code[: len(module.code) - rest] if rest else module.code
    skeleton = [header]
    chunks = []
    line = header.count("\n") + 1
    for statement, code in zip(module.body, codes, strict=True):
        if isinstance(statement, cst.ClassDef | cst.FunctionDef):
            kind: Kind = "class" if isinstance(statement, cst.ClassDef) else "function"
            chunks.append(Chunk(kind, statement.name.value, line, code, code))
            skeleton.append("\n" * code.count("\n"))
        else:
            skeleton.append(code)
        line += code.count("\n")
    return Outline("".join(skeleton), tuple(chunks))


def _failed(path: str, line: int, column: int, problem: str) -> Outline:
    place = Place(path, line, column, line, column + 1)
    return Outline("", (), breach(rules.JOBGEN019, place, path=path, problem=problem))
