"""Facade tests: verdicts, files of cases, and the command that runs them."""

import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from retinue.catalogue import agents
from retinue.catalogue.personal_assistant import PersonalAssistant, shipped_domains
from retinue.catalogue.personal_assistant.facade import FacadeCase, judge, read_cases, shipped_cases
from retinue.catalogue.personal_assistant.route import read_prompt
from retinue.errors import InvalidInput, MissingFile
from retinue.orchestration.reader.planner import Planner
from tests import forkserver
from tests.repository.tree import child_environment


@pytest.mark.requirement("B27")
@pytest.mark.parametrize(
    ("called", "verdict"),
    [(["a"], "pass"), (["a", "a"], "pass"), (["b", "a"], "partial"), (["b"], "fail"), ([], "fail")],
)
def test_a_verdict_is_by_the_tools_that_were_called(called: list[str], verdict: str) -> None:
    assert judge("a", called) == verdict


@pytest.mark.requirement("B27")
def test_the_shipped_prompts_are_no_examples_of_the_tools_and_every_tool_has_some() -> None:
    cases = shipped_cases()
    tools = {tool.name: tool for domain in shipped_domains() for tool in domain.tools}
    assert len(cases) >= 26
    assert {case.tool for case in cases} == set(tools)
    examples = {tool.words.example_prompt.casefold() for tool in tools.values()}
    assert not [case for case in cases if case.prompt.casefold() in examples]


@pytest.mark.requirement("B21")
def test_every_shipped_tool_is_named_and_described_as_the_spec_says() -> None:
    for domain in shipped_domains():
        assert 3 <= len(domain.tools) <= 5
        for tool in domain.tools:
            prefix, action, _ = tool.name.split("_", 2)
            assert prefix == domain.name
            assert action in {"GET", "UPDATE", "ACTION"}
            words = tool.words
            assert all((words.summary, words.example_prompt, words.example_response, words.notes))
            assert isinstance(json.loads(words.example_args), dict)


@pytest.mark.parametrize(
    "text", ["", "[[case]]\nprompt = 1\ntool = 'x'", "[[case]]\nprompt = 'x'", "case = 3", "[[case", "case = ['x']"]
)
def test_a_file_that_holds_no_cases_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "cases.toml").write_text(text)
    with pytest.raises(InvalidInput, match=r"cases\.toml"):
        read_cases(tmp_path / "cases.toml")
    with pytest.raises(MissingFile):
        read_cases(tmp_path / "none.toml")


def facade(folder: Path, text: str, *options: str) -> tuple[int, dict[str, Any]]:
    (folder / "cases.toml").write_text(text)
    command = [sys.executable, "-m", "retinue", "assistant", "test", "cases.toml", "--json", *options]
    setup = child_environment(PYTHONDONTWRITEBYTECODE="1", PYTHONWARNINGS="error")
    done = forkserver.run(command, cwd=folder, env=setup, text=True, timeout=60)
    return done.returncode, json.loads(done.stdout)


@pytest.mark.slow
@pytest.mark.requirement("B27", "B28")
def test_each_prompt_has_a_process_of_its_own_and_the_first_that_fails_ends_it(tmp_path: Path) -> None:
    good = FacadeCase(prompt="show my newest notes", tool="NOTES_GET_latest")
    text = "".join(
        f"[[case]]\nprompt = {json.dumps(case.prompt)}\ntool = {json.dumps(case.tool)}\n" for case in (good, good)
    )
    code, told = facade(tmp_path, text)
    assert code == 0
    assert [case["verdict"] for case in told["cases"]] == ["pass", "pass"]
    code, told = facade(tmp_path, "[[case]]\nprompt = 'fly to Rome'\ntool = 'X'\n" + text)
    assert (code, told["left_out"]) == (8, 2)
    code, told = facade(tmp_path, "[[case]]\nprompt = 'fly to Rome'\ntool = 'X'\n" + text, "--keep-going")
    assert (code, told["left_out"]) == (8, 0)


@pytest.mark.parametrize("prompt", ["what is still on my to-do list", "jot down that the wifi password is tea2go"])
def test_no_word_of_a_prompt_is_taken_for_the_name_of_a_tool(prompt: str) -> None:
    (node,) = Planner([PersonalAssistant.definition]).plan(prompt).nodes
    assert node.parameters["tool"] == ""


@pytest.mark.parametrize(
    "prompt",
    [
        "show my todo list",
        "show my to-do list",
        "what is on my todo list",
        "what is on my to-do list",
        "list my todos",
    ],
)
def test_the_list_of_tasks_is_planned_and_shown_however_it_is_spelled(prompt: str) -> None:
    (node,) = Planner([agent.definition for agent in agents()]).plan(prompt).nodes
    assert (node.agent, node.parameters["tool"]) == ("personal_assistant", "")
    (request,) = read_prompt(prompt, shipped_domains(), today=date(2026, 5, 4))
    assert request.tool is not None
    assert request.tool.name == "TASKS_GET_open"
