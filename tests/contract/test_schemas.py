"""The published JSON Schemas: fresh, whole, and readable by anybody."""

import pytest

from retinue.contract import schema
from retinue.contract.schemas import NOUNS, load
from retinue.errors import UnknownName
from tests.contract.schema_files import FOLDER, schema_files


def test_the_files_are_what_the_nouns_say() -> None:
    written = {path.name: path.read_text(encoding="utf-8") for path in FOLDER.iterdir()}
    assert written == schema_files(), "run `python -m tests.contract.schema_files`"


@pytest.mark.parametrize("noun", NOUNS)
def test_each_is_a_schema_and_says_what_it_is_of(noun: str) -> None:
    loaded = load(noun)
    assert schema.check_schema(loaded) == []
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
