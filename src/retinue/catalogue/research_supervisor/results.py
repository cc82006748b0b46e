"""What the skill gives, as types: the form in which `orchestration/reduce` puts the workers' answers together."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from retinue.contract.model import JsonMapping, Model
from retinue.contract.table import Chart, Table


class SubjectStatement(BaseModel):
    """One sentence that a worker found, with its source."""

    topic: str = ""
    content: str
    source: str = ""
    node: str = ""
    agent: str = ""
    confidence: float | None = None


class SubjectPart(Model):
    """What one worker brought."""

    node: str
    title: str
    agent: str
    skill: str = ""
    outcome: Literal["success", "partial"]
    text: str
    sources: tuple[str, ...]


class SubjectFailure(BaseModel):
    """Why one worker brought nothing."""

    node: str
    title: str = ""
    code: str = ""
    message: str
    hint: str = ""


class SupervisedResearch(Model):
    """What was found about each subject, side by side."""

    answer: str = Field(description="How many of the subjects were found.")
    findings: tuple[SubjectStatement, ...] = ()
    notes: tuple[str, ...] = Field(default=(), description="Why nothing is said about a subject.")
    subjects: Annotated[tuple[str, ...], Field(max_length=50)]
    parts: tuple[SubjectPart, ...] = Field(default=(), description="What was found about each subject.")
    failures: tuple[SubjectFailure, ...] = ()
    not_answered: tuple[JsonMapping, ...] = ()
    metadata: tuple[JsonMapping, ...] = ()
    tables: tuple[Table, ...] = Field(description="One row a subject, found or not.")
    charts: tuple[Chart, ...] = ()
    summary: JsonMapping | None = Field(
        default=None, description="What a model wrote of the parts, each sentence held against what it cites."
    )
