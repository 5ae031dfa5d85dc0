"""Writes the stub of a decorated module: its surface, with what ``@job_handler`` adds to the classes.

A stub shadows its module for those who have it on ``mypy_path``, so it is complete, private names included. The
decorator itself is gone from it: what it does is written out. ``request`` is written with its types filled in, so that
an error and a hover name them instead of type variables of a base.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping, Sequence
from typing import Final

from beskar_codegen.emit.flat import Respelled
from beskar_codegen.emit.header import digest, with_header
from beskar_codegen.emit.layout import annotated, laid_out
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
    TypeSurface,
    VariableSurface,
)
from beskar_codegen.read.surface_values import INCOMPLETE, TYPE_ALIAS, last_name
from beskar_codegen.read.syntax import TypeParameter, dotted_name, parse_expression

_WORD: Final = re.compile(r"[^\W\d]\w*")
_LAYOUT: Final = str.maketrans("", "", " \n,()")
_STAR: Final = "*"
JOB_HANDLER: Final = "job_handler"
RECURRING: Final = "recurring"


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
    text = "".join(f"{line}\n" for line in lines)
    # All that a stub says is what its source declares, except where its lines end.
    return with_header(text, version=version, source_digest=digest(text.translate(_LAYOUT)))


def _import(surface: ModuleSurface, used: set[str], names: Names) -> None:
    exported = set(surface.exported or ())
    for imported in surface.imports:
        if imported.name == _STAR or imported.bound in used or (imported.bound in exported and imported.name):
            names.keep(imported.module, imported.name, imported.bound)


class _Spelling(Respelled):
    """Writes expressions of the source, and notes the names in them.

    What an expression takes from a module of the project is referred to directly; what the reader has added gets a name
    that is free; a type needs no quotes in a stub.
    """

    def __init__(self, modules: Mapping[str, str], names: Names) -> None:
        self._modules = modules
        self._names = names
        self._is_type = False
        self.used: set[str] = set()

    def value(self, node: ast.expr) -> str:
        """The text of a value."""
        return self._text(node, is_type=False)

    def type(self, node: ast.expr) -> str:
        """The text of a type, without quotes."""
        return self._text(node, is_type=True)

    def text(self, node: ast.expr) -> str:
        if self._is_type:
            match node:
                case ast.Call():
                    return self.value(node)
                case ast.Subscript(value=value) if last_name(value) == "Literal":
                    return self.value(node)
                case ast.Subscript(value=value, slice=ast.Tuple(elts=[first, *rest])) if (
                    last_name(value) == "Annotated"
                ):
                    return f"{self.value(value)}[{', '.join([self.type(first), *map(self.value, rest)])}]"
                case _:
                    pass
        return super().text(node)

    def spelled(self, node: ast.expr) -> str | None:
        match node:
            case ast.Name(id=name):
                if node is INCOMPLETE or node is TYPE_ALIAS:
                    return self._names(*name.split("."))
                self.used.add(name)
            case ast.Attribute(value=ast.Name(id=bound), attr=attr) if bound in self._modules:
                return self._names(self._modules[bound], attr)
            case ast.Constant(value=str() as text):
                if self._is_type:
                    try:
                        return self.text(parse_expression(text.strip()))
                    except SyntaxError:
                        pass
                self.used.update(_WORD.findall(text))
            case _:
                pass
        return None

    def _text(self, node: ast.expr, *, is_type: bool) -> str:
        before, self._is_type = self._is_type, is_type
        try:
            return self.text(node)
        finally:
            self._is_type = before


class _Writer:
    """Writes declarations, and notes which of the module's names they use."""

    def __init__(self, plan: StubPlan, names: Names) -> None:
        self._additions: Mapping[str, HandlerAddition] = {addition.name: addition for addition in plan.additions}
        self._homes = {imported.bound: imported.name for imported in plan.surface.imports}
        self._abstract = frozenset(plan.abstract)
        self._names = names
        self._limit = plan.line_length
        self._spelling = _Spelling(dict(plan.modules), names)
        self._value = self._spelling.value
        self._type = self._spelling.type
        self.used = self._spelling.used

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
            case TypeSurface(name=name):
                lead = f"type {name}{self._brackets(item.type_parameters)} = "
                return laid_out(self._value(item.value), indent=indent, limit=self._limit, lead=lead)
            case ConditionSurface():
                return self._condition(item, within, indent)

    # -- functions -----------------------------------------------------------------------------------------------------

    def _function(self, item: FunctionSurface, indent: int) -> list[str]:
        pad = " " * indent
        lines = self._decorators(item.decorators, indent)
        start = f"{pad}{'async ' if item.is_async else ''}def {item.name}{self._brackets(item.type_parameters)}("
        end = f") -> {self._type(item.returns)}: ..."
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
        default = "" if item.default is None else self._value(item.default)
        if item.annotation is None:
            return lead, "", f"={default}" if default else ""
        return f"{lead}: ", self._type(item.annotation), f" = {default}" if default else ""

    def _decorators(self, decorators: Sequence[ast.expr], indent: int) -> list[str]:
        return [
            line
            for decorator in decorators
            for line in laid_out(self._value(decorator), indent=indent, limit=self._limit, lead="@")
        ]

    def _brackets(self, parameters: Sequence[TypeParameter]) -> str:
        if not parameters:
            return ""
        text = ", ".join(parameter.text for parameter in parameters)
        self.used.update(_WORD.findall(text))
        return f"[{text}]"

    # -- classes -------------------------------------------------------------------------------------------------------

    def _class(self, item: ClassSurface, within: str, indent: int) -> list[str]:
        pad = " " * indent
        addition = self._additions.get(within + item.name)
        decorators = item.decorators
        if addition is not None:
            decorators = tuple(d for d in decorators if not self._is_ours(d, addition))
        lines = self._decorators(decorators, indent)
        head = f"{pad}class {item.name}{self._brackets(item.type_parameters)}"
        bases = [("", self._type(base)) for base in item.bases]
        bases += [(f"{each.arg}=" if each.arg else "**", self._value(each.value)) for each in item.keywords]
        if within + item.name in self._abstract:
            bases.append(("metaclass=", self._names("abc", "ABCMeta")))
        if not bases:
            lines.append(f"{head}:")
        elif len(line := f"{head}({', '.join([lead + base for lead, base in bases])}):") <= self._limit:
            lines.append(line)
        else:
            lines.append(f"{head}(")
            for lead, base in bases:
                lines += laid_out(base, indent=indent + 4, limit=self._limit, lead=lead, tail=",", in_brackets=True)
            lines.append(f"{pad}):")
        body = self.block(item.body, f"{within}{item.name}.", indent + 4)
        if addition is not None:
            own = {each.name for each in item.body if not isinstance(each, ConditionSurface)}
            body = [*self._added(addition, indent + 4, own), *body]
        if not body:
            lines[-1] += " ..."
        return [*lines, *body]

    def _is_ours(self, decorator: ast.expr, addition: HandlerAddition) -> bool:
        """By its name where it was imported from, or by the job type that it gives (a name of the project's own)."""
        function = dotted_name(decorator.func if isinstance(decorator, ast.Call) else decorator) or ""
        if {JOB_HANDLER, RECURRING} & {self._homes.get(function.partition(".")[0]), function.rpartition(".")[2]}:
            return True
        return any(isinstance(each, ast.Constant) and each.value == addition.job_type for each in ast.walk(decorator))

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
        value = "" if item.value is None else self._value(item.value)
        if item.annotation is None:
            lead = f"{item.name} {'+=' if item.is_added else '='} "
            return laid_out(value, indent=indent, limit=self._limit, lead=lead)
        return annotated(item.name, self._type(item.annotation), value, indent=indent, limit=self._limit)

    def _condition(self, item: ConditionSurface, within: str, indent: int) -> list[str]:
        pad = " " * indent
        lines = [f"{pad}if {self._value(item.condition)}:"]
        lines += self.block(item.body, within, indent + 4) or [f"{pad}    pass"]
        if item.otherwise:
            lines += [f"{pad}else:", *self.block(item.otherwise, within, indent + 4)]
        return lines


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
