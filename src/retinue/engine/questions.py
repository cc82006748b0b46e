"""What counts as an answer to a question, and what comes of it. Who is asked is the business of the engine."""

from retinue.contract.question import Answer, Question
from retinue.contract.result import Result
from retinue.errors import InvalidInput

__all__ = ["check_answer", "policy_answer", "result_of"]


def check_answer(question: Question, answer: Answer) -> None:
    """Refuse an answer that does not fit its question.

    Raises:
        InvalidInput: Another question's answer, not one of the options, or to an approval not a yes or no.
    """
    if answer.question_id != question.id:
        raise InvalidInput(
            f"The question is `{question.id}`, the answer is to {answer.question_id!r}.", path="/question_id"
        )
    if question.kind == "approval" and not isinstance(answer.value, bool):
        raise InvalidInput(
            f"An approval is a yes or no, not {str(answer.value)[:80]!r}.", hint="Answer true or false.", path="/value"
        )
    if question.kind == "choice" and question.options and answer.value not in question.options:
        raise InvalidInput(
            f"{str(answer.value)[:80]!r} is not one of the options.",
            hint=f"Choose one of {', '.join(map(repr, question.options))}.",
            suggestions=question.options,
            path="/value",
        )


def policy_answer(question: Question) -> Answer:
    """What counts as said when nobody is there: an approval is denied, anything else stays open."""
    return Answer(question_id=question.id, value=False if question.kind == "approval" else None, by="policy")


def result_of(task_id: str, question: Question, answer: Answer | None) -> Result:
    """The result that delivers an answer; None when nobody was there."""
    agent = question.agent or "person"
    if answer is None:
        return Result(task_id=task_id, agent=agent, outcome="rejected", data=policy_answer(question).value)
    return Result(task_id=task_id, agent=agent, outcome="success", data=answer.value)
