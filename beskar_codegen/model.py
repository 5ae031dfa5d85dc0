"""What the reader finds in sources, as values: no syntax nodes, no absolute paths, equal where the meaning is equal.

Everything downstream (rules, plans, contract) works on this model alone, so that it can be cached, compared, and built
by hand in a test. Paths are relative to the project's root, with forward slashes. Lines and columns count from 1.
"""

from __future__ import annotations

from enum import StrEnum

import attrs

# -- places and diagnostics --------------------------------------------------------------------------------------------


@attrs.frozen(order=True)
class Place:
    """Where something stands; the end is exclusive."""

    path: str
    line: int = 1
    column: int = 1
    end_line: int = 1
    end_column: int = 1


@attrs.frozen(order=True)
class Diagnostic:
    """One breach of a rule, ready to print; sorts by place, then code."""

    place: Place
    code: str
    message: str
    hint: str


# -- types as written --------------------------------------------------------------------------------------------------


@attrs.frozen
class NamedType:
    """A class or special form by its true home: ``builtins.list[...]``, ``typing.Any``, ``app.types.Args``.

    Attributes:
        module: where it is defined (not where it was imported from).
        name: its qualified name there. Without both it is a list of types: the parameters of a ``Callable``.
        arguments: what stands in the brackets.
    """

    module: str
    name: str
    arguments: tuple[TypeExpression, ...] = ()


@attrs.frozen
class UnionType:
    """``A | B``, ``Union[A, B]``, ``Optional[A]``: members in order, flat, each once."""

    members: tuple[TypeExpression, ...]


@attrs.frozen
class LiteralType:
    """``Literal[...]``: the values as source text; *names* as in :class:`Field` for members of enums among them."""

    values: tuple[str, ...]
    names: tuple[tuple[str, str, str], ...] = ()


@attrs.frozen
class NoneType:
    """``None`` in a type."""


@attrs.frozen
class TypeVariable:
    """A type variable that is open in its class."""

    name: str


@attrs.frozen
class UnresolvedType:
    """A name that could not be followed; *text* as written, *reason* the end of a sentence, for people.

    Attributes:
        exists: it may be a fine type at run time, and only cannot be read without running code.
        is_quoted: it stands in a string, which is not evaluated with the statement around it.
    """

    text: str
    reason: str
    exists: bool = False
    is_quoted: bool = False


@attrs.frozen
class EllipsisType:
    """``...`` in ``tuple[int, ...]``."""


TypeExpression = NamedType | UnionType | LiteralType | NoneType | TypeVariable | UnresolvedType | EllipsisType

# -- declared types ----------------------------------------------------------------------------------------------------


class TypeKind(StrEnum):
    """What a declared type is."""

    ATTRS = "attrs"
    DATACLASS = "dataclass"
    ENUM = "enum"
    TYPED_DICT = "typed_dict"
    NAMED_TUPLE = "named_tuple"
    NEW_TYPE = "new_type"
    ALIAS = "alias"
    PLAIN = "plain"


@attrs.frozen
class Field:
    """One field of a class, in the order of its constructor.

    Attributes:
        default: source text of the default, requalified so that it means the same anywhere (``h.Codec.AV1`` becomes a
            reference in *default_names*); ``None``: required, unless *has_factory*.
        default_names: names that *default* uses, as (text in default, module, qualified name).
        has_factory: a factory makes the default; a client passes nothing for it.
        factory: source text of that factory, requalified like *default* (names in *default_names*); empty if unknown.
        alias: the constructor's name for it where that is another one (attrs: ``_size`` is given as ``size``).
        in_init: it is an argument of the constructor.
        is_compared: it counts when two values are compared.
        is_mutable_default: *default* is an empty list, dict or set that all values would share.
    """

    name: str
    type: TypeExpression
    place: Place
    default: str | None = None
    default_names: tuple[tuple[str, str, str], ...] = ()
    has_factory: bool = False
    keyword_only: bool = False
    in_init: bool = True
    doc: str = ""
    factory: str = ""
    alias: str = ""
    is_compared: bool = True
    is_mutable_default: bool = False

    @property
    def is_required(self) -> bool:
        return self.default is None and not self.has_factory


@attrs.frozen
class DeclaredType:
    """A type that the project declares and a handler uses, directly or through another type.

    Attributes:
        module, name: its home.
        fields: of attrs classes, dataclasses, TypedDicts, NamedTuples; inherited ones included, in constructor order.
        members: of an enum, as (name, source text of the value).
        target: of a NewType or alias.
        bases: base classes other than ``object``.
        type_parameters: names of its open type variables, in order.
        decorator: source text of the class decorator, requalified, for writing the type out.
        total: of a TypedDict.
        misfits: arguments that its constructor wants and that are no fields, and fields that it does not take.
        open_bases: base classes that could not be followed, so that fields may be missing here.
    """

    module: str
    name: str
    kind: TypeKind
    place: Place
    fields: tuple[Field, ...] = ()
    members: tuple[tuple[str, str], ...] = ()
    target: TypeExpression | None = None
    bases: tuple[TypeExpression, ...] = ()
    type_parameters: tuple[str, ...] = ()
    decorator: str = ""
    total: bool = True
    doc: str = ""
    misfits: tuple[str, ...] = ()
    open_bases: tuple[UnresolvedType, ...] = ()


# -- handlers ----------------------------------------------------------------------------------------------------------


@attrs.frozen
class Argument:
    """One argument of the decorator: its value if that is static, the place in any case.

    Attributes:
        value: the constant (string, number, bool, None), ``None`` too where it is not static.
        is_static: whether *value* says it all.
        text: as written.
    """

    name: str
    place: Place
    value: str | int | float | bool | None = None
    is_static: bool = True
    text: str = ""


@attrs.frozen
class ExecuteModel:
    """The ``execute`` method as written: parameters after ``self`` as (name, annotation or ``None``).

    Attributes:
        is_plain: no ``*args``, ``**kwargs``, keyword-only parameters; not static, not a class method.
        is_method: a function that takes ``self``; not static, no class method, no property, no constant.
        is_known: ``False`` where a decorator or an assignment makes it, so that nothing is known of it.
        is_abstract: it stands under ``@abstractmethod``.
        is_generator: it yields.
        takes_context: a call with the context alone goes through.
        text: all parameters as written.
    """

    place: Place
    is_async: bool
    parameters: tuple[tuple[str, TypeExpression | None], ...] = ()
    returns: TypeExpression | None = None
    is_plain: bool = True
    is_method: bool = True
    is_known: bool = True
    is_abstract: bool = False
    is_generator: bool = False
    takes_context: bool = True
    text: str = ""


@attrs.frozen
class RecurringUse:
    """One ``@recurring(…)`` on a handler; *is_called* is ``False`` where it stands bare."""

    place: Place
    arguments: tuple[Argument, ...] = ()
    is_called: bool = True


@attrs.frozen
class HandlerDeclaration:
    """A decorated class as found, right or wrong; the rules are for the validator.

    Attributes:
        module, name: its home; *name* is the qualified name, ``<locals>`` included where it stands in a function.
        place: of the name in the class statement.
        job_type, queue, version: the decorator's arguments, ``None`` where not given.
        other_arguments: the rest of them.
        base: ``"JobHandler"``, ``"JobHandlerWithResult"``, or ``None`` if neither was found among the bases.
        args_type, result_type: what the bases are parametrised with, through generics in between.
        is_class: ``False`` where the decorator stands on a function.
        is_called: ``False`` where the decorator stands bare.
        is_decorated_twice: another ``@job_handler`` stands on the same class.
        base_problem: what is wrong with the types in the brackets of the base, as the end of a sentence.
        open_base: a base class that could not be followed, if none of the others is a handler.
        recurring: each ``@recurring(…)`` on the class, in the order of the source.
    """

    module: str
    name: str
    place: Place
    decorator_place: Place
    job_type: Argument | None = None
    queue: Argument | None = None
    version: Argument | None = None
    other_arguments: tuple[Argument, ...] = ()
    base: str | None = None
    args_type: TypeExpression | None = None
    result_type: TypeExpression | None = None
    execute: ExecuteModel | None = None
    is_class: bool = True
    is_called: bool = True
    enclosing: tuple[str, ...] = ()
    doc: str = ""
    is_decorated_twice: bool = False
    base_problem: str = ""
    open_base: UnresolvedType | None = None
    recurring: tuple[RecurringUse, ...] = ()


@attrs.frozen
class StarImport:
    """``from x import *`` that hides the decorator or a type, or may: *hides* is the name that was looked for."""

    place: Place
    module: str
    hides: str = ""


@attrs.frozen
class SourceModule:
    """One file, read.

    Attributes:
        digest: SHA-256 of its bytes, in hexadecimal.
        imports: modules that importing this one imports, directly (those under ``TYPE_CHECKING`` left out).
        problems: what kept it from being read (syntax, encoding), and uses of the decorator that cannot be followed.
        types: those that its handlers use, directly or through another type, wherever they are declared.
        consulted: names of the project's modules, and of those looked for and not found, that *handlers* and *types*
            were read from besides this one: these stay as they are while all of those do.
        registered: homes of the types that it gives to ``register_type``, which makes them portable.
    """

    module: str
    path: str
    digest: str
    handlers: tuple[HandlerDeclaration, ...] = ()
    types: tuple[DeclaredType, ...] = ()
    star_imports: tuple[StarImport, ...] = ()
    imports: tuple[str, ...] = ()
    problems: tuple[Diagnostic, ...] = ()
    consulted: tuple[str, ...] = ()
    registered: tuple[tuple[str, str], ...] = ()


# -- what is generated -------------------------------------------------------------------------------------------------


@attrs.frozen
class GeneratedJobHandlerModel:
    """A valid handler, ready to be planned: names and types resolved, defaults filled in.

    Attributes:
        descriptor: name of the descriptor class.
        parameters: the fields of the arguments type, as parameters of the descriptor.
        version: of the contract, from 1.
    """

    descriptor: str
    module: str
    name: str
    place: Place
    job_type: str
    queue: str
    args_type: TypeExpression
    result_type: TypeExpression | None
    priority: int = 0
    version: int = 1
    parameters: tuple[Field, ...] = ()
    doc: str = ""


@attrs.frozen
class ProjectModel:
    """All valid handlers of a project, sorted by job type, and every declared type they use, sorted by home.

    Attributes:
        source_digest: over the digests of the files that went into it.
    """

    handlers: tuple[GeneratedJobHandlerModel, ...] = ()
    types: tuple[DeclaredType, ...] = ()
    modules: tuple[SourceModule, ...] = ()
    source_digest: str = ""
