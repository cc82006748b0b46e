"""Messages as people and models write them: what has one meaning is read, and what was wrong with it is said."""

import json
from typing import Any

import pytest

from retinue.contract.finding import Level
from retinue.dialects import markdown_json
from retinue.errors import InvalidInput, OutputInvalid

LEVELS: tuple[Level, ...] = ("strict", "standard", "lenient")
BLOCK = "**Agent:** ticket-analyzer\n**Operation:** story-deep\n**Target:** STORY-0001.2.3\n**Context:** none\n"


def _said(status: str = "success", **said: Any) -> str:
    envelope: dict[str, Any] = {"status": status, "agent": "a", "version": "1.0", "operation": "b", "result": {}}
    return json.dumps({**envelope, "metadata": {"execution_time_ms": 1}, **said})


def _refused_by(text: str) -> list[Level]:
    levels: list[Level] = []
    for level in LEVELS:
        try:
            markdown_json.parse_result(text, level=level)
        except OutputInvalid:
            levels.append(level)
    return levels


@pytest.mark.requirement("K2")
def test_a_byte_order_mark_costs_no_field() -> None:
    for text in ("\ufeff" + BLOCK, b"\xef\xbb\xbf" + BLOCK.encode()):
        read = markdown_json.parse_task(text)
        assert (read.value.agent, read.value.skill, read.value.extras) == ("ticket_analyzer", "story_deep", {})
        assert [(finding.rule, finding.severity) for finding in read.findings] == [
            ("markdown_json/byte_order_mark", "warning")
        ]
        with pytest.raises(InvalidInput):
            markdown_json.parse_task(text, level="strict")


@pytest.mark.requirement("K2", "C3")
@pytest.mark.parametrize(
    "text",
    [
        f"```markdown\n{BLOCK}```",
        BLOCK.replace(":**", "**:"),
        BLOCK.replace("**Operation:** story-deep\n", ""),
        BLOCK.replace("**Context", "**Scope:** all\n**Context"),
    ],
)
def test_what_is_borne_of_a_block_is_refused_when_strict(text: str) -> None:
    assert markdown_json.parse_task(text).value.agent == "ticket_analyzer"
    with pytest.raises(InvalidInput):
        markdown_json.parse_task(text, level="strict")


@pytest.mark.requirement("K2")
def test_two_blocks_are_refused_at_every_level() -> None:
    for level in LEVELS:
        with pytest.raises(InvalidInput):
            markdown_json.parse_task(BLOCK + "\n" + BLOCK, level=level)


@pytest.mark.requirement("K10")
@pytest.mark.parametrize("name", ["completeness", "coverage", "score", "test_coverage"])
def test_a_percentage_in_a_text_is_no_number(name: str) -> None:
    text = _said(result={name: "85%"})
    assert _refused_by(text) == ["strict"]
    assert markdown_json.parse_result(text, level="lenient").value.data == {name: 85}


@pytest.mark.requirement("K5", "C3")
def test_another_type_of_warning_is_read_when_lenient_only() -> None:
    warning = {
        "type": "stale_cache",
        "message": "The index is old.",
        "impact": "Ids may be missing.",
        "recovery": "Index.",
    }
    text = _said("partial", warnings=[warning])
    assert _refused_by(text) == ["strict", "standard"]
    read = markdown_json.parse_result(text, level="lenient")
    assert [each.type for each in read.value.warnings] == ["degraded_analysis"]
    assert "'stale_cache' is not a type of a warning" in read.findings[0].message


@pytest.mark.requirement("K4", "C3")
def test_a_warning_that_is_a_bare_text_is_read_when_lenient_only() -> None:
    text = _said("partial", warnings=["The index is old."])
    assert _refused_by(text) == ["strict", "standard"]
    assert [each.message for each in markdown_json.parse_result(text, level="lenient").value.warnings] == [
        "The index is old."
    ]


@pytest.mark.requirement("C5", "C3")
def test_milliseconds_with_a_fraction_are_rounded_unless_strict() -> None:
    text = _said(metadata={"execution_time_ms": 12.6})
    assert _refused_by(text) == ["strict"]
    assert markdown_json.parse_result(text).value.duration_ns == 13_000_000


@pytest.mark.requirement("K2")
def test_a_template_that_nobody_filled_is_told_line_by_line() -> None:
    text = (
        "**Agent:** a\n**Operation:** look\n**Target:** {what to look at}\n\n**Optional Parameters:**\n- Mode: [a mode]"
    )
    read = markdown_json.parse_task(text, level="strict")
    assert read.value.target == "{what to look at}"
    assert [(finding.rule, finding.severity, finding.line) for finding in read.findings] == [
        ("markdown_json/template", "warning", 3),
        ("markdown_json/template", "warning", 6),
    ]


@pytest.mark.requirement("K10", "C16")
@pytest.mark.parametrize("name", ["notes", "details", "elapsed_seconds", "duration_ms", "has_attachments", "is_this"])
def test_a_name_that_only_sounds_like_a_list_may_be_null(name: str) -> None:
    assert markdown_json.parse_result(_said(result={name: None}), level="strict").value.data == {name: None}
    with pytest.raises(OutputInvalid):
        markdown_json.parse_result(_said(result={"attachments": None}), level="strict")
