"""Answers and requests as people and models write them: what was meant is read, or the refusal says how to write it."""

import pytest

from retinue.contract.event import Checkpoint, Progress
from retinue.contract.finding import Finding, Level
from retinue.contract.result import Artifact, Result
from retinue.dialects import task_signal
from retinue.errors import InvalidInput, OutputInvalid

LEVELS: tuple[Level, ...] = ("strict", "standard", "lenient")


def _refused(text: str, level: Level = "standard") -> list[Finding]:
    with pytest.raises(OutputInvalid) as refused:
        task_signal.parse_result(text, level=level)
    return [Finding.model_validate(finding) for finding in refused.value.detail["findings"]]


def _refused_at(text: str) -> dict[str, Level]:
    """The mildest level that refuses, by rule."""
    found: dict[str, Level] = {}
    for level in LEVELS:
        try:
            task_signal.parse_result(text, level=level)
        except OutputInvalid as error:
            errors = (each for each in error.detail["findings"] if each["severity"] == "error")
            found.update({str(each["rule"]).removeprefix("task_signal/"): level for each in errors})
    return found


@pytest.mark.requirement("C42", "C1")
@pytest.mark.parametrize(
    "text",
    [
        "SUMMARY: a first line\nthat goes on\nSTATUS: failed",
        "CREATED: /a.md\n\nTITLE: A\n\nSTATUS: failed",
        "CREATED: /a.md\n\nMuch is said here.\n\nSTATUS: partial",
        "CREATED: /a.md\n\n**STATUS**: failed",
        "CREATED: /a.md\n\nERROR: TIMEOUT - it took too long",
    ],
)
def test_a_bad_end_below_the_signals_is_never_read_as_a_success(text: str) -> None:
    for level in LEVELS:
        *_, finding = (each for each in _refused(text, level) if each.rule == "task_signal/signals")
        assert finding.line == len(text.split("\n"))
        assert "one below the other" in finding.fix


@pytest.mark.requirement("C42")
@pytest.mark.parametrize(
    "text",
    [
        "CREATED: /a.md\n\n## Report\n\n**Status**: failed so far\n\nERROR: this stood in the log",
        "CREATED: /a.md\n\n```\nSTATUS: failed\n```",
        "STATUS: complete\n\nSome words.\n\nSTATUS: failed",
    ],
)
def test_a_report_may_speak_of_failures(text: str) -> None:
    read = task_signal.parse_result(text, level="strict")
    assert (read.value.outcome, read.findings) == ("success", ())


@pytest.mark.requirement("C42", "H6")
def test_a_signal_right_below_the_head_is_said_to_be_none() -> None:
    read = task_signal.parse_result("STATUS: complete\n\nCREATED: /a.md")
    assert (read.value.artifacts, read.value.content) == ((), "CREATED: /a.md")
    (finding,) = read.findings
    assert (finding.rule, finding.line, finding.severity) == ("task_signal/signals", 3, "warning")


@pytest.mark.requirement("C42")
@pytest.mark.parametrize(
    ("text", "line", "fix"),
    [
        ("**STATUS**: complete", 1, "no bold"),
        ("**STATUS:** complete", 1, "no bold"),
        ("- CREATED: /a\n- STATUS: complete", 1, "no bold, bullet"),
        ("1. STATUS: complete", 1, "number"),
        ("> STATUS: complete", 1, "quote mark"),
        ("error: TIMEOUT - it took long", 1, "in capitals"),
        ("STATUS : complete", 1, "Write the name"),
        ("STATUS\uff1a complete", 1, "Write the name"),
        ("```text\nSTATUS: complete\n```", 2, "Take the code fence off."),
        ("I am done:\r\n\r\nSTATUS: complete", 3, "Move it above all other text."),
        (
            "Here:\n\n| Topic | Status | Path | Summary |\n|---|---|---|---|",
            3,
            "Begin the answer with the table itself.",
        ),
    ],
)
def test_a_line_that_was_meant_as_a_signal_is_told_how_to_be_one(text: str, line: int, fix: str) -> None:
    (finding,) = _refused(text)
    assert (finding.rule, finding.line) == ("task_signal/signals", line)
    assert fix in finding.fix


@pytest.mark.requirement("C3", "C42")
def test_bold_names_are_read_when_lenient_only() -> None:
    text = "**CREATED**: /a.md\n**STATUS:** complete\n\nBody"
    assert _refused_at(text) == {"signals": "standard"}
    read = task_signal.parse_result(text, level="lenient")
    assert (read.value.outcome, read.value.content) == ("success", "Body")
    assert read.value.artifacts == (Artifact(path="/a.md"),)
    assert [finding.line for finding in read.findings] == [1, 2]


@pytest.mark.requirement("H7", "C3")
@pytest.mark.parametrize(
    "said", ["Complete.", "`complete`", "**complete**", "\u2705 Complete", "complete \u2714\ufe0f", "DONE!"]
)
def test_a_status_with_something_around_it_is_borne(said: str) -> None:
    assert _refused_at(f"STATUS: {said}") == {"status": "strict"}
    assert task_signal.parse_result(f"STATUS: {said}").value.outcome == "success"


@pytest.mark.requirement("H7", "C3")
@pytest.mark.parametrize("said", ["\u274c complete", "\u2705", "complete, but for the tests", "fertig"])
def test_a_status_with_no_one_meaning_is_refused(said: str) -> None:
    assert _refused_at(f"STATUS: {said}") == {"status": "lenient"}


@pytest.mark.requirement("H7", "H12")
@pytest.mark.parametrize(
    "said", ["`/a.md`", '"/a.md"', "'/a.md'", "</a.md>", "**/a.md**", "[a.md](/a.md)", "[`a`](</a.md>)"]
)
def test_a_path_is_read_without_what_is_put_around_it(said: str) -> None:
    for text in (
        f"CREATED: {said}\nSTATUS: complete",
        f"| Topic | Status | Path | Summary |\n|---|---|---|---|\n| a | done | {said} | b |",
    ):
        assert _refused_at(text) == {"path": "strict"}
        (artifact,) = task_signal.parse_result(text).value.artifacts
        assert artifact.path == "/a.md"


@pytest.mark.requirement("H3")
def test_an_output_path_is_read_without_its_backticks() -> None:
    read = task_signal.parse_task("Read and follow: .claude/agents/a.md\n\n**Task Context**:\n- Output Path: `/a.md`")
    assert read.value.output.path == "/a.md"
    assert [finding.rule for finding in read.findings] == ["task_signal/path"]
    written = task_signal.render_task(
        read.value.model_copy(update={"output": read.value.output.model_copy(update={"path": "`a`"})})
    )
    assert [loss.field for loss in written.losses] == ["/output/path"]


@pytest.mark.requirement("H7")
@pytest.mark.parametrize("said", ["none", "None.", "N/A", "-", "(none)"])
def test_a_word_for_nothing_names_no_file_and_no_error(said: str) -> None:
    text = f"CREATED: {said}\nERROR: {said}\nSTATUS: complete"
    assert _refused_at(text) == {"empty": "strict"}
    read = task_signal.parse_result(text)
    assert (read.value.outcome, read.value.artifacts, read.value.fault) == ("success", (), None)
    result = Result(task_id="", agent="agent", outcome="success", artifacts=(Artifact(path=said),))
    assert [loss.field for loss in task_signal.render_result(result).losses] == ["/artifacts"]


@pytest.mark.requirement("H7", "C3")
@pytest.mark.parametrize(("said", "count"), [("1,234", 1234), ("15 files", 15), ("12,345,678 lines", 12345678)])
def test_a_count_with_commas_or_a_word_is_read_when_lenient_only(said: str, count: int) -> None:
    text = f"COUNT: {said}\nSTATUS: complete"
    assert _refused_at(text) == {"count": "standard"}
    assert task_signal.parse_result(text, level="lenient").value.data == {"count": count}


@pytest.mark.parametrize("said", ["1,23", "1.5", "-1", "~15", "3 of 5", "many"])
def test_a_count_that_could_mean_two_things_is_refused(said: str) -> None:
    assert _refused_at(f"COUNT: {said}\nSTATUS: complete") == {"count": "lenient"}


@pytest.mark.requirement("H16", "H17", "C39")
@pytest.mark.parametrize(
    "said",
    [
        "[FILE_NOT_FOUND] - no plan", "FILE_NOT_FOUND: no plan", "file_not_found - no plan", "File not found - no plan",
        "`FILE_NOT_FOUND` - no plan", "FILE_NOT_FOUND- no plan", "FILE_NOT_FOUND\u2014no plan", "file-not-found: no plan",
    ],
)  # fmt: skip
def test_a_known_category_is_read_in_other_letters_and_signs(said: str) -> None:
    assert _refused_at(f"ERROR: {said}\nSTATUS: failed") == {"category": "strict"}
    fault = task_signal.parse_result(f"ERROR: {said}\nSTATUS: failed").value.fault
    assert fault is not None
    assert (fault.code, fault.message) == ("missing_file", "no plan")


def test_a_description_that_only_begins_with_words_has_no_category() -> None:
    fault = task_signal.parse_result("ERROR: Failed to access URL: it is down\nSTATUS: failed").value.fault
    assert fault is not None
    assert (fault.code, fault.message) == ("internal_error", "Failed to access URL: it is down")


@pytest.mark.parametrize("mark", ["\x1b[31m", "\u202e", "\x0b", "\u2028"])
def test_control_characters_in_a_value_are_findings(mark: str) -> None:
    text = f"TITLE: a{mark}b\nSTATUS: complete"
    assert _refused_at(text) == {"control": "strict"}
    assert [finding.line for finding in task_signal.parse_result(text).findings] == [1]


def test_lines_that_end_in_carriage_returns_alone_are_refused() -> None:
    assert _refused_at("CREATED: /a.md\rSTATUS: failed") == {"control": "lenient"}
    assert task_signal.parse_result("CREATED: /a.md\r\nSTATUS: complete\r\n", level="strict").findings == ()


@pytest.mark.requirement("H3", "H4")
def test_numbers_instead_of_dashes_before_the_fields_of_a_prompt_are_read() -> None:
    text = (
        "Read and follow: .claude/agents/a.md\n\n**Task Context**:\n1. Primary Goal: g\n2. **Output Path**: /o.md\n\n"
        "**Constraints**:\n1) Thinking Mode: think\n"
    )
    task = task_signal.parse_task(text).value
    assert (task.instruction, task.output.path, task.thinking) == ("g", "/o.md", "think")
    steps = (
        "Read and follow: .claude/agents/a.md\n\n**Task Context**:\n- Primary Goal: g\n\n**Steps**:\n1. Look\n2. Write"
    )
    assert task_signal.parse_task(steps).value.instruction == "g\n\n**Steps**:\n1. Look\n2. Write"


@pytest.mark.requirement("H18", "H19")
def test_progress_and_checkpoints_with_other_dashes_and_bullets_are_read() -> None:
    assert task_signal.read_events("PROGRESS: Research \u2013 Analyzed 15/30 files") == (
        Progress(phase="Research", status="Analyzed 15/30 files", done=15, total=30),
    )
    assert task_signal.read_events("PROGRESS: Research \u2014 begun") == (Progress(phase="Research", status="begun"),)
    assert task_signal.read_events("CHECKPOINT: Research complete\n* Artifacts: 3\n* Status: all is well") == (
        Checkpoint(phase="Research", artifacts=3, status="all is well"),
    )


@pytest.mark.requirement("H1")
@pytest.mark.parametrize("start", ["Task: {", "task {", "Task(", "  TASK : {"])
def test_what_only_begins_like_a_block_is_no_instruction(start: str) -> None:
    for level in LEVELS:
        with pytest.raises(InvalidInput) as refused:
            task_signal.parse_task(f"{start}\n  prompt: |\n    Read and follow: .claude/agents/a.md\n}}", level=level)
        assert "Write `Task {` on a line of its own" in refused.value.hint


@pytest.mark.requirement("H1")
def test_a_brace_that_ends_the_block_early_loses_no_section() -> None:
    text = (
        "Task {\n  prompt: |\n    Read and follow: .claude/agents/a.md\n\n    **Task Context**:\n    - Primary Goal: g\n"
        "}\n    **Constraints**:\n    - Thinking Mode: think\n}"
    )
    for level in LEVELS:
        with pytest.raises(InvalidInput) as refused:
            task_signal.parse_task(text, level=level)
        assert "Indent every line of the prompt" in refused.value.hint


@pytest.mark.requirement("H15")
def test_a_table_without_its_line_of_dashes_is_borne_and_refused_when_strict() -> None:
    text = "\n| Topic | Status | Path | Summary |\n| a | done | /a.md | b |\n| c | done | /c.md | d |\n"
    read = task_signal.parse_result(text)
    assert [artifact.path for artifact in read.value.artifacts] == ["/a.md", "/c.md"]
    assert [(finding.rule, finding.severity, finding.line) for finding in read.findings] == [
        ("task_signal/rule", "warning", 2)
    ]
    with pytest.raises(OutputInvalid) as refused:
        task_signal.parse_result(text, level="strict")
    assert [finding["line"] for finding in refused.value.detail["findings"]] == [2]


@pytest.mark.requirement("H3")
def test_a_request_without_a_goal_is_told_so_when_strict() -> None:
    text = "Read and follow: .claude/agents/researcher.md\n\n**Task Context**:\n- Output Path: /a.md"
    assert task_signal.parse_task(text).findings == ()
    (finding,) = task_signal.parse_task(text, level="strict").findings
    assert (finding.rule, finding.severity) == ("task_signal/goal", "warning")


@pytest.mark.requirement("H3")
@pytest.mark.parametrize("said", ["[specific objective]", "[absolute path]", "{agent-name}", "[paths/to/files]"])
def test_a_template_that_nobody_filled_is_told_and_kept(said: str) -> None:
    text = f"Read and follow: .claude/agents/researcher.md\n\n**Task Context**:\n- Primary Goal: {said}"
    read = task_signal.parse_task(text, level="strict")
    assert read.value.instruction == said
    assert [(finding.rule, finding.severity, finding.line) for finding in read.findings] == [
        ("task_signal/template", "warning", 4)
    ]


@pytest.mark.parametrize("said", ["[]", "[1]", "[x]", "[true]", "{}", '["a"]', "[a](b)", "/app/[slug]/page", "[a, b]"])
def test_brackets_that_mean_something_are_no_template(said: str) -> None:
    text = f"Read and follow: .claude/agents/researcher.md\n\n**Task Context**:\n- Primary Goal: {said}"
    assert task_signal.parse_task(text, level="strict").findings == ()
