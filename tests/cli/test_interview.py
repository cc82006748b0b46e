"""An interview at a terminal: a person is asked question by question, dies in between, goes on, and has a ticket (G15)."""

import json
import os
from pathlib import Path

import pytest

from tests.catalogue.interviews import ANSWERS, plant_tickets
from tests.cli.shell import Terminal, run

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a matter of POSIX"),
    pytest.mark.requirement("G15"),
]

COMMAND = ("ask", "requirements_interviewer", "story", "pay carts", "-p", "target=EPIC-0001.1", "-p", "write=true")
TICKET = "docs/tickets/INIT-0001/EPIC-0001.1/STORY-0001.1.2/README.md"


@pytest.fixture
def planted(folder: Path) -> Path:
    plant_tickets(folder)
    return folder


def answer(screen: Terminal, names: list[str]) -> None:
    """Answer these questions as they come, each line of an answer but the last with what lets it go on."""
    for name in names:
        screen.expect("requirements_interviewer asks", "skip > " if name == "points" else "or Enter to skip > ")
        *lines, last = ANSWERS["story"][name].split("\n")
        for line in lines:
            screen.type(f"{line}\\")
            screen.expect("… > ")
        screen.type(last)


def approve(screen: Terminal) -> tuple[int, str]:
    screen.expect("STORY-0001.1.2/README.md?", "yes or no [no] > ")
    screen.type("yes")
    return screen.ended()


def test_a_person_answers_question_by_question_and_the_ticket_is_written(planted: Path, home: Path) -> None:
    with Terminal(home, planted, *COMMAND, width=200, NO_COLOR="1") as screen:
        screen.expect("About: pay carts", "22 questions follow")
        answer(screen, list(ANSWERS["story"]))
        code, rest = approve(screen)
    assert (code, "meets 14 of 14 criteria" in rest) == (0, True)
    at_once = json.dumps({"target": "EPIC-0001.1", "answers": dict(ANSWERS["story"])})
    written = (planted / TICKET).read_bytes().decode()
    (planted / TICKET).unlink()
    told = run(home, planted, "ask", "requirements_interviewer", "story", "--params", at_once, "--json")
    assert json.loads(told.stdout)["data"]["ticket"]["text"] == written
    assert told.returncode == 0


def test_an_interview_whose_process_died_goes_on_where_it_was(planted: Path, home: Path) -> None:
    names = list(ANSWERS["story"])
    with Terminal(home, planted, *COMMAND, width=200, NO_COLOR="1") as screen:
        answer(screen, names[:12])
        screen.expect("[13 of 22]", "skip > ")
        # What was answered is in the history a moment later.
        while run(home, planted, "runs", "show", "--events", "--json").stdout.count('"kind": "answered"') < 12:
            pass
    # Leaving kills it, as it stands.
    with Terminal(home, planted, "runs", "resume", width=200, NO_COLOR="1") as screen:
        screen.expect("[13 of 22]")
        answer(screen, names[12:])
        code, _ = approve(screen)
    assert code == 0
    assert "## Edge Cases" in (planted / TICKET).read_text("utf-8")
    assert "- 200 ms for a cart of 50 things" in (planted / TICKET).read_text("utf-8")
    check = run(home, planted, "tickets", "check", "--json")
    assert check.returncode == 0
