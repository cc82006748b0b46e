"""Programs as agents: how they end, what they may see, what they tell while they work, and who says which one runs."""

import asyncio
import json
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.boundary import Boundary
from retinue.agents.boundary.policy import Policy
from retinue.agents.code_files import code_files
from retinue.agents.definition_files import with_commands
from retinue.agents.load import NEEDS_MODEL, LoadedAgents, load_json
from retinue.agents.local import LocalContext
from retinue.agents.port import Agent
from retinue.agents.registry import Registry
from retinue.agents.wrapped import CommandAgent, split_command
from retinue.agents.wrapped.default_definition import name_from_argv
from retinue.contract.event import Checkpoint, Progress
from retinue.contract.result import Result
from retinue.contract.task import Limits, Task
from retinue.errors import InvalidInput
from retinue.tools.workspace import Workspace
from tests.agents.programs import ANSWERS, python, script, telling, wait_until_gone

ONCE = Limits(retries=0)


def asked(agent: Agent, *, run: LocalContext | None = None, instruction: str = "Count.", **facts: Any) -> Result:
    said: dict[str, Any] = {"limits": ONCE, **facts}
    task = Task(id="t1", agent=agent.definition.name, instruction=instruction, **said)
    boundary = Boundary(Registry([agent]), policy=Policy(first_wait_s=0.001))
    return asyncio.run(boundary.call(task, run or LocalContext()))


# How it ends.


@pytest.mark.parametrize(
    ("source", "code", "part"),
    [
        ("print('half'); raise SystemExit(3)", "internal_error", "ended with status 3"),
        ("raise ValueError('no such table')", "internal_error", "ended with status 1: ValueError: no such table"),
        ("import os; os.kill(os.getpid(), 9)", "internal_error", "was ended by SIGKILL"),
        ("import os; os.kill(os.getpid(), 35)", "internal_error", "was ended by"),
        ("raise SystemExit(75)", "unavailable", "status 75"),
        ("raise SystemExit(126)", "access_denied", "status 126"),
        ("raise SystemExit(127)", "missing_file", "status 127"),
    ],
)
def test_a_program_that_does_not_end_well_is_a_fault(source: str, code: str, part: str) -> None:
    result = asked(CommandAgent(python(source), name="counter"))
    assert result.fault is not None
    assert (result.useful, result.fault.code) == (False, code)
    assert part in result.fault.message
    assert result.fault.hint
    assert result.content == ("half" if "half" in source else "")


def test_what_it_said_on_stderr_is_in_the_fault() -> None:
    source = "import sys; print('x' * 9000, file=sys.stderr); print('disk full', file=sys.stderr); sys.exit(1)"
    fault = asked(CommandAgent(python(source), name="counter")).fault
    assert fault is not None
    assert fault.message.endswith(": disk full")
    assert len(fault.detail["stderr"]) == 2_000
    assert fault.detail["status"] == 1


def test_an_answer_counts_even_when_its_program_ends_badly() -> None:
    source = f"import sys; print({ANSWERS['markdown_json']!r}); print('boom', file=sys.stderr); sys.exit(4)"
    result = asked(CommandAgent(python(source), name="counter", dialect="markdown_json"))
    assert (result.outcome, result.data) == ("success", {"words": 2})
    assert any("ended with status 4 after it had answered" in warning.message for warning in result.warnings)
    assert result.extras["command"] == {"status": 4, "stderr": "boom\n"}
    broken = asked(CommandAgent(python("print('{'); raise SystemExit(4)"), name="counter", dialect="markdown_json"))
    assert broken.fault is not None
    assert (broken.fault.code, broken.content) == ("internal_error", "{\n")


def test_a_program_that_is_not_there_says_what_to_do() -> None:
    result = asked(CommandAgent("no-such-program-here --json"))
    assert result.fault is not None
    assert (result.fault.code, result.fault.detail["class"]) == ("unavailable", "NotInstalled")
    assert result.retries == 0
    assert "Install it" in result.fault.hint


@pytest.mark.parametrize("dialect", [None, "markdown_json", "task_signal"])
def test_silence_is_no_answer(dialect: Any) -> None:
    result = asked(CommandAgent(python("pass"), name="counter", dialect=dialect))
    assert result.fault is not None
    assert (result.fault.code, result.fault.detail["reason"]) == ("output_invalid", "silence")
    assert result.fault.message == f"`{Path(sys.executable).name}` exited with status 0, but printed nothing."
    assert f"`{dialect}`" in result.fault.hint or dialect is None
    assert result.outcome == "failed"
    source = "import sys; print('{}', file=sys.stderr)"
    result = asked(CommandAgent(python(source), name="counter", dialect=dialect))
    assert result.fault is not None
    assert "printed nothing on stdout, only on stderr." in result.fault.message
    assert result.fault.detail["stderr"] == "{}\n"


def test_a_program_that_floods_is_refused_and_its_beginning_kept() -> None:
    agent = CommandAgent(python("while True: print('na', end='')"), name="counter", max_bytes=10_000)
    result = asked(agent)
    assert result.fault is not None
    assert result.fault.code == "output_invalid"
    assert "more than 10,000 bytes" in result.fault.message
    assert result.fault.detail["begins"].startswith("nana")


@pytest.mark.requirement("C21")
def test_a_program_that_hangs_is_ended_with_its_children_when_time_is_up(tmp_path: Path) -> None:
    source = 'sleep 1000 & echo $! > "$0"; echo half a word; sleep 1000'
    began = time.monotonic()
    agent = CommandAgent(["sh", "-c", source, str(tmp_path / "pid")], name="counter")
    result = asked(agent, limits=Limits(retries=0, timeout_s=0.7))
    assert result.fault is not None
    assert result.fault.code == "timeout"
    assert any("beginning with 'half a word'" in warning.message for warning in result.warnings)
    assert time.monotonic() - began < 30
    wait_until_gone(int((tmp_path / "pid").read_text()))


def test_a_program_whose_children_live_on_has_answered() -> None:
    source = "import subprocess; subprocess.Popen(['sleep', '1000']); print('answer', flush=True)"
    result = asked(CommandAgent(python(source), name="counter"))
    assert (result.outcome, result.content) == ("success", "answer")
    assert "ended before the processes it had started" in result.warnings[0].message


# What it is given.


@pytest.mark.parametrize("dialect", [None, "tool_use", "run_agent", "task_signal", "markdown_json", "agent_http"])
def test_its_request_ends_with_a_line_so_that_a_shell_can_read_it(tmp_path: Path, dialect: Any) -> None:
    lines = 'n=0; while read -r line; do n=$((n + 1)); done; printf "%s %s" "$n" "$line" > "$0"'
    asked(CommandAgent(["sh", "-c", lines, str(tmp_path / "read")], name="counter", dialect=dialect))
    count, _, unread = (tmp_path / "read").read_text().partition(" ")
    assert int(count) >= 1
    assert unread == ""


def test_it_sees_few_variables_and_those_that_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "k")
    monkeypatch.setenv("SECRET_OF_TEST", "s")
    source = "import os; print([os.environ.get(n) for n in ('KEY_OF_TEST', 'SECRET_OF_TEST', 'LC_ALL')])"
    agent = CommandAgent(python(source), name="counter", environment=["KEY_OF_TEST", "NONE_OF_TEST"])
    result = asked(agent)
    assert result.content == "['k', None, 'C.UTF-8']"
    assert "`NONE_OF_TEST`" in result.warnings[0].message


def test_no_shell_reads_its_words() -> None:
    words = ["$HOME", "*", "; echo x", "`id`", "a b", "-"]
    assert asked(CommandAgent([*python("import sys; print(sys.argv[1:])"), *words], name="c")).content == str(words)


def test_it_runs_where_it_is_told(tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    here.mkdir()
    there.mkdir()
    source = "import os; print(os.path.basename(os.getcwd()))"
    run = LocalContext(workspace=Workspace(here))
    assert asked(CommandAgent(python(source), name="c"), run=run).content == "here"
    assert asked(CommandAgent(python(source), name="c", cwd=there), run=run).content == "there"
    assert asked(CommandAgent(python(source), name="c")).content == Path.cwd().name
    script(there, source, name="tool")
    assert asked(CommandAgent("./tool", cwd=there)).content == "there"
    gone = asked(CommandAgent("./tool", cwd=tmp_path / "gone"))
    assert gone.fault is not None
    assert gone.fault.code == "missing_file"


def test_what_is_no_text_in_its_answer_is_kept_visible() -> None:
    source = "import sys; sys.stdout.buffer.write(b'caf\\xe9')"
    result = asked(CommandAgent(python(source), name="c"))
    assert result.content == "caf\\xe9"
    assert "is not UTF-8 from byte 4 on" in result.warnings[0].message


def test_what_is_no_text_in_json_is_kept_visible_too() -> None:
    source = 'import sys; sys.stdout.buffer.write(b\'{"content": "caf\\xe9", "response_time_secs": 1, "traces": []}\')'
    result = asked(CommandAgent(python(source), name="c", dialect="run_agent"))
    assert (result.outcome, result.content) == ("success", "caf\\xe9")
    assert any("is not UTF-8 from byte 17 on" in each.message for each in result.warnings)


@pytest.mark.requirement("H18", "H19", "C42")
def test_progress_is_told_while_it_works() -> None:
    source = (
        "print('PROGRESS: Reading - 15/30 files'); print('CHECKPOINT: Reading complete'); print('- Artifacts: 2')\n"
        "print('- Status: fine'); print('STATUS: complete'); print(); print('```'); print('PROGRESS: not this')"
    )
    run = LocalContext()
    result = asked(CommandAgent(python(source), name="counter", dialect="task_signal"), run=run)
    told = [event.body for event in run.events if isinstance(event.body, Progress | Checkpoint)]
    assert told == [Progress("Reading", "15/30 files", 15, 30), Checkpoint("Reading", "fine", 2)]
    assert result.fault is None


@pytest.mark.requirement("H12")
def test_files_it_claims_must_be_there(tmp_path: Path) -> None:
    agent = CommandAgent(telling(tmp_path / "agent", ANSWERS["task_signal"]), dialect="task_signal")
    run = LocalContext(workspace=Workspace(tmp_path))
    assert asked(agent, run=run).fault is not None
    (tmp_path / "report.md").write_text("# Words\n")
    result = asked(agent, run=LocalContext(workspace=Workspace(tmp_path)))
    assert result.fault is None
    (artifact,) = result.artifacts
    assert (artifact.path, artifact.title, artifact.size) == ("report.md", "Words", 8)


# What it is called.


@pytest.mark.parametrize(
    ("command", "name"),
    [
        ("my-agent --json", "my_agent"),
        ("/usr/local/bin/My-Agent.sh", "my_agent"),
        ("python3.11 -u tools/ticket_analyzer.py --fast", "ticket_analyzer"),
        ("python -m agents.reviewer x", "reviewer"),
        ("python -c 'print(1)'", "python"),
        ("/usr/bin/env -S KEY=1 node agent.mjs", "agent"),
        ("uv run agent.py", "agent"),
        ("bash", "bash"),
        ("python -m", "python"),
        ("./7zip", "agent_7zip"),
        ("./…", "command"),
    ],
)
def test_a_program_gives_its_agent_a_name(command: str, name: str) -> None:
    assert name_from_argv(split_command(command)) == name
    assert CommandAgent(command).definition.name == name


@pytest.mark.parametrize("command", ["", "  ", "'unfinished", ["a\0b"], [], [""]])
def test_a_command_that_is_none_is_refused(command: Any) -> None:
    with pytest.raises(InvalidInput) as caught:
        CommandAgent(command)
    assert caught.value.hint


@given(st.text() | st.lists(st.text()))
def test_any_command_is_an_agent_or_refused(command: str | list[str]) -> None:
    try:
        agent = CommandAgent(command)
    except InvalidInput:
        return
    assert agent.definition.skills[0].name == agent.definition.name
    assert repr(agent)


# Definition files that name one.


FILE = ".retinue/agents/counter.json"


def configured(value: object, *, trusted: bool = True) -> LoadedAgents:
    loaded = load_json(json.dumps(value).encode(), file=FILE)
    return with_commands(loaded, file=FILE, trusted=trusted)


def definition(**facts: object) -> dict[str, object]:
    takes = {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "The text."}},
        "required": ["text"],
        "additionalProperties": False,
    }
    said = {
        "name": "counter",
        "description": "Counts words. Use for lengths. Returns the number.",
        "input_schema": takes,
    }
    return {**said, **facts}


def test_a_definition_that_names_a_program_runs_it(tmp_path: Path) -> None:
    telling(tmp_path, '{"words": 2}')
    command = [sys.executable, "./counter.py"]
    loaded = configured(definition(command=command, environment=["HOME"], odd=1))
    (agent,) = loaded.agents
    assert isinstance(agent, CommandAgent)
    assert agent.definition.skills[0].unavailable == ""
    assert agent.definition.extras == {"odd": 1}
    assert [finding.path for finding in loaded.findings if finding.rule == "load/unknown-key"] == ["/odd"]
    run = LocalContext(workspace=Workspace(tmp_path))
    assert asked(agent, run=run, instruction="", parameters={"text": "a b"}).data == {"words": 2}
    assert json.loads((tmp_path / "request0.txt").read_text()) == {"text": "a b"}


def test_in_a_folder_that_is_not_trusted_it_runs_nothing() -> None:
    loaded = configured([definition(command=["counter"]), definition(name="other")], trusted=False)
    assert [agent.definition.name for agent in loaded.agents] == ["other"]
    assert loaded.agents[0].definition.skills[0].unavailable == NEEDS_MODEL
    (finding,) = [finding for finding in loaded.findings if finding.rule == "discovery/not-trusted"]
    assert (finding.severity, finding.file) == ("warning", FILE)
    assert "retinue trust" in finding.fix


@pytest.mark.parametrize("file", ["agents/counter.json", ".retinue/agents/counter.md", ".retinue/agents/counter.JSON"])
def test_elsewhere_a_definition_names_no_program(file: str) -> None:
    loaded = load_json(json.dumps(definition(command=["counter"])).encode(), file=file)
    assert with_commands(loaded, file=file, trusted=True) is loaded


@pytest.mark.parametrize("command", ["counter --json", [], [1], {}, ["a\0"]])
def test_a_command_in_a_definition_is_a_list_of_words(command: object) -> None:
    loaded = configured(definition(command=command))
    assert loaded.agents == ()
    (finding,) = loaded.errors
    assert (finding.rule, bool(finding.fix)) == ("discovery/bad-command", True)


@pytest.mark.parametrize("environment", ["HOME", [1]])
def test_the_variables_in_a_definition_are_a_list_of_names(environment: object) -> None:
    assert configured(definition(command=["x"], environment=environment)).errors


def test_a_definition_that_names_a_program_counts_as_code(tmp_path: Path) -> None:
    folder = tmp_path / ".retinue" / "agents"
    folder.mkdir(parents=True)
    files = {
        "names.json": json.dumps(definition(command=["x"])),
        "list.json": json.dumps([definition(), definition(name="b", command=[])]),
        "deep.json": json.dumps({"agents": [{"skills": [definition(command=["x"])]}]}),
        "data.json": json.dumps(definition(description="It has a command.")),
        "broken.json": '{"command": ',
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    # What cannot be read counts, so that no file is run that was not shown.
    there = ["broken.json", "deep.json", "list.json", "names.json"]
    assert [path.name for path in code_files(tmp_path)] == there
