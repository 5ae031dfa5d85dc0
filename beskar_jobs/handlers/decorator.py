"""``@job_handler``: checks a handler class against the JOBGEN rules at import, and registers it.

The class comes back as it is, typed as itself, with ``job_type``, ``queue`` and ``__job_definition__`` set. A breach is
a :class:`~beskar_jobs.model.errors.JobDefinitionError` where the class is defined, so that a program with a broken
handler does not start; the first breach in the order of the rules is the one that is told.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import timedelta
from typing import Any, Final, TypeVar

from beskar_jobs.handlers import rules
from beskar_jobs.handlers.base import HandlerBase
from beskar_jobs.handlers.recurrence import check_declarations
from beskar_jobs.handlers.registry import HandlerDefinition, HandlerRegistry, default_registry
from beskar_jobs.handlers.signature import check_execute, declared_types
from beskar_jobs.model.job import DEFAULT_MAX_CRASHES, DEFAULT_QUEUE, MAX_PRIORITY
from beskar_jobs.model.names import name_problem
from beskar_jobs.model.presence import HandlerPolicy
from beskar_jobs.model.retry import Retry
from beskar_jobs.wire.values import check_serializable

MAX_VERSION: Final = 1_000_000

H = TypeVar("H", bound=HandlerBase[Any, Any])


def job_handler(
    job_type: str,
    *,
    queue: str = DEFAULT_QUEUE,
    priority: int = 0,
    retry: Retry | None = None,
    timeout: float | timedelta | None = None,
    restart_on_crash: bool = True,
    max_crashes: int = DEFAULT_MAX_CRASHES,
    version: int = 1,
    registry: HandlerRegistry | None = None,
) -> Callable[[type[H]], type[H]]:
    """Make a subclass of ``JobHandler[Args]`` or ``JobHandlerWithResult[Args, Result]`` the handler of *job_type*.

    Args:
        job_type: the name under which clients ask for the job; one level of an MQTT topic.
        queue: where its jobs wait, unless the enqueue says otherwise; one level of an MQTT topic.
        priority: higher runs first within the queue, from -1,000,000 to 1,000,000.
        retry: what to do after a failed attempt, unless the enqueue says otherwise; ``None``: the global default.
        timeout: seconds (or a timedelta) that one attempt may run; ``None``: no bound.
        restart_on_crash: whether a job starts again whose worker was lost.
        max_crashes: how many lost workers a job may cost until it is dead-lettered.
        version: of the contract, from 1; raise it to say that a change of arguments or result is meant to break what
            ``beskar-codegen check`` guards. Nothing at run time depends on it.
        registry: where to register the class; ``None``: the default registry.

    Raises:
        JobDefinitionError: the class breaks a rule; ``.code`` says which.
    """
    bare: object = job_type
    if isinstance(bare, type) or (callable(bare) and not isinstance(bare, str)):
        name = getattr(bare, "__qualname__", repr(bare))
        raise rules.JOBGEN012.error(handler=name, problem=rules.DECORATOR_BARE)

    def decorate(cls: type[H]) -> type[H]:
        name = _class_name(cls)
        _check_name(name, job_type, "job type", rules.JOBGEN002, rules.JOBGEN006)
        _check_name(name, queue, "queue", rules.JOBGEN003, rules.JOBGEN007)
        if not issubclass(cls, HandlerBase):
            raise rules.JOBGEN004.error(handler=name, problem=rules.NOT_A_HANDLER)
        args_type, result_type = declared_types(cls)
        for rule, declared in ((rules.JOBGEN008, args_type), (rules.JOBGEN009, result_type)):
            problem = check_serializable(declared)
            if problem is not None:
                raise rule.error(handler=name, problem=problem)
        is_async = check_execute(cls, args_type, result_type)
        _check_options(
            name,
            priority=priority,
            retry=retry,
            restart_on_crash=restart_on_crash,
            max_crashes=max_crashes,
            version=version,
            registry=registry,
        )
        policy = HandlerPolicy(retry, _timeout_seconds(name, timeout), restart_on_crash, max_crashes)
        definition = HandlerDefinition(
            job_type, queue, priority, args_type, result_type, is_async, policy, cls, create=cls, version=version
        )
        check_declarations(definition)
        (default_registry if registry is None else registry).add(definition)
        cls.job_type = job_type
        cls.queue = queue
        cls.__job_definition__ = definition
        return cls

    return decorate


def _class_name(cls: object) -> str:
    """The qualified name of what is decorated, once it is sure to be a class that generated code can name."""
    name: str = getattr(cls, "__qualname__", repr(cls))
    if not isinstance(cls, type):
        raise rules.JOBGEN012.error(handler=name, problem=rules.DECORATOR_NOT_ON_CLASS)
    if "__job_definition__" in cls.__dict__:
        raise rules.JOBGEN012.error(handler=name, problem=rules.DECORATOR_TWICE)
    if "<locals>" in name:
        raise rules.JOBGEN001.error(handler=name)
    return name


def _check_name(handler: str, value: object, kind: str, blank: rules.Rule, malformed: rules.Rule) -> None:
    if isinstance(value, str) and not value.strip():
        raise blank.error(handler=handler)
    problem = name_problem(value)
    if problem is not None:
        raise malformed.error(handler=handler, value=repr(value), problem=problem, kind=kind)


def _check_options(
    handler: str,
    *,
    priority: object,
    retry: object,
    restart_on_crash: object,
    max_crashes: object,
    version: object,
    registry: object,
) -> None:
    def check(fine: bool, option: str, value: object, wanted: str) -> None:
        if not fine:
            raise rules.JOBGEN011.error(handler=handler, option=option, problem=f"is {wanted}, not {value!r}")

    whole = f"a whole number from -{MAX_PRIORITY} to {MAX_PRIORITY}"
    check(_is_int(priority, -MAX_PRIORITY, MAX_PRIORITY), "priority", priority, whole)
    check(retry is None or isinstance(retry, Retry), "retry", retry, "a Retry, such as Retry(3)")
    check(isinstance(restart_on_crash, bool), "restart_on_crash", restart_on_crash, "True or False")
    check(_is_int(max_crashes, 0, MAX_PRIORITY), "max_crashes", max_crashes, "a whole number of at least 0")
    check(_is_int(version, 1, MAX_VERSION), "version", version, f"a whole number from 1 to {MAX_VERSION}")
    check(registry is None or isinstance(registry, HandlerRegistry), "registry", registry, "a HandlerRegistry")


def _is_int(value: object, lowest: int, highest: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and lowest <= value <= highest


def _timeout_seconds(handler: str, timeout: object) -> float | None:
    if timeout is None:
        return None
    seconds = timeout.total_seconds() if isinstance(timeout, timedelta) else timeout
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or not 0 < seconds < math.inf:
        problem = f"is a number of seconds (or a timedelta) above 0, not {timeout!r}"
        raise rules.JOBGEN011.error(handler=handler, option="timeout", problem=problem)
    return float(seconds)
