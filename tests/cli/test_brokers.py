"""``beskar broker`` with its listeners and accounts, and ``beskar acl``."""

from __future__ import annotations

from pathlib import Path

from tests.cli.program import Program, beskar, environment


def test_accounts_made_by_the_command_let_in_over_each_listener(tmp_path: Path) -> None:
    made = beskar("broker", "--add-user", "ann", stdin="s3cret\n")
    assert made.returncode == 0, made.stderr
    assert "s3cret" not in made.stdout
    (tmp_path / "passwords").write_text(made.stdout)
    listen = f"mqtt://127.0.0.1:0,ws://127.0.0.1:0,mqtt+unix://{tmp_path}/broker.sock"
    settings = environment(password_file=str(tmp_path / "passwords"), listen=listen)
    with Program("broker", env=settings) as broker:
        broker.wait_for("mqtt+unix://", "stdout")
        for url in list(broker.lines["stdout"]):
            refused = beskar("jobs", "--broker", url, env=environment(username="ann", password="wrong"))
            assert refused.returncode == 1
            with Program("scheduler", "--broker", url, env=environment(username="ann", password="s3cret")) as scheduler:
                scheduler.wait_for("scheduler")
                asked = beskar("jobs", "--json", "--broker", url, env=environment(username="ann", password="s3cret"))
                assert asked.returncode == 0, asked.stderr
                assert scheduler.stop() == 0
        assert broker.stop() == 0


def test_settings_of_the_project_name_the_listeners(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.beskar]\nlisten = ["ws://127.0.0.1:0/bus"]\n')
    with Program("broker", folder=tmp_path) as broker:
        assert broker.wait_for("ws://", "stdout").endswith("/bus")
        assert broker.stop() == 0


def test_an_open_door_to_the_network_is_refused_with_the_way_out() -> None:
    ran = beskar("broker", "--host", "0.0.0.0", "--port", "0")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "0.0.0.0 can be reached from other machines" in ran.stderr
    assert "--password-file" in ran.stderr


def test_the_rights_of_one_role_in_the_form_of_mosquitto() -> None:
    ran = beskar("acl", "--role", "worker", "--mosquitto", "--prefix", "shop")
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[:2] == ["user worker", "topic write shop/events/+/batch"]
    wrong = beskar("acl", "--role", "boss")
    assert wrong.returncode == 1
    assert "client, worker, scheduler, dashboard" in wrong.stderr
