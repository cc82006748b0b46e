"""The laws over all dialects: every pair meets through the contract, and nothing is lost that no report names."""

import re
from functools import cache
from itertools import permutations, product
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json
from retinue.contract.finding import Level, Loss
from retinue.contract.model import DialectName, Model
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.messages import MessageValue, parse, readable_kinds, render
from retinue.dialects.port import Kind
from retinue.errors import InvalidInput, OutputInvalid, ParseError, RetinueError
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses, differences
from tests.dialects.samples import ANSWERS, CORRECTION, REQUESTS, SAMPLES
from tests.examples import examples

PAIRS = tuple(permutations(DIALECTS, 2))
LEVELS: tuple[Level, ...] = ("strict", "standard", "lenient")
NOUNS: dict[Kind, type[Model]] = {"task": Task, "result": Result}

_PROMISED: dict[Kind, tuple[type[RetinueError], ...]] = {"result": (OutputInvalid,)}
"""What a message of a kind is refused with, where that is not `ParseError` or `InvalidInput`."""

UNITS_NS: dict[DialectName, int] = {
    "tool_use": 1_000_000,
    "run_agent": 1_000,
    "task_signal": 1,
    "markdown_json": 1_000_000,
    "agent_http": 1_000_000,
    "a2a": 1,
}
"""The unit of time in which each dialect writes; rounding to it is no loss."""


def said_in(name: DialectName, kind: Kind, noun: Model) -> tuple[Model, tuple[Loss, ...]]:
    """`noun` written and read again, and what writing it lost."""
    speaks = dialect(name)
    rendered = render(speaks, kind, cast("MessageValue", noun))
    read = parse(speaks, kind, rendered.text)
    assert_exact_losses(noun, cast("Model", read.value), rendered.losses, unit_ns=UNITS_NS[name])
    return cast("Model", read.value), rendered.losses


def see_the_pair(first: DialectName, second: DialectName, kind: Kind, noun: Model) -> None:
    """Say `noun` in one dialect, then in another, then in the first again; what differs was reported on the way."""
    here, lost = said_in(first, kind, noun)
    there, lost_there = said_in(second, kind, here)
    back, lost_here = said_in(first, kind, there)
    named = {loss.field for loss in (*lost, *lost_there, *lost_here)}
    changed = set(differences(_json(noun), _json(back), unit_ns=2 * max(UNITS_NS.values())))
    assert {path for path in changed if not any(f"{path}/".startswith(f"{field}/") for field in named)} == set()


def _json(noun: Model) -> Any:
    return noun.model_dump(mode="json", by_alias=True)


@pytest.mark.requirement("C1", "C2")
@pytest.mark.parametrize(("first", "second"), PAIRS)
def test_every_pair_meets_through_the_contract(first: DialectName, second: DialectName) -> None:
    for noun in (*REQUESTS.values(), *ANSWERS.values()):
        see_the_pair(first, second, "task" if isinstance(noun, Task) else "result", noun)


@pytest.mark.slow
@pytest.mark.requirement("C1", "C2")
@pytest.mark.parametrize("kind", NOUNS)
@pytest.mark.parametrize(("first", "second"), PAIRS)
@settings(max_examples=examples(12))
@given(data=st.data())
def test_every_pair_meets_whatever_is_said(
    first: DialectName, second: DialectName, kind: Kind, data: st.DataObject
) -> None:
    see_the_pair(first, second, kind, data.draw(values_of(NOUNS[kind])))


# Reading.


@pytest.mark.requirement("C3")
@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_dialect_writes_it_reads_alike_at_every_level(name: DialectName) -> None:
    """Strictness may refuse what the contract leaves open and the format demands; it never reads something else."""
    for sample in (each for each in SAMPLES if each.dialect == name):
        speaks, text = dialect(name), sample.rendered.text
        standard, lenient = parse(speaks, sample.kind, text), parse(speaks, sample.kind, text, level="lenient")
        assert standard == lenient, sample
        # The wide form is the same envelope with one key more, so nothing tells whoever reads it apart.
        assert standard.form == sample.rendered.form.replace("wide", "envelope"), sample
        try:
            assert parse(speaks, sample.kind, text, level="strict").value == standard.value, sample
        except RetinueError:
            assert standard.findings, sample


@pytest.mark.parametrize("name", DIALECTS)
def test_what_a_dialect_writes_it_recognises(name: DialectName) -> None:
    for sample in (each for each in SAMPLES if each.dialect == name):
        detections = dialect(name).recognise(sample.rendered.text)
        kinds = {sample.kind, "event"} if sample.title == "working" else {sample.kind}
        assert kinds.intersection(detection.kind for detection in detections), sample
        assert all(detection.dialect == name and detection.why for detection in detections), sample


@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("title", REQUESTS)
def test_a_request_made_again_says_why(name: DialectName, title: str) -> None:
    speaks = dialect(name)
    read = speaks.parse_task(speaks.render_retry(REQUESTS[title], CORRECTION).text)
    assert read.correction is not None
    assert read.correction.message == CORRECTION.message
    assert read.correction.hint == CORRECTION.hint
    once = speaks.parse_task(speaks.render_task(REQUESTS[title], form=read.form).text)
    assert read.value == once.value
    assert once.correction is None


def see_it_is_typed(name: DialectName, text: str | bytes) -> None:
    """Whatever the text, it is read or refused with one of the errors that were promised, at every level."""
    speaks = dialect(name)
    for level, kind in product(LEVELS, readable_kinds(speaks)):
        try:
            parse(speaks, kind, text, level=level)
        except _PROMISED.get(kind, (ParseError, InvalidInput)) as error:
            assert error.message and error.hint, (kind, level)  # noqa: PT017, PT018 - reading it is fine too


@pytest.mark.parametrize("name", DIALECTS)
@given(text=st.text() | st.binary())
def test_any_text_is_read_or_refused(name: DialectName, text: str | bytes) -> None:
    see_it_is_typed(name, text)


@cache
def texts(name: DialectName | None = None) -> list[str]:
    """The messages of the samples, of one dialect or all."""
    return [sample.rendered.text for sample in SAMPLES if name in (None, sample.dialect)]


@cache
def words_of_all() -> list[str]:
    return sorted({word for text in texts() for word in text.split()})


@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_words_of_all_dialects_in_any_order_are_read_or_refused(name: DialectName, data: st.DataObject) -> None:
    between = st.sampled_from(["\n", "\n\n", "  ", '"', "{", "}", "```\n"])
    see_it_is_typed(name, " ".join(data.draw(st.lists(st.sampled_from(words_of_all()) | between, max_size=30))))


@cache
def keys_of_all() -> list[str]:
    """Every key that a JSON message of the samples has, at any depth."""
    return sorted(
        {key for text in texts() for key in re.findall(r'"(\w+)":', text)} | {"endpoints", "capabilities", "task"}
    )


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@settings(max_examples=examples(30))
@given(data=st.data())
def test_objects_of_the_right_keys_are_read_or_refused(name: DialectName, data: st.DataObject) -> None:
    keys = st.sampled_from(keys_of_all())
    words = st.sampled_from(["success", "error", "tool_use", "task_delegation", "completed", "data", "text"])
    values = st.recursive(
        json_values | words, lambda inner: st.dictionaries(keys, inner) | st.lists(inner, max_size=3), max_leaves=12
    )
    text = json.dumps(data.draw(st.dictionaries(keys, values)))
    see_it_is_typed(name, text)
    dialect(name).recognise(text)


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@given(data=st.data())
def test_a_message_that_was_mangled_is_read_or_refused(name: DialectName, data: st.DataObject) -> None:
    text = data.draw(st.sampled_from(texts(name)))
    for _ in range(data.draw(st.integers(1, 4))):
        text = data.draw(mangled(text))
    see_it_is_typed(name, data.draw(st.sampled_from([text, text.encode("utf-8", "surrogatepass")])))


@st.composite
def mangled(draw: st.DrawFn, text: str) -> str:
    """`text` cut short, with a part said twice or not at all, two parts swapped, or something put in between."""
    first, second, third = sorted(draw(st.tuples(*[st.integers(0, len(text))] * 3)))
    before, one, other, after = text[:first], text[first:second], text[second:third], text[third:]
    return draw(
        st.sampled_from([
            before,
            before + one + one + other + after,
            before + other + after,
            before + other + one + after,
            before + draw(st.text(max_size=5)) + one + other + after,
            before + draw(st.sampled_from(['"', "\n", "{", "}", "[", ",", "null", "\0", "\ud800", "```\n", "- "])) + one,
        ])
    )  # fmt: skip
