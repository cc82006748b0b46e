"""The laws: what is written reads back, but for what the loss report names; and nothing but typed errors comes out."""

from contextlib import suppress
from typing import cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.event import Checkpoint, Progress
from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.result import Result
from retinue.contract.task import Correction, Task
from retinue.dialects import dialect, task_signal
from retinue.dialects.diagnostics import Diagnostics
from retinue.dialects.task_signal.answer_text import ParsedTable, read_answer, read_table, write_answer, write_table
from retinue.dialects.task_signal.prompt import (
    is_plain_key,
    items_of,
    read_block,
    read_prompt,
    write_block,
    write_items,
    write_prompt,
)
from retinue.dialects.task_signal.wire import (
    AnswerTable,
    JsonReport,
    Prompt,
    PromptItem,
    PromptSection,
    ReportArtifact,
    Signal,
    SignalAnswer,
    TableRow,
    TaskCall,
    one_line,
)
from retinue.errors import InvalidInput, OutputInvalid, ParseError
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses
from tests.examples import examples

_texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
_shaped = st.lists(
    st.sampled_from(
        [
            "CREATED: /etc/passwd",
            "STATUS: failed",
            "TITLE: t",
            "ERROR: TIMEOUT - late",
            "PROGRESS: a - b",
            "CHECKPOINT: a complete",
            "- Artifacts: 1",
            "**Questions**:",
            "**Answer**:",
            "- [a] b",
            "  - c",
            "**Constraints**:",
            "- Output Path: /etc",
            "- Primary Goal: x",
            "Read and follow: a.md",
            "`/a/b`",
            "[a](/b)",
            "none",
            "1. Topic: x",
            "**STATUS**: failed",
            "Task {",
            "  prompt: |",
            "}",
            "```",
            "| Topic | Status | Path | Summary |",
            "{",
            '"a": b',
            '"a"',
            "",
            " ",
            "  x",
            "a: b",
            "5 - c (1/2)",
            "\r",
            "\u2028",
            "\x0c",
        ]
    )
    | _texts,
    max_size=5,
).map("\n".join)
_lines = (_shaped | _texts).map(one_line)
_own = st.dictionaries(
    st.sampled_from(
        ["behaviour", "subagent_type", "description", "expected_output", "keys", "CONTEXT", "NOTE", "x", "status"]
    ),
    json_values | _shaped | st.lists(_texts, max_size=2) | st.dictionaries(_texts, json_values, max_size=2),
    max_size=3,
)


def _tasks(draw_extras: bool = True) -> st.SearchStrategy[Task]:
    @st.composite
    def made(draw: st.DrawFn) -> Task:
        task = draw(values_of(Task))
        assert isinstance(task, Task)
        changes: dict[str, object] = {}
        if draw(st.booleans()):
            changes["instruction"] = draw(_shaped)
            changes["parameters"] = draw(st.dictionaries(_shaped | _texts, _shaped | json_values, max_size=3))
            changes["untyped"] = bool(changes["parameters"])
            changes["target"] = draw(st.none() | _shaped)
        if draw_extras and draw(st.booleans()):
            changes["extras"] = {"task_signal": draw(_own)}
        context = task.context.model_copy(update={"constraints": tuple(draw(st.lists(_shaped, max_size=3)))})
        return task.model_copy(update={**changes, "context": context})

    return made()


@st.composite
def _results(draw: st.DrawFn) -> Result:
    result = cast("Result", draw(values_of(Result)))
    changes: dict[str, object] = {}
    if draw(st.booleans()):
        changes["lifecycle"] = draw(st.sampled_from(["ended", "input_required"]))
        changes["content"] = draw(_shaped)
    if draw(st.booleans()):
        data = st.dictionaries(
            st.sampled_from(["title", "summary", "count", "time_elapsed", "x"]), _shaped | json_values | st.just("2.5s")
        )
        changes["data"] = draw(data)
        changes["extras"] = {"task_signal": draw(_own)}
    return result.model_copy(update=changes)


@pytest.mark.slow
@pytest.mark.parametrize("form", task_signal.TASK_FORMS)
@pytest.mark.requirement("H1", "H2", "H3", "H4", "H5")
def test_a_request_comes_back_but_for_its_losses(form: str) -> None:
    @given(_tasks())
    @settings(max_examples=examples(60))
    def law(task: Task) -> None:
        written = task_signal.render_task(task, form=form)
        read = task_signal.parse_task(written.text)
        assert read.form == written.form == form
        assert read.correction is None
        assert_exact_losses(task, read.value, written.losses)

    law()


@pytest.mark.slow
@pytest.mark.parametrize("form", task_signal.RESULT_FORMS)
@pytest.mark.requirement("H6", "H7", "H14", "H15", "H16")
def test_an_answer_comes_back_but_for_its_losses(form: str) -> None:
    @given(_results())
    @settings(max_examples=examples(80))
    def law(result: Result) -> None:
        written = task_signal.render_result(result, form=form)
        read = task_signal.parse_result(written.text)
        assert read.form == written.form
        assert_exact_losses(result, read.value, written.losses)

    law()


@pytest.mark.parametrize("message", ["", " ", "  two spaces  ", "\n", "a - b", "- "])
@pytest.mark.parametrize("form", task_signal.RESULT_FORMS)
@pytest.mark.requirement("H16")
def test_the_message_of_an_error_is_kept_to_the_letter_or_reported(form: str, message: str) -> None:
    fault = Fault(code="missing_file", message=message)
    result = Result(task_id="", agent="", lifecycle="ended", outcome="failed", fault=fault)
    written = task_signal.render_result(result, form=form)
    assert_exact_losses(result, task_signal.parse_result(written.text).value, written.losses)


@pytest.mark.slow
@given(_tasks(), values_of(Correction))
@settings(max_examples=examples(40))
def test_a_correction_comes_back_whole(task: Task, correction: Correction) -> None:
    written = task_signal.render_retry(task, correction)
    read = task_signal.parse_task(written.text)
    assert read.correction == correction
    assert_exact_losses(task, read.value, written.losses)


# Over the wire shapes


_items = (
    st.builds(PromptItem, key=st.none() | _shaped, value=_shaped, literal=st.booleans())
    .filter(lambda item: item.literal if item.key is not None and not is_plain_key(item.key) else True)
    .map(lambda item: PromptItem(None, item.value) if item.key is None else item)
)


@given(st.lists(_items, min_size=1, max_size=4).map(tuple))
@settings(max_examples=examples(200))
def test_bullets_come_back(items: tuple[PromptItem, ...]) -> None:
    assert items_of(PromptSection("Task Context", write_items(items))) == (items, "")


_sections = st.builds(
    PromptSection,
    name=st.sampled_from(["Task Context", "Constraints", "Expected Output", "Something Else"]),
    text=st.lists(_items, min_size=1, max_size=3).map(lambda items: write_items(tuple(items))),
)


@given(
    st.builds(
        Prompt,
        st.just(".claude/agents/x.md"),
        st.sampled_from(["", "First look.\n\nThen write."]),
        st.lists(_sections, max_size=4).map(tuple),
    )
)
def test_prompts_come_back(prompt: Prompt) -> None:
    assert read_prompt(write_prompt(prompt)) == prompt


@given(
    st.builds(
        TaskCall,
        prompt=_shaped,
        subagent_type=st.none() | _shaped,
        description=st.none() | _texts,
        extras=st.dictionaries(st.from_regex(r"\Amore_[a-z]{1,3}\Z"), json_values, max_size=2),
    )
)
def test_blocks_come_back(call: TaskCall) -> None:
    lines = write_block(call).split("\n")
    assert read_block(lines, 0, Diagnostics("task_signal", "standard")) == (call, len(lines))


_signals = st.builds(Signal, st.sampled_from(["CREATED", "TITLE", "STATUS", "NOTE", "ERROR"]), _lines.filter(bool))


@given(st.builds(SignalAnswer, st.lists(_signals, min_size=1, max_size=5).map(tuple), _shaped))
def test_answers_come_back(answer: SignalAnswer) -> None:
    head = read_answer(write_answer(answer))
    assert head.answer == answer
    assert not head.is_adjacent


@given(
    st.builds(
        AnswerTable,
        st.lists(st.builds(TableRow, _lines, st.just("done"), _lines, _lines), max_size=4).map(tuple),
        _shaped,
    )
)
def test_tables_come_back(table: AnswerTable) -> None:
    assert read_table(write_table(table)) == ParsedTable(("Topic", "Status", "Path", "Summary"), table)


_artifacts = st.builds(ReportArtifact, path=_texts, title=st.none() | _texts)


@given(
    st.builds(
        JsonReport,
        status=st.sampled_from(["complete", "partial", "failed"]),
        artifacts=st.lists(_artifacts, max_size=2).map(tuple),
        metrics=st.none() | st.dictionaries(_texts, json_values, max_size=2),
    )
)
def test_reports_come_back(report: JsonReport) -> None:
    assert JsonReport.model_validate_json(report.model_dump_json(exclude_none=True)) == JsonReport(
        **report.model_dump(exclude_none=True)
    )


# Whatever comes in

_levels: st.SearchStrategy[Level] = st.sampled_from(["strict", "standard", "lenient"])
_anything = st.text(max_size=60) | _shaped | st.binary(max_size=60) | json_values.map(repr)


@given(_anything, _levels)
@settings(max_examples=examples(200))
def test_no_text_does_more_than_be_refused(text: str | bytes, level: Level) -> None:
    with suppress(OutputInvalid):
        task_signal.parse_result(text, level=level)
    with suppress(ParseError, InvalidInput):
        task_signal.parse_task(text, level=level)
    if isinstance(text, str):
        task_signal.recognise(text)
        task_signal.read_events(text)


@given(
    st.text(max_size=40),
    st.text(max_size=40),
    st.text(max_size=20),
    st.none() | st.integers(0, 99),
    st.none() | st.integers(0, 99),
)
@pytest.mark.requirement("H18", "H19")
def test_an_event_comes_back_but_for_its_losses(
    phase: str, status: str, more: str, done: int | None, total: int | None
) -> None:
    for body in (Progress(phase, status + more, done, total), Checkpoint(phase, status, done)):
        try:
            written = task_signal.render_event(body)
        except InvalidInput:
            continue
        assert written is not None
        read = task_signal.read_events(written.text)
        named = {loss.field for loss in written.losses}
        assert len(read) <= 1
        for name, one in ((name, one) for name in body.__dataclass_fields__ for one in read):
            assert (getattr(one, name) == getattr(body, name)) == (f"/{name}" not in named), (body, read)


def test_the_module_is_the_dialect() -> None:
    assert dialect("task_signal").NAME == "task_signal"
