"""What the skills take and give, as types."""

from typing import Annotated, Literal

from pydantic import Field

from retinue.catalogue._report import ReportData
from retinue.catalogue.tickets import RubricName
from retinue.contract.model import Completeness, Count, Many, Model
from retinue.contract.task import Question

MAX_ANSWER = 10_000  # characters (K20)


class InterviewRequest(Model):
    """Which ticket is to be asked about, and what was said so far."""

    topic: str = Field(default="", max_length=2000, description="What it is about, to remind the person of it.")
    target: str = Field(
        max_length=400,
        description="The ticket that it becomes part of, as EPIC-0001.2 for a story; or the id that it is to have.",
    )
    answers: dict[str, Annotated[str, Field(max_length=MAX_ANSWER)]] = Field(
        default_factory=dict[str, str], json_schema_extra={"default": {}}, max_length=100,
        description="Answers by the ids of questions, as `next_questions` has them; `skip` and `stop` are answers too.",
    )  # fmt: skip
    state: str = Field(default="", max_length=262_144, description="The `state` of an earlier result, to go on there.")
    write: bool = Field(default=False, description="Whether to write the ticket into its file; else the result has it.")


class InitiativeRequest(InterviewRequest):
    """An initiative, which is part of nothing."""

    target: str = Field(
        max_length=400, json_schema_extra={"default": ""},
        description="The id that it is to have, as INIT-0002; empty for the next one.",
    )  # fmt: skip


class AnswerEntry(Model):
    """What was said to a question, word for word, and why it is vague, or cannot be taken at all."""

    question: Annotated[str, Field(max_length=60)]
    text: Annotated[str, Field(max_length=MAX_ANSWER)]
    fault: Literal["", "vague", "wrong"] = ""
    why: Annotated[str, Field(max_length=500)] = ""


class CapturedScenario(Model):
    """A Gherkin scenario: its steps as they were said, keyword first."""

    name: str
    steps: tuple[str, ...]


class CapturedAnswers(Model):
    """What the person said, by what it is for; nothing where they said that there is nothing."""

    core: dict[str, str]  # by the id of the question; a list has one entry a line
    technical_design: dict[str, str]
    acceptance_criteria: Many[str] = ()
    bdd_scenarios: Many[CapturedScenario] = ()
    children: Many[str] = ()
    dependencies: Many[str] = ()
    risks: Many[str] = ()


class MissingAnswer(Model):
    """A criterion that is not met, and a question whose answer it wants for that."""

    criterion: str
    description: str
    question: str
    reason: str


class InterviewCompleteness(Model):
    """How many criteria of the rubric are met."""

    met: Count
    total: Count
    percent: Completeness
    target: Completeness
    target_met: bool
    missing: tuple[MissingAnswer, ...]


class TicketDraft(Model):
    """The ticket as a file, written or not."""

    path: str
    text: str
    is_written: bool


class InterviewResult(ReportData):
    """What came of an interview, whether it is over or not."""

    ticket_id: str  # that it has, or would have today
    rubric: RubricName
    captured: CapturedAnswers
    quotes: tuple[AnswerEntry, ...]
    completeness: InterviewCompleteness
    next_questions: tuple[Question, ...]  # the first is the one that waits
    ticket: TicketDraft
    state: str = ""  # given back, the interview goes on here; left out when the ticket was written
