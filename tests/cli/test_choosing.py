"""Choosing how a plan is done: asked where somebody is there, told where not, and compared afterwards."""

import json
from pathlib import Path
from typing import Any

import pytest

from retinue.cli import option_chooser
from retinue.llm.models import Models
from retinue.llm.port import Request
from retinue.llm.scripted import ScriptedModel, tool_call
from tests.cli import shell
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents, use_models

POEM = "Roses are red."
GOAL = ("run", "--agent", "poet", "write a poem about the sea")
TWO = ("run", "--agent", "poet", "--agent", "housekeeper", "write a poem about the sea and tidy a wooden house")


@pytest.fixture
def thinkers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_agents(folder)
    use_models(monkeypatch, lambda _: POEM)
    return folder


def option(retinue: Give, *words: str) -> Any:
    return retinue(*words, "--json").data["extras"]["option"]


@pytest.mark.requirement("A18")
def test_a_routine_goal_is_done_with_a_notice(retinue: Give, thinkers: Path) -> None:
    said = retinue(*GOAL)
    assert (said.code, said.out) == (0, f"{POEM}\n")
    assert "option A, the smallest models: routine. It is one small delegation that only reads." in said.err
    assert option(retinue, *GOAL)["by"] == "routine"


@pytest.mark.requirement("A18")
def test_what_is_not_routine_and_nobody_is_there_takes_the_recommended_way_and_says_so(
    retinue: Give, thinkers: Path
) -> None:
    said = retinue(*TWO)
    assert said.code == 0
    assert "no terminal to choose in. It has 2 delegations." in said.err
    assert option(retinue, *TWO)["by"] == "nobody"


@pytest.mark.requirement("A17")
def test_an_option_is_chosen_by_its_letter(retinue: Give, thinkers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    models = use_models(monkeypatch, lambda _: POEM)
    said = retinue(*GOAL, "--choose", "b")
    assert said.code == 0
    assert "option B, the largest models: as asked" in said.err
    assert (len(models["large"].requests), len(models["small"].requests)) == (1, 0)
    assert retinue(*GOAL, "--choose", "auto").code == 0
    assert len(models["small"].requests) == 1
    assert option(retinue, *GOAL, "--choose", "A")["by"] == "flag"


@pytest.mark.requirement("A17")
def test_an_option_that_is_not_there_lists_those_that_are(retinue: Give, thinkers: Path) -> None:
    said = retinue(*GOAL, "--choose", "C")
    assert said.code == 2
    assert "There is A, B, and `auto`" in said.err


@pytest.mark.requirement("A17", "C19")
def test_what_it_took_stands_beside_what_was_expected(retinue: Give, thinkers: Path) -> None:
    figures = option(retinue, *GOAL)["figures"]
    low, high = figures["tokens"]["estimate"]
    assert low <= figures["tokens"]["actual"] <= high
    assert figures["cost_usd"]["within"] is True
    assert "tokens (expected" in retinue(*GOAL).err


@pytest.mark.requirement("C19")
def test_after_enough_runs_the_estimate_is_what_they_took(retinue: Give, thinkers: Path) -> None:
    for _ in range(5):
        retinue(*GOAL, "--quiet")
    figures = option(retinue, *GOAL)["figures"]
    low, high = figures["tokens"]["estimate"]
    assert high - low < 100
    assert len(figures["seconds"]["estimate"]) == 2


def test_a_goal_without_a_model_has_nothing_to_choose(retinue: Give, team: Path) -> None:
    said = retinue("run", "sing a loud song", "--json")
    assert "option" not in said.data.get("extras", {})
    assert "option" not in retinue("run", "sing a loud song", "--choose", "auto").err


SCRIPTED = '''"""The command, with scripted models."""

import sys

import retinue.cli.project as project
from retinue.cli import main
from retinue.cli import option_chooser
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel, tool_call

tiers = {tier: f"scripted:{tier}" for tier in ("small", "medium", "large")}
ready = {
    name: ScriptedModel(lambda _: "Roses are red.", name=name, usd_per_million=float(place + 1))
    for place, name in enumerate(tiers.values())
}
project.models_of = lambda settings, **named: Models(tiers=tiers, ready=ready)
sys.exit(main(sys.argv[1:]))
'''


@pytest.mark.slow
@pytest.mark.requirement("A17", "A18")
@pytest.mark.parametrize(("typed", "letter"), [("2", "B"), ("b", "B"), ("3", "A"), ("", "A"), ("decide for me", "A")])
def test_at_a_terminal_somebody_is_asked(
    folder: Path, home: Path, monkeypatch: pytest.MonkeyPatch, typed: str, letter: str
) -> None:
    add_agents(folder)
    script = home / "scripted.py"
    script.write_text(SCRIPTED, encoding="utf-8")
    monkeypatch.setattr(shell, "COMMAND", (shell.sys.executable, str(script)))
    monkeypatch.chdir(folder)
    with shell.Terminal(home, folder, *TWO, width=120, RETINUE_RUN_PLANNER="rules") as terminal:
        terminal.expect("How should it be done?", ") the smallest models", "(recommended)", ") the largest models")
        terminal.expect("1. A", "2. B", "3. decide for me", " > ")
        terminal.type(typed)
        code, rest = terminal.ended()
    assert code == 0
    assert "Roses are red." in rest
    assert f"option {letter}:" in rest


def test_the_model_named_on_the_command_line_holds_when_it_is_resumed(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_agents(folder)
    asked: list[str | None] = []

    def note(settings: object, *, default: str | None = None, extra_models: object = ()) -> Models:
        del settings, extra_models
        asked.append(default)
        model = ScriptedModel(lambda _: POEM, name="scripted:small")
        return Models(default=default or "", ready={model.name: model})

    monkeypatch.setattr("retinue.cli.project.models_of", note)
    monkeypatch.setenv("RETINUE_RUN_PLANNER", "rules")
    assert retinue(*GOAL, "--model", "scripted:small").code == 0
    assert retinue("runs", "resume").code == 0
    assert retinue("ask", "poet", "a poem", "--model", "scripted:small").out == f"{POEM}\n"
    assert asked == ["scripted:small"] * 3


def test_the_model_named_for_one_agent_holds_whatever_its_definition_says(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_agents(folder)
    place = folder / ".claude" / "agents" / "poet.md"
    place.write_text(place.read_text(encoding="utf-8").replace("tools: Read", "model: haiku"), encoding="utf-8")
    models = use_models(monkeypatch, lambda _: POEM, default="small")
    assert retinue("ask", "poet", "a poem", "--model", "large").code == 0
    assert [len(models[tier].requests) for tier in ("small", "large")] == [0, 1]
    assert retinue("ask", "poet", "a poem", "--model", "scripted:tiny").code != 0


def test_files_that_were_written_are_told(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_agents(folder)
    use_models(monkeypatch, [tool_call("write", path="tidy.txt", content="tidy"), "It is tidy."], default="small")
    monkeypatch.setenv("RETINUE_PERMISSIONS_ALLOW", "write")
    said = retinue("ask", "housekeeper", "tidy the house", "--model", "small")
    assert (said.code, said.out) == (0, "It is tidy.\n"), said.err
    assert "wrote: tidy.txt" in said.err.splitlines()


def test_a_model_whose_longest_answer_nobody_knows_is_bounded_by_its_window(folder: Path) -> None:
    models = Models(default="openai:gpt-4o", environment={"OPENAI_API_KEY": "sk-none"})
    assert option_chooser._max_output(models, "openai:gpt-4o") == 128_000  # pyright: ignore[reportPrivateUsage] - an edge of it


# Agents whose own code asks a model

WHY = "why does the cart add up all prices?"
FIX = "the total in cart.py forgets the first price"


def answers(request: Request) -> str:
    """What each ready-made agent asks of a model, answered so that it holds."""
    said = f"{request.instructions} {request.turns}"
    if "You write the short answer" in said:
        return json.dumps({"claims": [{"text": "Because nothing is free, all prices are added up.", "cites": ["f1"]}]})
    if "You advise on the architecture" in said:
        option = {"title": "Split it", "change": "Split it.", "why": "It is in `cart.py`.", "risk": "None."}
        return json.dumps({"options": [{**option, "cites": ["f1"]}, {**option, "title": "Leave it", "cites": ["f1"]}]})
    if request.shape is not None and request.shape.name == "proposal":
        edit = {"file": "cart.py", "old": "sum(prices[1:])", "new": "sum(prices)"}
        return json.dumps({"reasoning": "It skips the first price.", "edits": [edit], "new_files": []})
    return json.dumps({"direct_text": "Noted."})


@pytest.fixture
def shop(folder: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, ScriptedModel]:
    (folder / "cart.py").write_text("def total(prices):\n    return sum(prices[1:])\n", encoding="utf-8")
    (folder / "README.md").write_text("# Cart\n\nThe cart adds up all prices, because nothing is free.\n", "utf-8")
    docs = folder / "docs"
    docs.mkdir()
    (docs / "architecture.md").write_text("# Architecture\n\nThe architecture is one module, the cart.\n", "utf-8")
    return use_models(monkeypatch, answers)


def counts(models: dict[str, ScriptedModel]) -> list[int]:
    return [len(models[tier].requests) for tier in ("small", "medium", "large")]


@pytest.mark.requirement("A17", "A18")
def test_a_question_to_the_documents_is_routine_and_its_notice_says_so(
    retinue: Give, shop: dict[str, ScriptedModel]
) -> None:
    said = retinue("run", WHY)
    assert said.code == 0
    assert said.out.startswith("Because nothing is free, all prices are added up.")
    assert "option A, the smallest models: routine. It is one small delegation that only reads." in said.err
    figures = option(retinue, "run", WHY)["figures"]
    assert figures["tokens"]["within"] is True
    assert counts(shop)[2] == 0


@pytest.mark.requirement("A17", "A18")
@pytest.mark.parametrize(
    ("words", "why"),
    [
        (("ask", "researcher_analyst", WHY), "It is one small delegation that only reads."),
        (("ask", "code_engineer_executor", "fix_bug", FIX), "Its model is medium, not small."),
        (("ask", "system_architect", "options", "how should it be split"), "Its model is large, not small."),
        (
            ("ask", "personal_assistant", "what is on my list"),
            "It is one small delegation that could do without a model.",
        ),
    ],
)
def test_each_way_asks_the_model_that_it_names(
    retinue: Give, shop: dict[str, ScriptedModel], words: tuple[str, ...], why: str
) -> None:
    plain = retinue(*words, "--max-tokens", "200000")
    assert why in plain.err, plain.err
    asked: dict[str, list[int]] = {}
    for letter in ("A", "auto", "C", "B"):
        before = counts(shop)
        said = retinue(*words, "--choose", letter, "--json")
        if said.code == 2:  # there are two ways only
            continue
        assert said.data["extras"]["option"]["by"] == "flag"
        asked[letter] = [now - then for now, then in zip(counts(shop), before, strict=True)]
    smallest, largest = asked["A"], asked.get("C", asked["B"])
    assert (smallest[0] > 0, smallest[2]) == (True, 0)
    assert (largest[0], largest[2] > 0) == (0, True)


@pytest.mark.requirement("A18")
def test_who_has_others_do_the_work_is_not_routine(retinue: Give, shop: dict[str, ScriptedModel]) -> None:
    said = retinue("ask", "system_architect", "assess", "is it fit", "--max-tokens", "200000")
    assert "`system_architect` has other agents do the work." in said.err


@pytest.mark.requirement("A18")
def test_one_that_asks_no_model_has_neither_choice_nor_notice(retinue: Give, shop: dict[str, ScriptedModel]) -> None:
    said = retinue("ask", "system_architect", "overview", "what is it made of")
    assert "option" not in said.err
    assert counts(shop) == [0, 0, 0]


def test_a_model_and_a_choice_are_one_too_many(retinue: Give, shop: dict[str, ScriptedModel]) -> None:
    said = retinue("ask", "researcher_analyst", WHY, "--model", "large", "--choose", "A")
    assert said.code == 2
    assert "Use only one of them" in said.err
    assert counts(shop) == [0, 0, 0]
    assert retinue("ask", "researcher_analyst", WHY, "--model", "large").code == 0
    assert counts(shop) == [0, 0, 1]


@pytest.mark.requirement("A17", "A18")
def test_a_plan_in_a_file_is_chosen_for_when_it_is_run(
    retinue: Give, shop: dict[str, ScriptedModel], tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    made = retinue("plan", WHY, "--json", "--output", str(file))
    assert made.code == 0
    (node,) = made.data["nodes"]
    assert node["model"] == "small"
    assert made.data["extras"]["allocation"][node["id"]]["why"] == "`researcher_analyst` asks for this tier"
    said = retinue("run", "--plan", str(file), "--choose", "B")
    assert "option B, the largest models: as asked" in said.err
    assert counts(shop)[2] == 1


@pytest.mark.requirement("A17")
def test_a_model_that_was_edited_into_a_plan_holds(
    retinue: Give, shop: dict[str, ScriptedModel], tmp_path: Path
) -> None:
    file = tmp_path / "plan.json"
    assert retinue("plan", WHY, "--output", str(file)).code == 0
    plan = json.loads(file.read_text(encoding="utf-8"))
    plan["nodes"][0]["model"] = "medium"
    file.write_text(json.dumps(plan), encoding="utf-8")
    said = retinue("run", "--plan", str(file), "--choose", "auto")
    assert (said.code, counts(shop)) == (0, [0, 1, 0])
    assert "option B, models by the rules: as asked" in said.err


@pytest.mark.requirement("A17", "A18")
def test_nobody_is_asked_to_choose_from_one_way(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    add_agents(folder)
    only = ScriptedModel(lambda _: POEM, name="scripted:only")

    def models_of(settings: object, **named: object) -> Models:
        del settings, named
        return Models(default=only.name, ready={only.name: only}, environment={})

    monkeypatch.setattr("retinue.cli.project.models_of", models_of)
    monkeypatch.setattr("retinue.cli.screen.is_interactive", lambda: True)
    monkeypatch.setenv("RETINUE_RUN_PLANNER", "rules")
    said = retinue(*TWO)
    assert (said.code, len(only.requests)) == (0, 2)
    assert "How should it be done?" not in said.err
    assert "option A, the smallest models: no other option" in said.err
    assert option(retinue, *TWO)["by"] == "only"


@pytest.mark.slow
@pytest.mark.requirement("A17", "A18")
@pytest.mark.parametrize("verb", ["run", "ask"])
def test_at_a_terminal_somebody_is_asked_how_a_bug_is_to_be_fixed(
    folder: Path, home: Path, shop: dict[str, ScriptedModel], monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    del shop
    script = home / "scripted.py"
    script.write_text(SCRIPTED, encoding="utf-8")
    monkeypatch.setattr(shell, "COMMAND", (shell.sys.executable, str(script)))
    monkeypatch.chdir(folder)
    words = ("run", f"fix the bug: {FIX}") if verb == "run" else ("ask", "code_engineer_executor", "fix_bug", FIX)
    with shell.Terminal(home, folder, *words, width=120, RETINUE_RUN_PLANNER="rules") as terminal:
        terminal.expect("How should it be done?", "not small", ") the smallest models", "(recommended)")
        terminal.type("A")
        terminal.expect("did not answer as it promises", "2. skip", "> ")  # the script holds no answer
        terminal.type("2")
        terminal.ended()
