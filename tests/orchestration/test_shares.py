"""A budget of tokens shared out, failure policies by name, and figures against targets."""

from typing import Any

import pytest

from retinue.agents.boundary.policy import POLICY, Retry, Stop
from retinue.contract.definition import Definition, Skill
from retinue.contract.fault import Fault
from retinue.contract.plan import Delegation, Dropped, Expected, Plan
from retinue.contract.result import Artifact, Result
from retinue.contract.task import Limits
from retinue.errors import MissingFile, NetworkError, Unavailable
from retinue.orchestration.budget import allocate_tokens, orchestrator_share
from retinue.orchestration.handoff import Savings
from retinue.orchestration.planning import allocate_models, allocations_of, default_allocator
from retinue.orchestration.supervise import POLICIES, RESEARCH, WORKER
from retinue.orchestration.synthesise import compare_to_targets


def definition(name: str, **facts: Any) -> Definition:
    thinks = facts.pop("thinks", "must")
    skill = Skill(name=name, description="Does it.", input_schema={"type": "object"}, thinks=thinks)
    said: dict[str, Any] = {"instructions": "Do it." if thinks == "must" else None, **facts}
    return Definition(name=name, description="Does it.", skills=(skill,), **said)


DEFINITIONS = {
    "worker": definition("worker"),
    "supervisor": definition("supervisor", composes=True),
    "counter": definition("counter", thinks="never"),
    "clerk": definition("clerk", thinks="can"),
    "assessor": definition("assessor", thinks="by_others", composes=True),
}


def node(name: str, agent: str = "worker", **facts: Any) -> Delegation:
    return Delegation(id=name, agent=agent, **facts)


@pytest.mark.requirement("H26")
def test_of_a_hundred_thousand_tokens_each_gets_what_the_practice_gives():
    plan = Plan(nodes=(node("s", "supervisor"), *(node(f"w{number}") for number in range(4)), node("c", "counter")))
    bounds = [one.limits.tokens for one in allocate_tokens(plan, 100_000, DEFINITIONS).nodes]
    assert bounds == [20_000, 10_000, 10_000, 10_000, 10_000, None]
    assert orchestrator_share(100_000) == 30_000


@pytest.mark.requirement("H26", "A17")
def test_whose_own_code_asks_a_model_has_a_share_too_and_who_has_others_think_has_a_supervisors():
    plan = Plan(nodes=(node("s", "assessor"), node("w"), node("k", "clerk"), node("c", "counter")))
    assert [one.limits.tokens for one in allocate_tokens(plan, 100_000, DEFINITIONS).nodes] == [
        20_000,
        20_000,
        20_000,
        None,
    ]
    own = Skill(name="options", description="Weighs.", input_schema={"type": "object"}, thinks="must")
    both = DEFINITIONS["assessor"].model_copy(update={"skills": (*DEFINITIONS["assessor"].skills, own)})
    plan = Plan(nodes=(node("o", "assessor", skill="options"), node("x", "assessor", skill="gone"), node("w")))
    shares = [one.limits.tokens for one in allocate_tokens(plan, 100_000, {**DEFINITIONS, "assessor": both}).nodes]
    assert shares == [30_000, None, 30_000]  # it thinks itself; one that is not there thinks nothing


@pytest.mark.requirement("H26", "C43")
@pytest.mark.parametrize(("mode", "more"), [("standard", 0), ("think", 1_000), ("think_hard", 2_000), ("ultrathink", 4_000)])  # fmt: skip
def test_a_thinking_mode_adds_to_a_share(mode: Any, more: int):
    plan = Plan(nodes=(node("a", thinking=mode), node("b")))
    assert [one.limits.tokens for one in allocate_tokens(plan, 20_000, DEFINITIONS).nodes] == [6_000 + more, 6_000]


def test_a_single_delegation_has_the_whole_budget():
    plan = Plan(nodes=(node("a"),))
    assert allocate_tokens(plan, 10_000, DEFINITIONS) is plan


def test_what_a_plan_says_is_kept_and_without_a_budget_nothing_is_bounded():
    plan = Plan(nodes=(node("a", limits=Limits(tokens=7)), node("b")))
    assert [one.limits.tokens for one in allocate_tokens(plan, 10_000, DEFINITIONS).nodes] == [7, 3_000]
    assert allocate_tokens(plan, None, DEFINITIONS) is plan
    deterministic = Plan(nodes=(node("c", "counter"),))
    assert allocate_tokens(deterministic, 10_000, DEFINITIONS) is deterministic


# Policies


@pytest.mark.requirement("H27")
def test_a_worker_has_two_attempts_two_seconds_apart_and_five_minutes():
    fault = Fault.from_error(Unavailable("down", hint="wait"))
    assert WORKER.timeout_s == 300
    assert WORKER.next_move(fault, retries=0) == Retry(2.0)
    assert isinstance(WORKER.next_move(fault, retries=1), Stop)


@pytest.mark.requirement("H27", "C29")
def test_research_tries_the_network_three_times_a_file_twice_and_a_search_once():
    def waits(error: Exception) -> list[float]:
        found: list[float] = []
        while isinstance(move := RESEARCH.next_move(Fault.from_error(error), retries=len(found)), Retry):
            found.append(move.wait_s)
        return found

    assert waits(NetworkError("cut", hint="again")) == [1.0, 2.0, 4.0]
    assert waits(MissingFile("gone", path="a.md")) == [0.5, 1.0]
    assert waits(Unavailable("no search", hint="later")) == [1.0]
    assert POLICY.next_move(Fault.from_error(MissingFile("gone", path="a.md")), retries=0) == Stop("`missing_file` is not tried again")  # fmt: skip


def test_policies_are_told_apart_by_what_they_change():
    assert set(POLICIES) == {"usual", "worker", "research"}
    assert POLICIES["usual"].differences() == {}
    assert WORKER.differences() == {"max_retries": 1, "first_wait_s": 2.0, "timeout_s": 300.0}
    rules = RESEARCH.differences()["rules"]
    assert rules["missing_file"] == {"action": "backoff", "retries": 2, "first_wait_s": 0.5, "insists": True}


# Targets


@pytest.mark.requirement("H28")
def test_figures_are_measured_and_compared_and_what_was_not_done_has_none():
    expects = (Expected(path="a.md"), Expected(path="b.md"))
    plan = Plan(nodes=(node("a", expects=expects), node("b")), dropped=(Dropped(clause="sing", reason="nobody"),))
    artifact = Artifact(path="a.md", size=10)
    results = {
        "a": Result(task_id="t", agent="x", outcome="success", duration_ns=600, artifacts=(artifact,)),
        "b": Result(task_id="t", agent="x", outcome="success", duration_ns=400),
    }
    savings = Savings("words", full=1_000, handed_on=50, edges=2)
    said = compare_to_targets(plan, results, savings=savings, duration_ns=700)
    assert {name: (figure["measured"], figure["verdict"]) for name, figure in said.items()} == {
        "delegation": (0.6667, "below"),
        "files": (0.5, "critical"),
        "reduction": (0.95, "met"),
        "speed_up": (0.3, "below"),
    }
    alone = Plan(nodes=(node("b"),))
    few = compare_to_targets(alone, {"b": results["b"]}, savings=Savings("words"), duration_ns=None)
    assert list(few) == ["delegation"]
    assert compare_to_targets(Plan(), {}, savings=Savings("words"), duration_ns=5) == {}


# Models


@pytest.mark.requirement("A16", "A31")
def test_every_agent_that_thinks_gets_a_model_with_the_score_shown():
    plan = Plan(nodes=(node("a", instruction="say hello"), node("b", instruction="debug and refactor it, then finally look"), node("c", "counter"), node("d", model="local:mine")))  # fmt: skip
    given = allocate_models(plan, DEFINITIONS, default_allocator(None))
    assert [one.model for one in given.nodes] == ["small", "large", None, "local:mine"]
    notes = allocations_of(given)
    assert notes["a"]["score"] == 0
    assert notes["b"]["score"] == 3
    assert any("debug" in reason for reason in notes["b"]["reasons"])
    assert notes["d"] == {"model": "local:mine", "why": "the plan names it"}
    others = Plan(nodes=(node("k", "clerk"), node("s", "assessor"), node("t", "assessor", model="large")))
    assert [one.model for one in allocate_models(others, DEFINITIONS, default_allocator(None)).nodes] == [
        "small",
        None,
        "large",
    ]
    assert allocate_models(Plan(nodes=(node("c", "counter"),)), DEFINITIONS, default_allocator(None)).extras == {}
    assert allocations_of(Plan(extras={"allocation": "rubbish"})) == {}
