"""Sources that are newer than the running Python, and what is left of them in its own tree."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from beskar_codegen.read.positions import Positions
from beskar_codegen.read.syntax import DEFINITIONS, Definition, parse_source, type_parameters, type_statement

REPOSITORY = Path(__file__).parents[2]


def definitions(tree: ast.Module) -> dict[str, Definition]:
    return {node.name: node for node in ast.walk(tree) if isinstance(node, DEFINITIONS)}


def parameters(text: str) -> dict[str, list[tuple[str, str]]]:
    return {
        name: [(each.name, each.text) for each in type_parameters(node)]
        for name, node in definitions(parse_source(text)).items()
    }


def test_a_source_of_today_is_what_ast_makes_of_it() -> None:
    text = "class A:\n    x: int = 1\n\nasync def f(): yield\n"
    assert ast.dump(parse_source(text), include_attributes=True) == ast.dump(ast.parse(text), include_attributes=True)


def test_type_parameters_are_those_of_the_class_or_function() -> None:
    text = (
        "class A[T, *Ts, **P](Base[T]):\n"
        "    def method[U: (int, str)](self, x: U) -> U: ...\n"
        "    class Inner: ...\n"
        "class B[K = list[int]]: ...\n"
        "def plain(): ...\n"
        "async def late[V: int](x: V) -> None: ...\n"
    )
    assert parameters(text) == {
        "A": [("T", "T"), ("Ts", "*Ts"), ("P", "**P")],
        "method": [("U", "U: (int, str)")],
        "Inner": [],
        "B": [("K", "K = list[int]")],
        "plain": [],
        "late": [("V", "V: int")],
    }


def test_type_parameters_may_go_over_lines_with_comments() -> None:
    text = "class A[\n    T,  # first\n\n    U: int,\n](Base[T]):\n    x: U\n"
    tree = parse_source(text)
    (node,) = tree.body
    assert isinstance(node, ast.ClassDef)
    assert [each.name for each in type_parameters(node)] == ["T", "U"]
    assert (node.body[0].lineno, ast.unparse(node.bases[0])) == (6, "Base[T]")


def test_a_class_and_an_alias_in_one_line_keep_their_own() -> None:
    (node,) = parse_source("class A[T]: type X[U] = list[U]; type Y = int; y = 1\n").body
    assert isinstance(node, ast.ClassDef)
    found = [statement for each in node.body if (statement := type_statement(each)) is not None]
    assert [(each.name.id, [p.name for p in each.parameters]) for each in found] == [("X", ["U"]), ("Y", [])]
    assert [each.name for each in type_parameters(node)] == ["T"]


def test_a_type_statement_is_told_from_an_assignment() -> None:
    tree = parse_source("type = 1\ntype Pair[T] = tuple[T, T]\nPair = 2\n")
    (found,) = (statement for node in tree.body if (statement := type_statement(node)) is not None)
    assert (found.name.id, ast.unparse(found.value)) == ("Pair", "tuple[T, T]")
    assert [each.text for each in found.parameters] == ["T"]


@pytest.mark.parametrize(
    "line",
    [
        'x = f"{d["a"]}"',
        'x = f\'{d[\'ü\']}\' + f"{f"{f"{1}"}"}"',
        'x = f"{\n    d["a"]\n}"',
        'x = f"""{\n\n    d["""a"""]\n}"""',
        "x = call(1, f'{d['a']}', key=f'{'b'}')",
        'x = "a" f"{d["a"]}" "b"',
        "def f(x=f'{d['a']}'): ...",
        't = t"{name}"',
        't = t""',
        "try: ...\nexcept A, B: ...",
        "try: ...\nexcept* A, B: ...",
        "try:\n    import a\nexcept ImportError, KeyError:\n    a = None",
    ],
)
def test_other_new_syntax_leaves_all_around_it_where_it_is(line: str) -> None:
    text = f"{line}\nclass Ü[T]: name: 'ü' = 1\n\nclass A(B): ...\n"
    tree = parse_source(text)
    node = definitions(tree)["A"]
    assert node.lineno == text.count("\n", 0, text.index("class A")) + 1
    assert [each.name for each in type_parameters(definitions(tree)["Ü"])] == ["T"]


def test_columns_after_blanked_letters_are_those_of_the_source() -> None:
    text = "class A[ü: 'ä'](Basis[ü], meta='ö'): ...\n"
    (node,) = parse_source(text).body
    assert isinstance(node, ast.ClassDef)
    positions = Positions("a.py", text)
    assert [positions.code(each) for each in node.bases] == ["Basis[ü]"]
    assert positions.place(node.bases[0]).column == text.index("Basis") + 1


def test_bodies_with_new_syntax_keep_what_they_yield_and_assign() -> None:
    text = "class A:\n    def f(self):\n        self.x = f'{d['a']}'\n        yield 1\n"
    (node,) = parse_source(text).body
    assert isinstance(node, ast.ClassDef)
    assert [type(each).__name__ for each in ast.walk(node)].count("Yield") == 1
    assert "self.x" in ast.unparse(node)


@pytest.mark.parametrize("text", ["class A[T:\n", "def f(:\n", "type X\n", "x = f'{d[']}'\n", "except A, B: ...\n"])
def test_what_no_python_takes_is_an_error_with_its_line(text: str) -> None:
    with pytest.raises(SyntaxError) as caught:
        parse_source(text)
    assert caught.value.lineno == 1


def test_libcst_is_loaded_for_newer_syntax_only() -> None:
    script = (
        "import sys\nfrom beskar_codegen.read.syntax import parse_source\n"
        "parse_source('class A: ...')\nassert 'libcst' not in sys.modules\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True, cwd=REPOSITORY, timeout=60)


def test_without_libcst_the_error_names_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "beskar_codegen.read.newer_syntax", None)
    with pytest.raises(SyntaxError, match=r"beskar-jobs\[codegen\]"):
        parse_source("def f(:\n")
