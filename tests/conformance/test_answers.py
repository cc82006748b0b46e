"""Looks at answers say what is wrong, and bear whatever text there is."""

import json
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.conformance.answer_checks import (
    each_answer,
    each_object,
    is_amount,
    is_count,
    is_garbled,
    is_nonblank,
    is_uninformative,
    object_at,
    object_in,
    parse_context_of,
    passes_strict_reader,
    quote,
    same_members,
    unmixed,
    values_in,
)
from retinue.conformance.judge import kit
from retinue.conformance.kits import markdown_json as checks
from retinue.conformance.port import Probe, ProbeExchange
from retinue.conformance.requests import TOGETHER, mark_of
from tests.conformance.kits import JUDGED, broken
from tests.conformance.mutants.markdown_json import TEMPLATE
from tests.contract.nouns import json_values
from tests.examples import examples

PROBE = Probe("valid", TEMPLATE.task("valid"), "A request as it should be.")


def said(text: str) -> ProbeExchange:
    return ProbeExchange(PROBE, "asked", text=text)


def test_a_look_is_told_with_its_probe() -> None:
    check = each_answer(lambda exchange: ["too short"] if len(exchange.text or "") < 3 else [])
    assert list(check({"valid": said("ab"), "again": said("abc")})) == ["valid: too short"]


def test_an_answer_without_an_object_has_no_members() -> None:
    check = each_object(lambda body: [] if "a" in body else ["no `a`"])
    exchanges = {"valid": said("words"), "again": said('{"b": 1}'), "fenced": said('```json\n{"a": 1}\n```')}
    assert list(check(exchanges)) == ["valid: there is no JSON object in it", "again: no `a`"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ('{"a": 1}', {"a": 1}),
        ('Here: {"a": 1}.', {"a": 1}),
        ('{"a": 1, "a": 2}', {"a": 2}),
        ("[1]", None),
        ("7", None),
        ("", None),
        ("{", None),
        ("[" * 100_000, None),
    ],
)
def test_an_object_is_found_however_loosely_it_is_written(text: str, value: object) -> None:
    assert object_in(text) == value


def test_what_a_strict_reader_refuses_is_told_finding_by_finding() -> None:
    envelope = {"status": "ok", "agent": "ticket-analyzer", "version": "one"}
    wrong = list(passes_strict_reader("markdown_json")({"valid": said(json.dumps(envelope))}))
    assert len(wrong) > 1
    assert all(each.startswith("valid: ") for each in wrong)
    assert list(passes_strict_reader("markdown_json")({"valid": said("no JSON")}))


def test_the_same_question_gets_the_same_answer() -> None:
    check = same_members("status", "metadata/kind")
    one, other = {"status": "a", "metadata": {"kind": 1}}, {"status": "b", "metadata": {"kind": 1}}
    (wrong,) = check({"valid": said(json.dumps(one)), "again": said(json.dumps(other))})
    assert wrong == '`status` differs between answers to the same request: `"a"` to `valid`, `"b"` to `again`'
    assert not list(check({"valid": said(json.dumps(one)), "again": said(json.dumps(one))}))


def test_words_of_another_request_are_noticed() -> None:
    exchanges = {name: said(f"answer to {mark_of(name)}") for name in TOGETHER}
    assert not list(unmixed(exchanges))
    exchanges["together_2"] = said(mark_of("together_3"))
    assert list(unmixed(exchanges)) == [
        "together_2: the answer has words of `together_3`, which was put at the same time"
    ]


@pytest.mark.parametrize(
    ("text", "words", "wrong"),
    [
        ("Größe", "Größe", False),
        ("GrÃ¶ÃŸe", "Größe", True),
        ("Gr\u00c3\u00b6\u00c3\u009fe", "Größe", True),
        ("Gr??e", "Größe", True),
        ("Gr\ufffd\ufffde", "Größe", True),
        ("plain words", "plain", False),
        ("anything", "", False),
    ],
)
def test_letters_that_did_not_survive_are_noticed(text: str, words: str, wrong: bool) -> None:
    assert is_garbled(text, words) is wrong


def test_a_member_is_told_apart_by_what_it_is() -> None:
    assert [is_nonblank(each) for each in ("a", " ", "", 1, None)] == [True, False, False, False, False]
    assert [is_amount(each) for each in (0, 1.5, -1, True, "1", None)] == [True, True, False, False, False, False]
    assert [is_count(each) for each in (0, 1.5, -1, True, "1", None)] == [True, False, False, False, False, False]
    assert object_at({"a": {"b": 1}, "c": [1]}, "a") == {"b": 1}
    assert object_at({"a": {"b": 1}, "c": [1]}, "c") == {}


@pytest.mark.requirement("A13", "K11")
@pytest.mark.parametrize(
    ("message", "nothing"),
    [
        ("Please try again later.", True),
        ("Check the input!", True),
        ("Retry, please.", True),
        ("", True),
        (None, True),
        ("Leave `depth` out.", False),
        ("The file is not there; check the input path.", False),
    ],
)
def test_what_anybody_says_of_anything_says_nothing(message: str | None, nothing: bool) -> None:
    assert is_uninformative(message) is nothing


def test_values_are_found_with_their_place_and_name() -> None:
    value: Any = {"a": [{"b/c": 1}, 2], "d": None}
    assert list(values_in(value)) == [
        ("/a", "a", [{"b/c": 1}, 2]),
        ("/a/0", "a", {"b/c": 1}),
        ("/a/0/b~1c", "b/c", 1),
        ("/a/1", "a", 2),
        ("/d", "d", None),
    ]


def test_values_are_shown_briefly() -> None:
    assert quote("é") == '`"é"`'
    assert len(quote("x" * 1_000)) < 100
    assert "object" in quote(object())


def test_what_was_asked_is_known() -> None:
    known = parse_context_of(said(""))
    assert (known.task_id, known.agent, known.skill) == ("valid", "ticket_analyzer", "story_deep")


# The data inside an envelope of spec 003.


def inside(result: object) -> dict[str, Any]:
    return {"status": "success", "result": result}


@pytest.mark.requirement("K10", "K12")
@pytest.mark.parametrize(
    ("look", "wrong", "right"),
    [
        (checks.text_for_number, {"score": "85"}, {"score": 85}),
        (checks.text_for_number, {"completeness_score": "85 %"}, {"score_breakdown": {}, "scored_by": "85"}),
        (checks.text_for_number, {"confidence": True}, {"confidence": 0.5}),
        (checks.wrong_array, {"issues": None}, {"issues": []}),
        (checks.wrong_array, {"a": {"children": None}}, {"status": None, "class": None, "rows": [None]}),
        (checks.text_for_boolean, {"ready": "true"}, {"ready": True}),
        (checks.text_for_boolean, {"ready": "False"}, {"ready": "truly"}),
        (checks.wrong_count, {"total": -1}, {"total": 0}),
        (checks.wrong_count, {"total_tasks": "4"}, {"total_tasks": 4}),
        (checks.wrong_count, {"commit_count": 1.5}, {"total_cost": 1.5, "total_hours": 2.5}),
        (checks.wrong_count, {"count": True}, {"count": 1, "country": -1, "account": "7"}),
    ],
)
def test_types_are_told_by_names(look: Any, wrong: object, right: object) -> None:
    assert list(look(inside(wrong)))
    assert not list(look(inside(right)))


@pytest.mark.requirement("K11", "C12")
@pytest.mark.parametrize(
    "path", ["../x.md", "a/../../x", "~/x", "~root/x", "a\nb", "a\0", "", "  ", "https://a.example/x", "..\\x"]
)
def test_paths_that_lead_elsewhere(path: str) -> None:
    assert list(checks.outside_path(inside({"path": path})))
    assert list(checks.outside_path(inside({"files": ["README.md", path]})))


@pytest.mark.requirement("K11", "C13")
@pytest.mark.parametrize("path", ["src/a.py", "/abs/x.md", "foo..bar.py", ".claude/agents/x.md", "C:/x/y.md"])
def test_paths_that_are_in_order(path: str) -> None:
    assert not list(checks.outside_path(inside({"path": path, "text": "../x"})))


@pytest.mark.requirement("K11")
def test_what_says_nothing_is_told() -> None:
    error: Any = {
        "status": "error",
        "message": "Something went wrong!",
        "recovery_suggestions": ["Try again.", 3, "story-deep", "Use `story-deep`.", "再試行してください。"],
    }
    assert list(checks.generic_message(error)) == ['`message` is `"Something went wrong!"`']
    assert list(checks.generic_suggestion(error)) == [
        '`recovery_suggestions[0]` is `"Try again."`',
        "`recovery_suggestions[1]` is `3`",
        '`recovery_suggestions[2]` is `"story-deep"`',
    ]
    warned: Any = {
        "status": "partial",
        "warnings": [{"message": "Failed", "recovery": "retry"}, "x", {"message": None}],
    }
    assert list(checks.generic_message(warned)) == [
        '`warnings[0].message` is `"Failed"`',
        "`warnings[2].message` is `null`",
    ]
    assert list(checks.generic_suggestion(warned)) == ['`warnings[0].recovery` is `"retry"`']


# Whatever an agent says.


ANSWERS = (
    st.text(max_size=40)
    | json_values.map(json.dumps)
    | st.dictionaries(
        st.sampled_from(["status", "agent", "version", "operation", "result", "metadata", "warnings", "error_type", "message",
                         "recovery_suggestions", "context", "content", "traces", "task", "error"]),
        json_values, max_size=6,
    ).map(json.dumps)
)  # fmt: skip


@pytest.mark.parametrize("dialect", JUDGED)
@given(answer=ANSWERS)
@settings(max_examples=examples(60), deadline=None)
def test_no_check_breaks_on_any_answer(dialect: str, answer: str) -> None:
    by = kit(dialect)
    probes = {name: ask(broken(dialect).TEMPLATE) for name, ask in by.probes.items()}
    exchanges = {name: ProbeExchange(probe, "asked", text=answer) for name, probe in probes.items()}
    for required in by.requirements:
        names = list(by.probes) if required.probes == ("*",) else required.probes
        wrong = by.checks[required.id]({name: exchanges[name] for name in names})
        assert all(isinstance(each, str) for each in wrong)
