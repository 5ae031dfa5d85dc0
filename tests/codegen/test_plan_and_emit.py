"""Plans and texts from models made by hand: what no source that the reader follows can bring about, and the edges."""

from __future__ import annotations

import pytest

from beskar_codegen.emit import emit_descriptors, emit_stub, read_header
from beskar_codegen.emit.flat import flat
from beskar_codegen.emit.layout import laid_out
from beskar_codegen.model import (
    DeclaredType,
    EllipsisType,
    Field,
    GeneratedJobHandlerModel,
    NamedType,
    NoneType,
    Place,
    ProjectModel,
    TypeKind,
    UnionType,
)
from beskar_codegen.plan import Mode, PlanSettings, module_of, plan_descriptors, plan_stub, stub_modules
from beskar_codegen.read.surfacing import read_surface
from beskar_codegen.read.syntax import parse_source
from beskar_codegen.validate.spelling import spelled

PLACE = Place("app/types.py")
TEXT = NamedType("builtins", "str")
NUMBER = NamedType("builtins", "int")
ARGS = NamedType("app.types", "Args")


def field(name: str, type_: NamedType = TEXT, default: str | None = None, **more: object) -> Field:
    return Field(name, type_, PLACE, default=default, **more)  # type: ignore[arg-type]  # keywords of each type


def declared(kind: TypeKind, *fields: Field, name: str = "Args", **more: object) -> DeclaredType:
    return DeclaredType("app.types", name, kind, PLACE, fields=fields, **more)  # type: ignore[arg-type]  # as above


def module(*types: DeclaredType, mode: Mode = Mode.IMPORT, **more: object) -> str:
    fields = next(each.fields for each in types if each.name == "Args")
    handler = GeneratedJobHandlerModel(
        "Run",
        "app.handlers",
        "RunHandler",
        PLACE,
        "run",
        "default",
        ARGS,
        None,
        parameters=fields,
        **more,  # type: ignore[arg-type]  # as above
    )
    settings = PlanSettings(mode=mode, first_party=frozenset({"app"}))
    return emit_descriptors(plan_descriptors(ProjectModel((handler,), types), settings), version="1")


def init_of(text: str) -> str:
    return text[text.index("    def __init__") :]


def test_keys_that_are_keywords_or_self_get_an_underscore() -> None:
    optional = NamedType("typing", "NotRequired", (TEXT,))
    args = declared(TypeKind.TYPED_DICT, field("from"), field("self"), field("from_"), field("class", optional))
    assert init_of(module(args)) == (
        "    def __init__(\n"
        "        self,\n"
        "        *,\n"
        "        from__: str,\n"
        "        self_: str,\n"
        "        from_: str,\n"
        "        class_: str = NOT_GIVEN,\n"
        "    ) -> None:\n"
        '        made: Args = {"from": from__, "self": self_, "from_": from_}\n'
        "        if class_ is not NOT_GIVEN:\n"
        '            made["class"] = class_\n'
        "        super().__init__(made)\n"
    )


def test_a_typed_dict_with_keywords_as_keys_is_written_out_as_a_call() -> None:
    args = declared(TypeKind.TYPED_DICT, field("from"), field("next", NamedType("typing", "NotRequired", (ARGS,))))
    text = module(args, mode=Mode.STANDALONE)
    assert 'Args = TypedDict("Args", {"from": "str", "next": NotRequired["Args"]})\n' in text
    compile(text, "jobs.py", "exec")


def test_what_a_parameter_is_called_is_imported_under_another_name() -> None:
    text = module(declared(TypeKind.ATTRS, field("JobRequest"), field("Args"), field("NOT_GIVEN", has_factory=True)))
    assert "from beskar_jobs import JobRequest as BeskarJobsJobRequest\n" in text
    assert "from app.types import Args as TypesArgs\n" in text
    assert "class Run(BeskarJobsJobRequest[TypesArgs, None]):" in text


def test_a_field_called_super_does_not_hide_the_constructor_of_the_base() -> None:
    text = module(declared(TypeKind.ATTRS, field("super")))
    assert "def __init__(self, *, super_: str) -> None:" in text
    assert "        super().__init__(Args(super=super_))\n" in text


def test_private_fields_are_passed_by_their_public_name() -> None:
    text = module(declared(TypeKind.ATTRS, field("_size", NUMBER, alias="size")))
    assert "def __init__(self, *, size: int) -> None:" in text
    assert "super().__init__(Args(**self._given(size=size)))" in text


@pytest.mark.parametrize(
    "default", ["[]", "make()", "_HIDDEN", "{'a': 1}", "f'{1}'", "1 if True else 2", "lambda: 1", "x.y"]
)
def test_a_default_that_means_something_else_elsewhere_is_left_to_the_type(default: str) -> None:
    names = (("_HIDDEN", "app.types", "_HIDDEN"), ("make", "app.types", "make"))
    text = module(declared(TypeKind.ATTRS, field("value", NUMBER, default, default_names=names)))
    assert "value: int = NOT_GIVEN" in text
    assert "super().__init__(Args(**self._given(value=value)))" in text


@pytest.mark.parametrize(
    ("default", "written"),
    [
        ("-1", "-1"),
        ("1_000", "1000"),
        ("60*60", "60 * 60"),
        ("2**10", "2**10"),
        ("'it\\'s'", '"it\'s"'),
        ("b'x'", 'b"x"'),
        ("('a',)", '("a",)'),
        ("LIMIT", "LIMIT"),
        ("Colour.RED", "Colour.RED"),
        ("1e400", "1e309"),
    ],
)
def test_a_constant_is_written_as_default(default: str, written: str) -> None:
    names = (("LIMIT", "app.types", "LIMIT"), ("Colour.RED", "app.types", "Colour.RED"))
    text = module(declared(TypeKind.ATTRS, field("value", NUMBER, default, default_names=names)))
    assert f"value: int = {written}) -> None:" in text


def test_a_renamed_enum_keeps_its_default() -> None:
    names = (("Run.A", "app.types", "Run.A"),)
    args = declared(TypeKind.ATTRS, field("run", NamedType("app.types", "Run"), "Run.A", default_names=names))
    text = module(args)
    assert "from app.types import Run as TypesRun\n" in text
    assert "run: TypesRun = TypesRun.A" in text


def test_types_that_need_one_another_are_written_in_an_order_that_defines_them() -> None:
    tree = NamedType("app.types", "Tree")
    node = NamedType("app.types", "Node")
    text = module(
        declared(TypeKind.ATTRS, field("tree", tree)),
        declared(TypeKind.ALIAS, name="Tree", target=NamedType("builtins", "dict", (TEXT, node))),
        declared(TypeKind.DATACLASS, field("parent", node), field("tree", tree), name="Node"),
        mode=Mode.STANDALONE,
    )
    places = [text.index(part) for part in ("class Node:", "Tree = ", "class Args:", "class Run(")]
    assert places == sorted(places)
    compile(text, "jobs.py", "exec")


def test_a_recursive_alias_is_quoted() -> None:
    json = NamedType("app.types", "Json")
    target = UnionType((TEXT, NamedType("builtins", "list", (json,))))
    text = module(
        declared(TypeKind.ATTRS, field("value", json)),
        declared(TypeKind.ALIAS, name="Json", target=target),
        mode=Mode.STANDALONE,
    )
    assert 'Json = TypeAliasType("Json", "str | list[Json]")\n' in text


def test_spellings_of_yesterday_are_brought_up_to_date() -> None:
    old = NamedType("typing", "List", (NamedType("typing", "Dict", (TEXT, NUMBER)),))
    mapping = NamedType("typing", "Mapping", (TEXT, NamedType("typing", "Tuple", (NUMBER, EllipsisType()))))
    text = module(declared(TypeKind.ATTRS, field("a", old), field("b", mapping)))
    assert "a: list[dict[str, int]],\n        b: Mapping[str, tuple[int, ...]],\n" in text
    assert "from collections.abc import Mapping\n" in text


@pytest.mark.parametrize(
    ("parameters", "written"),
    [
        ((), "Callable[[], None]"),
        ((NUMBER, TEXT), "Callable[[int, str], None]"),
    ],
)
def test_a_list_of_parameters_stands_in_brackets(parameters: tuple[NamedType, ...], written: str) -> None:
    hook = NamedType("collections.abc", "Callable", (NamedType("", "", parameters), NoneType()))
    assert spelled(hook) == written
    assert f"hook: {written}" in module(declared(TypeKind.ATTRS, field("hook", hook)))


@pytest.mark.parametrize(
    ("doc", "line"),
    [
        ('Ends in a "quote"', '    """Ends in a "quote"\n'),
        ('"Quoted" at once.', '    """ "Quoted" at once.\n'),
        ("Back\\slash", '    """Back\\\\slash'),
        ('Has """ in it.', '    """Has \\"\\"\\" in it.'),
        ("  Indented.\n\n      More.\n  Less.   ", '    """Indented.'),
    ],
)
def test_docstrings_are_quoted(doc: str, line: str) -> None:
    text = module(declared(TypeKind.ATTRS), doc=doc)
    assert line in text
    compile(text, "jobs.py", "exec")
    assert not any(each != each.rstrip() for each in text.splitlines())


def test_same_model_same_bytes_and_an_edit_shows() -> None:
    args = declared(TypeKind.ATTRS, field("a"))
    text = module(args)
    assert text == module(args)
    header = read_header(text)
    assert header is not None
    assert header.version == "1"
    assert header.is_intact
    edited = read_header(text.replace("a: str", "a: int"))
    assert edited is not None
    assert not edited.is_intact
    assert edited.source_digest == header.source_digest
    other = read_header(module(declared(TypeKind.ATTRS, field("b"))))
    assert other is not None
    assert other.source_digest != header.source_digest


def test_line_ends_of_another_system_are_no_edit() -> None:
    header = read_header(module(declared(TypeKind.ATTRS, field("a"))).replace("\n", "\r\n"))
    assert header is not None
    assert header.is_intact


@pytest.mark.parametrize(
    "text", ["", "x = 1\n", "# Generated by something else.\n", "\n# Generated by beskar-codegen 1."]
)
def test_files_of_others_have_no_header(text: str) -> None:
    assert read_header(text) is None


def test_names_of_modules_come_from_paths() -> None:
    assert module_of("app/jobs.py") == "app.jobs"
    assert module_of("src/app/jobs/__init__.py", "src") == "app.jobs"
    assert stub_modules(["a.b.c", "a.d"]) == ("a", "a.b", "a.b.c", "a.d")


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("( a|b )", "a | b"),
        ("x [ 'a' ]", 'x["a"]'),
        ("-(1+2)*3", "-(1 + 2) * 3"),
        ("a-(b-c)", "a - (b - c)"),
        ("(a,)", "(a,)"),
        ("()", "()"),
        ("tuple[()]", "tuple[()]"),
        ("{'a':1,**b}", '{"a": 1, **b}'),
        ("f(*a,k=1,**b)", "f(*a, k=1, **b)"),
        ("'\"'", "'\"'"),
        ("(1).real", "(1).real"),
        ("not x", "not x"),
    ],
)
def test_expressions_are_spaced_as_the_formatter_does(text: str, wanted: str) -> None:
    assert flat(text) == wanted


def test_long_unions_are_broken_before_their_signs() -> None:
    assert laid_out("Aaaa | Bbbb", indent=0, limit=12, lead="x = ") == ["x = (", "    Aaaa", "    | Bbbb", ")"]


@pytest.mark.parametrize(
    ("source", "wanted"),
    [
        ("__all__ = ['a']\n__all__ += ('b',)", '__all__ += ("b",)'),
        ("def f(x: \"list['int']\") -> 'str | None': ...", "def f(x: list[int]) -> str | None: ..."),
        ("class A: x: int = 1", "    x: int"),
        (
            "def f(a, /, b=1, *, c=None): return a",
            "def f(a: Incomplete, /, b: int = 1, *, c: Incomplete | None = None)",
        ),
        ("async def f():\n    for x in y:\n        z = yield x", "def f() -> Incomplete: ..."),
        ("def f():\n    def g(): return 1", "def f() -> None: ..."),
        ("class A:\n    def __init__(self, a: int):\n        if a: self.a = a", "    a: int"),
        ("type X[T] = list[\nT]", "type X[T] = list[T]"),
        ("from typing import Literal\nx: Literal['a']", 'x: Literal["a"]'),
    ],
)
def test_a_stub_keeps_what_its_source_declares(source: str, wanted: str) -> None:
    surface = read_surface(parse_source(source), "app.handlers")
    text = emit_stub(plan_stub(surface, ProjectModel(), PlanSettings()), version="1")
    assert any(line.startswith(wanted) for line in text.splitlines()), text
