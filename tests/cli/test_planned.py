"""Who makes the plan, as a person sees it: `--planner`, what is told, and what `--explain` shows."""

import json
from pathlib import Path
from typing import Any

import pytest

from retinue.cli.screen import LineScreen
from retinue.llm.port import Request
from retinue.llm.scripted import Line
from retinue.orchestration import rate_limits
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents, use_models

GOAL = "write a poem about the sea and tidy a wooden house"
DRAFT: dict[str, Any] = {
    "move": "delegate",
    "reason": "It is for the poet alone.",
    "nodes": [{"id": "a", "agent": "poet", "skill": "poet", "instruction": "write a poem about the sea", "needs": []}],
    "left_out": [{"clause": "tidy a wooden house", "reason": "There is no house here."}],
}


def says(draft: Line) -> Any:
    def following(request: Request) -> Line:
        return draft if request.shape is not None and request.shape.name == "plan" else "Roses are red."

    return following


@pytest.fixture
def thinkers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    add_agents(folder)

    def with_draft(draft: Line) -> Any:
        found = use_models(monkeypatch, says(draft), default="medium")
        monkeypatch.setenv("RETINUE_RUN_PLANNER", "auto")
        return found

    return with_draft


@pytest.mark.requirement("P20", "B19")
def test_a_configured_model_plans_and_the_explanation_says_so(retinue: Give, thinkers: Any) -> None:
    models = thinkers(DRAFT)
    said = retinue("run", "--agent", "poet", "--agent", "housekeeper", GOAL, "--explain", "--choose", "auto")
    assert said.code == 0
    assert "Roses are red." in said.out
    assert "Who made the plan" in said.out
    assert "It is for the poet alone." in said.out
    assert "There is no house here." in said.out
    assert [len(models[tier].requests) for tier in ("small", "medium")] == [2, 0]  # to plan, and for the poem


def test_the_rules_plan_when_they_are_asked_to_and_no_model_is(retinue: Give, thinkers: Any) -> None:
    models = thinkers(DRAFT)
    said = retinue("plan", "--planner", "rules", "--agent", "poet", "write a poem about the sea", "--json")
    assert "planning" not in said.data["extras"]
    assert all(not model.requests for model in models.values())


def test_a_plan_of_a_model_is_shown_saved_and_run_without_being_paid_twice(
    retinue: Give, thinkers: Any, folder: Path
) -> None:
    thinkers(DRAFT)
    said = retinue("plan", "--agent", "poet", GOAL, "--output", "plan.json")
    assert said.code == 0
    written = json.loads(Path("plan.json").read_text(encoding="utf-8"))
    assert written["extras"]["planning"]["by"] == "model"
    assert written["extras"]["planning"]["usage"]["requests"] == 1
    ran = retinue("run", "--plan", "plan.json", "--json", "--choose", "auto")
    assert ran.data["usage"]["requests"] == 1
    assert folder


def test_what_planning_cost_is_shown_of_a_run_that_has_not_ended_too(retinue: Give, thinkers: Any) -> None:
    thinkers(DRAFT)
    run = retinue("run", "--detach", "--agent", "poet", GOAL, "--choose", "auto").out.strip()
    queued = retinue("runs", "show", run, "--json").data
    assert queued["usage"]["requests"] == 1
    assert f"${queued['usage']['cost']['usd']:.4f}" in retinue("runs", "show", run).err
    retinue("runs", "cancel", run)
    assert retinue("runs", "show", run, "--json").data["result"]["usage"] == queued["usage"]
    retinue("runs", "resume", run)
    ended = retinue("runs", "show", run, "--json").data
    assert (ended["outcome"], ended["result"]["usage"]["requests"], ended["steps"][0]["usage"]["requests"]) == (
        "partial",
        2,
        1,
    )


def test_who_waits_for_a_rate_limit_to_plan_or_to_work_is_told(
    retinue: Give, thinkers: Any, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    thinkers(DRAFT)
    settings = '[rate_limits.providers]\nscripted = "1/s"\n[models.base_url]\nscripted = "http://localhost/"\n'
    (home / "config").mkdir(parents=True, exist_ok=True)
    (home / "config" / "config.toml").write_text(settings, encoding="utf-8")
    monkeypatch.setattr(rate_limits, "_QUIET_S", 0.3)
    monkeypatch.setattr(LineScreen.__init__, "__kwdefaults__", {"quiet_s": 0.0})
    text = "Waiting: the limit of provider `scripted` is 1/s."
    goal = ("run", "--agent", "poet", GOAL, "--choose", "auto")
    first, second = (retinue(*goal).err.splitlines() for _ in range(2))
    assert text not in first
    assert text in second
    assert any(line.endswith(f"poet works: {text}") for line in first)
    assert text not in retinue(*goal, "--quiet").err


def test_a_model_that_plans_badly_is_told_of_and_the_rules_go_on(retinue: Give, thinkers: Any) -> None:
    thinkers("I am only a poet.")
    said = retinue("run", "--agent", "poet", "write a poem about the sea", "--choose", "auto")
    assert said.code == 0
    assert "The rules made the plan, since `scripted:small` made none" in said.err
    assert "Roses are red." in said.out


@pytest.mark.requirement("P20")
def test_a_question_back_ends_with_its_exit_code_when_nobody_is_there(retinue: Give, thinkers: Any) -> None:
    thinkers({"move": "clarify", "reason": "which sea", "text": "Which sea do you mean?"})
    said = retinue("run", "--agent", "poet", "write a poem about the sea")
    assert said.code == 9
    assert "Which sea do you mean?" in said.out + said.err


def test_without_a_model_one_that_is_insisted_on_is_an_error(retinue: Give, folder: Path) -> None:
    said = retinue("run", "--planner", "model", "how many commits are there?")
    assert said.code != 0
    assert "No model is configured" in said.err
    assert folder


@pytest.mark.requirement("C43", "A31")
def test_the_mode_and_the_models_of_a_plan_are_explained(retinue: Give, thinkers: Any) -> None:
    thinkers(DRAFT)
    said = retinue("run", "--agent", "poet", "think hard about a poem of the sea", "--explain", "--choose", "auto")
    assert "Thinking mode: think hard." in said.out
    assert "It thinks with" in said.out
