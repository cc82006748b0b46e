"""What to do about a failure: a table of situations."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from retinue.contract.definition import Definition, Skill
from retinue.contract.fault import Fault
from retinue.contract.plan import Binding, Candidate, Delegation
from retinue.contract.result import Outcome, Result
from retinue.contract.task import Question
from retinue.errors import FaultCode
from retinue.orchestration.recovery import MAX_MOVES, Accept, Ask, GiveUp, Move, Reroute, Situation, open_moves

CHOSEN = Candidate(agent="first", skill="read", score=2, share=0.4)
OTHER = Candidate(agent="second", skill="read", score=1, share=0.3)
LISTS = Definition(
    name="first",
    description="Knows books.",
    skills=(
        Skill(name="read", description="Reads a book.", input_schema={"properties": {"book": {"type": "string"}}}),
        Skill(
            name="list",
            description="Lists what books there are on a shelf.",
            input_schema={},
            examples=("which books are there", "list the books", "show me the books"),
        ),
    ),
)
"""An agent with a second skill, to which a more general request may go."""


def node(*alternatives: Candidate) -> Delegation:
    return Delegation(id="n1", agent="first", skill="read", alternatives=alternatives, chosen=CHOSEN)


def failed(code: FaultCode = "internal_error") -> Result:
    return Result(task_id="t", agent="first", outcome="failed", fault=Fault(code=code, message="It broke."))


def skill(**facts: object) -> Skill:
    return Skill(name="read", description="Reads.", input_schema={}, **facts)  # pyright: ignore[reportArgumentType] - test facts


def situation(
    *,
    tried: tuple[tuple[str, str], ...] = (("first", "read"),),
    rounds: int = 0,
    skill_of: Callable[[Candidate], Skill | None] = lambda _: skill(),
    callable_as: Callable[[Candidate], bool] = lambda _: True,
    definition_of: Callable[[str], Definition | None] | None = None,
    is_unreliable: Callable[[str, str | None], bool] = lambda _agent, _skill: False,
    asked: tuple[str, ...] = (),
) -> Situation:
    def alone(name: str) -> Definition | None:
        found = skill_of(Candidate(agent=name, skill="read", score=0, share=0))
        return found and Definition(name=name, description="Reads.", skills=(found,))

    return Situation(
        tried=tried,
        rounds=rounds,
        definition_of=definition_of or alone,
        request_to=lambda wanted, one: put_to(wanted, one) if callable_as(one) else None,
        is_unreliable=is_unreliable,
        question_ids=asked,
    )


def decide(wanted: Delegation, result: Result, given: Situation) -> Move:
    return next(open_moves(wanted, result, given))


def put_to(wanted: Delegation, one: Candidate) -> Delegation:
    return wanted.model_copy(update={"agent": one.agent, "skill": one.skill})


@pytest.mark.parametrize("outcome", ["success", "partial"])
def test_what_is_useful_is_accepted(outcome: Outcome):
    assert decide(node(OTHER), Result(task_id="t", agent="x", outcome=outcome), situation()) == Accept()


@pytest.mark.requirement("A14", "C29")
def test_a_failure_goes_to_the_first_alternative_that_nothing_speaks_against():
    move = decide(node(CHOSEN, OTHER), failed(), situation())
    assert isinstance(move, Reroute)
    assert move.candidate == OTHER
    assert "`internal_error`" in move.reason


@pytest.mark.requirement("P13", "P14")
@pytest.mark.parametrize("code", ["access_denied", "unauthenticated", "budget_exceeded", "canceled"])
def test_some_faults_are_no_reason_to_ask_somebody_else(code: FaultCode):
    assert isinstance(decide(node(OTHER), failed(code), situation()), GiveUp)


@pytest.mark.parametrize(
    ("candidate", "given", "why"),
    [
        (OTHER, situation(tried=(("first", "read"), ("second", "read"))), "was tried"),
        (OTHER.model_copy(update={"share": 0.1}), situation(), "fits too badly"),
        (OTHER, situation(skill_of=lambda one: None if one.agent == "second" else skill()), "is not available"),
        (
            OTHER,
            situation(skill_of=lambda one: skill(unavailable="later") if one.agent == "second" else skill()),
            "is not available",
        ),
        (
            OTHER,
            situation(skill_of=lambda one: skill(effects=("write" if one.agent == "second" else "read",))),
            "would touch more",
        ),
        (
            OTHER,  # an agent that does not say what it touches may touch everything
            situation(skill_of=lambda one: skill(effects=None if one.agent == "second" else ("read",))),
            "would touch more",
        ),
        (OTHER, situation(is_unreliable=lambda agent, _: agent == "second"), "failed too often"),
        (OTHER, situation(callable_as=lambda _: False), "needs to know more"),
    ],
)
def test_an_alternative_may_be_refused_with_its_reason(candidate: Candidate, given: Situation, why: str):
    move = decide(node(candidate), failed(), given)
    assert isinstance(move, GiveUp)
    assert why in move.reason


@pytest.mark.parametrize(
    ("facts", "elsewhere"),
    [({}, False), ({"instructions": "Read it."}, True), ({"instructions": "Think.", "tools": ()}, False)],
)
def test_whoever_follows_instructions_may_be_replaced_by_one_that_reads(facts: dict[str, Any], elsewhere: bool):
    """Its skills say nothing of effects; its tools do."""

    def definition_of(name: str) -> Definition:
        if name == "second":
            return Definition(name=name, description="Reads.", skills=(skill(effects=("read",)),))
        return Definition(name=name, description="Reads.", skills=(skill(effects=()),), **facts)

    given = situation(definition_of=definition_of)
    assert isinstance(decide(node(CHOSEN, OTHER), failed(), given), Reroute) is elsewhere


@pytest.mark.parametrize(
    ("code", "elsewhere"),
    [("timeout", False), ("unavailable", False), ("missing_file", False), ("output_invalid", True)],
)
def test_another_skill_of_an_agent_that_is_down_is_no_alternative(code: FaultCode, elsewhere: bool):
    same = Candidate(agent="first", skill="list", score=1, share=0.3)
    assert isinstance(decide(node(same), failed(code), situation(definition_of=lambda _: LISTS)), Reroute) is elsewhere


@pytest.mark.parametrize(("share", "elsewhere"), [(0.9, True), (0.6, False)])
def test_who_found_nothing_is_followed_only_by_one_that_fits_about_as_well(share: float, elsewhere: bool):
    asked = node(OTHER)
    assert asked.chosen is not None
    other = OTHER.model_copy(update={"share": share * asked.chosen.share})
    assert isinstance(decide(node(other), failed("missing_file"), situation()), Reroute) is elsewhere


def test_a_question_is_asked_a_few_times_and_then_no_more():
    waiting = Result(task_id="t", agent="first", lifecycle="input_required", questions=(Question(id="q", text="?"),))
    assert isinstance(decide(node(), waiting, situation(rounds=2)), Ask)
    assert isinstance(decide(node(), waiting, situation(rounds=3)), GiveUp)
    nothing = waiting.model_copy(update={"questions": ()})
    assert isinstance(decide(node(), nothing, situation()), GiveUp)


def test_a_stopped_node_is_not_started_elsewhere():
    stopped = Result(task_id="t", agent="first", outcome="canceled")
    assert isinstance(decide(node(OTHER), stopped, situation()), GiveUp)


def test_a_failure_without_a_fault_counts_as_internal():
    move = decide(node(), Result(task_id="t", agent="first", outcome="error"), situation())
    assert isinstance(move, GiveUp)
    assert "internal_error" in move.reason


# In more general words (P14, C47).


def asked(words: str = "which books are there since 1999", said: str = "since 1999") -> Delegation:
    bound = (
        Binding(parameter="question", value=words, how="said", words=words),
        Binding(parameter="year", value=1999, how="said", words=said),
    )
    return node().model_copy(update={"instruction": words, "bindings": bound, "parameters": {"year": 1999}})


def lists(**facts: object) -> Situation:
    return situation(definition_of=lambda name: LISTS if name == "first" else None, **facts)  # pyright: ignore[reportArgumentType] - test facts


@pytest.mark.requirement("P12", "P14", "C47", "A14")
@pytest.mark.parametrize("code", ["internal_error", "output_invalid", "invalid_input", "timeout"])
def test_a_skill_that_keeps_failing_leads_to_a_more_general_request_to_the_same_agent(code: FaultCode):
    move = decide(asked(), failed(code), lists())
    assert isinstance(move, Reroute)
    assert (move.request.agent, move.request.skill, move.request.instruction) == (
        "first",
        "list",
        "which books are there",
    )
    assert move.left_out == ("since 1999",)
    assert "without 'since 1999'" in move.reason


@pytest.mark.requirement("P11", "P13")
@pytest.mark.parametrize("code", ["missing_file", "parse_error", "network_error"])
def test_what_was_not_found_is_not_looked_for_in_broader_words(code: FaultCode):
    move = decide(asked(), failed(code), lists())
    assert isinstance(move, GiveUp)
    assert f"would end with `{code}` too" in move.reason


def test_a_missing_program_is_not_got_round_by_other_words():
    fault = Fault(code="unavailable", message="There is no `git`.", retryable=False)
    move = decide(asked(), failed().model_copy(update={"fault": fault}), lists())
    assert isinstance(move, GiveUp)


@pytest.mark.requirement("C47", "P13")
def test_a_general_request_that_fits_nothing_else_is_not_made():
    move = decide(asked("paint the fence since 1999"), failed(), lists())
    assert isinstance(move, GiveUp)
    assert "does nothing like it" in move.reason


def always(agent: str, skill: str | None) -> bool:
    return bool(agent or skill)


def never(wanted: Delegation, one: Candidate) -> None:
    del wanted, one


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (lists(tried=(("first", "read"), ("first", "list"))), "has no other skill"),
        (replace(lists(), is_unreliable=always), "failed too often"),
        (replace(lists(), request_to=never), "needs to know more"),
    ],
)
def test_a_general_request_may_be_refused_with_its_reason(given: Situation, why: str):
    move = decide(asked(), failed(), given)
    assert isinstance(move, GiveUp)
    assert why in move.reason


def test_who_asked_for_a_change_is_not_given_an_answer_instead():
    writes = LISTS.skills[0].model_copy(update={"effects": ("read", "write")})
    given = situation(definition_of=lambda _: LISTS.model_copy(update={"skills": (writes, *LISTS.skills[1:])}))
    move = decide(asked(), failed("invalid_input"), given)
    assert isinstance(move, GiveUp)
    assert "a change was asked for" in move.reason


def test_a_request_that_nothing_limits_cannot_be_more_general():
    move = decide(node(), failed(), lists())
    assert isinstance(move, GiveUp)
    assert "nothing more general" in move.reason


def test_a_skill_of_the_same_agent_is_asked_before_another_agent():
    same = Candidate(agent="first", skill="list", score=0.5, share=0.3)
    move = decide(node(OTHER, same), failed(), lists())
    assert isinstance(move, Reroute)
    assert move.candidate == same


# The same again, a person, and the end.


@pytest.mark.requirement("P11", "C6")
def test_a_refused_value_is_not_told_to_somebody_else():
    fault = Fault(code="invalid_input", message="There is no such year.", path="/parameters/year")
    wanted = asked().model_copy(update={"alternatives": (OTHER,)})
    move = decide(wanted, failed().model_copy(update={"fault": fault}), situation())
    assert isinstance(move, GiveUp)
    assert "would be told the same `year`" in move.reason


@pytest.mark.requirement("A14")
def test_a_person_may_say_a_refused_parameter_otherwise_but_once():
    fault = Fault(code="missing_file", message="There is no book `x`.", path="/parameters/book", hint="See the shelf.")
    result = failed().model_copy(update={"fault": fault})
    wanted = node().model_copy(update={"parameters": {"book": "x"}})
    move = decide(wanted, result, lists())
    assert isinstance(move, Ask)
    (question,) = move.questions
    assert (question.id, question.parameter) == ("other_book", "book")
    assert question.text == "There is no book `x`. See the shelf. What should `book` be instead?"
    assert isinstance(decide(wanted, result, lists(asked=("other_book",))), GiveUp)
    assert isinstance(decide(wanted, result, lists(rounds=3)), GiveUp)


def test_a_node_is_put_to_a_few_others_and_then_no_more():
    tried = (("first", "read"), *((f"other_{number}", "read") for number in range(MAX_MOVES)))
    move = decide(node(OTHER), failed(), situation(tried=tried))
    assert isinstance(move, GiveUp)
    assert f"put to {MAX_MOVES} others already" in move.reason


def test_when_the_time_of_the_run_is_over_nobody_else_is_asked():
    fault = Fault(code="timeout", message="Too late.", detail={"bound": "run.budget.timeout_s"})
    assert isinstance(decide(node(OTHER), failed().model_copy(update={"fault": fault}), situation()), GiveUp)


@pytest.mark.requirement("P13")
def test_words_that_the_next_one_has_no_use_for_are_named():
    wanted = asked().model_copy(update={"alternatives": (OTHER,)})

    def bare(one: Delegation, candidate: Candidate) -> Delegation:
        return put_to(one, candidate).model_copy(update={"parameters": {}, "bindings": ()})

    facts = situation(definition_of=lambda name: LISTS.model_copy(update={"name": name}))
    move = decide(wanted, failed(), replace(facts, request_to=bare))
    assert isinstance(move, Reroute)
    assert move.left_out == ("since 1999",)
    assert "has no use for 'since 1999'" in move.reason
