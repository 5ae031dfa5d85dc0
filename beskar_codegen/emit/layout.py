"""Expressions as Ruff formats them: on one line if they fit, else one part to a line, with trailing commas.

Input is the text of an expression as :mod:`beskar_codegen.emit.flat` writes it. Most fit, and are not looked into: only
what has to be broken up is parsed. It ends in a comma wherever a comma may stand, so that the formatter leaves it as it
is at any line length.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from beskar_codegen.emit.flat import PRECEDENCE, flat_node

STEP = 4


def laid_out(
    text: str, *, indent: int, limit: int, lead: str = "", tail: str = "", in_brackets: bool = False
) -> list[str]:
    """The lines of *lead*, the expression, *tail*, all of them indented.

    Args:
        text: of the expression, flat.
        in_brackets: brackets around it let a line end within the expression, so that a union needs none of its own.
    """
    line = f"{' ' * indent}{lead}{text}{tail}"
    if len(line) <= limit:
        return [line]
    node = ast.parse(text, mode="eval").body
    if not in_brackets and _wants_brackets(node, limit - indent - STEP):
        inner = _laid_out(node, indent + STEP, limit, "", "")
        return [f"{' ' * indent}{lead}(", *inner, f"{' ' * indent}){tail}"]
    return _laid_out(node, indent, limit, lead, tail)


def annotated(name: str, annotation: str, value: str, *, indent: int, limit: int) -> list[str]:
    """The lines of ``name: annotation = value``; the annotation is broken up where breaking the value is not enough."""
    if not value:
        return laid_out(annotation, indent=indent, limit=limit, lead=f"{name}: ")
    lines = laid_out(value, indent=indent, limit=limit, lead=f"{name}: {annotation} = ")
    if len(lines[0]) <= limit:
        return lines
    *before, last = laid_out(annotation, indent=indent, limit=limit - len(" = ..."), lead=f"{name}: ")
    return [*before, *laid_out(value, indent=indent, limit=limit, lead=f"{last.strip()} = ")]


def _wants_brackets(node: ast.expr, room: int) -> bool:
    """Whether an expression that does not fit beside what is before it is put in brackets of its own."""
    if isinstance(node, ast.BinOp):
        return True
    return isinstance(node, ast.Name | ast.Attribute | ast.Constant) and len(flat_node(node)) <= room


def _laid_out(node: ast.expr, indent: int, limit: int, lead: str, tail: str) -> list[str]:
    line = f"{' ' * indent}{lead}{flat_node(node)}{tail}"
    if len(line) <= limit:
        return [line]
    pad = " " * indent

    def inside(parts: Sequence[tuple[str, ast.expr]], comma: str = ",") -> list[str]:
        return [line for before, part in parts for line in _laid_out(part, indent + STEP, limit, before, comma)]

    match node:
        case ast.Tuple(elts=[_, *_] as items):
            return [f"{pad}{lead}(", *inside([("", item) for item in items]), f"{pad}){tail}"]
        case ast.List(elts=[_, *_] as items):
            return [f"{pad}{lead}[", *inside([("", item) for item in items]), f"{pad}]{tail}"]
        case ast.Set(elts=items):
            return [f"{pad}{lead}{{", *inside([("", item) for item in items]), f"{pad}}}{tail}"]
        case ast.Dict(keys=[_, *_] as keys, values=values):
            pairs = [("**" if k is None else f"{flat_node(k)}: ", v) for k, v in zip(keys, values, strict=True)]
            return [f"{pad}{lead}{{", *inside(pairs), f"{pad}}}{tail}"]
        case ast.Call(args=args, keywords=keywords) if args or keywords:
            parts = [("", arg) for arg in args]
            parts += [("**" if k.arg is None else f"{k.arg}=", k.value) for k in keywords]
            return [f"{pad}{lead}{flat_node(node.func)}(", *inside(parts), f"{pad}){tail}"]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[_, _, *_] as items)):
            return [f"{pad}{lead}{flat_node(value)}[", *inside([("", item) for item in items]), f"{pad}]{tail}"]
        case ast.Subscript(value=value, slice=part):
            return [f"{pad}{lead}{flat_node(value)}[", *inside([("", part)], ""), f"{pad}]{tail}"]
        case ast.BinOp(op=op):
            sign = PRECEDENCE[type(op)][1]
            first, *middle = _operands(node, type(op))
            *middle, last = middle
            return [
                *_laid_out(first, indent, limit, lead, ""),
                *(line for each in middle for line in _laid_out(each, indent, limit, f"{sign} ", "")),
                *_laid_out(last, indent, limit, f"{sign} ", tail),
            ]
        case _:
            return [line]


def _operands(node: ast.expr, op: type[ast.operator]) -> list[ast.expr]:
    if isinstance(node, ast.BinOp) and type(node.op) is op:
        return [*_operands(node.left, op), node.right]
    return [node]
