"""Settings: found upward, with defaults, overridden by flags; whatever cannot be is told with key and file."""

from __future__ import annotations

from pathlib import Path

import pytest

from beskar_codegen.settings import SettingsError, load


def package(root: Path, *names: str) -> None:
    for name in names:
        (root / name).mkdir(parents=True, exist_ok=True)
        (root / name / "__init__.py").write_text("")


def write(root: Path, section: str) -> None:
    (root / "pyproject.toml").write_text(f'[project]\nname = "x"\n\n[tool.beskar.codegen]\n{section}\n')


def test_the_nearest_pyproject_upward_is_the_root(tmp_path: Path) -> None:
    package(tmp_path, "app", "app/inner")
    write(tmp_path, 'source = ["app"]')
    assert load(tmp_path / "app" / "inner").root == tmp_path.resolve()


def test_without_a_file_there_are_defaults(tmp_path: Path) -> None:
    package(tmp_path, "app", "tests")
    settings = load(tmp_path)
    assert settings.source == ("app",)
    assert (settings.descriptors, settings.stubs, settings.mode) == ("app/jobs.py", "stubs", "import")
    assert (settings.contract, settings.line_length) == ("beskar_jobs.lock.json", 88)


def test_a_src_folder_is_the_source_and_no_part_of_module_names(tmp_path: Path) -> None:
    package(tmp_path, "src/app")
    settings = load(tmp_path)
    assert (settings.source, settings.descriptors) == (("src",), "src/app/jobs.py")
    assert (settings.import_roots, settings.descriptors_root) == (("src",), "src")


def test_several_packages_share_descriptors_at_the_import_root(tmp_path: Path) -> None:
    package(tmp_path, "one", "two")
    settings = load(tmp_path)
    assert (settings.source, settings.descriptors) == (("one", "two"), "jobs.py")


def test_an_empty_folder_is_its_own_source(tmp_path: Path) -> None:
    settings = load(tmp_path)
    assert (settings.source, settings.descriptors) == ((".",), "jobs.py")


def test_all_keys_are_read_and_flags_override_them(tmp_path: Path) -> None:
    package(tmp_path, "app", "other")
    write(
        tmp_path,
        'source = ["app"]\ndescriptors = "app/requests.py"\nstubs = "typings"\ncontract = "jobs.json"\n'
        'mode = "standalone"\n[tool.ruff]\nline-length = 100',
    )
    settings = load(tmp_path)
    assert (settings.descriptors, settings.stubs, settings.contract) == ("app/requests.py", "typings", "jobs.json")
    assert (settings.mode, settings.line_length) == ("standalone", 100)
    flags = {"source": ["other"], "mode": "import", "stubs": "", "contract": None}
    overridden = load(tmp_path, flags=flags)
    assert (overridden.source, overridden.mode, overridden.stubs) == (("other",), "import", "")
    assert overridden.contract == "jobs.json"


@pytest.mark.parametrize(
    ("section", "line", "text"),
    [
        ('sources = ["app"]', 5, "[tool.beskar.codegen] has no key 'sources' | did you mean 'source'?"),
        ("colour = 1", 5, "has no key 'colour' | the keys are source, descriptors, stubs, contract, mode"),
        (
            'stubs = "a"\nsource = "app"',
            6,
            "source is a list of folders or files, not 'app' | write source = [\"app\"]",
        ),
        ("source = []", 5, "source is a list"),
        ("source = [3]", 5, "source is a list"),
        ('source = ["nowhere"]', 5, "source names 'nowhere', which does not exist"),
        ('source = ["../x"]', 5, "source leads out of the project: '../x'"),
        ("descriptors = 3", 5, "descriptors is a path, not 3"),
        ('descriptors = "app/jobs"', 5, "descriptors is the path of a Python module"),
        ('descriptors = "/etc/jobs.py"', 5, "descriptors leads out of the project"),
        ('contract = " "', 5, "contract is empty"),
        ('contract = "app/jobs.py"', 5, "contract is the path of a JSON file"),
        ('contract = "pyproject.toml"', 5, "contract is the path of a JSON file"),
        ('stubs = "./"', 5, "stubs is the project itself"),
        ('mode = "export"', 5, 'mode is "import" or "standalone", not \'export\''),
    ],
    ids=str,
)
def test_what_cannot_be_names_key_file_and_way_out(tmp_path: Path, section: str, line: int, text: str) -> None:
    package(tmp_path, "app")
    write(tmp_path, section)
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    (told,) = caught.value.diagnostics
    assert (told.code, told.place.path, told.place.line) == ("JOBGEN070", "pyproject.toml", line)
    message, _, hint = text.partition(" | ")
    assert told.message.startswith("pyproject.toml: ")
    assert message in told.message
    assert hint in told.hint


def test_every_wrong_key_is_told(tmp_path: Path) -> None:
    write(tmp_path, "a = 1\nb = 2\nmode = 3")
    with pytest.raises(SettingsError) as caught:
        load(tmp_path)
    assert [each.place.line for each in caught.value.diagnostics] == [5, 6, 7]


@pytest.mark.parametrize("text", ["[tool.beskar", "[tool.beskar]\ncodegen = 3", "[tool]\nbeskar = 1"])
def test_a_file_that_is_not_as_it_should_be_is_told(tmp_path: Path, text: str) -> None:
    (tmp_path / "pyproject.toml").write_text(text)
    with pytest.raises(SettingsError, match=r"pyproject\.toml: "):
        load(tmp_path)


def test_bytes_that_are_no_text_are_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(SettingsError, match="cannot be read"):
        load(tmp_path)


def test_a_flag_that_cannot_be_is_told_as_a_flag(tmp_path: Path) -> None:
    with pytest.raises(SettingsError, match="command line: --descriptors is the path of a Python module"):
        load(tmp_path, flags={"descriptors": "jobs.txt"})
