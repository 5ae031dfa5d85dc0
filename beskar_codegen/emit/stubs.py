"""Writes the stub of a decorated module: its surface, with what ``@job_handler`` adds to the classes.

A stub shadows its module for those who have it on ``mypy_path``, so it is complete, private names included. The
decorator itself is gone from it: what it does is written out. ``request`` is written with its types filled in, so that
an error and a hover name them instead of type variables of a base.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Final, cast

from beskar_codegen.emit.header import digest, with_header
from beskar_codegen.emit.layout import annotated, flat, laid_out
from beskar_codegen.emit.names import Names, with_names
from beskar_codegen.emit.types import type_text
from beskar_codegen.plan.plans import HandlerAddition, StubPlan
from beskar_codegen.read.surface import (
    ClassSurface,
    ConditionSurface,
    FunctionSurface,
    Item,
    ModuleSurface,
    ParameterSurface,
    StatementSurface,
    VariableSurface,
)
from beskar_codegen.read.surface_values import INCOMPLETE, TYPE_ALIAS

_WORD: Final = re.compile(r"[^\W\d]\w*")
_STAR: Final = "*"
JOB_HANDLER: Final = "job_handler"


def emit_stub(plan: StubPlan, *, version: str) -> str:
    """The text of the stub, header and all."""
    surface = plan.surface
    defined = {item.name for item in surface.items if not isinstance(item, ConditionSurface)}
    bound = {imported.bound for imported in surface.imports}

    def write(names: Names) -> list[str]:
        for imported in surface.imports:
            if imported.name:
                names.offer(imported.module, imported.name, imported.bound)
        writer = _Writer(plan, names)
        lines = writer.block(surface.items, "", 0)
        _import(surface, writer.used, names)
        return lines

    names, body = with_names(surface.module, defined | bound, plan.first_party, write)
    imports = names.import_lines(plan.line_length)
    lines = [*imports, *([""] if imports and body else []), *body]
    source_digest = digest(repr((surface, plan.additions, plan.abstract, plan.modules)))
    text = "".join(f"{line}\n" for line in lines)
    return with_header(text, version=version, source_digest=source_digest)


def _import(surface: ModuleSurface, used: set[str], names: Names) -> None:
    exported = set(surface.exported or ())
    for imported in surface.imports:
        if imported.name == _STAR or imported.bound in used or (imported.bound in exported and imported.name):
            names.keep(imported.module, imported.name, imported.bound)


class _Writer:
    """Writes declarations, and notes which of the module's names they use."""

    def __init__(self, plan: StubPlan, names: Names) -> None:
        self._additions: Mapping[str, HandlerAddition] = {addition.name: addition for addition in plan.additions}
        self._homes = {imported.bound: imported.name for imported in plan.surface.imports}
        self._abstract = frozenset(plan.abstract)
        self._modules = dict(plan.modules)
        self._names = names
        self._limit = plan.line_length
        self.used: set[str] = set()

    def block(self, items: Sequence[Item], within: str, indent: int) -> list[str]:
        """The declarations of a module or class body, *within* being the class's qualified name and a dot."""
        lines: list[str] = []
        before: Item | None = None
        was_empty = False
        for item in items:
            written = self._item(item, within, indent)
            is_seam = indent == 0 and isinstance(item, FunctionSurface) is not isinstance(before, FunctionSurface)
            is_apart = is_seam or _stands_apart(item) or _stands_apart(before)
            if lines and is_apart and not (was_empty and _is_empty(written)):
                lines.append("")
            lines += written
            before, was_empty = item, _is_empty(written)
        return lines

    def _item(self, item: Item, within: str, indent: int) -> list[str]:
        match item:
            case FunctionSurface():
                return self._function(item, indent)
            case ClassSurface():
                return self._class(item, within, indent)
            case VariableSurface():
                return self._variable(item, indent)
            case StatementSurface(text=text):
                self.used |= _names_in(text)
                return [" " * indent + text]
            case ConditionSurface():
                return self._condition(item, within, indent)

    def _text(self, text: str) -> str:
        """An expression of the source, on one line; the names in it are used."""
        if text == TYPE_ALIAS:
            return self._names(*TYPE_ALIAS.split("."))
        try:
            tree = ast.parse(f"({text.strip()}\n)", mode="eval")
        except (SyntaxError, ValueError):
            self.used |= _names_in(text)
            return text
        used = _Used(self._modules, self._names)
        shown = flat(ast.unparse(used.visit(tree)))
        self.used |= used.names
        if INCOMPLETE in shown:
            shown = shown.replace(INCOMPLETE, self._names(*INCOMPLETE.split(".")))
        return shown

    def _annotation(self, text: str) -> str:
        """A type of the source: what stands in quotes there needs none in a stub."""
        return self._text(_unquoted(text))

    # -- functions -----------------------------------------------------------------------------------------------------

    def _function(self, item: FunctionSurface, indent: int) -> list[str]:
        pad = " " * indent
        lines = self._decorators(item.decorators, indent)
        start = f"{pad}{'async ' if item.is_async else ''}def {item.name}{self._brackets(item.type_parameters)}("
        end = f") -> {self._annotation(item.returns)}: ..."
        parameters = [self._parameter(parameter) for parameter in item.parameters]
        line = start + ", ".join(lead + text + tail for lead, text, tail in parameters) + end
        if len(line) <= self._limit or not parameters:
            return [*lines, line]
        lines.append(start)
        for lead, text, tail in parameters:
            lines += _parameter_lines(lead, text, tail, indent + 4, self._limit)
        return [*lines, pad + end]

    def _parameter(self, item: ParameterSurface) -> tuple[str, str, str]:
        """What stands before the annotation, the annotation, what stands after it."""
        lead = item.stars + item.name
        if not item.annotation:
            return lead, "", f"={self._text(item.default)}" if item.default else ""
        default = f" = {self._text(item.default)}" if item.default else ""
        starred = item.annotation.startswith("*")
        annotation = "*" + self._annotation(item.annotation[1:]) if starred else self._annotation(item.annotation)
        return f"{lead}: ", annotation, default

    def _decorators(self, decorators: Sequence[str], indent: int) -> list[str]:
        return [
            line
            for decorator in decorators
            for line in laid_out(self._text(decorator), indent=indent, limit=self._limit, lead="@")
        ]

    def _brackets(self, type_parameters: str) -> str:
        if type_parameters:
            self.used |= set(_WORD.findall(type_parameters))
        return type_parameters

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self, item: ClassSurface, within: str, indent: int) -> list[str]:
        pad = " " * indent
        addition = self._additions.get(within + item.name)
        decorators = item.decorators
        if addition is not None:
            decorators = tuple(d for d in decorators if not self._is_job_handler(d, addition))
        lines = self._decorators(decorators, indent)
        head = f"{pad}class {item.name}{self._brackets(item.type_parameters)}"
        bases = [self._base(base) for base in item.bases]
        if within + item.name in self._abstract:
            bases.append(f"metaclass={self._names('abc', 'ABCMeta')}")
        if not bases:
            lines.append(f"{head}:")
        elif len(line := f"{head}({', '.join(bases)}):") <= self._limit:
            lines.append(line)
        else:
            lines.append(f"{head}(")
            for base in bases:
                lines += _base_lines(base, indent + 4, self._limit)
            lines.append(f"{pad}):")
        body = self.block(item.body, f"{within}{item.name}.", indent + 4)
        if addition is not None:
            own = {each.name for each in item.body if not isinstance(each, ConditionSurface)}
            body = [*self._added(addition, indent + 4, own), *body]
        if not body:
            lines[-1] += " ..."
        return [*lines, *body]

    def _is_job_handler(self, decorator: str, addition: HandlerAddition) -> bool:
        """By its name where it was imported from, or by the job type that it gives (a name of the project's own)."""
        function, _, arguments = decorator.partition("(")
        home = self._homes.get(function.partition(".")[0], "")
        return JOB_HANDLER in {home, function.rpartition(".")[2]} or addition.job_type in _strings_in(f"({arguments}")

    def _base(self, base: str) -> str:
        keyword, equals, value = base.partition("=")
        if equals and keyword.isidentifier():
            return f"{keyword}={self._text(value)}"
        stars = base[: len(base) - len(base.lstrip("*"))]
        return stars + self._annotation(base[len(stars) :])

    def _added(self, addition: HandlerAddition, indent: int, own: set[str]) -> list[str]:
        """What the decorator adds; an attribute that the class declares for itself is left to it."""
        pad = " " * indent
        class_var = self._names("typing", "ClassVar")
        lines = [f"{pad}{name}: {class_var}[str]" for name in ("job_type", "queue") if name not in own]
        if "request" in own:
            return lines
        args_type = type_text(addition.args_type, self._names)
        result_type = "None" if addition.result_type is None else type_text(addition.result_type, self._names)
        returns = f"{self._names('beskar_jobs', 'JobRequest')}[{args_type}, {result_type}]"
        lines.append(f"{pad}@classmethod")
        line = f"{pad}def request(cls, arguments: {args_type}) -> {returns}: ..."
        if len(line) <= self._limit:
            return [*lines, line]
        lines += [f"{pad}def request(", f"{pad}    cls,"]
        lines += laid_out(
            args_type, indent=indent + 4, limit=self._limit, lead="arguments: ", tail=",", in_brackets=True
        )
        return [*lines, *laid_out(returns, indent=indent, limit=self._limit, lead=") -> ", tail=": ...")]

    # -- the rest ------------------------------------------------------------------------------------------------------

    def _variable(self, item: VariableSurface, indent: int) -> list[str]:
        if not item.annotation:
            return laid_out(self._text(item.value), indent=indent, limit=self._limit, lead=f"{item.name} = ")
        value = self._text(item.value) if item.value else ""
        return annotated(item.name, self._annotation(item.annotation), value, indent=indent, limit=self._limit)

    def _condition(self, item: ConditionSurface, within: str, indent: int) -> list[str]:
        pad = " " * indent
        lines = [f"{pad}if {self._text(item.condition)}:"]
        lines += self.block(item.body, within, indent + 4) or [f"{pad}    pass"]
        if item.otherwise:
            lines += [f"{pad}else:", *self.block(item.otherwise, within, indent + 4)]
        return lines


def _base_lines(base: str, indent: int, limit: int) -> list[str]:
    keyword, equals, value = base.partition("=")
    if equals and keyword.isidentifier():
        return laid_out(value, indent=indent, limit=limit, lead=f"{keyword}=", tail=",", in_brackets=True)
    stars = base[: len(base) - len(base.lstrip("*"))]
    return laid_out(base[len(stars) :], indent=indent, limit=limit, lead=stars, tail=",", in_brackets=True)


def _parameter_lines(lead: str, annotation: str, tail: str, indent: int, limit: int) -> list[str]:
    line = f"{' ' * indent}{lead}{annotation}{tail}"
    if len(line) < limit or not annotation:
        return [line + ","]
    return laid_out(annotation, indent=indent, limit=limit, lead=lead, tail=tail + ",", in_brackets=True)


def _is_empty(written: Sequence[str]) -> bool:
    """Whether it is a class without a body; of two in a row the formatter makes neighbours."""
    return written[-1].lstrip().startswith("class ") and written[-1].endswith(": ...")


def _stands_apart(item: Item | None) -> bool:
    """Whether the formatter wants an empty line around it."""
    return isinstance(item, ClassSurface | ConditionSurface)


def _strings_in(text: str) -> set[str]:
    try:
        tree = ast.parse(f"f{text}")
    except (SyntaxError, ValueError):
        return set()
    return {node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str)}


class _Used(ast.NodeTransformer):
    """Notes the names that an expression uses; what it takes from a module of the project is referred to directly."""

    def __init__(self, modules: Mapping[str, str], names: Names) -> None:
        self._modules = modules
        self._names = names
        self.names: set[str] = set()

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Attribute(value=ast.Name(id=bound), attr=attr) if bound in self._modules:
                return ast.parse(self._names(self._modules[bound], attr), mode="eval").body
            case ast.Name(id=name):
                self.names.add(name)
            case ast.Constant(value=str() as text):
                self.names.update(_WORD.findall(text))
            case _:
                pass
        return self.generic_visit(node)


class _Unquoter(ast.NodeTransformer):
    """Takes the quotes from types; what is in ``Literal[…]``, and metadata of ``Annotated[…]``, are values."""

    def visit(self, node: ast.AST) -> ast.AST:
        match node:
            case ast.Constant(value=str() as text):
                return ast.parse(f"({text.strip()}\n)", mode="eval").body
            case ast.Call():
                return node
            case ast.Subscript(value=value):
                name = ast.unparse(value).rpartition(".")[2]
                if name == "Literal":
                    return node
                if name == "Annotated" and isinstance(node.slice, ast.Tuple):
                    node.slice.elts[0] = cast(ast.expr, self.visit(node.slice.elts[0]))
                    return node
            case _:
                pass
        return self.generic_visit(node)


def _unquoted(text: str) -> str:
    if "'" not in text and '"' not in text:
        return text
    try:
        return ast.unparse(_Unquoter().visit(ast.parse(f"({text.strip()}\n)", mode="eval")))
    except (SyntaxError, ValueError):
        return text


def _names_in(text: str) -> set[str]:
    """The names that an expression or statement uses, those in string annotations included."""
    try:
        tree = ast.parse(text.strip().removeprefix("*"))
    except (SyntaxError, ValueError):
        return set(_WORD.findall(text))
    found: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            found.add(node.id)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            found.update(_WORD.findall(node.value))
    return found
