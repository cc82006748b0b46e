"""Bounds are called what they are called on the command line; what agents say stays theirs."""

import os
from pathlib import Path

import pytest

from retinue.cli.delivery import parameters_of, words_of
from retinue.cli.output import reword, reword_result
from retinue.contract.fault import Fault
from retinue.contract.result import Attempt, Result, Warned
from tests.cli.conftest import Give

LATE = Fault(
    code="timeout",
    message="`a` did not end within 1 s (`run.budget.timeout_s`).",
    hint="Allow more time by `run.budget.timeout_s`, or ask for less.",
    suggestions=("Raise `run.budget.timeout_s`.", "Ask for a part of it."),
)


@pytest.mark.requirement("C21")
def test_a_bound_has_its_name_of_here_in_the_whole_result() -> None:
    failure = {"code": "timeout", "message": LATE.message, "hint": LATE.hint, "node": "n1"}
    said = reword_result(
        Result(
            task_id="t",
            agent="a",
            outcome="error",
            fault=LATE,
            attempts=(Attempt(number=1, duration_ns=1, fault=LATE), Attempt(number=2, duration_ns=1)),
            data={"failures": [failure, 3], "answer": []},
            content=f"- A: {LATE.message} {LATE.hint}\n- quoted: `run.budget.timeout_s`",
            warnings=(Warned(type="missing_data", message=f"A: {LATE.message}", recovery=LATE.hint),),
        )
    )
    assert said.fault is not None
    assert said.fault.message == "`a` did not end within 1 s (`--timeout`)."
    assert said.fault.suggestions == ("Raise `--timeout`.", "Ask for a part of it.")
    assert said.attempts[0].fault == said.fault
    assert said.data["failures"][0]["hint"] == "Allow more time by `--timeout`, or ask for less."
    assert said.data["failures"][1] == 3
    assert said.content.endswith("- quoted: `run.budget.timeout_s`")  # somebody's words about it
    assert said.content.count("--timeout") == 2
    assert said.warnings[0].message == "A: `a` did not end within 1 s (`--timeout`)."


def test_a_result_without_such_a_bound_is_left_alone() -> None:
    result = Result(task_id="t", agent="a", outcome="success", data={"failures": []}, content="`run.budget.timeout_s`")
    assert reword_result(result) is result


def test_a_budget_says_which_options_raise_it(retinue: Give, team: Path) -> None:
    said = retinue("run", "--json", "--max-nodes", "1", "sing a loud song and print a newspaper")
    assert said.code == 7
    assert "Raise `--max-nodes`" in said.data["data"]["failures"][0]["hint"]


@pytest.mark.parametrize(("said", "here"), [
    ("Raise `task.limits.tokens`, or ask for less.", "Raise `--max-tokens`, or its own limit in the plan, or ask"),
    ("Leave `run.budget.cost_usd` out.", "Leave `--max-cost` out."),
    ("Raise the deadline, or ask for less.", "Raise `--timeout`, or ask for less."),
    ("(`orchestrator.cost_usd`)", "(the planner's part of `--max-cost`)"),
])  # fmt: skip
def test_bounds_of_models_are_options_here(said: str, here: str) -> None:
    assert reword(said).startswith(here)


def test_a_model_that_cannot_be_is_refused_before_anybody_is_asked(retinue: Give, team: Path) -> None:
    for words in (("run", "sing a loud song"), ("ask", "singer", "sing"), ("plan", "sing a loud song")):
        said = retinue(*words, "--model", "antropic:claude-haiku-4-5")
        assert said.code == 2
        assert "Did you mean `anthropic:claude-haiku-4-5`" in said.err


def test_words_are_what_was_typed_whatever_the_locale_made_of_them() -> None:
    typed = os.fsdecode("José".encode())
    assert words_of((typed, "x")) == "José x"
    assert parameters_of((f"name={typed}",), None) == ({"name": "José"}, {})
    assert parameters_of((), f'{{"name": "{typed}"}}') == ({}, {"name": "José"})
    for wrong in (os.fsdecode(b"caf\xe9"), "\ud800"):  # no UTF-8: whoever reads it says so
        assert words_of((wrong,)) == wrong
