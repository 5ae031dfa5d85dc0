"""Generated files: written whole or not at all, only ours, only if they differ."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from beskar_codegen.cache import Cache
from beskar_codegen.emit.header import with_header
from beskar_codegen.files import ChangeKind, apply, plan_files, write_atomically


def generated(body: str) -> str:
    return with_header(body, version="1", source_digest="0" * 64)


def test_a_file_that_is_as_it_shall_be_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(generated("x = 1\n"))
    assert plan_files(tmp_path, {"a.py": generated("x = 1\n")}).changes == ()


def test_line_ends_of_a_checkout_are_no_difference(tmp_path: Path) -> None:
    text = generated("x = 1\n")
    (tmp_path / "a.py").write_bytes(text.replace("\n", "\r\n").encode())
    assert plan_files(tmp_path, {"a.py": text}).changes == ()
    plan = plan_files(tmp_path, {"a.py": generated("x = 2\n")})
    assert ([each.kind for each in plan.changes], plan.problems) == ([ChangeKind.UPDATE], ())


def test_a_change_is_shown_as_a_diff_and_made_when_it_is_applied(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(generated("x = 1\n"))
    plan = plan_files(tmp_path, {"a.py": generated("x = 2\n"), "b/c.py": "y\n"}, without_header=["b/c.py"])
    assert [(each.kind, each.path) for each in plan.changes] == [("update", "a.py"), ("create", "b/c.py")]
    assert "-x = 1\n+x = 2\n" in plan.changes[0].diff()
    assert plan.changes[1].diff() == "--- /dev/null\n+++ b/b/c.py\n@@ -0,0 +1 @@\n+y\n"
    assert apply(tmp_path, plan.changes) == []
    assert (tmp_path / "b" / "c.py").read_bytes() == b"y\n"
    assert plan_files(tmp_path, {"a.py": generated("x = 2\n")}).changes == ()


def test_an_edited_file_is_told_and_overwritten_only_by_force(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(generated("x = 1\n") + "edited = True\n")
    wanted = {"a.py": generated("x = 2\n")}
    (problem,) = plan_files(tmp_path, wanted).problems
    assert (problem.code, problem.place.path) == ("JOBGEN071", "a.py")
    assert plan_files(tmp_path, wanted, is_forced=True).problems == ()


def test_a_file_of_somebody_else_is_told_and_an_empty_one_is_nobodys(tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text("mine = True\n")
    (tmp_path / "b.py").write_text("")
    (problem,) = plan_files(tmp_path, {"a.py": generated(""), "b.py": generated("")}).problems
    assert (problem.code, problem.place.path) == ("JOBGEN073", "a.py")


def test_stale_files_are_removed_if_they_are_ours(tmp_path: Path) -> None:
    stubs = tmp_path / "stubs" / "app" / "old"
    stubs.mkdir(parents=True)
    (stubs / "gone.pyi").write_text(generated(""))
    (tmp_path / "stubs" / "mine.pyi").write_text("x: int\n")
    plan = plan_files(tmp_path, {}, owned=["stubs"])
    assert [(each.kind, each.path) for each in plan.changes] == [("remove", "stubs/app/old/gone.pyi")]
    assert apply(tmp_path, plan.changes) == []
    assert [path.name for path in (tmp_path / "stubs").iterdir()] == ["mine.pyi"]


def test_a_stale_file_that_was_edited_stays(tmp_path: Path) -> None:
    (tmp_path / "stubs").mkdir()
    (tmp_path / "stubs" / "a.pyi").write_text(generated("") + "x: int\n")
    assert [each.code for each in plan_files(tmp_path, {}, owned=["stubs"]).problems] == ["JOBGEN071"]


def test_a_folder_in_the_way_is_told(tmp_path: Path) -> None:
    (tmp_path / "a.py").mkdir()
    assert [each.code for each in plan_files(tmp_path, {"a.py": ""}).problems] == ["JOBGEN072"]


def test_what_cannot_be_written_is_told_and_everything_else_is_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way\n")
    plan = plan_files(tmp_path, {"good.py": "x\n"})
    bad = plan_files(tmp_path, {"bad.py": "x\n"}).changes[0]
    broken = type(bad)(bad.kind, "file/below.py", "", "x\n")
    (problem,) = apply(tmp_path, [broken, *plan.changes])
    assert (problem.code, problem.place.path) == ("JOBGEN072", "file/below.py")
    assert (tmp_path / "good.py").read_text() == "x\n"


def test_a_failing_write_leaves_the_old_file_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a.py").write_text("old\n")

    def fail(source: str, target: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "replace", fail)
    with pytest.raises(OSError, match="No space left"):
        write_atomically(tmp_path / "a.py", b"new\n")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("a.py", "old\n")]


def test_permissions_and_links_are_kept(tmp_path: Path) -> None:
    (tmp_path / "real.py").write_text("old\n")
    (tmp_path / "real.py").chmod(0o640)
    (tmp_path / "link.py").symlink_to("real.py")
    write_atomically(tmp_path / "link.py", b"new\n")
    assert (tmp_path / "link.py").is_symlink()
    assert (tmp_path / "real.py").read_text() == "new\n"
    assert stat.S_IMODE((tmp_path / "real.py").stat().st_mode) == 0o640


def test_the_cache_gives_back_what_it_was_given_for_the_same_key_only(tmp_path: Path) -> None:
    Cache(tmp_path, "key").store({"a": [1, "ä"]})
    assert Cache(tmp_path, "key").load() == {"a": [1, "ä"]}
    assert Cache(tmp_path, "other").load() == {}
    assert (tmp_path / ".beskar_cache" / ".gitignore").read_text() == "*\n"


@pytest.mark.parametrize("damage", [b"", b"\0", b"beskar-codegen-cache 1 0000\n{}", b"\xff" * 100, b"[" * 100_000])
def test_a_damaged_cache_is_ignored_and_written_anew(tmp_path: Path, damage: bytes) -> None:
    cache = Cache(tmp_path, "key")
    cache.store({"a": 1})
    (tmp_path / ".beskar_cache" / "codegen-outcome.json").write_bytes(damage)
    assert cache.load() == {}
    cache.store({"a": 2})
    assert cache.load() == {"a": 2}


def test_a_cache_that_cannot_be_written_costs_nothing_but_time(tmp_path: Path) -> None:
    (tmp_path / ".beskar_cache").write_text("a file in the way")
    cache = Cache(tmp_path, "key")
    cache.store({"a": 1})
    assert cache.load() == {}


def test_a_cache_that_is_switched_off_leaves_no_trace(tmp_path: Path) -> None:
    Cache(None, "key").store({"a": 1})
    assert Cache(None, "key").load() == {}
    assert list(tmp_path.iterdir()) == []
