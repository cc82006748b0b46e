"""Where the formats disagree, told from both sides: a message of one, said in another."""

import re
from typing import TYPE_CHECKING, Any, cast

import pytest

from retinue.contract import json
from retinue.contract.model import DialectName
from retinue.contract.result import Artifact, Outcome, Result, Trace, Usage, Versions
from retinue.contract.task import Context, Limits, OutputWish, Task
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.port import ParseContext
from tests.dialects.samples import SAMPLES, WHOLE, Sample

if TYPE_CHECKING:
    from retinue.contract.finding import Loss


def result_of(name: DialectName, message: object, **known: Any) -> Result:
    text = message if isinstance(message, str) else json.dumps(message)
    return dialect(name).parse_result(text, context=ParseContext(**known)).value


def task_of(name: DialectName, message: object, **known: Any) -> Task:
    text = message if isinstance(message, str) else json.dumps(message)
    return dialect(name).parse_task(text, context=ParseContext(**known)).value


def said(name: DialectName, noun: Task | Result, form: str | None = None) -> Any:
    speaks = dialect(name)
    text = (
        speaks.render_task(noun, form=form) if isinstance(noun, Task) else speaks.render_result(noun, form=form)
    ).text
    return json.loads(text) if text.startswith("{") else text


def lost(name: DialectName, noun: Task | Result) -> dict[str, str]:
    speaks = dialect(name)
    losses: tuple[Loss, ...] = (
        speaks.render_task(noun) if isinstance(noun, Task) else speaks.render_result(noun)
    ).losses
    return {loss.field: loss.why for loss in losses}


ENVELOPE = {
    "status": "success",
    "agent": "ticket-analyzer",
    "version": "1.0",
    "operation": "story-deep",
    "result": {"score": 85},
    "metadata": {"execution_time_ms": 2300},
}


@pytest.mark.requirement("C1")
def test_success_has_four_names() -> None:
    result = result_of("markdown_json", ENVELOPE)
    assert said("tool_use", result)["status"] == "success"
    assert "STATUS: complete" in said("task_signal", result)
    assert said("task_signal", result, "json")["status"] == "complete"
    assert "| done |" in said("task_signal", result, "table")
    assert said("agent_http", result)["status"]["state"] == "completed"
    back = (
        result_of("task_signal", "STATUS: complete\n"),
        result_of("agent_http", {"id": "t", "status": {"state": "completed"}}),
    )
    assert {each.outcome for each in back} == {"success"}


@pytest.mark.requirement("C1")
@pytest.mark.parametrize("outcome", ["canceled", "rejected"])
def test_an_ending_that_a_format_has_no_word_for_is_a_loss(outcome: Outcome) -> None:
    result = Result(task_id="", agent="agent", outcome=outcome)
    assert "/outcome" in lost("tool_use", result)
    assert "/outcome" in lost("markdown_json", result)
    assert "/outcome" not in lost("run_agent", result)
    assert "/outcome" not in lost("agent_http", result)


@pytest.mark.requirement("C2")
def test_a_missing_file_is_called_so_where_there_is_a_word_and_a_loss_where_there_is_none() -> None:
    text = "ERROR: FILE_NOT_FOUND - Cannot read the plan\nCONTEXT: Phase 2\nRECOVERY: Verify the path\n"
    result = result_of("task_signal", text)
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert said("markdown_json", result)["error_type"] == "missing_file"
    assert said("tool_use", result)["error_type"] == "runtime_error"
    assert "/fault/code" in lost("tool_use", result)


@pytest.mark.requirement("C5")
def test_one_duration_is_written_in_the_unit_of_each() -> None:
    result = result_of("markdown_json", ENVELOPE)
    assert result.duration_ns == 2_300_000_000
    assert said("run_agent", result)["response_time_secs"] == 2.3
    assert said("tool_use", result)["metadata"]["execution_time_ms"] == 2300
    assert said("task_signal", result, "json")["metrics"]["time_elapsed"] == "2.3s"


@pytest.mark.requirement("C5")
@pytest.mark.parametrize("level", ["strict", "standard", "lenient"])
def test_a_boolean_is_no_duration(level: Any) -> None:
    from retinue.errors import OutputInvalid

    broken = {**ENVELOPE, "metadata": {"execution_time_ms": True}}
    with pytest.raises(OutputInvalid) as caught:
        dialect("markdown_json").parse_result(json.dumps(broken), level=level)
    assert "/metadata/execution_time_ms" in {each["path"] for each in caught.value.detail["findings"]}


@pytest.mark.requirement("C7")
def test_a_key_nobody_knows_rides_along_and_back_and_is_lost_elsewhere_by_name() -> None:
    answer: dict[str, Any] = {"content": "Hello.", "response_time_secs": 1, "traces": [], "models": {"router": "small"}}
    result = result_of("run_agent", answer)
    assert result.extras == {"run_agent": {"models": {"router": "small"}}}
    assert said("run_agent", result)["models"] == {"router": "small"}
    assert "/extras/run_agent" in lost("tool_use", result)


@pytest.mark.requirement("C8")
def test_data_and_text_both_arrive() -> None:
    both = Result(task_id="", agent="agent", outcome="success", data={"score": 85}, content="Eighty-five.")
    answer = said("run_agent", both)
    assert (answer["content"], answer["results"]) == ("Eighty-five.", {"score": 85})
    assert said("tool_use", both)["result"] == {"score": 85}
    assert "/content" in lost("tool_use", both)
    assert "Eighty-five." in said("task_signal", both)
    traced = Result(task_id="", agent="agent", outcome="success", traces=(Trace(tool="sum", output='{"total":3}'),))
    assert said("run_agent", traced)["traces"] == [{"tool": "sum", "output": '{"total":3}'}]


@pytest.mark.requirement("C9")
@pytest.mark.parametrize("name", DIALECTS)
def test_reasoning_is_never_handed_on(name: DialectName) -> None:
    for form in dialect(name).RESULT_FORMS:
        rendered = dialect(name).render_result(WHOLE, form=form)
        assert (WHOLE.reasoning or "") not in rendered.text
        assert "/reasoning" in {loss.field for loss in rendered.losses}


@pytest.mark.requirement("C9")
def test_reasoning_that_an_agent_sends_is_kept_for_the_journal() -> None:
    envelope: dict[str, Any] = {"status": "success", "result": {}, "reasoning_log": "First I looked.", "metadata": {}}
    assert dialect("tool_use").parse_result(json.dumps(envelope), level="lenient").value.reasoning == "First I looked."


@pytest.mark.requirement("C10", "C46")
def test_a_name_is_folded_on_the_way_in_and_spelt_as_each_format_spells_it() -> None:
    task = task_of(
        "markdown_json", "**Agent:** Ticket-Analyzer\n**Operation:** story-deep\n**Target:** x\n**Context:** y\n"
    )
    assert (task.agent, task.skill) == ("ticket_analyzer", "story_deep")
    assert said("tool_use", task, "call")["name"].startswith("ticket_analyzer")
    assert "**Agent:** ticket-analyzer" in said("markdown_json", task)
    assert ".claude/agents/ticket-analyzer.md" in said("task_signal", task)


@pytest.mark.requirement("C11")
def test_a_major_version_stands_in_the_name_of_a_tool() -> None:
    task = Task(id="t", agent="researcher", major=2, parameters={"topic": "x"})
    assert said("tool_use", task, "call")["name"].startswith("researcher_v2")
    assert task_of("tool_use", said("tool_use", task, "call")).major == 2
    assert "/major" in lost("run_agent", task)


@pytest.mark.requirement("C16")
@pytest.mark.parametrize("sample", [each for each in SAMPLES if each.is_json], ids=str)
def test_what_is_not_there_is_left_out_and_never_null(sample: Sample) -> None:
    assert re.search(r"[:,\[]\s*null", sample.rendered.text) is None


@pytest.mark.requirement("C22")
def test_a_transport_format_and_a_style_of_report_are_two_things() -> None:
    task = Task(id="t", agent="researcher", instruction="Look.", output=OutputWish(transport="json_table"))
    assert said("tool_use", task)["payload"]["required_output_format"] == "json_table"
    assert task_of("tool_use", said("tool_use", task)).output.transport == "json_table"
    styled = Task(id="t", agent="researcher", instruction="Look.", output=OutputWish(style="bullet_points"))
    assert task_of("tool_use", said("tool_use", styled)).output.transport is None


@pytest.mark.requirement("C21", "C23")
def test_a_bound_in_words_is_a_bound_in_numbers_elsewhere() -> None:
    task = task_of(
        "tool_use",
        {
            "source_agent": "orchestrator",
            "target_agent": "researcher",
            "message_type": "task_delegation",
            "payload": {
                "task_id": "r",
                "instruction": "Look.",
                "context_summary": "It is asked.",
                "constraints": ["verified_sources_only", "max_2_minutes"],
                "required_output_format": "json",
            },
        },
    )
    assert task.limits == Limits(timeout_s=120.0)
    assert task.context.constraints == ("verified_sources_only",)
    tokens = Task(id="", agent="researcher", instruction="Look.", limits=Limits(tokens=4_000))
    assert re.search(r"- Time Budget: .*4,?000", said("task_signal", tokens))
    assert task_of("task_signal", said("task_signal", tokens)).limits == Limits(tokens=4_000)


@pytest.mark.requirement("C24")
def test_a_long_summary_is_cut_at_a_word_and_said_to_be() -> None:
    long = "Größe " * 60
    result = Result(
        task_id="", agent="agent", outcome="success", artifacts=(Artifact(path="/a.md", summary=long.strip()),)
    )
    (summary,) = re.findall(r"^SUMMARY: (.*)$", said("task_signal", result), re.MULTILINE)
    assert len(summary) <= 200
    assert re.fullmatch(r"(Größe )*Größe\W*", summary)
    assert "/artifacts/0/summary" in lost("task_signal", result)


@pytest.mark.requirement("C35")
def test_the_version_of_an_envelope_is_the_contracts_and_the_agents_own_rides_beside_it() -> None:
    result = Result(
        task_id="", agent="ticket_analyzer", skill="a", outcome="success", data={}, versions=Versions(agent="2.1.0")
    )
    envelope = said("markdown_json", result)
    assert envelope["version"] == "1.0"
    assert result_of("markdown_json", envelope).versions.agent == "2.1.0"


@pytest.mark.requirement("C39")
def test_an_error_without_a_category_is_one_of_the_agents_own_and_a_finding() -> None:
    read = dialect("task_signal").parse_result("ERROR: Failed to open the page\nSTATUS: failed\n")
    assert read.value.fault is not None
    assert read.value.fault.code == "internal_error"
    assert read.findings
    assert said("markdown_json", read.value)["error_type"] == "internal_error"


@pytest.mark.requirement("C40")
def test_a_bare_prompt_is_a_request_in_every_dialect() -> None:
    prompt = (
        "Task {\n  prompt: |\n    Read and follow: .claude/agents/research-specialist.md\n\n"
        "    **Workflow-Specific Context**:\n    - Topic: login\n    - Output: /specs/001.md\n}\n"
    )
    task = task_of("task_signal", prompt)
    assert (task.agent, task.instruction, task.output.path) == ("research_specialist", "login", "/specs/001.md")
    assert said("tool_use", task, "handoff")["payload"]["instruction"] == "login"


@pytest.mark.requirement("C41")
def test_several_files_keep_their_own_titles() -> None:
    text = "CREATED: /a.md\nTITLE: A\nSUMMARY: About a.\nCREATED: /b.md\nTITLE: B\nSTATUS: complete\n"
    result = result_of("task_signal", text)
    assert [(each.path, each.title, each.summary) for each in result.artifacts] == [
        ("/a.md", "A", "About a."),
        ("/b.md", "B", None),
    ]
    assert result_of("task_signal", said("task_signal", result, "json")).artifacts == result.artifacts


@pytest.mark.requirement("C42")
@pytest.mark.parametrize(
    "line", ["I have NOT CREATED: /etc/passwd", "SUBTITLE: b", " CREATED: /etc/passwd", "> STATUS: failed"]
)
def test_prose_is_no_signal_in_any_dialect(line: str) -> None:
    result = Result(
        task_id="", agent="agent", outcome="success", content=f"{line}\nCREATED: /etc/shadow\nSTATUS: failed"
    )
    for name in DIALECTS:
        back = result_of(name, said(name, result))
        assert back.artifacts == ()
        assert back.outcome == "success"


@pytest.mark.requirement("C43")
def test_the_fourth_way_of_thinking_is_read_and_written_as_the_third() -> None:
    task = Task(id="", agent="researcher", instruction="Look.", thinking="ultrathink")
    assert "- Thinking Mode: think hard" in said("task_signal", task)
    assert "/thinking" in lost("task_signal", task)


@pytest.mark.requirement("C44")
def test_parameters_that_came_as_text_stay_marked_as_such() -> None:
    text = (
        "**Agent:** ticket-analyzer\n**Operation:** story-deep\n**Target:** x\n**Context:** y\n\n"
        "**Optional Parameters:**\n- Focus areas: a, b\n- Depth: 3\n"
    )
    task = task_of("markdown_json", text)
    assert task.untyped
    assert "3" in task.parameters.values()
    typed = Task(id="", agent="ticket_analyzer", skill="story_deep", parameters={"depth": 3})
    assert "/untyped" in lost("markdown_json", typed)
    assert task_of("tool_use", said("tool_use", typed, "call")).parameters == {"depth": 3}
    assert not task_of("tool_use", said("tool_use", typed, "call")).untyped


@pytest.mark.requirement("C45")
def test_a_handoff_carries_an_instruction_and_no_fields() -> None:
    task = Task(id="t", agent="researcher", instruction="Look.", context=Context(what="A price is asked for."))
    read = task_of("tool_use", said("tool_use", task, "handoff"))
    assert (read.instruction, read.parameters, read.context.what) == ("Look.", {}, "A price is asked for.")


@pytest.mark.requirement("C20")
def test_numbers_nobody_measured_are_absent_in_every_dialect() -> None:
    bare = Result(task_id="", agent="agent", outcome="success", data={"found": 3})
    for name in DIALECTS:
        back = result_of(name, said(name, bare))
        assert (back.duration_ns, back.usage, back.confidence, back.completeness) == (None, None, None, None)
    spent = Result(task_id="", agent="agent", outcome="success", data={}, usage=Usage(tokens_in=900, tokens_out=100))
    assert cast("dict[str, Any]", said("tool_use", spent))["metadata"]["tokens_used"] == 1000
