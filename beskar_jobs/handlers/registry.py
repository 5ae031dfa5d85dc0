"""Which handler runs which job type.

``@job_handler`` puts what it decorates into the :data:`default_registry`; a worker takes that one, another one, or a
list of handlers (:meth:`HandlerRegistry.of`). A job type belongs to one class. The same class seen again (a reloaded
module, or a module run as ``__main__`` and imported too) takes the place of its earlier self; another class is refused.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import attrs

from beskar_jobs.handlers import rules
from beskar_jobs.handlers.base import HandlerBase
from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.presence import HandlerPolicy

Handler = HandlerBase[Any, Any]
HandlerFactory = Callable[[], Handler]

HandlerItem = type[Handler] | Handler | tuple[type[Handler], HandlerFactory]
"""A decorated class, an instance of one, or one with the function that builds it."""


@attrs.frozen
class HandlerDefinition:
    """All that a worker and a client need to know about one handler class.

    Attributes:
        args_type, result_type: the declared types, as the serializer takes them; the result of ``JobHandler`` is None.
        is_async: ``execute`` is to be called on the event loop, and its result awaited.
        policy: the handler's rung of the job policy.
        create: builds the instance that runs the jobs; called once per worker.
        built_by_hand: *create* is a factory or an instance, not the class itself.
        version: of the contract, for ``beskar-codegen``; nothing at run time depends on it.
    """

    job_type: str
    queue: str
    priority: int
    args_type: Any
    result_type: Any
    is_async: bool
    policy: HandlerPolicy
    handler: type[Handler]
    create: HandlerFactory = attrs.field(eq=False)
    built_by_hand: bool = False
    version: int = 1

    @property
    def place(self) -> str:
        """Where the class stands, for messages: ``module.Class (file:line)``."""
        name = f"{self.handler.__module__}.{self.handler.__qualname__}"
        try:
            return f"{name} ({inspect.getsourcefile(self.handler)}:{inspect.getsourcelines(self.handler)[1]})"
        except (OSError, TypeError):  # a class made by a call; its execute was written somewhere all the same
            code = getattr(inspect.unwrap(self.handler.execute), "__code__", None)
            return name if code is None else f"{name} ({code.co_filename}:{code.co_firstlineno})"


class HandlerRegistry:
    """A set of handlers, by job type.

    Example::

        registry = HandlerRegistry()
        registry.register(MailJobHandler, factory=lambda: MailJobHandler(smtp))
    """

    def __init__(self) -> None:
        self._definitions: dict[str, HandlerDefinition] = {}

    @classmethod
    def of(cls, handlers: Iterable[HandlerItem]) -> HandlerRegistry:
        """The registry with exactly *handlers*: decorated classes, instances, and ``(class, factory)`` pairs.

        Raises:
            InvalidValue: something else is among them.
            JobDefinitionError: JOBGEN005, two of them have one job type.
        """
        given: object = handlers
        if isinstance(given, str | type) or not isinstance(given, Iterable):
            raise InvalidValue(f"handlers is a list, such as [MailJobHandler], and not {given!r} itself")
        registry = cls()
        for item in handlers:
            if isinstance(item, tuple):
                registry.register(item[0], factory=item[1])
            else:
                registry.register(item)
        return registry

    def register(self, handler: type[Handler] | Handler, *, factory: HandlerFactory | None = None) -> None:
        """Add a decorated class, or one of its instances, which then runs all its jobs.

        Args:
            handler: the class or the instance.
            factory: builds the instance, once per worker; needed where the constructor takes arguments.

        Raises:
            InvalidValue: not a handler, or not decorated with ``@job_handler``.
            JobDefinitionError: JOBGEN005, another class has this job type.
        """
        definition = definition_of(handler)
        if isinstance(handler, HandlerBase):
            instance = handler
            definition = attrs.evolve(definition, create=lambda: instance, built_by_hand=True)
        if factory is not None:
            definition = attrs.evolve(definition, create=factory, built_by_hand=True)
        self.add(definition)

    def add(self, definition: HandlerDefinition) -> None:
        """Add *definition*, in place of an earlier one of the same class.

        Raises:
            JobDefinitionError: JOBGEN005, another class has this job type.
        """
        known = self._definitions.get(definition.job_type)
        if known is not None and not _same_class(known.handler, definition.handler):
            raise rules.JOBGEN005.error(job_type=definition.job_type, first=known.place, second=definition.place)
        self._definitions[definition.job_type] = definition

    def get(self, job_type: str) -> HandlerDefinition | None:
        """The definition for *job_type*; ``None`` if there is none."""
        return self._definitions.get(job_type)

    @property
    def job_types(self) -> tuple[str, ...]:
        """All job types, sorted."""
        return tuple(sorted(self._definitions))

    @property
    def queues(self) -> tuple[str, ...]:
        """The queues that the handlers name, sorted, each once."""
        return tuple(sorted({definition.queue for definition in self}))

    def __iter__(self) -> Iterator[HandlerDefinition]:
        return iter([self._definitions[job_type] for job_type in self.job_types])

    def __len__(self) -> int:
        return len(self._definitions)

    def __contains__(self, job_type: object) -> bool:
        return job_type in self._definitions

    def check_buildable(self) -> None:
        """See that every handler can be built; a worker does so before it takes its first job.

        Raises:
            InvalidValue: a constructor needs arguments and nobody brings them; names class and parameters.
        """
        for definition in self:
            missing = _missing_parameters(definition)
            if missing:
                name = definition.handler.__qualname__
                raise InvalidValue(
                    f"{name} cannot be built: its constructor needs {', '.join(missing)}; tell how, below the class: "
                    f"from beskar_jobs import default_registry; "
                    f"default_registry.register({name}, factory=lambda: {name}(…))"
                )


def definition_of(handler: type[Handler] | Handler) -> HandlerDefinition:
    """What ``@job_handler`` said about the class *handler*, or about the class of the instance *handler*.

    Raises:
        InvalidValue: not a handler, or not decorated itself (a subclass of a decorated class is not).
    """
    given: object = handler
    if not isinstance(given, type | HandlerBase):
        raise InvalidValue(
            f"handlers are given as decorated classes, instances or (class, factory) pairs, not as {given!r}; "
            "import the class and name it, or leave handlers out: then all that was imported is there"
        )
    cls = handler if isinstance(handler, type) else type(handler)
    definition = cls.__dict__.get("__job_definition__")
    if not isinstance(definition, HandlerDefinition):
        raise InvalidValue(f"{cls.__module__}.{cls.__qualname__} is not decorated with @job_handler(…)")
    return definition


def _missing_parameters(definition: HandlerDefinition) -> list[str]:
    if definition.built_by_hand:
        return []
    try:
        parameters = inspect.signature(definition.handler).parameters.values()
    except (TypeError, ValueError):
        return []
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return [p.name for p in parameters if p.default is p.empty and p.kind not in variable]


def _same_class(first: type[Handler], second: type[Handler]) -> bool:
    if first is second or (first.__module__, first.__qualname__) == (second.__module__, second.__qualname__):
        return True
    if first.__qualname__ != second.__qualname__ or "__main__" not in (first.__module__, second.__module__):
        return False
    return _source_file(first) == _source_file(second) != ""


def _source_file(cls: type[Handler]) -> str:
    try:
        return inspect.getsourcefile(cls) or ""
    except (OSError, TypeError):
        return ""


default_registry = HandlerRegistry()
"""Where ``@job_handler`` puts what it decorates, unless told otherwise."""
