"""How an agent works on tickets: it reads them once, finds the one that is meant, and says what it could not read.

What rules cannot judge a model does; what it calls met it shows in the ticket's own words.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Final, TypeVar

from pydantic import Field

from retinue.agents.port import RunContext
from retinue.agents.prompted.task_prompt import RULE, as_data_block
from retinue.catalogue._model_choice import structured_model_for
from retinue.catalogue._prose import code, first_of, quote
from retinue.catalogue._report import SkillReport
from retinue.catalogue._run_limits import RunDeadline, in_cancellable_thread
from retinue.contract.definition import Definition
from retinue.contract.event import Progress
from retinue.contract.finding import Finding
from retinue.contract.model import Many, Model
from retinue.contract.names import nearest
from retinue.contract.result import Usage, WarningType
from retinue.contract.sanitize import check_branch_name
from retinue.contract.task import Task
from retinue.errors import InvalidInput, MissingFile, RetinueError
from retinue.llm.models import Models

from .ticket import Ticket
from .ticket_checks import check_tickets
from .ticket_tree import TicketTree, id_order, read_tickets

_INCOMPLETE: Final = frozenset({
    "ticket/unread", "ticket/too-long", "ticket/front-matter", "ticket/scenarios-unread", "ticket/encoding",
    "ticket/same-id", "ticket/bad-id", "ticket/parent-circle", "ticket/dependency-circle",
})  # fmt: skip
"""What keeps tickets from being judged whole."""
_MOST_WARNINGS: Final = 5
_MAX_TEXT: Final = 40_000
_INSTRUCTIONS: Final = Path(__file__).with_name("judge.md").read_text(encoding="utf-8")
T = TypeVar("T")

TicketTarget = Annotated[str, Field(
    min_length=1, max_length=400, pattern=r"[0-9/\\]",  # so that no other word of a goal is taken for it
    description="The ticket: its id such as STORY-0001.2.3, its file or folder, or a branch that is named by it.",
)]  # fmt: skip


async def run_on_tickets(
    run: RunContext,
    skill: str,
    work: Callable[[TicketTree, SkillReport, RunDeadline], T],
    *,
    subject: Callable[[T], Ticket] | None = None,
    with_relatives: bool = False,
) -> tuple[SkillReport, T]:
    """Read all tickets of the workspace and do `work` on them, in a thread; warn of what could not be read.

    Gives the report, and what came of the work: `subject` takes out of that the ticket that the answer is of, and so
    are the warnings, `with_relatives` those of what is above and below it too. By default they are of all tickets.

    Raises:
        MissingFile: There is no ticket.
        InvalidDefinition: The project's vocabulary or rubric cannot be used.
    """
    deadline, report = RunDeadline(run), SkillReport()

    def do_work() -> T:
        tree = read_tickets(run.workspace, check=deadline.check)
        result = work(tree, report, deadline)
        _warn_of_findings(tree, report, subject and subject(result), with_relatives=with_relatives)
        return result

    run.emit(Progress("reading tickets", skill))
    return report, await in_cancellable_thread(deadline, do_work)


def _warn_of_findings(tree: TicketTree, report: SkillReport, only: Ticket | None, *, with_relatives: bool) -> None:
    """Warn of what keeps tickets from being judged whole. The rest of the findings are for `retinue tickets check`."""
    words, ids = tree.vocabulary, {ticket.path: ticket.ticket_id for ticket in tree.tickets}
    above, below = list[str](), set[str | None]()
    if only is not None and with_relatives:
        above, below = tree.ancestors(only.ticket_id), {*tree.below(only.ticket_id)}
    serious: list[Finding] = []
    others: list[str] = []
    for finding in check_tickets(tree):
        match = words.name_start.match(words.place_name(finding.file or ""))
        key = ids.get(finding.file or "") or (match[0] if match else "")
        if finding.rule not in _INCOMPLETE:
            continue
        if not key and finding.rule != "ticket/bad-id" and only is None:
            others.append(code(finding.file or ""))
        elif only is None or finding.file == only.path or key in above or key in below or words.parent_id(key) in below:
            serious.append(finding)
    if others:
        report.note(f"Not read, and not named as tickets: {first_of(others, _MOST_WARNINGS)}.")
    for finding in serious[:_MOST_WARNINGS]:
        place = f"{finding.file}:{finding.line}" if finding.line else str(finding.file)
        kind: WarningType = "missing_data" if finding.rule == "ticket/unread" else "degraded_analysis"
        impact = "What this file says is missing here, or may be meant for another."
        recovery = finding.fix or "`retinue tickets check` says more."
        report.warn(kind, f"{code(place)}: {quote(finding.message)}", impact=impact, recovery=recovery)
    if len(serious) > _MOST_WARNINGS:
        count = f"{len(serious) - _MOST_WARNINGS:,} more files"
        report.note(f"{count} have such problems: `retinue tickets check` lists them.")


def tickets_below(tree: TicketTree, target: str, *, alone: bool = False) -> list[Ticket]:
    """What `target` means: a ticket, with all that is part of it unless `alone`; a folder; or all when it is empty.

    Raises:
        InvalidInput: It is neither.
        MissingFile: There is no such ticket.
    """
    folder = target.strip().replace("\\", "/").removeprefix("./").rstrip("/")
    is_all = folder in {"", "."}
    inside = [one for one in tree.tickets if one.ticket_id and (is_all or one.path.startswith(f"{folder}/"))]
    try:
        top = None if is_all else find_ticket(tree, target)
    except (InvalidInput, MissingFile):
        if not inside:
            raise
        top = None
    if top is None:
        return sorted(inside, key=lambda one: (id_order(one.ticket_id), one.path))
    return [top, *(tree.by_id[key] for key in tree.below(top.ticket_id) if key != top.ticket_id and not alone)]


def find_ticket(tree: TicketTree, target: str, *kinds: str) -> Ticket:
    """The ticket, of one of `kinds` if some are named, that an id, a file, a folder or a branch with an id means.

    Raises:
        InvalidInput: It is none of these, or the id of a ticket of another kind (K17).
        MissingFile: There is no such ticket; the suggestions have those that are alike.
    """
    words = tree.vocabulary
    path = target.strip().replace("\\", "/").removeprefix("./").rstrip("/")
    places = {path, *(f"{path}/{name}" for name in words.main_files)}
    ticket = next((one for one in tree.tickets if one.path in places), None)
    ids = {match[0] for part in path.split("/") if (match := words.name_start.match(part))}
    ticket_id = path if words.kind_of(path) else ids.pop() if ticket is None and len(ids) == 1 else ""
    if ticket_id != path and ticket_id:
        check_branch_name(path)
    ticket = ticket or tree.by_id.get(ticket_id)
    if ticket is None and ticket_id:
        near = nearest(ticket_id, tree.by_id)
        hint = f"Did you mean {' or '.join(near)}?" if near else "`retinue tickets next` lists those that are open."
        suggestions = {"suggestions": list(near)}
        raise MissingFile(f"There is no ticket {ticket_id}.", hint=hint, path=target, detail=suggestions)
    if ticket is None:
        words.check_id(path)  # says which forms there are
        raise MissingFile(f"{path!r} is no ticket.", hint="Name one by its id.", path=target)
    if kinds and ticket.kind not in kinds:
        wanted = " or ".join(words.ids.get(kind, kind) for kind in kinds)
        message = f"{ticket.ticket_id or ticket.path} is a ticket of kind `{ticket.kind or 'unknown'}`."
        raise InvalidInput(message, hint=f"Name one like {wanted}.", path=target)
    return ticket


class CriterionJudgement(Model):
    """What a model says of one criterion; `quotation` is what the ticket says of it, word for word, if anything."""

    criterion: str
    is_met: bool
    reason: Annotated[str, Field(min_length=1, max_length=400)]
    quotation: Annotated[str, Field(max_length=400)] = ""


class _Judgements(Model):
    judgements: Annotated[Many[CriterionJudgement], Field(max_length=100)]


async def judge_criteria(
    criteria: Mapping[str, str],
    text: str,
    report: SkillReport,
    *,
    models: Models | None,
    definition: Definition,
    task: Task,
    run: RunContext,
) -> Mapping[str, CriterionJudgement]:
    """What a model says of each of `criteria`, held against `text`; empty without a model, which the report says.

    What it calls met without a passage that stands in `text` is sent back to it.
    """
    if not criteria:
        return {}
    if models is None or not models.configured:
        report.note(f"Not judged, which needs a model: {', '.join(map(code, criteria))}.")
        return {}
    try:
        thinker = structured_model_for(task, models, definition, run, purpose="to judge what rules cannot")
    except RetinueError as error:
        report.note(f"Not judged: {quote(error.message)}")
        return {}
    if len(text) > _MAX_TEXT:
        report.note(f"Of {len(text):,} characters the first {_MAX_TEXT:,} were judged.")
    passage = " ".join(text[:_MAX_TEXT].split()).casefold()

    def objections(answer: _Judgements) -> Sequence[str]:
        said = [one.criterion for one in answer.judgements]
        wrong = [f"{key!r} is judged {said.count(key)} times, not once." for key in criteria if said.count(key) != 1]
        wrong += [f"{key!r} is none of the criteria." for key in said if key not in criteria]
        for one in answer.judgements:
            words = " ".join(one.quotation.split()).casefold()
            if words not in passage or (one.is_met and not words):
                wrong.append(f"The quotation for {one.criterion!r} does not stand in the ticket.")
        return wrong

    lines = "\n".join(f"- {key}: {words}" for key, words in criteria.items())
    prompt = f"The criteria:\n{lines}\n\nThe ticket:\n{as_data_block(text[:_MAX_TEXT], 'the ticket')}"
    run.emit(Progress("judging", thinker.model.name))
    answer = await thinker.ask(f"{_INSTRUCTIONS}\n{RULE}", prompt, _Judgements, "judgements", check=objections)
    report.usage = Usage.total((report.usage, answer.usage))
    if answer.value is None:
        why = f"{code(thinker.model.name)} gave no judgement that holds: {quote(answer.refusal)}"
        report.warn("degraded_analysis", why, impact="What needs judgement is not judged.", recovery="Ask again.")
        return {}
    report.note(f"{code(thinker.model.name)} judged {', '.join(map(code, criteria))}.")
    return {one.criterion: one for one in answer.value.judgements}
