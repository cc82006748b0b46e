"""From a place in a definition to the line and column that said it."""

import pytest

from retinue.agents.lint.definitions import SourceMap
from retinue.contract import json
from retinue.contract.definition import Source
from retinue.contract.finding import Finding

LIST = """[
{"name": "a", "inputSchema": {"properties": {"X-y": {"type": 1}}}, "colour": 1, "input_examples": [{"q": 1}]},
{"name": "b", "skills": [{"name": "s", "inputSchema": {}, "odd": 2}], "maxTurns": 3}]"""
FIRST, SECOND = Source(file="a.json", line=2, column=1), Source(file="a.json", line=3, column=1)


@pytest.mark.parametrize(
    ("path", "source", "own", "place"),
    [
        ("/skills/0/input_schema/properties/X-y/type", FIRST, "/0/inputSchema/properties/X-y/type", (2, 54)),
        ("/skills/0/input_schema/properties/gone", FIRST, "/0/inputSchema/properties", (2, 31)),
        ("/skills/0", FIRST, "/0", (2, 1)),
        ("/extras/colour", FIRST, "/0/colour", (2, 68)),
        ("/extras/input_examples/0/q", FIRST, "/0/input_examples/0/q", (2, 101)),
        ("/description", FIRST, "/0", (2, 1)),
        ("", SECOND, "/1", (3, 1)),
        ("/skills/0/input_schema/zz", SECOND, "/1/skills/0/inputSchema", (3, 40)),
        ("/extras/~1skills~10~1odd", SECOND, "/1/skills/0/odd", (3, 59)),
        ("/runner/max_turns", SECOND, "/1/maxTurns", (3, 71)),
    ],
)
def test_a_definition_is_found_as_its_file_spells_it(
    path: str, source: Source, own: str, place: tuple[int, int]
) -> None:
    places = SourceMap(lambda: json.source_map(LIST), is_list=True)
    assert places.find(path, source=source) == (own, place)


def test_a_finding_gets_its_place_once() -> None:
    places = SourceMap.of({"": (1, 1), "/name": (4, 2)})
    finding = Finding(rule="definition/name-version", message="m", path="/name", fix="f", severity="info")
    placed = places.with_position(finding, file="x.json")
    assert (placed.file, placed.line, placed.column, placed.path, placed.severity) == ("x.json", 4, 2, "/name", "info")
    assert places.with_position(placed, file="y.json") is placed


def test_what_no_place_is_known_of_stands_where_the_definition_begins() -> None:
    assert SourceMap.of({}).find("/name", source=SECOND) == ("", (3, 1))
    assert SourceMap.of({}).find("/name") == ("", (1, 1))
