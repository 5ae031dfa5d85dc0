"""Registries, and how a worker gets at an instance."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from beskar_jobs import HandlerRegistry, InvalidValue, JobContext, JobDefinitionError, JobHandler, job_handler
from beskar_jobs.handlers.registry import definition_of

ELSEWHERE = HandlerRegistry()


@job_handler("b.plain", queue="slow", registry=ELSEWHERE)
class PlainHandler(JobHandler[str]):
    def execute(self, context: JobContext[str]) -> None:
        """Nothing to do."""


@job_handler("a.mail", registry=ELSEWHERE)
class MailHandler(JobHandler[str]):
    def __init__(self, server: str, *, port: int, user: str = "") -> None:
        self.server = server
        self.port = port

    def execute(self, context: JobContext[str]) -> None:
        """Nothing to do."""


class Undecorated(PlainHandler):
    pass


def made(registry: HandlerRegistry, job_type: str) -> Any:
    definition = registry.get(job_type)
    assert definition is not None
    return definition.create()


def test_a_registry_lists_its_handlers_in_order() -> None:
    assert ELSEWHERE.job_types == ("a.mail", "b.plain")
    assert ELSEWHERE.queues == ("default", "slow")
    assert [definition.handler for definition in ELSEWHERE] == [MailHandler, PlainHandler]
    assert "a.mail" in ELSEWHERE
    assert len(ELSEWHERE) == 2
    assert ELSEWHERE.get("unknown") is None


def test_of_takes_classes_instances_and_factories() -> None:
    instance = PlainHandler()
    registry = HandlerRegistry.of([instance, (MailHandler, lambda: MailHandler("smtp", port=25))])
    registry.check_buildable()
    assert made(registry, "b.plain") is instance
    assert made(registry, "a.mail").server == "smtp"
    assert made(registry, "a.mail") is not made(registry, "a.mail")
    assert definition_of(PlainHandler).create is PlainHandler


def test_a_constructor_that_needs_arguments_is_told_before_the_first_job() -> None:
    registry = HandlerRegistry.of([MailHandler, PlainHandler])
    with pytest.raises(
        InvalidValue,
        match=r"MailHandler cannot be built: its constructor needs server, port; tell how, below the class",
    ) as caught:
        registry.check_buildable()
    way_out = "from beskar_jobs import default_registry; default_registry.register(MailHandler, factory=lambda: MailH"
    assert way_out in str(caught.value)
    HandlerRegistry.of([PlainHandler]).check_buildable()


@pytest.mark.parametrize("item", [Undecorated, Undecorated(), str], ids=["class", "instance", "builtin"])
def test_what_is_no_decorated_handler_is_refused(item: Any) -> None:
    with pytest.raises(InvalidValue, match="is not decorated with @job_handler"):
        HandlerRegistry.of([item])


@pytest.mark.parametrize("item", ["digests", 5, None])
def test_what_is_no_class_and_no_instance_is_told_what_to_give_instead(item: Any) -> None:
    with pytest.raises(InvalidValue, match=f"not as {item!r}; import the class and name it"):
        HandlerRegistry.of([item])


@pytest.mark.parametrize("handlers", ["digests", PlainHandler, PlainHandler()])
def test_what_is_no_list_of_handlers_is_told_to_be_one(handlers: Any) -> None:
    with pytest.raises(InvalidValue, match="handlers is a list"):
        HandlerRegistry.of(handlers)


RELOADED = """
import importlib
import sys

from beskar_jobs import JobContext, JobHandler, job_handler
from beskar_jobs.handlers import default_registry


@job_handler("only.one")
class OnlyHandler(JobHandler[str]):
    def execute(self, context: JobContext[str]) -> None:
        pass


if __name__ == "__main__":
    import reloaded

    importlib.reload(reloaded)
    print(*default_registry.job_types, default_registry.get("only.one").handler.__module__)
"""


def test_a_module_that_is_reloaded_or_run_and_imported_defines_its_handler_once(tmp_path: Path) -> None:
    (tmp_path / "reloaded.py").write_text(RELOADED)
    done = subprocess.run(
        [sys.executable, "-W", "error", "reloaded.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("only.one reloaded\n", "")


def test_a_list_with_one_job_type_twice_is_refused() -> None:
    @job_handler("b.plain", registry=HandlerRegistry())
    class Other(JobHandler[str]):
        __qualname__ = "Other"

        def execute(self, context: JobContext[str]) -> None:
            """Nothing to do."""

    with pytest.raises(JobDefinitionError) as caught:
        HandlerRegistry.of([PlainHandler, Other])
    assert caught.value.code == "JOBGEN005"


def test_an_instance_takes_the_place_of_its_class() -> None:
    registry = HandlerRegistry.of([MailHandler])
    registry.register(MailHandler("smtp", port=25))
    registry.check_buildable()
    assert made(registry, "a.mail").port == 25
