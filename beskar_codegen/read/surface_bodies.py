"""What of a function's body shows outside: attributes that a method assigns, whether it yields or returns a value."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from beskar_codegen.read.surface import VariableSurface
from beskar_codegen.read.surface_values import type_of


def _within(block: cst.BaseSuite) -> Iterator[cst.BaseSmallStatement]:
    """The simple statements of a method's body, without those of functions and classes in it.

    Expressions are not gone into: bodies are most of a source, and a walk through all of them is most of the time.
    """
    if isinstance(block, cst.SimpleStatementSuite):
        yield from block.body
        return
    for statement in block.body:
        if isinstance(statement, cst.SimpleStatementLine):
            yield from statement.body
            continue
        for inner in _blocks(statement):
            yield from _within(inner)


def _blocks(statement: cst.CSTNode) -> Iterator[cst.BaseSuite]:
    match statement:
        case cst.If(body=body, orelse=otherwise):
            yield body
            if otherwise is not None:
                yield from _blocks(otherwise)
        case cst.For(body=body, orelse=last) | cst.While(body=body, orelse=last):
            yield body
            if last is not None:
                yield last.body
        case cst.Try() | cst.TryStar():
            yield statement.body
            yield from (handler.body for handler in statement.handlers)
            yield from (part.body for part in (statement.orelse, statement.finalbody) if part is not None)
        case cst.Match(cases=cases):
            yield from (case.body for case in cases)
        case cst.With(body=body) | cst.Else(body=body):
            yield body
        case _:
            pass


def self_variables(method: cst.FunctionDef) -> Iterator[VariableSurface]:
    """What *method* assigns to attributes of its first parameter."""
    code = cst.Module([]).code_for_node
    own, *parameters = [*method.params.posonly_params, *method.params.params]
    annotations = {
        parameter.name.value: code(parameter.annotation.annotation).strip()
        for parameter in (*parameters, *method.params.kwonly_params)
        if parameter.annotation is not None
    }

    def value_type(value: cst.BaseExpression) -> str:
        text = code(value).strip()
        return annotations.get(text) or type_of(text)

    def attribute(target: cst.BaseExpression) -> str:
        match target:
            case cst.Attribute(value=cst.Name(value=name), attr=attr) if name == own.name.value:
                return attr.value
            case _:
                return ""

    for node in _within(method.body):
        match node:
            case cst.AnnAssign() if name := attribute(node.target):
                annotation = code(node.annotation.annotation).strip()
                if annotation.rpartition(".")[2] == "Final" and node.value is not None:
                    annotation = f"{annotation}[{value_type(node.value)}]"
                yield VariableSurface(name, annotation)
            case cst.Assign():
                for target in node.targets:
                    if name := attribute(target.target):
                        yield VariableSurface(name, value_type(node.value))
            case _:
                pass


def is_generator(node: cst.FunctionDef) -> bool:
    """Whether it yields."""
    return any(isinstance(getattr(part, "value", None), cst.Yield) for part in _within(node.body))


def gives_back(node: cst.FunctionDef) -> bool:
    """Whether calling it gives anything but ``None``."""
    for part in _within(node.body):
        match part:
            case cst.Return(value=value) if value is not None:
                if not (isinstance(value, cst.Name) and value.value == "None"):
                    return True
            case _ if isinstance(getattr(part, "value", None), cst.Yield):
                return True
            case _:
                pass
    return False
