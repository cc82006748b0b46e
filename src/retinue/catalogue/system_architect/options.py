"""`options`: a model proposes ways to mend what the figures show; each reason is held against them (G21).

The figures come first and stay whatever the model says. What it would change and what that risks is its judgement and
told as such; a reason whose figures, names or places do not stand in what it cites takes its option with it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.agents.port import Reply, RunContext
from retinue.agents.prompted.fence import RULE, fenced
from retinue.catalogue._choosing import model_for
from retinue.catalogue._prose import Prose, code, one_line, quote
from retinue.contract.definition import Definition
from retinue.contract.event import Decision, Progress
from retinue.contract.model import JsonMapping
from retinue.contract.result import Usage, Warned
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape
from retinue.orchestration.citing import Piece, objection
from retinue.orchestration.thinker import Thinker

__all__ = ["with_options"]

_MOST: Final = 120
_LONGEST: Final = 600
_FEWEST, _MANY = 2, 4

_INSTRUCTIONS: Final = """\
You advise on the architecture of a project, from figures that were counted in its source, and answer with one JSON
object only: `options`, the one you would take first.
- `change` says what would be done, in one or two sentences. `risk` says what it costs or may break.
- `why` says what in the figures speaks for it, and `cites` names the ids of the figures it rests on, without brackets.
  Figures and names in `why` stand in what it cites as you write them: copy, do not compute.
- Options differ in what they change, not in how it is worded.
"""


@dataclass(frozen=True, slots=True)
class _Weighed:
    """What is left of what a model proposed.

    Attributes:
        dropped: Titles, each with why its reason does not hold.
        refused: Why there is nothing, when the model gave nothing.
    """

    kept: tuple[JsonMapping, ...] = ()
    dropped: tuple[tuple[str, str], ...] = ()
    model: str = ""
    refused: str = ""
    usage: Usage | None = None


async def with_options(
    facts: Reply, models: Models, *, question: str, definition: Definition, task: Task, run: RunContext
) -> Reply:
    """The reply `facts` with options in front; without any that hold, with why."""
    if facts.fault is not None:
        cast("JsonMapping", facts.data)["options"] = []
        return facts
    pieces = tuple(_pieces(cast("JsonMapping", facts.data)))
    weighed = await _weighed(pieces, models, question=question, definition=definition, task=task, run=run)
    return _told(facts, weighed, pieces)


def _pieces(data: JsonMapping) -> Iterator[Piece]:
    """What may be cited: the sentences of the facts, then the rows of their tables."""
    said = [(str(one["content"]), str(one["source"])) for one in cast("list[JsonMapping]", data["findings"])]
    for table in cast("list[JsonMapping]", data["tables"]):
        names = [str(column["name"]) for column in cast("list[JsonMapping]", table["columns"])]
        for row in cast("list[list[object]]", table["rows"]):
            cells = dict(zip(names, row, strict=True))
            place = str(cells.get("place") or cells.get("file") or "")
            told = "; ".join(f"{name}: {cell}" for name, cell in cells.items() if cell is not None)
            said.append((f"{table['title']}: {told}", place))
    for number, (text, source) in enumerate(said[:_MOST], 1):
        yield Piece(f"f{number}", "system_architect", one_line(text, longest=_LONGEST), one_line(source))


async def _weighed(
    pieces: tuple[Piece, ...], models: Models, *, question: str, definition: Definition, task: Task, run: RunContext
) -> _Weighed:
    try:
        chosen = model_for(task, models, definition)
        model = models.get(chosen.name)
    except RetinueError as error:
        return _Weighed(refused=error.message)
    run.emit(Decision("model", f"`{chosen.name}` is asked for options: {chosen.why}."))
    run.emit(Progress("weighing options", chosen.name))
    known = {piece.id: piece for piece in pieces}

    def judge(data: JsonMapping) -> list[str]:
        """Sent back only when no option at all rests on the figures."""
        wrong = [(one, _objection(one, known)) for one in cast("list[JsonMapping]", data["options"])]
        found = [f"The `why` of {str(one['title'])[:80]!r}: {why}" for one, why in wrong if why]
        return found if len(found) == len(wrong) else []

    thinker = Thinker(model, run.purse, run.deadline_ns, task.thinking, run.now)
    thought = await thinker.ask(
        f"{_INSTRUCTIONS}\n{RULE}", _asked(question, pieces), _shape(), judge=judge, max_tokens=3_000
    )
    if thought.data is None:
        return _Weighed(model=thought.model, refused=thought.refused, usage=thought.usage)
    options = cast("list[JsonMapping]", thought.data["options"])
    judged = [(one, _objection(one, known)) for one in options]
    return _Weighed(
        kept=tuple(_option(one, known) for one, why in judged if not why),
        dropped=tuple((one_line(str(one["title"])), why) for one, why in judged if why),
        model=thought.model,
        usage=thought.usage,
    )


def _objection(option: JsonMapping, known: dict[str, Piece]) -> str:
    return objection(str(option["why"]), cast("list[str]", option["cites"]), known)


def _option(option: JsonMapping, known: dict[str, Piece]) -> JsonMapping:
    cited = [known[cite] for cite in dict.fromkeys(cast("list[str]", option["cites"]))]
    words = {name: one_line(str(option[name]), longest=_LONGEST) for name in ("title", "change", "why", "risk")}
    return {**words, "places": list(dict.fromkeys(piece.source for piece in cited if piece.source))}


def _asked(question: str, pieces: tuple[Piece, ...]) -> str:
    question = printable(question) or "How should it be restructured?"
    listed = "\n".join(f"[{piece.id}] {piece.text}{f' ({piece.source})' if piece.source else ''}" for piece in pieces)
    return f"The question:\n{question}\n\nThe figures:\n{fenced(listed, 'the source of the project')}"


def _told(facts: Reply, weighed: _Weighed, pieces: tuple[Piece, ...]) -> Reply:
    """The facts with what holds of the options in front, and what does not said."""
    data = dict(cast("JsonMapping", facts.data))
    data["options"] = list(weighed.kept)
    data["dropped"] = [{"title": title, "reason": why} for title, why in weighed.dropped]
    data |= {"model": weighed.model} if weighed.model else {}
    warnings = list(facts.warnings)
    lines = [line for number, option in enumerate(weighed.kept, 1) for line in _lines(number, option)]
    if not weighed.kept:
        reason = weighed.refused or f"none of what it proposed rests on the {len(pieces)} figures"
        message = f"There are no options: {one_line(reason)}"
        recovery = "Decide by the figures, or ask again."
        warnings.append(Warned(type="degraded_analysis", message=message, recovery=recovery))
        lines = [Prose("There are no options: {}", (quote(reason),))]
    dropped = [Prose("{} was left out: {}.", (quote(title), quote(why.rstrip(".")))) for title, why in weighed.dropped]
    by = [Prose("{} proposed this; what speaks for it was held against the figures.", (code(weighed.model),))]
    notes = [*(by if weighed.kept else []), *dropped]
    data["answer"] = "\n".join([*(line.plain() for line in lines), str(data["answer"])])
    data["notes"] = [*(note.plain() for note in notes), *cast("list[str]", data["notes"])]
    blocks = [*(line.markdown() for line in lines), *(note.markdown() for note in notes), facts.content]
    facts.data, facts.warnings, facts.usage = data, tuple(warnings), weighed.usage
    facts.content = "\n\n".join(filter(None, blocks))
    facts.outcome = "partial" if warnings else facts.outcome
    return facts


def _lines(number: int, option: JsonMapping) -> Iterator[Prose]:
    places = tuple(code(place) for place in cast("list[str]", option["places"]))
    where = f" ({', '.join(['{}'] * len(places))})" if places else ""
    yield Prose(f"Option {number}, {{}}: {{}}", (quote(option["title"]), quote(option["change"], longest=_LONGEST)))
    yield Prose(f"It rests on this: {{}}{where}", (quote(option["why"], longest=_LONGEST), *places))
    yield Prose("Its risk: {}", (quote(option["risk"], longest=_LONGEST),))


def _shape() -> AnswerShape:
    text: dict[str, Any] = {"type": "string", "minLength": 1, "maxLength": _LONGEST}
    option = {
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "change", "why", "risk", "cites"],
        "properties": {
            "title": {"type": "string", "minLength": 1, "maxLength": 120},
            "change": text,
            "why": text,
            "risk": text,
            "cites": {"type": "array", "minItems": 1, "maxItems": 12, "items": {"type": "string", "maxLength": 20}},
        },
    }
    schema = {
        "type": "object",
        "additionalProperties": False,
        "required": ["options"],
        "properties": {"options": {"type": "array", "minItems": _FEWEST, "maxItems": _MANY, "items": option}},
    }
    return AnswerShape(schema, name="options", description="Ways to mend what the figures show.")
