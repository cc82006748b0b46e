"""Agents that hang, swallow, block, exit, raise what cannot be shown: a result every time, and nothing left behind."""

import asyncio
import time
from contextlib import suppress

import pytest

from retinue.agents.boundary.policy import Policy
from retinue.agents.local import LocalContext
from retinue.agents.port import Reply, RunContext
from retinue.contract.event import Message, NodeFinished
from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.contract.task import Limits, Task
from retinue.engine.base import Outside
from retinue.errors import InternalError, InvalidInput, NetworkError, RetinueError
from tests.agents.scripted import BAD, GOOD, Move, Scripted, ask, bodies, context, skill, task

IMPATIENT = Policy(grace_s=0.02, timeout_s=0.02, max_retries=0)


def survived(move: Move, run: LocalContext | None = None, request: Task | None = None) -> Result:
    return asyncio.run(ask(Scripted(move), request, run or LocalContext(), policy=IMPATIENT))


def fault_of(result: Result, code: str = "internal_error") -> Fault:
    assert result.fault is not None
    assert result.fault.code == code, result.fault
    return result.fault


@pytest.mark.requirement("C25", "C26")
@pytest.mark.parametrize(
    "error",
    [
        ValueError("x"), RecursionError("x"), MemoryError(), SystemExit(3), GeneratorExit(),
        asyncio.CancelledError(), StopAsyncIteration(), BaseExceptionGroup("two", [ValueError(), SystemExit()]),
    ],
    ids=lambda error: type(error).__name__,
)  # fmt: skip
def test_whatever_is_raised_is_a_fault_that_says_what_and_where(error: BaseException) -> None:
    result = survived(error)
    fault = fault_of(result)
    assert result.outcome == "error"
    assert fault.detail["class"] == type(error).__name__
    assert type(error).__name__ in fault.message
    assert fault.detail["where"].startswith("tests.agents.scripted.Scripted.run:")
    assert fault.hint
    assert Result.model_validate_json(result.to_json_text()) == result


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (TimeoutError("slow"), "timeout"),
        (ConnectionRefusedError("no"), "network_error"),
        (FileNotFoundError(2, "gone"), "missing_file"),
        (PermissionError(13, "no"), "access_denied"),
    ],
)
def test_exceptions_of_the_language_that_say_what_they_are_keep_their_meaning(error: Exception, code: str) -> None:
    assert fault_of(survived(error), code).detail["class"] == type(error).__name__


def test_endless_recursion_is_a_fault() -> None:
    async def dig(request: Task, run: RunContext) -> object:
        return await dig(request, run)

    assert fault_of(survived(dig)).detail["class"] == "RecursionError"


class Unshowable(Exception):
    def __str__(self) -> str:
        raise ValueError("nobody shall know")


class Broken(RetinueError):
    def __init__(self) -> None:
        super().__init__("x")
        self.message = 5  # pyright: ignore[reportAttributeAccessIssue] - that is the point
        self.suggestions = None  # pyright: ignore[reportAttributeAccessIssue]


def test_an_error_that_cannot_be_shown_is_a_fault_too() -> None:
    fault = fault_of(survived(Broken()))
    assert "cannot be shown" in fault.message
    assert fault.detail == {"class": "Broken"}
    fault = fault_of(survived(Unshowable()))
    assert fault.message == "`counter` raised `Unshowable` without a message."


def test_what_an_error_carries_is_made_plain() -> None:
    error = InvalidInput("half \ud800", detail={"seen": {1}, "path": object})
    fault = fault_of(survived(error), "invalid_input")
    assert fault.message == "half ?"
    assert "seen" in fault.detail["shown"]
    assert len(fault_of(survived(ValueError("x" * 1_000_000))).message) < 20_000
    fault = fault_of(survived(InternalError("x", detail={"findings": [{"path": "/a"}]})))
    assert fault.detail["findings"] == [{"path": "/a"}]


# Time.


@pytest.mark.requirement("C21")
@pytest.mark.parametrize(
    ("bound", "limits", "timeout_s"),
    [
        ("policy.timeout_s", Limits(), None),
        ("skill.timeout_s", Limits(), 0.02),
        ("task.limits.timeout_s", Limits(timeout_s=0.02), None),
    ],
)
def test_a_hanging_agent_is_stopped_and_the_bound_that_won_is_named(
    bound: str, limits: Limits, timeout_s: float | None
) -> None:
    async def hang(_: Task, __: RunContext) -> None:
        await asyncio.Event().wait()

    agent = Scripted(hang, skills=(skill(timeout_s=timeout_s),))
    result = asyncio.run(ask(agent, task(limits=limits), LocalContext(), policy=IMPATIENT))
    fault = fault_of(result, "timeout")
    assert fault.detail["bound"] == bound
    assert bound in fault.message
    assert fault.suggestions
    assert result.attempts[0].fault == fault


def test_what_the_agent_hands_back_after_its_time_is_kept_as_partial_data() -> None:
    async def tidy(_: Task, __: RunContext) -> Reply:
        with suppress(asyncio.CancelledError):
            await asyncio.Event().wait()
        return Reply(data={"words": 1}, content="so far")

    result = survived(tidy)
    assert fault_of(result, "timeout")
    assert (result.outcome, result.data) == ("failed", {"words": 1})
    assert not result.useful
    assert result.warnings


def test_an_agent_that_swallows_its_cancellation_is_closed_and_that_is_told() -> None:
    async def swallow(_: Task, __: RunContext) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    run = LocalContext()
    result = survived(swallow, run)
    assert fault_of(result, "timeout")
    assert "was ended" in result.warnings[0].message
    assert any(isinstance(body, Message) and body.level == "warning" for body in bodies(run))


def test_what_an_agent_raises_when_it_is_told_to_stop_is_not_lost() -> None:
    async def clumsy(_: Task, __: RunContext) -> None:
        try:
            await asyncio.Event().wait()
        finally:
            raise LookupError

    result = survived(clumsy)
    assert fault_of(result, "timeout")
    assert "`LookupError` when it was told to stop" in result.warnings[0].message


def test_an_agent_that_blocks_the_loop_past_its_time_keeps_its_answer_and_that_is_told() -> None:
    async def block(_: Task, __: RunContext) -> Reply:
        time.sleep(0.05)  # noqa: ASYNC251 - that is what it does
        return GOOD

    result = survived(block)
    assert result.outcome == "success"
    assert "blocked the event loop" in result.warnings[0].message
    assert "policy.timeout_s" in result.warnings[0].message


def test_a_blocking_agent_whose_answer_is_wrong_is_not_asked_again_after_its_time() -> None:
    async def block(_: Task, __: RunContext) -> Reply:
        time.sleep(0.03)  # noqa: ASYNC251 - that is what it does
        return BAD

    agent = Scripted(block)
    result = asyncio.run(ask(agent, task(limits=Limits(timeout_s=0.02)), LocalContext()))
    assert (result.outcome, agent.calls) == ("failed", 1)


def test_what_was_noted_on_the_way_is_told() -> None:
    error = NetworkError("x")
    error.add_note("A thread was left behind.")
    run = LocalContext()
    result = survived(error, run)
    assert result.warnings[0].message == "A thread was left behind."
    assert Message("A thread was left behind.", level="warning") in bodies(run)


# Cancellation.


async def canceled(agent: Scripted, run: LocalContext) -> None:
    """Start a call, and cancel it once its agent waits."""
    call = asyncio.create_task(ask(agent, run=run, policy=IMPATIENT))
    await asyncio.sleep(0.001)
    assert agent.calls == 1
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call


@pytest.mark.parametrize("leaves", [None, {"words": 1}])
def test_a_cancellation_passes_and_what_there_is_has_been_emitted(leaves: dict[str, int] | None) -> None:
    async def wait(_: Task, __: RunContext) -> Reply:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            if leaves is None:
                raise
        return Reply(data=leaves)

    run = context()
    asyncio.run(canceled(Scripted(wait, skills=(skill(timeout_s=10.0),)), run))
    (result,) = [body.result for body in bodies(run) if isinstance(body, NodeFinished)]
    assert (result.outcome, result.data) == ("canceled", leaves)
    assert fault_of(result, "canceled")
    assert len(result.attempts) == 1
    assert run.deadline_ns is None


def test_a_cancellation_while_it_waits_to_try_again_passes_too() -> None:
    async def main() -> LocalContext:
        pausing = asyncio.Event()

        async def pause(_: float) -> None:
            pausing.set()
            await asyncio.Event().wait()

        run = LocalContext(outside=Outside(pause=pause))
        call = asyncio.create_task(ask(Scripted(NetworkError("x")), run=run))
        await pausing.wait()
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        return run

    run = asyncio.run(main())
    last = bodies(run)[-1]
    assert isinstance(last, NodeFinished)
    assert last.result.outcome == "canceled"
    assert [attempt.fault and attempt.fault.code for attempt in last.result.attempts] == ["network_error"]


def test_an_agent_that_refuses_to_be_cancelled_holds_nobody_up() -> None:
    async def swallow(_: Task, __: RunContext) -> None:
        while True:
            try:
                await asyncio.Event().wait()
            except asyncio.CancelledError:
                continue

    asyncio.run(canceled(Scripted(swallow, skills=(skill(timeout_s=10.0),)), context()))
