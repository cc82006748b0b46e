"""The published JSON Schemas: fresh, whole, and readable by anybody."""

import subprocess
import sys
from pathlib import Path

import pytest

from retinue.contract import schema, schemas
from retinue.contract.schemas import NOUNS, __main__ as writer, load
from retinue.contract.schemas._generate import generate
from retinue.errors import UnknownName

FOLDER = Path(schemas.__file__).parent


def test_the_files_are_what_the_nouns_say() -> None:
    written = {path.stem: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")}
    assert written == generate(), "run `python -m retinue.contract.schemas`"
    assert tuple(sorted(written)) == NOUNS


@pytest.mark.parametrize("noun", NOUNS)
def test_each_is_a_schema_and_says_what_it_is_of(noun: str) -> None:
    loaded = load(noun)
    assert schema.findings_in(loaded) == []
    assert loaded["title"].lower() == noun
    assert loaded["description"].endswith(".")


def test_what_the_docstring_says_of_a_field_is_in_the_schema() -> None:
    fields = load("task")["properties"]
    assert fields["depth"]["description"] == "How many delegations stand above this one."


def test_an_unknown_noun_lists_what_there_is() -> None:
    with pytest.raises(UnknownName) as caught:
        load("results")
    assert caught.value.suggestions == ("result",)
    with pytest.raises(UnknownName) as caught:
        load("xyzzy")
    assert caught.value.suggestions == NOUNS


def test_writing_them_writes_what_differs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    writer.main(tmp_path)
    assert capsys.readouterr().out.split() == [f"{noun}.json" for noun in NOUNS]
    (tmp_path / "task.json").write_text("{}", encoding="utf-8")
    writer.main(tmp_path)
    assert capsys.readouterr().out == "task.json\n"
    assert {path.name: path.read_text(encoding="utf-8") for path in tmp_path.iterdir()} == {
        path.name: path.read_text(encoding="utf-8") for path in FOLDER.glob("*.json")
    }


def test_the_module_is_a_command() -> None:
    done = subprocess.run([sys.executable, "-m", writer.__name__], check=True, capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "")
