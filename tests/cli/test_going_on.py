"""`retinue runs resume`: what was finished is not done again, and what changed meanwhile is asked about."""

import json
import os
import re
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from retinue.agents.trust import TrustStore
from tests.cli.conftest import Give

_AGENTS = '''"""A chief with two workers, who note when they are called."""

from pathlib import Path

import retinue


def note(who: str) -> None:
    with Path("calls.txt").open("a") as file:
        file.write(f"{who}\\n")


@retinue.agent
async def chief(task: str) -> retinue.Plan:
    """Has a village built. Use when a village must be built. Returns the houses."""
    note("chief")
    built = [retinue.Delegation(id=name, agent=name, instruction="one house") for name in ("mason", "roofer", "glazier")]
    return retinue.Plan(goal=task, nodes=built, join="quorum", quorum=1.0)


@retinue.agent
async def mason(task: str) -> str:
    """Lays bricks. Use when bricks must be laid. Returns the wall."""
    note("mason")
    return "a wall of forty bricks"


@retinue.agent
async def roofer(task: str) -> str:
    """Covers roofs. Use when a roof must be covered. Returns the roof."""
    note("roofer")
    if not Path("tiles").exists():
        raise PermissionError("no tiles")
    return "a roof of red tiles"


@retinue.agent
async def glazier(task: str) -> str:
    """Puts in panes. Use when a pane must be put in. Returns the window."""
    note("glazier")
    if not Path("tiles").exists():
        raise PermissionError("no panes")
    return "a window of two panes"
'''


def trusted(folder: Path, text: str) -> None:
    file = folder / ".retinue" / "agents" / "village.py"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)


@pytest.fixture
def village(folder: Path) -> Path:
    """A trusted project whose chief has a village built by three."""
    trusted(folder, _AGENTS)
    plan = {"goal": "a village", "nodes": [{"id": "top", "agent": "chief", "instruction": "a village"}]}
    (folder / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    return folder


def calls(folder: Path) -> list[str]:
    return sorted((folder / "calls.txt").read_text().split())


@pytest.mark.requirement("H25")
def test_the_report_that_came_is_shown_below_the_quorum_and_kept(retinue: Give, village: Path) -> None:
    done = retinue("run", "--plan", "plan.json")
    assert done.code == 1
    assert "a wall of forty bricks" in done.out
    assert "Only 1 of 3 branches reported" in done.out
    assert "a wall of forty bricks" in retinue("runs", "show").out
    assert "a wall of forty bricks" in retinue("runs", "show", "--format", "html").out


def test_a_chief_is_not_called_again_nor_who_had_finished(retinue: Give, village: Path) -> None:
    assert retinue("run", "--plan", "plan.json").code == 1
    (village / "tiles").touch()
    done = retinue("runs", "resume", "--jsonl")
    assert done.code == 0
    assert calls(village) == ["chief", "glazier", "glazier", "mason", "roofer", "roofer"]
    events = done.lines
    assert "a roof of red tiles" in json.dumps(events[-1])
    assert "a wall of forty bricks" in json.dumps(events[-1])
    assert {event["node"] for event in events if ":" in event["run"]} >= {"roofer", "glazier"}


def test_a_definition_that_changed_is_asked_about_before_going_on(retinue: Give, village: Path) -> None:
    assert retinue("run", "--plan", "plan.json").code == 1
    (village / "tiles").touch()
    trusted(village, _AGENTS.replace("Covers roofs.", "Covers roofs with straw."))
    refused = retinue("runs", "resume", "--json")
    assert (refused.code, refused.out) == (9, "")
    assert refused.error["message"] == "`roofer` has changed since this run began."
    assert "--accept-changes" in refused.error["hint"]
    assert calls(village) == ["chief", "glazier", "mason", "roofer"]  # nobody was called
    assert retinue("runs", "resume", "--accept-changes").code == 0
    assert calls(village) == ["chief", "glazier", "glazier", "mason", "roofer", "roofer"]


def test_an_agent_that_only_moved_has_not_changed(retinue: Give, village: Path) -> None:
    assert retinue("run", "--plan", "plan.json").code == 1
    (village / "tiles").touch()
    (village / ".retinue" / "agents" / "village.py").rename(village / ".retinue" / "agents" / "hamlet.py")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(village)
    assert retinue("runs", "resume").code == 0


@pytest.mark.parametrize("number", ["99999999999999999999", "0"])
def test_a_list_of_more_than_anybody_reads_is_refused(retinue: Give, folder: Path, number: str) -> None:
    for words in (("runs", "list"), ("memory", "list"), ("memory", "search", "x")):
        done = retinue(*words, "-n", number, "--json")
        assert (done.code, done.error["code"]) == (2, "invalid_input")


@pytest.mark.parametrize("age", ["nan", "inf", "1e300"])
def test_an_age_that_is_no_number_deletes_nothing(retinue: Give, village: Path, age: str) -> None:
    retinue("run", "--plan", "plan.json")
    done = retinue("runs", "prune", "--older-than", age)
    assert done.code == 2
    assert "number of days" in done.err
    assert len(retinue("runs", "list", "--json").data) == 1


def test_a_name_that_is_no_text_is_no_run(retinue: Give, village: Path) -> None:
    retinue("run", "--plan", "plan.json")
    for words in (("runs", "show"), ("runs", "resume"), ("stats", "--run")):
        assert retinue(*words, "\udcff").code == 2
    assert retinue("runs", "rate", "\udcff", "good").code == 2


def test_a_row_whose_id_is_no_text_is_left_out_of_the_statistics(retinue: Give, village: Path, home: Path) -> None:
    retinue("run", "--plan", "plan.json")
    with closing(sqlite3.connect(home / "state" / "journal.sqlite3")) as connection, connection:
        connection.executescript(
            "CREATE TEMP TABLE copied AS SELECT * FROM runs WHERE parent IS NULL; UPDATE copied SET run = x'ff';"
            "INSERT INTO runs SELECT * FROM copied;"
            "INSERT INTO facts SELECT x'ff', child, sequence, node, kind, body FROM facts WHERE child = '';"
            "INSERT INTO facts SELECT run, child, 5000, x'ff', kind, body FROM facts WHERE child = '' LIMIT 1;"
        )
    assert retinue("stats", "--json").data["runs"]["calls"] == 1
    assert "damaged" in retinue("runs", "list").out


# A copy with something changed

_SUMS = '''
from pathlib import Path
import retinue


def note(name):
    with Path("calls.txt").open("a") as file:
        file.write(name + " ")


@retinue.agent
async def doubler(number: int) -> dict[str, int]:
    """Doubles a number. Use when a number must be doubled. Returns the number."""
    note(f"doubler{number}")
    return {"number": 2 * number}


@retinue.agent
async def adder(task: str, run: retinue.RunContext, request: retinue.Task) -> dict[str, int]:
    """Adds up what it is handed. Use when numbers must be added up. Returns the sum."""
    note("adder")
    return {"total": sum(one["data"]["number"] for one in request.context.inputs.values())}
'''


def total(answer: str) -> int:
    match = re.search(r"[Tt]otal\W{1,6}([0-9]+)", answer)
    assert match is not None, answer
    return int(match[1])


@pytest.fixture
def sums(folder: Path, retinue: Give) -> str:
    """The id of a run in which two numbers were doubled and added up."""
    trusted(folder, _SUMS)
    nodes = [
        {"id": "one", "agent": "doubler", "parameters": {"number": 1}},
        {"id": "two", "agent": "doubler", "parameters": {"number": 2}},
        {"id": "sum", "agent": "adder", "instruction": "add them up", "needs": ["one", "two"],
         "context": {"one": "full", "two": "full"}},
    ]  # fmt: skip
    (folder / "plan.json").write_text(json.dumps({"goal": "sums", "nodes": nodes}), encoding="utf-8")
    done = retinue("run", "--plan", "plan.json", "--json")
    assert done.code == 0
    assert total(done.out) == 6
    return json.loads(retinue("runs", "list", "--json").out)[0]["run"]


def test_a_copy_runs_a_step_again_and_what_needs_it(folder: Path, retinue: Give, sums: str) -> None:
    done = retinue("runs", "fork", sums, "--without", "two", "--json")
    assert (done.code, total(done.out)) == (0, 6)
    assert calls(folder) == ["adder", "adder", "doubler1", "doubler2", "doubler2"]
    runs = json.loads(retinue("runs", "list", "--json").out)
    assert len(runs) == 2
    assert runs[1]["run"] == sums


def test_a_copy_is_given_another_parameter_by_its_type(folder: Path, retinue: Give, sums: str) -> None:
    done = retinue("runs", "fork", sums, "--set", "one.number=10", "--json")
    assert (done.code, total(done.out)) == (0, 24)
    assert calls(folder) == ["adder", "adder", "doubler1", "doubler10", "doubler2"]
    assert total(retinue("runs", "show", sums, "--json").out) == 6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--without", "three"), "has no step `three`"),
        (("--set", "three.number=1"), "has no step `three`"),
        (("--set", "one=1"), "is no change. Use --set STEP.PARAMETER=VALUE."),
        (("--set", "one.numbre=1"), "numbre"),
    ],
)
def test_a_change_that_cannot_be_made_says_so(retinue: Give, sums: str, options: tuple[str, ...], message: str) -> None:
    done = retinue("runs", "fork", sums, *options)
    assert done.code in {1, 2}
    assert message in done.err + done.out
