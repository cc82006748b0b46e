"""What `retinue.call` gives is typed by the agent. `make check` holds the types here with basedpyright and mypy."""

import asyncio
import datetime as dt
import gc
import pickle
import weakref
from collections.abc import Callable
from typing import Any, assert_type

import pytest
from pydantic import BaseModel, ConfigDict

import retinue
from retinue.agents.python import python_agent
from retinue.errors import InvalidInput, OutputInvalid


class Greeting(BaseModel):
    model_config = ConfigDict(strict=True)

    text: str
    day: dt.date


@retinue.agent
async def greet(name: str) -> Greeting:
    """Greets somebody. Use when a greeting is due. Returns the greeting."""
    return Greeting(text=f"Hello, {name}!", day=dt.date(2026, 1, 2))


@retinue.agent(tier="small")
def length(text: str) -> int:
    """Measures a text. Use when a length is asked for. Returns the number of letters."""
    return len(text)


@retinue.agent
async def whole(task: retinue.Task) -> retinue.Reply:
    """Answers with a whole reply. Use in tests. Returns the instruction."""
    return retinue.Reply(data={"heard": task.instruction})


@retinue.agent
class Clerk:
    """Counts. Use for counts. Returns numbers."""

    @retinue.skill
    def double(self, number: int) -> int:
        """Doubles a number. Use for doubles. Returns the number."""
        return 2 * number


async def plain(names: list[str]) -> list[Greeting]:
    """Greets many. Use for groups. Returns the greetings."""
    return [await greet(name) for name in names]


def test_the_output_is_of_the_type_that_the_agent_declares() -> None:
    async def main() -> None:
        result = await retinue.call(greet, name="Ada")
        assert_type(result, retinue.Result[Greeting])
        assert assert_type(result.output, Greeting) == await greet("Ada")
        assert result.data == {"text": "Hello, Ada!", "day": "2026-01-02"}
        assert assert_type((await retinue.call(length, text="four")).output, int) == 4
        assert assert_type((await retinue.call(plain, names=["Ada"])).output, list[Greeting]) == [await greet("Ada")]

    asyncio.run(main())


def test_where_no_type_is_declared_the_output_is_the_data() -> None:
    async def main() -> None:
        assert assert_type((await retinue.call(whole, "hear")).output, Any) == {"heard": "hear"}
        assert assert_type((await retinue.call(Clerk, number=2)).output, Any) == 4

    asyncio.run(main())


def test_a_result_takes_a_type_and_survives_pickling_with_it() -> None:
    raw = retinue.Result(task_id="t", agent="a", outcome="success", data={"text": "Hi", "day": "2026-01-02"})
    typed = assert_type(raw.as_type(Greeting), retinue.Result[Greeting])
    assert typed.output == Greeting(text="Hi", day=dt.date(2026, 1, 2))
    assert pickle.loads(pickle.dumps(typed)).output == typed.output
    assert retinue.Result.model_validate_json(typed.to_json_text()).output == raw.data
    with pytest.raises(OutputInvalid, match="not of the type") as caught:
        _ = raw.as_type(int).output
    assert caught.value.hint


def test_without_an_answer_the_output_raises_what_the_fault_says() -> None:
    result = asyncio.run(retinue.call(greet, nmae="Ada"))
    with pytest.raises(InvalidInput, match="nmae"):
        _ = result.output
    with pytest.raises(OutputInvalid, match="gave no answer") as caught:
        _ = retinue.Result(
            task_id="t",
            agent="a",
            lifecycle="input_required",
            questions=(retinue.Question(id="q", text="Which?"),),
        ).output
    assert "questions" in caught.value.hint


def test_a_plan_takes_a_list() -> None:
    plan = retinue.Plan(
        nodes=[
            retinue.Delegation(id="a", agent="greet"),
            retinue.Delegation(id="b", agent="greet", needs=["a"], expects=[retinue.Expected(path="b.md")]),
        ]
    )
    assert isinstance(plan.nodes, tuple)
    assert plan.nodes[1].needs == ("a",)
    assert hash(plan.nodes[0].needs) == hash(())


def test_a_call_keeps_nothing_alive() -> None:
    """Neither agents nor plain functions, nor what they refer to: each call here makes its own."""

    class Held:
        """Something large, held by a function."""

    def make(held: Held) -> Callable[[], str]:
        def show() -> str:
            """Shows. Use in tests. Returns text."""
            return type(held).__name__

        return show

    async def main() -> list[weakref.ref[object]]:
        seen: list[weakref.ref[object]] = []
        for number in range(20):
            one, held = retinue.scripted(str(number), name="one"), Held()
            seen.extend((weakref.ref[object](one), weakref.ref[object](held)))
            assert (await retinue.call(one, "say")).content == str(number)
            assert (await retinue.call(make(held))).output == "Held"
        return seen

    seen = asyncio.run(main())
    _ = gc.collect()
    assert [ref() for ref in seen if ref() is not None] == []


def test_calls_of_the_same_agents_add_no_objects() -> None:
    async def count(calls: int) -> int:
        for _ in range(calls):
            await retinue.call(plain, names=["Ada"])
        _ = gc.collect()
        return len(gc.get_objects())

    async def main() -> tuple[int, int]:
        await count(20)
        return await count(1), await count(500)

    before, after = asyncio.run(main())
    assert after - before < 50


def test_a_method_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    class Clerk:
        def __init__(self, name: str) -> None:
            self.name = name

        def greet(self, other: str) -> str:
            """Greets. Use in tests. Returns text."""
            return f"{self.name} greets {other}"

    assert asyncio.run(retinue.call(Clerk("Ada").greet, other="Bob")).output == "Ada greets Bob"
    monkeypatch.setattr(python_agent, "read_signature", None)
    assert asyncio.run(retinue.call(Clerk("Eve").greet, other="Bob")).output == "Eve greets Bob"


def test_a_plain_function_is_read_once() -> None:
    async def main() -> None:
        first = await retinue.call(plain, names=["Ada"])
        again = await retinue.call(plain, names=["Bob"])
        assert first.output[0].text != again.output[0].text

    class Unhashable:
        __hash__ = None  # type: ignore[assignment]  # pyright: ignore[reportAssignmentType] - as a dataclass that compares has it
        __module__ = "here"
        __name__ = "unhashable"
        __qualname__ = "unhashable"

        def __call__(self, text: str) -> str:
            """Says it. Use in tests. Returns the text."""
            return text

    asyncio.run(main())
    assert asyncio.run(retinue.call(Unhashable(), text="x")).lifecycle == "ended"
