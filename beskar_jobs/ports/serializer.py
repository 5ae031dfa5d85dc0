"""The port that turns messages and users' values into bytes and back. JSON by default; never pickle."""

from __future__ import annotations

from typing import Any, Protocol, TypeVar

M = TypeVar("M")


class Serializer(Protocol):
    """Both halves of one format. Values stand inside messages verbatim, so both halves must speak the same format."""

    @property
    def content_type(self) -> str:
        """MIME type of what it writes, for example ``"application/json"``."""
        ...

    def encode(self, message: object) -> bytes:
        """Bytes of an engine message (a class of :mod:`beskar_jobs.wire.messages`)."""
        ...

    def decode(self, data: bytes, message_type: type[M]) -> M:
        """The message in *data*.

        Raises:
            PayloadInvalid: malformed, of another shape, or of an unknown version.
        """
        ...

    def dump_value(self, value: Any, declared: Any) -> bytes:
        """Bytes of a user's value of the *declared* type (arguments or result).

        Raises:
            ValueNotSerializable: *value* does not fit *declared*.
        """
        ...

    def load_value(self, data: bytes, declared: Any) -> Any:
        """The user's value in *data*, as the *declared* type.

        Raises:
            ValueNotSerializable: the data does not fit *declared*; the message names the field.
        """
        ...
