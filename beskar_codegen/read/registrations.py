"""Types that a module makes portable by ``register_type``, at its top level: such a type may stand in arguments."""

from __future__ import annotations

import ast

from beskar_codegen.model import NamedType
from beskar_codegen.read.modules import ModuleScope
from beskar_codegen.read.scopes import Scope
from beskar_codegen.read.symbols import External, Resolver, known_home
from beskar_codegen.read.syntax import dotted_name
from beskar_codegen.read.types import TypeReader

REGISTER = ("beskar_jobs", "register_type")


def registered_types(resolver: Resolver, module: ModuleScope) -> tuple[tuple[str, str], ...]:
    """The homes of the types that *module* registers when it is imported."""
    if "register_type" not in module.source.text:
        return ()
    types = TypeReader(resolver)
    scope = Scope(module)
    found = set()
    for call in (node for statement in module.statements for node in ast.walk(statement)):
        if not isinstance(call, ast.Call) or not call.args:
            continue
        dotted = dotted_name(call.func)
        symbol = resolver.resolve(scope, dotted) if dotted is not None else None
        if isinstance(symbol, External) and known_home(symbol) == REGISTER:
            declared = types.read(scope, call.args[0])
            if isinstance(declared, NamedType):
                found.add((declared.module, declared.name))
    return tuple(sorted(found))
