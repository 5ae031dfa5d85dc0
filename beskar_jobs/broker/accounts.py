"""Accounts of the embedded broker: a file of users, roles and hashed passwords.

One account a line, ``user:role,role:hash``; empty lines and lines that start with ``#`` do not count. Without roles an
account may do everything. The hash is scrypt's (RFC 7914), with its cost and salt in it:
``scrypt$16384$8$1$salt$key``, the last two in base64. An account with no hash can come by client certificate only.

Checking a password takes tens of milliseconds of CPU on purpose. It is done in two threads of the broker's own, so that
the loop goes on, and only so many may wait: a peer that tries passwords cannot make more. A password that was right is
remembered as a keyed digest, valid in this process only: after a restart of the network everybody comes at once.
An unknown user is checked as long as a known one, so that time does not tell which users there are.
"""

from __future__ import annotations

import asyncio
import base64
import binascii
import hashlib
import hmac
import secrets
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import attrs

from beskar_jobs.model.errors import InvalidValue

_COST: Final = 2**14
_BLOCK: Final = 8
_LANES: Final = 1
_KEY: Final = 32
_MEMORY: Final = 64 * 1024 * 1024
_MAX_WAITING: Final = 1000
_MAX_REMEMBERED: Final = 10_000
_FORBIDDEN: Final = frozenset(":\n\r\0")


def hash_password(password: str) -> str:
    """A new salted hash of *password*, as the file holds it."""
    salt = secrets.token_bytes(16)
    key = _scrypt(password.encode(), salt, _COST, _BLOCK, _LANES)
    return f"scrypt${_COST}${_BLOCK}${_LANES}${_text(salt)}${_text(key)}"


def make_account(user: str, password: str, roles: tuple[str, ...] = ()) -> str:
    """A line for the file.

    Raises:
        InvalidValue: the user's name or a role is empty or has ``:`` or a line break in it.
    """
    for kind, name in [("user", user), *(("role", role) for role in roles)]:
        if (
            not name
            or name.startswith("#")
            or name != name.strip()
            or not _FORBIDDEN.isdisjoint(name)
            or (kind == "role" and "," in name)
        ):
            raise InvalidValue(f"the {kind} {name!r} is empty, starts with '#', or has ':', ',' or white space around")
    return f"{user}:{','.join(roles)}:{hash_password(password)}"


@attrs.frozen
class Account:
    """One line of the file. *roles* is ``None`` for an account that may do everything."""

    user: str
    roles: tuple[str, ...] | None
    hash: str = attrs.field(repr=False)


def load_accounts(path: Path) -> dict[str, Account]:
    """The accounts in the file, by user.

    Raises:
        InvalidValue: the file cannot be read, or a line is no account; names file and line.
    """
    try:
        lines = path.read_text("utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidValue(f"the password file {path} cannot be read: {error}") from None
    accounts: dict[str, Account] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip() or line.startswith("#"):
            continue
        parts = line.strip().split(":")
        if len(parts) != 3 or not parts[0] or (parts[2] and _parse(parts[2]) is None):
            raise InvalidValue(
                f"the password file {path}, line {number}, is no account 'user:roles:hash'; "
                "'beskar broker --add-user NAME' makes one"
            )
        user, roles, hashed = parts
        if user in accounts:
            raise InvalidValue(f"the password file {path}, line {number}: the user {user!r} is there twice")
        names = tuple(name.strip() for name in roles.split(",") if name.strip())
        accounts[user] = Account(user, names or None, hashed)
    return accounts


class PasswordCheck:
    """Checks passwords off the event loop."""

    def __init__(self, accounts: Mapping[str, Account]) -> None:
        self._accounts = accounts
        self._threads = ThreadPoolExecutor(2, thread_name_prefix="beskar-broker-password")
        self._secret = secrets.token_bytes(32)
        self._right: set[bytes] = set()
        self._waiting = 0
        self._decoy = hash_password(secrets.token_hex(8))

    async def check(self, user: str, password: bytes) -> Account | None:
        """The account, if *password* is its; ``None`` also when too many checks are waiting already."""
        account = self._accounts.get(user)
        hashed = account.hash if account is not None and account.hash else self._decoy
        digest = hmac.digest(self._secret, b"\0".join((user.encode(), hashed.encode(), password)), "sha256")
        if digest not in self._right:
            if self._waiting >= _MAX_WAITING:
                return None
            self._waiting += 1
            try:
                right = await asyncio.get_running_loop().run_in_executor(self._threads, _verify, hashed, password)
            finally:
                self._waiting -= 1
            if not right or account is None or not account.hash:
                return None
            if len(self._right) >= _MAX_REMEMBERED:
                self._right.clear()
            self._right.add(digest)
        return account

    def by_certificate(self, name: str) -> Account | None:
        """The account of a client whose certificate was checked, and bears *name*."""
        return self._accounts.get(name)

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def _verify(hashed: str, password: bytes) -> bool:
    parsed = _parse(hashed)
    if parsed is None:
        return False
    cost, block, lanes, salt, key = parsed
    return hmac.compare_digest(_scrypt(password, salt, cost, block, lanes), key)


def _parse(hashed: str) -> tuple[int, int, int, bytes, bytes] | None:
    parts = hashed.split("$")
    if len(parts) != 6 or parts[0] != "scrypt":
        return None
    try:
        cost, block, lanes = (int(part) for part in parts[1:4])
        salt, key = (base64.b64decode(part, validate=True) for part in parts[4:])
    except (ValueError, binascii.Error):
        return None
    # Costs that the memory bound below does not carry would fail at the first login.
    if cost < 2 or cost & (cost - 1) or not 1 <= block <= 32 or not 1 <= lanes <= 16 or len(key) != _KEY:
        return None
    return (cost, block, lanes, salt, key) if 128 * block * (cost + lanes + 2) <= _MEMORY else None


def _scrypt(password: bytes, salt: bytes, cost: int, block: int, lanes: int) -> bytes:
    return hashlib.scrypt(password, salt=salt, n=cost, r=block, p=lanes, maxmem=_MEMORY + 1024 * 1024, dklen=_KEY)


def _text(data: bytes) -> str:
    return base64.b64encode(data).decode()
