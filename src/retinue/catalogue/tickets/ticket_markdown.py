"""Reads one Markdown file as a ticket: front matter, labels, lists, tables and Gherkin, each with its line.

Text is data: nothing in it is followed or run. What cannot be read is a finding, and the rest is read all the same.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from hashlib import sha256
from itertools import pairwise
from typing import Final, cast
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.token import Token

from retinue.agents.load.yaml import read_yaml
from retinue.contract.finding import Finding
from retinue.contract.lint.rules import make_finding
from retinue.errors import NotInstalled, ParseError
from retinue.tools.encoding import decode, is_binary

from .gherkin_blocks import GHERKIN_SCENARIO, GHERKIN_START, GherkinBlock, read_scenarios
from .ticket import (
    LINE_END,
    ChecklistItem,
    Ticket,
    TicketField,
    TicketReference,
    TicketRelation,
    TicketScenario,
    TicketSection,
    line_starts,
    read_progress,
)
from .vocabulary import TicketStatus, TicketVocabulary

_PARSER: Final = MarkdownIt("commonmark").enable("table")
# Where blocks begin and end is enough: to parse what is inside of them takes most of the time.
_PARSER.core.ruler.enableOnly(["normalize", "block"])
_MAX_READ: Final = 512 * 1024
"""Characters of a ticket that are read: ten times as many as the longest that a person wrote."""
_LABEL: Final = re.compile(
    r"\s*(?P<bold>\*\*|__)?(?P<label>[^\W_](?:[^:\uff1a*`|\n]{0,58}[^\s:\uff1a*`|])?)\s{0,8}(?P<close>\*\*|__)?"
    r"\s{0,8}[:\uff1a]\s*(?P<late>\*\*|__)?\s*(?P<value>.*)",
)
_BETWEEN_LABELS: Final = re.compile(r"\s{1,8}[|·•]\s{1,8}(?=\*\*)")
_BOX: Final = re.compile(r"\[(?P<mark>[ xX✓✔])\]\s+(?P<text>.*)", re.DOTALL)
_CODE: Final = re.compile(r"(?<!`)(`+)(?!`)(.{1,200}?)(?<!`)\1(?!`)")
_LINK: Final = re.compile(r"\[[^\]\n]{0,200}\]\(\s*<?([^)\s>]{1,400})>?")
_PATH: Final = re.compile(r"[\w.@~+%:\\/\[\]-]+")
_FILE_NAME: Final = re.compile(
    r"[\w.-]+\.(?:py|pyi|md|rst|txt|toml|json|jsonl|ya?ml|cfg|ini|sql|sh|js|mjs|jsx|ts|tsx|css|html|go|rs|java|kt|rb|c|h|cc|"
    r"cpp|cs|feature|lock|csv|xml|proto|tf)"
)
_PLACE: Final = re.compile(r":[0-9]+(?:[-:][0-9]+)?\Z")
_FRONT_LINE: Final = re.compile(r"(?P<key>[^\W\d_][\w -]{0,40}):[ \t]*(?P<value>.*)")
_AFTER_ID: Final = " \t:.-])\u2013\u2014"
_DEPENDENCIES: Final[dict[str, TicketRelation]] = {"requires": "requires", "blocks": "blocks"}


@lru_cache(maxsize=1024)  # several agents read the same tickets in one run
def read_ticket(path: str, data: bytes, vocabulary: TicketVocabulary) -> Ticket:
    """The ticket in a file; of a very long one only the beginning is read, and that is a finding.

    Raises:
        ParseError: It is no text.
    """
    if is_binary(data):
        raise ParseError(f"`{path}` is a binary file.", hint="Save it as text in UTF-8.", path=path)
    decoded = decode(data)
    text = decoded.text
    if len(text) > _MAX_READ:
        text = text[: text.rfind("\n", 0, _MAX_READ) + 1 or _MAX_READ]
    reader = _TicketReader(path, text, vocabulary)
    if len(text) < len(decoded.text):
        message = f"It has {len(decoded.text):,} characters; the first {len(text):,} were read."
        reader.find("ticket/too-long", 1, message, "Split it, or move what is not the ticket into other files.")
    if not decoded.certain:
        message = "It is neither UTF-8 nor marked as UTF-16, and was read as Latin-1."
        reader.find("ticket/encoding", 1, message, "Save it as UTF-8.")
    return reader.read(digest=sha256(data).hexdigest())


@dataclass(slots=True)
class _TicketReader:
    """Collects the parts of one ticket, from its first line to its last."""

    path: str
    text: str
    vocabulary: TicketVocabulary
    starts: list[int] = field(init=False)
    rows: list[str] = field(init=False)
    title: str = ""
    title_line: int = 0
    section: str = ""
    in_header: bool = True
    section_relation: TicketRelation | None = None
    relation: TicketRelation | None = None
    label_field: str | None = None
    fields: dict[str, TicketField] = field(default_factory=dict[str, TicketField])
    headings: list[tuple[str, str, int, int]] = field(default_factory=list[tuple[str, str, int, int]])
    checklist: list[ChecklistItem] = field(default_factory=list[ChecklistItem])
    blocks: list[GherkinBlock] = field(default_factory=list[GherkinBlock])
    references: list[TicketReference] = field(default_factory=list[TicketReference])
    findings: list[Finding] = field(default_factory=list[Finding])

    def __post_init__(self) -> None:
        self.starts, self.rows = line_starts(self.text), LINE_END.split(self.text)

    def find(self, rule: str, line: int, message: str, fix: str, *, replace: tuple[str, str] | None = None) -> None:
        """Say what is wrong on a line."""
        self.findings.append(make_finding(rule, "", message, fix, file=self.path, line=line, column=1, replace=replace))

    def read(self, *, digest: str) -> Ticket:
        """The whole ticket."""
        rest = self.text.replace("\r\n", "")
        if (len(rest) < len(self.text)) + ("\n" in rest) + ("\r" in rest) > 1:
            message = "Its lines end in more than one way. They stay as they are when the ticket is edited."
            self.find("ticket/line-ends", 1, message, "Let an editor or `git add --renormalize` make them alike.")
        body = self._front_matter(self.rows)
        self._walk(_PARSER.parse("\n".join([""] * body + self.rows[body:])))
        ticket_id, status = self._identify(), self._status()
        kind = self.vocabulary.kind_of(ticket_id) or ""
        progress = self.fields.get("progress")
        bar = read_progress(progress.value) if progress else None
        if progress and bar and bar.bar_differs:
            message = f"The bar shows {bar.full} of {len(bar.bar)} cells, and the number says {bar.percent} %."
            replace = (bar.bar, bar.right_bar)
            self.find("ticket/bar-differs", progress.line, message, f"Draw it {bar.right_bar}.", replace=replace)
        return Ticket(
            path=self.path, ticket_id=ticket_id, kind=kind, title=self.title, line=self.title_line or 1, status=status,
            text=self.text, digest=digest, fields=self.fields, sections=tuple(self._sections())[::-1],
            checklist=tuple(self.checklist), scenarios=tuple(self._scenarios()),
            references=tuple(self._related(ticket_id, kind)),
            findings=tuple(sorted(self.findings, key=lambda one: one.line or 0)),
        )  # fmt: skip

    def _front_matter(self, rows: Sequence[str]) -> int:
        """Read it, and give the number of its lines; 0 when there is none."""
        if rows[0].rstrip() != "---":
            return 0
        end = next((at for at, row in enumerate(rows[1:], start=1) if row.rstrip() in {"---", "..."}), None)
        if end is None:
            if len(rows) > 1 and _FRONT_LINE.match(rows[1]):
                message = "The front matter that begins here has no end, and was read as text."
                self.find("ticket/front-matter", 1, message, "Close it with a line `---`.")
            return 0
        try:
            value, places = read_yaml("\n".join(rows[1:end]), first_line=2) if end > 1 else ({}, {})
            pairs = cast("dict[str, object]", value if isinstance(value, dict) else {}).items()
            entries = [(key, places[f"/{key.replace('~', '~0').replace('/', '~1')}"][0], value) for key, value in pairs]
        except ParseError as error:
            line = error.detail.get("line") or 1
            self.find("ticket/front-matter", line, f"{error.message} It was read line by line.", error.hint)
            matches = ((line, _FRONT_LINE.match(row)) for line, row in enumerate(rows[1:end], start=2))
            entries = [(match["key"], line, match["value"].strip("\"' ")) for line, match in matches if match]
        for label, line, value in entries:
            key = self.vocabulary.field_of(label)
            items = cast("list[object]", value) if isinstance(value, list) else [value]
            words = ", ".join(str(item) for item in items if item is not None and not isinstance(item, dict))
            if key and words:
                self._add_field(key, words, line)
        return end + 1

    def _walk(self, tokens: Sequence[Token]) -> None:
        cells, head = list[str](), list[str]()
        is_item, row_line = False, 0
        for before, token in pairwise((Token("", "", 0), *tokens)):
            line = token.map[0] + 1 if token.map else 0
            match token.type:
                case "list_item_open":
                    is_item = True
                case "fence":
                    self._fence(token, line)
                case "table_open":
                    head = []
                case "tr_open":
                    cells = []
                case "tr_close":
                    head = head or cells
                    self._row(head, cells, row_line)
                case "inline" if before.type == "heading_open":
                    self._heading(int(before.tag[1:]), token.content.strip(), line)
                case "inline" if before.type in {"th_open", "td_open"}:
                    cells.append(token.content.strip())
                    row_line = line
                case "inline":
                    self._inline(token.content, line, is_item=is_item)
                    is_item = False
                case _:
                    pass

    def _heading(self, level: int, title: str, line: int) -> None:
        if GHERKIN_SCENARIO.match(title):
            self._loose_gherkin(title, line)
            return
        if not self.title_line:
            self.title, self.title_line = title, line
            self._mention(title, line)
            return
        key, is_exact = self.vocabulary.section_of(title)
        if not is_exact:
            message = f"The heading {title[:80]!r} is of two languages; it was read as `{key}`."
            self.find("ticket/heading", line, message, "Write it in one language.")
        self.in_header = False
        self.section = key or title
        self.headings.append((key, title, level, line))
        self.label_field = None if key else self.vocabulary.field_of(title)
        self.section_relation = "requires" if key == "dependencies" else _DEPENDENCIES.get(self.label_field or "")
        self.relation = self.section_relation
        self._mention(title, line)

    def _fence(self, token: Token, line: int) -> None:
        language = token.info.split(maxsplit=1)[0].casefold() if token.info.split() else ""
        rows = token.content.split("\n")
        first = next((row for row in rows if row.strip()), "")
        if language in {"gherkin", "feature", "cucumber"} or (not language and GHERKIN_START.match(first.strip())):
            numbered = [(line + 1 + at, row) for at, row in enumerate(rows)]
            if self.blocks and self.blocks[-1].goes_on(line, first.strip()):  # a scenario whose name is a heading
                self.blocks[-1].rows.extend(numbered)
                return
            self.blocks.append(GherkinBlock(numbered, is_fenced=True))

    def _row(self, head: Sequence[str], cells: Sequence[str], line: int) -> None:
        """A row of a table: a child, a label and its value, or text."""
        first = " ".join(cells)
        ids = [match[0] for match in self.vocabulary.reference.finditer(first)]
        if self.section == "children" and ids and cells is not head:
            columns = [self.vocabulary.field_of(name) for name in head]
            state = cells[columns.index("status")] if "status" in columns[: len(cells)] else ""
            status = self.vocabulary.status_by_word(state) or self.vocabulary.status_by_icon(state)
            self.references.append(TicketReference(ids[0], line, "child", status))
            return
        key = self.vocabulary.field_of(cells[0].strip("*_ ")) if len(cells) == 2 else None
        if key and self.in_header and cells[1]:
            self._add_field(key, cells[1].strip("*_ "), line)
            return
        for cell in cells:
            self._mention(cell, line)

    def _inline(self, content: str, line: int, *, is_item: bool) -> None:
        """A paragraph, or the text of an item of a list."""
        box = _BOX.match(content) if is_item else None
        if box:
            self.checklist.append(ChecklistItem(box["text"].strip(), box["mark"] != " ", line, self.section))
            content = box["text"]
        if not is_item:  # the list below a label has ended
            self.relation = self.section_relation
        is_child = is_item and self.section == "children"
        for at, row in enumerate(content.split("\n")):
            bare_text = row.strip().strip("*_").strip()
            if GHERKIN_SCENARIO.match(bare_text) or (self.blocks and self.blocks[-1].goes_on(line + at, bare_text)):
                self._loose_gherkin(bare_text.replace("**", ""), line + at)
                self._mention(row, line + at)
                continue
            if is_child and not at and (match := self.vocabulary.reference.search(row)):
                status = self.vocabulary.status_by_icon(row)
                if box:
                    status = "done" if self.checklist[-1].is_done else None
                self.references.append(TicketReference(match[0], line, "child", status))
                continue
            for part in _BETWEEN_LABELS.split(row):
                if not self._label(part, line + at, is_item=is_item):
                    self._mention(part, line + at)

    def _label(self, text: str, line: int, *, is_item: bool) -> bool:
        """Read `text` if it is a label with its value; say whether it was."""
        match = _LABEL.match(text)
        is_bold = match and match["bold"] and (match["close"] or match["late"])
        key = self.vocabulary.field_of(match["label"]) if match and (is_bold or self.in_header) else None
        value = match["value"].strip() if match and key else ""
        if key is None and self.label_field and not (is_bold or is_item or self.label_field in self.fields):
            key, value = self.label_field, text.strip()
        if key and value:
            self._add_field(key, value, line)
        elif key in _DEPENDENCIES:
            self.relation = _DEPENDENCIES[key]
        return key is not None

    def _loose_gherkin(self, text: str, line: int) -> None:
        if GHERKIN_SCENARIO.match(text):
            self.blocks.append(GherkinBlock([], is_fenced=False))
        self.blocks[-1].rows.append((line, text))

    def _add_field(self, key: str, value: str, line: int) -> None:
        if key not in self.fields:
            at = self.rows[line - 1].find(value)
            self.fields[key] = TicketField(key, value, line, None if at < 0 else self.starts[line - 1] + at)
        relation = "parent" if key == "parent" else _DEPENDENCIES.get(key, "mentions")
        ids = self._mention(value, line, relation)
        if relation == "parent" and (link := _LINK.search(value)):
            self.references.append(TicketReference(unquote(link[1]).replace("\\", "/"), line, "parent"))
        elif relation == "parent" and not ids and (near := self.vocabulary.near_id.match(value.strip("[ "))):
            self._bad_id(near[0], line)

    def _mention(self, text: str, line: int, relation: TicketRelation | None = None) -> list[str]:
        """Keep the ids and paths in a text; give the ids."""
        ids = list(dict.fromkeys(match[0] for match in self.vocabulary.reference.finditer(text)))
        relation = relation or self.relation or "mentions"
        self.references += [TicketReference(one, line, relation) for one in ids]
        if relation in {"requires", "blocks"} and not ids and (near := self.vocabulary.near_id.match(text.strip())):
            self._bad_id(near[0], line)
        for match in _CODE.finditer(text):
            if path := _path_in(match[2].strip()):
                self.references.append(TicketReference(path, line, "file"))
        return ids

    def _bad_id(self, text: str, line: int) -> None:
        fix = f"Write it like {', '.join(self.vocabulary.ids.values())}; `#` is a digit."
        self.find("ticket/bad-id", line, f"{text[:80]!r} is not a ticket id.", fix)

    def _identify(self) -> str:
        """The id: what the front matter says, else the title, else the name of the file or of its folder."""
        stated, heading = self.fields.get("id"), re.sub(r"\A[\W_]+", "", self.title)
        candidates = [(stated.line, stated.value)] if stated else []
        candidates += [(self.title_line or 1, heading), (1, self.vocabulary.place_name(self.path))]
        ids = [(line, match[0]) for line, text in candidates if (match := self.vocabulary.name_start.match(text))]
        near = {match[0]: line for line, text in candidates if (match := self.vocabulary.near_id.match(text))}
        for text, line in near.items():
            if not any(text.startswith(ticket_id) for _, ticket_id in ids):
                self._bad_id(text, line)
        if not ids:
            return ""
        line, ticket_id = ids[0]
        if other := next((one for _, one in ids if one != ticket_id), ""):
            message = f"It is called {ticket_id} here, and {other} elsewhere: in its title, or by its file or folder."
            self.find("ticket/id-differs", line, message, "Rename the file or folder, or change the title.")
        self.title = heading.removeprefix(ticket_id).lstrip(_AFTER_ID) or self.title
        return ticket_id

    def _status(self) -> TicketStatus | None:
        field = self.fields.get("status")
        if field is None:
            fix = "Add `**Status**: 🔵 Not Started`."
            self.find("ticket/no-status", self.title_line or 1, "It says no status.", fix)
            return None
        word, icon = self.vocabulary.status_by_word(field.value), self.vocabulary.status_by_icon(field.value)
        if word is None and icon is None:
            words = ", ".join(max(each, key=str.isascii) for each in self.vocabulary.statuses.values())
            message, fix = f"The status {field.value[:80]!r} is not known.", f"Write one of {words}, or"
            self.find("ticket/unknown-status", field.line, message, f"{fix} add it to the vocabulary.")
        elif word and icon and word != icon:
            old = min((one for one in self.vocabulary.icons if one in field.value), key=field.value.index)
            new = next((one for one, status in self.vocabulary.icons.items() if status == word), "")
            message = f"The icon {old} says `{icon}` and the words say `{word}`; the words count."
            self.find("ticket/status-differs", field.line, message, f"Write {new}, or other words.", replace=(old, new))
        return word or icon

    def _sections(self) -> Iterator[TicketSection]:
        below = [len(self.starts) + 1] * 7  # where the next heading of each level stands
        for key, title, level, line in reversed(self.headings):
            yield TicketSection(key, title, level, line, min(below[: level + 1]) - 1)
            below[level] = line

    def _scenarios(self) -> Iterator[TicketScenario]:
        # Text that only names a scenario, in a list of what is left to do for example, is none.
        blocks = [block for block in self.blocks if block.is_fenced or len(block.rows) > 1]
        try:
            scenarios = [one for block in blocks for one in read_scenarios(block)]
        except NotInstalled as error:
            line = blocks[0].rows[0][0]
            self.find("ticket/scenarios-unread", line, error.message, error.hint)
            return
        for scenario in scenarios:
            if scenario.problem:
                message = f"The scenario {scenario.name[:80]!r} is no Gherkin: {scenario.problem}."
                self.find("ticket/scenario", scenario.line, message, 'Put longer text between two lines of `"""`.')
            yield scenario

    def _related(self, ticket_id: str, kind: str) -> Iterator[TicketReference]:
        """What it names but itself. Only what can be its child is one."""
        for reference in self.references:
            target_kind = self.vocabulary.kind_of(reference.target)
            if reference.target == ticket_id and reference.relation in {"mentions", "child"}:
                continue
            if reference.relation == "child" and self.vocabulary.parents.get(target_kind or "") != kind:
                yield TicketReference(reference.target, reference.line, "mentions")
            else:
                yield reference


def _path_in(code: str) -> str:
    """The path in a span of code, with `/`; empty when it is something else."""
    path = _PLACE.sub("", code.replace("\\", "/"))
    if not _PATH.fullmatch(path) or "://" in path or path.startswith(("-", "@")):
        return ""
    name = path.rstrip("/").rpartition("/")[2]
    is_command = path.startswith("/") and path.count("/") == 1 and not _FILE_NAME.fullmatch(name)
    if is_command or not ("/" in path.strip("/") or path.endswith("/") or _FILE_NAME.fullmatch(name)):
        return ""
    return path.removeprefix("./")
