"""What a text is taken for, weighed over all dialects."""

from dataclasses import dataclass
from typing import Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json
from retinue.contract.finding import Finding
from retinue.contract.model import DialectName
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import DIALECTS
from retinue.dialects.detect import detect, rank
from retinue.dialects.port import Certainty, Detection, Dialect, Kind, Parsed, RenderedMessage
from retinue.errors import OutputInvalid
from tests.contract.nouns import json_values
from tests.dialects.hostile import NONSENSE
from tests.dialects.samples import SAMPLES, Sample
from tests.dialects.test_laws import keys_of_all
from tests.examples import examples


@dataclass(frozen=True)
class Reader:
    """A dialect that knows every text, with as much certainty and as many complaints as it is told to have."""

    NAME: DialectName
    certainty: Certainty = "certain"
    complaints: int | None = 0
    kind: Kind = "result"
    TASK_FORMS: tuple[str, ...] = ("one",)
    RESULT_FORMS: tuple[str, ...] = ("one",)

    def recognise(self, text: str) -> tuple[Detection, ...]:
        del text
        return (Detection(self.NAME, self.kind, "one", self.certainty, "it was told so"),)

    def parse_result(self, text: str | bytes, **_: Any) -> Parsed[Result]:
        del text
        if self.complaints is None:
            raise OutputInvalid("No.")
        findings = (Finding(rule="a/b", message="c", severity="warning"),) * self.complaints
        return Parsed(Result(task_id="", agent="a"), "one", findings)

    def parse_task(self, text: str | bytes, **_: Any) -> Parsed[Task]:
        del text
        return Parsed(Task(id="", agent="a"), "one")

    def render_task(self, task: Task, *, form: str | None = None) -> RenderedMessage:
        raise NotImplementedError

    def render_retry(self, task: Task, correction: Correction) -> RenderedMessage:
        raise NotImplementedError

    def render_result(self, result: Result, *, form: str | None = None) -> RenderedMessage:
        raise NotImplementedError


def seen(*readers: Reader) -> list[tuple[str, str]]:
    return [(sign.dialect, sign.certainty) for sign in rank("text", cast("tuple[Dialect, ...]", readers))]


def test_what_only_one_dialect_reads_is_certain() -> None:
    assert seen(Reader("tool_use"), Reader("run_agent", "possible")) == [
        ("tool_use", "certain"),
        ("run_agent", "possible"),
    ]


def test_two_that_both_read_it_are_only_likely() -> None:
    assert seen(Reader("tool_use"), Reader("run_agent")) == [("tool_use", "likely"), ("run_agent", "likely")]
    (first, _) = rank("text", cast("tuple[Dialect, ...]", (Reader("tool_use"), Reader("run_agent"))))
    assert first.why == "it was told so; run_agent would read it too"


def test_one_that_would_refuse_it_is_no_rival() -> None:
    assert seen(Reader("tool_use", complaints=None), Reader("run_agent")) == [
        ("run_agent", "certain"),
        ("tool_use", "likely"),
    ]


def test_two_that_are_sure_and_refuse_it_are_not_so_sure() -> None:
    assert seen(Reader("tool_use", complaints=None), Reader("run_agent", complaints=None)) == [
        ("tool_use", "likely"),
        ("run_agent", "likely"),
    ]


def test_of_two_the_one_with_less_to_complain_about_comes_first() -> None:
    assert seen(Reader("tool_use", "likely", 2), Reader("run_agent", "likely", 1)) == [
        ("run_agent", "likely"),
        ("tool_use", "likely"),
    ]


def test_certainty_comes_before_complaints() -> None:
    assert seen(Reader("tool_use", "possible"), Reader("run_agent", "likely", 9)) == [
        ("run_agent", "likely"),
        ("tool_use", "possible"),
    ]


def test_a_kind_that_a_dialect_does_not_read_counts_as_refused() -> None:
    assert seen(Reader("tool_use", kind="event"), Reader("run_agent", complaints=4))[0] == ("run_agent", "certain")


@pytest.mark.parametrize("name", NONSENSE)
def test_nonsense_of_any_size_is_looked_at_without_fear(name: str) -> None:
    for sign in detect(NONSENSE[name]()):
        assert sign.dialect in DIALECTS
        assert sign.why


@given(st.text() | st.binary())
def test_any_text_is_looked_at(text: str | bytes) -> None:
    ranks = [["certain", "likely", "possible"].index(sign.certainty) for sign in detect(text)]
    assert ranks == sorted(ranks)


@pytest.mark.parametrize(
    "sample", [each for each in SAMPLES if each.form != "skill" and each.title != "working"], ids=str
)
def test_what_a_dialect_writes_is_taken_for_that(sample: Sample) -> None:
    """But for the body of a skill, which is any JSON object, and for work in progress, which is an event."""
    (first, *others) = detect(sample.rendered.text)
    assert (first.dialect, first.kind) == (sample.dialect, sample.kind)
    assert first.certainty != "possible"
    assert first.certainty != "certain" or "certain" not in {
        sign.certainty for sign in others if sign.dialect != first.dialect
    }


def test_what_stands_before_a_message_is_looked_through() -> None:
    text = '{"content": "Hello.", "response_time_secs": 1, "traces": []}'
    alone = detect(text)
    assert alone[0].dialect == "run_agent"
    for wrapped in (
        f"\ufeff{text}",
        b"\xef\xbb\xbf" + text.encode(),
        text.encode("utf-16"),
        f"\ufeff{text}".encode("utf-16-be"),
    ):
        assert detect(wrapped) == alone


@pytest.mark.slow
@settings(max_examples=examples(40))
@given(data=st.data())
def test_objects_of_the_right_keys_are_looked_at(data: st.DataObject) -> None:
    keys = st.sampled_from(keys_of_all())
    detect(json.dumps(data.draw(st.dictionaries(keys, json_values | st.dictionaries(keys, json_values)))))
