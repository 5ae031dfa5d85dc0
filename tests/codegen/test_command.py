"""``beskar-codegen`` as a user runs it: exit codes, what it writes, what it says."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from beskar_codegen.version import VERSION
from tests.codegen.command import HANDLERS, REPOSITORY, TYPES, make_project, run, tree
from tests.codegen.sarif_rules import check_log


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return make_project(tmp_path / "project")


@pytest.fixture
def fresh(project: Path) -> Path:
    """A project whose files are generated."""
    done = run(project, "generate")
    assert (done.returncode, done.stdout) == (0, ""), done
    return project


def edit(path: Path, old: str, new: str) -> None:
    text = path.read_text()
    assert old in text
    path.write_text(text.replace(old, new))


def test_generate_writes_descriptors_stubs_and_contract_and_then_check_is_content(fresh: Path) -> None:
    assert {"app/jobs.py", "stubs/app/handlers.pyi", "beskar_jobs.lock.json"} <= set(tree(fresh))
    done = run(fresh, "check")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_check_of_a_project_that_was_never_generated_shows_a_diff_and_writes_nothing(project: Path) -> None:
    before = tree(project)
    done = run(project, "check")
    assert done.returncode == 1
    assert "+++ b/app/jobs.py" in done.stdout
    assert "app/jobs.py:1:1: error JOBGEN074: app/jobs.py is missing" in done.stdout
    assert tree(project) == before


def test_a_changed_field_is_stale_until_it_is_generated(fresh: Path) -> None:
    edit(fresh / "app" / "types.py", 'cc: str = ""', 'cc: str = ""\n    bcc: str = ""')
    done = run(fresh, "check")
    assert done.returncode == 1
    assert '+    def __init__(self, *, to: str, cc: str = "", bcc: str = "") -> None:' in done.stdout
    assert run(fresh, "generate").returncode == 0
    assert run(fresh, "check").returncode == 0


def test_a_changed_body_changes_nothing(fresh: Path) -> None:
    before = tree(fresh)
    edit(fresh / "app" / "handlers.py", "return MailResult", "# a comment\n        return MailResult")
    assert run(fresh, "check").returncode == 0
    assert run(fresh, "generate").returncode == 0
    after = tree(fresh)
    assert {path for path in after if after[path] != before[path]} == {"app/handlers.py"}


def test_generating_twice_gives_the_same_bytes_with_and_without_cache(fresh: Path, tmp_path: Path) -> None:
    before = tree(fresh)
    assert run(fresh, "generate", "--no-cache").returncode == 0
    assert tree(fresh) == before
    elsewhere = make_project(tmp_path / "elsewhere" / "deep")
    assert run(elsewhere, "generate").returncode == 0
    assert tree(elsewhere) == before


def test_diagnostics_end_with_2_and_nothing_is_written(project: Path) -> None:
    edit(project / "app" / "handlers.py", '"mail.send"', '" "')
    before = tree(project)
    for command in ("generate", "check"):
        done = run(project, command)
        assert done.returncode == 2
        assert done.stdout.splitlines()[0] == (
            "app/handlers.py:6:14: error JOBGEN002: the job type of MailJobHandler is empty or blank"
        )
        assert '  6 | @job_handler(" ", queue="mail")' in done.stdout
    assert tree(project) == before


def test_diagnostics_come_from_the_cache_as_they_were(project: Path) -> None:
    edit(project / "app" / "handlers.py", '"mail.send"', '""')
    assert run(project, "check").stdout == run(project, "check").stdout != ""


@pytest.mark.parametrize("command", ["generate", "check", "list"])
def test_json_is_a_list_of_diagnostics_and_nothing_else(project: Path, command: str) -> None:
    edit(project / "app" / "handlers.py", '"mail.send"', '""')
    done = run(project, command, "--format", "json")
    assert done.returncode == 2
    output = done.stderr if command == "list" else done.stdout
    (told,) = json.loads(output)
    assert sorted(told) == ["code", "column", "hint", "line", "message", "path"]
    assert (told["code"], told["path"], told["line"], told["column"]) == ("JOBGEN002", "app/handlers.py", 6, 14)


@pytest.mark.parametrize("form", ["github", "sarif"])
def test_other_formats_are_pure_too_and_the_diff_goes_to_standard_error(project: Path, form: str) -> None:
    done = run(project, "check", "--format", form)
    assert done.returncode == 1
    assert "+++ b/app/jobs.py" in done.stderr
    if form == "sarif":
        check_log(json.loads(done.stdout))
        results = json.loads(done.stdout)["runs"][0]["results"]
        assert {each["ruleId"] for each in results} == {"JOBGEN074"}
    else:
        assert all(line.startswith("::error file=") for line in done.stdout.splitlines())


def test_a_breaking_change_ends_with_1_and_the_contract_is_kept(fresh: Path) -> None:
    contract = (fresh / "beskar_jobs.lock.json").read_bytes()
    edit(fresh / "app" / "types.py", '    cc: str = ""\n', "")
    for command in ("check", "generate"):
        done = run(fresh, command)
        assert done.returncode == 1
        assert "app/handlers.py:7:7: error JOBGEN053: 'mail.send': the argument 'cc' is gone" in done.stdout
    assert "; kept beskar_jobs.lock.json as it was, for its contract is broken\n" in done.stderr
    assert (fresh / "beskar_jobs.lock.json").read_bytes() == contract
    assert b"cc" not in (fresh / "app" / "jobs.py").read_bytes()


def test_a_raised_version_lets_a_breaking_change_be_recorded(fresh: Path) -> None:
    edit(fresh / "app" / "types.py", '    cc: str = ""\n', "")
    edit(fresh / "app" / "handlers.py", 'queue="mail"', 'queue="mail", version=2')
    assert run(fresh, "generate").returncode == 0
    assert run(fresh, "check").returncode == 0
    jobs = json.loads((fresh / "beskar_jobs.lock.json").read_text())["jobs"]
    assert jobs["mail.send"]["version"] == 2
    assert "cc" not in jobs["mail.send"]["arguments"]["properties"]


def test_a_removed_job_type_is_let_go_by_name_and_its_stub_goes_too(fresh: Path) -> None:
    (fresh / "app" / "handlers.py").write_text("")
    done = run(fresh, "check")
    assert done.returncode == 1
    assert "beskar_jobs.lock.json:5:5: error JOBGEN051" in done.stdout
    assert run(fresh, "generate", "--accept", "mail.send").returncode == 0
    assert "stubs/app/handlers.pyi" not in tree(fresh)
    assert json.loads((fresh / "beskar_jobs.lock.json").read_text())["jobs"] == {}
    assert run(fresh, "check").returncode == 0


@pytest.mark.parametrize("damage", ["<<<<<<< HEAD\n", "{}", "\udcff"])
def test_a_damaged_contract_is_told_and_replaced_only_by_force(fresh: Path, damage: str) -> None:
    path = fresh / "beskar_jobs.lock.json"
    whole = path.read_bytes()
    path.write_text(damage, errors="surrogateescape")
    for command in ("check", "generate"):
        done = run(fresh, command)
        assert done.returncode == 2
        assert "beskar_jobs.lock.json:1:1: error JOBGEN050" in done.stdout
    assert run(fresh, "generate", "--force").returncode == 0
    assert path.read_bytes() == whole


def test_a_generated_file_that_was_edited_is_told_and_kept(fresh: Path) -> None:
    path = fresh / "app" / "jobs.py"
    edited = path.read_text() + "\nMINE = 1\n"
    path.write_text(edited)
    edit(fresh / "app" / "types.py", 'cc: str = ""', 'cc: str = "x"')
    before = tree(fresh)
    for command in ("check", "generate"):
        done = run(fresh, command)
        assert done.returncode == 2
        assert "app/jobs.py:1:1: error JOBGEN071: app/jobs.py was edited after it was generated" in done.stdout
    assert tree(fresh) == before
    assert run(fresh, "generate", "--force").returncode == 0
    assert "MINE" not in path.read_text()


def test_a_file_that_is_not_ours_is_never_overwritten(project: Path) -> None:
    (project / "app" / "jobs.py").write_text("MINE = 1\n")
    before = tree(project)
    done = run(project, "generate")
    assert done.returncode == 2
    assert "JOBGEN073" in done.stdout
    assert tree(project) == before


def test_an_output_below_a_file_is_told(project: Path) -> None:
    (project / "stubs").write_text("a file in the way\n")
    done = run(project, "generate")
    assert done.returncode == 2
    assert "stubs/app/handlers.pyi:1:1: error JOBGEN072" in done.stdout
    assert "Traceback" not in done.stderr
    assert not [path for path in tree(project) if path.endswith(".tmp")]


def test_a_damaged_cache_changes_no_answer(fresh: Path) -> None:
    cache = fresh / ".beskar_cache" / "codegen-outcome.json"
    cache.write_bytes(cache.read_bytes()[:-20])
    assert run(fresh, "check").returncode == 0
    cache.write_text("[]")
    assert run(fresh, "check").returncode == 0


def test_a_type_elsewhere_that_appears_or_changes_is_seen_through_the_cache(tmp_path: Path) -> None:
    handlers = HANDLERS.replace("app.types", "shared")
    project = make_project(tmp_path / "project", handlers=handlers)
    assert run(project, "generate").returncode == 0
    (project / "shared.py").write_text(TYPES)
    assert run(project, "check").returncode == 1
    assert run(project, "generate", "--accept", "mail.send").returncode == 0
    edit(project / "shared.py", 'cc: str = ""', 'cc: str = "x"')
    assert run(project, "check").returncode == 1


def test_list_shows_job_types_as_table_and_json(fresh: Path) -> None:
    table = run(fresh, "list")
    assert table.returncode == 0
    assert table.stdout.splitlines()[1].split() == [
        "mail.send",
        "mail",
        "1",
        "app.handlers.MailJobHandler",
        "MailArgs",
        "MailResult",
    ]
    (row,) = json.loads(run(fresh, "list", "--json").stdout)
    assert (row["job_type"], row["descriptor"], row["path"], row["line"]) == ("mail.send", "Mail", "app/handlers.py", 7)


@pytest.mark.parametrize("form", ["text", "github", "json", "sarif"])
def test_a_file_name_and_a_job_type_that_are_no_text_are_told_in_each_format(project: Path, form: str) -> None:
    (project / "app" / "handlers.py").unlink()
    odd = os.fsencode(project / "app") + b"/\xff.py"
    with open(odd, "w", encoding="utf-8") as file:
        file.write(HANDLERS.replace("mail.send", r"mail\ud800"))
    done = run(project, "check", "--format", form)
    assert done.returncode == 2, done
    assert "JOBGEN" in done.stdout
    assert "internal error" not in done.stderr
    if form == "sarif":
        check_log(json.loads(done.stdout))
        assert '"app/%FF.py"' in done.stdout
    elif form == "json":
        assert {each["path"] for each in json.loads(done.stdout)} == {"app/\udcff.py"}
    else:
        assert r"app/\udcff.py" in done.stdout


def test_wrong_settings_end_with_2(project: Path) -> None:
    (project / "pyproject.toml").write_text('[tool.beskar.codegen]\nsources = ["app"]\n')
    done = run(project, "check")
    assert done.returncode == 2
    assert done.stdout.startswith("pyproject.toml:2:1: error JOBGEN070: pyproject.toml: [tool.beskar.codegen] has no")


def test_options_override_settings_and_root_is_found_from_elsewhere(project: Path, tmp_path: Path) -> None:
    options = ["--root", str(project), "--descriptors", "app/requests.py", "--stubs", "", "--contract", "c.json"]
    assert run(tmp_path, "generate", *options, "--mode", "standalone").returncode == 0
    written = set(tree(project))
    assert {"app/requests.py", "c.json"} <= written
    assert not [path for path in written if path.endswith(".pyi")]
    assert "class MailArgs" in (project / "app" / "requests.py").read_text()


@pytest.mark.parametrize("arguments", [[], ["nonsense"], ["check", "--nonsense"], ["check", "--format", "xml"]])
def test_wrong_use_ends_with_2_and_says_how(tmp_path: Path, arguments: list[str]) -> None:
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert "Usage: beskar-codegen" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["chek"], "No such command 'chek'"),
        (["check", "--nonsense"], "No such option: --nonsense"),
        (["check", "--format", "xml"], "'xml' is not one of 'text', 'github', 'json', 'sarif'"),
        (["check", "--mode", "x"], "'x' is not one of 'import', 'standalone'"),
        (["check", "--root", "nowhere"], "'nowhere' does not exist"),
        (["watch", "--interval", "0"], "Invalid value for '--interval'"),
        (["explain"], "Missing argument 'CODE'"),
    ],
)
def test_an_error_of_use_names_the_mistake_and_where_help_is(
    tmp_path: Path, arguments: list[str], complaint: str
) -> None:
    done = run(tmp_path, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    told = " ".join(done.stderr.split())
    assert complaint in told
    assert "Try 'beskar-codegen" in told
    assert "Traceback" not in told


@pytest.mark.parametrize("command", ["generate", "check"])
def test_to_accept_what_is_no_job_type_is_an_error_of_use_that_names_those_there_are(fresh: Path, command: str) -> None:
    text = HANDLERS.replace("mail.send", "mail.post")
    (fresh / "app" / "handlers.py").write_text(text)
    before = tree(fresh)
    done = run(fresh, command, "--accept", "mail.post", "--accept", "mail.sned")
    assert (done.returncode, done.stdout) == (2, "")
    told = " ".join(done.stderr.split())
    assert "'--accept': no job type is called 'mail.sned'; there are mail.post, mail.send" in told
    assert tree(fresh) == before
    assert run(fresh, command, "--accept", "mail.send").returncode == (0 if command == "generate" else 1)


def test_an_internal_error_is_one_line_and_a_trace_with_verbose(project: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "import beskar_codegen.generation as g\n"
        "def fail(*a, **k): raise RuntimeError('kaput')\n"
        "g.source_files = fail\n"
        "from beskar_codegen.cli import main\nmain()"
    )

    def failing(*arguments: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-c", code, "check", *arguments],
            cwd=project,
            capture_output=True,
            text=True,
            timeout=100,
            check=False,
        )

    quiet = failing()
    assert quiet.returncode == 2
    assert quiet.stderr == ("beskar-codegen: internal error: RuntimeError: kaput; --verbose shows where\n")
    assert "Traceback" in failing("--verbose").stderr


@pytest.mark.parametrize("is_newer", [False, True])
def test_without_libcst_only_newer_syntax_cannot_be_read_and_the_command_says_what_to_install(
    project: Path, is_newer: bool
) -> None:
    if is_newer:
        with (project / "app" / "handlers.py").open("a") as file:
            file.write("\ntry:\n    pass\nexcept ValueError, TypeError:\n    pass\n")  # Python 3.14 and newer
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); sys.modules['libcst'] = None\n"
        "from beskar_codegen.cli import main\nmain()"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "generate"], cwd=project, capture_output=True, text=True, timeout=60, check=False
    )
    if is_newer and sys.version_info < (3, 14):
        assert done.returncode == 2
        assert done.stdout.startswith("app/handlers.py:13:8: error JOBGEN019: ")
        assert (
            "if it is right in a newer one, install what reads that: pip install 'beskar-jobs[codegen]'" in done.stdout
        )
    else:
        assert (done.returncode, done.stdout) == (0, "")


def test_help_loads_neither_the_parser_nor_the_rules(tmp_path: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from beskar_codegen.cli import main\n"
        "try:\n    main()\nexcept SystemExit:\n"
        "    print(sorted({'libcst', 'attrs', 'rich', 'pydantic'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "--help"], cwd=tmp_path, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.endswith("[]\n")
    for command in ("generate", "check", "watch", "explain", "list", "rules"):
        assert f"\n  {command} " in done.stdout


@pytest.mark.parametrize("options", [[], ["--no-cache"]])
def test_what_a_command_is_not_given_is_as_if_the_default_were_given(fresh: Path, options: list[str]) -> None:
    # Without options nothing is converted, with one everything is: both must come to the same.
    edit(fresh / "app" / "types.py", 'cc: str = ""', 'cc: str = "x"')
    plain, given = run(fresh, "check", *options), run(fresh, "check", *options, "--format", "text")
    assert (plain.returncode, plain.stdout, plain.stderr) == (given.returncode, given.stdout, given.stderr)
    assert plain.returncode == 1


def test_a_check_without_changes_loads_neither_the_parser_nor_what_converts_options(fresh: Path) -> None:
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "from beskar_codegen.cli import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n"
        "    print(end.code, sorted({'libcst', 'pydantic', 'rich'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "check"], cwd=fresh, capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "0 []\n"


def test_the_version_is_that_of_the_distribution(tmp_path: Path) -> None:
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["version"] == VERSION
    assert run(tmp_path, "--version").stdout == f"{VERSION}\n"


def test_watch_generates_at_each_change_and_ends_at_an_interrupt(project: Path) -> None:
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from beskar_codegen.cli import main; main()"
    process = subprocess.Popen(
        [sys.executable, "-c", code, "watch", "--interval", "0.05"],
        cwd=project,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        wait_for((project / "stubs" / "app" / "handlers.pyi").exists)
        edit(project / "app" / "types.py", 'cc: str = ""', 'cc: str = "watched"')
        wait_for(lambda: "watched" in (project / "app" / "jobs.py").read_text())
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
    finally:
        process.kill()
        process.wait()
    assert process.returncode == 0
    assert "Traceback" not in errors


def test_watch_sees_a_change_of_types_outside_of_the_sources(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text('[tool.beskar.codegen]\nsource = ["mails.py"]\n')
    (tmp_path / "mails.py").write_text(HANDLERS.replace("app.types", "mail_types"))
    (tmp_path / "mail_types.py").write_text(TYPES)
    code = f"import sys; sys.path.insert(0, {str(REPOSITORY)!r}); from beskar_codegen.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, "watch", "--interval", "0.05"], cwd=tmp_path)
    try:
        wait_for((tmp_path / "jobs.py").exists)
        for number in range(3):
            edit(tmp_path / "mail_types.py", 'cc: str = "', f'cc: str = "{number}')
            wait_for(partial(_holds, tmp_path / "jobs.py", f'"{number}'))
    finally:
        process.kill()
        process.wait()


def _holds(file: Path, text: str) -> bool:
    return text in file.read_text()


def wait_for(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come about in time"
        time.sleep(0.05)


def test_what_changes_bit_by_bit_comes_out_as_if_it_were_generated_at_once(fresh: Path, tmp_path: Path) -> None:
    second = HANDLERS.replace("mail.send", "mail.read").replace("MailJobHandler", "PostJobHandler")
    steps: list[tuple[str, str]] = [
        ("app/handlers.py", HANDLERS.replace("    async def", "    # moved\n    async def")),
        ("app/types.py", "# moved\n" + TYPES),
        ("app/types.py", TYPES.replace('cc: str = ""', 'cc: str = "x"')),
        ("app/more.py", second),
        ("app/types.py", TYPES.replace("to: str", "to: int")),
        ("app/__init__.py", "VERSION = 1\n"),
        ("app/more.py", second.replace('"mail.read"', '""')),
        ("app/more.py", second),
    ]
    for path, text in steps:
        (fresh / path).write_text(text)
        accepted = [] if not (fresh / "app" / "more.py").exists() else ["--accept", "mail.read"]
        done = run(fresh, "generate", "--accept", "mail.send", *accepted)
        anew = tmp_path / "anew"
        for each, data in tree(fresh).items():
            (anew / each).parent.mkdir(parents=True, exist_ok=True)
            (anew / each).write_bytes(data)
        told = [run(root, "list", "--json", *options) for root, options in ((fresh, []), (anew, ["--no-cache"]))]
        assert told[0].stdout == told[1].stdout
        assert told[0].stderr == told[1].stderr
        if done.returncode == 0:
            assert run(anew, "check", "--no-cache").stdout == ""


def test_a_project_large_enough_for_several_processes_comes_out_the_same(tmp_path: Path) -> None:
    project = make_project(tmp_path / "project")
    for number in range(45):
        text = HANDLERS.replace("mail.send", f"mail.send_{number}").replace("MailJobHandler", f"Mail{number}JobHandler")
        (project / "app" / f"jobs_{number}.py").write_text(text)
    assert run(project, "generate").returncode == 0
    code = (
        f"import sys; sys.path.insert(0, {str(REPOSITORY)!r})\n"
        "import os; os.cpu_count = lambda: 1\nfrom beskar_codegen.cli import main\nmain()"
    )
    alone = subprocess.run(
        [sys.executable, "-c", code, "check", "--no-cache"],
        cwd=project,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert (alone.returncode, alone.stdout) == (0, "")
