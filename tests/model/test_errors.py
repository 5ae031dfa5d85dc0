"""Errors name the thing, the rule and the way out; they form one tree, and hold no secrets."""

from __future__ import annotations

import inspect

import pytest

from beskar_jobs.model import errors
from beskar_jobs.model.job import FailureKind, JobFailure, JobId
from beskar_jobs.ports.transport import TransportOptions

CLASSES = [cls for _, cls in inspect.getmembers(errors, inspect.isclass) if cls.__module__ == errors.__name__]


@pytest.mark.parametrize("cls", CLASSES)
def test_every_error_is_a_beskar_error_and_says_what_it_means(cls: type[Exception]) -> None:
    assert issubclass(cls, errors.BeskarError)
    assert cls.__doc__


@pytest.mark.parametrize(
    ("cls", "base"),
    [
        (errors.InvalidValue, ValueError),
        (errors.JobDefinitionError, TypeError),
        (errors.ValueNotSerializable, TypeError),
        (errors.ResultTimeout, TimeoutError),
        (errors.StaleAttempt, errors.IllegalTransition),
        (errors.BrokerUnreachable, errors.TransportError),
    ],
)
def test_an_error_can_be_caught_as_what_it_is_in_python(cls: type[Exception], base: type[Exception]) -> None:
    assert issubclass(cls, base)


def test_messages_name_the_job_and_the_way_out() -> None:
    unknown = errors.UnknownJob(JobId("j1"))
    assert "'j1'" in str(unknown)
    assert "retention" in str(unknown)
    failed = errors.JobFailed(JobId("j1"), JobFailure(FailureKind.EXCEPTION, "no disk", "app.Boom"))
    assert str(failed) == "job j1 failed: app.Boom: no disk"
    crashed = errors.JobFailed(JobId("j1"), JobFailure(FailureKind.CRASH, "its worker is gone"))
    assert str(crashed) == "job j1 failed: its worker is gone"
    assert str(errors.JobCancelled(JobId("j1"), "too late")) == "job j1 was cancelled: too late"
    assert str(errors.JobCancelled(JobId("j1"), "")) == "job j1 was cancelled"
    definition = errors.JobDefinitionError("JOBGEN002", "the job type is empty", "give it a name")
    assert (definition.code, definition.hint) == ("JOBGEN002", "give it a name")
    assert str(definition) == "JOBGEN002: the job type is empty (give it a name)"


def test_a_password_shows_in_no_text_of_the_options() -> None:
    assert "s3cret" not in repr(TransportOptions("c1", username="u", password="s3cret"))
