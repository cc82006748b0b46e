"""The ticket that an interview ends in: its id, its file, and its text.

Answers are escaped: none can become a heading, a label, a box or a scenario, and reading it gives back what was said.
"""

import posixpath
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code_block, escape_line, one_line
from retinue.catalogue.tickets import TicketTree, TicketVocabulary
from retinue.catalogue.tickets.ticket_work import find_ticket
from retinue.errors import InvalidInput, MissingFile

from .interview import NUMBER, Interview, InterviewQuestion, gherkin_rows

# Code and addresses stay what they are, whatever marks they hold.
_CODE_OR_LINK: Final = re.compile(r"((?<!`)`[^`\n]+`(?!`)|\bhttps?://[^\s<>`]*[^\s<>`.,;:!?)])")
_SCENARIO: Final = re.compile(r"\A(Scenario(?: Outline| Template)?\s*(?:[0-9]+\s*)?):")
_NOTHING: Final = "None."


@dataclass(frozen=True, slots=True)
class NewTicket:
    """A ticket that is not there yet: which one, part of what, and in which file."""

    kind: str
    ticket_id: str
    parent_id: str
    path: str


def place_ticket(tree: TicketTree, kind: str, target: str) -> NewTicket:
    """Where a new ticket goes: below `target`, or with that id; an empty one is right where it is part of nothing.

    Raises:
        InvalidInput: `target` is neither, or there is such a ticket already.
        MissingFile: What it would be part of is not there.
    """
    words = tree.vocabulary
    if kind not in words.ids:
        raise InvalidInput(f"There are no tickets of kind `{kind}` here.", hint=f"There are: {', '.join(words.ids)}.")
    parent_kind, parent_id, is_own = words.parents.get(kind, ""), "", words.kind_of(target) == kind
    if target in tree.by_id and is_own:
        message = f"{target} is there already: `{tree.by_id[target].path}`."
        hint = "Name what the new ticket is part of, and it gets the next id that is free."
        raise InvalidInput(message, hint=hint, path="/target")
    if parent_kind and is_own:
        parent_id = words.parent_id(target) or ""
        if parent_id not in tree.by_id:
            message = f"{parent_id or f'The {parent_kind}'}, which {target} would be part of, is not there."
            raise MissingFile(message, hint=f"Begin with the {parent_kind}, or name one that is there.", path=target)
    elif parent_kind:
        parent_id = find_ticket(tree, target, parent_kind).ticket_id
    elif target:
        words.check_id(target, kind)
    children = (one.target for ticket in tree.tickets for one in ticket.targets("child"))
    ticket_id = target if is_own else words.next_id(kind, parent_id, {*tree.by_id, *children})
    # It is laid out as its siblings are, or else others of its kind.
    alike = [ticket for ticket in tree.tickets if ticket.kind == kind]
    siblings = [ticket for ticket in alike if tree.parents.get(ticket.ticket_id, "") == parent_id]
    sample = next(iter([*siblings, *alike]), None)
    folder, name = posixpath.split(sample.path) if sample else ("", next(iter(words.main_files), ""))
    is_main = name.casefold() in {main.casefold() for main in words.main_files}
    is_main = is_main and (sample is not None or kind in words.parents.values())
    base = posixpath.dirname(tree.by_id[parent_id].path) if parent_id else words.folders[0]
    if siblings:
        base = posixpath.dirname(folder) if is_main else folder
    path = posixpath.join(base, f"{ticket_id}/{name}" if is_main else f"{ticket_id}.md")
    return NewTicket(kind, ticket_id, parent_id, path)


def ticket_text(interview: Interview, words: TicketVocabulary, new: NewTicket) -> str:
    """The ticket as Markdown, its headings and labels in words that the vocabulary knows."""
    todo = words.statuses["todo"]
    status = [next((one for one in todo if (one in words.icons) is is_icon), "").title() for is_icon in (True, False)]
    header, title = {"parent": new.parent_id, "status": " ".join(filter(None, status))}, ""
    sections: dict[str, list[str]] = {}
    for question, entries in interview.usable_answers():
        number = NUMBER.search(entries[0]) if question.field and entries else None
        if number:
            header[question.field] = number[0].replace(",", ".")
        elif question.id == "title":  # a reader cuts off these behind the id, and Markdown a last `#`
            title = _as_inline(entries[0].lstrip(" \t:.-])\u2013\u2014"))
            title = f": {title[:-1]}\\#" if title.endswith("#") else f": {title}"
        else:
            heading = question.heading or question.id
            if question.section and words.section_of(heading)[0] != question.section:
                heading = words.sections.get(question.section, [heading])[0].capitalize()
            blocks, block = sections.setdefault(heading, []), _as_block(question, entries)
            if question.lead and blocks:
                blocks[-1] += f"\n{block}"
            else:
                blocks.append(f"### {question.part}\n\n{block}" if question.part else block)
    if new.kind in words.parents.values():
        header["progress"] = "░░░░░░░░░░ 0%"
    labels = [f"**{words.fields[key][0].title()}**: {value}" for key, value in header.items() if value]
    paragraphs = [f"# {new.ticket_id}{title}", "\n".join(labels)]
    for heading, blocks in sections.items():
        paragraphs += [f"## {heading}", *([block for block in blocks if block != _NOTHING] or blocks[:1])]
    return "\n\n".join(paragraphs) + "\n"


def _as_block(question: InterviewQuestion, entries: Sequence[str]) -> str:
    if not entries:
        return _NOTHING
    if question.form == "scenarios":
        return code_block("\n".join(gherkin_rows(entries[0])), "gherkin")
    if question.form == "list":
        bullet = "- [ ] " if question.fills in {"acceptance_criteria", "children"} else "- "
        return "\n".join(bullet + _as_inline(entry) for entry in entries)
    lines = [line.strip() for line in entries[0].split("\n")]
    text = (f"- {_as_inline(line[2:])}" if line[:2] in {"- ", "* "} else _as_inline(line) for line in lines)
    return " ".join(filter(None, (question.lead, "\n".join(text))))


def _as_inline(line: str) -> str:
    """One line that Markdown shows as it is; code and addresses stay what they are."""
    pieces = _CODE_OR_LINK.split(one_line(line, limit=len(line) + 1))
    pieces[::2] = map(escape_line, pieces[::2])
    pieces[1::2] = (f"<{piece}>" if piece[0] == "h" else piece for piece in pieces[1::2])
    return _SCENARIO.sub(r"\1\\:", "".join(pieces))


def dependency_problem(entries: Sequence[str], tree: TicketTree, ticket_id: str) -> str:
    """Why what a ticket waits for cannot stand in it; empty when it can."""
    words = tree.vocabulary
    for entry in entries:
        ids = [match[0] for match in words.reference.finditer(entry)]
        missing = next((one for one in ids if one not in tree.by_id), None)
        near = None if ids else words.near_id.match(entry)
        if ticket_id in ids:
            return f"{ticket_id} cannot wait for itself."
        if missing or near:
            name = missing or one_line(near[0] if near else "", limit=80)
            return f"There is no ticket “{name}”: write one like {', '.join(words.ids.values())}, or say it in words."
    return ""
