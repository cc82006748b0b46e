"""A question to a person, and the answer."""

from typing import Any, Literal

from retinue.contract.model import JsonMapping, Model

__all__ = ["Answer", "Question"]


class Question(Model):
    """Something only a person can say.

    Attributes:
        kind: `approval` is a yes or no, and no when nobody is there; `choice` takes one of `options`.
        parameter: The parameter that the answer fills, when it fills one (C45).
        answer_schema: A JSON Schema for the answer.
    """

    id: str
    text: str
    kind: Literal["question", "approval", "choice"] = "question"
    options: tuple[str, ...] = ()
    agent: str | None = None
    skill: str | None = None
    parameter: str | None = None
    answer_schema: JsonMapping | None = None


class Answer(Model):
    """What was said to a question, and by whom: a person, or the policy because nobody was there."""

    question_id: str
    value: Any = None
    by: Literal["person", "policy"] = "person"
