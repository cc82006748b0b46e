"""Modules with `run_agent` (B1, B4 to B6, B17): loaded by path, called as the spec says, their answer checked."""

import asyncio
import sys
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from retinue.agents.local import LocalContext
from retinue.agents.module import ModuleAgent, load_module
from retinue.agents.port import Reply
from retinue.contract.task import Context, Task
from retinue.errors import AccessDenied, InvalidDefinition, MissingFile, OutputInvalid

FULL = "prompt, chat_history=None, memory=None, config=None"


def write(root: Path, source: str, *, name: str = "core/agent/hierarchical.py") -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(source)
    return Path(name)


def call(agent: ModuleAgent, parameters: dict[str, Any] | None = None, **facts: Any) -> Reply:
    task = Task(id="t", agent=agent.definition.name, parameters=parameters or {}, **facts)

    async def run() -> Reply:
        return await agent.run(task, LocalContext())

    return asyncio.run(run())


def answering(value: object) -> ModuleAgent:
    async def run_agent(
        prompt: str, chat_history: object = None, memory: object = None, config: object = None
    ) -> object:
        del prompt, chat_history, memory, config
        return value

    return ModuleAgent(run_agent, file="x.py", about="")


@pytest.mark.requirement("B1", "B17")
def test_a_module_is_loaded_by_its_path_from_the_root_and_called(tmp_path: Path) -> None:
    write(tmp_path, "WORD = 'hi'\n", name="core_of_test/words.py")
    path = write(
        tmp_path,
        '"""The hierarchical assistant. Use it for anything. Returns text."""\n'
        "from core_of_test.words import WORD\n"
        f"async def run_agent({FULL}, tool_root=None):\n"
        "    return {'content': repr((WORD, prompt, chat_history, memory, config)), 'response_time_secs': 0.5,\n"
        "            'traces': [{'tool': 'T', 'output': 'o', 'args': {'a': 1}, 'duration_secs': 0.25}],\n"
        "            'models': {'router': 'm'}}\n",
        name="core_of_test/hierarchical.py",
    )
    before = sys.path[:]
    agent = load_module(path, root=tmp_path)
    assert sys.path == before
    definition = agent.definition
    assert (definition.name, definition.dialect) == ("hierarchical", "run_agent")
    assert definition.description.startswith("The hierarchical assistant.")
    assert definition.source is not None
    assert definition.source.file == "core_of_test/hierarchical.py"
    reply = call(agent, {"prompt": "p", "config": {"x": 1}})
    assert reply.content == reply.data == "('hi', 'p', None, None, {'x': 1})"
    assert [(trace.tool, trace.output, trace.args, trace.duration_ns) for trace in reply.traces] == [
        ("T", "o", {"a": 1}, 250_000_000)
    ]
    assert reply.extras == {
        "run_agent": {"models": {"router": "m"}},
        "spoken": {"dialect": "run_agent", "said": {"duration_ns": 500_000_000}},
    }


@pytest.mark.requirement("B1")
def test_what_the_task_says_fills_what_the_parameters_leave_out() -> None:
    seen: dict[str, object] = {}

    def run_agent(**said: object) -> dict[str, object]:
        seen.update(said)
        return {"content": "", "response_time_secs": 0, "traces": []}

    agent = ModuleAgent(run_agent, file="9 lives.py", about="")
    assert agent.definition.name == "agent_9_lives"
    call(agent, instruction="do", context=Context(history=("user: a", "assistant: b"), memory="m"))
    assert seen == {"prompt": "do", "chat_history": "user: a\nassistant: b", "memory": "m", "config": None}


def test_a_synchronous_function_that_gives_an_awaitable_is_awaited() -> None:
    async def later() -> dict[str, object]:
        return {"content": "c", "response_time_secs": 0, "traces": []}

    def run_agent(**said: object) -> object:
        del said
        return later()

    assert call(ModuleAgent(run_agent, file="x.py", about="")).content == "c"


@pytest.mark.requirement("C12")
@pytest.mark.parametrize("path", ["../outside.py", "/etc/hosts", "link.py"])
def test_a_path_out_of_the_root_is_refused(tmp_path: Path, path: str) -> None:
    root = tmp_path / "root"
    root.mkdir()
    (tmp_path / "outside.py").write_text("")
    (root / "link.py").symlink_to(tmp_path / "outside.py")
    with pytest.raises(AccessDenied, match="leads out"):
        load_module(Path(path), root=root)


def test_a_missing_module_is_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        load_module(Path("none.py"), root=tmp_path)
    write(tmp_path, "x", name="agent.txt")
    with pytest.raises(InvalidDefinition, match="not a Python file"):
        load_module(Path("agent.txt"), root=tmp_path)


@pytest.mark.requirement("B1")
@pytest.mark.parametrize(
    ("source", "part"),
    [
        ("x = 1", "no function `run_agent`"),
        ("run_agent = 3", "no function `run_agent`"),
        ("async def run_agent(prompt): ...", "takes no `chat_history`; it takes no `memory`; it takes no `config`"),
        (f"async def run_agent({FULL}, *, tool_root): ...", "cannot do without `tool_root`"),
        ("async def run_agent(prompt, /, chat_history=None, memory=None, config=None): ...", "takes no `prompt`"),
        ("raise RuntimeError('no')", "RuntimeError"),
    ],
)
def test_a_module_that_is_no_agent_is_refused(tmp_path: Path, source: str, part: str) -> None:
    with pytest.raises(InvalidDefinition) as caught:
        load_module(write(tmp_path, source), root=tmp_path)
    assert part in caught.value.message
    assert caught.value.hint


WRONG_ANSWERS: list[tuple[Any, set[str]]] = [
    ("text", {""}),
    (None, {""}),
    ({}, {"/content", "/response_time_secs", "/traces"}),
    ({"content": 1, "response_time_secs": True, "traces": {}}, {"/content", "/response_time_secs", "/traces"}),
    ({"content": "", "response_time_secs": -1, "traces": []}, {"/response_time_secs"}),
    ({"content": "", "response_time_secs": float("nan"), "traces": []}, {"/response_time_secs"}),
    (
        {"content": "", "response_time_secs": 1, "traces": [{"tool": "t", "output": {}, "cost": 1}]},
        {"/traces/0/output", "/traces/0/cost"},
    ),
    (
        {"content": "", "response_time_secs": 1, "traces": [{"tool": "t"}, 3]},
        {"/traces/0/output", "/traces/1"},
    ),
]


@pytest.mark.requirement("B4", "B5")
@pytest.mark.parametrize(("answer", "paths"), WRONG_ANSWERS)
def test_an_answer_of_another_shape_is_output_invalid_with_every_finding(answer: object, paths: set[str]) -> None:
    with pytest.raises(OutputInvalid) as caught:
        call(answering(answer))
    assert {finding.get("path", "") for finding in caught.value.detail["findings"]} == paths
    assert "traces" in caught.value.hint


@pytest.mark.requirement("B6")
def test_what_cannot_be_written_as_json_is_output_invalid() -> None:
    for odd in ({"extra": object()}, {"traces": [{"tool": "t", "output": "o", "args": {"a": object()}}]}):
        with pytest.raises(OutputInvalid, match="as JSON"):
            call(answering({"content": "", "response_time_secs": 1, "traces": [], **odd}))


@pytest.mark.requirement("C16")
def test_the_spec_s_own_python_types_are_an_answer() -> None:
    class ToolTraceMinimal(BaseModel):
        tool: str
        output: str
        args: dict[str, Any] | None = None
        duration_secs: float | None = None

    class AgentOutputMinimal(BaseModel):
        content: str
        response_time_secs: float
        traces: list[ToolTraceMinimal] = []

    answer = AgentOutputMinimal(content="c", response_time_secs=1, traces=[ToolTraceMinimal(tool="t", output="o")])
    reply = call(answering(answer))
    assert (reply.content, reply.traces[0].args, reply.traces[0].duration_ns) == ("c", None, None)
    plain = {"content": "c", "response_time_secs": 1, "traces": [{"tool": "t", "output": "o", "args": None}]}
    assert call(answering(plain)).traces == reply.traces


@given(st.recursive(st.none() | st.text() | st.floats() | st.binary(), lambda inner: st.dictionaries(
    st.sampled_from(["content", "response_time_secs", "traces", "tool", "output", "x"]), inner) | st.lists(inner)))  # fmt: skip
def test_any_answer_is_a_reply_or_output_invalid(answer: object) -> None:
    try:
        reply = call(answering(answer))
    except OutputInvalid:
        return
    assert isinstance(answer, dict)
    assert reply.content == answer["content"]
