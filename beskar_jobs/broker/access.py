"""Who may do what on the embedded broker: roles, and the topics that each may publish and subscribe to.

A right is a topic filter with placeholders: ``{prefix}``, the topic prefix of the job system; ``{user}``, the account;
``{client_id}``, the MQTT client identifier; ``{name}``, the name in a client identifier of this library
(``worker-NAME-incarnation``, ``client-NAME``). A value that holds ``+``, ``#`` or ``/`` grants nothing: else a client
could name itself into the topics of all others.

A subscription is granted if one right *covers* it, that is, matches every topic that the subscription can match. So
what a granted subscription brings needs no check for each message.

The rights of the four roles follow from the topics of the protocol (:mod:`beskar_jobs.wire.topics`).
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal

import attrs

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.wire.topics import DEFAULT_PREFIX, TopicKind, Topics

Action = Literal["publish", "subscribe"]

_PLACEHOLDER: Final = re.compile(r"\{([a-z_]*)\}")
_KNOWN: Final = {"prefix", "user", "client_id", "name"}
_NAME: Final = re.compile(r"\A(?:client|worker|scheduler)-(.+?)(?:-[0-9a-f]{12}-[0-9a-f]{8})?\Z")
_MAX_DECISIONS: Final = 4096


@attrs.frozen
class Rights:
    """What a role may publish to, and subscribe to: topic filters with placeholders."""

    publish: tuple[str, ...] = ()
    subscribe: tuple[str, ...] = ()


def _shape(kind: TopicKind, *names: str) -> str:
    return "{prefix}/" + kind.value.format(*names)


_COMMANDS: Final = "{prefix}/commands/#"


ROLES: Final[Mapping[str, Rights]] = {
    "client": Rights(
        publish=(_COMMANDS,),
        subscribe=(
            _shape(TopicKind.CLIENT_REPLIES, "{name}"),
            _shape(TopicKind.CLIENT_UPDATES, "{name}"),
            _shape(TopicKind.SCHEDULER, "+"),
            _shape(TopicKind.STATUS, "+"),
        ),
    ),
    "worker": Rights(
        publish=(
            _shape(TopicKind.EVENTS, "{name}"),
            _shape(TopicKind.HEARTBEAT, "{name}"),
            _shape(TopicKind.SCHEDULER_REPLIES, "+"),
            _shape(TopicKind.RECURRING),
        ),
        subscribe=(
            _shape(TopicKind.DISPATCH, "+", "{name}"),
            _shape(TopicKind.CONTROL, "{name}"),
            _shape(TopicKind.HEARTBEAT, "{name}"),
            _shape(TopicKind.SCHEDULER, "+"),
        ),
    ),
    "scheduler": Rights(
        publish=(
            _shape(TopicKind.CLIENT_REPLIES, "+"),
            _shape(TopicKind.CLIENT_UPDATES, "+"),
            _shape(TopicKind.DISPATCH, "+", "+"),
            _shape(TopicKind.CONTROL, "+"),
            _shape(TopicKind.HEARTBEAT, "+"),
            _shape(TopicKind.SCHEDULER, "{name}"),
            _shape(TopicKind.STATUS, "+"),
        ),
        subscribe=(
            _COMMANDS,
            _shape(TopicKind.EVENTS, "+"),
            _shape(TopicKind.HEARTBEAT, "+"),
            _shape(TopicKind.SCHEDULER_REPLIES, "{name}"),
            _shape(TopicKind.SCHEDULER, "+"),
        ),
    ),
    "dashboard": Rights(
        publish=(_COMMANDS,),
        subscribe=("{prefix}/#", "$SYS/#"),
    ),
}
"""The rights of the roles; ``beskar acl`` prints them."""


@attrs.frozen(cache_hash=True)
class Identity:
    """Who a connection is.

    Attributes:
        user: the account; empty for somebody who was let in without one.
        client_id: the MQTT client identifier.
        roles: names of roles; ``None``: everything is allowed.
    """

    user: str
    client_id: str
    roles: tuple[str, ...] | None = None

    @property
    def name(self) -> str:
        """The name in the client identifier, if it is made as this library makes them; else the whole."""
        found = _NAME.match(self.client_id)
        return found[1] if found else self.client_id


class AccessRules:
    """Decides what an identity may do.

    Args:
        prefix: of the job system's topics.
        roles: rights by role.

    Raises:
        InvalidValue: a right has an unknown placeholder, or is no topic filter.
    """

    def __init__(self, prefix: str = DEFAULT_PREFIX, roles: Mapping[str, Rights] = ROLES) -> None:
        self._prefix = Topics(prefix).prefix
        self.roles = dict(roles)
        for role, rights in self.roles.items():
            for pattern in (*rights.publish, *rights.subscribe):
                _check_pattern(role, pattern)
        self._decided: dict[tuple[Identity, Action, str], bool] = {}

    def allows(self, identity: Identity, action: Action, topic: str) -> bool:
        """Whether *identity* may publish to *topic*, or subscribe with *topic* as filter."""
        if identity.roles is None:
            return True
        key = (identity, action, topic)
        known = self._decided.get(key)
        if known is None:
            known = self._decide(identity, action, topic)
            if len(self._decided) >= _MAX_DECISIONS:
                self._decided.clear()
            self._decided[key] = known
        return known

    def filters(self, identity: Identity, action: Action) -> list[str]:
        """The topic filters that *identity* may use for *action*, with the placeholders filled in."""
        values = {"user": identity.user, "client_id": identity.client_id, "name": identity.name}
        filled = []
        for role in identity.roles or ():
            rights = self.roles.get(role)
            if rights is not None:
                patterns = rights.publish if action == "publish" else rights.subscribe
                filled += [text for pattern in patterns if (text := self._fill(pattern, values)) is not None]
        return filled

    def _decide(self, identity: Identity, action: Action, topic: str) -> bool:
        if action == "subscribe" and topic.startswith("$share/"):
            topic = topic.split("/", 2)[-1]  # 4.8.2: what is shared is the filter after the group's name
        return any(covers(pattern, topic) for pattern in self.filters(identity, action))

    def _fill(self, pattern: str, values: Mapping[str, str]) -> str | None:
        used = set(_PLACEHOLDER.findall(pattern)) - {"prefix"}
        if any(not values[name] or not _UNSAFE.isdisjoint(values[name]) for name in used):
            return None
        return _PLACEHOLDER.sub(lambda found: values.get(found[1], self._prefix), pattern)


_UNSAFE: Final = frozenset("+#/\0")


def covers(granted: str, wanted: str) -> bool:
    """Whether the topic filter *granted* matches every topic that *wanted* (a topic or a filter) can match."""
    if wanted.startswith("$") != granted.startswith("$"):
        return False  # 4.7.2: a filter that starts with a wildcard does not reach the broker's own topics
    have, want = granted.split("/"), wanted.split("/")
    for position, level in enumerate(have):
        if level == "#":
            return True
        if position >= len(want) or want[position] == "#":
            return False
        if level not in {"+", want[position]}:
            return False
    return len(want) == len(have)


def load_roles(path: Path) -> dict[str, Rights]:
    """Rights of roles from a TOML file: a table ``[roles.NAME]`` each, with lists ``publish`` and ``subscribe``.

    Raises:
        InvalidValue: the file cannot be read, or holds something else; names it.
    """
    try:
        tables = tomllib.loads(path.read_text("utf-8"))
    except OSError as error:
        raise InvalidValue(f"the ACL file {path} cannot be read: {error.strerror or error}") from None
    except ValueError as error:
        raise InvalidValue(f"the ACL file {path} is no TOML: {error}") from None
    roles: Any = tables.get("roles")
    if not isinstance(roles, dict) or set(tables) != {"roles"}:
        raise InvalidValue(f"the ACL file {path} has tables [roles.NAME] and nothing else; 'beskar acl' prints one")
    return {name: _rights(path, name, table) for name, table in roles.items()}


def _rights(path: Path, name: str, table: Any) -> Rights:
    where = f"the ACL file {path}: [roles.{name}]"
    if not isinstance(table, dict) or not set(table) <= {"publish", "subscribe"}:
        raise InvalidValue(f"{where} has the lists 'publish' and 'subscribe' and nothing else")
    for key, patterns in table.items():
        if not isinstance(patterns, list) or not all(isinstance(pattern, str) for pattern in patterns):
            raise InvalidValue(f'{where} {key} is a list of topic filters, such as ["{{prefix}}/commands/query"]')
        for pattern in patterns:
            _check_pattern(name, pattern)
    return Rights(tuple(table.get("publish", ())), tuple(table.get("subscribe", ())))


def _check_pattern(role: str, pattern: str) -> None:
    unknown = [name for name in _PLACEHOLDER.findall(pattern) if name not in _KNOWN]
    if unknown:
        known = ", ".join(f"{{{name}}}" for name in sorted(_KNOWN))
        raise InvalidValue(
            f"role {role!r}: {pattern!r} has the unknown placeholder {{{unknown[0]}}}; there are {known}"
        )
    levels = pattern.split("/")
    for position, level in enumerate(levels):
        alone = level in {"+", "#"}
        if (("+" in level or "#" in level) and not alone) or (level == "#" and position != len(levels) - 1):
            raise InvalidValue(f"role {role!r}: {pattern!r} is no topic filter: '+' is a level, '#' the last level")


def as_toml(roles: Mapping[str, Rights] = ROLES, chosen: Sequence[str] | None = None) -> str:
    """The rights as a file for :func:`load_roles`."""
    lines: list[str] = []
    for role, rights in roles.items():
        if chosen is None or role in chosen:
            lines += [f"[roles.{role}]"]
            for action in ("publish", "subscribe"):
                patterns: tuple[str, ...] = getattr(rights, action)
                lines += [f"{action} = [", *(f'    "{pattern}",' for pattern in patterns), "]"]
            lines.append("")
    return "\n".join(lines)


def as_mosquitto(prefix: str, roles: Mapping[str, Rights] = ROLES, chosen: Sequence[str] | None = None) -> str:
    """The rights as an ``acl_file`` of Mosquitto, for accounts that are called as the roles.

    Mosquitto knows no part of a client identifier, so ``{name}`` becomes ``+``: there, an account reaches the topics
    of all others of its role.
    """
    lines: list[str] = []
    for role, rights in roles.items():
        if chosen is None or role in chosen:
            lines.append(f"user {role}")
            for word, patterns in (("write", rights.publish), ("read", rights.subscribe)):
                for pattern in patterns:
                    topic = _PLACEHOLDER.sub(lambda found: prefix if found[1] == "prefix" else "+", pattern)
                    lines.append(f"topic {word} {topic}")
            lines.append("")
    return "\n".join(lines)
