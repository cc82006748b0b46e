"""The agent itself: takes subjects, answers with a plan, which the orchestrator runs."""

from typing import Annotated, Final, Literal

from pydantic import BaseModel, Field

import retinue
from retinue.agents.port import Reply
from retinue.catalogue._prose import first_of, one_line, phrases
from retinue.contract.definition import Sample
from retinue.contract.fault import Fault
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Warned
from retinue.contract.table import Chart, Table
from retinue.errors import InvalidInput
from retinue.orchestration.supervise import supervise

_WORKER: Final = "researcher_analyst"
_SKILL: Final = "research"
_MOST: Final = 12
"""Most subjects that are looked up: a longer answer would not be read."""

_QUORUM: Final = 0.5
_MAX_SHOWN: Final = 80
_MAX_QUESTION: Final = 1000

Subjects = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=300)]],
    Field(
        min_length=1, max_length=500, description="What to look up, one name each: endpoints, files, functions, terms."
    ),
]
QuestionText = Annotated[str, Field(max_length=2000, description="What is asked about each of them, in plain words.")]
Sources = Annotated[
    tuple[Literal["docs", "memory", "code"], ...],
    Field(
        min_length=1,
        json_schema_extra={"uniqueItems": True},
        description="Where to look: documents, the project's memory files, or code.",
    ),
]

_PASSAGE: Final = "Every request to /orders is answered within 200 ms."
_PLACE: Final = "docs/limits.md:7"
_WORKED: Final[JsonMapping] = {"node": "n2/001_orders", "agent": _WORKER}
_COLUMNS: Final = {"subject": "text", "found": "text", "first sentence": "text", "source": "source"}
_ANSWER: Final[JsonMapping] = {
    "answer": "1 of 2 parts are answered.",
    "subjects": ["/orders", "/users"],
    "notes": ["/users: Nothing was found."],
    "findings": [{**_WORKED, "topic": "Limits", "content": _PASSAGE, "source": _PLACE, "confidence": 0.9}],
    "parts": [{**_WORKED, "title": "/orders", "outcome": "success", "text": _PASSAGE, "sources": [_PLACE]}],
    "failures": [{"node": "n2/002_users", "title": "/users", "message": "Nothing was found."}],
    "tables": [
        {
            "title": "compare them with what the docs promise",
            "columns": [{"name": name, "kind": kind} for name, kind in _COLUMNS.items()],
            "rows": [["/orders", "yes", _PASSAGE, _PLACE], ["/users", "no", "Nothing was found.", None]],
        }
    ],
}


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


_EXAMPLES: Final = phrases("""
    compare them with what the docs say; what do the docs say for each of them; what does the code say about each of
    these; check each of them against the docs; find out for each of these what it is for; are they all documented;
    which of these are described in the docs; tell me what the project says about each one; check whether each is
    documented; say for each what the docs promise
""")


@retinue.agent(
    name="research_supervisor",
    version="1.1",
    category="research",
    aliases=("supervisor",),
    tags=("research", "supervisor", "parallel", "documentation"),
    tier="small",
    composes=True,
)
class ResearchSupervisor:
    """Has several subjects looked up at once, each by a researcher of its own, and puts what was found side by side.

    Use it when the same question is asked about each of several things, such as the endpoints, files or names that an
    earlier result lists. Returns a section and a table row for each subject, with sources.
    """

    @retinue.skill(
        output=SupervisedResearch,
        instruction_field="question",
        effects=("read",),
        timeout_s=1800,
        thinks="by_others",
        examples=_EXAMPLES,
        samples=(
            Sample(
                title="Three endpoints against the documents",
                parameters={
                    "subjects": ["/orders", "/users"],
                    "question": "compare them with what the docs promise",
                    "sources": ["docs"],
                },
                answer=_ANSWER,
            ),
        ),
    )
    async def research_each(
        self, subjects: Subjects, question: QuestionText = "", sources: Sources = ("docs", "code")
    ) -> Reply:
        """Looks each of several subjects up in the project's documents and code, and compares what is said about them.

        Use it for a question about each of the things that were found before, or that are named. Returns one part for
        each subject, a table of what was found, and what was not.
        """
        names_by_key: dict[str, str] = {}
        for text in subjects:
            if one := one_line(text):
                names_by_key.setdefault(one.casefold(), one)
        names = list(names_by_key.values())
        if not names:
            hint = "Say what should be looked up."
            error = InvalidInput("None of the subjects has a name.", hint=hint, path="/parameters/subjects")
            return Reply(outcome="error", fault=Fault.from_error(error))
        chosen, left_out = names[:_MOST], names[_MOST:]
        instruction = one_line(question, limit=_MAX_QUESTION) or "what is said about"
        plan = supervise(
            chosen,
            agent=_WORKER,
            skill=_SKILL,
            instruction=f"{instruction} `{{topic}}`",
            parameters={"sources": sources, "depth": "quick_scan"},
            quorum=_QUORUM,
            goal=question or "What is said about each",
        )
        others = first_of([repr(one_line(one, limit=_MAX_SHOWN)) for one in left_out], _MOST)
        omission = Warned(
            type="missing_data",
            message=f"At most {_MOST} subjects are looked up; left out: {others}.",
            impact="Nothing is said about these.",
            recovery="Ask about them by themselves.",
        )
        return Reply(plan=plan, warnings=(omission,) if left_out else ())
