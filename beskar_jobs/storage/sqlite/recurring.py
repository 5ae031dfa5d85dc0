"""Recurring entries and their occurrences in a SQLite file: rows and back, and the write of one change.

Entries are few and change seldom beside jobs, so each is written by statements of its own, inside the transaction of
the commit that it belongs to. One that cannot be read comes back with the reason in place of its definition, so that it
is seen and the others go on.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from typing import Any, Final

import msgspec

from beskar_jobs.model.job import Job
from beskar_jobs.model.recurring import OCCURRENCES_KEPT, Occurrence, RecurringDefinition, RecurringJob
from beskar_jobs.ports.storage import RecurringChange
from beskar_jobs.storage.sqlite.sql import QUERIES
from beskar_jobs.storage.times import EPOCH, to_microseconds

_encode: Final = msgspec.json.Encoder().encode
_decode_entry: Final = msgspec.json.Decoder(RecurringJob).decode
_decode_occurrence: Final = msgspec.json.Decoder(Occurrence).decode


def write_change(
    connection: sqlite3.Connection, change: RecurringChange, insert_job: Callable[[Job], object]
) -> list[bool] | None:
    """Write *change* in the transaction under way; ``None`` if it is refused, else which firings are written."""

    def wrote(query: str, **parameters: Any) -> bool:
        return connection.execute(QUERIES[query], {"name": change.name, **parameters}).rowcount == 1

    entry, expected = change.entry, change.expected_version
    if entry is None:
        if expected == 0:
            ((known,),) = connection.execute(QUERIES["recurring_known"], {"name": change.name}).fetchall()
            return None if known else [False] * len(change.firings)
        if not wrote("recurring_remove", expected=expected):
            return None
        wrote("occurrences_remove")
        return [False] * len(change.firings)
    values = {
        "version": entry.version,
        "next_at": None if entry.next_at is None else to_microseconds(entry.next_at),
        "entry": _encode(entry).decode(),
    }
    if not (wrote("recurring_change", expected=expected, **values) if expected else wrote("recurring_add", **values)):
        return None
    written: list[bool] = []
    for firing in change.firings:
        is_new = wrote(
            "occurrence_add",
            instant=to_microseconds(firing.occurrence.instant),
            job_id=None if firing.job is None else firing.job.id,
            occurrence=_encode(firing.occurrence).decode(),
        )
        if is_new and firing.job is not None:
            insert_job(firing.job)
        written.append(is_new)
    if written:
        wrote("occurrences_prune", kept=OCCURRENCES_KEPT)
    return written


def read_entries(text: str) -> list[RecurringJob]:
    """The entries in the JSON text that a query gave back."""
    return [_read_entry(*row) for row in msgspec.json.decode(text)]


def read_occurrences(text: str) -> list[Occurrence]:
    return [_decode_occurrence(row) for row in msgspec.json.decode(text)]


def _read_entry(name: str, version: int, text: str) -> RecurringJob:
    try:
        entry = _decode_entry(text)
    except (msgspec.MsgspecError, ValueError) as problem:
        unreadable = RecurringDefinition(name, "", "", b"null", "")
        return RecurringJob(
            unreadable, EPOCH, EPOCH, version=version, problem=f"it cannot be read from storage: {problem}"
        )
    return entry
