"""`retinue bench agents`: trials over agents and models, with nobody's real model."""

from pathlib import Path

import pytest

from retinue.llm.port import Request, UserMessage
from retinue.llm.scripted import Line
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents, use_models

TASKS = """
title = "Poems"

[[task]]
name = "sea"
agent = "poet"
instruction = "Write a poem about the sea"
contains = ["SEA", "salt"]

[[task]]
name = "song"
agent = "singer"
parameters = {task = "la", times = 2}
expect = {song = "la la"}
schema = {type = "object", required = ["song"]}
"""
RUBRIC = """{"task": [{"name": "sea", "agent": "poet", "instruction": "A poem", "rubric": "It rhymes."}]}"""


@pytest.fixture
def thinkers(team: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    add_agents(team)
    use_models(monkeypatch, answers)
    (team / "tasks.toml").write_text(TASKS, encoding="utf-8")
    (team / "rubric.json").write_text(RUBRIC, encoding="utf-8")
    return team


def answers(request: Request) -> Line:
    if request.shape is not None and request.shape.name == "verdict":
        return {"score": 7, "why": "It nearly rhymes."}
    first = request.turns[0]
    return "The sea is salt." if isinstance(first, UserMessage) and "sea" in first.text.lower() else "Roses."


def test_models_are_compared_by_quality_cost_and_time_with_their_spread(retinue: Give, thinkers: Path) -> None:
    said = retinue("bench", "agents", "tasks.toml", "--models", "small,large", "--repeat", "2", "--json")
    assert said.code == 0
    data = said.data
    assert (data["title"], data["repeat"], len(data["trials"])) == ("Poems", 2, 8)
    poets = [each for each in data["contenders"] if each["agent"] == "poet"]
    assert [each["model"] for each in poets] == ["small", "large"]  # as good, and cheaper
    for each in poets:
        assert (each["trials"], each["success"]) == (2, 1.0)
        assert each["quality"] == {"median": 1.0, "min": 1.0, "max": 1.0, "count": 2}
        assert each["cost_usd"]["count"] == each["seconds"]["count"] == 2
    assert {each["answered_by"] for each in data["trials"] if each["agent"] == "poet"} == {
        "scripted:small",
        "scripted:large",
    }
    singers = [each for each in data["contenders"] if each["agent"] == "singer"]
    assert all("cost_usd" not in each and each["quality"]["median"] == 1.0 for each in singers)


def test_a_judge_scores_what_the_rubric_asks_for(retinue: Give, thinkers: Path) -> None:
    (trial,) = retinue("bench", "agents", "rubric.json", "--judge", "large", "--repeat", "1", "--json").data["trials"]
    assert trial["score"] == {"judge": 0.7, "quality": 0.7, "notes": ["It nearly rhymes."]}


def test_people_get_a_table_and_a_plot(retinue: Give, thinkers: Path) -> None:
    said = retinue("bench", "agents", "tasks.toml", "--repeat", "1", "--plot", "b.svg")
    assert said.code == 0
    assert "quality by task" in said.out
    assert "sea · poet #1: success, quality 100%" in said.err
    assert "Quality of a trial (%)" in (thinkers / "b.svg").read_text(encoding="utf-8")


def test_agents_may_be_named_in_place_of_those_of_the_tasks(retinue: Give, thinkers: Path) -> None:
    said = retinue("bench", "agents", "rubric.json", "--agents", "poet,breaker", "--repeat", "1", "--json")
    assert [each["agent"] for each in said.data["contenders"]] == ["poet", "breaker"]
    failed = next(each for each in said.data["trials"] if each["agent"] == "breaker")
    assert failed["fault"] == "internal_error"
    assert "judge" not in failed["score"]
    assert retinue("bench", "agents", "rubric.json", "--agents", "breaker", "--repeat", "1").code == 1


def test_a_budget_ends_it_and_what_was_done_is_shown(retinue: Give, thinkers: Path) -> None:
    said = retinue("bench", "agents", "rubric.json", "--repeat", "50", "--max-tokens", "2500", "--json")
    assert said.code == 7
    assert 0 < len(said.data["trials"]) < 50
    assert said.data["stopped"] == "the next trial might exceed the budget of all trials."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[[task]]\nname = 'a'\n", "Task 'a' has no agent."),
        ("[[task]]\nname = 'a'\nagent = 'nobody'\n", "nobody"),
        ("task = []\n", "These are not tasks to compare by"),
        ("[[task]]\nname = 'a'\nodd = 1\n", "`/task/0/odd`"),
        ("[[task]]\nname = 'a'\n[[task]]\nname = 'a'\n", "appear twice: a"),
        ("[[task]]\nname = 'a'\nschema = {type = 'obj'}\n", "The schema of the task 'a' is none"),
        ("[[task", "is neither TOML nor JSON"),
        ('{"task": 1, "task": 2}', "task"),
    ],
)
def test_tasks_that_cannot_be_put_are_refused_before_anybody_is_asked(
    retinue: Give, thinkers: Path, text: str, said: str
) -> None:
    (thinkers / "tasks.toml").write_text(text, encoding="utf-8")
    told = retinue("bench", "agents", "tasks.toml")
    assert told.code == 2
    assert said in told.err
    assert told.out == ""


def test_odd_uses_say_what_is_wrong(retinue: Give, thinkers: Path) -> None:
    assert "Name what to compare" in retinue("bench").err
    assert retinue("bench", "agents", "none.toml").code == 2
    (thinkers / "odd.toml").write_bytes(b"\xff\xfe")
    assert "is not UTF-8 text" in retinue("bench", "agents", "odd.toml").err
    assert retinue("bench", "agents", "tasks.toml", "--models", "nobody-knows").code == 2


def test_a_recording_stands_in_for_a_model(retinue: Give, thinkers: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from retinue.cli import models, project
    from retinue.llm.models import Models
    from retinue.llm.recording import Recorder
    from retinue.llm.scripted import ScriptedModel

    kept = thinkers / "kept.jsonl"
    model = Recorder(ScriptedModel(answers, name="scripted:real", usd_per_million=1.0), kept)

    def only(settings: object, **named: object) -> Models:
        del settings, named
        return Models.only(model)

    with monkeypatch.context() as patch:
        patch.setattr(project, "models_of", only)
        first = retinue("bench", "agents", "tasks.toml", "--repeat", "1", "--models", "scripted:real", "--json")
    assert first.code == 0
    monkeypatch.setattr(project, "models_of", models.models_of)
    again = retinue("bench", "agents", "tasks.toml", "--repeat", "1", "--models", f"replay:{kept}", "--json")
    assert again.code == 0
    poet = next(each for each in again.data["contenders"] if each["agent"] == "poet")
    before = next(each for each in first.data["contenders"] if each["agent"] == "poet")
    assert (poet["quality"], poet["cost_usd"]) == (before["quality"], before["cost_usd"])
