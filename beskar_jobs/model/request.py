"""What ``client.enqueue`` takes: a job type, its queue and its arguments, with the type of the result.

A generated descriptor is a subclass that assigns the class attributes **without annotations**::

    class VideoTranscode(JobRequest[VideoTranscodeArgs, VideoTranscodeResult]):
        job_type = "media.video.transcode"
        queue = "media"
        args_type = VideoTranscodeArgs
        result_type = VideoTranscodeResult

        def __init__(self, *, source_file: str, codec: str = "h264") -> None:
            super().__init__(VideoTranscodeArgs(source_file=source_file, codec=codec))

That is the one shape in which access through the class and through an instance both type-check in mypy and pyright
while a request may also set the attributes for itself (:class:`RawRequest`): ``Final`` may not override a variable,
a property may not be overridden by a variable, and ``ClassVar`` may hold neither type variables nor instance values.

A field whose default cannot be written down where the descriptor stands (a factory makes it, or it is an expression of
the worker's own) has the default :data:`NOT_GIVEN` there, and is passed on only if the caller gave it::

        def __init__(self, *, source_file: str, tags: list[str] = NOT_GIVEN) -> None:
            super().__init__(VideoTranscodeArgs(source_file=source_file, **self._given(tags=tags)))

The parameter keeps its exact type, so that a wrong value is told as ``expected "list[str]"`` by either checker and a
hover shows what to give. A parameter of type ``list[str] | None`` would let ``None`` through and blur both, and
overloads would turn each wrong argument into "no overload matches".
"""

from __future__ import annotations

import json
from typing import Any, Final, Generic, Self, TypeVar

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.model.job import DEFAULT_QUEUE
from beskar_jobs.model.names import checked_name

A_co = TypeVar("A_co", covariant=True)
R_co = TypeVar("R_co", covariant=True)


class _NotGiven:
    """The type of :data:`NOT_GIVEN`."""

    def __repr__(self) -> str:
        return "NOT_GIVEN"


NOT_GIVEN: Final[Any] = _NotGiven()
"""In a descriptor, the default of a parameter whose default the arguments type knows better. Fits every type."""


class JobRequest(Generic[A_co, R_co]):
    """A typed request to run a job: *A* are its arguments, *R* is its result (``None`` where there is none).

    Attributes:
        job_type: which handler runs it.
        queue: where it waits, unless the enqueue says otherwise.
        priority: higher runs first within the queue, unless the enqueue says otherwise.
        args_type: the declared type of the arguments, for the serializer.
        result_type: the declared type of the result, for the serializer.
        arguments: the arguments themselves.
    """

    job_type: str
    queue: str = DEFAULT_QUEUE
    priority: int = 0
    args_type: Any = Any
    result_type: Any = None

    def __init__(self, arguments: A_co) -> None:
        self.arguments: Final = arguments

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, JobRequest):
            return NotImplemented
        return (self.job_type, self.queue, self.arguments) == (other.job_type, other.queue, other.arguments)

    @staticmethod
    def _given(**arguments: Any) -> dict[str, Any]:
        """Those of *arguments* that were given: for the descriptors' use."""
        return {name: value for name, value in arguments.items() if value is not NOT_GIVEN}

    __hash__ = None  # type: ignore[assignment]  # arguments may be mutable; mypy wants a method here

    def __repr__(self) -> str:
        return f"<request for {self.job_type!r} on queue {self.queue!r}: {self.arguments!r}>"


class RawRequest(JobRequest[Any, Any]):
    """A request by name, for a caller that has no types: arguments and result are plain JSON data.

    Args:
        job_type: name of the job type; whether anybody knows it shows when the job waits for a worker.
        arguments: ``None``, booleans, numbers, strings, and lists and string-keyed dicts of these.
        queue: where it waits.

    Raises:
        InvalidValue: *job_type* or *queue* cannot stand in an MQTT topic.
    """

    def __init__(self, job_type: str, arguments: Any, *, queue: str = DEFAULT_QUEUE, priority: int = 0) -> None:
        super().__init__(arguments)
        self.job_type = checked_name("job type", job_type)
        self.queue = checked_name("queue", queue)
        self.priority = priority
        self.args_type = Any
        self.result_type = Any

    @classmethod
    def from_json(cls, job_type: str, text: str | bytes, *, queue: str = DEFAULT_QUEUE, priority: int = 0) -> Self:
        """The request whose arguments are the JSON document *text*.

        Raises:
            InvalidValue: *text* is no JSON; the message says where.
        """
        try:
            arguments = json.loads(text)
        except (ValueError, RecursionError) as error:
            raise InvalidValue(f"the arguments of {job_type!r} are no valid JSON: {error}") from error
        return cls(job_type, arguments, queue=queue, priority=priority)
