"""Decisions in a run that goes on: what is done about failures, and that every decision is told with its reason."""

from typing import Any

import pytest
from pydantic import BaseModel

from retinue.agents.python import agent, skill
from retinue.contract.event import Decision
from retinue.contract.plan import Candidate, Delegation, Dropped, Plan
from retinue.contract.result import Result
from retinue.contract.task import Answer, Limits, Question
from retinue.errors import MissingFile
from retinue.orchestration.orchestrator import Orchestrator
from tests.orchestration.parts import down, node, orchestrated, square

ONCE = Limits(retries=0)


class Listed(BaseModel):
    books: list[str]


@agent
class Library:
    """Knows the books of a library. Use when books are asked for. Returns titles."""

    @skill(examples=("read the books of a year", "which books are there since 1999", "books since 2001"))
    async def read_since(self, question: str, since: int) -> Listed:
        """Reads the catalogue of books since a year.

        Args:
            question: What is asked.
            since: The year from which on.
        """
        raise RuntimeError(f"the catalogue of {since} is torn")

    @skill(examples=("which books are there", "list the books", "what books do you have"))
    async def list_books(self, question: str) -> Listed:
        """Lists the books that are there.

        Args:
            question: What is asked.
        """
        return Listed(books=["Emma"])


def chain(*names: str) -> Plan:
    """Nodes one after the other, whatever becomes of the one before."""
    nodes = [
        node(
            f"n{place}",
            name,
            needs=(f"n{place - 1}",) if place > 1 else (),
            optional=True,
            limits=ONCE,
            parameters={"number": place},
        )
        for place, name in enumerate(names, 1)
    ]
    return Plan(nodes=tuple(nodes))


def told(*agents: Any, plan: Plan, answerer: Any = None) -> tuple[list[tuple[str, str]], Result, list[Decision]]:
    """The moves, the answer, and every decision of a run of `plan`, but for the boundary's own about its attempts."""

    async def work(orchestrator: Orchestrator) -> Any:
        run = await orchestrator.start(plan)
        return await orchestrator.engine.result(run), await made(orchestrator, run)

    result, said = orchestrated(*agents, work=work, answerer=answerer)
    return [(event_node, one.move) for event_node, one in said], result, [one for _, one in said]


async def made(orchestrator: Orchestrator, run: str) -> list[tuple[str, Decision]]:
    events = [event async for event in orchestrator.engine.events(run, follow=False)]
    found = [(event.node, event.body) for event in events if isinstance(event.body, Decision)]
    return [(event_node, one) for event_node, one in found if one.move != "stop"]


@pytest.mark.requirement("P12", "P15")
def test_who_failed_three_times_in_a_row_is_not_called_a_fourth_time():
    moves, result, said = told(down, plan=chain(*["down"] * 5))
    assert moves == [
        ("n1", "give_up"), ("n2", "give_up"), ("n3", "open_circuit"), ("n3", "give_up"),
        ("n4", "skip_call"), ("n4", "give_up"), ("n5", "skip_call"), ("n5", "give_up"),
    ]  # fmt: skip
    assert all(one.reason for one in said)
    assert result.extras["calls"] == 3
    fourth = result.data["failures"][3]
    assert fourth["code"] == "unavailable"
    assert fourth["message"] == (
        "`down` is not called: 3 calls in a row failed until `n3`, the last with `network_error`."
    )


@pytest.mark.requirement("P12")
def test_after_enough_other_calls_it_is_tried_again():
    moves, result, _ = told(down, square, plan=chain(*["down"] * 3, *["square"] * 10, "down", "down"))
    assert [move for move in moves if move[1] != "give_up"] == [
        ("n3", "open_circuit"), ("n14", "probe_circuit"), ("n14", "open_circuit"), ("n15", "skip_call"),
    ]  # fmt: skip
    assert result.extras["calls"] == 14


@pytest.mark.requirement("P12", "A14")
def test_a_call_that_is_left_out_is_reconsidered_like_a_failure():
    plan = chain(*["down"] * 4)
    other = Candidate(agent="square", skill="square", score=1, share=0.9)
    last = plan.nodes[3].model_copy(update={"alternatives": (other,), "instruction": "square 5"})
    moves, result, _ = told(down, square, plan=plan.model_copy(update={"nodes": (*plan.nodes[:3], last)}))
    assert moves[-2:] == [("n4", "skip_call"), ("n4", "elsewhere")]
    assert result.data["answer"][0]["agent"] == "square"


@pytest.mark.requirement("P12", "P14", "P15", "C47")
def test_a_broken_skill_leads_to_a_more_general_request_and_the_answer_says_so():
    async def work(orchestrator: Orchestrator) -> Any:
        plan = orchestrator.plan("which books are there since 1999?")
        alone = plan.nodes[0].model_copy(update={"alternatives": ()})
        run = await orchestrator.start(plan.model_copy(update={"nodes": (alone,)}))
        return plan, await orchestrator.engine.result(run), await made(orchestrator, run)

    plan, result, said = orchestrated(Library, work=work)
    assert plan.nodes[0].skill == "read_since"
    assert [(event_node, one.move) for event_node, one in said] == [("n1", "choose"), ("n1", "rephrase")]
    assert result.outcome == "partial"
    assert result.data["answer"][0]["skill"] == "list_books"
    assert "Emma" in result.content
    (warning,) = result.warnings
    assert warning.type == "degraded_analysis"
    assert warning.message == "It was asked more generally, without '1999'."


@agent(description="Opens a book.")
async def opener(book: str) -> Listed:
    """Opens a book."""
    if book != "Emma":
        raise MissingFile(f"There is no book `{book}`.", path="/parameters/book", hint="There is `Emma`.")
    return Listed(books=[book])


@pytest.mark.requirement("A14")
@pytest.mark.parametrize("somebody", [True, False])
def test_a_person_may_say_otherwise_what_was_refused(somebody: bool):
    async def answerer(question: Question) -> Answer | None:
        assert question.parameter == "book"
        return Answer(question_id=question.id, value="Emma") if somebody else None

    plan = Plan(nodes=(Delegation(id="n1", agent="opener", skill="opener", parameters={"book": "Ema"}),))
    moves, result, _ = told(opener, plan=plan, answerer=answerer)
    assert moves[0] == ("n1", "ask")
    assert result.outcome == ("success" if somebody else "error")
    if not somebody:
        assert result.fault is not None
        assert result.fault.code == "missing_file"


@pytest.mark.requirement("P15", "C29")
def test_who_was_chosen_and_what_was_dropped_is_told_first_with_the_reason():
    chosen = Candidate(agent="square", skill="square", score=2, share=0.5, reason="shares square")
    other = Candidate(agent="down", skill="down", score=1, share=0.25)
    plan = Plan(
        nodes=(node("n1", chosen=chosen, alternatives=(other,)), node("n2")),
        dropped=(Dropped(clause="bake a cake", reason="Nobody bakes."),),
    )
    moves, _, said = told(square, down, plan=plan)
    assert moves == [("n1", "choose"), ("", "drop")]  # nobody chose for `n2`
    assert said[0].reason == "`square.square` fits to 0.50: it shares square. Next: `down.down` to 0.25."
    assert said[0].facts == {"agent": "square", "skill": "square", "share": 0.5}
    assert said[1].reason == "'bake a cake' is left out. Nobody bakes."


def test_a_plan_made_by_hand_tells_no_choices():
    moves, _, _ = told(square, plan=Plan(nodes=(node("n1"), node("n2"))))
    assert moves == []
