"""A run whose process died goes on in the middle of its conversations: nothing that was answered is asked or done again.

What a killed process leaves behind is its journal, so each test copies that at some moment, and goes on with the copy.
"""

import asyncio
import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.port import Agent, RunContext
from retinue.agents.prompted import PromptedAgent, checkpoint
from retinue.agents.python import agent as python_agent
from retinue.agents.registry import Registry
from retinue.contract.definition import Effect
from retinue.contract.event import Body, Event, Message, NodeFinished, TurnsAdded, UsageReported
from retinue.contract.result import Result, Usage
from retinue.contract.task import Answer, Budget, Question, Task
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.llm.models import Models
from retinue.llm.port import OnText, Request, Response, ToolResults
from retinue.llm.scripted import Line, ScriptedModel, tool_call
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.port import ToolOutput
from tests.agents.prompted.cast import delegated
from tests.agents.prompted.given import GIVES, Made, definition, skill, told, toolbox

DIES = object()
"""In a script: the process dies in the middle of this request, or of this tool call."""

STOPS = object()
"""In a script: the run is stopped in the middle of this request."""


class Model(ScriptedModel):
    """A model that never answers where its script stops the run."""

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        response = await super().respond(request, on_text=on_text)
        if not response.turn.text and not response.turn.tool_calls:
            await asyncio.Event().wait()
        return response


@dataclass
class Life:
    """One process that works on a run: its models by the agent's name, its tool, and what a person was asked.

    Attributes:
        scripts: The lines of each agent's model.
        tool: Does what it says; DIES where the process dies in it.
        answers: What the person says, in order; nobody answers any more when they are used up.
    """

    place: Path
    scripts: dict[str, list[Any]]
    tool: list[Any] = field(default_factory=list[Any])
    effects: tuple[Effect, ...] = ("read",)
    answers: list[Any] = field(default_factory=list[Any])
    idempotent: bool = False
    budget: Budget | None = None
    more: Callable[["Life"], Sequence[Agent]] = lambda _: ()
    asked: list[str] = field(default_factory=list[str])
    models: dict[str, Model] = field(default_factory=dict[str, Model])
    facts: dict[str, Any] = field(default_factory=dict[str, Any])
    copies: int = 0
    stop: Callable[[], object] = lambda: None
    events: Sequence[Event] = ()

    def __post_init__(self) -> None:
        self.journal = Journal(self.place)
        self.made = Made("made", self._use, effects=self.effects)
        self.made.spec = self.made.spec.model_copy(update={"idempotent": self.idempotent})
        for name, lines in self.scripts.items():
            self.models[name] = Model(self._script(lines), name=f"t:{name}", usd_per_million=1.0)

    def die(self) -> None:
        """What is on the disk now is what the next process finds."""
        self.journal.flush()
        self.copies += 1
        with closing(sqlite3.connect(self.place)) as ours, closing(sqlite3.connect(self.next_place)) as theirs:
            ours.backup(theirs)

    @property
    def next_place(self) -> Path:
        return self.place.with_name(f"next_{self.place.name}")

    def _script(self, lines: list[Any]) -> Callable[[Request], Line]:
        left = iter(lines)

        def line(_: Request) -> Line:
            said = next(left)
            if said is DIES:
                self.die()
                raise asyncio.CancelledError
            if said is STOPS:
                self.stop()
                return ""
            return said

        return line

    def _use(self, _: object) -> ToolOutput | str:
        said = self.tool[len(self.made.calls) - 1] if len(self.made.calls) <= len(self.tool) else "made"
        if said is DIES:
            self.die()
            return "nobody hears this"
        return said

    def run(self) -> Result:
        """Start the run, or go on with it."""
        agents = [
            PromptedAgent(definition(name, **self.facts), models=Models.only(model), toolbox=toolbox(self.made))
            for name, model in self.models.items()
        ]
        answers = iter(self.answers)

        async def answerer(question: Question) -> Answer | None:
            self.asked.append(question.text)
            said = next(answers, None)
            if said is DIES:
                self.die()
                said = None
            return None if said is None else Answer(question_id=question.id, value=said)

        async def main() -> Result:
            registry = Registry([*agents, *self.more(self)])
            async with InProcessEngine(workflows(registry), journal=self.journal, answerer=answerer) as engine:
                orchestrator = Orchestrator(registry, engine)
                loop = asyncio.get_running_loop()
                self.stop = lambda: loop.create_task(engine.cancel(self.journal.list()[0].run))
                if not self.journal.list():
                    return await orchestrator.run_task("boss", instruction="Do it", budget=self.budget)
                return await engine.result(await engine.resume(self.journal.list()[0].run))

        with self.journal:
            result = asyncio.run(main())
            self.events = self.journal.events(self.journal.list()[0].run, limit=-1)
        return result

    @property
    def node_result(self) -> Result:
        """What the only node of the run came to."""
        (result,) = [each.result for each in self.bodies(NodeFinished) if each.result.agent == "boss"]
        return result

    def bodies(self, kind: type[Body]) -> list[Any]:
        return [event.body for event in self.events if isinstance(event.body, kind)]


def lives(tmp_path: Path, first: dict[str, Any], *later: dict[str, Any], **both: Any) -> tuple[list[Life], Result]:
    """The lives of one run, each beginning with what the one before had on the disk when it died."""
    found, place = list[Life](), tmp_path / "journal.db"
    result: Result | None = None
    for own in (first, *later):
        life = Life(place, **{**both, **own})
        found.append(life)
        result = life.run()
        place = life.next_place
    assert result is not None
    assert [life.copies for life in found] == [1] * len(later) + [0], "each life but the last dies once"
    return found, result


def test_a_request_and_a_tool_call_that_were_answered_are_not_repeated(tmp_path: Path) -> None:
    (first, second), result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), DIES]}, "tool": ["forty houses"]},
        {"scripts": {"boss": ["There are forty."]}},
    )
    assert (result.outcome, result.content) == ("success", "There are forty.")
    assert (first.made.calls, second.made.calls) == ([{"n": 1}], [])
    (request,) = second.models["boss"].requests
    assert request.turns == first.models["boss"].requests[1].turns
    assert [trace.output for trace in second.node_result.traces] == ["forty houses"]


@pytest.mark.requirement("K36")
def test_what_a_killed_life_spent_is_in_the_account_and_counted_once(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), DIES]}},
        {"scripts": {"boss": [tool_call("made", n=2), DIES]}},
        {"scripts": {"boss": ["Done."]}},
    )
    reported = Usage.total(body.usage for body in found[-1].bodies(UsageReported))
    assert result.usage is not None
    assert reported is not None
    assert result.usage.requests == reported.requests == 3
    assert result.usage.tokens == reported.tokens
    assert result.usage.known_usd == pytest.approx(reported.known_usd)


def test_a_budget_that_was_spent_before_the_kill_is_spent(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), DIES]}, "tool": ["word " * 2_000]},
        {"scripts": {"boss": [tool_call("made", n=2), DIES]}, "tool": ["word " * 2_000]},
        {"scripts": {"boss": ["Done."]}},
        budget=Budget(tokens=7_000),
    )
    assert result.fault is not None
    assert result.fault.code == "budget_exceeded"
    assert found[-1].models["boss"].requests == []


def test_a_call_that_only_reads_is_made_again_when_the_process_died_in_it(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), "unheard"]}, "tool": [DIES]},
        {"scripts": {"boss": ["Done."]}},
    )
    assert result.content == "Done."
    assert [life.made.calls for life in found] == [[{"n": 1}], [{"n": 1}]]
    assert found[1].asked == []


def test_so_is_one_that_says_it_is_idempotent(tmp_path: Path) -> None:
    found, _ = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), "unheard"]}, "tool": [DIES], "answers": [True]},
        {"scripts": {"boss": ["Done."]}, "answers": [True]},
        effects=("write",),
        idempotent=True,
    )
    assert len(found[1].made.calls) == 1
    assert [text for text in found[1].asked if "interrupted" in text] == []


def again(life: Life) -> list[str]:
    return [text for text in life.asked if "interrupted" in text]


@pytest.mark.parametrize("approved", [True, False])
def test_a_person_is_asked_about_a_call_that_may_have_taken_effect(tmp_path: Path, approved: bool) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), "unheard"]}, "tool": [DIES], "answers": [True]},
        {"scripts": {"boss": ["Done."]}, "answers": [approved]},
        effects=("write",),
    )
    assert result.content == "Done."
    (text,) = found[1].asked
    assert text.startswith("May `boss` use `made` again, which may have taken effect when the run was interrupted,")
    assert len(found[1].made.calls) == approved
    (request,) = found[1].models["boss"].requests
    assert ("may have taken effect" in told(request)) is not approved


def test_nobody_there_is_a_no_to_making_it_again(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), "unheard"]}, "tool": [DIES], "answers": [True]},
        {"scripts": {"boss": ["Done."]}},
        effects=("write",),
    )
    assert (result.content, found[1].made.calls) == ("Done.", [])


def test_a_second_kill_in_the_repeated_call_is_asked_about_again(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made", n=1), "unheard"]}, "tool": [DIES], "answers": [True]},
        {"scripts": {"boss": ["unheard"]}, "tool": [DIES], "answers": [True]},
        {"scripts": {"boss": ["Done."]}, "answers": [True]},
        effects=("write",),
    )
    assert result.content == "Done."
    assert [len(again(life)) for life in found] == [0, 1, 1]
    assert [len(life.made.calls) for life in found] == [1, 1, 1]


def test_a_question_that_was_answered_is_not_asked_again_nor_its_answer_taken_for_the_next(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {
            "scripts": {"boss": [tool_call("made", n=1), tool_call("made", n=2), "unheard"]},
            "answers": [True, DIES],
        },
        {"scripts": {"boss": ["Done."]}, "answers": [False]},
        effects=("write",),
    )
    assert result.content == "Done."
    assert found[0].made.calls == [{"n": 1}]
    (text,) = found[1].asked
    assert '{"n":2}' in text
    assert found[1].made.calls == []


def test_an_agent_that_was_delegated_to_goes_on_too(tmp_path: Path) -> None:
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [delegated("worker")], "worker": [tool_call("made", n=1), DIES]}},
        {"scripts": {"boss": ["Done."], "worker": ["There are forty."]}},
    )
    assert result.content == "Done."
    assert [len(life.made.calls) for life in found] == [1, 0]
    assert {name: len(model.requests) for name, model in found[1].models.items()} == {"boss": 1, "worker": 1}
    assert "There are forty." in told(found[1].models["boss"].requests[0])
    assert result.usage is not None
    assert result.usage.requests == 4


def test_so_does_one_that_code_delegated_to_before(tmp_path: Path) -> None:
    def more(life: Life) -> Sequence[Agent]:
        @python_agent(description="Asks two others.")
        async def boss(run: RunContext) -> str:
            """Ask."""
            first = await run.delegate(Task(id="x", agent="worker", instruction="one"))
            second = await run.delegate(Task(id="x", agent="worker", instruction="two"))
            return f"{first.content} {second.content}"

        return (boss,)

    found, _ = lives(
        tmp_path,
        {"scripts": {"worker": [tool_call("made"), "One.", tool_call("made"), DIES]}},
        {"scripts": {"worker": ["Two."]}},
        more=more,
    )
    assert found[1].node_result.data == "One. Two."
    assert [len(life.made.calls) for life in found] == [2, 0]
    assert len(found[1].models["worker"].requests) == 1


def test_of_calls_side_by_side_only_those_without_a_result_are_made_again(tmp_path: Path) -> None:
    calls = (tool_call("made", n=1), tool_call("made", n=2))
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [calls, "unheard"]}, "tool": ["one", DIES]},
        {"scripts": {"boss": ["Done."]}, "tool": ["two"]},
    )
    assert found[1].made.calls == [{"n": 2}]
    (request,) = found[1].models["boss"].requests
    assert isinstance(request.turns[-1], ToolResults)
    assert [each.text for each in request.turns[-1].results] == ["one", "two"]
    assert result.content == "Done."


def test_a_conversation_that_was_corrected_goes_on_with_the_correction(tmp_path: Path) -> None:
    found, _ = lives(
        tmp_path,
        {"scripts": {"boss": [{"score": "x"}, DIES]}},
        {"scripts": {"boss": [{"score": 1}]}},
        facts={"skills": (skill("boss", output_schema=GIVES),)},
    )
    assert found[1].node_result.data == {"score": 1}
    (request,) = found[1].models["boss"].requests
    assert request.turns == found[0].models["boss"].requests[1].turns


def test_an_answer_that_was_there_is_taken(tmp_path: Path) -> None:
    def more(life: Life) -> Sequence[Agent]:
        @python_agent(description="Asks another.")
        async def boss(run: RunContext) -> str:
            """Ask."""
            answer = await run.delegate(Task(id="x", agent="worker", instruction="one"))
            if life.scripts["worker"]:
                life.die()
            return answer.content

        return (boss,)

    found, _ = lives(tmp_path, {"scripts": {"worker": ["One."]}}, {"scripts": {"worker": []}}, more=more)
    assert found[1].node_result.data == "One."
    assert found[1].models["worker"].requests == []


def test_a_run_that_was_stopped_goes_on_too_and_its_cost_is_known(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    first = Life(place, {"boss": [tool_call("made"), STOPS]})
    assert first.run().outcome == "canceled"
    second = Life(place, {"boss": ["Done."]})
    result = second.run()
    assert (result.content, second.made.calls) == ("Done.", [])
    assert result.usage is not None
    assert result.usage.requests == 3  # of the one that was stopped nobody knows more than that it was made


def test_a_step_that_failed_begins_anew(tmp_path: Path) -> None:
    place = tmp_path / "journal.db"
    first = Life(place, {"boss": [tool_call("made")]})
    assert first.run().outcome == "error"
    second = Life(place, {"boss": [tool_call("made"), "Done."]})
    assert second.run().content == "Done."
    assert len(second.made.calls) == 1


def test_the_bound_of_a_task_knows_what_was_spent_before(tmp_path: Path) -> None:
    found, _ = lives(
        tmp_path,
        {"scripts": {"boss": [tool_call("made"), DIES]}, "tool": ["word " * 500]},
        {"scripts": {"boss": ["Done."]}},
    )
    notes = [body.notes for body in found[1].bodies(TurnsAdded) if "spent" in body.notes]
    spent = [Usage.model_validate(each["spent"]).requests for each in notes]
    assert spent == [1, 2]


def test_a_key_in_a_conversation_is_not_recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = "sk-proj-" + "Ab3Xy9Qz" * 5
    monkeypatch.setenv("OPENAI_API_KEY", key)
    life = Life(tmp_path / "journal.db", {"boss": [tool_call("made"), "Done."]}, tool=[f"the key is {key}"])
    life.run()
    assert key in told(life.models["boss"].requests[1])
    assert life.bodies(TurnsAdded)
    assert key.encode() not in life.place.read_bytes()


def test_each_turn_is_recorded_once(tmp_path: Path) -> None:
    scripts = {"boss": [*(tool_call("made", n=n) for n in range(20)), "Done."]}
    life = Life(tmp_path / "journal.db", scripts, tool=["x" * 10_000] * 20)
    life.run()
    size = sum(len(str(body.turns)) for body in life.bodies(TurnsAdded))
    assert 20 * 10_000 < size < 20 * 10_500


def test_a_conversation_that_is_too_long_to_record_goes_on_unrecorded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoint, "MAX_RECORDED", 10_000)
    found, result = lives(
        tmp_path,
        {"scripts": {"boss": [*(tool_call("made", n=n) for n in range(5)), DIES]}, "tool": ["x" * 3_000] * 5},
        {"scripts": {"boss": [*(tool_call("made", n=n) for n in range(5)), "Done."]}},
    )
    assert result.content == "Done."
    (warning,) = [body.text for body in found[0].bodies(Message) if body.level == "warning"]
    assert "10,000 characters" in warning
    assert sum(len(str(body.turns)) for body in found[0].bodies(TurnsAdded)) < 10_000
    assert found[1].made.calls


@pytest.mark.parametrize(
    "broken",
    [
        TurnsAdded("c", 2, [{"answered": "after a hole"}]),
        TurnsAdded("c", 1, [{"sung": "no turn"}]),
        TurnsAdded("c", 1, [], {"traces": "no list"}),
    ],
)
def test_a_record_with_a_hole_or_nonsense_in_it_is_not_continued(broken: TurnsAdded) -> None:
    conversation = checkpoint.ConversationCheckpoint()
    assert not conversation.replay([TurnsAdded("c", 0, [{"said": "Hi"}]), broken])
    assert conversation == checkpoint.ConversationCheckpoint()
    assert conversation.replay([TurnsAdded("c", 0, [{"said": "Hi"}])])
