"""Requests and answers that use most of what the contract can say, for every dialect alike."""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Final, cast

from retinue.contract.fault import Fault
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, Model
from retinue.contract.result import Artifact, Attempt, Result, Trace, Usage, Versions, Warned
from retinue.contract.task import Context, Correction, Limits, OutputWish, Question, Task
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.messages import render
from retinue.dialects.port import Kind, RenderedMessage

__all__ = ["ANSWERS", "CORRECTION", "REQUESTS", "SAMPLES", "WHOLE", "Sample", "with_text"]

REQUESTS: Final[Mapping[str, Task]] = {
    "bare": Task(id="t1", agent="ticket_analyzer", skill="story_deep", instruction="Judge the story."),
    "full": Task(
        id="t2",
        agent="ticket_analyzer",
        major=2,
        skill="story_deep",
        instruction="Judge the story.\nSay what is missing.",
        target="STORY-0001.2.3",
        produced_by="model",
        parameters={"focus_areas": ["scenarios", "tasks"], "mode": "pre-work", "depth": 3, "strict": True},
        context=Context(
            what="A story is about to be started.",
            why="Nobody should begin what is not ready.",
            constraints=("verified_sources_only", "max_2_minutes"),
            history=("user: is it ready?", "assistant: I will look."),
            memory="The team works in sprints.",
            inputs={"n1": {"count": 3}},
        ),
        limits=Limits(timeout_s=120.0, tokens=4_000, cost_usd=0.5, retries=2),
        output=OutputWish(transport="json", style="detailed_report", path="reports/001.md"),
        source_agent="orchestrator",
        parent="t1",
        depth=1,
        model="some-model",
        thinking="think",
        idempotency_key="run:n2",
    ),
    "text": Task(
        id="",
        agent="researcher",
        instruction="Look into it.",
        parameters={"focus_areas": "scenarios, tasks"},
        untyped=True,
    ),
}

_FAULT: Final = Fault(
    code="missing_file",
    message="The story `STORY-0001.2.3` has no file.",
    hint="Create the file, or check the branch.",
    suggestions=("Create docs/tickets/STORY-0001.2.3.md.", "Check the name of the branch."),
    operation="story_deep",
    target="STORY-0001.2.3",
    failed_at="reading the story",
)

ANSWERS: Final[Mapping[str, Result]] = {
    "success": Result(
        task_id="t1",
        agent="ticket_analyzer",
        skill="story_deep",
        outcome="success",
        data={"score": 85, "ready": True, "issues": [], "notes": ["All there."]},
        duration_ns=1_250_000_000,
        files_read=("docs/a.md", "docs/b.md"),
    ),
    "text": Result(
        task_id="t1",
        agent="ticket_analyzer",
        outcome="success",
        content="The story is ready.\n\nStart with the parser.",
        traces=(Trace(tool="search", output="3 hits", args={"query": "parser"}, duration_ns=340_000_000),),
        usage=Usage(tokens_in=900, tokens_out=100, model="some-model"),
        duration_ns=2_000_000_000,
    ),
    "files": Result(
        task_id="t1",
        agent="researcher",
        outcome="success",
        content="Both reports are written.",
        artifacts=(
            Artifact(path="/reports/001.md", type="research_report", title="Patterns", summary="Twelve patterns."),
            Artifact(path="/reports/002.md", type="research_report", title="Logging", summary="Eight places."),
        ),
        files_written=("/reports/001.md", "/reports/002.md"),
    ),
    "partial": Result(
        task_id="t1",
        agent="ticket_analyzer",
        skill="story_deep",
        outcome="partial",
        data={"story": {"completeness": 85}, "tasks": []},
        warnings=(
            Warned(
                type="missing_data",
                message="Four tasks have no file.",
                impact="Whether the tasks fit cannot be said.",
                recovery="Create TASK-0001.2.3.1.md to TASK-0001.2.3.4.md.",
            ),
        ),
        completeness=75,
        confidence=0.5,
        duration_ns=1_000_000_000,
    ),
    "error": Result(
        task_id="t1",
        agent="ticket_analyzer",
        skill="story_deep",
        outcome="error",
        data={"read": 2},
        fault=_FAULT,
        duration_ns=500_000_000,
    ),
    "failed": Result(
        task_id="t1",
        agent="ticket_analyzer",
        skill="story_deep",
        outcome="failed",
        fault=Fault(code="timeout", message="It took more than 5 minutes.", hint="Reduce the scope.", retryable=True),
        attempts=(
            Attempt(number=1, duration_ns=1_000_000, fault=Fault(code="timeout", message="It took too long.")),
            Attempt(number=2, duration_ns=2_000_000, fault=Fault(code="timeout", message="It took too long.")),
        ),
        retries=1,
    ),
    "canceled": Result(
        task_id="t1",
        agent="researcher",
        outcome="canceled",
        fault=Fault(code="canceled", message="Somebody stopped it."),
    ),
    "asking": Result(
        task_id="t1",
        agent="researcher",
        lifecycle="input_required",
        questions=(Question(id="q1", text="Which branch is meant?"),),
    ),
    "working": Result(task_id="t1", agent="researcher", lifecycle="working"),
}

WHOLE: Final = Result(
    task_id="t1",
    agent="ticket_analyzer",
    skill="story_deep",
    versions=Versions(agent="2.1.0", contract="1.0"),
    outcome="partial",
    data={"score": 85},
    content="The story is nearly ready.",
    artifacts=(
        Artifact(
            path="/reports/001.md", type="report", title="Story", topic="Stories", status="done", summary="Nearly."
        ),
    ),
    warnings=(Warned(type="missing_data", message="A task has no file.", impact="Less is known.", recovery="Add it."),),
    fault=_FAULT,
    traces=(Trace(tool="search", output="3 hits", args={"query": "parser"}, duration_ns=340_000_000),),
    usage=Usage(tokens_in=900, tokens_out=100, requests=1, model="some-model"),
    duration_ns=1_250_000_000,
    attempts=(Attempt(number=1, duration_ns=1_000_000), Attempt(number=2, duration_ns=2_000_000)),
    retries=1,
    confidence=0.5,
    completeness=75,
    files_read=("docs/a.md",),
    files_written=("/reports/001.md",),
    questions=(Question(id="q1", text="Which branch is meant?"),),
    reasoning="The tasks come first.",
    native="{}",
)
"""An answer that says something of everything."""

CORRECTION: Final = Correction(
    message="`sources` names one that is not there.",
    hint="Use one of web, docs, memory and code.",
    findings=({"rule": "schema/enum", "path": "/sources/0", "message": "It is not one of the four."},),
    retry_count=1,
    max_retries=2,
)


@dataclass(frozen=True)
class Sample:
    """One of the requests or answers, in one form of one dialect."""

    dialect: DialectName
    kind: Kind
    title: str
    form: str

    @property
    def noun(self) -> Task | Result:
        """What it says."""
        return REQUESTS[self.title] if self.kind == "task" else ANSWERS[self.title]

    @cached_property
    def rendered(self) -> RenderedMessage:
        """The message."""
        return render(dialect(self.dialect), self.kind, self.noun, form=self.form)

    @property
    def is_json(self) -> bool:
        """Whether the message is one JSON object."""
        return self.rendered.text.lstrip().startswith("{")

    def __str__(self) -> str:
        return f"{self.dialect} {self.kind} {self.title} {self.form}"


def _samples() -> Iterator[Sample]:
    for name in DIALECTS:
        speaks = dialect(name)
        for title, form in product(REQUESTS, speaks.TASK_FORMS):
            yield Sample(name, "task", title, form)
        for title, form in product(ANSWERS, speaks.RESULT_FORMS):
            yield Sample(name, "result", title, form)


SAMPLES: Final = tuple(_samples())


def with_text(noun: Model, text: str) -> Iterator[tuple[str, Model]]:
    """`noun` once for each of its texts, that one replaced by `text`; those that then break the contract left out."""
    whole = noun.model_dump(mode="json", by_alias=True)
    for path, set_there in _texts(whole, ()):
        before = set_there(text)
        try:
            yield pointer(path), type(noun).model_validate_json(json.dumps(whole))
        except ValueError:
            pass
        finally:
            set_there(before)


def _texts(value: object, path: tuple[str | int, ...]) -> Iterator[tuple[tuple[str | int, ...], Callable[[str], str]]]:
    """Where texts stand in JSON data, and how each is replaced."""
    holder = cast("Any", value)
    keys: list[Any] = list(holder) if isinstance(value, dict) else []
    if isinstance(value, list):
        keys = list(range(len(holder)))
    for key in keys:
        if isinstance(holder[key], str):

            def set_there(text: str, key: Any = key) -> str:
                before: str = holder[key]
                holder[key] = text
                return before

            yield (*path, key), set_there
        else:
            yield from _texts(holder[key], (*path, key))
