"""The shared suite: what every engine does. `over()` says which capabilities a case needs beyond the port."""

import asyncio
import itertools
import os
import signal
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from retinue.contract.event import Checkpoint, Decision, Finished, Message, Progress, Started
from retinue.contract.model import JsonMapping
from retinue.contract.question import Answer, Question
from retinue.contract.result import Result
from retinue.engine.base import Engine, Scope, Step
from retinue.errors import InternalError, InvalidInput, MissingFile, UnknownName
from tests.engine.flows import collect, fan_out, gives, hangs, happened, raises, result, run, told
from tests.engine.subjects import KINDS, Subject, over

# Starting, results, history


@over()
def test_a_run_gives_what_its_workflow_returns(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        return result({"run": scope.run, "got": payload["n"]})

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {"n": 3}, label="three")
            assert (await engine.result(name)).data == {"run": name, "got": 3}
            record = await engine.get(name)
            assert (record.run, record.workflow, record.label) == (name, "flow", "three")
            assert (record.lifecycle, record.outcome, record.stalled) == ("ended", "success", False)
            assert record.ended_ns is not None
            assert record.ended_ns >= record.started_ns

    asyncio.run(main())


@over()
def test_results_arrive_in_the_order_in_which_steps_end(subject: Subject) -> None:
    gates = {name: asyncio.Event() for name in "abc"}

    def opens(name: str, following: str | None) -> Step:
        async def body() -> Result:
            await gates[name].wait()
            if following:
                gates[following].set()
            return result(name)

        return body

    async def main() -> None:
        steps = {"a": opens("a", None), "b": opens("b", "a"), "c": opens("c", "b")}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            gates["c"].set()
            done = await run(engine)
            assert done.data == [["c", "success", "c"], ["b", "success", "b"], ["a", "success", "a"]]

    asyncio.run(main())


@over()
@pytest.mark.row("C32")
def test_branches_run_side_by_side(subject: Subject) -> None:
    async def main() -> None:
        together = asyncio.Barrier(20)

        async def meets() -> Result:
            await together.wait()
            return result()

        async with subject.open({"flow": fan_out(lambda: {f"s{n}": meets for n in range(20)})}) as engine:
            assert len((await run(engine)).data) == 20

    asyncio.run(main())


@over()
def test_the_same_run_started_twice_is_one_run(subject: Subject) -> None:
    started: list[str] = []

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        started.append(scope.run)
        return result(payload["n"])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            names = await asyncio.gather(*(engine.start("flow", {"n": n}, run="mine") for n in range(5)))
            assert names == ["mine"] * 5
            assert (await engine.result("mine")).data == 0
            assert await engine.start("flow", {"n": 9}, run="mine") == "mine"
            assert (await engine.result("mine")).data == 0
        assert started == ["mine"]

    asyncio.run(main())


@over()
def test_an_unknown_workflow_lists_what_there_is(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}) as engine:
            with pytest.raises(UnknownName) as caught:
                await engine.start("flaw", {})
            assert caught.value.suggestions == ("flow",)

    asyncio.run(main())


@over()
def test_an_unknown_run_is_said_by_every_verb_with_near_names(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}) as engine:
            await run(engine, run="tuesday")
            answer = Answer(question_id="q", value=1)
            for verb in (
                engine.result("tuesdey"),
                engine.get("tuesdey"),
                engine.cancel("tuesdey"),
                engine.answer("tuesdey", answer),
                engine.resume("tuesdey"),
                engine.fork("tuesdey"),
                anext(aiter(engine.events("tuesdey"))),
            ):
                with pytest.raises(UnknownName) as caught:
                    await verb
                assert caught.value.suggestions == ("tuesday",)

    asyncio.run(main())


@over()
def test_the_newest_runs_come_first(subject: Subject) -> None:
    ticks = itertools.count(1_700_000_000_000_000_000, 1_000_000)

    async def main() -> None:
        async with subject.open({"flow": fan_out(dict)}, clock=lambda: next(ticks)) as engine:
            names = [await engine.start("flow", {}, label=str(n)) for n in range(5)]
            for name in names:
                await engine.result(name)
            assert [record.run for record in await engine.list()] == names[::-1]
            assert [record.label for record in await engine.list(limit=2)] == ["4", "3"]
            assert sorted(names) == names

    asyncio.run(main())


@over()
def test_a_thousand_steps_all_arrive_once(subject: Subject) -> None:
    async def main() -> None:
        steps = {f"s{n}": gives(n) for n in range(1000)}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            done = await run(engine)
            assert sorted(value for _, _, value in done.data) == list(range(1000))

    asyncio.run(main())


@over()
def test_many_runs_at_once_do_not_mix(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", gives(payload["n"]))
        scope.step("b", gives(scope.run))
        done = dict(await collect(scope, 2))
        return result([done["a"].data, done["b"].data])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            names = [await engine.start("flow", {"n": n}) for n in range(100)]
            assert [(await engine.result(name)).data for name in names] == [[n, name] for n, name in enumerate(names)]

    asyncio.run(main())


# Failing


@over()
def test_a_failing_step_is_a_result_and_not_an_exception(subject: Subject) -> None:
    async def main() -> None:
        seen: dict[str, Result] = {}

        async def flow(scope: Scope, payload: JsonMapping) -> Result:
            scope.reserve(("bug", "ours", "fine"))
            scope.step("bug", raises(ValueError("seven")))
            scope.step("ours", raises(MissingFile("No `x`.", hint="Make it.", path="/x")))
            scope.step("fine", gives(1))
            seen.update(await collect(scope, 3))
            return result()

        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).outcome == "success"
        assert seen["fine"].outcome == "success"
        assert seen["bug"].outcome == seen["ours"].outcome == "failed"
        assert seen["bug"].fault
        assert seen["ours"].fault
        assert (seen["bug"].fault.code, seen["bug"].fault.detail["class"]) == ("internal_error", "ValueError")
        assert "seven" in seen["bug"].fault.message
        assert (seen["ours"].fault.code, seen["ours"].fault.hint) == ("missing_file", "Make it.")

    asyncio.run(main())


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


@over()
@pytest.mark.parametrize(
    "error",
    [SystemExit(3), KeyboardInterrupt(), GeneratorExit(), StopIteration(1), Mute(), ValueError("\ud800")],
    ids=lambda error: type(error).__name__,
)
def test_whatever_a_body_raises_ends_only_its_step(subject: Subject, error: BaseException) -> None:
    async def main() -> None:
        steps = {"bad": raises(error), "good": gives(1)}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            assert sorted((await run(engine)).data) == [["bad", "failed", None], ["good", "success", 1]]

    asyncio.run(main())


@over()
def test_a_body_that_gives_no_result_has_failed(subject: Subject) -> None:
    async def nonsense() -> Result:
        return 7  # type: ignore[return-value]  # pyright: ignore[reportReturnType] - the point of the test

    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": nonsense})}) as engine:
            assert (await run(engine)).data == [["a", "failed", None]]

    asyncio.run(main())


@over()
@pytest.mark.parametrize("error", [ValueError("seven"), SystemExit(1), GeneratorExit()], ids=repr)
def test_a_failing_workflow_is_a_failed_run(subject: Subject, error: BaseException) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        raise error

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            done = await engine.result(name)
            assert done.outcome == "failed"
            assert done.fault
            assert done.fault.code == "internal_error"
            assert (await engine.get(name)).outcome == "failed"

    asyncio.run(main())


@over()
def test_waiting_for_nothing_is_an_error_and_not_for_ever(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        with pytest.raises(InternalError, match="nothing runs"):
            await scope.completed()
        return result("told")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == "told"

    asyncio.run(main())


@over()
def test_names_are_reserved_once_started_once_and_by_the_workflow_only(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        async def meddles() -> Result:
            with pytest.raises(InvalidInput, match="the workflow itself"):
                scope.step("c", gives())
            return result()

        scope.reserve(("a", "b", "c"))
        with pytest.raises(InvalidInput, match="reserved before"):
            scope.reserve(("a",))
        with pytest.raises(InvalidInput, match="not reserved"):
            scope.step("x", gives())
        scope.step("a", gives())
        with pytest.raises(InvalidInput, match="started before"):
            scope.step("a", gives())
        with pytest.raises(UnknownName):
            scope.stop("y")
        scope.step("b", meddles)
        scope.stop("c")
        return result([name for name, _ in await collect(scope, 2)])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            done = await run(engine)
            assert sorted(done.data) == ["a", "b"]

    asyncio.run(main())


# Stopping


@over()
def test_a_hanging_step_is_stopped_and_still_delivered(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve(("hangs", "fine"))
        scope.step("hangs", hangs)
        scope.step("fine", gives(1))
        done = await collect(scope, 1)
        scope.stop("hangs")
        scope.stop("hangs")
        done += await collect(scope, 1)
        return result([[name, one.outcome, one.fault and one.fault.code] for name, one in done])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == [["fine", "success", None], ["hangs", "canceled", "canceled"]]

    asyncio.run(main())


@over()
def test_a_step_stopped_before_it_began_never_begins(subject: Subject) -> None:
    began: list[str] = []

    async def begins() -> Result:
        began.append("x")
        return result()

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("a")
        scope.step("a", begins)
        scope.stop("a")
        return result([one.outcome for _, one in await collect(scope, 1)])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == ["canceled"]
        assert began == []

    asyncio.run(main())


@over()
def test_a_stopped_step_keeps_what_it_gives_on_its_way_out(subject: Subject) -> None:
    async def rescues() -> Result:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            return result("half")
        return result()

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", rescues)
        scope.step("b", gives())
        await collect(scope, 1)
        scope.stop("a")
        ((_, done),) = await collect(scope, 1)
        return result([done.outcome, done.data])

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == ["canceled", "half"]

    asyncio.run(main())


@over()
def test_cancelling_a_run_cancels_its_steps_and_says_why(subject: Subject) -> None:
    async def main() -> None:
        steps = {"a": gives(1), "b": hangs}
        async with subject.open({"flow": fan_out(lambda: steps)}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "a")
            await engine.cancel(name, reason="Enough.")
            await engine.cancel(name)
            done = await engine.result(name)
            assert done.outcome == "canceled"
            assert done.fault
            assert (done.fault.code, done.fault.message) == ("canceled", "Enough.")
            assert await told(engine, name) == ["started", "finished a", "finished b", "finished"]
            record = await engine.get(name)
            assert (record.outcome, record.finished_steps) == ("canceled", ("a",))
            await engine.cancel(name)
            assert (await engine.result(name)) == done

    asyncio.run(main())


@over()
def test_a_cancelled_workflow_may_collect_what_there_is(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", gives(1))
        scope.step("b", hangs)
        done = await collect(scope, 1)
        scope.emit(Checkpoint("a"))
        try:
            await scope.completed()
        except asyncio.CancelledError:
            scope.stop("b")
            done += await collect(scope, 1)
        return result([[name, one.outcome] for name, one in done], "partial")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "checkpoint")
            await engine.cancel(name)
            done = await engine.result(name)
            assert (done.outcome, done.data) == ("canceled", [["a", "success"], ["b", "canceled"]])

    asyncio.run(main())


@over()
def test_a_run_cancelled_at_once_ends(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs})}) as engine:
            name = await engine.start("flow", {})
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())


@over()
def test_what_a_workflow_leaves_running_is_stopped_and_recorded(subject: Subject) -> None:
    ends: list[str] = []

    async def tidies() -> Result:
        try:
            await asyncio.Event().wait()
        finally:
            ends.append("tidied")
        return result()

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.step("a", tidies)
        scope.step("b", gives())
        await scope.completed()
        return result("early")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == "early"
            assert ends == ["tidied"]
            assert (await told(engine, name))[-2:] == ["finished a", "finished"]

    asyncio.run(main())


@over()
def test_leaving_the_engine_cancels_runs_and_leaves_nothing_behind(subject: Subject) -> None:
    async def parent(scope: Scope, payload: JsonMapping) -> Result:
        scope.child("c", "flow", {})
        await scope.completed()
        return result()

    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs}), "parent": parent}) as engine:
            names = [await engine.start("flow", {}) for _ in range(3)]
            names.append(await engine.start("parent", {}))
            await happened(engine, names[0], "started")
            await happened(engine, names[3], "started")
            late = await engine.start("flow", {})
        assert len(asyncio.all_tasks()) == 1
        for name in [*names, late]:
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())


# Events


@over()
def test_events_are_numbered_without_gaps_and_tell_of_everything_delivered(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        async def speaks() -> Result:
            scope.emit(Started(agent="x"), node="a", attempt=1)
            scope.emit(Progress("reading", done=1, total=2), node="a", attempt=1)
            return result(1)

        scope.reserve("a")
        scope.emit(Decision("go", "because", {"n": 1}))
        scope.step("a", speaks)
        await scope.completed()
        scope.emit(Checkpoint("all"))
        return result(2)

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {}, label="the goal")
            events = [event async for event in engine.events(name)]
        assert [event.sequence for event in events] == list(range(1, 8))
        assert {event.run for event in events} == {name}
        assert [(event.kind, event.node, event.attempt) for event in events] == [
            ("started", "", 0),
            ("decision", "", 0),
            ("started", "a", 1),
            ("progress", "a", 1),
            ("finished", "a", 0),
            ("checkpoint", "", 0),
            ("finished", "", 0),
        ]
        assert events[0].body == Started(instruction="the goal")
        assert isinstance(events[-1].body, Finished)
        assert events[-1].body.result.data == 2

    asyncio.run(main())


@over()
def test_events_can_be_taken_from_the_middle_followed_by_many_and_not_followed(subject: Subject) -> None:
    async def main() -> None:
        gate = asyncio.Event()

        async def waits() -> Result:
            await gate.wait()
            return result()

        async with subject.open({"flow": fan_out(lambda: {"a": waits, "b": gives()})}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "b")
            assert await told(engine, name) == ["started", "finished b"]
            assert await told(engine, name, after=1) == ["finished b"]
            assert await told(engine, name, after=99) == []

            async def follows(after: int) -> list[int]:
                return [event.sequence async for event in engine.events(name, after=after)]

            readers = [asyncio.create_task(follows(after)) for after in (0, 1, 2, 3, -5)]
            await anext(aiter(engine.events(name)))
            gate.set()
            read = await asyncio.gather(*readers)
            assert read == [[1, 2, 3, 4], [2, 3, 4], [3, 4], [4], [1, 2, 3, 4]]
            assert await told(engine, name, after=3) == ["finished"]

    asyncio.run(main())


@over()
def test_a_slow_follower_holds_nobody_up_and_misses_nothing(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        for n in range(2000):
            scope.emit(Message(str(n)))
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            slow = aiter(engine.events(name))
            assert (await anext(slow)).kind == "started"
            await engine.result(name)
            rest = [event async for event in slow]
            assert [event.sequence for event in rest] == list(range(2, 2003))

    asyncio.run(main())


@over()
def test_a_follower_may_leave_early(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": hangs})}) as engine:
            name = await engine.start("flow", {})
            reader = asyncio.create_task(happened(engine, name, "checkpoint"))
            await happened(engine, name, "started")
            reader.cancel()
            await asyncio.gather(reader, return_exceptions=True)
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"

    asyncio.run(main())


@over()
def test_threads_may_emit(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        async def body() -> Result:
            await asyncio.to_thread(lambda: [scope.emit(Message(str(n)), node="a") for n in range(50)])
            return result()

        scope.reserve("a")
        scope.step("a", body)
        await scope.completed()
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            events = [event async for event in engine.events(name)]
            assert [event.sequence for event in events] == list(range(1, 54))
            assert [event.body.text for event in events if isinstance(event.body, Message)] == [
                str(n) for n in range(50)
            ]

    asyncio.run(main())


@over()
def test_only_the_engine_says_that_something_finished(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        with pytest.raises(InvalidInput, match="engine itself"):
            scope.emit(Finished(result()))
        return result()

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            assert await told(engine, name) == ["started", "finished"]

    asyncio.run(main())


# Questions


def asks(*questions: Question):
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        for number, question in enumerate(questions):
            scope.ask(f"ask{number}", question)
        done = dict(await collect(scope, len(questions)))
        return result([[done[f"ask{n}"].outcome, done[f"ask{n}"].data] for n in range(len(questions))])

    return flow


NAME = Question(id="name", text="Which?")
MAY = Question(id="may", text="May I?", kind="approval")
COLOUR = Question(id="colour", text="Which colour?", kind="choice", options=("red", "blue"))


@over()
def test_when_nobody_is_there_approvals_are_denied_and_questions_stay_open(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": asks(NAME, MAY)}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == [["rejected", None], ["rejected", False]]
            events = [event async for event in engine.events(name)]
            said = [event.body.answer for event in events if event.kind == "answered"]  # type: ignore[union-attr]
            assert said == [
                Answer(question_id="name", by="policy"),
                Answer(question_id="may", value=False, by="policy"),
            ]

    asyncio.run(main())


@over()
def test_an_answerer_is_asked_and_may_be_nobody(subject: Subject) -> None:
    async def answerer(question: Question) -> Answer | None:
        return None if question.id == "name" else Answer(question_id=question.id, value=True)

    async def main() -> None:
        async with subject.open({"flow": asks(NAME, MAY)}, answerer=answerer) as engine:
            assert (await run(engine)).data == [["rejected", None], ["success", True]]

    asyncio.run(main())


@over()
@pytest.mark.parametrize("answer", [Answer(question_id="may", value="yes"), Answer(question_id="x", value=True), None])
def test_an_answerer_that_errs_fails_the_question_only(subject: Subject, answer: Answer | None) -> None:
    async def answerer(question: Question) -> Answer | None:
        if answer is None:
            raise SystemExit(1)
        return answer

    async def main() -> None:
        async with subject.open({"flow": asks(MAY)}, answerer=answerer) as engine:
            assert (await run(engine)).data == [["failed", None]]

    asyncio.run(main())


@over()
def test_a_pending_question_waits_for_its_answer_once(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": asks(NAME, COLOUR)}, waits_for_answers=True) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "asked", "ask1")
            assert (await engine.get(name)).lifecycle == "input_required"
            with pytest.raises(UnknownName) as caught:
                await engine.answer(name, Answer(question_id="other", value=1))
            assert caught.value.suggestions == ("name", "colour")
            with pytest.raises(InvalidInput) as wrong:
                await engine.answer(name, Answer(question_id="colour", value="green"))
            assert wrong.value.suggestions == ("red", "blue")
            for _ in range(2):
                await engine.answer(name, Answer(question_id="colour", value="red"))
            await engine.answer(name, Answer(question_id="name", value="Ada"))
            assert (await engine.result(name)).data == [["success", "Ada"], ["success", "red"]]
            await engine.answer(name, Answer(question_id="name", value="Ada"))
            with pytest.raises(UnknownName):
                await engine.answer(name, Answer(question_id="name", value="Grace"))
            assert Counter(await told(engine, name))["answered ask0"] == 1

    asyncio.run(main())


@over()
def test_an_answer_from_elsewhere_beats_a_slow_answerer(subject: Subject) -> None:
    async def answerer(question: Question) -> Answer | None:
        await asyncio.Event().wait()

    async def main() -> None:
        async with subject.open({"flow": asks(NAME)}, answerer=answerer) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "asked")
            await engine.answer(name, Answer(question_id="name", value="Ada"))
            assert (await engine.result(name)).data == [["success", "Ada"]]

    asyncio.run(main())


@over()
@pytest.mark.parametrize("with_answerer", [True, False])
def test_a_question_can_be_stopped(subject: Subject, with_answerer: bool) -> None:
    async def answerer(question: Question) -> Answer | None:
        await asyncio.Event().wait()

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        scope.ask("a", NAME)
        scope.step("b", gives())
        await collect(scope, 1)
        scope.stop("a")
        return result([one.outcome for _, one in await collect(scope, 1)])

    async def main() -> None:
        async with (
            subject.open({"flow": flow}, answerer=answerer)
            if with_answerer
            else subject.open({"flow": flow}, waits_for_answers=True)
        ) as engine:
            assert (await run(engine)).data == ["canceled"]

    asyncio.run(main())


@over()
def test_a_run_that_ends_open_says_input_required(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        return Result(task_id="t", agent="a", lifecycle="input_required", questions=(NAME,))

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            record = await engine.get(name)
            assert (record.lifecycle, record.outcome) == ("input_required", None)
            assert record.ended_ns is not None

    asyncio.run(main())


# Child runs


def has_child(name: str = "c", workflow: str = "child"):
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve([name])
        scope.child(name, workflow, {"from": scope.run})
        scope.emit(Checkpoint("begun"))
        ((_, done),) = await collect(scope, 1)
        return result([done.outcome, done.data])

    return flow


@over()
def test_a_child_run_is_delivered_like_a_step_and_found_by_its_id(subject: Subject) -> None:
    async def child(scope: Scope, payload: JsonMapping) -> Result:
        return result([scope.run, payload])

    async def main() -> None:
        async with subject.open({"flow": has_child(), "child": child}) as engine:
            name = await engine.start("flow", {})
            inner = f"{name}:c"
            assert (await engine.result(name)).data == ["success", [inner, {"from": name}]]
            record = await engine.get(inner)
            assert (record.parent, record.workflow, record.outcome) == (name, "child", "success")
            assert [record.run for record in await engine.list()] == [name]
            assert await told(engine, inner) == ["started", "finished"]
            with pytest.raises(InvalidInput, match="child run"):
                await engine.resume(inner)

    asyncio.run(main())


@over()
def test_a_child_is_cancelled_with_its_parent_and_by_stop(subject: Subject) -> None:
    async def stops(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve(["c", "a"])
        scope.child("c", "child", {})
        scope.step("a", gives())
        await collect(scope, 1)
        scope.stop("c")
        return result([one.outcome for _, one in await collect(scope, 1)])

    async def main() -> None:
        flows = {"flow": has_child(), "stops": stops, "child": fan_out(lambda: {"x": hangs})}
        async with subject.open(flows) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "checkpoint")
            await engine.cancel(name)
            assert (await engine.result(name)).outcome == "canceled"
            assert (await engine.result(f"{name}:c")).outcome == "canceled"
            assert (await run(engine, "stops")).data == ["canceled"]

    asyncio.run(main())


@over()
def test_an_unknown_child_workflow_is_said_to_the_parent(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        with pytest.raises(UnknownName):
            scope.child("c", "nothing", {})
        return result("told")

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            assert (await run(engine)).data == "told"

    asyncio.run(main())


# Resuming and copying


class Counted:
    """Steps that count how often they ran; those named in `broken` fail."""

    def __init__(self, *names: str) -> None:
        self.names = names
        self.ran: Counter[str] = Counter()
        self.broken: set[str] = set()
        self.partial: set[str] = set()

    def steps(self) -> dict[str, Step]:
        return {name: self._body(name) for name in self.names}

    def _body(self, name: str) -> Step:
        async def body() -> Result:
            self.ran[name] += 1
            if name in self.broken:
                raise ValueError(name)
            return result(f"{name}{self.ran[name]}", "partial" if name in self.partial else "success")

        return body


def worth(done: Result) -> Result:
    """The result of a fan-out, `partial` when a branch failed: so that it can be resumed."""
    return done if all(outcome == "success" for _, outcome, _ in done.data) else result(done.data, "partial")


def resumable(counted: Counted):
    inner = fan_out(counted.steps)

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        return worth(await inner(scope, payload))

    return flow


@over()
def test_a_resumed_run_repeats_only_what_did_not_end_well(subject: Subject) -> None:
    counted = Counted("a", "b", "c")
    counted.broken = {"b"}
    counted.partial = {"c"}

    async def main() -> None:
        async with subject.open({"flow": resumable(counted)}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "partial"
            counted.broken.clear()
            assert await engine.resume(name) == name
            done = await engine.result(name)
            assert done.data == [["a", "success", "a1"], ["c", "partial", "c1"], ["b", "success", "b2"]]
            assert counted.ran == {"a": 1, "b": 2, "c": 1}
            events = [event async for event in engine.events(name)]
            assert [event.sequence for event in events] == list(range(1, len(events) + 1))
            assert (await told(engine, name))[4:] == ["finished", "message", "finished b", "finished"]

    asyncio.run(main())


@over("journal")
def test_a_run_is_resumed_by_a_later_process(subject: Subject) -> None:
    counted = Counted("a", "b")
    counted.broken = {"b"}

    async def main() -> None:
        async with subject.open({"flow": resumable(counted)}) as engine:
            name = await engine.start("flow", {"x": [1, {"y": None}]}, label="goal")
            await engine.result(name)
        counted.broken.clear()
        async with subject.open({"flow": resumable(counted)}) as engine:
            assert [record.label for record in await engine.list()] == ["goal"]
            assert (await engine.result(name)).outcome == "partial"
            await engine.resume(name)
            assert (await engine.result(name)).outcome == "success"
            assert counted.ran == {"a": 1, "b": 2}
        async with subject.open({}) as engine:
            record = await engine.get(name)
            assert (record.outcome, record.finished_steps) == ("success", ("a", "b"))
            assert (await told(engine, name))[-1] == "finished"

    asyncio.run(main())


@over()
def test_resuming_what_runs_or_has_succeeded_changes_nothing(subject: Subject) -> None:
    async def main() -> None:
        async with subject.open({"flow": fan_out(lambda: {"a": gives(1)}), "hang": fan_out(lambda: {"a": hangs})}) as engine:
            name = await engine.start("flow", {})
            done = await engine.result(name)
            assert await engine.resume(name) == name
            assert await engine.result(name) == done
            going = await engine.start("hang", {})
            assert await engine.resume(going) == going
            assert Counter(await told(engine, going))["started"] == 1

    asyncio.run(main())


@over()
def test_a_cancelled_run_can_be_resumed(subject: Subject) -> None:
    async def main() -> None:
        waits: dict[str, Step] = {"a": gives(1), "b": hangs}
        async with subject.open({"flow": fan_out(lambda: waits)}) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "finished", "a")
            await engine.cancel(name)
            await engine.result(name)
            waits["b"] = gives(2)
            await engine.resume(name)
            assert (await engine.result(name)).data == [["a", "success", 1], ["b", "success", 2]]

    asyncio.run(main())


@over()
def test_time_and_chance_repeat_until_something_new_has_happened(subject: Subject) -> None:
    ticks = itertools.count(1_700_000_000_000_000_000, 1_000_000)
    chances = itertools.count(0.0, 0.001)
    saw: list[list[float]] = []
    broken = {"b"}

    async def fails() -> Result:
        if broken:
            raise ValueError("b")
        return result()

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.reserve("ab")
        seen: list[float] = [await scope.now(), await scope.random()]
        scope.step("a", gives())
        await collect(scope, 1)
        seen += [await scope.now(), await scope.random()]
        scope.step("b", fails)
        ((_, done),) = await collect(scope, 1)
        seen += [await scope.now(), await scope.random()]
        saw.append(seen)
        return result(outcome="success" if done.useful and len(saw) > 2 else "partial")

    async def main() -> None:
        opened = {"clock": lambda: next(ticks), "random": lambda: next(chances)}
        async with subject.open({"flow": flow}, **opened) as engine:  # pyright: ignore[reportArgumentType] - two of Options
            name = await engine.start("flow", {})
            await engine.result(name)
            await engine.resume(name)
            await engine.result(name)
            broken.clear()
            await engine.resume(name)
            await engine.result(name)
        first, second, third = saw
        assert first[:4] == second[:4] == third[:4]
        assert first[4] < second[4] < third[4]
        assert first[5] < second[5] < third[5]

    asyncio.run(main())


@over()
def test_a_replay_does_not_wait_again_for_what_has_passed(subject: Subject) -> None:
    time_ns = [1_700_000_000_000_000_000]
    waits: list[float] = []

    async def sleep(seconds: float) -> None:
        waits.append(seconds)
        time_ns[0] += round(seconds * 1e9)

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        await scope.sleep(30)
        await scope.sleep(-1)
        return result(outcome="partial")

    async def main() -> None:
        async with subject.open({"flow": flow}, clock=lambda: time_ns[0], sleep=sleep) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            time_ns[0] -= 10_000_000_000
            await engine.resume(name)
            await engine.result(name)
        assert waits == [30, 0, 10, 0]

    asyncio.run(main())


@over()
def test_what_the_workflow_says_again_is_not_recorded_again(subject: Subject) -> None:
    counted = Counted("a", "b")
    counted.broken = {"b"}

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.emit(Decision("both", "they are there"))
        done = worth(await fan_out(counted.steps)(scope, payload))
        scope.emit(Message(f"ended {done.outcome}"))
        return done

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            counted.broken.clear()
            await engine.resume(name)
            await engine.result(name)
            events = [event async for event in engine.events(name)]
            assert Counter(event.kind for event in events)["decision"] == 1
            texts = [event.body.text for event in events if isinstance(event.body, Message)]
            assert texts == ["ended partial", "Going on: 1 result is kept.", "ended success"]

    asyncio.run(main())


@over()
def test_an_answered_question_is_not_asked_again(subject: Subject) -> None:
    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.ask("who", NAME)
        ((_, done),) = await collect(scope, 1)
        return result(done.data, "partial")

    async def main() -> None:
        async with subject.open({"flow": flow}, waits_for_answers=True) as engine:
            name = await engine.start("flow", {})
            await happened(engine, name, "asked")
            await engine.answer(name, Answer(question_id="name", value="Ada"))
            await engine.result(name)
            await engine.resume(name)
            assert (await engine.result(name)).data == "Ada"
            assert Counter(await told(engine, name))["asked who"] == 1

    asyncio.run(main())


@over()
def test_a_question_that_nobody_answered_is_asked_again(subject: Subject) -> None:
    there: list[bool] = []

    async def answerer(question: Question) -> Answer | None:
        return Answer(question_id=question.id, value="Ada") if there else None

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.ask("who", NAME)
        ((_, done),) = await collect(scope, 1)
        return result(done.data, done.outcome or "failed")

    async def main() -> None:
        async with subject.open({"flow": flow}, answerer=answerer) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "rejected"
            there.append(True)
            await engine.resume(name)
            assert (await engine.result(name)).data == "Ada"

    asyncio.run(main())


@over()
def test_a_child_goes_on_with_its_parent(subject: Subject) -> None:
    counted = Counted("x", "y")
    counted.broken = {"y"}

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.child("c", "child", {})
        ((_, done),) = await collect(scope, 1)
        return result(done.data, "success" if done.useful else "partial")

    async def child(scope: Scope, payload: JsonMapping) -> Result:
        done = worth(await fan_out(counted.steps)(scope, payload))
        return done if done.outcome == "success" else result(done.data, "failed")

    async def main() -> None:
        async with subject.open({"flow": flow, "child": child}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).outcome == "partial"
            counted.broken.clear()
            await engine.resume(name)
            assert (await engine.result(name)).outcome == "success"
            assert counted.ran == {"x": 1, "y": 2}
            assert (await engine.get(f"{name}:c")).outcome == "success"

    asyncio.run(main())


@over()
def test_a_fork_keeps_finished_steps_except_those_named(subject: Subject) -> None:
    counted = Counted("a", "b", "c")

    async def main() -> None:
        async with subject.open({"flow": fan_out(counted.steps)}) as engine:
            name = await engine.start("flow", {"k": 1}, label="goal")
            before = await engine.result(name)
            with pytest.raises(UnknownName) as caught:
                await engine.fork(name, without=["d"])
            assert caught.value.suggestions == ("a", "b", "c")
            copy = await engine.fork(name, without=["b"])
            assert copy != name
            done = await engine.result(copy)
            assert done.data == [["a", "success", "a1"], ["c", "success", "c1"], ["b", "success", "b2"]]
            assert counted.ran == {"a": 1, "b": 2, "c": 1}
            assert await engine.result(name) == before
            assert (await engine.get(copy)).label == "goal"
            assert await told(engine, copy) == [
                "started", "finished a", "finished c", "message", "finished b", "finished",
            ]  # fmt: skip
            again = await engine.fork(copy)
            assert (await engine.result(again)).outcome == "success"
            assert counted.ran["b"] == 2

    asyncio.run(main())


@over()
def test_a_fork_takes_the_unfinished_child_along_unless_it_is_named(subject: Subject) -> None:
    counted = Counted("x", "y")
    counted.broken = {"y"}

    async def flow(scope: Scope, payload: JsonMapping) -> Result:
        scope.child("c", "child", {})
        ((_, done),) = await collect(scope, 1)
        return result(done.outcome)

    async def child(scope: Scope, payload: JsonMapping) -> Result:
        done = worth(await fan_out(counted.steps)(scope, payload))
        return done if done.outcome == "success" else result(done.data, "failed")

    async def main() -> None:
        async with subject.open({"flow": flow, "child": child}) as engine:
            name = await engine.start("flow", {})
            assert (await engine.result(name)).data == "failed"
            counted.broken.clear()
            copy = await engine.fork(name)
            assert (await engine.result(copy)).data == "success"
            assert counted.ran == {"x": 1, "y": 2}
            anew = await engine.fork(copy, without=["c"])
            assert (await engine.result(anew)).data == "success"
            assert counted.ran == {"x": 2, "y": 3}
            assert (await engine.get(f"{anew}:c")).parent == anew

    asyncio.run(main())


@over("journal")
@pytest.mark.slow
def test_after_a_kill_a_later_process_goes_on_without_repeating_finished_steps(subject: Subject, tmp_path: Path) -> None:
    ran = tmp_path / "ran"
    command = [sys.executable, "-m", "tests.engine.victim", subject.name, str(subject.place), str(ran)]
    with subprocess.Popen([*command, "hang"], stdout=subprocess.PIPE, text=True) as victim:
        assert victim.stdout
        name = victim.stdout.readline().strip()
        os.kill(victim.pid, signal.SIGKILL)
    assert victim.returncode == -signal.SIGKILL

    async def look() -> None:
        async with subject.open({}) as engine:
            record = await engine.get(name)
            assert record.lifecycle == "working"
            assert record.stalled is not engine.capabilities.durable
            assert sorted(record.finished_steps) == ["s0", "s1", "s2", "s3", "s4", "s5", "s6"]
            assert sorted((await engine.get(f"{name}:inner")).finished_steps) == ["i0"]

    asyncio.run(look())
    done = subprocess.run([*command, name], capture_output=True, text=True, check=True)
    assert done.stdout.split()[-1] == "success"
    assert Counter(ran.read_text().split()) == {
        **{f"s{n}": 1 for n in range(7)}, **{f"s{n}": 2 for n in range(7, 10)}, "i0": 1, "i1": 2,
    }  # fmt: skip


def test_every_subject_is_an_engine(tmp_path: Path) -> None:
    async def main() -> None:
        for name, capabilities in KINDS.items():
            async with Subject(name, capabilities, tmp_path / name).open({}) as engine:
                port: Engine = engine
                assert port.capabilities == capabilities

    asyncio.run(main())
