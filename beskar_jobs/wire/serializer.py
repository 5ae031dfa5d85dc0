"""The serializer: JSON for both halves. Messages through msgspec, users' values by :mod:`beskar_jobs.wire.values`.

A message is a msgspec struct with a field ``v``, whose default is the version this program speaks. Decoding is typed
and strict and stops at the first fault; whatever comes out is :class:`~beskar_jobs.model.errors.PayloadInvalid`, with a
text that is short even where the payload is not. A size bound comes before everything else.
"""

from __future__ import annotations

from typing import Any, Final, TypeVar

import attrs
import msgspec

from beskar_jobs.model.errors import PayloadInvalid, ValueNotSerializable
from beskar_jobs.wire.values import dump_value, load_value

M = TypeVar("M")

DEFAULT_MAX_BYTES: Final = 64 * 1024 * 1024
_SHORT: Final = 200


class _Versioned(msgspec.Struct):
    v: int


@attrs.frozen
class JsonSerializer:
    """JSON, the default serializer; implements :class:`beskar_jobs.ports.serializer.Serializer`.

    Args:
        max_bytes: size of a payload, or of a value, that is read at most; 64 MiB by default.
    """

    max_bytes: int = DEFAULT_MAX_BYTES
    _encoder: msgspec.json.Encoder = attrs.field(factory=msgspec.json.Encoder, init=False, eq=False, repr=False)
    _decoders: dict[Any, tuple[msgspec.json.Decoder[Any], int | None]] = attrs.field(
        factory=dict, init=False, eq=False, repr=False
    )

    @property
    def content_type(self) -> str:
        return "application/json"

    def encode(self, message: object) -> bytes:
        """Bytes of an engine message; lone surrogates in its texts (from an exception, say) become question marks."""
        try:
            return self._encoder.encode(message)
        except UnicodeEncodeError:
            return self._encoder.encode(_encodable(msgspec.to_builtins(message, builtin_types=(msgspec.Raw,))))

    def decode(self, data: bytes, message_type: type[M]) -> M:
        """The message in *data*.

        Raises:
            PayloadInvalid: too large, malformed, of another shape, or of an unknown version.
        """
        name = message_type.__name__
        if len(data) > self.max_bytes:
            raise PayloadInvalid(f"{name} of {len(data)} bytes; at most {self.max_bytes} are read")
        decoder, version = self._decoder(message_type)
        try:
            message: M = decoder.decode(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            if version is not None:
                self._check_version(name, version, _peek_version(data))
            raise PayloadInvalid(f"{name}: {str(error)[:_SHORT]}") from None
        if version is not None:
            self._check_version(name, version, getattr(message, "v", None))
        return message

    def dump_value(self, value: Any, declared: Any) -> bytes:
        """Bytes of a user's value; see :func:`beskar_jobs.wire.values.dump_value`."""
        return dump_value(value, declared)

    def load_value(self, data: bytes, declared: Any) -> Any:
        """The user's value in *data*; see :func:`beskar_jobs.wire.values.load_value`."""
        if len(data) > self.max_bytes:
            raise ValueNotSerializable(f"a value of {len(data)} bytes; at most {self.max_bytes} are read")
        return load_value(data, declared)

    def _decoder(self, message_type: type[Any]) -> tuple[msgspec.json.Decoder[Any], int | None]:
        entry = self._decoders.get(message_type)
        if entry is None:
            entry = (msgspec.json.Decoder(message_type), _version_of(message_type))
            self._decoders[message_type] = entry
        return entry

    @staticmethod
    def _check_version(name: str, known: int, found: int | None) -> None:
        if found is not None and found != known:
            raise PayloadInvalid(f"version {found} of {name} is not known; this program speaks {known}")


def _version_of(message_type: type[Any]) -> int | None:
    """The version this program speaks: the default of the field ``v``; ``None`` for what has no version."""
    if not issubclass(message_type, msgspec.Struct):
        return None
    for field in msgspec.structs.fields(message_type):
        if field.name == "v" and isinstance(field.default, int):
            return field.default
    return None


def _peek_version(data: bytes) -> int | None:
    try:
        return msgspec.json.decode(data, type=_Versioned).v
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None


def _encodable(plain: Any) -> Any:
    if isinstance(plain, str):
        return plain.encode(errors="replace").decode()
    if isinstance(plain, list | tuple):
        return [_encodable(item) for item in plain]
    if isinstance(plain, dict):
        return {_encodable(key): _encodable(value) for key, value in plain.items()}
    return plain
