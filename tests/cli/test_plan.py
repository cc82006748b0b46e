"""`retinue plan`, and `retinue run --plan`: the plan is seen, edited and run."""

import json
import os
from pathlib import Path
from typing import Any

import click
import pytest

from retinue.agents.trust import TrustStore
from retinue.cli.plan import plan_text
from retinue.contract.plan import Binding, Candidate, Delegation, Expected, Plan
from retinue.contract.task import Question
from tests.cli.conftest import Give

BOTH = "sing a loud song and print a newspaper"


def edited(file: Path, **changes: Any) -> str:
    """The plan in `file` with these changes, written back."""
    plan = json.loads(file.read_text(encoding="utf-8"))
    file.write_text(json.dumps({**plan, **changes}), encoding="utf-8")
    return str(file)


def test_the_plan_is_shown_and_nobody_is_asked(retinue: Give, team: Path) -> None:
    said = retinue("plan", f"{BOTH}. Bake an enormous cake with cherries.")
    assert said.code == 0
    lines = said.out.splitlines()
    assert [line for line in lines if line.startswith(("n1 ", "n2 "))] == ["n1 singer.singer", "n2 printer.printer"]
    assert "because  fits to " in said.out
    assert '"sing a loud song"  all of it' in said.out
    assert "defaults  times 1" in said.out
    assert "left out Bake an enormous cake with cherries." in said.out
    assert "ink" not in said.err
    assert retinue("runs", "list", "--json").data == []


def test_a_goal_that_nobody_can_do_has_an_empty_plan(retinue: Give, team: Path) -> None:
    said = retinue("plan", "xylophone quorum zebra")
    assert said.code == 1
    assert "No agent would be asked." in said.out
    assert "left out" in said.out


@pytest.mark.parametrize("words", [("plan", BOTH), ("run", BOTH), ("ask", "git_state_analyzer", "who wrote this")])
def test_an_embedding_model_that_is_not_there_stops_whoever_reads_a_goal(
    retinue: Give, team: Path, monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]
) -> None:
    monkeypatch.setenv("RETINUE_MODELS_EMBED", str(team / "nowhere"))
    said = retinue(*words, "--json")
    assert said.code == 2
    assert "models.embed" in said.error["hint"]


def test_only_its_user_names_the_embedding_model(retinue: Give, team: Path) -> None:
    (team / "retinue.toml").write_text(f'[models]\nembed = "{team}/nowhere"\n')
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(team)
    said = retinue("plan", BOTH)
    assert said.code == 0
    assert "may not set `models.embed`" in said.err


def test_what_is_missing_is_shown_as_a_question(retinue: Give, team: Path) -> None:
    assert "to ask   What is `colour` for `painter`?" in retinue("plan", "paint a wooden fence").out


def test_json_is_the_plan_that_run_takes(retinue: Give, team: Path) -> None:
    shown = retinue("plan", "--json", BOTH)
    assert Plan.model_validate_json(shown.out).goal == BOTH
    ran = retinue("run", "-q", "--plan", "-", stdin=shown.out)
    assert (ran.code, ran.out) == (0, retinue("run", "-q", BOTH).out)


def test_what_there_is_to_ask_for_is_shown_below_the_plan(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("duckdb")
    # On a busy machine the two seconds that tables are looked at for may be over before the first.
    monkeypatch.setattr("retinue.catalogue.data_analyst.columns._SECONDS", 60.0)
    columns = ",".join(["city", "price", *(f"c{number}" for number in range(100))])
    (folder / "sales.csv").write_text(
        f"{columns}\n{'Bern,1' + ',0' * 100}\n{'Rome,2' + ',0' * 100}\n", encoding="utf-8"
    )
    said = retinue("plan", "average price by city in sales.csv")
    assert said.code == 0
    shown = said.out.partition("here for data_analyst.aggregate\n")[2].splitlines()
    assert shown[:2] == ["   sales.csv: 2 rows", "     city (text): Bern, Rome"]
    assert len(shown) == 31
    assert "more lines: see them with --json" in shown[-1]
    data = retinue("plan", "--json", "average price by city in sales.csv")
    (table,) = data.data["extras"]["facts"]["data_analyst.aggregate"]["tables"]
    assert (table["path"], len(table["columns"])) == ("sales.csv", 60)
    assert retinue("run", "--json", "--plan", "-", stdin=data.out).data["outcome"] == "success"


def test_a_file_that_may_not_be_read_is_not_read_for_a_plan(retinue: Give, folder: Path) -> None:
    pytest.importorskip("duckdb")
    (folder / "salaries.csv").write_text("who,salary\nAda,12345\nBob,23456\n", encoding="utf-8")
    (folder / "retinue.toml").write_text('[permissions]\ndeny = ["read(salaries.csv)"]\n', encoding="utf-8")
    for options in ((), ("--json",)):
        said = retinue("plan", *options, "average salary by who in salaries.csv")
        assert "12345" not in said.out + said.err
        assert "Ada" not in said.out + said.err


def test_an_edited_plan_is_run_as_it_was_edited(retinue: Give, team: Path, home: Path) -> None:
    file = home / "plan.json"
    written = retinue("plan", BOTH, "--output", str(file))
    assert "retinue run --plan" in written.err
    nodes = json.loads(file.read_text())["nodes"]
    nodes[0]["parameters"]["times"] = 2
    nodes[1]["needs"] = ["n1"]
    said = retinue("run", "--json", "--plan", edited(file, nodes=nodes))
    assert said.code == 0
    assert said.data["data"]["answer"][0]["text"] == "- song: sing a loud song sing a loud song"
    assert said.data["data"]["plan"]["nodes"][1]["needs"] == ["n1"]


def test_a_goal_and_a_level_beside_a_plan_replace_its_own(retinue: Give, team: Path, home: Path) -> None:
    file = home / "plan.json"
    retinue("plan", BOTH, "-o", str(file), "--json")
    nodes = json.loads(file.read_text())["nodes"]
    nodes[1] |= {"needs": ["n1"], "context": {"n1": "none"}}
    kept = retinue("run", "--json", "--plan", edited(file, nodes=nodes)).data["data"]["plan"]
    assert (kept["goal"], kept["nodes"][1]["context"]) == (BOTH, {"n1": "none"})
    said = retinue("run", "make noise", "--json", "--plan", str(file), "--context", "full").data["data"]["plan"]
    assert (said["goal"], said["nodes"][1]["context"]) == ("make noise", {"n1": "full"})


def test_everything_wrong_with_a_plan_is_told_before_anything_runs(retinue: Give, team: Path, home: Path) -> None:
    file = home / "plan.json"
    file.write_text('{"nodes": [{"id": "a", "agnt": "singer", "agent": "singer"}], "jion": "any"}', encoding="utf-8")
    said = retinue("run", "--plan", str(file))
    assert (said.code, said.out) == (6, "")
    assert f"{file} /nodes/0/agnt: error plan/unknown-field There is no field `agnt`." in said.err
    assert "fix: Did you mean `agent`?" in said.err
    assert "fix: Did you mean `join`?" in said.err
    assert "next: " in said.err
    told = retinue("run", "--json", "--plan", str(file))
    assert told.code == 6
    assert [finding["path"] for finding in told.error["detail"]["findings"]] == ["/nodes/0/agnt", "/jion"]


def test_a_plan_for_agents_that_are_not_there_is_refused_with_the_nearest(
    retinue: Give, team: Path, home: Path
) -> None:
    nodes = [{"id": "a", "agent": "singr"}, {"id": "b", "agent": "singer", "parameters": {"task": "x", "times": "2"}}]
    file = home / "plan.json"
    file.write_text(json.dumps({"nodes": nodes}), encoding="utf-8")
    said = retinue("run", "--plan", str(file))
    assert said.code == 6
    assert "fix: Did you mean `singer`?" in said.err
    assert "/nodes/1/parameters/times" in said.err
    assert retinue("runs", "list", "--json").data == []


@pytest.mark.parametrize(
    ("text", "where"),
    [
        ('{"nodes": [', "plan.json:1:12"),
        ('{"goal": "a", "goal": "b"}', "occurs twice"),
        ("", "plan.json:1:1"),
        ("[]", "An object belongs here."),
        ("{}", "The plan has no delegations."),
        ('{"nodes": [{"id": "a", "agent": "x", "needs": ["a"]}]}', "`a` needs `a`."),
    ],
)
def test_what_is_no_plan_is_refused_with_its_place(
    retinue: Give, team: Path, home: Path, text: str, where: str
) -> None:
    file = home / "plan.json"
    file.write_text(text, encoding="utf-8")
    said = retinue("run", "--plan", str(file))
    assert said.code == 6
    assert where in said.err


def test_a_plan_that_cannot_be_read_is_a_wrong_use(retinue: Give, team: Path, home: Path) -> None:
    assert retinue("run", "--plan", str(home / "nowhere.json")).code == 2
    assert "cannot be read" in retinue("run", "--plan", str(home)).err
    assert "cannot both be read from stdin" in retinue("run", "-", "--plan", "-").err
    assert retinue("run").code == 2
    assert retinue("plan", BOTH, "-o", str(home / "no" / "folder.json")).code == 2


def test_a_plan_larger_than_the_run_may_be_says_how_to_allow_it(retinue: Give, team: Path, home: Path) -> None:
    file = home / "plan.json"
    retinue("plan", BOTH, "-o", str(file))
    said = retinue("run", "--plan", str(file), "--max-nodes", "1")
    assert (said.code, said.out) == (7, "")
    assert "Raise the limit with `--max-nodes 2`" in said.err
    assert retinue("run", "-q", "--plan", str(file), "--max-nodes", "2").code == 0


def test_a_plan_is_made_for_the_agents_that_are_named(retinue: Give, team: Path) -> None:
    plan = retinue("plan", "--json", "--agent", "printer", BOTH).data
    assert {node["agent"] for node in plan["nodes"]} <= {"printer"}


def test_the_tree_shows_what_waits_for_what() -> None:
    near = Candidate(agent="printer", skill="printer", score=1, share=0.25)
    plan = Plan(
        join="quorum",
        nodes=(
            Delegation(id="a", agent="singer", parameters={"x": 1}, alternatives=(near,)),
            Delegation(id="b", agent="singer", optional=True),
            Delegation(
                id="c",
                agent="printer",
                needs=("a", "b"),
                join="any",
                context={"a": "full"},
                bindings=(Binding(parameter="task", value="say", how="delegation"),),
                parameters={"task": "say"},
                expects=(Expected(path="out/report.md"),),
                questions=(Question(id="q", text="Which\x1b[2J one?"),),
            ),
        ),
    )
    assert click.unstyle(plan_text(plan)).splitlines() == [
        "a singer",
        "   x     1  given",
        "   else  printer.printer (0.25)",
        "b singer (optional)",
        "   c printer, after a (full), b (summary), any of them",
        '      task    "say"  handed on',
        "      to ask  Which\\u{1b}[2J one?",
        "      leaves  out/report.md",
        "ends when it has enough: quorum of 0.50",
    ]


@pytest.mark.parametrize("nodes", [1, 201, 5_000])
def test_a_long_plan_is_cut_and_a_deep_one_is_no_trouble(nodes: int) -> None:
    chain = [Delegation(id=f"n{at}", agent="a", needs=(f"n{at - 1}",) if at else ()) for at in range(nodes)]
    lines = plan_text(Plan(nodes=tuple(chain))).splitlines()
    assert len(lines) == min(nodes, 200) + (nodes > 200)
    assert (f"and {nodes - 200:,} more delegation" in lines[-1]) is (nodes > 200)


# Why.


@pytest.mark.requirement("P15", "C29")
def test_an_answer_is_explained_below_it_when_asked_for(retinue: Give, team: Path) -> None:
    said = retinue("run", "-q", "--explain", f"{BOTH} and break a glass window")
    assert said.code == 0
    answer, _, why = said.out.partition("## Why n1: sing a loud song")
    assert "- song: sing a loud song" in answer
    assert "| singer.singer | 0." in why
    assert '| task | "sing a loud song" | all of it |' in why
    assert "## What was decided on the way" in why
    assert "- `n3` give up: `internal_error`, and no other agent to ask" in why


def test_an_explanation_is_part_of_the_data_for_programs(retinue: Give, team: Path) -> None:
    said = retinue("run", "--json", "--explain", "govern a small village and break a glass window").data["data"]
    assert [clause["agent"] for clause in said["explanation"]["clauses"]] == ["chief", "breaker"]
    decided = [(one["node"], one["move"]) for one in said["explanation"]["decisions"]]
    assert ("n1", "descend") in decided
    assert ("n2", "give_up") in decided


def test_a_goal_that_nobody_can_do_is_explained_too(retinue: Give, team: Path) -> None:
    said = retinue("run", "--explain", "xylophone quorum zebra")
    assert said.code == 1
    assert "## Why something was left out" in said.out


@pytest.mark.requirement("P15")
def test_a_run_that_is_over_can_still_be_explained(retinue: Give, team: Path) -> None:
    ran = retinue("run", "-q", "--explain", "sing a loud song and break a glass window")
    shown = retinue("runs", "show", "--explain")
    assert ran.out in shown.out
    told = retinue("runs", "show", "--explain", "--json").data["result"]["data"]["explanation"]
    assert [one["move"] for one in told["decisions"]][-1] == "give_up"


@pytest.mark.requirement("P12", "P14", "A14")
def test_a_broken_skill_is_got_round_in_more_general_words_and_the_answer_says_so(retinue: Give, folder: Path) -> None:
    file = folder / ".retinue" / "agents" / "library.py"
    file.parent.mkdir(parents=True)
    file.write_text(LIBRARY, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    file = folder / "plan.json"
    retinue("plan", "--agent", "library", "which books are there since 1999?", "-o", str(file))
    (node,) = json.loads(file.read_text())["nodes"]
    del node["alternatives"]
    said = retinue("run", "--explain", "--plan", edited(file, nodes=[node]))
    assert said.code == 0
    assert "Emma" in said.out
    assert "`n1` rephrase: `library.read_since` ended with `internal_error`; asked more generally" in said.out
    assert "It was asked more generally, without '1999'." in said.err


LIBRARY = '''import retinue


@retinue.agent
class Library:
    """Knows the books of a library. Use when books are asked for. Returns titles."""

    @retinue.skill(examples=("books since 2001", "which books are there since 1999", "what came since 1980"))
    async def read_since(self, question: str, since: int) -> dict[str, str]:
        """Reads the catalogue of books since a year."""
        raise RuntimeError("the catalogue is torn")

    @retinue.skill(examples=("which books are there", "list the books", "what books do you have"))
    async def list_books(self, question: str) -> dict[str, str]:
        """Lists the books that are there."""
        return {"books": "Emma"}
'''
