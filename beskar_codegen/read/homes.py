"""Where well-known names are really defined, for names that are not followed: one name for each thing.

A name that is in no table keeps the module it was imported from.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

Home = tuple[str, str]

_BUILTIN: Final = {
    "List": "list",
    "Dict": "dict",
    "Set": "set",
    "FrozenSet": "frozenset",
    "Tuple": "tuple",
    "Type": "type",
    "Text": "str",
}

_ABSTRACT: Final = frozenset(
    """
    AsyncGenerator AsyncIterable AsyncIterator Awaitable ByteString Callable Collection Container Coroutine Generator
    Hashable ItemsView Iterable Iterator KeysView Mapping MappingView MutableMapping MutableSequence MutableSet
    Reversible Sequence Sized ValuesView
    """.split()  # noqa: SIM905  # one name a line would be a page
)

_OTHER: Final[Mapping[str, Home]] = MappingProxyType(
    {
        "AbstractSet": ("collections.abc", "Set"),
        "ChainMap": ("collections", "ChainMap"),
        "Counter": ("collections", "Counter"),
        "DefaultDict": ("collections", "defaultdict"),
        "Deque": ("collections", "deque"),
        "Match": ("re", "Match"),
        "OrderedDict": ("collections", "OrderedDict"),
        "Pattern": ("re", "Pattern"),
    }
)

_LIBRARY: Final[Mapping[str, str]] = {
    "JobHandler": "beskar_jobs.handlers.base",
    "JobHandlerWithResult": "beskar_jobs.handlers.base",
    "HandlerBase": "beskar_jobs.handlers.base",
    "JobContext": "beskar_jobs.handlers.context",
    "job_handler": "beskar_jobs.handlers.decorator",
    "recurring": "beskar_jobs.handlers.recurrence",
    "HandlerRegistry": "beskar_jobs.handlers.registry",
    "Retry": "beskar_jobs.model.retry",
    "register_type": "beskar_jobs.wire.values",
}

LIBRARY_NAMES: Final = frozenset(_LIBRARY)
"""Names that ``from beskar_jobs import *`` brings and the generator looks for."""

_SUBMODULES: Final = frozenset(
    {
        "collections.abc",
        "concurrent.futures",
        "os.path",
        "urllib.parse",
        "importlib.abc",
        "email.message",
        "attr.validators",
    }
)

# attr.s and attr.ib are not attrs.define and attrs.field, but declare the same fields.
_ATTRS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "s": "define",
        "attrs": "define",
        "attributes": "define",
        "dataclass": "define",
        "define": "define",
        "mutable": "define",
        "frozen": "frozen",
        "ib": "field",
        "attr": "field",
        "attrib": "field",
        "field": "field",
        "Factory": "Factory",
        "NOTHING": "NOTHING",
    }
)
_ATTRS_NEW: Final = frozenset({"define", "mutable", "frozen", "field", "Factory", "NOTHING"})


def home(module: str, name: str) -> Home:
    """Module and name under which *name* of *module* is known."""
    head, _, rest = name.partition(".")
    while f"{module}.{head}" in _SUBMODULES and rest:
        module, name = f"{module}.{head}", rest
        head, _, rest = name.partition(".")
    top = module.partition(".")[0]
    if top in ("typing", "typing_extensions"):
        if name in _BUILTIN:
            return "builtins", _BUILTIN[name]
        if name in _ABSTRACT:
            return "collections.abc", name
        return _OTHER.get(name, ("typing", name))
    if top == "beskar_jobs":
        own = _LIBRARY.get(name)
        if own is not None and (own.startswith(module) or module == "beskar_jobs"):
            return "beskar_jobs", name
        return module, name
    if top in ("attr", "attrs") and name in (_ATTRS if module == "attr" else _ATTRS_NEW):
        return "attrs", _ATTRS[name]
    if module in ("decimal", "_decimal", "_pydecimal"):
        return "decimal", name
    return module, name
