"""Who is let in (MQTT 5.0, 3.1.4 and 4.12): between a connection and the core stands a gate, until CONNECT is checked.

The gate holds back what a client sends until its CONNECT is whole, checks user and password off the event loop, and
hands everything on, or answers CONNACK 0x86 (bad user name or password) or 0x87 (not authorised). The core never sees a
client that was not let in. Three things besides the password are checked: the Will's topic is one that the client may
publish to; the client identifier is free, or of the same user, so that nobody takes over a session (and with it what is
queued there) of somebody else; and nobody without an account comes in unless everybody may.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping

import attrs
from mqtt5 import ConnAckReasonCode, ConnectPacket

from beskar_jobs.broker.access import AccessRules, Identity
from beskar_jobs.broker.accounts import Account, PasswordCheck

logger = logging.getLogger("beskar_jobs.broker")

Verdict = Identity | ConnAckReasonCode


@attrs.frozen
class Admission:
    """The accounts, and what their roles may do."""

    accounts: Mapping[str, Account] = attrs.field(repr=False)
    rules: AccessRules


class Gate:
    """See the module.

    Args:
        admission: whom it lets in.
        owner_of: the user whose session is under a client identifier; ``None``: there is none.

    Attributes:
        refused: clients not let in.
    """

    def __init__(self, admission: Admission, owner_of: Callable[[str], str | None]) -> None:
        self._passwords = PasswordCheck(admission.accounts)
        self.rules = admission.rules
        self._owner_of = owner_of
        self.refused = 0

    def close(self) -> None:
        self._passwords.close()

    async def judge(self, packet: ConnectPacket, certificate_name: str | None, label: str) -> Verdict:
        """Who the client is, or why it is not let in."""
        account = await self._account(packet, certificate_name)
        if account is None:
            self.refused += 1
            who = packet.username or certificate_name or ""
            logger.warning("client %r at %s not let in: wrong user or password for %r", packet.client_id, label, who)
            return ConnAckReasonCode.BAD_USER_NAME_OR_PASSWORD
        identity = Identity(account.user, packet.client_id, account.roles)
        why = self._objection(identity, packet)
        if why is not None:
            self.refused += 1
            logger.warning("client %r at %s not let in: %s", packet.client_id, label, why)
            return ConnAckReasonCode.NOT_AUTHORIZED
        return identity

    async def _account(self, packet: ConnectPacket, certificate_name: str | None) -> Account | None:
        if packet.username is not None:
            return await self._passwords.check(packet.username, packet.password or b"")
        return None if certificate_name is None else self._passwords.by_certificate(certificate_name)

    def _objection(self, identity: Identity, packet: ConnectPacket) -> str | None:
        owner = self._owner_of(identity.client_id)
        if owner is not None and owner != identity.user:
            return "this client identifier is in use by another user"
        will = packet.will
        if will is not None and not self.rules.allows(identity, "publish", will.topic):
            return f"its Will is for {will.topic!r}, which its roles do not publish to"
        return None
