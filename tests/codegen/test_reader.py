"""What the reader finds in projects of a few lines, and what it says of files that are none."""

from __future__ import annotations

import ast
import os
import random
import sys
import sysconfig
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import libcst as cst
import pytest
from libcst.metadata import MetadataWrapper, PositionProvider

from beskar_codegen.model import Diagnostic, HandlerDeclaration, NamedType, ProjectModel, TypeKind
from beskar_codegen.read import ProjectSources, read_module, read_project
from beskar_codegen.read.positions import Positions
from beskar_codegen.read.surfacing import read_surface
from beskar_codegen.read.syntax import DEFINITIONS, parse_source
from beskar_codegen.read.texts import decoded
from beskar_codegen.validate import build_project

HANDLER = """
@job_handler("mail.send")
class MailJobHandler(JobHandler[Args]):
    async def execute(self, context: JobContext[Args]) -> None: ...
"""
IMPORTS = "import attrs\nfrom beskar_jobs import JobContext, JobHandler, JobHandlerWithResult, job_handler\n"
ARGS = "\n@attrs.frozen\nclass Args:\n    name: str\n"

Build = Callable[..., tuple[ProjectModel, list[Diagnostic]]]


@pytest.fixture
def build(tmp_path: Path) -> Build:
    """Writes files, and reads and validates them; ``__`` in a name is a slash, ``INIT`` is ``__init__``."""

    def made(
        *, standalone: bool = True, source: tuple[str, ...] = (".",), **files: str
    ) -> tuple[ProjectModel, list[Diagnostic]]:
        write(tmp_path, **files)
        return build_project(read_project(tmp_path, source), standalone=standalone)

    return made


def write(root: Path, **files: str) -> None:
    for name, text in files.items():
        file = root / (name.replace("__", "/").replace("INIT", "__init__") + ".py")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def told(diagnostics: list[Diagnostic]) -> list[tuple[str, str, int, int]]:
    return [(each.code, each.place.path, each.place.line, each.place.column) for each in diagnostics]


def only(sources: ProjectSources) -> HandlerDeclaration:
    (handler,) = (handler for module in sources.modules for handler in module.handlers)
    return handler


# -- names -------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("imports", "decorator"),
    [
        ("from beskar_jobs import job_handler", "job_handler"),
        ("from beskar_jobs import job_handler as task", "task"),
        ("import beskar_jobs", "beskar_jobs.job_handler"),
        ("import beskar_jobs as bj", "bj.job_handler"),
        ("from beskar_jobs.handlers import job_handler", "job_handler"),
        ("import beskar_jobs.handlers.decorator", "beskar_jobs.handlers.decorator.job_handler"),
        ("from app.compat import task", "task"),
        ("from app import compat as c", "c.task"),
        ("from . import compat", "compat.task"),
        ("from .compat import again", "again"),
        ("import app.compat", "app.compat.task"),
        ("from beskar_jobs import job_handler\nmine = job_handler", "mine"),
        ("try:\n    from beskar_jobs import job_handler\nexcept ImportError:\n    job_handler = None", "job_handler"),
    ],
)
def test_the_decorator_is_known_by_meaning(build: Build, imports: str, decorator: str) -> None:
    text = (
        "import beskar_jobs as b, attrs\n"
        f"{imports}\n"
        f"{ARGS}\n"
        f"@{decorator}('x')\n"
        "class A(b.JobHandler[Args]):\n"
        "    def execute(self, c): ...\n"
    )
    compat = "from beskar_jobs import job_handler as task\nfrom app.more import again\n"
    model, diagnostics = build(
        app__INIT="", app__compat=compat, app__more="from app.compat import task\nagain = task\n", app__jobs=text
    )
    assert diagnostics == []
    assert [handler.name for handler in model.handlers] == ["A"]


def test_another_job_handler_is_none_of_ours(build: Build) -> None:
    model, diagnostics = build(
        a="def job_handler(f): return f\n\n@job_handler\nclass A: ...\n",
        b="from celery import job_handler\n@job_handler('x')\nclass A: ...\n",
    )
    assert (model.handlers, diagnostics) == ((), [])


def test_a_file_without_a_name_that_leads_to_the_decorator_is_not_parsed(tmp_path: Path) -> None:
    write(tmp_path, a=IMPORTS + ARGS + HANDLER, b="class (")
    sources = read_project(tmp_path, ["."])
    assert [module.path for module in sources.modules] == ["a.py"]
    assert sources.files == 2


def test_types_are_followed_to_where_they_are_defined(build: Build) -> None:
    model, diagnostics = build(
        app__INIT="from .types import Args as PublicArgs\n",
        app__types=(
            "from __future__ import annotations\n"
            "import attrs\n"
            "from typing import Optional\n"
            "from app.enums import *\n"
            "\n"
            "@attrs.frozen\n"
            "class Args:\n"
            "    codec: Codec = Codec.AV1\n"
            "    parent: 'Optional[Args]' = None\n"
        ),
        app__enums="from enum import StrEnum\n\nclass Codec(StrEnum):\n    AV1 = 'av1'\n",
        app__jobs=f"{IMPORTS}from app import PublicArgs as Args\n{HANDLER}",
    )
    (handler,) = model.handlers
    assert handler.args_type == NamedType("app.types", "Args")
    assert [(each.module, each.name, each.kind) for each in model.types] == [
        ("app.enums", "Codec", TypeKind.ENUM),
        ("app.types", "Args", TypeKind.ATTRS),
    ]
    assert [(field.name, field.default, field.default_names) for field in handler.parameters] == [
        ("codec", "Codec.AV1", (("Codec.AV1", "app.enums", "Codec.AV1"),)),
        ("parent", "None", ()),
    ]
    assert told(diagnostics) == [("JOBGEN014", "app/types.py", 4, 1)]


def test_type_arguments_come_through_generic_bases_of_other_modules(build: Build) -> None:
    base = (
        "from typing import Generic, TypeVar\n"
        "from beskar_jobs import JobHandlerWithResult\n"
        "A = TypeVar('A')\n"
        "R = TypeVar('R')\n"
        "\n"
        "class Base(JobHandlerWithResult[A, list[R]], Generic[R, A]): ...\n"
    )
    model, diagnostics = build(
        base=base,
        jobs=(
            f"{IMPORTS}import base\n"
            f"{ARGS}\n"
            "@job_handler('x')\n"
            "class A(base.Base[int, Args]):\n"
            "    def execute(self, c): ...\n"
        ),
    )
    assert diagnostics == []
    (handler,) = model.handlers
    assert handler.args_type == NamedType("jobs", "Args")
    assert handler.result_type == NamedType("builtins", "list", (NamedType("builtins", "int"),))


def test_newer_syntax_than_the_running_python_is_read(build: Build) -> None:
    text = IMPORTS + (
        "\n"
        "type Names = list[str]\n"
        "\n"
        "@attrs.frozen\n"
        "class Page[T]:\n"
        "    items: list[T]\n"
        "    names: Names\n"
        "\n"
        "class Base[A](JobHandler[A]):\n"
        "    def execute(self, context: JobContext[A]) -> None: ...\n"
        "\n"
        "@job_handler('x')\n"
        "class A(Base[Page[int]]): ...\n"
    )
    model, diagnostics = build(a=text)
    assert diagnostics == []
    (handler,) = model.handlers
    assert handler.args_type == NamedType("a", "Page", (NamedType("builtins", "int"),))
    assert [(each.name, each.kind) for each in model.types] == [("Names", TypeKind.ALIAS), ("Page", TypeKind.ATTRS)]
    assert (handler.place.line, handler.place.column) == (15, 7)


LONG = "a" * 120


@pytest.mark.parametrize(
    ("annotation", "value"),
    [
        (f"Literal['{LONG}']", f"'{LONG}'"),
        (f"'Literal[\"{LONG}\"]'", f'"{LONG}"'),
        ("'Literal[0x10]'", "0x10"),
        ("'\u00fc' \"| Literal['\u00fc']\"", "'\u00fc'"),
    ],
)
def test_literals_stay_as_they_are_written(build: Build, annotation: str, value: str) -> None:
    args = f"from typing import Literal\n\u00fc = int\n\n@attrs.frozen\nclass Args:\n    name: {annotation}\n"
    model, diagnostics = build(a=IMPORTS + args + HANDLER)
    assert diagnostics == []
    (field,) = model.handlers[0].parameters
    assert f"values=({value!r},)" in repr(field.type)


@pytest.mark.parametrize(
    ("declared", "returned", "is_same"),
    [
        ("Literal['a', 'b']", 'Literal["b", "a"]', True),
        ("'Kind'", "Kind", True),
        ("Literal[16]", "'Literal[0x10]'", True),
        ("Literal[E.A]", "Literal[F.A]", True),
        ("Literal[E.A]", "Literal[E.B]", False),
        ("Literal['a']", "Literal['b']", False),
        ("Literal['a']", "Literal[nothing()]", False),
    ],
)
def test_literals_are_the_same_by_value(build: Build, declared: str, returned: str, is_same: bool) -> None:
    text = (
        f"{IMPORTS}from enum import StrEnum\nfrom typing import Literal\nKind = Literal['a']\n"
        "class E(StrEnum):\n    A = 'a'\n    B = 'b'\nF = E\n"
        f"{ARGS}\n@job_handler('x')\nclass A(JobHandlerWithResult[Args, {declared}]):\n"
        f"    async def execute(self, context: JobContext[Args]) -> {returned}: ...\n"
    )
    assert [each.code for each in build(a=text)[1]] == ([] if is_same else ["JOBGEN010"])


def test_constants_and_enums_name_job_types_and_queues(build: Build) -> None:
    text = (
        f"{IMPORTS}from names import Q, PREFIX\n"
        f"{ARGS}\n"
        "@job_handler(PREFIX + '.send', queue=Q.MAIL)\n"
        "class A(JobHandler[Args]):\n"
        "    def execute(self, c): ...\n"
    )
    model, diagnostics = build(
        a=text, names="import enum\nPREFIX = 'mail'\nclass Q(str, enum.Enum):\n    MAIL = 'post'\n"
    )
    assert diagnostics == []
    assert [(each.job_type, each.queue) for each in model.handlers] == [("mail.send", "post")]


# -- rules that only sources can break ---------------------------------------------------------------------------------


SOURCE_RULES = [
    (
        "JOBGEN013",
        8,
        25,
        "import os\n",
        '@job_handler("a", queue=os.environ["Q"])\nclass AJobHandler(JobHandler[Args]):',
    ),
    ("JOBGEN013", 8, 21, "O = {}\n", '@job_handler("a", **O)\nclass AJobHandler(JobHandler[Args]):'),
    ("JOBGEN017", 9, 7, "from lib import Base\n", '@job_handler("a")\nclass AJobHandler(Base[Args]):'),
    ("JOBGEN017", 9, 7, "X = attrs.make_class('X', ['a'])\n", '@job_handler("a")\nclass AJobHandler(JobHandler[X]):'),
    ("JOBGEN017", 9, 7, "", '\n@job_handler("a")\nclass AJobHandler(JobHandler[Nothing]):'),
    (
        "JOBGEN021",
        3,
        16,
        "task = partial(job_handler, queue='q')\n",
        '@job_handler("a")\nclass AJobHandler(JobHandler[Args]):',
    ),
    (
        "JOBGEN022",
        9,
        7,
        "#\n",
        '@job_handler("a")\nclass JobHandler_(JobHandler[Args]):'.replace("JobHandler_", "NoneHandler"),
    ),
    ("JOBGEN023", 8, 23, "#\n", '@job_handler("a", que="mail")\nclass AJobHandler(JobHandler[Args]):'),
    ("JOBGEN023", 8, 19, "#\n", '@job_handler("a", "mail")\nclass AJobHandler(JobHandler[Args]):'),
    ("JOBGEN023", 9, 7, "#\n", "@job_handler()\nclass AJobHandler(JobHandler[Args]):"),
]


@pytest.mark.parametrize(("code", "line", "column", "before", "statement"), SOURCE_RULES)
def test_what_only_sources_can_break(  # noqa: PLR0917  # a case has five parts
    build: Build, code: str, line: int, column: int, before: str, statement: str
) -> None:
    text = f"{IMPORTS}{before}{ARGS}{statement}\n    def execute(self, context): ...\n"
    model, diagnostics = build(a=text)
    assert told(diagnostics) == [(code, "a.py", line, column)]
    assert len(model.handlers) == (1 if code == "JOBGEN021" else 0)


def test_a_star_that_hides_the_decorator_is_told(build: Build) -> None:
    model, diagnostics = build(a="import attrs\nfrom beskar_jobs import *\n" + ARGS + HANDLER)
    assert {each.code for each in diagnostics} == {"JOBGEN014"}
    assert told(diagnostics)[0] == ("JOBGEN014", "a.py", 2, 1)
    assert [handler.name for handler in model.handlers] == ["MailJobHandler"]


def test_a_type_beside_the_handler_drags_it_into_clients_in_import_mode_only(build: Build) -> None:
    files = {"a": IMPORTS + ARGS + HANDLER, "b": ""}
    assert build(**files)[1] == []
    assert told(build(**files, standalone=False)[1]) == [("JOBGEN015", "a.py", 9, 7)]


def test_a_types_module_that_imports_the_handlers_drags_them_too(build: Build) -> None:
    handler = f"{IMPORTS}from app.types import Args\n{HANDLER}"
    types = f"import attrs\nimport app.more\n{ARGS}"
    assert build(app__types=types, app__more="", app__jobs=handler, standalone=False)[1] == []
    (dragged,) = build(app__types=types, app__more="import app.jobs\n", app__jobs=handler, standalone=False)[1]
    assert dragged.code == "JOBGEN015"
    assert "app.jobs" in dragged.message
    for_checkers = "import typing\nif typing.TYPE_CHECKING:\n    import app.jobs\n"
    assert build(app__types=types, app__more=for_checkers, app__jobs=handler, standalone=False)[1] == []


def test_two_handlers_of_one_descriptor_name_are_told(build: Build) -> None:
    second = HANDLER.replace("mail.send", "mail.queue").replace("MailJobHandler", "MailHandler")
    model, diagnostics = build(a=IMPORTS + ARGS + HANDLER + second)
    assert told(diagnostics) == [("JOBGEN016", "a.py", 13, 7)]
    assert [handler.descriptor for handler in model.handlers] == ["Mail"]


def test_nested_handlers_are_named_after_the_classes_around_them(build: Build) -> None:
    nested = (
        "class Mail:\n"
        f"    {HANDLER.strip().replace(chr(10), chr(10) + '    ').replace('MailJobHandler', 'SendJobHandler')}\n"
    )
    model, diagnostics = build(a=IMPORTS + ARGS + nested)
    assert diagnostics == []
    assert [(handler.descriptor, handler.name) for handler in model.handlers] == [("MailSend", "Mail.SendJobHandler")]


def test_a_module_that_no_import_can_name_is_told(build: Build) -> None:
    _, diagnostics = build(**{"mail-jobs": IMPORTS + ARGS + HANDLER})
    assert told(diagnostics) == [("JOBGEN018", "mail-jobs.py", 9, 7)]


def test_a_default_that_all_values_share_is_told_where_it_stands(build: Build) -> None:
    args = "\n@attrs.frozen\nclass Args:\n    names: list[str] = []\n"
    assert told(build(a=IMPORTS + args + HANDLER)[1]) == [("JOBGEN020", "a.py", 6, 5)]


def test_a_registered_type_may_stand_in_arguments(build: Build) -> None:
    args = "from pathlib import Path\n\n@attrs.frozen\nclass Args:\n    path: Path\n"
    assert [each.code for each in build(a=IMPORTS + args + HANDLER)[1]] == ["JOBGEN008"]
    register = (
        "import pathlib\n"
        "from beskar_jobs import register_type\n"
        "register_type(pathlib.Path, to_text=str, from_text=pathlib.Path)\n"
    )
    assert build(a=IMPORTS + args + HANDLER, setup=register)[1] == []


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "line", "message"),
    [
        (b"# job_handler\nclass A(:\n", 2, "has a syntax error"),
        (b"# job_handler\nx = (((" + b"(" * 5000, 2, "has a syntax error: too many nested parentheses"),
        (b"# job_handler\n\nx = '\xff'\n", 3, "cannot be decoded as utf-8"),
        (b"# coding: klingon\n# job_handler\n", 1, "cannot be decoded: unknown encoding: klingon"),
        (b"# job_handler\nx = '\0'\n", 2, "contains a NUL character"),
        (b"# job_handler\nif True:\nx = 1\n", 3, "has a syntax error: expected an indented block"),
        (b"# job_handler\ndef f():\n    return = 1\n", 3, "has a syntax error"),
    ],
)
def test_a_file_that_cannot_be_read_is_a_diagnostic(tmp_path: Path, data: bytes, line: int, message: str) -> None:
    (tmp_path / "a.py").write_bytes(data)
    _, (diagnostic,) = build_project(read_project(tmp_path, ["."]))
    assert (diagnostic.code, diagnostic.place.path, diagnostic.place.line) == ("JOBGEN019", "a.py", line)
    assert message in diagnostic.message


@pytest.mark.parametrize(
    "change", [lambda t: t.replace("\n", "\r\n"), lambda t: t.rstrip("\n"), lambda t: "\ufeff" + t]
)
def test_line_ends_a_missing_last_one_and_a_byte_order_mark_change_nothing(
    tmp_path: Path, change: Callable[[str], str]
) -> None:
    text = IMPORTS + ARGS + HANDLER
    (tmp_path / "a.py").write_text(text)
    plain = only(read_project(tmp_path, ["."]))
    (tmp_path / "a.py").write_bytes(change(text).encode())
    assert only(read_project(tmp_path, ["."])) == plain


def test_a_coding_line_is_honoured_and_columns_count_characters(tmp_path: Path) -> None:
    text = "# coding: latin-1\n" + IMPORTS + ARGS + HANDLER.replace('"mail.send"', '"é", queue="ü", que=1')
    (tmp_path / "a.py").write_bytes(text.encode("latin-1"))
    _, (diagnostic,) = build_project(read_project(tmp_path, ["."]), standalone=True)
    assert (diagnostic.code, diagnostic.place.line, diagnostic.place.column) == ("JOBGEN023", 9, 34)


def test_imports_in_a_circle_are_read(build: Build) -> None:
    model, diagnostics = build(
        a=f"{IMPORTS}from b import Args\n{HANDLER}",
        b="from a import MailJobHandler\nfrom c import Args\n",
        c="from b import Args\n",
    )
    assert model.handlers == ()
    assert [each.code for each in diagnostics] == ["JOBGEN017"]
    assert "is imported in a circle" in diagnostics[0].message


def test_a_class_that_inherits_from_itself_ends(build: Build) -> None:
    _, diagnostics = build(
        a=(
            f"{IMPORTS}\n"
            "class B(C): ...\n"
            "class C(B): ...\n"
            f"{ARGS}\n"
            "@job_handler('x')\n"
            "class A(B):\n"
            "    def execute(self, c): ...\n"
        )
    )
    assert [each.code for each in diagnostics] == ["JOBGEN004"]


def test_an_import_of_a_missing_module_of_the_project_says_so(build: Build) -> None:
    _, diagnostics = build(app__INIT="", app__a=f"{IMPORTS}from app.missing import Args\n{HANDLER}")
    assert [each.code for each in diagnostics] == ["JOBGEN017"]
    assert "comes from the module 'app.missing', which is not there" in diagnostics[0].message


def test_loops_of_links_are_walked_once(tmp_path: Path) -> None:
    write(tmp_path, app__a=IMPORTS + ARGS + HANDLER)
    (tmp_path / "app" / "loop").symlink_to(tmp_path / "app")
    (tmp_path / "app" / "self.py").symlink_to(tmp_path / "app" / "self.py")
    sources = read_project(tmp_path, ["app"])
    assert only(sources).name == "MailJobHandler"
    assert [each.place.path for each in sources.problems] == ["app/self.py"]


def test_a_source_that_is_not_there_is_told(tmp_path: Path) -> None:
    assert [each.message for each in read_project(tmp_path, ["nothing"]).problems] == ["nothing is not there"]


def test_a_module_of_ten_thousand_lines_is_read(build: Build) -> None:
    filler = "".join(f"\ndef f{i}(x):\n    y = x\n    return y + {i}\n" for i in range(2500))
    model, diagnostics = build(a=IMPORTS + filler + ARGS + filler + HANDLER)
    assert diagnostics == []
    assert [handler.place.line for handler in model.handlers] == [20009]


def test_nothing_of_the_project_is_imported(build: Build) -> None:
    before = set(sys.modules)
    model, _ = build(never_imported=f"{IMPORTS}raise SystemExit\n{ARGS}{HANDLER}")
    assert len(model.handlers) == 1
    assert "never_imported" not in set(sys.modules) - before


def test_a_module_stands_alone_without_a_root() -> None:
    module = read_module("app/a.py", IMPORTS + ARGS + HANDLER)
    assert (module.module, [handler.name for handler in module.handlers]) == ("app.a", ["MailJobHandler"])


# -- real sources ------------------------------------------------------------------------------------------------------


def real_sources(count: int) -> list[Path]:
    """A sample of the sources of the standard library and of installed packages; the same one each time.

    ``BESKAR_ALL_SOURCES=1`` in the environment takes all of them.
    """
    folders = [Path(sysconfig.get_path("stdlib")), Path(sysconfig.get_path("purelib"))]
    files = sorted({file for folder in folders for file in folder.rglob("*.py")})
    return files if os.environ.get("BESKAR_ALL_SOURCES") else random.Random(7).sample(files, count)


@pytest.mark.timeout(1800)
def test_real_sources_are_read_without_an_exception() -> None:
    for file in real_sources(400):
        text = decoded("real.py", file.read_bytes()).text
        read_module("real.py", f"{text}\n# job_handler")
        with suppress(SyntaxError):
            read_surface(parse_source(text), "real")


def test_positions_are_those_of_libcst() -> None:
    for file in random.Random(8).sample(real_sources(40), 12):
        text = decoded("a.py", file.read_bytes()).text
        try:
            tree = ast.parse(text)
            module = cst.parse_module(text)
        except (SyntaxError, ValueError, cst.ParserSyntaxError):
            continue
        positions = Positions("a.py", text)
        ranges = MetadataWrapper(module, unsafe_skip_copy=True).resolve(PositionProvider)
        spans = [ranges[node.name] for node in module.body if isinstance(node, cst.ClassDef | cst.FunctionDef)]
        found = [positions.name_place(node) for node in tree.body if isinstance(node, DEFINITIONS)]
        assert [(each.line, each.column, each.end_line, each.end_column) for each in found] == [
            (span.start.line, span.start.column + 1, span.end.line, span.end.column + 1) for span in spans
        ]
