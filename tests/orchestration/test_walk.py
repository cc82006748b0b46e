"""Plans walked for real: boundary, engine and Python agents; only the agents are made up."""

import asyncio
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.wrapped import TextAgent
from retinue.contract.plan import Candidate, Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Budget, Limits, Question, Task
from retinue.orchestration.orchestrator import Orchestrator
from tests.examples import examples
from tests.orchestration.parts import Square, decisions, down, endless, forbidden, node, orchestrated, passages, square


def gathered(*nodes: Delegation, agents: tuple[Any, ...] = (square, down, endless, passages), **options: Any) -> Result:
    return orchestrated(*agents, work=lambda orchestrator: orchestrator.gather(nodes, **options))


@pytest.mark.requirement("A24")
def test_branches_run_at_once():
    together = asyncio.Event()
    arrived: list[int] = []

    @agent(description="Waits for the others.")
    async def meets(number: int) -> Square:
        """Wait until three are here."""
        arrived.append(number)
        if len(arrived) == 3:
            together.set()
        await together.wait()
        return Square(value=number)

    nodes = [node(f"n{number}", "meets", parameters={"number": number}) for number in range(3)]
    result = gathered(*nodes, agents=(meets,), budget=Budget(timeout_s=20))
    assert result.outcome == "success"
    assert result.data["results"] == {"n0": {"value": 0}, "n1": {"value": 1}, "n2": {"value": 2}}


@pytest.mark.requirement("A24")
def test_an_answer_in_words_is_gathered_as_text():
    speaker = TextAgent(lambda request: f"Heard: {request}", name="speaker")
    result = gathered(
        node("said", "speaker", instruction="hello"), node("n", instruction="square 2"), agents=(speaker, square)
    )
    assert result.outcome == "success"
    assert result.data["results"] == {"said": "Heard: hello\n", "n": {"value": 4}}
    assert "Heard: hello" in result.content


@pytest.mark.requirement("A23", "C30")
def test_a_later_node_is_handed_what_the_earlier_one_brought():
    seen: list[Task] = []

    @agent(description="Looks at what it is handed.")
    async def looks(task: Task) -> Square:
        """Look."""
        seen.append(task)
        return Square(value=1)

    levels = {"full": "full", "summary": "summary", "metadata": "metadata", "none": "none"}
    result = gathered(
        node("first", "passages", parameters={"topic": "retries"}),
        *(node(name, "looks", needs=("first",), context={"first": level}) for name, level in levels.items()),
        agents=(passages, looks),
    )
    assert result.outcome == "success"
    handed = {task.id.rpartition(":")[2]: task.context.inputs for task in seen}
    assert handed["full"]["first"]["data"]["findings"][0]["source"] == "docs/guide.md:7"
    assert handed["summary"]["first"]["summary"] == "One passage about retries."
    assert set(handed["metadata"]["first"]) == {"task_id", "agent", "skill", "outcome", "metadata"}
    assert handed["metadata"]["first"]["metadata"] == {"summary": "One passage about retries."}
    assert handed["none"] == {}


@pytest.mark.requirement("C32")
def test_two_of_three_branches_down_answers_with_the_third_and_says_what_is_missing():
    plan = Plan(
        goal="three numbers",
        nodes=(
            node("a", instruction="square 2"),
            node("b", "down", instruction="square 3"),
            node("c", "down", instruction="square 4"),
        ),
    )
    result = orchestrated(
        square, down, work=lambda orchestrator: orchestrator.run_plan(plan, budget=Budget(timeout_s=0.5))
    )
    assert result.outcome == "partial"
    assert [section["node"] for section in result.data["answer"]] == ["a"]
    assert {failure["node"] for failure in result.data["failures"]} == {"b", "c"}
    assert result.completeness == 33
    assert "Square 3" in result.content
    assert [warning.type for warning in result.warnings] == ["missing_data", "missing_data"]
    assert all(warning.recovery for warning in result.warnings)


def test_a_branch_with_its_own_deadline_ends_alone():
    limits = Limits(timeout_s=0.05, retries=0)
    result = gathered(node("quick"), node("slow", "endless", limits=limits))
    assert result.outcome == "partial"
    assert result.data["results"] == {"quick": {"value": 4}}
    (failure,) = result.data["failures"]
    assert failure["code"] == "timeout"
    assert "task.limits.timeout_s" in failure["message"]


def test_the_time_of_the_run_bounds_every_branch_and_finished_ones_are_kept():
    result = gathered(node("quick"), node("slow", "endless"), budget=Budget(timeout_s=0.1))
    assert result.outcome == "partial"
    assert result.data["failures"][0]["code"] == "timeout"


@pytest.mark.requirement("C32")
def test_any_stops_the_branches_that_are_not_needed_any_more():
    async def work(orchestrator: Orchestrator) -> Any:
        plan = Plan(nodes=(node("quick"), node("slow", "endless")), join="any")
        run = await orchestrator.start(plan)
        return await orchestrator.engine.result(run), await decisions(orchestrator, run)

    result, moves = orchestrated(square, endless, work=work)
    assert result.outcome == "success"
    assert result.data["not_needed"] == ["slow"]
    assert result.data["failures"] == []
    assert ("slow", "stop") in moves


@pytest.mark.requirement("C32")
def test_fail_fast_ends_in_error_and_still_keeps_what_was_finished():
    result = gathered(
        node("a"), node("b", "forbidden", needs=("a",)), node("c", "endless"),
        agents=(square, forbidden, endless), join="fail_fast",
    )  # fmt: skip
    assert result.outcome == "error"
    assert result.data["results"] == {"a": {"value": 4}}


def test_a_node_whose_needs_failed_is_not_started():
    result = gathered(node("a", "forbidden"), node("b", needs=("a",)), agents=(square, forbidden))
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "access_denied"
    assert [failure["node"] for failure in result.data["failures"]] == ["a", "b"]
    assert "`a`" in result.data["failures"][1]["message"]


@pytest.mark.requirement("A14", "C29", "P12")
def test_a_persistent_failure_goes_to_the_alternative_that_can_be_called():
    async def work(orchestrator: Orchestrator) -> Any:
        delegation = node(
            "a",
            "down",
            skill="down",
            instruction="square the number 7",
            limits=Limits(retries=0),
            alternatives=(Candidate(agent="square", skill="square", score=1, share=0.4),),
        )
        run = await orchestrator.start(Plan(nodes=(delegation,)), answer="collected")
        return await orchestrator.engine.result(run), await decisions(orchestrator, run)

    result, moves = orchestrated(square, down, work=work)
    assert result.outcome == "success"
    assert result.data["results"] == {"a": {"value": 49}}
    assert ("a", "elsewhere") in moves
    assert result.extras["calls"] == 2


@pytest.mark.requirement("A14", "P13")
def test_a_refusal_is_not_got_round_by_asking_somebody_else():
    async def work(orchestrator: Orchestrator) -> Any:
        alternatives = (Candidate(agent="square", skill="square", score=1, share=0.4),)
        delegation = node("a", "forbidden", instruction="square the number 7", alternatives=alternatives)
        run = await orchestrator.start(Plan(nodes=(delegation,)))
        return await orchestrator.engine.result(run), await decisions(orchestrator, run)

    result, moves = orchestrated(square, forbidden, work=work)
    assert result.outcome == "error"
    assert ("a", "give_up") in moves


# The gate (K36): an agent that answers otherwise than it promises


def at_the_gate(choice: str | None, on_unexpected: Any = "ask", *, good_after: int = 99) -> Any:
    """The result of two nodes, of which one lies and the other waits until it is stopped; the moves; what was asked."""
    asked: list[Question] = []
    calls: list[int] = []

    @agent(description="Squares a number, and lies about it.")
    async def liar(number: int) -> Square:
        calls.append(number)
        answer: Any = Square(value=4) if len(calls) > good_after else {"value": "four"}
        return answer

    async def person(question: Question) -> Answer | None:
        asked.append(question)
        return None if choice is None else Answer(question_id=question.id, value=choice)

    async def work(orchestrator: Orchestrator) -> Any:
        orchestrator = replace(orchestrator, on_unexpected=on_unexpected)
        nodes = (node("lies", "liar", parameters={"number": 2}), node("later", needs=("lies",)))
        others = (node("waits", "endless"),) if "abort" in {choice, on_unexpected} else (node("fine"),)
        run = await orchestrator.start(Plan(nodes=(*nodes, *others)), answer="collected")
        return await orchestrator.engine.result(run), await decisions(orchestrator, run)

    result, moves = orchestrated(square, endless, liar, work=work, answerer=person)
    return result, moves, asked, len(calls)


@pytest.mark.requirement("K36")
def test_a_person_may_have_a_refused_answer_tried_again():
    result, moves, asked, calls = at_the_gate("retry", good_after=3)
    assert (result.outcome, result.data["results"]["lies"], calls) == ("success", {"value": 4}, 4)
    (question,) = asked
    assert (question.kind, question.options) == ("choice", ("retry", "skip", "abort"))
    assert "`liar` did not answer as it promises, after every attempt" in question.text
    assert ("lies", "ask") in moves
    again, _, asked, calls = at_the_gate("retry")
    assert (again.outcome, len(asked), calls) == ("partial", 3, 12)  # nobody is asked for ever


@pytest.mark.requirement("K36")
def test_a_person_may_skip_it_and_the_others_go_on():
    result, moves, asked, calls = at_the_gate("skip")
    assert (result.outcome, result.data["results"], calls, len(asked)) == ("partial", {"fine": {"value": 4}}, 3, 1)
    assert [move for name, move in moves if name == "lies"] == ["stop", "ask", "give_up"]
    assert ("later", "skip") in moves


@pytest.mark.requirement("K36")
@pytest.mark.parametrize(("choice", "on_unexpected"), [("abort", "ask"), (None, "abort")])
def test_a_person_or_the_policy_may_end_the_run_with_it(choice: str | None, on_unexpected: str):
    result, moves, asked, _ = at_the_gate(choice, on_unexpected)
    assert result.outcome == "error"
    assert result.fault.code == "output_invalid"
    assert ("lies", "abort") in moves
    assert ("waits", "stop") in moves
    assert len(asked) == (on_unexpected == "ask")


@pytest.mark.requirement("K36")
def test_nobody_there_means_that_it_is_skipped():
    result, moves, asked, _ = at_the_gate(None)
    assert (result.outcome, len(asked)) == ("partial", 1)
    assert ("lies", "give_up") in moves
    result, moves, asked, _ = at_the_gate("retry", "skip")
    assert (result.outcome, asked) == ("partial", [])
    assert ("lies", "give_up") in moves


# Composing agents


@agent(description="Splits its number into smaller ones.", composes=True)
async def splits(number: int) -> Plan:
    """Split a number."""
    parts = [node(f"p{part}", parameters={"number": part}) for part in range(number)]
    return Plan(goal=f"{number} squares", nodes=tuple(parts))


@agent(description="Splits forever.", composes=True)
async def splits_for_ever(level: int = 0) -> Plan:
    """Ask yourself, each time for something else."""
    return Plan(nodes=(node("again", "splits_for_ever", parameters={"level": level + 1}),))


@pytest.mark.requirement("A25")
def test_an_agent_that_composes_splits_its_task_and_brings_one_result():
    result = gathered(node("a", "splits", parameters={"number": 3}), agents=(square, splits))
    assert result.outcome == "success"
    assert result.data["results"]["a"]["results"] == {"p0": {"value": 0}, "p1": {"value": 1}, "p2": {"value": 4}}
    assert result.extras["calls"] == 4


@pytest.mark.requirement("A25")
def test_recursion_ends_at_the_depth_of_the_budget():
    result = gathered(node("a", "splits_for_ever"), agents=(splits_for_ever,), budget=Budget(depth=3, nodes=100))
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "budget_exceeded"
    assert result.extras["calls"] == 4
    assert result.fault.detail["bound"] == "depth"
    assert result.fault.detail["node"] == "a/again/again/again"
    assert "`a/again/again/again`" in result.fault.message


def test_a_child_plan_beyond_the_nodes_of_the_budget_is_not_walked():
    result = gathered(node("a", "splits", parameters={"number": 9}), agents=(square, splits), budget=Budget(nodes=5))
    assert result.outcome == "error"
    assert "9 delegations" in result.data["failures"][0]["message"]


def test_nodes_beyond_the_budget_are_refused_and_the_others_kept():
    result = gathered(*(node(f"n{number}") for number in range(5)), budget=Budget(nodes=3))
    assert result.outcome == "partial"
    assert len(result.data["results"]) == 3
    assert {failure["code"] for failure in result.data["failures"]} == {"budget_exceeded"}


def test_tokens_that_are_spent_keep_the_next_node_from_starting():
    @agent(description="Spends tokens.")
    async def spends() -> Reply:
        """Spend."""
        return Reply(data={"ok": True}, usage=Usage(tokens_in=60, tokens_out=50))

    result = gathered(
        node("a", "spends"), node("b", "spends", needs=("a",)), agents=(spends,), budget=Budget(tokens=100)
    )
    assert result.outcome == "partial"
    assert result.data["failures"][0]["code"] == "budget_exceeded"
    assert result.usage is not None
    assert result.usage.tokens_in == 60


# Questions


async def nobody(_question: Question) -> Answer | None:
    return None


def answers(**values: Any) -> Any:
    async def answer(question: Question) -> Answer | None:
        value = values.get(question.id.rpartition(".")[2])
        return None if value is None else Answer(question_id=question.id, value=value)

    return answer


MISSING = node(
    "a", parameters={}, questions=(Question(id="number", text="Which number?", parameter="number"),)
)  # fmt: skip


@pytest.mark.requirement("C45")
def test_what_is_missing_is_asked_for_and_filled_in():
    result = orchestrated(square, work=lambda orchestrator: orchestrator.gather([MISSING]), answerer=answers(number=9))
    assert result.data["results"] == {"a": {"value": 81}}


@pytest.mark.requirement("C45")
@pytest.mark.parametrize("answerer", [None, nobody])
def test_a_question_that_nobody_answers_leaves_the_run_waiting_for_input(answerer: Any):
    result = orchestrated(square, work=lambda orchestrator: orchestrator.gather([MISSING]), answerer=answerer)
    assert result.lifecycle == "input_required"
    assert result.outcome is None
    assert [question.parameter for question in result.questions] == ["number"]


def test_an_open_question_does_not_spoil_the_other_branches():
    result = orchestrated(square, work=lambda orchestrator: orchestrator.gather([MISSING, node("b")]))
    assert result.outcome == "partial"
    assert result.data["results"] == {"b": {"value": 4}}
    assert result.questions


def test_a_missing_parameter_is_taken_from_a_needed_result_of_the_same_name():
    @agent(description="Gives a number.")
    async def gives() -> dict[str, int]:
        """Give one."""
        return {"number": 6}

    later = MISSING.model_copy(update={"needs": ("first",)})
    result = gathered(node("first", "gives"), later, agents=(square, gives))
    assert result.data["results"]["a"] == {"value": 36}


def test_what_a_needed_result_has_under_that_name_must_be_what_is_wanted():
    @agent(description="Gives a number in words.")
    async def gives() -> dict[str, str]:
        """Give one."""
        return {"number": "six"}

    asked = Question(id="number", text="Which?", parameter="number", answer_schema={"type": "integer"})
    later = MISSING.model_copy(update={"needs": ("first",), "questions": (asked,)})
    result = gathered(node("first", "gives"), later, agents=(square, gives))
    assert [question.parameter for question in result.questions] == ["number"]


@agent(description="Asks before it does anything.")
async def careful(run: RunContext) -> dict[str, Any]:
    """Ask first."""
    answer = await run.ask(Question(id="sure", text="Are you sure?", kind="approval"))
    return {"sure": None if answer is None else answer.value, "by": answer.by if answer else "nobody"}


@pytest.mark.parametrize(
    ("answerer", "told"),
    [(answers(sure=True), {"sure": True, "by": "person"}), (None, {"sure": False, "by": "policy"})],
)
def test_an_agent_that_asks_in_the_middle_is_run_again_with_the_answer(answerer: Any, told: Any):
    result = orchestrated(careful, work=lambda o: o.gather([node("a", "careful")]), answerer=answerer)
    assert result.data["results"] == {"a": told}


def test_an_agent_that_asks_for_ever_is_given_up():
    @agent(description="Never has enough.")
    async def insatiable() -> Reply:
        """Ask."""
        question = Question(id="more", text="More?")
        return Reply(questions=(question,), data={})

    result = orchestrated(insatiable, work=lambda o: o.gather([node("a", "insatiable")]), answerer=answers(more="yes"))
    assert result.lifecycle == "input_required"
    assert result.extras["calls"] <= 5


# Delegating inside a step


@agent(description="Calls another agent itself.")
async def calls(run: RunContext, times: int = 1) -> dict[str, Any]:
    """Call `square`."""
    results = [await run.delegate(Task(id="x", agent="square", parameters={"number": 3})) for _ in range(times)]
    return {"ids": [result.task_id for result in results], "outcomes": [result.outcome for result in results]}


def test_calls_from_inside_a_step_go_through_the_boundary_and_have_keys_of_their_own():
    result = gathered(node("a", "calls", parameters={"times": 2}), agents=(square, calls))
    ids = result.data["results"]["a"]["ids"]
    assert [name.partition(":")[2] for name in ids] == ["a:1", "a:2"]
    assert result.data["results"]["a"]["outcomes"] == ["success", "success"]


def test_calls_from_inside_a_step_end_at_the_budget():
    result = gathered(node("a", "calls", parameters={"times": 3}), agents=(square, calls), budget=Budget(nodes=2))
    assert result.data["results"]["a"]["outcomes"] == ["success", "success", "error"]


# Stopping, and order


def test_a_canceled_run_keeps_what_was_finished():
    async def work(orchestrator: Orchestrator) -> Result:
        run = await orchestrator.start(Plan(nodes=(node("quick"), node("slow", "endless"))), answer="collected")
        async for event in orchestrator.engine.events(run):
            if event.kind == "finished":
                await orchestrator.engine.cancel(run, reason="enough")
                break
        return await orchestrator.engine.result(run)

    result = orchestrated(square, endless, work=work)
    assert result.outcome == "canceled"
    assert result.data["results"] == {"quick": {"value": 4}}


def test_ids_that_the_walk_needs_for_itself_are_refused():
    result = gathered(node("a~2"))
    assert result.fault is not None
    assert result.fault.code == "invalid_input"


@st.composite
def dags(draw: Any) -> list[Delegation]:
    size = draw(st.integers(1, 10))
    found: list[Delegation] = []
    for place in range(size):
        names = [earlier.id for earlier in found]
        needs: list[str] = draw(st.lists(st.sampled_from(names), unique=True)) if names else []
        found.append(node(f"n{place}", "counts", needs=tuple(needs), parameters={"name": f"n{place}"}))
    return found


@settings(max_examples=examples(40))
@given(dags(), st.data())
def test_the_walk_keeps_the_order_and_its_result_does_not_depend_on_timing(nodes: list[Delegation], data: Any):
    pauses = {one.id: data.draw(st.integers(0, 3)) for one in nodes}
    ended: list[str] = []

    @agent(description="Counts its calls.")
    async def counts(name: str) -> dict[str, str]:
        """Take some turns."""
        for _ in range(pauses[name]):
            await asyncio.sleep(0)
        missing = [need for one in nodes if one.id == name for need in one.needs if need not in ended]
        assert not missing
        ended.append(name)
        return {"name": name}

    result = gathered(*nodes, agents=(counts,))
    assert result.outcome == "success"
    assert sorted(ended) == sorted(one.id for one in nodes)
    assert result.data["results"] == {one.id: {"name": one.id} for one in nodes}
