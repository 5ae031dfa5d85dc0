"""A URL names a storage, or is refused with the way out."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from beskar_jobs.model.errors import InvalidValue
from beskar_jobs.storage import create_storage
from beskar_jobs.storage.memory import MemoryStorage


def test_memory_has_no_rest() -> None:
    assert isinstance(create_storage("memory://"), MemoryStorage)
    with pytest.raises(InvalidValue, match="memory://"):
        create_storage("memory://jobs")


@pytest.mark.parametrize(
    ("url", "path"),
    [
        ("sqlite:///jobs.db", "jobs.db"),
        ("sqlite:///data/my%20jobs%3F.db", "data/my jobs?.db"),
        ("sqlite:////var/lib/jobs.db", "/var/lib/jobs.db"),
    ],
)
async def test_sqlite_urls_name_files(url: str, path: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert repr(create_storage(url)) == f"SqliteStorage({str(Path(path).absolute())!r})"


async def test_a_relative_path_is_the_one_where_the_storage_was_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(tmp_path)
    storage = create_storage("sqlite:///jobs.db")
    monkeypatch.chdir(elsewhere)
    await storage.open()
    await storage.close()
    assert (tmp_path / "jobs.db").exists()


@pytest.mark.parametrize(
    ("url", "says"),
    [
        ("jobs.db", "starts with a scheme"),
        ("", "starts with a scheme"),
        ("mysql://localhost/jobs", "mysql"),
        ("sqlite://", "needs a file"),
        ("sqlite:///", "needs a file"),
        ("sqlite:///:memory:", "use memory://"),
        ("sqlite://jobs.db", "three slashes"),
        ("sqlite:///jobs.db?mode=ro", "%3F"),
        ("postgresql://user:secret@db/jobs", "no PostgreSQL storage yet"),
        ("redis://:secret@cache/0", "no Redis storage yet"),
    ],
)
def test_other_urls_are_refused_with_the_way_out(url: str, says: str) -> None:
    with pytest.raises(InvalidValue, match=says) as caught:
        create_storage(url)
    assert "secret" not in str(caught.value)


def test_no_driver_is_imported_before_its_url_is_given() -> None:
    program = (
        "import sys; from beskar_jobs.storage import create_storage; create_storage('memory://');"
        "sys.exit('sqlite3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", program], check=False).returncode == 0
