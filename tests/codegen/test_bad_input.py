"""Sources as they should not be, or as nobody expects them: a diagnostic with its place, or the right output.

Whatever the source: no exception comes out, no source is changed, and with a diagnostic nothing is written.
"""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from beskar_codegen.cli import commands
from tests.codegen.command import HANDLERS, TYPES, make_project, tree

IMPORTS, _, CLASS = HANDLERS.partition("\n\n\n")
IMPORTS += "\n"
CLASS = f"\n\n{CLASS}"
SIGNATURE = 'def __init__(self, *, to: str, cc: str = "") -> None:'
CPU_SECONDS = 60
"""Far more than any of these takes, and far less than what grows with the square of the source."""


def indented(text: str, by: int = 4) -> str:
    return "".join(f"{' ' * by}{line}\n" if line else "\n" for line in text.strip("\n").split("\n"))


def generated(root: Path) -> tuple[int, str]:
    """The exit code of ``generate`` and what it said, after what holds for each source has been looked at."""
    before = tree(root)
    output = io.StringIO()
    run = commands.Run(root=root, flags={}, form="text", use_cache=False)
    start = time.process_time()
    with contextlib.redirect_stdout(output), contextlib.redirect_stderr(io.StringIO()):
        code = commands.generate(run)
    assert time.process_time() - start < CPU_SECONDS
    after = tree(root)
    assert {path: after.get(path) for path in before} == before, "a source was changed"
    assert code == 0 or after == before, "something was written beside a diagnostic"
    return code, output.getvalue()


def descriptors(root: Path) -> str:
    code, told = generated(root)
    assert (code, told) == (0, "")
    texts = {path: data.decode() for path, data in tree(root).items() if path.endswith((".py", ".pyi"))}
    for path in ("app/jobs.py", "stubs/app/handlers.pyi"):
        compile(texts[path], path, "exec")
    return texts["app/jobs.py"]


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(f"{IMPORTS}if print:\n{indented(CLASS)}else:\n{indented(CLASS)}", id="under if and else"),
        pytest.param(
            f"{IMPORTS}try:\n    import fast\n{indented(CLASS)}except ImportError:\n{indented(CLASS)}",
            id="under try and except",
        ),
        pytest.param(f"{IMPORTS}match 1:\n    case 1:\n{indented(CLASS, 8)}", id="under match"),
        pytest.param(f"{IMPORTS}with open('x'):\n{indented(CLASS)}", id="under with"),
        pytest.param(f"{IMPORTS}\x0c{CLASS}\x0c\n", id="form feeds"),
        pytest.param(IMPORTS + CLASS.replace("    ", "\t"), id="tabs"),
        pytest.param((IMPORTS + CLASS).replace("\n", "\r"), id="CR alone"),
        pytest.param((IMPORTS + CLASS).replace("\n", "\r\n"), id="CRLF"),
        pytest.param((IMPORTS + CLASS).rstrip("\n"), id="no final newline"),
        pytest.param("\ufeff" + IMPORTS + CLASS, id="BOM"),
        pytest.param(f"{IMPORTS}BLOB = '{'x' * 2_000_000}'\n{CLASS}", id="string of 2 MB"),
        pytest.param(f"{IMPORTS}BLOB = b'{chr(92)}xff' + b'{'x' * 2_000_000}'\n{CLASS}", id="bytes of 2 MB"),
        pytest.param(f"{IMPORTS}N = {' + '.join(['1'] * 900)}\n{CLASS}", id="sum of 900 numbers"),
        pytest.param(f"{IMPORTS}N = {'[' * 90}{']' * 90}\n{CLASS}", id="lists in lists"),
        pytest.param(f"{IMPORTS}N = {' | '.join(['int'] * 100)}\n{CLASS}", id="union of 100"),
        pytest.param(IMPORTS + "if 0: pass\n" + "elif 0: pass\n" * 400 + CLASS, id="400 elif"),
        pytest.param(
            IMPORTS + "".join(f"{' ' * depth}if 1:\n" for depth in range(90)) + f"{' ' * 90}pass\n" + CLASS,
            id="90 blocks within each other",
        ),
        pytest.param(f"{IMPORTS}# \u202e\nX = 'a\u2028b'\nY = '''\x0b\x1c\x85'''\n{CLASS}", id="odd line ends in text"),
        pytest.param(IMPORTS + CLASS.replace('"mail.send"', r'"m\x61il" ".send"'), id="escaped and joined job type"),
        pytest.param(IMPORTS + CLASS.replace("[MailArgs", "[Mail\uff21rgs"), id="type name that NFKC makes another"),
        pytest.param(IMPORTS + CLASS.replace("queue=", "\uff51ueue="), id="option that NFKC makes another"),
    ],
)
def test_an_odd_source_comes_out_as_the_plain_one(source: str, tmp_path: Path) -> None:
    plain = descriptors(make_project(tmp_path / "plain", handlers=IMPORTS + CLASS))
    odd = make_project(tmp_path / "odd")
    (odd / "app" / "handlers.py").write_bytes(source.encode())
    assert SIGNATURE in plain
    assert descriptors(odd) == plain


@pytest.mark.parametrize(
    ("source", "place", "said"),
    [
        pytest.param(f"{IMPORTS}<<<<<<< HEAD\n{CLASS}", "4:1", "syntax error", id="merge conflict"),
        pytest.param(f"{IMPORTS}{CLASS}print 'x'\n", "10:1", "Missing parentheses", id="Python 2"),
        pytest.param(f"{IMPORTS}{CLASS}\x1a", "10:1", "U+001A", id="end of file of old"),
        pytest.param(f"{IMPORTS}{CLASS}X = '\0'\n", "10:1", "NUL", id="NUL"),
        pytest.param(IMPORTS + CLASS.replace("MailJ", "Mail\u200bJ"), "7:11", "U+200B", id="invisible character"),
        pytest.param(IMPORTS + CLASS.replace("        return", "\treturn"), "9:1", "tabs and spaces", id="tabs mixed"),
        pytest.param(
            f"{IMPORTS}N = {'1 + ' * 20_000}1\n{CLASS}", "1:1", "cannot be parsed", id="sum of 20,000 numbers"
        ),
        pytest.param(f"{IMPORTS}N = a{'.a' * 20_000}\n{CLASS}", "1:1", "cannot be parsed", id="20,000 dots"),
        pytest.param(f"{IMPORTS}N = {'(' * 500}{')' * 500}\n{CLASS}", "4:205", "too many nested", id="parentheses"),
        pytest.param(f"{IMPORTS}N = {'9' * 10_000}\n{CLASS}", "4:1", "4300 digits", id="number of 10,000 digits"),
    ],
)
def test_what_python_cannot_read_is_told_where_it_stands(source: str, place: str, said: str, tmp_path: Path) -> None:
    root = make_project(tmp_path)
    (root / "app" / "handlers.py").write_bytes(source.encode())
    code, told = generated(root)
    first = told.splitlines()[0]
    assert (code, said in told) == (2, True), told
    assert first.startswith(f"app/handlers.py:{place}: error JOBGEN019: "), first


def test_a_handler_that_is_defined_again_with_another_job_type_is_not_lost_in_silence(tmp_path: Path) -> None:
    handlers = f"{IMPORTS}{CLASS}{CLASS.replace('mail.send', 'mail.post')}"
    code, told = generated(make_project(tmp_path, handlers=handlers))
    assert code == 2
    (line,) = [each for each in told.splitlines() if ": error " in each]
    assert line.startswith("app/handlers.py:13:7: error JOBGEN016: ")
    assert "app.handlers.MailJobHandler (app/handlers.py:7)" in line


def elifs(count: int) -> str:
    return "if A:\n    B = 0\n" + "".join(f"elif A == {n}:\n    B = {n}\n" for n in range(count))


def union(count: int) -> str:
    return f"U: TypeAlias = {' | '.join(f'C{n}' for n in range(count))}\n"


@pytest.mark.parametrize(
    "count", [10, 300, 600, 900, 3000]
)  # how many are too many, the version of Python has a say in
@pytest.mark.parametrize("make", [elifs, union])
@pytest.mark.parametrize("path", ["app/handlers.py", "app/types.py"])
def test_what_is_nested_too_deeply_is_told_with_its_file_or_does_no_harm(
    make: Callable[[int], str], count: int, path: str, tmp_path: Path
) -> None:
    root = make_project(tmp_path)
    source = (root / path).read_text()
    (root / path).write_text(f"{source}\n\nfrom typing import TypeAlias\nA = 1\n{make(count)}")
    code, told = generated(root)
    if code or (count == 3000 and path == "app/handlers.py"):
        assert count > 10
        assert code == 2
        assert f"{path}:1:1: error JOBGEN019: {path} cannot be " in told
    else:
        assert told == ""


def test_half_of_a_surrogate_pair_in_a_job_type_is_told(tmp_path: Path) -> None:
    handlers = IMPORTS + CLASS.replace('"mail.send"', r'"mail\ud800"')
    code, told = generated(make_project(tmp_path, handlers=handlers))
    assert code == 2
    assert told.startswith("app/handlers.py:6:14: error JOBGEN006: ")


def test_a_class_whose_name_nfkc_makes_another_is_called_as_python_calls_it(tmp_path: Path) -> None:
    handlers = IMPORTS + CLASS.replace("class Mail", "class \ufb01le")
    assert "\nclass file(JobRequest[MailArgs, MailResult]):" in descriptors(make_project(tmp_path, handlers=handlers))


@pytest.mark.parametrize(
    ("field", "parameter"),
    [
        ("self", "self_: str"),
        ("cls", "cls: str"),
        ("match", "match: str"),
        ("type", "type: str"),
        ("_private", "private: str"),
        ("\ufb01eld", "field: str"),
    ],
)
def test_a_field_of_any_name_becomes_a_parameter(field: str, parameter: str, tmp_path: Path) -> None:
    types = TYPES.replace("to: str", f"{field}: str")
    handlers = HANDLERS.replace("context.arguments.to", '""')
    assert f"*, {parameter}, cc" in descriptors(make_project(tmp_path, handlers=handlers, types=types))


@pytest.mark.parametrize("value", [r"'\ud800\0\r\n\u2028\\'", "'" + "y" * 2_000_000 + "'", "1e999", "-0.0", "10**3"])
def test_a_default_of_any_kind_keeps_its_value(value: str, tmp_path: Path) -> None:
    kind = "str" if value.startswith("'") else "float" if "." in value or "e" in value else "int"
    types = TYPES.replace('cc: str = ""', f"cc: {kind} = {value}")
    text = descriptors(make_project(tmp_path, types=types))
    line = next(line for line in text.replace("(self, *, to: str, ", "(\n").splitlines() if f"cc: {kind} = " in line)
    shown = line.partition(f"cc: {kind} = ")[2].partition(") -> None")[0].rstrip(",")
    assert repr(eval(shown)) == repr(eval(value))


def test_a_source_that_is_a_file_is_read_as_one_module(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    (root / "pyproject.toml").write_text('[tool.beskar.codegen]\nsource = ["app/handlers.py"]\n')
    assert generated(root) == (0, "")
    assert [path for path in tree(root) if path.endswith("jobs.py")]


def test_two_source_roots_with_one_module_name_are_told_apart_by_their_folders(tmp_path: Path) -> None:
    root = make_project(tmp_path)
    for folder, job_type in (("one", "mail.one"), ("two", "mail.two")):
        make_project(root / folder, handlers=HANDLERS.replace("mail.send", job_type))
    (root / "pyproject.toml").write_text('[tool.beskar.codegen]\nsource = ["one", "two"]\ndescriptors = "jobs.py"\n')
    code, told = generated(root)
    assert code == 2
    assert told.startswith("two/app/handlers.py:7:7: error JOBGEN016: ")
    assert "which one.app.handlers.MailJobHandler (one/app/handlers.py:7) has already" in told
