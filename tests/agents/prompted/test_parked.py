"""A run that waits for a person goes on where it was: nothing is done twice, nothing is forgotten."""

import asyncio
from pathlib import Path
from typing import Any

from retinue.agents.grants import Grants
from retinue.agents.prompted.checkpoint import ConversationCheckpoint, read_checkpoint, write_checkpoint
from retinue.agents.registry import Registry
from retinue.contract.json import dumps, loads
from retinue.contract.result import Result, Trace, Usage
from retinue.contract.task import Answer, Question
from retinue.engine.inprocess import InProcessEngine
from retinue.llm.port import AssistantMessage, ToolResult, ToolResults, UserMessage
from retinue.llm.scripted import ScriptedModel, tool_call
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace
from tests.agents.prompted.cast import Cast, delegated, orchestrated
from tests.agents.prompted.given import GIVES, Made, skill, told, toolbox


def test_after_an_approval_the_conversation_goes_on_and_no_tool_is_used_twice() -> None:
    looks, writes = Made("looks"), Made("write", effects=("write",))
    cast = Cast(
        boss=[
            tool_call("looks"),
            (tool_call("looks", n=2), tool_call("write", path="a")),
            tool_call("write", path="b"),
            "Both are written.",
        ]
    )
    result = orchestrated(cast.agent("boss", toolbox=toolbox(looks, writes)), answer=True)
    assert result.outcome == "success", result.fault
    model = cast.models["boss"]
    assert len(model.requests) == 4
    assert looks.calls == [{}, {"n": 2}]
    assert writes.calls == [{"path": "a"}, {"path": "b"}]
    assert model.requests[-1].turns[:2] == model.requests[1].turns[:2]
    assert result.usage is not None
    assert (result.usage.requests, result.usage.model) == (4, "t:boss")


def test_a_no_is_told_and_the_agent_goes_on() -> None:
    writes = Made("write", effects=("write",))
    cast = Cast(boss=[tool_call("write", path="a"), "Nothing is written."])
    result = orchestrated(cast.agent("boss", toolbox=toolbox(writes)), answer=False)
    assert result.outcome == "success"
    assert writes.calls == []
    assert "it was not approved" in told(cast.models["boss"].requests[-1])


def test_nobody_there_is_a_no() -> None:
    writes = Made("write", effects=("write",))
    cast = Cast(boss=[tool_call("write", path="a"), "Nothing is written."])
    result = orchestrated(cast.agent("boss", toolbox=toolbox(writes)))
    assert (result.outcome, writes.calls) == ("success", [])


def test_more_than_three_questions_can_be_asked_on_the_way() -> None:
    writes = Made("write", effects=("write",))
    cast = Cast(boss=[*(tool_call("write", path=str(n)) for n in range(8)), "All eight."])
    result = orchestrated(cast.agent("boss", toolbox=toolbox(writes)), answer=True)
    assert result.outcome == "success", result.fault
    assert len(writes.calls) == 8


def test_of_two_calls_side_by_side_one_may_wait() -> None:
    writes = Made("write", effects=("write",))
    uses = (delegated("worker"), delegated("helper_two"))
    cast = Cast(
        boss=[uses, "Both are back."],
        worker=[tool_call("write", path="a"), "Wrote a."],
        helper_two=["Nothing to write."],
    )
    result = orchestrated(
        cast.agent("boss"), cast.agent("worker", toolbox=toolbox(writes)), cast.agent("helper_two"), answer=True
    )
    assert result.outcome == "success", result.fault
    assert {name: len(model.requests) for name, model in cast.models.items()} == {
        "boss": 2,
        "worker": 2,
        "helper_two": 1,
    }
    assert writes.calls == [{"path": "a"}]


def test_a_worker_that_must_ask_goes_on_too() -> None:
    writes, looks = Made("write", effects=("write",)), Made("looks")
    cast = Cast(
        boss=[tool_call("looks"), delegated("worker"), delegated("worker", parameters={"n": 2}), "Done."],
        worker=[tool_call("looks"), tool_call("write", path="a"), "Wrote a.", tool_call("write", path="b"), "Wrote b."],
    )
    tools = toolbox(writes, looks)
    result = orchestrated(cast.agent("boss", toolbox=tools), cast.agent("worker", toolbox=tools), answer=True)
    assert result.outcome == "success", result.fault
    assert writes.calls == [{"path": "a"}, {"path": "b"}]
    assert len(looks.calls) == 2
    assert [len(cast.models[name].requests) for name in ("boss", "worker")] == [4, 5]
    assert result.usage is not None
    assert result.usage.requests == 9


def test_each_call_is_asked_about_by_itself_even_when_two_agents_make_the_same() -> None:
    writes, asked = Made("write", effects=("write",)), list[str]()

    def says(question: Question) -> bool:
        asked.append(question.id)
        return len(asked) == 1

    cast = Cast(
        boss=[delegated("worker"), delegated("worker", parameters={"n": 2}), "Done."],
        worker=[tool_call("write", path="a"), "First.", tool_call("write", path="a"), "Second."],
    )
    orchestrated(cast.agent("boss"), cast.agent("worker", toolbox=toolbox(writes)), answer=says)
    assert len(set(asked)) == 2
    assert writes.calls == [{"path": "a"}]


def test_a_file_that_was_read_before_the_question_can_be_written_after_it(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("old\n")
    cast = Cast(boss=[tool_call("read", path="a.txt"), tool_call("write", path="a.txt", content="new\n"), "Written."])
    result = orchestrated(cast.agent("boss"), answer=True, workspace=Workspace(tmp_path, write=["."]))
    assert result.outcome == "success", result.fault
    assert (tmp_path / "a.txt").read_text() == "new\n"


def test_a_correction_after_a_question_goes_on_in_the_same_conversation() -> None:
    writes = Made("write", effects=("write",))
    cast = Cast(boss=[tool_call("write", path="a"), {"score": "x"}, {"score": 1}])
    agent = cast.agent("boss", toolbox=toolbox(writes), skills=(skill("boss", output_schema=GIVES),))
    result = orchestrated(agent, answer=True)
    assert result.outcome == "success", result.fault
    assert (len(writes.calls), len(cast.models["boss"].requests)) == (1, 3)
    assert "Your answer was refused" in told(cast.models["boss"].requests[-1])


def test_a_run_is_parked_until_somebody_answers() -> None:
    writes = Made("write", effects=("write",))
    model = ScriptedModel([tool_call("write", path="a"), "Written."], name="t:boss")
    cast = Cast(boss=model)

    async def main() -> Result:
        registry = Registry([cast.agent("boss", toolbox=toolbox(writes))])
        waiting: asyncio.Queue[Question] = asyncio.Queue()
        given: asyncio.Queue[Any] = asyncio.Queue()

        async def answerer(question: Question) -> Answer | None:
            waiting.put_nowait(question)
            return Answer(question_id=question.id, value=await given.get())

        async with InProcessEngine(workflows(registry, grants=Grants()), answerer=answerer) as engine:
            running = asyncio.create_task(Orchestrator(registry, engine).run_task("boss", instruction="Do it"))
            question = await waiting.get()
            assert (question.kind, writes.calls) == ("approval", [])
            given.put_nowait(True)
            return await running

    result = asyncio.run(main())
    assert (result.outcome, len(writes.calls)) == ("success", 1)


# The memo


def test_notes_come_back_as_they_were_written() -> None:
    notes = ConversationCheckpoint(
        turns=(
            UserMessage("a"),
            AssistantMessage("b", (tool_call("x", id="1", n=1),)),
            ToolResults((ToolResult("1", "x", "c"),)),
        ),
        traces=[Trace(tool="x", output="c", args={"n": 1}, duration_ns=5)],
        spent=Usage(tokens_in=2, requests=2),
        files_read={"a.txt": None},
        files_written={"b.txt": None},
        warnings=["w"],
        toolset="k",
    )
    memo: dict[str, Any] = {}
    write_checkpoint(memo, notes, owner="a.b")
    stored: Any = loads(dumps(memo))
    assert read_checkpoint(stored, owner="a.b") == notes
    assert read_checkpoint(stored, owner="c.d") == ConversationCheckpoint()


def test_notes_that_cannot_be_read_count_as_none() -> None:
    for broken in (None, 1, {"whose": "a"}, {"whose": "a", "turns": 1}, {"whose": "a", "turns": [], "traces": [1]}):
        assert read_checkpoint({"conversation": broken}, owner="a") == ConversationCheckpoint()


def test_notes_with_halves_of_characters_can_be_stored() -> None:
    memo: dict[str, Any] = {}
    said = AssistantMessage("\ud800", (tool_call("x", id="1", **{"\udc00": ["\ud800", 1]}),))
    write_checkpoint(memo, ConversationCheckpoint(turns=(said,)), owner="a")
    assert read_checkpoint(loads(dumps(memo)), owner="a").turns == (  # pyright: ignore[reportArgumentType] - what was stored
        AssistantMessage("?", (tool_call("x", id="1", **{"?": ["?", 1]}),)),
    )
