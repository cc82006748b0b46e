"""The command line as a whole: which verbs there are, and what becomes of an error."""

import sys
import threading
from pathlib import Path

import click
import pytest

from retinue import __version__
from retinue.cli import main, verbs
from retinue.cli.app import VERBS, cli, colour
from retinue.errors import InvalidDefinition, NetworkError
from tests.cli.conftest import Give


def test_version_is_said_by_both_options(retinue: Give) -> None:
    assert retinue("--version").out == retinue("-V").out == f"retinue {__version__}\n"


def test_help_lists_every_verb_with_its_words(retinue: Give) -> None:
    said = retinue("--help")
    assert said.code == 0
    assert all(verb in said.out and about in said.out for verb, about in VERBS.items())


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_explains_itself(retinue: Give, verb: str) -> None:
    said = retinue(verb, "--help")
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith(f"Usage: retinue {verb}")


def test_every_option_of_every_verb_has_words() -> None:
    context = click.Context(cli)
    commands = [cli.get_command(context, verb) for verb in VERBS]
    inner = [each for group in commands if isinstance(group, click.Group) for each in group.commands.values()]
    options = [each for command in (*commands, *inner) if command for each in command.params]
    assert [each.name for each in options if isinstance(each, click.Option) and not each.help] == []


def test_without_a_verb_the_help_is_shown(retinue: Give) -> None:
    said = retinue()
    assert (said.code, said.out) == (2, "")
    assert "Usage: retinue" in said.err
    assert "error" not in said.err


def test_a_mistyped_verb_is_recognised(retinue: Give) -> None:
    said = retinue("lnit")
    assert (said.code, said.out) == (2, "")
    assert "No such command 'lnit'. Did you mean `lint`?" in said.err
    assert "next: See `retinue --help`." in said.err


def test_a_goal_without_a_verb_is_told_where_it_belongs(retinue: Give) -> None:
    assert '`retinue run "…"`' in retinue("who changed the parser?").err


def test_a_mistyped_option_is_recognised(retinue: Give) -> None:
    said = retinue("agents", "--jsn")
    assert said.code == 2
    assert "--json" in said.err


def test_an_error_for_programs_is_one_line_of_json(retinue: Give, folder: Path) -> None:
    said = retinue("agents", "nobody", "--json")
    assert (said.code, said.out) == (2, "")
    assert said.error["code"] == "invalid_input"
    assert said.error["suggestions"]
    assert said.error["hint"]


def test_a_usage_error_for_programs_is_json_too(retinue: Give) -> None:
    assert retinue("run", "--json").error == {
        "code": "invalid_input",
        "message": "Missing argument 'GOAL...'. Give a goal, or a plan with --plan FILE.",
        "hint": "See `retinue run --help`.",
    }


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (NetworkError("No answer came."), 4),
        (InvalidDefinition("It breaks the rules.", path="/name", detail={"findings": [1]}), 6),
        (click.Abort(), 130),
        (KeyboardInterrupt(), 130),
        (ValueError("surprise"), 1),
        (PermissionError(13, "Permission denied", "/etc/shadow"), 1),
    ],
)
def test_whatever_a_verb_raises_becomes_an_exit_code(
    retinue: Give, monkeypatch: pytest.MonkeyPatch, error: BaseException, code: int
) -> None:
    def broken(**_: object) -> None:
        raise error

    monkeypatch.setattr(verbs.agents, "callback", broken)
    said = retinue("agents")
    assert (said.code, said.out) == (code, "")
    assert "Traceback" not in said.err
    assert "next: " in said.err
    assert retinue("agents", "--json").error["hint"]


def test_our_own_mistake_shows_its_place_when_asked_to(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(**_: object) -> None:
        raise ValueError("surprise")

    monkeypatch.setattr(verbs.agents, "callback", broken)
    monkeypatch.setenv("RETINUE_DEBUG", "1")
    with pytest.raises(ValueError, match="surprise"):
        main(["agents"])


def test_foreign_text_in_an_error_cannot_move_the_cursor(retinue: Give, folder: Path) -> None:
    said = retinue("agents", "\x1b[2J\u202ename")
    assert "\x1b" not in said.err
    assert "\u202e" not in said.err


def test_main_reads_the_arguments_of_the_process(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["retinue", "--version"])
    assert main() == 0
    assert __version__ in capsys.readouterr().out


def test_main_never_ends_the_process_that_calls_it(
    retinue: Give, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    assert retinue("plan", "is the work tree clean").code == 0  # has loaded what ends the process of a command
    monkeypatch.setattr(sys, "argv", ["retinue", "--version"])
    assert main() == 0
    assert "exit" not in {thread.name for thread in threading.enumerate()}
    assert __version__ in capsys.readouterr().out


@pytest.mark.parametrize(("variable", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_colour_is_refused_by_the_environment(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv("TERM", "xterm")
    assert colour() is None
    monkeypatch.setenv(variable, value)
    assert colour() is False
