"""Agents that answer with plans: child runs, their bounds, and what comes up from them."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.port import Reply, RunContext
from retinue.agents.python import agent
from retinue.agents.registry import Registry
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage, Warned
from retinue.contract.task import Answer, Budget, Correction, Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.orchestration.executor import as_node_result
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.orchestration.run_request import Caller, RunRequest
from tests.orchestration.parts import Square, decisions, forbidden, node, orchestrated, passages, square


def gathered(*nodes: Delegation, agents: tuple[Any, ...], **options: Any) -> Result:
    return orchestrated(*agents, work=lambda orchestrator: orchestrator.gather(nodes, **options))


def answered(plan: Plan, *agents: Any, **options: Any) -> Result:
    return orchestrated(*agents, work=lambda orchestrator: orchestrator.run_plan(plan, **options))


def composing(name: str, *plans: Plan | Callable[[], Plan], **facts: Any) -> tuple[Any, list[Correction | None]]:
    """An agent that answers with one of `plans` after the other, and the corrections it got."""
    corrections: list[Correction | None] = []

    async def composes(run: RunContext) -> Reply:
        """Plan."""
        made = plans[min(len(corrections), len(plans) - 1)]
        corrections.append(run.correction)
        return Reply(plan=made if isinstance(made, Plan) else made(), **facts)

    return agent(name=name, description="Composes.", composes=True)(composes), corrections


# What the boundary says of a plan


def circle() -> Plan:
    return Plan(nodes=(node("a", needs=("b",)), node("b", needs=("a",))))


def dangling() -> Plan:
    return Plan(nodes=(node("a", needs=("gone",)), node("a")))


@pytest.mark.requirement("A25", "A12")
@pytest.mark.parametrize(("wrong", "rules"), [(circle, ["plan/circle"]), (dangling, ["plan/needs", "plan/id"])])
def test_a_cyclic_or_dangling_plan_goes_back_as_a_correction(wrong: Any, rules: list[str]):
    planner, corrections = composing("planner", wrong, Plan(nodes=(node("x"),)))
    result = gathered(node("a", "planner"), agents=(square, planner))
    assert result.outcome == "success"
    assert result.data["results"]["a"] == {"results": {"x": {"value": 4}}, "failures": []}
    assert corrections[0] is None
    assert corrections[1] is not None
    assert {finding["rule"] for finding in corrections[1].findings} == set(rules)
    assert all(finding["path"].startswith("/plan/nodes/") for finding in corrections[1].findings)


@pytest.mark.requirement("A25")
def test_unknown_agents_and_skills_are_all_listed_before_anything_runs():
    called: list[int] = []

    @agent(description="Notes that it was called.")
    async def notes(number: int) -> Square:
        """Note."""
        called.append(number)
        return Square(value=number)

    wrong = Plan(
        nodes=(
            node("ok", "notes", parameters={"number": 1}),
            node("b", "squar"),
            node("c", skill="cube"),
            node("d", "notes", parameters={"number": "1"}),
        )
    )
    planner, corrections = composing("planner", wrong)
    result = gathered(node("a", "planner"), agents=(square, notes, planner))
    assert called == []
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "output_invalid"
    assert len(corrections) == 3
    listed = result.fault.detail["findings"]
    assert [finding["rule"] for finding in listed] == ["plan/agent", "plan/skill", "schema/type"]
    assert "Did you mean `square`?" in listed[0]["fix"]


@pytest.mark.requirement("A25")
def test_an_agent_that_asks_itself_the_same_again_is_refused_at_once():
    me, corrections = composing("me", Plan(nodes=(node("again", "me"),)))
    result = gathered(node("a", "me"), agents=(me,), budget=Budget(depth=100))
    assert result.fault is not None
    assert result.fault.code == "output_invalid"
    assert result.fault.detail["findings"][0]["rule"] == "plan/again"
    assert "`me.me` → `me.me`" in result.fault.message
    assert len(corrections) == 3  # it was told twice, and nobody else was called
    assert result.extras["calls"] == 1


@pytest.mark.requirement("A25")
def test_a_circle_through_another_agent_is_spelled_out():
    first, _ = composing("first", Plan(nodes=(node("x", "second"),)))
    second, _ = composing("second", Plan(nodes=(node("y", "first"),)))
    result = gathered(node("a", "first"), agents=(first, second))
    assert result.fault is not None
    assert "`first.first` → `second.second` → `first.first`" in result.fault.message
    assert result.extras["calls"] == 2


def test_the_same_agent_may_be_asked_for_less():
    @agent(description="Counts down.", composes=True)
    async def counts_down(number: int) -> Plan:
        """Count down."""
        below = node("less", "counts_down", parameters={"number": number - 1}) if number > 1 else node("end")
        return Plan(nodes=(below,))

    result = gathered(node("a", "counts_down", parameters={"number": 4}), agents=(square, counts_down))
    assert result.outcome == "success"
    assert result.extras["calls"] == 5


def test_an_agent_that_does_not_compose_keeps_its_own_fault():
    @agent(description="Trips over a plan of its own.")
    async def trips() -> Square:
        """Trip."""
        circle()
        return Square(value=1)

    result = gathered(node("a", "trips"), agents=(trips,))
    assert result.fault is not None
    assert result.fault.code == "invalid_input"


@pytest.mark.requirement("B19")
def test_an_agent_that_composes_sees_who_there_is_and_may_ask_what_is_wrong_with_its_plan():
    seen: list[Any] = []

    @agent(description="Looks around.", composes=True)
    async def looks_around(run: RunContext) -> Plan:
        """Look."""
        seen.append(run.light_schema)
        seen.append([finding.rule for finding in run.review(Plan(nodes=(node("x", "nobody"),)))])
        return Plan(nodes=(node("x"),))

    result = gathered(node("a", "looks_around"), agents=(square, looks_around))
    assert result.outcome == "success"
    assert 'square — Squares a number\n- square: Squares a number EX: "square 12"' in seen[0]
    assert seen[1] == ["plan/agent"]


def test_a_single_call_knows_nobody_else():
    assert LocalContext().light_schema == ""
    assert LocalContext().review(Plan(nodes=(node("x", "nobody"),))) == []


# Bounds


@pytest.mark.requirement("A25")
def test_the_deepest_allowed_nesting_is_walked():
    @agent(description="Digs.", composes=True)
    async def digs(level: int) -> Plan:
        """Dig."""
        return Plan(nodes=(node("d", "digs", parameters={"level": level - 1}) if level else node("end"),))

    plan = Plan(nodes=(node("a", "digs", parameters={"level": 59}),))
    result = answered(plan, square, digs, budget=Budget(depth=60, nodes=1000))
    assert result.outcome == "success"
    assert result.extras["calls"] == 61
    over = answered(plan, square, digs, budget=Budget(depth=59, nodes=1000))
    assert over.fault is not None
    assert over.fault.detail == over.fault.detail | {"bound": "depth", "allowed": 59, "wanted": 60}
    assert over.fault.detail["node"].startswith("a/d/d/d")


@pytest.mark.requirement("A25")
def test_a_plan_with_more_nodes_than_are_left_names_the_bound_and_the_place():
    many, _ = composing("many", lambda: Plan(nodes=tuple(node(f"n{number}") for number in range(2_000))))
    top = Plan(nodes=(node("top", "outer"),))
    outer, _ = composing("outer", Plan(nodes=(node("inner", "many"),)))
    result = answered(top, square, outer, many, budget=Budget(nodes=1_000))
    assert result.fault is not None
    assert result.fault.code == "budget_exceeded"
    assert result.fault.detail["bound"] == "nodes"
    assert result.fault.detail["node"] == "top/inner"
    assert "it has 2,000 delegations" in result.fault.message
    assert "`nodes`" in result.fault.hint


def test_what_was_said_beside_a_plan_that_is_not_walked_is_kept():
    warning = Warned(type="missing_data", message="One subject was left out.")
    facts = {"warnings": (warning,), "usage": Usage(tokens_in=7)}
    planner, _ = composing("planner", Plan(nodes=(node("x"), node("y"))), **facts)
    result = gathered(node("a", "planner"), agents=(square, planner), budget=Budget(nodes=2))
    assert warning in result.warnings
    assert result.usage is not None
    assert result.usage.tokens_in == 7
    assert "plan" not in result.extras


@pytest.mark.slow
@pytest.mark.deep
def test_ten_thousand_nodes_and_a_chain_of_a_thousand_are_walked():
    wide = tuple(node(f"w{number}") for number in range(9_000))
    chain = tuple(node(f"c{number}", needs=(f"c{number - 1}",) if number else ()) for number in range(1_000))
    result = gathered(*chain, *wide, agents=(square,))
    assert result.outcome == "success"
    assert len(result.data["results"]) == 10_000
    beyond = gathered(*chain, *wide, node("more"), agents=(square,))
    assert beyond.outcome == "partial"
    (failure,) = beyond.data["failures"]
    assert failure["code"] == "budget_exceeded"
    assert "10000" in failure["message"]
    assert "Raise the budget" in failure["hint"]


def test_a_chain_of_a_thousand_whose_first_fails_ends_without_recursion():
    chain = [node("c0", "forbidden"), *(node(f"c{number}", needs=(f"c{number - 1}",)) for number in range(1, 1_000))]
    result = gathered(*chain, agents=(square, forbidden))
    assert result.outcome == "error"
    assert len(result.data["failures"]) == 1_000


# What comes up


@agent(description="Has three looked up.", composes=True)
async def surveys() -> Reply:
    """Ask three, one of whom is down."""
    nodes = (
        node("one", "passages", parameters={"topic": "retries"}, target="Retries"),
        node("two", "forbidden", instruction="Say no"),
        node("three", instruction="square 3", parameters={"number": 3}),
    )
    note = Warned(type="missing_data", message="A fourth was left out.")
    return Reply(plan=Plan(goal="All three", nodes=nodes), warnings=(note,), usage=Usage(tokens_in=5))


@pytest.mark.requirement("A24", "A25", "H24")
def test_a_child_run_becomes_one_answer_with_a_row_for_every_part():
    plan = Plan(goal="Survey", nodes=(node("n1", "surveys", instruction="survey all three"), node("n2")))

    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start(plan)
        result = await orchestrator.engine.result(run)
        events = [event async for event in orchestrator.engine.events(run, follow=False)]
        return result, [event for event in events if event.kind == "finished" and "~" in event.node]

    result, finished = orchestrated(square, passages, forbidden, surveys, work=work)
    child: Result = finished[0].body.result
    assert child.outcome == "partial"
    (table,) = child.data["tables"]
    assert table["title"] == "All three"
    assert [row[:2] for row in table["rows"]] == [["Retries", "yes"], ["Say no", "no"], ["square 3", "yes"]]
    assert table["rows"][0][2:] == ["All about retries.", "docs/guide.md:7"]
    assert [part["node"] for part in child.data["parts"]] == ["n1/one", "n1/three"]
    assert [failure["node"] for failure in child.data["failures"]] == ["n1/two"]
    assert child.data["findings"][0]["node"] == "n1/one"
    assert child.data["subjects"] == ["Retries", "Say no", "square 3"]
    assert child.data["notes"] == ["Say no: `forbidden` raised `PermissionError`: not 1"]
    assert result.outcome == "partial"
    section = result.data["answer"][0]
    assert section["sources"] == ["docs/guide.md:7"]
    assert section["tables"][0]["title"] == "All three"
    assert "### Retries" in child.content
    messages = [warning.message for warning in result.warnings]
    assert "A fourth was left out." in messages
    assert any(message.startswith("Say no: ") for message in messages)
    assert result.usage is not None
    assert result.usage.tokens_in == 5


@pytest.mark.requirement("A25")
def test_a_fault_says_where_in_the_whole_it_happened():
    inner, _ = composing("inner", Plan(nodes=(node("x", "forbidden"),)))
    outer, _ = composing("outer", Plan(nodes=(node("mid", "inner"),)))
    for result in (
        answered(Plan(nodes=(node("top", "outer"),)), outer, inner, forbidden),
        gathered(node("top", "outer"), agents=(outer, inner, forbidden)),
    ):
        assert result.fault is not None
        assert result.fault.code == "access_denied"
        assert result.fault.detail["node"] == "top/mid/x"


def test_markup_of_a_child_is_made_harmless_once():
    @agent(description="Writes markup.")
    async def markup() -> Reply:
        """Write."""
        return Reply(data={"ok": True}, content="<script>alert(1)</script> and `<b>`")

    outer, _ = composing("outer", Plan(nodes=(node("x", "markup", instruction="<i>x</i>"),)))
    result = answered(Plan(goal="g", nodes=(node("top", "outer"),)), outer, markup)
    assert "\\<script>" in result.content
    assert "\\\\<" not in result.content
    assert "`<b>`" in result.content


def test_an_ascended_result_keeps_what_was_said_before_it():
    before = Result(
        task_id="t", agent="x", files_read=("a",), retries=1, warnings=(Warned(type="missing_data", message="m"),)
    )
    child = Result(task_id="c", agent="orchestrator", outcome="success", files_read=("b", "a"))
    whole = as_node_result(node("n", "x", skill="s"), before, child)
    assert (whole.task_id, whole.agent, whole.skill) == ("t", "x", "s")
    assert whole.files_read == ("a", "b")
    assert whole.retries == 1
    assert len(whole.warnings) == 1
    assert as_node_result(node("n", "x"), None, child).agent == "x"


def test_an_order_knows_where_its_nodes_stand():
    above = (
        Caller(node="n1", agent="a", skill="s", request="-"),
        Caller(node="n1/n2", agent="a", skill="s", request="-"),
    )
    assert RunRequest(plan=Plan(), above=above).place_of("x") == "n1/n2/x"
    assert RunRequest(plan=Plan()).place_of("x") == "x"


# Called again with the parts


class Total(BaseModel):
    total: int
    missing: list[str]


@agent(description="Adds up squares.", composes=True)
async def adds_up(run: RunContext) -> Plan | Total | Reply:
    """Have two squared and one that is down, and add up what came."""
    if run.parts is None:
        nodes = (node("two"), node("three", parameters={"number": 3}), node("gone", "forbidden"))
        return Plan(nodes=nodes, call_again=True)
    came = {name: part.data["value"] for name, part in run.parts.items() if part.useful}
    missing = [name for name in run.parts if name not in came]
    data = Total(total=sum(came.values()), missing=missing)
    return Reply(data=data, outcome="partial", warnings=(Warned(type="missing_data", message="One is missing."),))


@pytest.mark.requirement("A25", "G16")
@pytest.mark.parametrize("answer", ["asked", "merged", "collected"])
def test_an_agent_makes_the_answer_of_its_plan_itself_when_it_is_called_again(answer: Any):
    async def work(orchestrator: Orchestrator) -> tuple[Result, list[tuple[str, str]]]:
        task = Task(id="t", agent="adds_up")
        plan = Plan(nodes=(node("n1", "adds_up"),))
        run = await (orchestrator.start_task(task) if answer == "asked" else orchestrator.start(plan, answer=answer))
        return await orchestrator.engine.result(run), await decisions(orchestrator, run)

    result, made = orchestrated(square, forbidden, adds_up, work=work)
    expected = {"total": 13, "missing": ["gone"]}
    assert result.outcome == "partial"
    match answer:
        case "asked":
            assert (result.data, result.agent, result.extras["calls"]) == (expected, "adds_up", 3)
            assert [warning.message for warning in result.warnings] == ["One is missing."]
        case "collected":
            assert result.data["results"]["n1"] == expected
        case _:
            assert "13" in result.content
    assert [move for name, move in made if name == "n1"] == ["descend", "call_again"]


@pytest.mark.requirement("A25")
def test_what_parts_took_and_warned_of_is_in_the_answer_of_the_agent_that_planned_them():
    @agent(description="Reads.")
    async def reads() -> Reply:
        """Read a file in part."""
        warning = Warned(type="missing_data", message="Half of it.", impact="Less.", recovery="Read on.")
        return Reply(data=1, outcome="partial", warnings=(warning,), usage=Usage(tokens_in=4), files_read=("a.py",))

    @agent(description="Has it read.", composes=True)
    async def has_read(run: RunContext) -> Reply:
        """Read twice."""
        if run.parts is None:
            plan = Plan(nodes=(node("a", "reads"), node("b", "reads", optional=True)), call_again=True)
            return Reply(plan=plan, usage=Usage(tokens_in=1))
        return Reply(data=len(run.parts), usage=Usage(tokens_in=2))

    result = orchestrated(reads, has_read, work=lambda orchestrator: orchestrator.run_task("has_read"))
    assert result.usage is not None
    assert result.usage.tokens_in == 11
    assert "a.py" in result.files_read
    assert [warning.message for warning in result.warnings] == ["Half of it."]


@pytest.mark.requirement("A25")
def test_the_parts_stay_when_the_agent_fails_to_make_an_answer_of_them():
    @agent(description="Trips at the end.", composes=True)
    async def trips(run: RunContext) -> Plan | Square:
        """Plan, and trip."""
        if run.parts is None:
            return Plan(nodes=(node("x"),), call_again=True)
        raise PermissionError("not this")

    async def work(orchestrator: Orchestrator) -> Result:
        return await orchestrator.engine.result(await orchestrator.start_task(Task(id="t", agent="trips")))

    result = orchestrated(square, trips, work=work)
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "access_denied"
    assert [part["node"] for part in result.data["parts"]] == ["n1/x"]


@pytest.mark.requirement("A25")
def test_an_agent_may_plan_again_until_the_delegations_are_used_up():
    seen: list[Mapping[str, Result] | None] = []

    @agent(description="Never has enough.", composes=True)
    async def insatiable(run: RunContext) -> Plan:
        """Plan again and again."""
        seen.append(run.parts)
        return Plan(nodes=(node(f"x{len(seen)}"),), call_again=True)

    result = gathered(node("a", "insatiable"), agents=(square, insatiable), budget=Budget(nodes=7))
    assert result.fault is not None
    assert result.fault.code == "budget_exceeded"
    assert [list(parts or ()) for parts in seen] == [[], ["x1"], ["x2"], ["x3"]]


@pytest.mark.requirement("A25")
def test_a_question_on_the_way_to_the_answer_keeps_the_parts():
    @agent(description="Asks how to add.", composes=True)
    async def asks(run: RunContext) -> Plan | int:
        """Ask in the middle of the second call."""
        if run.parts is None:
            return Plan(nodes=(node("x"),), call_again=True)
        answer = await run.ask(Question(id="more", text="How much more?"))
        return int(run.parts["x"].data["value"]) + int(answer.value if answer else 0)

    async def answerer(question: Question) -> Answer:
        return Answer(question_id=question.id, value=5)

    result = orchestrated(square, asks, work=lambda one: one.run_task("asks"), answerer=answerer)
    assert "9" in result.content


@pytest.mark.requirement("A25")
def test_a_resumed_run_makes_the_answer_of_parts_that_were_finished_before(tmp_path: Path):
    called: list[str] = []
    reached = asyncio.Event()

    @agent(description="Notes that it was called.")
    async def notes() -> Square:
        """Note."""
        called.append("part")
        return Square(value=7)

    @agent(description="Dies once.", composes=True)
    async def dies_once(run: RunContext) -> Plan | Square:
        """Plan, die, and answer."""
        if run.parts is None:
            return Plan(nodes=(node("x", "notes"),), call_again=True)
        called.append("answer")
        if called.count("answer") == 1:
            reached.set()
            await asyncio.Event().wait()
        return Square(value=run.parts["x"].data["value"])

    known = workflows(Registry((notes, dies_once)))

    async def main() -> Result:
        with Journal(tmp_path / "journal") as journal:
            async with InProcessEngine(known, journal=journal) as engine:
                run = await Orchestrator(Registry((notes, dies_once)), engine).start_task(
                    Task(id="t", agent="dies_once")
                )
                await reached.wait()
            async with InProcessEngine(known, journal=journal) as engine:
                await engine.resume(run)
                return await engine.result(run)

    result = asyncio.run(main())
    assert (result.outcome, result.data) == ("success", {"value": 7})
    assert called == ["part", "answer", "answer"]


def test_a_single_call_can_be_given_the_parts():
    async def main() -> Result:
        parts = {"two": Result(task_id="p", agent="square", outcome="success", data={"value": 4})}
        task = Task(id="t", agent="adds_up")
        return await Boundary(Registry((adds_up,))).call(task, LocalContext(parts=parts))

    assert asyncio.run(main()).data == {"total": 4, "missing": []}


# Waves


@pytest.mark.requirement("H21")
def test_phases_start_in_waves_by_what_they_need():
    arrived: list[str] = []
    gates = [asyncio.Event() for _ in range(5)]
    wave_of = {"a": 0, "b": 0, "c": 1, "d": 1, "e": 2, "f": 3, "g": 4}

    @agent(description="Waits for the others of its wave.")
    async def phase(name: str) -> dict[str, str]:
        """Wait."""
        arrived.append(name)
        wave = wave_of[name]
        if sum(wave_of[other] == wave for other in arrived) == list(wave_of.values()).count(wave):
            gates[wave].set()
        await gates[wave].wait()
        return {"name": name}

    needs = {"c": ("a", "b"), "d": ("a",), "e": ("c", "d"), "f": ("e",), "g": ("f", "a")}
    nodes = [node(name, "phase", parameters={"name": name}, needs=needs.get(name, ())) for name in wave_of]
    result = gathered(*nodes, agents=(phase,), budget=Budget(timeout_s=20))
    assert result.outcome == "success"
    assert arrived[:2] == ["a", "b"]
    assert arrived.index("e") > max(arrived.index("c"), arrived.index("d"))
    assert arrived[-2:] == ["f", "g"]


def test_every_descent_is_a_decision():
    planner, _ = composing("planner", Plan(nodes=(node("x"),)))

    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start(Plan(nodes=(node("a", "planner"),)))
        await orchestrator.engine.result(run)
        return await decisions(orchestrator, run)

    assert orchestrated(square, planner, work=work) == [("a", "descend")]
