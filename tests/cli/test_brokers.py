"""``beskar broker`` with its listeners and accounts, and ``beskar acl``."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from beskar_jobs.cli.brokers import acl
from beskar_jobs.model.errors import BrokerUnreachable, InvalidValue
from beskar_jobs.ports.transport import InboundMessage, TransportOptions
from beskar_jobs.transport.mqtt import MqttTransport
from tests.cli.program import PATIENCE, Program, beskar, environment


async def test_accounts_made_by_the_command_let_in_over_each_listener(tmp_path: Path) -> None:
    made = await asyncio.to_thread(beskar, "broker", "--add-user", "ann", stdin="s3cret\n")
    assert made.returncode == 0, made.stderr
    assert "s3cret" not in made.stdout
    (tmp_path / "passwords").write_text(made.stdout)
    listen = f"mqtt://127.0.0.1:0,ws://127.0.0.1:0,mqtt+unix://{tmp_path}/broker.sock"
    settings = environment(password_file=str(tmp_path / "passwords"), listen=listen)
    with Program("broker", env=settings) as broker:
        await asyncio.to_thread(broker.wait_for, "mqtt+unix://", "stdout")
        urls = list(broker.lines["stdout"])
        assert [url.partition(":")[0] for url in urls] == ["mqtt", "ws", "mqtt+unix"]
        for url in urls:
            assert await is_let_in(url, "s3cret")
            assert not await is_let_in(url, "wrong")
        refused = await asyncio.to_thread(
            beskar, "jobs", "--broker", urls[0], env=environment(username="ann", password="wrong")
        )
        assert (refused.returncode, refused.stdout) == (1, "")
        assert "no user name was given" not in refused.stderr
        nobody = await asyncio.to_thread(beskar, "jobs", "--broker", urls[0], env=environment())
        assert (nobody.returncode, nobody.stdout) == (1, "")
        assert "no user name was given" in nobody.stderr
        for ran in (refused, nobody):
            assert "BESKAR_USERNAME and BESKAR_PASSWORD, or the user in the broker's URL" in ran.stderr
            assert "--broker" not in ran.stderr
        assert await asyncio.to_thread(broker.stop) == 0


async def is_let_in(url: str, password: str) -> bool:
    options = TransportOptions(client_id="c", connect_timeout=PATIENCE, username="ann", password=password)
    transport = MqttTransport(url, options, Silent())
    try:
        await transport.open()
    except BrokerUnreachable:
        return False
    await transport.close()
    return True


class Silent:
    """Hears nothing."""

    def on_connected(self, connection: int) -> None:
        pass

    def on_disconnected(self, reason: str) -> None:
        pass

    def on_message(self, message: InboundMessage) -> None:
        pass


def test_what_the_broker_is_told_comes_from_option_environment_and_project_in_this_order(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text(
        '[tool.beskar]\nlisten = ["ws://127.0.0.1:0/bus"]\npersist = "project.db"\nsys-interval = -1\n'
    )
    settings = environment(persist="environment.db", sys_interval="0.5")
    with Program("broker", "--persist", "option.db", env=settings, folder=tmp_path) as broker:
        assert broker.wait_for("ws://", "stdout").endswith("/bus")
        assert broker.stop() == 0
    # The project's interval would not have been accepted.
    assert [path.name for path in tmp_path.glob("*.db")] == ["option.db"]


def test_an_open_door_to_the_network_is_refused_with_the_way_out() -> None:
    ran = beskar("broker", "--host", "0.0.0.0", "--port", "0")
    assert (ran.returncode, ran.stdout) == (1, "")
    assert "0.0.0.0 can be reached from other machines" in ran.stderr
    assert "--password-file" in ran.stderr


def test_a_file_that_is_something_else_is_refused_with_the_way_out(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_text("not a database\n" * 100)
    ran = beskar("broker", "--port", "0", "--persist", str(file))
    assert (ran.returncode, ran.stdout) == (1, "")
    assert f"{file} is no database" in ran.stderr
    assert "name another file" in ran.stderr


def test_an_account_with_a_role_that_has_no_rights_is_made_with_a_warning(tmp_path: Path) -> None:
    made = beskar("broker", "--add-user", "bob:worker,nosuch", stdin="s3cret\n")
    assert (made.returncode, made.stdout.startswith("bob:worker,nosuch:")) == (0, True)
    (line,) = made.stderr.splitlines()
    assert line.startswith("warning: there is no role 'nosuch' without an ACL file")
    assert "client, worker, scheduler, dashboard" in line
    file = tmp_path / "acl.toml"
    file.write_text('[roles.nosuch]\npublish = []\nsubscribe = ["jobs/#"]\n')
    made = beskar("broker", "--acl-file", str(file), "--add-user", "bob:nosuch", stdin="s3cret\n")
    assert (made.returncode, made.stderr) == (0, "")
    # The file stands in place of the usual roles.
    made = beskar("broker", "--acl-file", str(file), "--add-user", "bob:worker", stdin="s3cret\n")
    assert made.returncode == 0
    assert f"no role 'worker' by the ACL file {file}" in made.stderr


def test_the_rights_of_one_role_in_the_form_of_mosquitto() -> None:
    ran = beskar("acl", "--role", "worker", "--mosquitto", "--prefix", "shop")
    assert ran.returncode == 0
    assert ran.stdout.splitlines()[:2] == ["user worker", "topic write shop/events/+/batch"]
    with pytest.raises(InvalidValue, match="client, worker, scheduler, dashboard"):
        acl(role="boss")
