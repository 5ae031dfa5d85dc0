"""Cuts a module into what has to be read at once and what is read when somebody asks.

libcst builds a node for every blank and comma, which is why it costs some 100 microseconds a line; and of a module with
handlers the generator needs a few lines. So a module becomes

* its *skeleton*: the module without its top-level classes and functions: imports and assignments;
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
class Piece:
    """Lines of a module, not all of them in a row: *lines* says for each which one of the file it is."""

    text: str
    lines: Sequence[int]

    @classmethod
    def of(cls, text: str, line: int = 1) -> Piece:
        """*text*, which begins at *line* and lacks nothing."""
        return cls(text, range(line, line + text.count("\n") + 1))


@attrs.frozen(eq=False)
class Chunk:
    """A top-level class or function: *text* begins at *line*, and stands in *short* with its functions' bodies cut."""

    kind: Kind
    name: str
    line: int
    text: str
    short: Piece


@attrs.frozen(eq=False)
class Outline:
    """A module, cut."""

    skeleton: Piece
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
    """A function's body: first and last line, where in the first line it begins, its statements."""

    start: int
    end: int
    column: int
    statements: Sequence[ast.stmt]


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
        yield _Body(start, node.end_lineno or start, first.col_offset, node.body)
    elif isinstance(node, ast.ClassDef):
        for each in node.body:
            yield from _bodies(each)


_SCOPES: Final = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda, ast.GeneratorExp)


def _yields(body: Sequence[ast.stmt]) -> bool:
    """Whether a function with this *body* is a generator; what yields in a function within does not count."""
    pending: list[ast.AST] = list(body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return False


def _cut(lines: list[str], pieces: list[_Piece]) -> Outline:
    kept: list[int] = []
    chunks = []
    floor = 0
    for kind, name, start, last, bodies in pieces:
        first = start - 1
        while first > floor and not lines[first].startswith(("@", "class", "def", "async")):
            first -= 1  # "@(" in a line of its own
        kept.extend(range(floor + 1, first + 1))
        floor = last
        text = "\n".join(lines[first:last]) + "\n"
        chunks.append(Chunk(kind, name, first + 1, text, _shortened(lines, first, last, bodies)))
    kept.extend(range(floor + 1, len(lines) + 1))
    return Outline(Piece("\n".join(lines[number - 1] for number in kept), kept), tuple(chunks))


def _shortened(lines: list[str], first: int, last: int, bodies: list[_Body]) -> Piece:
    short: list[str] = []
    numbers: list[int] = []
    done = first
    for each in bodies:
        body = lines[each.start - 1 : each.end]
        indent = body[0][: each.column]
        if indent.strip():
            continue  # begins in the line of its def
        text = "\n".join(body)
        if "job_handler" in text or ("@" in text and any(line.lstrip().startswith("@") for line in body)):
            continue  # may hold a handler
        yields = "yield" in text and _yields(each.statements)
        short += [*lines[done : each.start - 1], indent + ("yield" if yields else "...")]
        numbers.extend(range(done + 1, each.start + 1))
        done = each.end
    short += [*lines[done:last], ""]
    numbers.extend(range(done + 1, last + 2))
    return Piece("\n".join(short), numbers)


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
            chunks.append(Chunk(kind, statement.name.value, line, code, Piece.of(code, line)))
            skeleton.append("\n" * code.count("\n"))
        else:
            skeleton.append(code)
        line += code.count("\n")
    return Outline(Piece.of("".join(skeleton)), tuple(chunks))


def _failed(path: str, line: int, column: int, problem: str) -> Outline:
    place = Place(path, line, column, line, column + 1)
    return Outline(Piece.of(""), (), breach(rules.JOBGEN019, place, path=path, problem=problem))
