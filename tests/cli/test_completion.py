"""Completion: the scripts, and what they really complete."""

import shutil
import subprocess
import sys
from pathlib import Path

import click
import pytest
from click.shell_completion import CompletionItem

from retinue.cli import completion
from tests.cli.conftest import Give
from tests.cli.shell import COMMAND, environment

BASH = shutil.which("bash")


@pytest.mark.parametrize(
    ("shell", "mark"), [("bash", "complete -o nosort -F"), ("zsh", "#compdef retinue"), ("fish", "complete --no-files")]
)
def test_each_shell_gets_its_script(retinue: Give, shell: str, mark: str) -> None:
    said = retinue("completion", shell)
    assert said.code == 0
    assert mark in said.out
    assert "_RETINUE_COMPLETE" in said.out


def test_another_shell_is_refused(retinue: Give) -> None:
    assert retinue("completion", "dosbox").code == 2


@pytest.mark.slow
@pytest.mark.skipif(BASH is None, reason="no bash here")
def test_bash_really_completes(team: Path, home: Path) -> None:
    script = """
        eval "$(retinue completion bash)"
        try() {
            COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
            _retinue_completion retinue "${COMP_WORDS[$COMP_CWORD]}"
            echo "${COMPREPLY[*]}"
        }
        try retinue ru
        try retinue run --fail-on ''
        try retinue ask sing
        try retinue ask git_state_analyzer ''
        try retinue agents pai
        try retinue completion ''
    """
    bin_folder = home / "bin"
    bin_folder.mkdir()
    (bin_folder / "retinue").write_text(f'#!/bin/sh\nexec {" ".join(COMMAND)} "$@"\n')
    (bin_folder / "retinue").chmod(0o755)
    path = f"{bin_folder}:{Path(sys.executable).parent}:/usr/bin:/bin"
    done = subprocess.run(
        [str(BASH), "-c", script],
        cwd=team,
        env=environment(home, PATH=path),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.splitlines() == [
        "run runs",
        "failure partial",
        "singer",
        "branch_status commit_analysis task_validation drift_detection",
        "painter",
        "bash zsh fish",
    ]


def words(found: list[CompletionItem]) -> list[str]:
    return [each.value for each in found]


def context(**params: object) -> click.Context:
    made = click.Context(click.Command("x"))
    made.params = dict(params)
    return made


ARGUMENT = click.Argument(["x"])


def test_runs_are_offered_with_their_goals(retinue: Give, team: Path) -> None:
    retinue("run", "sing a loud song")
    (offered,) = completion.run_ids(context(), ARGUMENT, "")
    assert offered.help == "sing a loud song"
    assert completion.run_ids(context(), ARGUMENT, "zz") == []


def test_an_instruction_is_not_completed(folder: Path) -> None:
    assert completion.agent_words(context(words=("a", "b")), ARGUMENT, "") == []


def test_whatever_goes_wrong_nothing_is_offered(folder: Path, home: Path) -> None:
    nowhere = context(workspace=Path("nowhere"), words=("singer",))
    assert completion.agent_names(nowhere, ARGUMENT, "") == []
    assert completion.agent_words(nowhere, ARGUMENT, "") == []
    (home / "state" / "journal.sqlite3").mkdir(parents=True)
    assert completion.run_ids(context(), ARGUMENT, "") == []


def test_agents_are_offered_by_their_beginning(folder: Path) -> None:
    assert words(completion.agent_names(context(), ARGUMENT, "researcher")) == ["researcher_analyst"]
    assert words(completion.agent_words(context(words=()), ARGUMENT, "git")) == ["git_state_analyzer"]
