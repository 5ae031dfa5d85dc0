"""Plans the descriptor module: one class for each handler."""

from __future__ import annotations

import keyword
from collections.abc import Mapping, Sequence

from beskar_codegen.model import (
    DeclaredType,
    Field,
    GeneratedJobHandlerModel,
    NamedType,
    NoneType,
    ProjectModel,
    TypeExpression,
    TypeKind,
)
from beskar_codegen.plan.defaults import can_be_written
from beskar_codegen.plan.expressions import filled, modernised
from beskar_codegen.plan.plans import (
    NAMES_IN_CLASS,
    DescriptorModulePlan,
    DescriptorPlan,
    Mode,
    ParameterPlan,
    PlanSettings,
    Shape,
)
from beskar_codegen.plan.standalone import Relocation, relocate, with_factory, without_relocation

_WITH_FIELDS = {TypeKind.ATTRS, TypeKind.DATACLASS, TypeKind.NAMED_TUPLE, TypeKind.TYPED_DICT}
_NEEDED = {"self", "super"}
"""Names that the constructor of a descriptor needs for itself."""
_REQUIRED = {("typing", "Required"), ("typing_extensions", "Required")}
_NOT_REQUIRED = {("typing", "NotRequired"), ("typing_extensions", "NotRequired")}
_READ_ONLY = {("typing", "ReadOnly"), ("typing_extensions", "ReadOnly")}


def plan_descriptors(model: ProjectModel, settings: PlanSettings) -> DescriptorModulePlan:
    """The descriptor module of all handlers of *model*."""
    known = {(declared.module, declared.name): declared for declared in model.types}
    roots = [
        expression
        for handler in model.handlers
        for expression in (handler.args_type, handler.result_type)
        if expression is not None
    ]
    names = {handler.descriptor for handler in model.handlers} | NAMES_IN_CLASS
    names |= {field.alias or field.name for handler in model.handlers for field in handler.parameters}
    relocation = relocate(roots, known, taken=names) if settings.mode is Mode.STANDALONE else without_relocation()
    descriptors = [_descriptor(handler, known, relocation) for handler in model.handlers]
    return DescriptorModulePlan(
        path=settings.descriptors,
        module=module_of(settings.descriptors, settings.root),
        descriptors=tuple(sorted(descriptors, key=lambda descriptor: descriptor.name)),
        types=relocation.types,
        line_length=settings.line_length,
        first_party=settings.first_party,
    )


def module_of(path: str, root: str = "") -> str:
    """The dotted name of the module at *path*, a path below *root*."""
    if root and path.startswith(root.rstrip("/") + "/"):
        path = path[len(root.rstrip("/")) + 1 :]
    return path.removesuffix(".pyi").removesuffix(".py").removesuffix("/__init__").replace("/", ".")


def _descriptor(
    handler: GeneratedJobHandlerModel,
    known: Mapping[tuple[str, str], DeclaredType],
    relocation: Relocation,
) -> DescriptorPlan:
    args_type = modernised(handler.args_type)
    result_type = None if handler.result_type is None else modernised(handler.result_type)
    declared = known.get((args_type.module, args_type.name)) if isinstance(args_type, NamedType) else None
    shape = _shape(args_type, declared)
    parameters: tuple[ParameterPlan, ...] = ()
    if declared is not None and shape in (Shape.FIELDS, Shape.MAPPING):
        assert isinstance(args_type, NamedType)
        variables = dict(zip(declared.type_parameters, args_type.arguments, strict=False))
        fields = handler.parameters or declared.fields
        parameters = _parameters(fields, declared, variables, relocation)
    return DescriptorPlan(
        name=handler.descriptor,
        handler=f"{handler.module}.{handler.name}",
        job_type=handler.job_type,
        queue=handler.queue,
        priority=handler.priority,
        args_type=relocation.moved(args_type),
        result_type=None if result_type is None else relocation.moved(result_type),
        shape=shape,
        parameters=parameters,
        doc=handler.doc,
    )


def _shape(args_type: TypeExpression, declared: DeclaredType | None) -> Shape:
    if isinstance(args_type, NoneType):
        return Shape.NOTHING
    if declared is None or declared.kind not in _WITH_FIELDS:
        return Shape.WHOLE
    return Shape.MAPPING if declared.kind is TypeKind.TYPED_DICT else Shape.FIELDS


def _parameters(
    fields: Sequence[Field],
    declared: DeclaredType,
    variables: Mapping[str, TypeExpression],
    relocation: Relocation,
) -> tuple[ParameterPlan, ...]:
    """One for each field; those without a default first, as a reader expects, though keywords come in any order."""
    taken = {field.alias or field.name for field in fields}
    planned = []
    for field in map(with_factory, fields):
        if not field.in_init:
            continue
        argument = field.alias or field.name
        expression, is_omittable = _value_type(field, declared)
        default, default_names = None, field.default_names
        if field.default is not None:
            if can_be_written(field.default, field, reachable=relocation.reachable):
                default = field.default
                default_names = relocation.moved_names(default_names)
            else:
                is_omittable = True
        planned.append(
            ParameterPlan(
                name=_parameter_name(argument, taken),
                argument=argument,
                type=relocation.moved(modernised(filled(expression, variables))),
                default=default,
                default_names=default_names if default is not None else (),
                is_omittable=is_omittable and not relocation.lacks_default(field),
                is_passed_unchecked=argument != field.name and argument == field.name.lstrip("_"),
                doc=field.doc,
            )
        )
    return tuple(planned)


def _value_type(field: Field, declared: DeclaredType) -> tuple[TypeExpression, bool]:
    """The type of what is given for *field*, and whether it may be left out."""
    expression, is_omittable = field.type, field.has_factory
    if declared.kind is not TypeKind.TYPED_DICT:
        return expression, is_omittable
    is_omittable = is_omittable or not declared.total
    while isinstance(expression, NamedType) and expression.arguments:
        home = (expression.module, expression.name)
        if home in _REQUIRED:
            is_omittable = False
        elif home in _NOT_REQUIRED:
            is_omittable = True
        elif home not in _READ_ONLY:
            break
        expression = expression.arguments[0]
    return expression, is_omittable


def _parameter_name(argument: str, taken: set[str]) -> str:
    name = argument
    while keyword.iskeyword(name) or name in _NEEDED or (name != argument and name in taken):
        name += "_"
    return name
