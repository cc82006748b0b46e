"""Who drives the models of agents that are instructions: what is set, by whom, and what a run that goes on keeps of it."""

from pathlib import Path

import pytest
from retinue_claude import ClaudeCode

from retinue.agents.prompted.loop import BUILTIN_LOOP, installed_loop
from retinue.cli.session import Invocation, invocation_in
from retinue.cli.settings import load, loops_of
from retinue.cli.user_paths import user_config_file
from retinue.contract.plan import Plan
from retinue.errors import NotInstalled
from retinue.llm.models import Models


def write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


def test_our_own_loop_drives_them_when_nothing_is_said(folder: Path) -> None:
    assert loops_of(load(folder, environment={})) is None
    assert loops_of(load(folder, environment={"RETINUE_MODELS_RUNNER": "claude"}), "own") is None


@pytest.mark.parametrize("flag", [None, "claude"])
def test_claude_code_drives_those_that_its_user_says(folder: Path, flag: str | None) -> None:
    said = '[models]\nrunner = "own"\n\n[models.runner_of]\nkeeper = "claude"\n'
    write(user_config_file(), said)
    loops = loops_of(load(folder, environment={}), flag)
    assert loops is not None
    assert isinstance(loops("keeper"), ClaudeCode)
    assert (loops("other") is BUILTIN_LOOP) is (flag is None)


def test_a_project_cannot_say_it(folder: Path) -> None:
    write(folder / "retinue.toml", '[models]\nrunner = "claude"\n\n[models.runner_of]\nkeeper = "claude"\n')
    settings = load(folder, environment={})
    assert loops_of(settings) is None
    assert len(settings.findings) == 2


def test_a_run_that_goes_on_keeps_its_runner() -> None:
    plan = Invocation(workspace="/somewhere", runner="claude").record_in(Plan())
    settled = invocation_in(plan)
    assert settled is not None
    assert settled.runner == "claude"


def test_a_runner_that_is_not_installed_says_what_to_install() -> None:
    with pytest.raises(NotInstalled) as caught:
        installed_loop("nobody").model("anthropic:some", Models())
    assert "retinue-nobody" in caught.value.hint
