"""How a run is shown while it goes on."""

import asyncio
import io
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest
from rich.console import Console

from retinue.cli import session
from retinue.cli.delivery import Form
from retinue.cli.drawing import TICK_S, TreeScreen, render_tree
from retinue.cli.screen import LineScreen, Screen, is_interactive
from retinue.cli.session import screen_for
from retinue.contract.event import (
    AttemptRetried,
    Body,
    Decision,
    Event,
    NodeFinished,
    NodeStarted,
    Progress,
)
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.engine.base import WorkflowScope
from retinue.engine.inprocess import InProcessEngine
from retinue.orchestration.run_nodes import RunNode, RunNodes

PLAN = Plan(
    goal="sing and paint",
    nodes=(
        Delegation(id="n1", agent="singer", skill="sing", instruction="sing a song"),
        Delegation(id="n2", agent="painter", skill="paint", instruction="paint it", needs=("n1",)),
    ),
)
Tell = Callable[..., Any]


def done(outcome: Any = "success", **facts: Any) -> NodeFinished:
    return NodeFinished(Result(task_id="t", agent="singer", outcome=outcome, **facts))


@pytest.fixture
def nodes() -> RunNodes:
    return RunNodes("run", PLAN)


def tell(nodes: RunNodes, body: Body, node: str = "n1", *, run: str = "run", at_s: float = 0) -> Event:
    event = Event(run, node, 1, 1, int(at_s * 1e9), body)
    nodes.apply(event)
    return event


def drawn(nodes: RunNodes, *, width: int = 80, height: int = 25, in_ascii: bool = False) -> list[str]:
    console = Console(file=io.StringIO(), width=width, force_terminal=True, color_system=None)
    with console.capture() as captured:
        console.print(render_tree(nodes, "sing and paint", width=width, height=height, in_ascii=in_ascii))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_the_tree_shows_marks_times_and_what_is_asked(nodes: RunNodes) -> None:
    tell(nodes, NodeStarted("singer", "sing", ""), at_s=1)
    tell(nodes, done(), at_s=2.5)
    assert drawn(nodes) == ["sing and paint", " ✓ singer  1.5 s sing a song", " · painter       paint it"]
    assert drawn(nodes, width=120)[1:] == [
        " ✓ singer.sing   1.5 s sing a song",
        " · painter.paint       paint it",
    ]


def test_the_tree_is_drawn_in_ascii_where_nothing_else_is_known(nodes: RunNodes) -> None:
    tell(nodes, done())
    assert all(line.isascii() for line in drawn(nodes, in_ascii=True))


def test_long_words_are_cut_and_lines_never_broken(nodes: RunNodes) -> None:
    tell(nodes, NodeStarted("singer", "sing", ""), at_s=time.time())
    tell(nodes, Progress("\x1b[2J" + "x" * 500))
    lines = drawn(nodes, width=60)
    assert len(lines) == 3
    assert lines[1].endswith("…")
    assert "\x1b" not in "".join(lines)


def test_a_thousand_nodes_leave_room_for_the_rest() -> None:
    plan = Plan(nodes=tuple(Delegation(id=f"n{number}", agent="singer") for number in range(1_000)))
    nodes = RunNodes("run", plan)
    tell(nodes, NodeStarted("busy", "sing", "now"), "n900", at_s=time.time())
    lines = drawn(nodes, height=24)
    assert len(lines) < 24
    assert any("busy" in line for line in lines)
    assert lines[-1].strip() == "and 981 more"


def test_a_tree_that_never_began_draws_nothing() -> None:
    file = io.StringIO()
    TreeScreen(Console(file=file)).end()
    assert file.getvalue() == ""


def test_a_tree_is_drawn_until_its_end_and_taken_away_for_a_question(nodes: RunNodes) -> None:
    file = io.StringIO()

    async def live() -> None:
        tree = TreeScreen(Console(file=file, width=80, force_terminal=True, color_system=None, legacy_windows=False))
        tree.begin(nodes, "sing and paint")
        tell(nodes, NodeStarted("singer", "sing", ""), at_s=time.time())
        tree.update(tell(nodes, Progress("la")), nodes.top[0])
        await asyncio.sleep(2 * TICK_S)
        with tree.pause():
            before = len(file.getvalue())
            await asyncio.sleep(2 * TICK_S)
            assert len(file.getvalue()) == before
        tree.end()
        tree.end()

    asyncio.run(live())
    told = file.getvalue()
    assert told.count("sing and paint") >= 3
    assert " - painter" in told.rpartition("sing and paint")[2]  # what never began was not done
    assert told.count("\x1b[?25l") == told.count("\x1b[?25h")  # the cursor is back


def test_kept_results_are_marked() -> None:
    assert drawn(RunNodes("run", PLAN, reused_ids=("n1",)))[1].endswith("sing a song (kept)")


def test_lines_are_silent_about_what_is_over_soon(nodes: RunNodes, capsys: pytest.CaptureFixture[str]) -> None:
    async def soon() -> None:
        lines = LineScreen()
        lines.begin(nodes, "goal")
        lines.update(tell(nodes, NodeStarted("singer", "sing", "x")), nodes.top[0])
        with lines.pause():
            pass
        lines.end()

    asyncio.run(soon())
    assert capsys.readouterr().err == ""
    LineScreen().end()


def test_lines_speak_once_it_takes_longer(nodes: RunNodes, capsys: pytest.CaptureFixture[str]) -> None:
    async def later() -> None:
        lines = LineScreen(quiet_s=0)
        lines.begin(nodes, "goal")
        tell(nodes, NodeStarted("singer", "sing", "x"))
        await asyncio.sleep(0.01)
        for body in (Progress("la"), AttemptRetried("timeout", "too slow"), done()):
            lines.update(tell(nodes, body), nodes.top[0])
            lines.update(Event("run", "n1", 1, 2, 0, body), nodes.top[0])  # it says nothing new
        lines.update(tell(nodes, Decision("skip", "No."), "n2"), nodes.top[1])
        lines.end()

    asyncio.run(later())
    assert [line.partition(" s  ")[2] for line in capsys.readouterr().err.splitlines()] == [
        "singer works: sing a song",
        "singer works: retrying after timeout",
        "singer done: sing a song",
    ]


def test_silence_says_nothing(nodes: RunNodes, capsys: pytest.CaptureFixture[str]) -> None:
    silence = Screen()
    silence.begin(nodes, "goal")
    with silence.pause():
        silence.update(tell(nodes, done()), nodes.top[0])
    silence.end()
    assert capsys.readouterr().err == ""


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_the_screen_fits_the_wish_and_the_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    assert isinstance(screen_for(Form()), LineScreen)
    monkeypatch.setattr(sys, "stderr", _Terminal())
    monkeypatch.setenv("TERM", "xterm")
    assert isinstance(screen_for(Form()), TreeScreen)
    for form in (Form(quiet=True), Form(as_json=True), Form(as_jsonl=True)):
        assert type(screen_for(form)) is Screen
    monkeypatch.setenv("TERM", "dumb")
    assert isinstance(screen_for(Form()), LineScreen)


def test_somebody_is_there_only_with_a_terminal_both_ways(monkeypatch: pytest.MonkeyPatch) -> None:
    assert not is_interactive()
    monkeypatch.setattr(sys, "stdin", _Terminal())
    assert not is_interactive()
    monkeypatch.setattr(sys, "stderr", _Terminal())
    assert is_interactive()
    monkeypatch.setattr(sys, "stdin", None)
    assert not is_interactive()


def test_why_a_node_failed_is_shown_in_the_words_of_the_command_line() -> None:
    class Notes(Screen):
        def update(self, event: Event, node: RunNode | None) -> None:
            if node is not None:
                seen.append(node.note)

    async def fails(scope: WorkflowScope, payload: JsonMapping) -> Result:
        fault = Fault(code="timeout", message="It took longer than `run.budget.timeout_s`.")

        async def body() -> Result:
            return Result(task_id="t", agent="singer", outcome="error", fault=fault)

        scope.reserve(["n1"])
        scope.step("n1", body)
        ((_, ended),) = await scope.completed()
        return ended

    async def main() -> None:
        async with InProcessEngine({"flow": fails}) as engine:
            run = await engine.start("flow", {})
            relay = session._RunRelay(engine, session.StartedRun(run, PLAN), Notes(), None)  # pyright: ignore[reportPrivateUsage] - a whole session asks for a project
            await relay.follow()

    seen: list[str] = []
    asyncio.run(main())
    assert seen == ["It took longer than `--timeout`."]
