"""Generated descriptors at work: what they send, and what a process that uses them does not load."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from beskar_codegen.plan import PlanSettings
from tests.codegen.generating import generate_all

ROOT = Path(__file__).parents[2]
PROJECT = Path(__file__).with_name("project")

SAME_ON_THE_WIRE = """
import datetime, uuid
from app import jobs as imported, types
from client import jobs as written
from beskar_jobs.wire.values import dump_value, load_value

def pair(name, *args, **kwargs):
    return getattr(imported, name)(*args, **kwargs), getattr(written, name)(*args, **kwargs)

both = dict(limit=50, private_limit=10)
since = datetime.datetime(2030, 1, 1, tzinfo=datetime.timezone.utc)
requests = [
    pair("VideoTranscode", source_file="a.mov", secret="s", tags=["x"], **both),
    pair("VideoTranscode", source_file="a.mov", **both),
    pair("Report", customer=uuid.UUID(int=1), since=since, media={"m": []}),
    pair("Mail", to="x"),
    pair("Mail", to="x", subject="y"),
    pair("PagePrint", items=[1, 2]),
    pair("PointDraw", x=1),
    pair("Odd", type="t", super_="s", queue="q"),
    pair("LongNames"),
    pair("Clean"),
    pair("NumbersAdd", [1, 2]),
    (
        imported.Steps(steps=(types.Moved(1), types.Turned(2.0))),
        written.Steps(steps=(written.AppTypes.Moved(1), written.Turned(2.0))),
    ),
]
for one, other in requests:
    assert (one.job_type, one.queue, one.priority) == (other.job_type, other.queue, other.priority)
    sent = dump_value(other.arguments, other.args_type)
    assert sent == dump_value(one.arguments, one.args_type), sent
    assert load_value(sent, one.args_type) == one.arguments
print(len(requests))
"""

LOADS_NO_HANDLER = """
import sys
from client.jobs import VideoTranscode
request = VideoTranscode(source_file="a.mov", limit=1, private_limit=2)
assert not [name for name in sys.modules if name.partition(".")[0] == "app"]
from app.jobs import VideoTranscode
VideoTranscode(source_file="a.mov")
assert "app.handlers" not in sys.modules
print(request.arguments.pause, VideoTranscode.queue, VideoTranscode.priority)
"""

SIGNATURES = """
import inspect
from app.jobs import Clean, Mail
for each in (Mail, Clean):
    print(each.__name__, inspect.signature(each))
"""


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("project")
    shutil.copytree(PROJECT, folder, dirs_exist_ok=True, ignore=shutil.ignore_patterns("__pycache__"))
    generate_all(folder, PlanSettings(first_party=frozenset({"app", "client"})))
    return folder


def run(project: Path, code: str) -> str:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(project), str(ROOT)])}
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_types_that_are_written_out_send_the_same_bytes(project: Path) -> None:
    assert run(project, SAME_ON_THE_WIRE) == "12\n"


def test_a_client_loads_no_handler(project: Path) -> None:
    assert run(project, LOADS_NO_HANDLER) == "0:00:05 media 5\n"


def test_signatures_show_the_fields_of_the_arguments_by_name_type_and_default(project: Path) -> None:
    lines = run(project, SIGNATURES).splitlines()
    assert lines == [
        "Mail (*, to: 'str', subject: 'str' = NOT_GIVEN, point: 'Point' = NOT_GIVEN) -> 'None'",
        "Clean () -> 'None'",
    ]
