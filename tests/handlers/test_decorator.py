"""Every JOBGEN rule that the decorator applies, and what the decorated class looks like after."""

from __future__ import annotations

import collections.abc
import inspect
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine, Generator
from datetime import timedelta
from typing import IO, Annotated, Any, Dict, Generic, List, Optional, TypeVar  # noqa: UP035

import attrs
import pytest

from beskar_jobs import (
    HandlerRegistry,
    InvalidValue,
    JobContext,
    JobDefinitionError,
    JobHandler,
    JobHandlerWithResult,
    Retry,
    job_handler,
)
from beskar_jobs.handlers import rules
from beskar_jobs.handlers.registry import definition_of

A = TypeVar("A")
R = TypeVar("R")


class Registrable:
    """A plain class, which is nowhere registered."""


@attrs.frozen
class Args:
    name: str


@attrs.frozen
class Result:
    size: int


@attrs.frozen
class Upload:
    file: IO[bytes]


@attrs.frozen
class Scan:
    place: Registrable


class MailJobHandler(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> None:
        """Nothing to do."""


class SizeJobHandler(JobHandlerWithResult[Args, Result]):
    def execute(self, context: JobContext[Args]) -> Result:
        return Result(len(context.arguments.name))


def decorated(cls: type[Any], job_type: Any = "mail.send", **options: Any) -> type[Any]:
    """A fresh subclass of *cls* at module level, decorated into a registry of its own."""
    options.setdefault("registry", HandlerRegistry())
    names = {"__qualname__": cls.__qualname__.rpartition("<locals>.")[2], "__module__": __name__}
    subclass: Any = type(cls.__name__, (cls,), names)
    return job_handler(job_type, **options)(subclass)


def refusal(cls: type[Any], job_type: Any = "mail.send", **options: Any) -> JobDefinitionError:
    with pytest.raises(JobDefinitionError) as caught:
        decorated(cls, job_type, **options)
    assert caught.value.code in str(caught.value)
    assert caught.value.hint in str(caught.value)
    return caught.value


def test_the_class_comes_back_itself_and_knows_what_was_declared() -> None:
    registry = HandlerRegistry()

    class Local(SizeJobHandler):
        __qualname__ = "Local"

    cls = job_handler(
        "size", queue="media", priority=3, retry=Retry(2), timeout=timedelta(minutes=1), registry=registry
    )(Local)
    assert cls is Local
    assert (cls.job_type, cls.queue) == ("size", "media")
    definition = registry.get("size")
    assert definition is not None
    assert definition is cls.__job_definition__
    assert (definition.args_type, definition.result_type, definition.is_async) == (Args, Result, False)
    assert (definition.priority, definition.handler) == (3, Local)
    assert (definition.policy.retry, definition.policy.timeout) == (Retry(2), 60.0)
    assert isinstance(definition.create(), Local)


def test_without_options_the_defaults_hold() -> None:
    definition = definition_of(decorated(MailJobHandler))
    assert (definition.queue, definition.priority, definition.is_async) == ("default", 0, True)
    assert definition.result_type is None
    policy = definition.policy
    assert (policy.retry, policy.timeout, policy.restart_on_crash, policy.max_crashes) == (None, None, True, 5)
    assert definition.version == 1


def test_the_version_of_the_contract_stands_in_the_definition() -> None:
    assert definition_of(decorated(MailJobHandler, version=3)).version == 3


def test_request_makes_what_enqueue_takes() -> None:
    cls = decorated(SizeJobHandler, "size", queue="media", priority=7)
    request = cls.request(Args("a"))
    assert (request.job_type, request.queue, request.priority) == ("size", "media", 7)
    assert (request.arguments, request.args_type, request.result_type) == (Args("a"), Args, Result)


def test_request_of_an_undecorated_class_says_so_even_below_a_decorated_one() -> None:
    class Below(decorated(SizeJobHandler)):  # type: ignore[misc]
        pass

    for cls in (MailJobHandler, Below):
        with pytest.raises(InvalidValue, match="is not decorated with @job_handler"):
            cls.request(Args("a"))


def test_jobgen001_a_class_inside_a_function_is_refused() -> None:
    with pytest.raises(JobDefinitionError) as caught:

        @job_handler("mail.send", registry=HandlerRegistry())
        class Inner(MailJobHandler):
            pass

    assert caught.value.code == "JOBGEN001"
    assert "Inner is defined inside a function" in str(caught.value)
    assert "for a test" in caught.value.hint


class Outer:
    @job_handler("nested", registry=HandlerRegistry())
    class Inner(MailJobHandler):
        pass


def test_a_class_nested_in_a_class_is_fine() -> None:
    assert Outer.Inner.job_type == "nested"


@pytest.mark.parametrize("job_type", ["", "   ", "\t\n"])
def test_jobgen002_a_blank_job_type_is_refused(job_type: str) -> None:
    assert refusal(MailJobHandler, job_type).code == "JOBGEN002"


@pytest.mark.parametrize("queue", ["", "   "])
def test_jobgen003_a_blank_queue_is_refused(queue: str) -> None:
    assert refusal(MailJobHandler, queue=queue).code == "JOBGEN003"


class NoHandler:
    def execute(self, context: object) -> None:
        """Looks like one."""


class BareHandler(JobHandler):  # type: ignore[type-arg]
    def execute(self, context: Any) -> None:
        """No types."""


class OpenHandler(JobHandlerWithResult[Args, R]):
    def execute(self, context: JobContext[Args]) -> R:
        raise NotImplementedError


class OpenInside(JobHandler[list[A]]):
    def execute(self, context: JobContext[list[A]]) -> None:
        """Open within."""


@pytest.mark.parametrize(
    ("cls", "message"),
    [
        (NoHandler, "NoHandler is neither a JobHandler nor a JobHandlerWithResult"),
        (BareHandler, "BareHandler does not say the types"),
        (OpenHandler, "OpenHandler leaves the type variable ~R open"),
        (OpenInside, "OpenInside leaves the type variable ~A open"),
    ],
)
def test_jobgen004_a_handler_without_concrete_types_is_refused(cls: type[Any], message: str) -> None:
    error = refusal(cls)
    assert error.code == "JOBGEN004"
    assert message in str(error)


class Retrying(JobHandlerWithResult[A, list[R]], Generic[R, A]):
    """A base of the user's own, with its type variables the other way round."""


class ThroughABase(Retrying[int, Args]):
    def execute(self, context: JobContext[Args]) -> list[int]:
        return []


class ByName(JobHandlerWithResult["Args", "dict[str, Result]"]):
    def execute(self, context: JobContext[Args]) -> dict[str, Result]:
        return {}


def test_types_are_found_through_generic_bases_and_by_name() -> None:
    definition = definition_of(decorated(ThroughABase))
    assert (definition.args_type, definition.result_type) == (Args, list[int])
    definition = definition_of(decorated(ByName))
    assert (definition.args_type, definition.result_type) == (Args, dict[str, Result])


def test_jobgen005_a_job_type_of_two_classes_is_refused_and_both_places_are_shown() -> None:
    registry = HandlerRegistry()
    decorated(MailJobHandler, "taken", registry=registry)
    error = refusal(SizeJobHandler, "taken", registry=registry)
    assert error.code == "JOBGEN005"
    assert "'taken'" in str(error)
    assert "MailJobHandler" in str(error)
    assert "SizeJobHandler" in str(error)
    assert f"{__file__}:" in str(error)


def test_the_same_class_seen_again_takes_its_own_place() -> None:
    registry = HandlerRegistry()
    first = decorated(MailJobHandler, "mine", registry=registry)
    second = decorated(MailJobHandler, "mine", registry=registry)
    assert first is not second
    definition = registry.get("mine")
    assert definition is not None
    assert definition.handler is second


@pytest.mark.parametrize("job_type", ["mail/send", "mail.+", "#", "a\x00", "$mail", " mail", "x" * 201, "\ud800"])
def test_jobgen006_a_job_type_that_is_no_topic_level_is_refused(job_type: str) -> None:
    error = refusal(MailJobHandler, job_type)
    assert error.code == "JOBGEN006"
    assert repr(job_type) in str(error)


@pytest.mark.parametrize("queue", ["mail/high", "+", "a#", None, 5])
def test_jobgen007_a_queue_that_is_no_topic_level_is_refused(queue: Any) -> None:
    assert refusal(MailJobHandler, queue=queue).code == "JOBGEN007"


class UploadHandler(JobHandler[Upload]):
    def execute(self, context: JobContext[Upload]) -> None:
        """Never runs."""


class AnyResult(JobHandlerWithResult[Args, Any]):
    def execute(self, context: JobContext[Args]) -> Any:
        """Never runs."""


def test_jobgen008_arguments_that_cannot_be_serialised_are_refused() -> None:
    error = refusal(UploadHandler)
    assert error.code == "JOBGEN008"
    assert "Upload.file is IO[bytes]" in str(error)


class ScanHandler(JobHandler[Scan]):
    def execute(self, context: JobContext[Scan]) -> None:
        """Never runs."""


def test_jobgen008_of_a_plain_class_names_register_type_once() -> None:
    assert str(refusal(ScanHandler)).count("register_type") == 1


def test_jobgen009_a_result_that_cannot_be_serialised_is_refused() -> None:
    error = refusal(AnyResult)
    assert error.code == "JOBGEN009"
    assert "Any can be anything" in str(error)


def with_execute(function: Any, base: type[Any] = JobHandlerWithResult[Args, Result]) -> type[Any]:
    import types  # noqa: PLC0415  # only this helper builds a class from a subscripted base

    return types.new_class("Made", (base,), exec_body=lambda body: body.update(execute=function))


def takes_the_arguments(self: Any, args: Args) -> Result: ...  # type: ignore[empty-body]
def takes_another_context(self: Any, context: JobContext[Result]) -> Result: ...  # type: ignore[empty-body]
def takes_nothing(self: Any) -> Result: ...  # type: ignore[empty-body]
def takes_two(self: Any, context: JobContext[Args], more: int) -> Result: ...  # type: ignore[empty-body]
def takes_a_keyword(self: Any, context: JobContext[Args], *, more: int) -> Result: ...  # type: ignore[empty-body]
def returns_another(self: Any, context: JobContext[Args]) -> Args: ...  # type: ignore[empty-body]
def returns_nothing(self: Any, context: JobContext[Args]) -> None: ...
async def async_returns_another(self: Any, context: JobContext[Args]) -> Args: ...  # type: ignore[empty-body]
def yields(self: Any, context: JobContext[Args]) -> Generator[Result, None, None]:
    yield Result(1)


async def async_yields(self: Any, context: JobContext[Args]) -> AsyncIterator[Result]:
    yield Result(1)


@pytest.mark.parametrize(
    ("function", "message"),
    [
        (takes_the_arguments, "takes Args where the class says JobContext[Args]"),
        (takes_another_context, "Result] where the class says JobContext[Args]"),
        (takes_nothing, "has to take self and one more argument, the context, but takes (self"),
        (takes_two, "has to take self and one more argument"),
        (takes_a_keyword, "has to take self and one more argument"),
        (returns_another, "returns Args where the class says Result"),
        (returns_nothing, "returns None where the class says Result"),
        (async_returns_another, "returns Args where the class says Result"),
        (yields, "is a generator"),
        (async_yields, "is a generator"),
        (staticmethod(takes_nothing), "is not a method that takes self"),
        (property(takes_nothing), "is not a method that takes self"),
        (5, "is not a method that takes self"),
    ],
)
def test_jobgen010_an_execute_that_disagrees_is_refused(function: Any, message: str) -> None:
    error = refusal(with_execute(function))
    assert error.code == "JOBGEN010"
    assert message in str(error)
    is_plain = inspect.isfunction(function) and not function.__name__.startswith("async")
    keyword = "def" if is_plain else "async def"
    assert error.hint == f"write it as: {keyword} execute(self, context: JobContext[Args]) -> Result"


def test_jobgen010_a_missing_execute_is_refused() -> None:
    class Lacking(JobHandler[Args]):
        pass

    assert "execute of Lacking is not defined" in str(refusal(Lacking))


def unannotated(self, context):  # type: ignore[no-untyped-def]
    return Result(1)


def with_defaults(self: Any, context: JobContext[Args], retries: int = 3, *more: Any, **options: Any) -> Result: ...  # type: ignore[empty-body]
def loose(self: Any, context: JobContext[Any]) -> Any: ...
def positional_only(self: Any, context: JobContext[Args], /) -> Result: ...  # type: ignore[empty-body]
def unresolvable(self: Any, context: NoSuchName) -> AnotherOne: ...  # type: ignore[name-defined]  # noqa: F821
def returns_awaitable(self: Any, context: JobContext[Args]) -> Awaitable[Result]: ...  # type: ignore[empty-body]
def returns_coroutine(self: Any, context: JobContext[Args]) -> Coroutine[Any, Any, Result]: ...  # type: ignore[empty-body]
async def asynchronous(self: Any, context: JobContext[Args]) -> Result: ...  # type: ignore[empty-body]


@pytest.mark.parametrize(
    ("function", "is_async"),
    [
        (unannotated, False),
        (with_defaults, False),
        (loose, False),
        (positional_only, False),
        (unresolvable, False),
        (returns_awaitable, True),
        (returns_coroutine, True),
        (asynchronous, True),
    ],
)
def test_an_execute_that_can_be_called_is_fine(function: Callable[..., Any], is_async: bool) -> None:
    assert definition_of(decorated(with_execute(function))).is_async is is_async


class Spelled(JobHandlerWithResult[Annotated[List[Args], "many"], Optional[Dict[str, int]]]):  # noqa: UP006, UP045
    """The older spellings on the class, the newer ones below."""

    def execute(self, context: JobContext[list[Args]]) -> dict[str, int] | None:
        return None


def test_two_spellings_of_one_type_agree() -> None:
    decorated(Spelled)


def test_a_wrapped_async_execute_is_still_async() -> None:
    import functools  # noqa: PLC0415

    @functools.wraps(asynchronous)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return asynchronous(*args, **kwargs)

    assert definition_of(decorated(with_execute(wrapper))).is_async


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"priority": "high"}, "priority is a whole number from -1000000 to 1000000, not 'high'"),
        ({"priority": True}, "priority"),
        ({"priority": 10**7}, "priority"),
        ({"retry": 3}, "retry is a Retry, such as Retry(3), not 3"),
        ({"timeout": 0}, "timeout is a number of seconds (or a timedelta) above 0, not 0"),
        ({"timeout": -1.5}, "timeout"),
        ({"timeout": float("nan")}, "timeout"),
        ({"timeout": float("inf")}, "timeout"),
        ({"timeout": timedelta(0)}, "timeout"),
        ({"timeout": True}, "timeout"),
        ({"timeout": "10s"}, "timeout"),
        ({"restart_on_crash": 1}, "restart_on_crash is True or False, not 1"),
        ({"max_crashes": -1}, "max_crashes"),
        ({"version": 0}, "version"),
        ({"version": True}, "version"),
        ({"version": "2"}, "version"),
        ({"registry": {}}, "registry is a HandlerRegistry, not {}"),
    ],
    ids=str,
)
def test_jobgen011_an_option_that_makes_no_sense_is_refused(options: dict[str, Any], message: str) -> None:
    error = refusal(MailJobHandler, **options)
    assert error.code == "JOBGEN011"
    assert message in str(error)


def test_jobgen012_the_bare_form_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="MailJobHandler has no job type") as caught:
        job_handler(MailJobHandler)  # type: ignore[arg-type]
    assert caught.value.code == "JOBGEN012"


def test_jobgen012_a_function_is_refused() -> None:
    with pytest.raises(JobDefinitionError, match="decorates something that is not a class") as caught:
        job_handler("mail.send")(takes_nothing)  # type: ignore[type-var, arg-type]
    assert caught.value.code == "JOBGEN012"


def test_jobgen012_twice_is_once_too_often() -> None:
    cls = decorated(MailJobHandler)
    with pytest.raises(JobDefinitionError, match="is there twice") as caught:
        job_handler("mail.other", registry=HandlerRegistry())(cls)
    assert caught.value.code == "JOBGEN012"


def test_a_refused_class_is_not_registered() -> None:
    registry = HandlerRegistry()
    refusal(MailJobHandler, registry=registry, timeout=-1)
    assert len(registry) == 0


def test_without_a_registry_the_default_one_is_used() -> None:
    from beskar_jobs.handlers import default_registry  # noqa: PLC0415

    cls = decorated(MailJobHandler, "tests.default_registry", registry=None)
    definition = default_registry.get("tests.default_registry")
    assert definition is not None
    assert definition.handler is cls


def test_every_rule_tells_what_why_and_how() -> None:
    assert list(rules.RULES) == sorted(rules.RULES)
    assert all(re.fullmatch(r"JOBGEN[0-9]{3}", code) for code in rules.RULES)
    for rule in rules.RULES.values():
        texts = (rule.title, rule.rule, rule.explanation, rule.message, rule.hint, rule.example, rule.remedy)
        assert all(isinstance(text, str) and text.strip() for text in texts)
        assert rule.rule.endswith(".")
        compile(rule.remedy, rule.code, "exec")
    assert isinstance(rules.RULES, collections.abc.Mapping)
