"""Python agents are judged by their source alone."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.lint.python_source import PythonSource, read_python, schema_of
from tests.agents.trees import lint, put, said
from tests.examples import examples

SOURCE = '''\
from typing import Annotated, Literal

from pydantic import Field
from retinue import agent, skill
import retinue as r


@agent(tier="haiku", examples=["count the words"], version=VERSION, output=Model, **more)
async def word_counter_v2(
    text: str, unit: Literal["words", "letters"] = "words", limit: Annotated[int, Field(ge=1)] = 3, *, run: RunContext
) -> int:
    """Counts the words of a text. Use when a length is asked for.

    Args:
        text: What is to be counted.

    Returns:
        How many there are.
    """


@r.agent
class Desk:
    """Keeps papers in order. Use when papers pile up. Returns: a list."""

    @skill(description="Puts a paper away.")
    def file_away(self, paper, place: "Shelf", task: "retinue.Task") -> list[str]: ...

    def not_a_skill(self) -> None: ...


@other.decorator
def no_agent() -> None: ...
'''


def read(text: str) -> list[PythonSource]:
    return read_python(text, file="a.py")


def test_what_the_source_says_is_read() -> None:
    counter, desk = read(SOURCE)
    assert counter.definition is not None
    skill = counter.definition.skills[0]
    assert (counter.definition.name, counter.definition.version, counter.definition.tier) == (
        "word_counter", "2.0", "small",
    )  # fmt: skip
    assert counter.definition.description.endswith("Returns: How many there are.")
    assert skill.input_schema == {
        "type": "object",
        "properties": {
            "text": {"description": "What is to be counted.", "type": "string"},
            "unit": {"enum": ["words", "letters"], "default": "words"},
            "limit": {"type": "integer", "minimum": 1, "default": 3},
        },
        "required": ["text"],
        "additionalProperties": False,
    }
    assert skill.output_schema == {"type": "integer"}
    assert skill.examples == ("count the words",)
    assert desk.definition is not None
    assert [each.name for each in desk.definition.skills] == ["file_away"]
    assert desk.definition.skills[0].description == "Puts a paper away."


def test_what_is_computed_is_said_to_be_unread_where_it_stands() -> None:
    counter, desk = read(SOURCE)
    assert counter.unread == ["/version", "/**"]
    assert {(each.rule, each.line) for each in counter.findings} == {("python/unread", 8)}
    assert desk.unread == [f"/skills/0/input_schema/properties/{name}" for name in ("paper", "place")]
    assert [(each.rule, each.line, each.column) for each in desk.findings] == [("python/annotation", 27, 25)]


def test_what_was_not_read_is_not_judged(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", SOURCE)
    found = lint(file)
    assert not [each for each in found if "properties/p" in each.path and each.rule.startswith("input/")]
    assert ("a.py", 9, 16, "info", "input/constraint") not in said(found, tmp_path)
    assert ("a.py", 10, 5, "info", "input/constraint") in said(found, tmp_path)


@pytest.mark.requirement("A6", "A20", "A21")
def test_the_rules_for_definitions_hold_for_python_too(tmp_path: Path) -> None:
    file = put(tmp_path / "a.py", "from retinue import agent\n\n@agent\ndef é(wörd: str, n: int = 1): '''Counts.'''\n")
    assert said(lint(file, only=["definition", "input/desc", "python"]), tmp_path) == [
        ("a.py", 4, 1, "warning", "definition/description-returns"),
        ("a.py", 4, 1, "warning", "definition/description-what"),
        ("a.py", 4, 1, "warning", "definition/description-when"),
        ("a.py", 4, 1, "warning", "python/annotation"),
        ("a.py", 4, 7, "warning", "input/description"),
        ("a.py", 4, 18, "warning", "input/description"),
    ]


@pytest.mark.parametrize(
    ("text", "line", "column"), [("def (", 1, 5), ("x = 1\n  y", 2, 2), ("'\x00'", 1, 1), ("(" * 5_000, 1, 1)]
)
def test_what_is_no_python_is_a_finding(text: str, line: int, column: int) -> None:
    (source,) = read(text)
    assert source.definition is None
    (found,) = source.findings
    assert (found.rule, found.severity, found.line) == ("load/parse-error", "error", line)
    assert column in {1, found.column}


def test_an_agent_that_cannot_be_one_is_a_finding_at_its_option(tmp_path: Path) -> None:
    (source,) = read('from retinue import agent\n@agent(tier="vast",\n       category=3)\ndef f() -> None: "Does."\n')
    assert source.definition is None
    assert sorted((each.rule, each.line, each.column) for each in source.findings) == [
        ("load/value", 2, 8), ("load/value", 3, 8),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("annotation", "schema"),
    [
        ("str", {"type": "string"}), ("'int'", {"type": "integer"}), ("None", {"type": "null"}),
        ("list", {"type": "array"}), ("dict", {"type": "object"}), ("typing.Any", None), ("Model", None),
        ("List[int]", {"type": "array", "items": {"type": "integer"}}), ("list[Model]", None),
        ("dict[str, bool]", {"type": "object", "additionalProperties": {"type": "boolean"}}),
        ("dict[str, Model]", {"type": "object", "additionalProperties": True}),
        ("Optional[str]", {"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ("str | None", {"anyOf": [{"type": "string"}, {"type": "null"}]}), ("str | Model", None),
        ("Literal['a', 1]", {"enum": ["a", 1]}), ("Literal[A]", None), ("Annotated[Model, 1]", None),
        ("Annotated[list[str], Field(min_length=1, description='d', alias=x)]",
         {"type": "array", "items": {"type": "string"}, "minItems": 1, "description": "d"}),
        ("Annotated[float, 'x']", {"type": "number"}), ("'('", None), ("'\"str\"'", None), ("f()", None), ("Tuple[int]", None),
    ],
)  # fmt: skip
def test_an_annotation_means_a_schema_or_nothing(annotation: str, schema: dict[str, Any] | None) -> None:
    import ast

    assert schema_of(ast.parse(annotation, mode="eval").body) == schema


@settings(max_examples=examples(100))
@given(st.text(max_size=200))
def test_any_text_is_read_without_a_word(text: str) -> None:
    for source in read(f"from retinue import agent\n{text}"):
        assert all(each.line and each.column for each in source.findings)
