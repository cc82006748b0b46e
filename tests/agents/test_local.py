"""A single call without orchestration: the context's twin, and the convenience."""

import asyncio
import operator
import sys
from collections.abc import Awaitable
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING

import pytest
from pydantic import BaseModel

import retinue
from retinue.agents.local import LocalContext, call
from retinue.agents.python import agent
from retinue.contract.event import QuestionAnswered, QuestionAsked
from retinue.contract.result import Result
from retinue.contract.task import Answer, Question
from retinue.errors import AccessDenied, DeadlineExceeded
from retinue.tools.workspace import Workspace
from tests.agents.scripted import GOOD, Scripted, bodies, context, task

if TYPE_CHECKING:
    from retinue.agents.port import RunContext


PACKAGE = Path(retinue.__file__).parent


class Count(BaseModel):
    words: int


@agent
async def word_counter(text: str, minimum: int = 1) -> Count:
    """Counts words. Use it when a length is asked for. Returns the number of words."""
    return Count(words=len([word for word in text.split() if len(word) >= minimum]))


@agent
def letter_counter(text: str) -> int:
    """Counts letters. Use it when a length is asked for. Returns the number of letters."""
    return len(text)


async def shout(text: str) -> str:
    """Shouts. Use it when whispering failed. Returns the text in capitals."""
    return text.upper()


def called(answer: Awaitable[Result]) -> Result:
    async def main() -> Result:
        return await answer

    return asyncio.run(main())


def test_a_decorated_function_is_called_with_its_parameters() -> None:
    result = called(call(word_counter, text="a bc"))
    assert (result.outcome, result.data, result.agent) == ("success", {"words": 2}, "word_counter")
    assert result.extras["boundary"]["defaults"] == {"/minimum": 1}


def test_an_instruction_goes_where_the_function_takes_it() -> None:
    @agent
    async def echo(query: str) -> str:
        """Echoes. Use it in the mountains. Returns what was said."""
        return query

    assert called(call(echo, "hello")).data == "hello"


def test_a_synchronous_function_and_a_plain_one_are_agents_too() -> None:
    assert called(call(letter_counter, text="abc")).data == 3
    result = called(call(shout, text="abc"))
    assert (result.data, result.content) == ("ABC", "ABC")


def test_any_agent_can_be_called() -> None:
    assert called(call(Scripted(GOOD))).data == {"words": 2}


def test_what_goes_wrong_is_in_the_result() -> None:
    result = called(call(word_counter, texte="x"))
    assert result.fault is not None
    assert (result.fault.code, result.outcome) == ("invalid_input", "error")

    def untyped(text):  # pyright: ignore[reportMissingParameterType, reportUnknownParameterType, reportUnknownVariableType]
        return text  # pyright: ignore[reportUnknownVariableType]

    result = called(call(untyped))  # pyright: ignore[reportUnknownArgumentType]
    assert result.fault is not None
    assert "no type" in result.fault.message


def test_the_context_stands_in_for_a_run_without_one() -> None:
    run: RunContext = LocalContext()
    assert run.now() > 0
    assert 0 <= run.random() < 1
    asyncio.run(run.sleep(0))
    with pytest.raises(AccessDenied):
        _ = run.workspace
    with pytest.raises(AccessDenied):
        asyncio.run(run.delegate(task()))


def test_the_workspace_is_the_one_that_was_given(tmp_path: Path) -> None:
    workspace = Workspace(tmp_path)
    assert LocalContext(workspace=workspace).workspace is workspace


def test_nobody_there_means_no_answer_and_no_approval() -> None:
    run = context()
    question, approval = Question(id="q", text="Which?"), Question(id="a", text="Really?", kind="approval")
    assert asyncio.run(run.ask(question)) is None
    denied = Answer(question_id="a", value=False, by="policy")
    assert asyncio.run(run.ask(approval)) == denied
    assert bodies(run) == [QuestionAsked(question), QuestionAsked(approval), QuestionAnswered(denied)]
    assert [event.sequence for event in run.events] == [1, 2, 3]


def test_somebody_there_is_asked() -> None:
    async def person(question: Question) -> Answer:
        return Answer(question_id=question.id, value=True)

    run = LocalContext(answer=person)
    answer = asyncio.run(run.ask(Question(id="a", text="Really?", kind="approval")))
    assert answer == Answer(question_id="a", value=True)


@pytest.mark.slow
def test_heavy_work_goes_to_another_process_within_the_deadline() -> None:
    async def main() -> int:
        async with LocalContext() as run:
            return await run.offload(operator.add, 1, 2) + await run.offload(operator.add, 1, 2)

    async def late() -> None:
        async with context(deadline_ns=0) as run:
            await run.offload(operator.add, 1, 2)

    assert asyncio.run(main()) == 6
    with pytest.raises(DeadlineExceeded):
        asyncio.run(late())


def test_a_plain_call_runs_through_few_files() -> None:
    """A reader who follows one call must not open half the house."""
    files: set[str] = set()

    def follow(frame: FrameType, event: str, _: object) -> None:
        if event == "call" and PACKAGE in Path(frame.f_code.co_filename).parents:
            files.add(frame.f_code.co_filename)

    @retinue.agent
    async def double(number: int) -> int:
        """Doubles. Use in tests. Returns twice the number."""
        return 2 * number

    async def main() -> None:
        await retinue.call(double, number=1)
        sys.setprofile(follow)
        try:
            await retinue.call(double, number=2)
        finally:
            sys.setprofile(None)

    before = sys.getprofile()
    asyncio.run(main())
    sys.setprofile(before)
    assert len(files) <= 10, sorted(files)
