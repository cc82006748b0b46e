"""The shared suite: people are asked, or nobody is there. Over every engine that has what a case needs."""

import asyncio
from collections import Counter

import pytest

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.engine.base import WorkflowScope
from retinue.errors import InvalidInput, UnknownName
from tests.engine.flows import collect, gives, happened, result, run, told
from tests.engine.subjects import Subject, over


def asks(*questions: Question):
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
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

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
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
    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        return Result(task_id="t", agent="a", lifecycle="input_required", questions=(NAME,))

    async def main() -> None:
        async with subject.open({"flow": flow}) as engine:
            name = await engine.start("flow", {})
            await engine.result(name)
            record = await engine.get(name)
            assert (record.lifecycle, record.outcome) == ("input_required", None)
            assert record.ended_ns is not None

    asyncio.run(main())
