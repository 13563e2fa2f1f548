"""What the lab says of words and descriptions that it does not understand."""

from pathlib import Path

import pytest
from typer.testing import CliRunner

from eco.cli.main import app
from eco.cli.options import LAB_LIBRARIES
from eco.errors import InvalidArgument
from eco.lab import Lab, load, parse


@pytest.mark.parametrize("library", ["lam", "mpich4"])
def test_the_libraries_that_it_starts_are_those_of_the_help(library: str) -> None:
    with pytest.raises(InvalidArgument) as error:
        Lab(load("tiny"), library=library)
    assert str(error.value) == f"library {library!r}; choose one of {LAB_LIBRARIES}"


@pytest.mark.parametrize("words", ["lab run", "trace", "bench", "export", "record", "validate"])
def test_the_help_names_all_libraries(words: str) -> None:
    done = CliRunner().invoke(app, [*words.split(), "--help"], env={"COLUMNS": "300"})
    assert LAB_LIBRARIES in done.output


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('name = "a"\nabout = tiny\n', "(at line 2, column 9): line 2 is 'about = tiny'"),
        ('name = "a"\n[[segment]\n', "line 2 is '[[segment]'"),
        ('name = "a"\nname = "b"\n', "line 2 is 'name = \"b\"'"),
        ('name = "a"\nabout = """\n\n', "(at end of document): line 2 is"),
        ("hosts = " + "1" * 5000, "5000 digits"),  # Python reads no number as long
        ("hosts = " + "[" * 5000, "recursion"),
        ("hosts = [", "line 1 is 'hosts = ['"),
        ("hosts = ?" + "1" * 500, "line 1 is 'hosts = ?111"),
    ],
)
def test_mistakes_of_toml_are_shown(tmp_path: Path, text: str, said: str) -> None:
    file = tmp_path / "network.toml"
    file.write_text(text)
    with pytest.raises(InvalidArgument) as error:
        load(file)
    assert str(error.value).startswith(f"{file}: not valid TOML: ")
    assert said in str(error.value)
    with pytest.raises(InvalidArgument, match="not valid TOML"):
        parse(text)
