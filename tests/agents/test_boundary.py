"""What goes in: names, skills, parameters, limits. Whatever is wrong with them, a result comes back."""

import asyncio
from typing import TYPE_CHECKING, Any, cast

import pytest

import retinue
from retinue.agents.boundary import Boundary
from retinue.agents.boundary.policy import Policy
from retinue.agents.port import Reply, RunContext
from retinue.agents.registry import Registry
from retinue.contract.event import Decision, Message, NodeFinished, NodeStarted
from retinue.contract.fault import Fault
from retinue.contract.result import Result, Usage
from retinue.contract.task import Budget, Context, Correction, Limits, OutputWish, Task
from tests.agents.scripted import GOOD, SECOND, START, Clock, Move, Scripted, ask, bodies, context, skill, task

if TYPE_CHECKING:
    from retinue.contract.definition import Skill
    from retinue.contract.model import JsonMapping


def called(agent: Scripted, request: Task | None = None, **options: Any) -> Result:
    return asyncio.run(ask(agent, request, **options))


def fault_of(result: Result, code: str) -> Fault:
    assert result.fault is not None
    assert result.fault.code == code, result.fault
    assert not result.useful
    return result.fault


@pytest.mark.requirement("A11", "C8", "C16", "C35", "K29")
def test_a_good_answer_becomes_a_whole_result() -> None:
    run = context()
    result = asyncio.run(ask(Scripted(), task({"text": "two words", "limit": 3}), run))
    assert result.to_json() == {
        "task_id": "t1",
        "agent": "counter",
        "skill": "count",
        "versions": {"agent": "1.0", "contract": "1.0"},
        "lifecycle": "ended",
        "outcome": "success",
        "data": {"words": 2},
        "content": "- words: 2",
        "artifacts": [], "warnings": [], "traces": [], "files_read": [], "files_written": [], "questions": [],
        "duration_ns": 0,
        "attempts": [{"number": 1, "duration_ns": 0}],
        "retries": 0,
        "extras": {},
    }  # fmt: skip
    assert bodies(run) == [NodeStarted("counter", "count", ""), NodeFinished(result)]
    assert Result.model_validate_json(result.to_json_text()) == result


# Names.


@pytest.mark.requirement("C26", "K30")
def test_an_unknown_agent_is_a_result_that_lists_who_there_is() -> None:
    run = context()
    boundary = Boundary(Registry([Scripted(name="counter"), Scripted(name="weaver")]))
    result = asyncio.run(boundary.call(task(agent="countr"), run))
    fault = fault_of(result, "invalid_input")
    assert fault.suggestions[0] == "counter"
    assert "weaver" in fault.suggestions
    assert (result.agent, result.outcome, fault.failed_at) == ("countr", "error", "resolve")
    assert [type(body) for body in bodies(run)] == [NodeStarted, NodeFinished]


@pytest.mark.requirement("C26", "K30")
def test_an_unknown_skill_lists_what_there_is_nearest_first() -> None:
    agent = Scripted(skills=(skill("weigh"), skill("count")))
    fault = fault_of(called(agent, task(skill="coumt")), "invalid_input")
    assert fault.suggestions == ("count", "weigh")
    assert agent.calls == 0


def test_one_of_several_skills_must_be_named() -> None:
    fault = fault_of(called(Scripted(skills=(skill("weigh"), skill("count")))), "invalid_input")
    assert "2 skills" in fault.message
    assert fault.suggestions == ("weigh", "count")


def test_a_skill_that_cannot_be_called_here_says_the_way_out() -> None:
    agent = Scripted(skills=(skill(unavailable="install retinue[data]"),))
    fault = fault_of(called(agent), "unavailable")
    assert fault.hint == "install retinue[data]"
    assert agent.calls == 0


@pytest.mark.requirement("C11")
def test_a_versioned_name_reaches_its_major_and_the_result_says_which() -> None:
    boundary = Boundary(Registry([Scripted(version="1.4"), Scripted(version="2.0.1")]))
    for name, version in (("counter", "1.4"), ("counter_v2", "2.0.1")):
        result = asyncio.run(boundary.call(task(agent=name), context()))
        assert (result.agent, result.versions.agent) == ("counter", version)
    fault_of(asyncio.run(boundary.call(task(agent="counter_v3"), context())), "invalid_input")


def test_a_broken_schema_of_a_skill_is_a_fault_with_every_finding() -> None:
    broken = {"type": "objekt", "properties": {"a": {"minimum": "x"}}}
    fault = fault_of(called(Scripted(skills=(skill(input_schema=broken),))), "invalid_input")
    assert len(fault.detail["findings"]) >= 2


def test_an_agent_that_cannot_even_say_what_it_is_gives_a_result() -> None:
    class Mute:
        @property
        def definition(self) -> Any:
            raise RuntimeError("no words")

    boundary = Boundary(Registry())
    result = asyncio.run(boundary.call_agent(Mute(), task(), context()))  # pyright: ignore[reportArgumentType] - it is none
    assert "no words" in fault_of(result, "internal_error").message


# Parameters.


@pytest.mark.requirement("C26", "K30", "K14")
def test_every_wrong_parameter_is_found_at_once_with_its_place() -> None:
    agent = Scripted()
    fault = fault_of(called(agent, task({"text": 5, "limit": "3", "txet": "x"})), "invalid_input")
    assert [finding["path"] for finding in fault.detail["findings"]] == [
        "/parameters/limit", "/parameters/text", "/parameters/txet",
    ]  # fmt: skip
    assert "Did you mean `text`?" in fault.hint
    assert fault.suggestions
    assert agent.calls == 0


@pytest.mark.requirement("C5")
def test_a_boolean_is_no_integer_and_a_typed_caller_gets_no_coercion() -> None:
    for value in (True, "3", 3.5):
        fault_of(called(Scripted(), task({"limit": value})), "invalid_input")


def test_schema_defaults_are_filled_in_and_shown() -> None:
    agent = Scripted()
    result = called(agent, task({"text": "x"}))
    assert agent.seen[0][0].parameters == {"text": "x", "limit": 5}
    assert result.extras == {"boundary": {"defaults": {"/limit": 5}}}


@pytest.mark.requirement("C45")
def test_instruction_and_target_go_where_the_skill_takes_them() -> None:
    takes: JsonMapping = {"type": "object", "properties": {"query": {"type": "string"}, "file": {"type": "string"}}}
    agent = Scripted(skills=(skill(input_schema=takes, instruction_field="query", target_field="file"),))
    result = called(agent, task(instruction="count", target="a.md"))
    assert agent.seen[0][0].parameters == {"query": "count", "file": "a.md"}
    assert result.extras["boundary"]["filled"] == {"query": "count", "file": "a.md"}
    called(agent, task({"query": "mine"}, instruction="count"))
    assert agent.seen[1][0].parameters == {"query": "mine"}


@pytest.mark.requirement("C7")
def test_parameters_that_an_open_schema_does_not_know_are_listed() -> None:
    agent = Scripted(skills=(skill(input_schema={"type": "object", "properties": {"text": {"type": "string"}}}),))
    result = called(agent, task({"txt": "x", "other_thing": 1}))
    assert result.outcome == "success"
    assert result.extras["boundary"]["unknown"] == {"txt": ["text"], "other_thing": []}


@pytest.mark.requirement("C44")
def test_untyped_parameters_are_decoded_and_every_decoding_is_recorded() -> None:
    agent, run = Scripted(), context()
    result = asyncio.run(ask(agent, task({"Text": "5", "LIMIT": "7"}, untyped=True), run))
    seen = agent.seen[0][0]
    assert (seen.parameters, seen.untyped) == ({"text": "5", "limit": 7}, False)
    decoded = result.extras["boundary"]["decoded"]
    assert {"path": "/limit", "said": "7", "value": 7, "how": "integer"} in decoded
    (told,) = [body for body in bodies(run) if isinstance(body, Decision)]
    assert (told.move, told.facts) == ("decode", {"decoded": decoded})


@pytest.mark.requirement("C7", "C44")
def test_text_that_a_closed_schema_does_not_know_is_passed_over_and_told_with_what_was_meant() -> None:
    agent, run = Scripted(), context()
    said = {"text": "a b", "Limits": "3", "Focus areas": "all of them"}
    result = asyncio.run(ask(agent, task({**said}, untyped=True), run))
    assert result.outcome == "success"
    assert agent.seen[0][0].parameters == {"text": "a b", "limit": 5}
    assert result.extras["boundary"]["ignored"] == {"Limits": ["limit"], "Focus areas": []}
    (warned,) = result.warnings
    assert warned.message == "Unknown parameters, ignored: 'Limits' (did you mean 'limit'?), 'Focus areas'."
    assert warned.synthetic
    assert warned.message in [body.text for body in bodies(run) if isinstance(body, Message)]


@pytest.mark.requirement("C7")
def test_what_a_typed_caller_says_too_much_is_refused_by_a_closed_schema() -> None:
    fault_of(called(Scripted(), task({"text": "a b", "Limits": 3})), "invalid_input")


@pytest.mark.requirement("C7")
def test_a_strict_boundary_refuses_text_that_a_closed_schema_does_not_know() -> None:
    said = task({"text": "a b", "Limits": "3"}, untyped=True)
    result = called(Scripted(), said, policy=Policy(level="strict"))
    assert "Limits" in fault_of(result, "invalid_input").message


def test_a_flood_of_unknown_text_is_one_warning() -> None:
    said = {"text": "a", **{f"key {number}": "x" for number in range(5_000)}}
    result = called(Scripted(), task(said, untyped=True))
    (warned,) = result.warnings
    assert warned.message.endswith(" and 4990 more.")
    assert len(result.extras["boundary"]["ignored"]) == 5_000


def test_the_one_skill_of_an_agent_goes_by_the_agents_own_name_too() -> None:
    agent = Scripted()
    assert called(agent, task({"text": "a b"}, skill=agent.definition.name)).skill == "count"


@pytest.mark.requirement("C6")
def test_a_correction_of_the_caller_reaches_the_first_attempt_and_no_later_call() -> None:
    seen: list[object] = []

    async def note(_: Task, run: RunContext) -> Reply:
        seen.append(run.correction)
        return GOOD

    async def twice() -> None:
        agent, run = Scripted(note), context()
        boundary = Boundary(Registry())
        await boundary.call_agent(agent, task({"text": "a"}), run, correction=correction)
        await boundary.call_agent(agent, task({"text": "a"}), run)

    correction = Correction(message="Say more.")
    asyncio.run(twice())
    assert seen == [correction, None]


def test_what_the_agent_does_to_its_task_does_not_reach_the_caller() -> None:
    async def vandal(request: Task, _: RunContext) -> Reply:
        request.parameters["tags"].append("mine")
        request.context.inputs["before"]["a"] = 2
        request.extras.clear()
        return GOOD

    tags: JsonMapping = {"type": "array", "default": ["d"]}
    rows: JsonMapping = {"type": "array", "items": {"type": "object", "properties": {"ok": {"default": True}}}}
    takes: JsonMapping = {"type": "object", "properties": {"tags": tags, "rows": rows}}
    request = task({"tags": ["t"]}, context=Context(inputs={"before": {"a": 1}}), extras={"k": 1})
    agent = Scripted(vandal, skills=(skill(input_schema=takes),))
    called(agent, request)
    assert request == task({"tags": ["t"]}, context=Context(inputs={"before": {"a": 1}}), extras={"k": 1})
    called(agent, task(context=Context(inputs={"before": {}})))
    result = called(agent, task({"rows": [{}]}, context=Context(inputs={"before": {}})))
    assert result.extras["boundary"]["defaults"] == {"/rows/0/ok": True, "/tags": ["d"]}


@pytest.mark.parametrize("value", [{1}, b"x", float("nan"), {1: 2}, "\ud800", object(), 10**5000], ids=range(7))
def test_parameters_that_are_no_json_are_refused_with_their_place(value: object) -> None:
    fault = fault_of(called(Scripted(), task({"text": {"in": [value]}})), "invalid_input")
    assert fault.path.startswith("/parameters/text/in/0")
    for facts in ({"context": Context(inputs={"n": value})}, {"extras": {"n": value}}):
        fault_of(called(Scripted(), task(**facts)), "invalid_input")


# Instructions.


@pytest.mark.requirement("K20")
def test_an_instruction_is_cleaned() -> None:
    agent = Scripted()
    called(agent, task(instruction="a\0b\r\nc"))
    assert agent.seen[0][0].instruction == "ab\nc"


@pytest.mark.requirement("K20")
def test_an_instruction_of_a_million_characters_is_refused_in_one_sentence() -> None:
    agent = Scripted()
    fault = fault_of(called(agent, task(instruction="x" * 1_000_000)), "invalid_input")
    assert "1,000,000 characters" in fault.message
    assert "100,000" in fault.message
    assert fault.path == "/instruction"
    assert agent.calls == 0


def test_an_instruction_of_half_characters_is_refused() -> None:
    fault_of(called(Scripted(), task(instruction="\ud83d")), "invalid_input")


def test_a_callers_own_schema_that_is_broken_is_the_callers_mistake() -> None:
    fault = fault_of(called(Scripted(), task(output=OutputWish(schema={"type": "words"}))), "invalid_input")
    assert fault.path.startswith("/output/schema")


# Places.


@pytest.mark.requirement("C4")
@pytest.mark.parametrize(
    ("move", "parameters", "place"),
    [(GOOD, {"limit": "x"}, "input"), (ValueError("x"), {}, "run"), (Reply(data=[1]), {}, "output")],
    ids=["input", "run", "output"],
)
def test_a_fault_says_what_was_attempted_on_what_and_where_it_failed(
    move: Move, parameters: dict[str, Any], place: str
) -> None:
    fault = called(Scripted(move), task(parameters, target="a.csv")).fault
    assert fault is not None
    assert (fault.operation, fault.target, fault.failed_at) == ("count", "a.csv", place)


# Producers.


@pytest.mark.requirement("C6")
@pytest.mark.parametrize("where", ["schema", "agent", "name"])
def test_parameters_that_a_model_made_go_back_to_it(where: str) -> None:
    own = Reply(fault=Fault(code="invalid_input", message="No such column."))
    for producer, marked in (("model", "producer"), ("person", None), (None, None)):
        agent = Scripted(own if where == "agent" else GOOD)
        wrong = {"limit": "x"} if where == "schema" else {}
        result = called(agent, task(wrong, produced_by=producer, skill="nobody" if where == "name" else None))
        assert fault_of(result, "invalid_input").detail.get("correct") == marked
        assert result.retries == 0


# Limits.


@pytest.mark.requirement("C21")
def test_a_deadline_that_has_passed_is_a_time_out_without_a_call() -> None:
    agent = Scripted()
    fault = fault_of(called(agent, task(limits=Limits(deadline_ns=START - 1))), "timeout")
    assert fault.detail["bound"] == "task.limits.deadline_ns"
    assert agent.calls == 0
    result = called(agent, run=context(deadline_ns=START))
    assert fault_of(result, "timeout").detail["bound"] == "run.budget.timeout_s"
    assert result.attempts == ()


@pytest.mark.requirement("C21")
def test_the_agent_is_told_its_effective_deadline_and_the_context_gets_its_own_back() -> None:
    agent, run = Scripted(skills=(skill(timeout_s=10.0),)), context(deadline_ns=START + 30 * SECOND)
    asyncio.run(ask(agent, run=run))
    assert agent.seen[0][2] == START + 10 * SECOND
    assert run.deadline_ns == START + 30 * SECOND


@pytest.mark.parametrize(
    ("limits", "budget", "bound"),
    [
        (Limits(tokens=0), Budget(), "task.limits.tokens"),
        (Limits(cost_usd=0.0), Budget(), "task.limits.cost_usd"),
        (Limits(), Budget(tokens=0), "run.budget.tokens"),
        (Limits(), Budget(cost_usd=0.0), "run.budget.cost_usd"),
        (Limits(), Budget(depth=1), "run.budget.depth"),
    ],
)
def test_nothing_left_to_spend_means_no_call(limits: Limits, budget: Budget, bound: str) -> None:
    agent = Scripted()
    result = called(agent, task(limits=limits, depth=2), run=context(budget=budget))
    assert fault_of(result, "budget_exceeded").detail["bound"] == bound
    assert agent.calls == 0


@pytest.mark.requirement("K33")
def test_an_override_for_one_agent_is_shown_in_its_results() -> None:
    overrides = {"counter": Policy(max_retries=0)}
    request = task({"limit": 1})
    assert called(Scripted(), request, overrides=overrides).extras == {"boundary": {"policy": {"max_retries": 0}}}
    assert called(Scripted(), request, policy=Policy()).extras == {}


def test_what_was_found_out_about_an_agent_is_remembered() -> None:
    async def twice() -> list[Result]:
        boundary = Boundary(Registry([Scripted()]))
        return [await boundary.call(task(), context(Clock())) for _ in range(2)]

    first, second = asyncio.run(twice())
    assert first == second


def test_skills_of_one_agent_are_kept_apart() -> None:
    other: Skill = skill("shout", output_schema={"type": "string"})
    boundary = Boundary(Registry([Scripted(skills=(skill(), other))]))
    assert asyncio.run(boundary.call(task(skill="count"), context())).outcome == "success"
    fault_of(asyncio.run(boundary.call(task(skill="shout"), context())), "output_invalid")


def test_a_usage_in_fractions_is_a_wrong_answer_of_the_agent() -> None:
    @retinue.agent(description="Counts badly.")
    async def counts() -> Reply:
        """Count."""
        return Reply(data={"x": 1}, usage=Usage(tokens_in=cast("int", 1.5)))

    result = asyncio.run(retinue.call(counts))
    assert fault_of(result, "output_invalid").detail["findings"][0]["path"] == "/tokens_in"
