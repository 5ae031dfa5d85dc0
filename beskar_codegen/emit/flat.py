"""Expressions on one line, spaced and quoted as Ruff formats them, whatever the spacing and quotes of the source."""

from __future__ import annotations

import ast
import copy
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

PRECEDENCE: dict[type[ast.operator], tuple[int, str]] = {
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


class Flat:
    """Writes nodes. What a derived class says about names goes for all of an expression."""

    def text(self, node: ast.expr) -> str:  # noqa: PLR0912  # one branch for each kind of expression
        """*node* on one line."""
        match node:
            case ast.Name(id=name):
                return name
            case ast.Constant(value=value):
                return _constant(value)
            case ast.Subscript(value=value, slice=ast.Tuple(elts=[_, *_] as items)):
                return f"{self._atom(value)}[{self._listed(items)}{',' if len(items) == 1 else ''}]"
            case ast.Subscript(value=value, slice=part):
                return f"{self._atom(value)}[{self.text(part)}]"
            case ast.Attribute(value=value, attr=attr):
                return f"{self._atom(value)}.{attr}"
            case ast.Tuple(elts=items):
                return f"({self._listed(items)}{',' if len(items) == 1 else ''})"
            case ast.List(elts=items):
                return f"[{self._listed(items)}]"
            case ast.Set(elts=items):
                return f"{{{self._listed(items)}}}"
            case ast.Dict(keys=keys, values=values):
                pairs = (f"{self.before_value(key)}{self.text(v)}" for key, v in zip(keys, values, strict=True))
                return f"{{{', '.join(pairs)}}}"
            case ast.Call(func=func, args=args, keywords=keywords):
                parts = [self.text(arg) for arg in args]
                parts += [f"{f'{k.arg}=' if k.arg else '**'}{self.text(k.value)}" for k in keywords]
                return f"{self._atom(func)}({', '.join(parts)})"
            case ast.Starred(value=value):
                return f"*{self.text(value)}"
            case ast.UnaryOp(op=op, operand=operand) if type(op) in _UNARY:
                return _UNARY[type(op)] + self._within(operand, _UNARY_PRECEDENCE)
            case ast.BinOp(left=left, op=op, right=right):
                precedence, sign = PRECEDENCE[type(op)]
                if isinstance(op, ast.Pow):
                    sign = sign if _is_simple(left) and _is_simple(right) else f" {sign} "
                    return f"{self._within(left, precedence + 1)}{sign}{self._within(right, _UNARY_PRECEDENCE)}"
                return f"{self._within(left, precedence)} {sign} {self._within(right, precedence + 1)}"
            case _:
                return self.other(node)

    def before_value(self, key: ast.expr | None) -> str:
        """What stands before a value of a dictionary."""
        return "**" if key is None else f"{self.text(key)}: "

    def other(self, node: ast.expr) -> str:
        """The kinds of expressions that need no care of their own."""
        return ast.unparse(node)

    def _within(self, node: ast.expr, precedence: int) -> str:
        text = self.text(node)
        return f"({text})" if _precedence(node) < precedence else text

    def _atom(self, node: ast.expr) -> str:
        text = self._within(node, _ATOM)
        return f"({text})" if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else text

    def _listed(self, items: Sequence[ast.expr]) -> str:
        return ", ".join([self.text(item) for item in items])


class Respelled(Flat):
    """Writes some names in another way."""

    def spelled(self, node: ast.expr) -> str | None:
        """How *node* is written; ``None``: as any other one of its kind. Asked for names, attributes and constants."""
        raise NotImplementedError

    def text(self, node: ast.expr) -> str:
        if isinstance(node, _SPELLED):
            spelled = self.spelled(node)
            if spelled is not None:
                return spelled
        return super().text(node)

    def other(self, node: ast.expr) -> str:
        return ast.unparse(_Respeller(self).visit(copy.deepcopy(node)))


_SPELLED: Final = (ast.Name, ast.Attribute, ast.Constant)


class _Respeller(ast.NodeTransformer):
    def __init__(self, by: Respelled) -> None:
        self._by = by

    def visit(self, node: ast.AST) -> ast.AST:
        spelled = self._by.spelled(node) if isinstance(node, _SPELLED) else None
        return self.generic_visit(node) if spelled is None else ast.Name(spelled)


flat_node: Final = Flat().text


@lru_cache  # defaults are much the same everywhere
def flat(text: str) -> str:
    """The expression *text* on one line."""
    return flat_node(ast.parse(text.strip(), mode="eval").body)


def string(value: str) -> str:
    """A string literal with the quotes that the formatter prefers."""
    return _quoted(repr(value))


def _precedence(node: ast.expr) -> int:
    match node:
        case ast.BinOp(op=op):
            return PRECEDENCE[type(op)][0]
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
