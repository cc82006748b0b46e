"""Everything that can be wrong with a plan, as a user meets it: files that were edited, and agents that plan badly.

A plan file that cannot be run ends with 6, one that is too large with 7, and nothing of either has started then.
"""

import json
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.planners import PLANNERS
from tests.black_box.shown import harmless, inert, outside_code
from tests.black_box.user import (
    Done,
    answered,
    error_of,
    last_run,
    listed,
    refused,
    refused_both_ways,
    repository,
    run,
    snapshot,
)

_EVIL = "\x1b[31mred\x1b[0m \u202eevil <script>alert(1)</script> [x](javascript:alert(1)) ![y](http://z) `|`"


@pytest.fixture(scope="module")
def band(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A repository with singers and bad planners. What is refused has written nothing into it."""
    root = repository(tmp_path_factory.mktemp("band"), {".retinue/agents/planners.py": PLANNERS}, "Add agents")
    before = snapshot(root)
    yield root
    (root / "shared.md").unlink(missing_ok=True)
    assert snapshot(root) == before


@pytest.fixture
def trusting(home: Path, band: Path) -> Path:
    """`band`, trusted by its user."""
    assert run(home, band, "trust", "--yes").returncode == 0
    return band


def song(name: str = "a", *needs: str, **facts: Any) -> dict[str, Any]:
    return {"id": name, "agent": "singer", "instruction": f"sing {name}", "needs": [*needs], **facts}


def plan(*nodes: dict[str, Any], **facts: Any) -> str:
    return json.dumps({"nodes": nodes, **facts})


def given(home: Path, folder: Path, text: str | bytes, *words: str) -> Done:
    """Run the plan that `text` is, from a file."""
    file = home / "plan.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return run(home, folder, "run", "--plan", str(file), *words)


# Files that are no plan


_NO_PLANS: dict[str, tuple[str | bytes, str, str]] = {
    "empty": ("", "", "no JSON value"),
    "prose": ("Sing, then dance.", "", "a value was expected"),
    "cut": ('{"nodes": [', "/nodes", "ends"),
    "key twice": ('{"goal": "a", "goal": "b"}', "/goal", "twice"),
    "NaN": ('{"quorum": NaN}', "/quorum", "NaN"),
    "infinity": ('{"quorum": 1e999}', "/quorum", "1e999"),
    "deep": ('{"extras": ' + "[" * 100_000, "", "nested"),
    "half a pair": (r'{"goal": "\ud800"}', "/goal", "surrogate"),
    "not UTF-8": (b'{"goal": "caf\xe9"}', "", "0xe9"),
    "UTF-16": ('{"goal": "a"}'.encode("utf-16"), "", "UTF-16"),
    "byte order mark": ("\ufeff{}", "", "byte order mark"),
    "null": ("null", "", "An object belongs here"),
    "list": ("[]", "", "An object belongs here"),
    "nothing in it": ("{}", "/nodes", "no delegation"),
    "another format": (plan(song(), format=2), "/format", "1"),
    "misspelt": (plan(song(), joim="any"), "/joim", "no field `joim`"),
    "effects": (plan(song(effects=["write"])), "/nodes/0/effects", "no field `effects`"),
    "a number for a name": (plan({"id": 1, "agent": "singer"}), "/nodes/0/id", "string"),
    "a name that is none": (plan({"id": "a", "agent": "Singer of songs"}), "/nodes/0/agent", "pattern"),
    "no agent": (plan({"id": "a"}), "/nodes/0/agent", "missing"),
    "a share over all": (plan(song(), quorum=2), "/quorum", "less than or equal to 1"),
    "an unknown join": (plan(song(), join="most"), "/join", "'quorum'"),
    "an id twice": (plan(song(), song()), "/nodes/1/id", "appears twice"),
    "a reserved id": (plan(song("a~b")), "/nodes/0/id", "reserved"),
    "circle": (plan(song("a", "b"), song("b", "a")), "/nodes/0/needs", "`a` needs `b` needs `a`"),
    "itself": (plan(song("a", "a")), "/nodes/0/needs", "`a` needs `a`"),
    "dangling": (plan(song("a", "gone")), "/nodes/0/needs", "`gone`, which is not there"),
    "nobody": (plan({"id": "a", "agent": "singre"}), "/nodes/0/agent", "singre"),
    "no such skill": (plan(song(skill="dance")), "/nodes/0/skill", "dance"),
    "no such major": (plan(song(major=9)), "/nodes/0/major", "no major 9"),
    "a parameter too many": (plan(song(parameters={"volume": 11})), "/nodes/0/parameters/volume", "volume"),
    "a parameter that does not fit": (plan(song(parameters={"task": 7})), "/nodes/0/parameters/task", "7"),
    "a file outside": (plan(song(expects=[{"path": "../x.md"}])), "/nodes/0/expects/0/path", "../x.md"),
    "one file for two": (
        plan(song("a", expects=[{"path": "x.md"}]), song("b", expects=[{"path": "./X.md"}])),
        "/nodes/1/expects",
        "`a` and `b` both write",
    ),
}


@pytest.mark.parametrize("kind", _NO_PLANS)
def test_what_is_no_plan_for_these_agents_is_refused_with_its_place(home: Path, trusting: Path, kind: str) -> None:
    text, path, said = _NO_PLANS[kind]
    done = given(home, trusting, text, "--json")
    error = error_of(done)
    assert (done.returncode, error["code"], done.stdout) == (6, "invalid_input", "")
    found = [each for each in error["detail"]["findings"] if each.get("path", "").startswith(path)]
    assert said in " ".join(each["message"] for each in found)
    assert all(each["fix"] for each in error["detail"]["findings"])
    assert error["hint"]


def test_a_person_is_told_every_mistake_of_a_plan_with_its_place_and_what_to_do(home: Path, trusting: Path) -> None:
    nodes = [song("a", "gone"), song("b", "c"), song("c", "b"), song("d"), song("d")]
    done = given(home, trusting, plan(*nodes))
    refused(done, 6, "`gone`, which is not there", "`b` needs `c` needs `b`", "`d` appears twice")
    assert done.stderr.count("plan.json /nodes/") == done.stderr.count("    fix: ") == 3
    assert listed(home, trusting) == []


def test_a_long_list_of_mistakes_has_an_end(home: Path, trusting: Path) -> None:
    done = given(home, trusting, plan(*({"id": f"n{each}", "agent": "nobody"} for each in range(5_000))))
    refused(done, 6, "And 1000 more", "Only the first 1000 findings are listed")
    assert len(done.stderr) < 500_000


@pytest.mark.parametrize(
    ("source", "exits", "said"),
    [
        (".", 2, "directory"),
        ("", 2, "cannot be read"),
        ("no-such-plan.json", 2, "no-such-plan.json"),
        ("a\nb", 2, "No such file"),
        ("x" * 5_000, 2, "too long"),
        ("/dev/null", 6, "no JSON value"),
        ("/dev/zero", 6, "16777216 are allowed"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_plan_that_is_no_file_to_read_is_refused(home: Path, band: Path, source: str, exits: int, said: str) -> None:
    refused(run(home, band, "run", "--plan", source), exits, said)


def test_a_plan_file_that_may_not_be_reached_is_refused(home: Path, band: Path) -> None:
    (home / "circle.json").symlink_to("circle.json")
    refused(run(home, band, "run", "--plan", str(home / "circle.json")), 2, "circle.json")
    (home / "file").write_text("{}")
    refused(run(home, band, "run", "--plan", str(home / "file" / "plan.json")), 2, "plan.json")


def test_a_plan_of_a_hundred_megabytes_is_not_read_to_its_end(home: Path, band: Path) -> None:
    with (home / "huge.json").open("wb") as file:
        file.write(b'{"goal": "')
        file.truncate(100 * 2**20)
    refused(run(home, band, "run", "--plan", str(home / "huge.json")), 6, "16777216 are allowed")


def test_nothing_on_stdin_is_no_plan(home: Path, band: Path) -> None:
    refused(run(home, band, "run", "--plan", "-"), 6, "stdin:1:1")
    refused(run(home, band, "run", "-", "--plan", "-"), 2, "both")
    refused(run(home, band, "run", "--plan"), 2, "--plan")
    refused(run(home, band, "run"), 2, "--plan FILE")


def test_a_goal_beside_a_plan_is_checked_as_any_other(home: Path, trusting: Path) -> None:
    refused(given(home, trusting, plan(song()), ""), 2, "goal is empty")
    refused(given(home, trusting, plan(song()), "\x1b[31mred"), 2, "control character")


# Plans that are large, deep or strange, and can be walked


@pytest.mark.slow
def test_ten_thousand_delegations_are_over_the_budget_until_it_is_raised(home: Path, trusting: Path) -> None:
    text = plan(*(song(f"n{number}") for number in range(10_001)))
    done = given(home, trusting, text)
    refused(done, 7, "10,001 delegations", "--max-nodes 10001")
    assert listed(home, trusting) == []
    text = plan(*(song(f"n{number}") for number in range(101)))
    refused(given(home, trusting, text, "--max-nodes", "100"), 7, "101 delegations", "--max-nodes 101")
    answered(given(home, trusting, text, "--max-nodes", "101", "--no-journal"))


@pytest.mark.slow
@pytest.mark.deep
def test_ten_thousand_delegations_are_made_when_they_are_allowed(home: Path, trusting: Path) -> None:
    text = plan(*(song(f"n{number}") for number in range(10_001)))
    done = given(home, trusting, text, "--max-nodes", "10001", "--json", "--no-journal")
    answered(done)
    assert json.loads(done.stdout)["extras"]["calls"] == 10_001


@pytest.mark.slow
def test_a_plan_that_takes_too_long_ends_at_its_time_with_what_there_is(home: Path, trusting: Path) -> None:
    text = plan(*(song(f"n{number}", *([f"n{number - 1}"] if number else [])) for number in range(5_000)))
    refused(given(home, trusting, text, "--timeout", "200ms", "--no-journal"), 7, "--timeout")


def test_more_delegations_than_anybody_may_have_is_a_wrong_use(home: Path, band: Path) -> None:
    for number in ("0", "-1", "100001", "many", "9" * 5_000):
        refused(run(home, band, "run", "--plan", "/dev/null", "--max-nodes", number), 2, "--max-nodes")


def test_a_chain_of_a_thousand_is_walked(home: Path, trusting: Path) -> None:
    text = plan(*(song(f"n{number}", *([f"n{number - 1}"] if number else [])) for number in range(1_000)))
    done = given(home, trusting, text, "--json")
    answered(done)
    assert json.loads(done.stdout)["extras"]["calls"] == 1_000


def test_one_agent_may_be_named_many_times(home: Path, trusting: Path) -> None:
    done = given(home, trusting, plan(song("a"), song("b"), song("c", "a", "b"), song("d", "a")))
    answered(done, "song: sing a", "song: sing b", "song: sing c", "song: sing d")


def test_somebody_else_to_ask_who_is_not_there_is_only_a_warning(home: Path, trusting: Path) -> None:
    other = {"agent": "nobody", "skill": "nothing", "score": 1.0, "share": 1.0}
    done = given(home, trusting, plan(song(alternatives=[other])))
    answered(done, "song: sing a")
    assert "warning plan/agent" in done.stderr


def test_an_edited_plan_gets_no_code_to_run_before_its_folder_is_trusted(home: Path, band: Path) -> None:
    refused(given(home, band, plan(song())), 6, "`singer`")


def test_a_plan_written_by_one_command_and_edited_is_run_by_the_next(home: Path, trusting: Path) -> None:
    file = home / "made.json"
    answered(run(home, trusting, "plan", "sing a loud song", "--output", str(file)))
    made = json.loads(file.read_text())
    made["nodes"][0]["instruction"] = "sing something else"
    made["nodes"][0]["parameters"] = {}
    answered(given(home, trusting, json.dumps(made)), "song: sing something else")


# What a plan says is text


def evil_plan() -> str:
    chosen = {"agent": "singer", "skill": "singer", "score": 1, "share": 1, "reason": _EVIL}
    binding = {"parameter": "task", "value": _EVIL, "how": "said", "words": _EVIL}
    node = song("a", instruction=_EVIL, parameters={"task": _EVIL}, chosen=chosen, bindings=[binding], target=_EVIL)
    dropped = {"clause": _EVIL, "reason": _EVIL, "nearest": [{**chosen, "share": 0.1}]}
    return plan(node, goal=_EVIL, dropped=[dropped], extras={_EVIL: _EVIL})


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_markup_and_control_characters_of_a_plan_are_shown_and_not_obeyed(
    home: Path, trusting: Path, form: str
) -> None:
    done = given(home, trusting, evil_plan(), "--explain", "--format", form)
    answered(done, "alert(1)")
    harmless(done.stdout + done.stderr)
    if form == "html":
        inert(done.stdout)
    if form == "md":
        assert re.search(r"(?<!\\)<script", outside_code(done.stdout)) is None
        assert re.search(r"(?<!\\)\]\(javascript", outside_code(done.stdout)) is None


def test_what_is_remembered_of_an_evil_plan_is_shown_harmlessly_too(home: Path, trusting: Path) -> None:
    answered(given(home, trusting, evil_plan()))
    for words in (("runs", "list"), ("runs", "show"), ("runs", "show", "--explain"), ("runs", "show", "--json")):
        done = run(home, trusting, *words)
        answered(done)
        harmless(done.stdout + done.stderr)


def test_mistakes_of_an_evil_plan_are_told_harmlessly(home: Path, trusting: Path) -> None:
    for text, words in (
        (plan(song(), **{_EVIL: 1}), ()),
        (plan(song(parameters={_EVIL: _EVIL})), ("--json",)),
        (f'{{"goal": {_EVIL}}}', ()),
    ):
        done = given(home, trusting, text, *words)
        assert done.returncode == 6
        harmless(done.stdout + done.stderr)


def test_a_plan_file_with_an_evil_name_is_told_harmlessly(home: Path, band: Path) -> None:
    file = home / f"{_EVIL.replace('/', '')}.json"
    file.write_text("{")
    done = run(home, band, "run", "--plan", str(file))
    refused(done, 6, "alert(1)")
    harmless(done.stderr)


# Agents that plan badly


@pytest.mark.parametrize(
    ("agent", "said"),
    [
        ("mirror", "`mirror.mirror` → `mirror.mirror`"),
        ("there", "asks again exactly what is being answered: `there.there` → `back.back` → `there.there`"),
        ("circler", "`a` needs `b` needs `a`"),
        ("dangler", "`gone`, which is not there"),
        ("inventor", "nobody"),
        ("overlapper", "`a` and `b` both write 'report.md'"),
    ],
)
def test_a_plan_of_an_agent_that_cannot_be_walked_is_its_own_failure(
    home: Path, trusting: Path, agent: str, said: str
) -> None:
    refused(run(home, trusting, "ask", agent, "once more"), 5, said)
    result = json.loads(run(home, trusting, "ask", agent, "once more", "--json").stdout)
    assert said in json.dumps(result["fault"], ensure_ascii=False)
    assert result["fault"]["hint"]


def test_an_agent_that_goes_on_asking_itself_for_something_else_ends_at_the_depth(home: Path, trusting: Path) -> None:
    done = run(home, trusting, "run", "dig a hole", "--json")
    answered(done)
    result = json.loads(done.stdout)
    assert result["outcome"] == "partial"
    for depth in range(5):
        assert "song: dig a hole" + "!" * depth + "\n" in result["content"], "what was sung is kept"
    (warning,) = [each for each in result["warnings"] if "n1/hole/hole/hole/hole/hole" in each["message"]]
    assert "delegations may stand 5 above each other" in warning["message"]
    assert warning["recovery"]


def test_an_agent_that_plans_more_than_is_left_is_over_the_budget(home: Path, trusting: Path) -> None:
    refused_both_ways(
        home, trusting, ("ask", "hoarder", "more"), exits=7, code="budget_exceeded", said="10,001 delegations"
    )


def test_two_branches_that_wrote_one_file_are_found_afterwards(home: Path, trusting: Path) -> None:
    nodes = [{"id": name, "agent": name, "instruction": "write"} for name in ("left", "right")]
    done = given(home, trusting, plan(*nodes))
    assert done.returncode == 0
    assert "both wrote 'shared.md'" in done.stderr
    assert "in part" in done.stderr
    assert last_run(home, trusting)["outcome"] == "partial"


# Where an answer is written


@pytest.mark.parametrize("form", ["md", "html", "json"])
def test_an_answer_is_not_begun_where_it_cannot_be_kept(home: Path, trusting: Path, form: str) -> None:
    (home / "file").write_text("in the way")
    places = [".", "no-such-folder/answer", str(home / "file" / "answer"), ""]
    for place in places:
        done = run(home, trusting, "run", "sing a loud song", "--format", form, "--output", place)
        refused(done, 2)
        assert done.stdout == ""
    assert listed(home, trusting) == []
    assert (home / "file").read_text() == "in the way"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written_at_the_end_is_not_lost(home: Path, trusting: Path) -> None:
    done = run(home, trusting, "run", "sing a loud song", "--format", "html", "--output", "/dev/full")
    assert done.returncode != 0
    assert "No space left" in done.stderr
    assert "sing a loud song" in done.stdout


def test_a_plan_is_not_written_over_a_folder(home: Path, trusting: Path) -> None:
    for place in (".", "no-such-folder/plan.json"):
        refused(run(home, trusting, "plan", "sing a loud song", "--output", place), 2)


@pytest.mark.skipif(os.geteuid() == 0, reason="mode bits do not bind root")
def test_a_plan_that_may_not_be_read_is_refused(home: Path, band: Path) -> None:
    file = home / "plan.json"
    file.write_text("{}")
    file.chmod(0)
    refused(run(home, band, "run", "--plan", str(file)), 2, "cannot be read")
