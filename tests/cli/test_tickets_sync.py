"""`retinue tickets sync` and `retinue tickets apply`: tickets are brought up to date with git, all or nothing."""

import json
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Give
from tests.tools.conftest import Repository, own_git_configuration

__all__ = ["own_git_configuration"]

TASK = "docs/tickets/TASK-0001.1.1.{}.md"
TODO, DONE = "**Status**: 🔵 Not Started", "**Status**: ✅ Complete"


def task_text(number: int, status: str = TODO) -> str:
    return f"# TASK-0001.1.1.{number}: Step\r\n\r\n**Parent**: STORY-0001.1.1\r\n{status}\r\n**Actual Hours**: 2\r\n"


@pytest.fixture
def drifted(folder: Path) -> Repository:
    """Two tasks that commits have done, and that say that they are not begun."""
    made = Repository(folder)
    for number in (1, 2):
        made.write(TASK.format(number), task_text(number))
    made.commit("docs(STORY-0001.1.1): Plan")
    for number in (1, 2):
        made.write(f"step{number}.py", "x = 1\n")
        made.commit(f"feat(TASK-0001.1.1.{number}): Step")
    return made


def read(made: Repository, number: int) -> str:
    return (made.root / TASK.format(number)).read_bytes().decode()


def edit(made: Repository, number: int = 1, **changes: Any) -> dict[str, Any]:
    """An edit as an agent proposes it."""

    digest = sha256((made.root / TASK.format(number)).read_bytes()).hexdigest()
    facts = {"file": TASK.format(number), "edit_type": "status", "old": TODO, "new": DONE, "reason": "…", "line": 4}
    return {**facts, "digest": digest, **changes}


@pytest.mark.requirement("G11")
def test_drift_is_shown_with_its_diff_and_mended_on_a_yes(retinue: Give, drifted: Repository) -> None:
    said = retinue("tickets", "sync")
    assert said.code == 6
    place = f"{TASK.format(1)}:4: medium task_status/status It says not begun; 1 commit names it"
    assert place in said.out
    assert "+**Status**: ✅ Done" in said.out  # no ticket here has said it yet
    assert "drift: 0 high, 2 medium, 0 low; 2 edits proposed" in said.err
    assert read(drifted, 1) == task_text(1)
    assert retinue("tickets", "sync", "--apply").code == 2  # nobody is there to ask
    said = retinue("tickets", "sync", "--apply", "--yes", "--json")
    assert said.code == 0
    assert said.data["files"] == [TASK.format(1), TASK.format(2)]
    assert [read(drifted, number) for number in (1, 2)] == [
        task_text(number, "**Status**: ✅ Done") for number in (1, 2)
    ]
    said = retinue("tickets", "sync")
    assert said.code == 0
    assert "in sync: 0 high" in said.err
    drifted.commit("Something else")
    assert [retinue("tickets", "sync").code, retinue("tickets", "sync", "--strict").code] == [0, 6]
    assert retinue("tickets", "sync", "TASK-0001.1.1.9").code == 2
    assert retinue("tickets", "sync", "--yes").code == 2


def test_what_an_agent_answers_can_be_applied_as_it_is(retinue: Give, drifted: Repository) -> None:
    words = ("ask", "git_state_analyzer", "drift_detection", "-p", "target=TASK-0001.1.1.1")
    answers = [
        retinue(*words, "--json").out,
        *(retinue(*words, "--out", name).out for name in ("markdown_json", "a2a")),
    ]
    run = retinue("runs", "list", "--json").data[0]["run"]
    for answer in answers:
        Path("answer.json").write_text(f"Here:\n\n```json\n{answer}```\n" if answer is answers[1] else answer)
        said = retinue("tickets", "apply", "answer.json", "--diff")
        assert (said.code, said.err) == (0, "")
        assert said.out.count("\n+") == 2  # its name, and the line
    assert retinue("tickets", "apply", "--run", run, "--yes").code == 0
    assert (read(drifted, 1), read(drifted, 2)) == (
        task_text(1, "**Status**: ✅ Done"),
        task_text(2),
    )
    said = retinue("tickets", "apply", "answer.json", "--yes")
    assert said.code == 2
    assert "has changed since the edit was proposed" in said.err


@pytest.mark.parametrize(
    ("changes", "why"),
    [
        ({"file": "../outside.md"}, "is no ticket of this workspace"),
        ({"file": "/etc/passwd"}, "is no ticket of this workspace"),
        ({"file": "step1.py"}, "is no ticket of this workspace"),
        ({"file": ".git/config"}, "is no ticket of this workspace"),
        ({"digest": "0" * 64}, "has changed since the edit was proposed"),
        ({"digest": "none"}, "cannot be used"),
        ({"line": 3}, "stands 0 times on line 3"),
        ({"line": 9999}, "stands 0 times"),
        ({"old": "t"}, "stands 5 times"),
        ({"old": ""}, "cannot be used"),
        ({"mode": "0777"}, "cannot be used"),
    ],
)
def test_edits_of_anybody_are_trusted_in_nothing(
    retinue: Give, drifted: Repository, changes: dict[str, Any], why: str
) -> None:
    edits = [edit(drifted, 2), edit(drifted, 1, **changes)]
    Path("edits.json").write_text(json.dumps({"data": {"proposed_edits": edits}}))
    said = retinue("tickets", "apply", "edits.json", "--yes")
    assert said.code == 2
    assert why in said.err
    assert [read(drifted, number) for number in (1, 2)] == [task_text(number) for number in (1, 2)]


def test_when_a_later_file_cannot_be_written_the_earlier_are_put_back(retinue: Give, drifted: Repository) -> None:
    text = f"{task_text(2, '**Status**: Not Started')}Caf\xe9\r\n".encode("latin-1")
    drifted.write(TASK.format(2), text)
    second = edit(drifted, 2, old="Not Started", new="✅ Complete")
    Path("edits.json").write_text(json.dumps([edit(drifted, 1), second]))
    said = retinue("tickets", "apply", "edits.json", "--yes")
    assert said.code == 2
    assert "has no place in the encoding" in said.err
    assert read(drifted, 1) == task_text(1)
    Path("edits.json").write_text(json.dumps([edit(drifted, 1), {**second, "new": "Complete"}]))
    assert retinue("tickets", "apply", "edits.json", "--yes").code == 0
    assert (drifted.root / TASK.format(2)).read_bytes() == text.replace(b"Not Started", b"Complete")


def test_a_person_is_asked_and_may_say_no(retinue: Give, drifted: Repository, monkeypatch: pytest.MonkeyPatch) -> None:
    Path("edits.json").write_text(json.dumps([edit(drifted)]))
    monkeypatch.setattr("retinue.cli.tickets.is_interactive", lambda: True)
    for answer, code, text in (("n\n", 1, task_text(1)), ("y\n", 0, task_text(1, DONE))):
        said = retinue("tickets", "apply", "edits.json", stdin=answer)
        assert said.code == code
        assert "Make 1 edit?" in said.err
        assert read(drifted, 1) == text


def test_where_there_is_nothing_to_apply_it_says_so(retinue: Give, drifted: Repository) -> None:
    for text, why in (("{}", "no `proposed_edits`"), ("no JSON", "no `proposed_edits`"), ("[1]", "cannot be used")):
        Path("edits.json").write_text(text)
        said = retinue("tickets", "apply", "edits.json", "--yes")
        assert said.code == 2
        assert why in said.err
    Path("edits.json").write_text('{"proposed_edits": []}')
    assert retinue("tickets", "apply", "edits.json").code == 0
    assert retinue("tickets", "apply").code == 2
    assert retinue("tickets", "apply", "edits.json", "--run", "x").code == 2
    assert retinue("tickets", "apply", "nowhere.json").code == 2
