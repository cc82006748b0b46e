"""The published JSON Schemas: fresh, whole, and readable by anybody."""

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


def test_writing_them_anew_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    writer.main()
    assert capsys.readouterr().out == ""
