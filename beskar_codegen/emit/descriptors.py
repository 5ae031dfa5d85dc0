"""Writes the descriptor module.

Each class has the one shape that both type checkers follow; :mod:`beskar_jobs.model.request` tells why. A wrong
argument is then an error of the constructor itself, at the argument.
"""

from __future__ import annotations

import inspect
import textwrap

from beskar_codegen.emit.flat import string
from beskar_codegen.emit.header import digest, with_header
from beskar_codegen.emit.layout import laid_out
from beskar_codegen.emit.names import Names, member_order, with_names
from beskar_codegen.emit.types import default_text, type_text
from beskar_codegen.emit.written_types import write_type
from beskar_codegen.model import TypeKind
from beskar_codegen.plan.plans import NAMES_IN_CLASS, DescriptorModulePlan, DescriptorPlan, ParameterPlan, Shape


def emit_descriptors(plan: DescriptorModulePlan, *, version: str) -> str:
    """The text of the descriptor module, header and all."""
    reserved = set(NAMES_IN_CLASS)
    reserved.update(descriptor.name for descriptor in plan.descriptors)
    reserved.update(parameter.name for descriptor in plan.descriptors for parameter in descriptor.parameters)
    reserved.update(written.name.partition(".")[0] for written in plan.types)
    reserved.update(variable for written in plan.types for variable in written.declared.type_parameters)
    names, body = with_names(plan.module, reserved, plan.first_party, lambda names: _body(plan, names))
    lines = ['"""Typed requests for the jobs of this project: what clients enqueue."""', ""]
    lines += ["from __future__ import annotations", ""]
    imports = names.import_lines(plan.line_length)
    if imports:
        lines += [*imports, ""]
    exported = sorted(
        {descriptor.name for descriptor in plan.descriptors} | {w.name for w in plan.types if "." not in w.name},
        key=member_order,
    )
    listed = f"[{', '.join(map(string, exported))}]"
    lines += laid_out(listed, indent=0, limit=plan.line_length, lead="__all__ = ")
    source_digest = digest(repr((plan.descriptors, plan.types)))
    return with_header("\n".join([*lines, *body]) + "\n", version=version, source_digest=source_digest)


def docstring(text: str, *, indent: int, limit: int) -> list[str]:
    """The lines of a docstring, long ones wrapped."""
    pad = " " * indent
    lines: list[str] = []
    for line in inspect.cleandoc(text).replace("\\", "\\\\").replace('"""', '\\"\\"\\"').splitlines():
        if len(line) <= limit - indent:
            lines.append(line.rstrip())
            continue
        inner = " " * (len(line) - len(line.lstrip()))
        lines += textwrap.wrap(
            line.strip(),
            limit - indent,
            initial_indent=inner,
            subsequent_indent=inner,
            break_long_words=False,
            break_on_hyphens=False,
        ) or [""]
    if lines[0].startswith('"'):
        lines[0] = f" {lines[0]}"
    if len(lines) == 1:
        last = lines[0]
        last = last[:-1] + '\\"' if last.endswith('"') else last
        line = f'{pad}"""{last}"""'
        if len(line) <= limit:
            return [line]
        # Room for both quotes, so that what cannot stand on one line with them stands on two without.
        lines = textwrap.wrap(lines[0], limit - indent - 6, break_long_words=False, break_on_hyphens=False)
        if len(lines) == 1:
            return [line]
    elif len(lines[0]) + indent + 3 > limit:
        first, *rest = textwrap.wrap(lines[0], limit - indent - 3, break_long_words=False, break_on_hyphens=False)
        lines = [first, *rest, *lines[1:]]
    return [f'{pad}"""{lines[0]}', *(f"{pad}{line}" if line else "" for line in lines[1:]), f'{pad}"""']


def _body(plan: DescriptorModulePlan, names: Names) -> list[str]:
    lines: list[str] = []
    variables = sorted({name for written in plan.types for name in written.declared.type_parameters})
    if variables:
        lines.append("")
        lines += [f"{name} = {names('typing', 'TypeVar')}({string(name)})" for name in variables]
    was_class = False
    for written in plan.types:
        is_class = written.declared.kind not in (TypeKind.NEW_TYPE, TypeKind.ALIAS)
        lines += ["", ""] if is_class or was_class else [""]
        lines += write_type(written, names, plan.line_length)
        was_class = is_class
    for descriptor in plan.descriptors:
        lines += ["", "", *_class(descriptor, names, plan.line_length)]
    return lines


def _class(plan: DescriptorPlan, names: Names, limit: int) -> list[str]:
    args_type = type_text(plan.args_type, names)
    result_type = "None" if plan.result_type is None else type_text(plan.result_type, names)
    base = f"{names('beskar_jobs', 'JobRequest')}[{args_type}, {result_type}]"
    lines = laid_out(f"{plan.name}({base})", indent=0, limit=limit, lead="class ", tail=":")
    lines += docstring(_doc(plan), indent=4, limit=limit)
    lines.append("")
    lines.append(f"    job_type = {string(plan.job_type)}")
    lines.append(f"    queue = {string(plan.queue)}")
    if plan.priority:
        lines.append(f"    priority = {plan.priority}")
    lines += laid_out(args_type, indent=4, limit=limit, lead="args_type = ")
    lines += laid_out(result_type, indent=4, limit=limit, lead="result_type = ")
    return [*lines, "", *_init(plan, args_type, names, limit)]


def _doc(plan: DescriptorPlan) -> str:
    handler = f"``{plan.handler}``"
    text = f"{inspect.cleandoc(plan.doc)}\n\nHandled by {handler}." if plan.doc.strip() else f"Request for {handler}."
    documented = [(p.name, " ".join(p.doc.split())) for p in plan.parameters if p.doc.strip()]
    if documented:
        text += "\n\nArgs:\n" + "\n".join(f"    {name}: {doc}" for name, doc in documented)
    return text


def _init(plan: DescriptorPlan, args_type: str, names: Names, limit: int) -> list[str]:
    match plan.shape:
        case Shape.NOTHING:
            return ["    def __init__(self) -> None:", "        super().__init__(None)"]
        case Shape.WHOLE:
            return [
                *_signature([f"arguments: {args_type}"], limit, keyword_only=False),
                "        super().__init__(arguments)",
            ]
        case Shape.FIELDS | Shape.MAPPING:
            lines = _signature([_parameter(p, names) for p in plan.parameters], limit)
            made = _mapping if plan.shape is Shape.MAPPING else _call
            return [*lines, *made(plan, args_type, names, limit)]


def _signature(parameters: list[str], limit: int, *, keyword_only: bool = True) -> list[str]:
    star = ["*"] if keyword_only and parameters else []
    line = f"    def __init__({', '.join(['self', *star, *parameters])}) -> None:"
    if len(line) <= limit:
        return [line]
    lines = ["    def __init__(", "        self,", *(f"        {each}," for each in star)]
    for parameter in parameters:
        lines += _broken_parameter(parameter, limit)
    return [*lines, "    ) -> None:"]


def _broken_parameter(parameter: str, limit: int) -> list[str]:
    line = f"        {parameter},"
    if len(line) <= limit:
        return [line]
    annotated, is_defaulted, default = parameter.partition(" = ")
    if is_defaulted:
        lines = laid_out(default, indent=8, limit=limit, lead=f"{annotated} = ", tail=",")
        if len(lines[0]) <= limit:
            return lines
    name, _, annotation = annotated.partition(": ")
    tail = f"{is_defaulted}{default},"
    return laid_out(annotation, indent=8, limit=limit, lead=f"{name}: ", tail=tail, in_brackets=True)


def _parameter(plan: ParameterPlan, names: Names) -> str:
    text = f"{plan.name}: {type_text(plan.type, names)}"
    if plan.default is not None:
        return f"{text} = {default_text(plan.default, plan.default_names, names)}"
    return f"{text} = {names('beskar_jobs', 'NOT_GIVEN')}" if plan.is_omittable else text


def _call(plan: DescriptorPlan, args_type: str, names: Names, limit: int) -> list[str]:
    direct = [p for p in plan.parameters if not p.is_omittable and not p.is_passed_unchecked]
    given = [f"{p.argument}={p.name}" for p in direct]
    omittable = [f"{p.argument}={p.name}" for p in plan.parameters if p not in direct]
    if omittable:
        given.append(f"**self._given({', '.join(omittable)})")
    call = f"{args_type}({', '.join(given)})"
    return laid_out(f"super().__init__({call})", indent=8, limit=limit)


def _mapping(plan: DescriptorPlan, args_type: str, names: Names, limit: int) -> list[str]:
    always = ", ".join(f"{string(p.argument)}: {p.name}" for p in plan.parameters if not p.is_omittable)
    sometimes = [p for p in plan.parameters if p.is_omittable]
    if not sometimes:
        return laid_out(f"super().__init__({{{always}}})", indent=8, limit=limit)
    made = "made"
    while any(made == parameter.name for parameter in plan.parameters):
        made += "_"
    lines = laid_out(f"{{{always}}}", indent=8, limit=limit, lead=f"{made}: {args_type} = ")
    for parameter in sometimes:
        lines.append(f"        if {parameter.name} is not {names('beskar_jobs', 'NOT_GIVEN')}:")
        lines.append(f"            {made}[{string(parameter.argument)}] = {parameter.name}")
    return [*lines, *laid_out(f"super().__init__({made})", indent=8, limit=limit)]
