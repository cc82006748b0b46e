"""The body of an answer: its text, and before it the questions of an agent that cannot go on (features, words of 002).

    **Questions**:
    - [period] Which period is meant?
      - Q1
      - Q2

Text that begins like such a list, and is none, stands below a line `**Answer**:`.
"""

import re
from collections.abc import Sequence
from typing import Final

from retinue.contract.task import Question

from .lines import one_line

_QUESTIONS: Final = "**Questions**:"
_ANSWER: Final = "**Answer**:"
_QUESTION: Final = re.compile(r"- \[([^\[\]]{1,200})\] (.*)")
_UNNAMED: Final = re.compile(r"- (.*)")
_OPTION: Final = re.compile(r"[ ]{2,}- (.*)")


def read_body(body: str, *, allow_questions: bool = True) -> tuple[str, tuple[Question, ...] | None]:
    """The text of the body and its questions; None when it asks nothing, or `allow_questions` is false."""
    questions: tuple[Question, ...] | None = None
    if allow_questions and _line(body, 0)[0].rstrip() == _QUESTIONS:
        questions, end = _read_questions(body, _line(body, 0)[1])
        body = body[end:]
    first, end = _line(body, 0)
    return (body[end:] if first == _ANSWER else body), questions


def write_body(content: str, questions: Sequence[Question] | None) -> str:
    """The body that says this, so that `read_body` gives it back."""
    first = _line(content, 0)[0]
    text = f"{_ANSWER}\n{content}" if first == _ANSWER or first.rstrip() == _QUESTIONS else content
    if questions is None:
        return text
    section = "\n".join([_QUESTIONS, *(line for question in questions for line in _question_lines(question))])
    return f"{section}\n\n{text}" if text else section


def _read_questions(body: str, start: int) -> tuple[tuple[Question, ...], int]:
    """The questions from there on, and where the text behind them begins."""
    parts: list[tuple[str, str, list[str]]] = []
    while start < len(body):
        line, end = _line(body, start)
        option = _OPTION.fullmatch(line) if parts else None
        named_match = _QUESTION.fullmatch(line)
        unnamed_match = None if named_match else _UNNAMED.fullmatch(line)
        if option:
            parts[-1][2].append(option[1].strip())
        elif named_match:
            parts.append((named_match[1], named_match[2].strip(), []))
        elif unnamed_match:
            parts.append((f"q{len(parts) + 1}", unnamed_match[1].strip(), []))
        else:
            start = end if not line.strip() else start
            break
        start = end
    return tuple(_question(*one) for one in parts), min(start, len(body))


def _question(name: str, text: str, options: Sequence[str]) -> Question:
    return Question(id=name, text=text, kind="choice" if options else "question", options=tuple(options))


def _question_lines(question: Question) -> list[str]:
    short = one_line(question.id.replace("[", "(").replace("]", ")"))[:200].rstrip() or "question"
    return [f"- [{short}] {one_line(question.text)}", *(f"  - {one_line(option)}" for option in question.options)]


def _line(text: str, start: int) -> tuple[str, int]:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].removesuffix("\r"), min(end + 1, len(text))
