"""Sources as the tree of the running Python's own parser, which reads a line in some microseconds.

A source may be written for a newer Python than the one that runs: type parameters in brackets and ``type`` statements
(PEP 695, 696), quotes nested in f-strings (PEP 701), ``except A, B`` (PEP 758). Where ``ast`` refuses a source, libcst,
which knows the newer syntax, parses it, and what this Python does not know is rewritten without moving anything else:

* type parameters are noted and blanked;
* ``type X = ...`` becomes ``type;X = ...``, and is noted;
* f-strings that this Python refuses, and template strings (PEP 750), become short ones;
* ``except A, B`` becomes ``except ()``: nobody here asks what is caught.

If libcst refuses the source as well, the error of ``ast`` stands. libcst is loaded for nothing else: it costs some
hundred microseconds a line, and its import more than all the rest of a run in which one file has changed.
"""

from __future__ import annotations

import ast
import sys
import warnings
from typing import TYPE_CHECKING, Any, Final

import attrs

if TYPE_CHECKING:
    from beskar_codegen.read.newer_syntax import OlderSource

Function = ast.FunctionDef | ast.AsyncFunctionDef
FUNCTIONS: Final = (ast.FunctionDef, ast.AsyncFunctionDef)
Definition = ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
DEFINITIONS: Final = (ast.ClassDef, *FUNCTIONS)
_SCOPES: Final = (*DEFINITIONS, ast.Lambda)

_NOTED: Final = "beskar_type_parameters"


@attrs.frozen
class TypeParameter:
    """``T: int = str`` of ``class X[T: int = str]``: its *name*, and all of it as *text*."""

    name: str
    text: str


@attrs.frozen(eq=False)
class TypeStatement:
    """``type name[parameters] = value``."""

    name: ast.Name
    parameters: tuple[TypeParameter, ...]
    value: ast.expr


class TooMuchError(SyntaxError):
    """The parser gave up on what may be Python: it is nested too deeply, or a number has too many digits."""


def parse_source(text: str) -> ast.Module:
    """The tree of the module *text*.

    Raises:
        SyntaxError: it is no Python, or nested too deeply. ``lineno`` and ``offset`` tell where.
    """
    try:
        return _parsed(text)
    except SyntaxError as error:
        if isinstance(error, TooMuchError) or "too many" in (error.msg or ""):
            # No newer Python reads it either, and libcst's parser takes minutes for a long sum, or does not survive.
            raise
        older = _rewritten(text, error)
        if older is None:
            raise
        try:
            tree = _parsed(older.text)
        except SyntaxError:
            raise error from None
    _note(tree, older)
    return tree


def _rewritten(text: str, error: SyntaxError) -> OlderSource | None:
    try:
        from beskar_codegen.read.newer_syntax import rewritten  # noqa: PLC0415  # loads libcst
    except ModuleNotFoundError:
        running = f"{sys.version_info.major}.{sys.version_info.minor}"
        error.msg = (
            f"{error.msg} (in Python {running}; if it is right in a newer one, install what reads that: "
            "pip install 'beskar-jobs[codegen]')"
        )
        return None
    return rewritten(text)


def _parsed(text: str) -> ast.Module:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # invalid escapes and the like: not ours to tell
            return ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise TooMuchError(str(error) or "it is nested too deeply") from None


def parse_expression(text: str) -> ast.expr:
    """The tree of the expression *text*, which may go over several lines.

    Raises:
        SyntaxError: it is none.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(f"({text}\n)", mode="eval").body
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error)) from None


def _note(tree: ast.Module, older: OlderSource) -> None:
    """Write to the nodes what had to be blanked."""
    definitions = []
    for node in ast.walk(tree):
        if isinstance(node, DEFINITIONS):
            definitions.append(node)
        elif isinstance(node, ast.Assign) and (node.lineno, node.col_offset) in older.aliases:
            setattr(node, _NOTED, older.aliases[node.lineno, node.col_offset])
    definitions.sort(key=lambda each: (each.lineno, each.col_offset))
    for definition, parameters in zip(definitions, older.parameters, strict=True):
        setattr(definition, _NOTED, parameters)


def type_parameters(node: Definition) -> tuple[TypeParameter, ...]:
    """The type parameters that stand in brackets after the name."""
    noted: tuple[TypeParameter, ...] | None = getattr(node, _NOTED, None)
    return _native(node) if noted is None else noted


def type_statement(node: ast.stmt) -> TypeStatement | None:
    """*node* as a ``type`` statement, if it is one."""
    if type(node).__name__ == "TypeAlias":  # from Python 3.12 on
        alias: Any = node
        return TypeStatement(alias.name, _native(alias), alias.value)
    if isinstance(node, ast.Assign) and hasattr(node, _NOTED):
        (target,) = node.targets
        assert isinstance(target, ast.Name)
        return TypeStatement(target, getattr(node, _NOTED), node.value)
    return None


def _native(node: Any) -> tuple[TypeParameter, ...]:
    return tuple(TypeParameter(each.name, ast.unparse(each)) for each in getattr(node, "type_params", ()))


def is_generator(function: Function) -> bool:
    """Whether it yields; what yields in a function or class within does not count."""
    pending: list[ast.AST] = list(function.body)
    while pending:
        node = pending.pop()
        if isinstance(node, ast.Yield | ast.YieldFrom):
            return True
        if not isinstance(node, _SCOPES):
            pending.extend(ast.iter_child_nodes(node))
    return False


def dotted_name(node: ast.AST | None) -> str | None:
    """``a.b.c`` of a name or attribute; ``None`` of anything else."""
    parts: list[str] = []
    while isinstance(node, ast.Attribute):
        parts.append(node.attr)
        node = node.value
    if not isinstance(node, ast.Name):
        return None
    if not parts:
        return node.id
    return ".".join([node.id, *reversed(parts)])
