"""Expressions as Ruff formats them: on one line if they fit, else one part to a line, with trailing commas.

Input is the text of an expression; it is parsed, so that spacing and quotes of the input do not matter. What is broken
up ends in a comma wherever a comma may stand, so that the formatter leaves it as it is at any line length.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

STEP = 4


def flat(text: str) -> str:
    """The expression *text* on one line."""
    return _flat(ast.parse(text.strip(), mode="eval").body)


def laid_out(
    text: str, *, indent: int, limit: int, lead: str = "", tail: str = "", in_brackets: bool = False
) -> list[str]:
    """The lines of *lead*, the expression, *tail*, all of them indented.

    Args:
        in_brackets: brackets around it let a line end within the expression, so that a union needs none of its own.
    """
    node = ast.parse(text.strip(), mode="eval").body
    line = f"{' ' * indent}{lead}{_flat(node)}{tail}"
    if len(line) > limit and not in_brackets and _wants_brackets(node, limit - indent - STEP):
        inner = _laid_out(node, indent + STEP, limit, "", "")
        return [f"{' ' * indent}{lead}(", *inner, f"{' ' * indent}){tail}"]
    return _laid_out(node, indent, limit, lead, tail)


def annotated(name: str, annotation: str, value: str, *, indent: int, limit: int) -> list[str]:
    """The lines of ``name: annotation = value``; the annotation is broken up where breaking the value is not enough."""
    if not value:
        return laid_out(annotation, indent=indent, limit=limit, lead=f"{name}: ")
    lines = laid_out(value, indent=indent, limit=limit, lead=f"{name}: {flat(annotation)} = ")
    if len(lines[0]) <= limit:
        return lines
    *before, last = laid_out(annotation, indent=indent, limit=limit - len(" = ..."), lead=f"{name}: ")
    return [*before, *laid_out(value, indent=indent, limit=limit, lead=f"{last.strip()} = ")]


def _wants_brackets(node: ast.expr, room: int) -> bool:
    """Whether an expression that does not fit beside what is before it is put in brackets of its own."""
    if isinstance(node, ast.BinOp):
        return True
    return isinstance(node, ast.Name | ast.Attribute | ast.Constant) and len(_flat(node)) <= room


def string(value: str) -> str:
    """A string literal with the quotes that the formatter prefers."""
    return _quoted(repr(value))


def _laid_out(node: ast.expr, indent: int, limit: int, lead: str, tail: str) -> list[str]:
    line = f"{' ' * indent}{lead}{_flat(node)}{tail}"
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
            pairs = [("**" if k is None else f"{_flat(k)}: ", v) for k, v in zip(keys, values, strict=True)]
            return [f"{pad}{lead}{{", *inside(pairs), f"{pad}}}{tail}"]
        case ast.Call(args=args, keywords=keywords) if args or keywords:
            parts = [("", arg) for arg in args]
            parts += [("**" if k.arg is None else f"{k.arg}=", k.value) for k in keywords]
            return [f"{pad}{lead}{_flat(node.func)}(", *inside(parts), f"{pad}){tail}"]
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[_, _, *_] as items)):
            return [f"{pad}{lead}{_flat(value)}[", *inside([("", item) for item in items]), f"{pad}]{tail}"]
        case ast.Subscript(value=value, slice=part):
            return [f"{pad}{lead}{_flat(value)}[", *inside([("", part)], ""), f"{pad}]{tail}"]
        case ast.BinOp(op=op):
            sign = _PRECEDENCE[type(op)][1]
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


_PRECEDENCE: dict[type[ast.operator], tuple[int, str]] = {
    ast.BitOr: (1, "|"),
    ast.BitXor: (2, "^"),
    ast.BitAnd: (3, "&"),
    ast.LShift: (4, "<<"),
    ast.RShift: (4, ">>"),
    ast.Add: (5, "+"),
    ast.Sub: (5, "-"),
    ast.Mult: (6, "*"),
    ast.Div: (6, "/"),
    ast.FloorDiv: (6, "//"),
    ast.Mod: (6, "%"),
    ast.MatMult: (6, "@"),
    ast.Pow: (8, "**"),
}
_UNARY: dict[type[ast.unaryop], str] = {ast.USub: "-", ast.UAdd: "+", ast.Invert: "~"}
_UNARY_PRECEDENCE = 7
_ATOM = 9


def _flat(node: ast.expr) -> str:  # noqa: PLR0912  # one branch for each kind of expression
    match node:
        case ast.Constant(value=value):
            return _constant(value)
        case ast.Name(id=name):
            return name
        case ast.Attribute(value=value, attr=attr):
            return f"{_atom(value)}.{attr}"
        case ast.Subscript(value=value, slice=ast.Tuple(elts=[_, *_] as items)):
            return f"{_atom(value)}[{_listed(items)}{',' if len(items) == 1 else ''}]"
        case ast.Subscript(value=value, slice=part):
            return f"{_atom(value)}[{_flat(part)}]"
        case ast.Tuple(elts=items):
            return f"({_listed(items)}{',' if len(items) == 1 else ''})"
        case ast.List(elts=items):
            return f"[{_listed(items)}]"
        case ast.Set(elts=items):
            return f"{{{_listed(items)}}}"
        case ast.Dict(keys=keys, values=values):
            pairs = (
                f"**{_flat(v)}" if k is None else f"{_flat(k)}: {_flat(v)}" for k, v in zip(keys, values, strict=True)
            )
            return f"{{{', '.join(pairs)}}}"
        case ast.Call(func=func, args=args, keywords=keywords):
            parts = [_flat(arg) for arg in args]
            parts += [f"**{_flat(k.value)}" if k.arg is None else f"{k.arg}={_flat(k.value)}" for k in keywords]
            return f"{_atom(func)}({', '.join(parts)})"
        case ast.Starred(value=value):
            return f"*{_flat(value)}"
        case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
            return _UNARY[type(op)] + _within(operand, _UNARY_PRECEDENCE)
        case ast.BinOp(left=left, op=op, right=right):
            precedence, sign = _PRECEDENCE[type(op)]
            if isinstance(op, ast.Pow):
                space = "" if _is_simple(left) and _is_simple(right) else " "
                return f"{_within(left, precedence + 1)}{space}{sign}{space}{_within(right, _UNARY_PRECEDENCE)}"
            return f"{_within(left, precedence)} {sign} {_within(right, precedence + 1)}"
        case _:
            return ast.unparse(node)


def _within(node: ast.expr, precedence: int) -> str:
    text = _flat(node)
    return f"({text})" if _precedence(node) < precedence else text


def _atom(node: ast.expr) -> str:
    text = _within(node, _ATOM)
    return f"({text})" if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else text


def _precedence(node: ast.expr) -> int:
    match node:
        case ast.BinOp(op=op):
            return _PRECEDENCE[type(op)][0]
        case ast.UnaryOp():
            return _UNARY_PRECEDENCE if type(node.op) in _UNARY else 0
        case ast.BoolOp() | ast.Compare() | ast.IfExp() | ast.Lambda() | ast.Await() | ast.NamedExpr():
            return 0
        case _:
            return _ATOM


def _is_simple(node: ast.expr) -> bool:
    """What the formatter lets ``**`` stand close to."""
    match node:
        case ast.Constant(value=value):
            return isinstance(value, int | float | complex)
        case ast.Name():
            return True
        case ast.Attribute(value=value):
            return isinstance(value, ast.Name) or _is_simple(value)
        case ast.UnaryOp(operand=operand):
            return _is_simple(operand)
        case _:
            return False


def _listed(items: Sequence[ast.expr]) -> str:
    return ", ".join(_flat(item) for item in items)


def _constant(value: object) -> str:
    if value is Ellipsis:
        return "..."
    text = repr(value)
    if isinstance(value, str | bytes):
        return _quoted(text)
    if isinstance(value, float | complex):
        return text.replace("inf", "1e309")
    return text


def _quoted(text: str) -> str:
    """A literal as ``repr`` writes it, in double quotes unless that takes more escapes."""
    prefix = "b" if text.startswith("b") else ""
    quote = text[-1]
    inner = text[len(prefix) + 1 : -1]
    plain = inner.replace("\\'", "'") if quote == "'" else inner
    if plain.count('"') > plain.count("'"):
        return f"{prefix}'" + plain.replace("'", "\\'") + "'"
    return f'{prefix}"' + plain.replace('"', '\\"') + '"'
