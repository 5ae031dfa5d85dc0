"""Writes out types, for a stand-alone descriptor module: the same values on the wire, no line of the worker's code.

Behaviour stays behind (methods, validators, converters): the worker applies its own when it reads the arguments.
"""

from __future__ import annotations

import ast
import keyword
from collections.abc import Sequence
from typing import Final

import attrs

from beskar_codegen.emit.flat import flat, flat_node, string
from beskar_codegen.emit.layout import STEP, annotated, laid_out
from beskar_codegen.emit.names import Names
from beskar_codegen.emit.types import default_text, type_text
from beskar_codegen.model import DeclaredType, Field, NamedType, TypeExpression, TypeKind
from beskar_codegen.plan.expressions import walk
from beskar_codegen.plan.plans import HERE, WrittenType

_ENUM_BASES: Final = {"Enum", "IntEnum", "StrEnum", "Flag", "IntFlag"}
_GENERIC: Final = {("typing", "Generic"), ("typing_extensions", "Generic"), ("typing", "Protocol")}


def write_type(written: WrittenType, names: Names, limit: int) -> list[str]:
    """The lines that define the type."""
    holder, dot, own = written.name.rpartition(".")
    declared = written.declared
    if declared.kind in (TypeKind.NEW_TYPE, TypeKind.ALIAS):
        lines = _assignment(written, own, names, limit - (STEP if dot else 0))
    else:
        lines = _definition(declared, own, names, limit - (STEP if dot else 0))
    if not dot:
        return lines
    inner = [f"{' ' * STEP}{line}" if line else "" for line in lines]
    text = f'    """Holds the ``{own}`` of ``{declared.module}``."""'
    return [f"class {holder}:", text, "", *inner]


def _assignment(written: WrittenType, own: str, names: Names, limit: int) -> list[str]:
    declared = written.declared
    assert declared.target is not None, "a NewType or alias has a target"
    target = type_text(declared.target, names)
    if declared.kind is TypeKind.NEW_TYPE:
        return laid_out(
            f"{names('typing', 'NewType')}({string(own)}, {target})", indent=0, limit=limit, lead=f"{own} = "
        )
    if written.is_recursive:
        made = names("typing_extensions", "TypeAliasType")
        return laid_out(f"{made}({string(own)}, {string(target)})", indent=0, limit=limit, lead=f"{own} = ")
    return laid_out(target, indent=0, limit=limit, lead=f"{own} = ")


def _definition(declared: DeclaredType, own: str, names: Names, limit: int) -> list[str]:
    match declared.kind:
        case TypeKind.ENUM:
            return _enum(declared, own, names, limit)
        case TypeKind.TYPED_DICT:
            return _typed_dict(declared, own, names, limit)
        case TypeKind.NAMED_TUPLE:
            bases = [names("typing", "NamedTuple"), *_generic(declared, names)]
            return _class(own, bases, [], _fields(declared, names, limit, ""), limit)
        case TypeKind.DATACLASS:
            field = names("dataclasses", "field")
            decorator = _decorator(declared, "dataclasses.dataclass", names)
            return _class(own, _generic(declared, names), [decorator], _fields(declared, names, limit, field), limit)
        case _:
            field = names("attrs", "field")
            decorator = _decorator(declared, "attrs.define", names)
            return _class(own, _generic(declared, names), [decorator], _fields(declared, names, limit, field), limit)


def _class(own: str, bases: Sequence[str], decorators: Sequence[str], body: Sequence[str], limit: int) -> list[str]:
    lines = [line for text in decorators for line in laid_out(text, indent=0, limit=limit, lead="@")]
    if bases:
        lines += laid_out(f"{own}({', '.join(bases)})", indent=0, limit=limit, lead="class ", tail=":")
    else:
        lines.append(f"class {own}:")
    return [*lines, *(body or ["    pass"])]


def _decorator(declared: DeclaredType, otherwise: str, names: Names) -> str:
    node = ast.parse((declared.decorator or otherwise).lstrip("@"), mode="eval").body
    function = node.func if isinstance(node, ast.Call) else node
    module, _, name = ast.unparse(function).rpartition(".")
    if not module:
        module = otherwise.split(".", maxsplit=1)[0]
    called = names(module, name)
    if not isinstance(node, ast.Call):
        return called
    kept = [k for k in node.keywords if isinstance(k.value, ast.Constant)]
    return flat_node(ast.Call(ast.Name(called), [], kept)) if kept else called


def _generic(declared: DeclaredType, names: Names) -> list[str]:
    if not declared.type_parameters:
        return []
    return [f"{names('typing', 'Generic')}[{', '.join(declared.type_parameters)}]"]


def _enum(declared: DeclaredType, own: str, names: Names, limit: int) -> list[str]:
    bases = [type_text(base, names) for base in declared.bases] or [names("enum", "Enum")]
    body: list[str] = []
    for name, value in declared.members:
        shown = f"{names('enum', 'auto')}()" if value.rpartition(".")[2] == "auto()" else flat(value)
        body += laid_out(shown, indent=4, limit=limit, lead=f"{name} = ")
    return _class(own, bases, [], body, limit)


def _typed_dict(declared: DeclaredType, own: str, names: Names, limit: int) -> list[str]:
    base = names("typing", "TypedDict")
    if any(keyword.iskeyword(field.name) or not field.name.isidentifier() for field in declared.fields):
        entries = ", ".join(f"{string(field.name)}: {_quoted_type(field.type, names)}" for field in declared.fields)
        total = "" if declared.total else ", total=False"
        return laid_out(f"{base}({string(own)}, {{{entries}}}{total})", indent=0, limit=limit, lead=f"{own} = ")
    bases = [base, *_generic(declared, names)]
    if not declared.total:
        bases.append("total=False")
    return _class(own, bases, [], _fields(declared, names, limit, ""), limit)


def _quoted_type(expression: TypeExpression, names: Names) -> str:
    """A type that is evaluated at once may refer to what comes later only in quotes."""
    text = type_text(expression, names)
    if isinstance(expression, NamedType) and expression.name in ("Required", "NotRequired", "ReadOnly"):
        inner = string(type_text(expression.arguments[0], names))
        return f"{names(expression.module, expression.name)}[{inner}]"
    return string(text)


def _fields(declared: DeclaredType, names: Names, limit: int, field_function: str) -> list[str]:
    lines: list[str] = []
    positional_default = False
    is_all_named = "kw_only=True" in declared.decorator
    # Without a function for fields, one that has lost its default goes before those that have kept theirs.
    fields = sorted(declared.fields, key=lambda field: not field_function and field.default is not None)
    if is_all_named:  # said once for all
        fields = [attrs.evolve(field, keyword_only=False) for field in fields]
    for field in fields:
        annotation = type_text(field.type, names)
        value, is_defaulted = _field_value(field, names, field_function, after_default=positional_default)
        positional_default = positional_default or (is_defaulted and not field.keyword_only and not is_all_named)
        lines += annotated(field.name, annotation, value or "", indent=4, limit=limit)
    return lines


def _field_value(field: Field, names: Names, function: str, *, after_default: bool) -> tuple[str | None, bool]:
    """What stands after the equals sign, if anything, and whether it is a default."""
    default = default_text(field.default, field.default_names, names) if field.default is not None else None
    is_defaulted = default is not None or field.has_factory
    options = []
    if field.has_factory:
        keyword_name = "default_factory" if function.startswith("dataclasses") else "factory"
        options.append(f"{keyword_name}={_factory(field, names)}")
    if field.alias and function.startswith("attr"):
        options.append(f"alias={string(field.alias)}")
    # A field that has lost its default must not follow one that has kept it.
    if function and (field.keyword_only or (after_default and not is_defaulted)):
        options.append("kw_only=True")
    if not options or not function:
        return default, is_defaulted
    if default is not None:
        options.insert(0, f"default={default}")
    return f"{function}({', '.join(options)})", is_defaulted


def _factory(field: Field, names: Names) -> str:
    """The factory with what its value holds, for pyright takes a bare ``list`` for one of unknown things.

    What it holds may be defined further down, and stands in quotes then.
    """
    declared = field.type
    if not isinstance(declared, NamedType) or not declared.arguments or declared.name != field.factory:
        return flat(field.factory)
    inner = []
    for argument in declared.arguments:
        text = type_text(argument, names)
        is_here = any(isinstance(part, NamedType) and part.module == HERE for part in walk(argument))
        inner.append(string(text) if is_here else text)
    return f"{field.factory}[{', '.join(inner)}]"
