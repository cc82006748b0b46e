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
from retinue.dialects.losses import Losses

from .lines import one_line

_QUESTIONS: Final = "**Questions**:"
_ANSWER: Final = "**Answer**:"
_QUESTION: Final = re.compile(r"- \[([^\[\]]{1,200})\] (.*)")
_UNNAMED: Final = re.compile(r"- (.*)")
_OPTION: Final = re.compile(r"[ ]{2,}- (.*)")
_WHYS: Final = {
    "id": "on one line there, without brackets",
    "text": "on one line there",
    "kind": "its options decide that there",
    "options": "each on one line there",
}


def read_body(body: str, *, allow_questions: bool = True) -> tuple[str, tuple[Question, ...] | None]:
    """The text of the body and its questions; None when it asks nothing, or `allow_questions` is false."""
    questions: tuple[Question, ...] | None = None
    if allow_questions and _line(body, 0)[0].rstrip() == _QUESTIONS:
        questions, end = _read_questions(body, _line(body, 0)[1])
        body = body[end:]
    first, end = _line(body, 0)
    return (body[end:] if first == _ANSWER else body), questions


def write_body(content: str, questions: Sequence[Question] | None, losses: Losses) -> str:
    """The body that says this, so that `read_body` gives it back."""
    first = _line(content, 0)[0]
    text = f"{_ANSWER}\n{content}" if first == _ANSWER or first.rstrip() == _QUESTIONS else content
    if questions is None:
        return text
    lines = [_QUESTIONS]
    for at, question in enumerate(questions):
        lines += _question_lines(question, f"/questions/{at}", losses)
    section = "\n".join(lines)
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


def _question_lines(question: Question, path: str, losses: Losses) -> list[str]:
    """The lines of one question. Read back at once: what does not come back like that is a loss."""
    short = one_line(question.id.replace("[", "(").replace("]", ")"))[:200].rstrip() or "question"
    options = [one_line(option) for option in question.options]
    lines = [f"- [{short}] {one_line(question.text)}", *(f"  - {option}" for option in options)]
    read = _question(short, one_line(question.text), options)
    for name, why in _WHYS.items():
        if getattr(read, name) != getattr(question, name):
            losses.add(f"{path}/{name}", why)
    losses.add_fields(question, "agent", "skill", "parameter", "answer_schema", path=path)
    return lines


def _line(text: str, start: int) -> tuple[str, int]:
    end = text.find("\n", start)
    end = len(text) if end < 0 else end
    return text[start:end].removesuffix("\r"), min(end + 1, len(text))
