"""`options`: a model proposes ways to improve what the figures show; each reason is checked against them (G21).

The figures come first and stay whatever the model says. What it would change and what that risks is its judgement and
told as such; a reason whose figures, names or places do not stand in what it cites takes its option with it.
"""

from collections.abc import Mapping, Sequence
from typing import Annotated, Final, TypeAlias, cast

from pydantic import Field

from retinue.agents.port import Reply, RunContext
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import code, markdown, one_line, plain_text, quote
from retinue.catalogue._report import SkillReport
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.model import JsonMapping, Many, Model
from retinue.contract.result import Usage
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.errors import RetinueError
from retinue.llm.models import Models
from retinue.orchestration.cited_summary import EvidencePiece, claim_error

_MOST: Final = 120
_LONGEST: Final = 600

_Text: TypeAlias = Annotated[str, Field(min_length=1, max_length=_LONGEST)]

_INSTRUCTIONS: Final = """\
You advise on the architecture of a project, from figures that were counted in its source, and answer with one JSON
object only: `options`, the one you would take first.
- `change` says what would be done, in one or two sentences. `risk` says what it costs or may break.
- `why` says what in the figures speaks for it, and `cites` names the ids of the figures it rests on, without brackets.
  Figures and names in `why` stand in what it cites as you write them: copy, do not compute.
- Options differ in what they change, not in how it is worded.
"""


class ProposedOption(Model):
    """One way that a model proposes, and which figures it rests on."""

    title: Annotated[str, Field(min_length=1, max_length=120)]
    change: _Text
    why: _Text
    risk: _Text
    cites: Annotated[Many[Annotated[str, Field(max_length=20)]], Field(min_length=1, max_length=12)]

    def row(self, pieces_by_id: Mapping[str, EvidencePiece]) -> JsonMapping:
        """Its text as data, with the places that it rests on."""
        pieces = [pieces_by_id[cite] for cite in dict.fromkeys(self.cites)]
        words = {name: one_line(getattr(self, name), limit=_LONGEST) for name in ("title", "change", "why", "risk")}
        return {**words, "places": list(dict.fromkeys(piece.source for piece in pieces if piece.source))}


class ProposedOptions(Model):
    """What a model answers with."""

    options: Annotated[Many[ProposedOption], Field(min_length=2, max_length=4)]


async def with_options(
    report: SkillReport, models: Models, question: str, *, definition: Definition, task: Task, run: RunContext
) -> Reply:
    """The reply of `report` with options in front; without any that hold, with why."""
    report.figures["options"] = []
    if report.unanswered is not None:
        return report.reply()
    try:
        thinker = structured_model_for(task, models, definition, run, purpose="for options")
    except RetinueError as error:
        return _without_options(report, error.message)
    run.emit(Progress("weighing options", thinker.model.name))
    # What may be cited: the sentences of the facts, then the rows of their tables.
    texts = [(plain_text(one.sentence), one.source) for one in report.statements if one.source]
    for table in report.tables:
        for row in table.rows:
            cells = {column.name: cell for column, cell in zip(table.columns, row, strict=True) if cell is not None}
            text = "; ".join(f"{name}: {cell}" for name, cell in cells.items())
            texts.append((f"{table.title}: {text}", str(cells.get("place") or cells.get("file") or "")))
    pieces_by_id = {
        f"f{at}": EvidencePiece(f"f{at}", "system_architect", one_line(text, limit=_LONGEST), one_line(source))
        for at, (text, source) in enumerate(texts[:_MOST], 1)
    }

    def check_options(answer: ProposedOptions) -> list[tuple[ProposedOption, str]]:
        return [(one, claim_error(one.why, one.cites, pieces_by_id)) for one in answer.options]

    def judge(answer: ProposedOptions) -> list[str]:
        """Sent back only when no option at all rests on the figures."""
        wrong = [f"The `why` of {one.title!r}: {why}" for one, why in check_options(answer) if why]
        return wrong if len(wrong) == len(check_options(answer)) else []

    about = "Ways to improve what the figures show."
    question = printable(question) or "How should it be restructured?"
    pieces = pieces_by_id.values()
    lines = "\n".join(f"[{one.id}] {one.text}{f' ({one.source})' if one.source else ''}" for one in pieces)
    figures = as_data_block(lines, "the source of the project")
    prompt = f"The question:\n{question}\n\nThe figures:\n{figures}"
    proposal = await thinker.ask(
        f"{_INSTRUCTIONS}\n{RULE}", prompt, ProposedOptions, "options", description=about, check=judge, max_tokens=3_000
    )
    report.figures |= {"model": proposal.model} if proposal.model else {}
    if proposal.value is None:
        return _without_options(report, proposal.refusal, usage=proposal.usage)
    verdicts = check_options(proposal.value)
    options = report.figures["options"] = [one.row(pieces_by_id) for one, why in verdicts if not why]
    dropped = report.figures["dropped"] = [
        {"title": one_line(one.title), "reason": why} for one, why in verdicts if why
    ]
    notes = [f"{quote(one['title'])} was left out: {quote(one['reason'].rstrip('.'))}." for one in dropped]
    if not options:
        reason = f"none of what it proposed rests on the {len(pieces_by_id)} figures"
        return _without_options(report, reason, notes, usage=proposal.usage)
    by = f"{code(proposal.model)} proposed this; its reasons were checked against the figures."
    statements: list[str] = []
    for number, option in enumerate(options, 1):
        places = [code(place) for place in option["places"]]
        where = f" ({', '.join(places)})" if places else ""
        title, change, why, risk = (quote(option[key], limit=_LONGEST) for key in ("title", "change", "why", "risk"))
        statements += [
            f"Option {number}, {title}: {change}",
            f"It rests on this: {why}{where}",
            f"Its risk: {risk}",
        ]
    return _in_front(report, statements, [by, *notes], usage=proposal.usage)


def _without_options(
    report: SkillReport, reason: str, notes: Sequence[str] = (), *, usage: Usage | None = None
) -> Reply:
    """The facts, and why there are no options."""
    recovery = "Decide by the figures, or ask again."
    report.warn("degraded_analysis", f"There are no options: {one_line(reason)}", impact="", recovery=recovery)
    return _in_front(report, [f"There are no options: {quote(reason)}"], notes, usage=usage)


def _in_front(report: SkillReport, lines: Sequence[str], notes: Sequence[str], *, usage: Usage | None) -> Reply:
    facts = report.reply(usage=usage)
    data = cast("JsonMapping", facts.data)
    data["answer"] = "\n".join([*map(plain_text, lines), data["answer"]])
    data["notes"] = [*map(plain_text, notes), *data["notes"]]
    blocks = [*map(markdown, (*lines, *notes)), facts.content]
    facts.content = "\n\n".join(filter(None, blocks))
    return facts
