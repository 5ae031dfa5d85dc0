"""Where settings come from: option > environment > pyproject.toml > default."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from beskar_jobs.cli.settings import load_settings
from beskar_jobs.model.errors import InvalidValue
from tests.cli.program import beskar, environment

UNREACHABLE = "mqtt://127.0.0.1:{}"
"""Ports on which nobody listens; the error names the one that was tried."""


def tried(folder: Path, *options: str, **env: str) -> str:
    ran = beskar("workers", "--connect-timeout", "0.5", *options, folder=folder, env=environment(**env))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert ran.stderr.count("\n") == 1, ran.stderr
    found = re.search(r"mqtt://\S*?127\.0\.0\.1:(\d+)", ran.stderr)
    assert found is not None, ran.stderr
    return found[1]


def test_an_option_wins_over_the_environment_over_pyproject_over_the_default(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.beskar]\nbroker = "mqtt://127.0.0.1:3"\n')
    assert tried(tmp_path, "--broker", "mqtt://127.0.0.1:1", broker="mqtt://127.0.0.1:2") == "1"
    assert tried(tmp_path, broker="mqtt://127.0.0.1:2") == "2"
    assert tried(tmp_path) == "3"


def test_without_any_setting_the_default_is_the_port_of_mqtt(tmp_path: Path) -> None:
    shown = " ".join(beskar("workers", "--help", folder=tmp_path).stdout.split())
    assert "default: (mqtt://127.0.0.1:1883)" in shown


def test_a_password_is_never_shown(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.beskar]\nbroker = "mqtt://me:s3cret@127.0.0.1:3"\n')
    for arguments in (["workers", "--connect-timeout", "0.3"], ["workers", "--help"], ["jobs", "--broker=mqtt://"]):
        ran = beskar(*arguments, folder=tmp_path, env=environment(password="s3cret"))
        assert "s3cret" not in ran.stdout + ran.stderr


def test_every_kind_of_setting_is_read(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.beskar]\nqueues = ["a", "b"]\nconcurrency = 3\nstop-grace = 1.5\njson_logs = true\n'
        '[tool.beskar.codegen]\nsource = ["app"]\n'
    )
    assert load_settings(tmp_path) == {"queues": "a,b", "concurrency": 3, "stop_grace": 1.5, "json_logs": True}


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ('[tool.beskar]\nbrokr = "mqtt://x"', r"\[tool.beskar\] brokr is no setting; did you mean 'broker'\?"),
        ("[tool.beskar]\nconcurrency = true", r"concurrency is True; it takes a whole number"),
        ('[tool.beskar]\nqueues = ["a,b"]', r"takes a list of names"),
        ('[tool.beskar]\npassword = "x"', r"set BESKAR_PASSWORD"),
        ("[tool]\nbeskar = 3", r"tool.beskar is a table"),
        ("[tool.beskar\n", r"pyproject.toml cannot be read"),
    ],
)
def test_a_setting_that_cannot_be_meant_is_an_error(tmp_path: Path, text: str, told: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(InvalidValue, match=told):
        load_settings(tmp_path)


def test_no_pyproject_or_one_of_others_sets_nothing(tmp_path: Path) -> None:
    assert load_settings(tmp_path) == {}
    (tmp_path / "pyproject.toml").write_text('[project]\nname = "x"\n')
    assert load_settings(tmp_path) == {}
