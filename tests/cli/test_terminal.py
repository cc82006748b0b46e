"""The command at a terminal: the live tree, colours, questions, Ctrl-C."""

import os
from pathlib import Path

import pytest

from retinue.cli.trust import TrustStore
from tests.cli.shell import Terminal

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="pseudo-terminals are a matter of POSIX")]

HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def test_the_tree_lives_and_the_answer_is_drawn(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "sing a loud song and print a newspaper") as screen:
        screen.expect(HIDE, "sing a loud song and print a newspaper", "✓", "singer", "✓", "printer", SHOW)
        code, rest = screen.ended()
    assert code == 0
    assert "Sing a loud song" in rest
    assert "##" not in rest  # drawn, not printed
    assert "2 agents" in rest


def test_no_colour_means_no_colour(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "sing a loud song", NO_COLOR="1") as screen:
        _, told = screen.ended()
    assert "\x1b[3" not in told  # no foreground; the cursor may still be moved
    assert "answered" in told


def test_a_dumb_terminal_gets_plain_text(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "sing a loud song", TERM="dumb") as screen:
        code, told = screen.ended()
    assert code == 0
    assert "\x1b" not in told


@pytest.mark.parametrize("options", [("--quiet",), ("--json",), ("--jsonl",)])
def test_no_tree_where_none_is_wished(team: Path, home: Path, options: tuple[str, ...]) -> None:
    with Terminal(home, team, "run", "sing a loud song", *options) as screen:
        code, told = screen.ended()
    assert code == 0
    assert HIDE not in told
    assert " · run " not in told


def test_a_question_is_asked_and_its_answer_used(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "paint a wooden fence") as screen:
        screen.expect("painter asks", "What is `colour`", "> ")
        screen.type("red")
        screen.expect("✓")
        code, rest = screen.ended()
    assert code == 0
    assert "fence: red" in rest


def test_a_choice_is_asked_until_it_is_one(team: Path, home: Path) -> None:
    with Terminal(home, team, "ask", "curious", "dig") as screen:
        screen.expect("How deep?", "1. shallow", "2. deep", "1 to 2, or Enter to skip > ")
        screen.type("deepest")
        screen.expect("Invalid choice. Enter 1 to 2.", "> ")
        screen.type("2")
        code, rest = screen.ended()
    assert code == 0
    assert "hole: deep" in rest


def test_a_question_may_be_left_open(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "paint a wooden fence") as screen:
        screen.expect("> ")
        screen.type("")
        code, rest = screen.ended()
    assert code == 9
    assert "No terminal to ask in" in rest


def test_interrupting_a_question_restores_the_terminal(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "paint a wooden fence") as screen:
        screen.expect("> ")
        screen.interrupt()
        code, rest = screen.ended()
    assert code == 130
    assert "Interrupted." in rest
    assert rest.count(HIDE) == rest.count(SHOW)


def test_interrupting_a_run_says_how_to_go_on(team: Path, home: Path) -> None:
    with Terminal(home, team, "run", "sing a loud song and crawl slowly over leaves") as screen:
        screen.expect("crawling leaf")
        screen.interrupt()
        code, rest = screen.ended()
    assert code == 130
    assert "song: sing a loud song" in rest  # what was finished is shown
    assert "retinue runs resume" in rest
    assert rest.rfind(SHOW) > rest.rfind(HIDE)


def test_trust_asks_and_takes_no_for_an_answer(team: Path, home: Path) -> None:
    for typed, code, says in (("n", 2, "Not trusted."), ("", 2, "Not trusted."), ("y", 0, "trusted")):
        with Terminal(home, team, "trust") as screen:
            screen.expect("may they run with your permissions? [y/N]: ")
            screen.type(typed)
            ended, rest = screen.ended()
        assert (ended, says in rest) == (code, True)


def test_lists_are_cut_and_texts_wrapped_to_the_terminal(team: Path, home: Path) -> None:
    with Terminal(home, team, "agents", width=60) as screen:
        _, told = screen.ended()
    assert "…" in told
    with Terminal(home, team, "agents", "researcher_analyst", width=60, NO_COLOR="1") as screen:
        _, told = screen.ended()
    assert max(map(len, told.splitlines())) <= 60


_MISER = '''

@retinue.agent(examples=["count the golden coins"])
async def miser(task: str) -> dict[str, int]:
    """Counts golden coins. Use when coins must be counted. Returns how many there are."""
    return {"coins": "many"}
'''


@pytest.mark.requirement("K36")
def test_a_refused_answer_may_be_skipped_at_the_terminal(team: Path, home: Path) -> None:
    file = team / ".retinue" / "agents" / "team.py"
    file.write_text(file.read_text(encoding="utf-8") + _MISER, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(team)
    with Terminal(home, team, "run", "count the golden coins and sing a loud song") as screen:
        screen.expect("miser asks", "did not answer as it promises", "1. retry", "2. skip", "3. abort", "> ")
        screen.type("2")
        code, rest = screen.ended()
    assert code == 0
    assert "sing a loud song" in rest.lower()
    with Terminal(home, team, "run", "count the golden coins and crawl slowly over leaves") as screen:
        screen.expect("miser asks", "3. abort", "> ")
        screen.type("abort")
        code, rest = screen.ended()
    assert code == 1
