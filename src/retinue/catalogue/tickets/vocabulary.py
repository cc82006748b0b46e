"""Which words and layouts tickets have: ids, statuses, fields, headings. All is data that a project can replace.

Ids are written as patterns of digits and not as regular expressions, so that no project can name one that never ends.
"""

import re
import tomllib
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, ValidationError, model_validator

from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Many, Model
from retinue.errors import InvalidDefinition, InvalidInput, MissingFile
from retinue.tools.workspace import Workspace

OWN_VOCABULARY: Final = ".retinue/tickets.toml"
"""Where a project says what its tickets look like, from the root of its workspace."""
DEFAULT_VOCABULARY: Final = Path(__file__).with_name("vocabulary.toml")
_MAX_BYTES: Final = 256 * 1024
_MERGED: Final = ("statuses", "fields", "sections")

TicketStatus: TypeAlias = Literal["todo", "in_progress", "blocked", "done", "cancelled"]
FINISHED: Final[frozenset[TicketStatus | None]] = frozenset({"done", "cancelled"})
"""The statuses of what nobody works on any more."""

_WORD: Final = re.compile(r"[^\W_]+")
_ID_PATTERN: Final = r"[A-Za-z#*][A-Za-z0-9_.#*-]*[#*]"
_Words: TypeAlias = Annotated[Many[Annotated[str, Field(min_length=1, max_length=100)]], Field(min_length=1)]


def fold_words(text: str) -> str:
    """The words of `text` in small letters, one space between them; emoji, marks and punctuation are dropped."""
    return " ".join(_WORD.findall(unicodedata.normalize("NFC", text).casefold()))


class TicketVocabulary(Model):
    """What tickets are called and which words they use; the comments of `vocabulary.toml` say what each member is."""

    folders: Many[str]
    main_files: Many[str]
    ids: Annotated[dict[str, Annotated[str, Field(pattern=f"^{_ID_PATTERN}$", max_length=60)]], Field(min_length=1)]
    parents: dict[str, str] = Field(default_factory=dict[str, str])
    statuses: dict[TicketStatus, _Words]
    fields: dict[str, _Words]
    sections: dict[str, _Words]

    def __hash__(self) -> int:
        """Of a part of it: its tables themselves have no hash."""
        return hash(tuple(self.ids.items()))

    @model_validator(mode="after")
    def _check_parents(self) -> "TicketVocabulary":
        unknown = sorted({*self.parents, *self.parents.values()} - self.ids.keys())
        if unknown:
            raise ValueError(f"`parents` names {unknown[0]!r}, which `ids` does not")
        for kind in self.parents:
            above = self.parents.get(kind)
            for _ in self.parents:
                if above == kind:
                    raise ValueError(f"by `parents`, {kind!r} is part of itself")
                above = self.parents.get(above or "")
        return self

    @cached_property
    def _id_patterns(self) -> Mapping[str, re.Pattern[str]]:
        """By kind, with a group for each number."""

        def as_regex(part: str) -> str:
            return "([0-9]+)" if part == "*" else f"([0-9]{{{len(part)}}})" if part[0] == "#" else re.escape(part)

        pieces = {kind: re.findall(r"#+|\*|[^#*]+", pattern) for kind, pattern in self.ids.items()}
        return {kind: re.compile("".join(map(as_regex, parts))) for kind, parts in pieces.items()}

    @cached_property
    def reference(self) -> re.Pattern[str]:
        """Finds ids in a text."""
        return re.compile(rf"(?<![\w.-])(?:{self._any_id})(?![\w-]|\.[0-9*{{])")

    @cached_property
    def name_start(self) -> re.Pattern[str]:
        """Finds the id at the beginning of a name of a file or folder, or of a heading."""
        return re.compile(rf"(?:{self._any_id})(?=[-_ :.\])]|\Z)(?!\.[0-9])")

    @cached_property
    def _any_id(self) -> str:
        # The longest first: where one id begins another, the whole is meant.
        return "|".join(sorted((pattern.pattern for pattern in self._id_patterns.values()), key=len, reverse=True))

    @cached_property
    def near_id(self) -> re.Pattern[str]:
        """Finds what begins as an id does, whatever numbers follow and however it is spelt."""
        heads = {re.split("[#*]", pattern)[0].rstrip("-_.") for pattern in self.ids.values()} - {""}
        names = "|".join(map(re.escape, sorted(heads))) or "(?!)"
        return re.compile(rf"(?<![\w.-])(?:{names})[-_ ]?[\w]*[0-9][\w.]*", re.IGNORECASE)

    def kind_of(self, ticket_id: str) -> str | None:
        """The kind of ticket that an id names; None when it is no id (C15: ASCII digits, and nothing after them)."""
        return next((kind for kind, pattern in self._id_patterns.items() if pattern.fullmatch(ticket_id)), None)

    @cached_property
    def leaf_kinds(self) -> frozenset[str]:
        """The kinds of tickets that nothing is part of."""
        return frozenset(self.ids.keys() - set(self.parents.values()))

    def check_id(self, ticket_id: str, kind: str | None = None) -> str:
        """`ticket_id` itself, when it is one (K17).

        Raises:
            InvalidInput: It is empty, of no known form, or not of `kind`.
        """
        forms = ", ".join(self.ids.values())
        if not ticket_id:
            raise InvalidInput("The ticket id is empty.", hint=f"Write it like {forms}.")
        actual = self.kind_of(ticket_id)
        if actual is None:
            hint = f"Write it like {forms}; `#` is a digit."
            raise InvalidInput(f"{ticket_id[:80]!r} is not a ticket id.", hint=hint)
        if kind is not None and kind != actual:
            message = f"{ticket_id!r} is the id of a ticket of kind `{actual}`, not `{kind}`."
            raise InvalidInput(message, hint=f"Write it like {self.ids.get(kind, forms)}.")
        return ticket_id

    def parent_id(self, ticket_id: str) -> str | None:
        """The id that the numbers of `ticket_id` say it is part of: `EPIC-0001.2` of `STORY-0001.2.3`."""
        kind = self.kind_of(ticket_id)
        parent = self.parents.get(kind or "")
        match = self._id_patterns[kind].fullmatch(ticket_id) if kind and parent else None
        if match is None or parent is None:
            return None
        pieces = re.split(r"#+|\*", self.ids[parent])
        numbers = match.groups()[: len(pieces) - 1]
        if len(numbers) == len(match.groups()):  # no number is left that would tell children apart
            return None
        candidate = "".join(piece + number for piece, number in zip(pieces, (*numbers, ""), strict=True))
        return candidate if self.kind_of(candidate) == parent else None

    def next_id(self, kind: str, parent_id: str, ids_there: Iterable[str]) -> str:
        """The id of a new ticket of `kind` that is part of `parent_id`: the number after the highest of `ids_there`.

        Raises:
            InvalidInput: The pattern of such ids leaves none.
        """
        pattern, above = self._id_patterns[kind], self._id_patterns.get(self.parents.get(kind, ""))
        match = above.fullmatch(parent_id) if above else None
        lead = (match.groups() if match else ())[: pattern.groups - 1]
        ids = (same.groups() for one in ids_there if (same := pattern.fullmatch(one)))
        used = [int(numbers[-1]) for numbers in ids if numbers[:-1] == lead and len(numbers[-1]) < 10]
        places = re.findall(r"#+|\*", self.ids[kind])
        numbers = (*lead, str(max(used, default=0) + 1).zfill(len(places[-1])), "")
        pieces = re.split(r"#+|\*", self.ids[kind])
        ticket_id = "".join(piece + number for piece, number in zip(pieces, numbers, strict=False))
        if self.kind_of(ticket_id) != kind:
            message = f"There is no next id like {self.ids[kind]} below {parent_id or 'the tickets that are there'}."
            raise InvalidInput(message, hint="Name the id that the ticket is to have.")
        return ticket_id

    def place_name(self, path: str) -> str:
        """What names the ticket in a file: its own name, or that of its folder."""
        folder, _, name = path.rpartition("/")
        is_main = name.casefold() in {main.casefold() for main in self.main_files}
        return folder.rpartition("/")[2] if is_main else name.rpartition(".")[0]

    @cached_property
    def _status_words(self) -> Sequence[tuple[str, TicketStatus]]:
        """Longest first, so that `not done` is not taken for `done`."""
        every: dict[str, TicketStatus] = {
            fold_words(word): status for status, words in self.statuses.items() for word in words
        }
        return sorted(((word, status) for word, status in every.items() if word), key=lambda pair: -len(pair[0]))

    @cached_property
    def icons(self) -> Mapping[str, TicketStatus]:
        """The status of each icon."""
        return {word: status for status, words in self.statuses.items() for word in words if not fold_words(word)}

    def status_by_icon(self, text: str) -> TicketStatus | None:
        """The status that the first icon in `text` stands for."""
        first = min((icon for icon in self.icons if icon in text), key=text.index, default=None)
        return None if first is None else self.icons[first]

    def status_by_word(self, text: str) -> TicketStatus | None:
        """The status that `text` names at its beginning."""
        words = fold_words(text)
        for word, status in self._status_words:
            # Some scripts have no space between words.
            if words.startswith(word) and (words[len(word) :][:1] in {"", " "} or word[-1] >= "\u3040"):
                return status
        return None

    @cached_property
    def _key_tables(self) -> Mapping[str, Mapping[str, str]]:
        """The key of each label and heading, by its words."""
        tables = {"fields": self.fields, "sections": self.sections}
        return {name: {fold_words(w): key for key, ws in table.items() for w in ws} for name, table in tables.items()}

    def field_of(self, label: str) -> str | None:
        """The field that a label names."""
        return self._key_tables["fields"].get(fold_words(label))

    def section_of(self, heading: str) -> tuple[str, bool]:
        """The section that a heading names, or an empty text; and whether it is called so by one language alone."""
        words, headings = re.sub(r"\A(?:[0-9]+ )+", "", fold_words(heading)), self._key_tables["sections"]
        inside = [title for title in headings if f" {title} " in f" {words} "]
        if inside:
            return headings[max(inside, key=len)], True
        mixed = set(words.split())
        for key, own in self._section_words.items() if len(mixed) > 1 else ():
            if mixed <= own:
                return key, False
        return "", True

    @cached_property
    def _section_words(self) -> Mapping[str, frozenset[str]]:
        return {key: frozenset(" ".join(map(fold_words, titles)).split()) for key, titles in self.sections.items()}


def read_vocabulary(workspace: Workspace | None = None) -> TicketVocabulary:
    """The vocabulary of a workspace: what it says itself, and for the rest the one that comes with Retinue.

    Raises:
        InvalidDefinition: Its file is not TOML, or says what a vocabulary cannot; the message has the place.
    """
    values = tomllib.loads(DEFAULT_VOCABULARY.read_text(encoding="utf-8"))
    try:
        text = "" if workspace is None else workspace.read_text(OWN_VOCABULARY, max_bytes=_MAX_BYTES)
        own = tomllib.loads(text)
    except MissingFile:
        own = {}
    except (ValueError, RecursionError) as error:
        message = f"`{OWN_VOCABULARY}` is not TOML: {error}."
        raise InvalidDefinition(message, hint="Mend it, or delete it.", path=OWN_VOCABULARY) from None
    if "ids" in own:  # other kinds of tickets have other parents
        own.setdefault("parents", {})
    for key in _MERGED:
        if isinstance(own.get(key), dict):
            own[key] = {**values[key], **own[key]}
    try:
        return TicketVocabulary.model_validate({**values, **own})
    except ValidationError as error:
        findings = findings_of(error, rule="ticket/vocabulary")
        message = f"`{OWN_VOCABULARY}` cannot be used: {summarise_findings(findings)}."
        hint = "`retinue tickets init --vocabulary` writes one to begin with."
        raise InvalidDefinition(message, hint=hint, path=OWN_VOCABULARY, detail=as_detail(findings)) from None


def starter_files(folder: str, *, with_vocabulary: bool) -> dict[str, bytes]:
    """A tree of tickets to begin with: one of each kind below `folder`, by path; and the vocabulary to change."""
    source, top = Path(__file__).with_name("starter"), folder.rstrip("/")
    files = {f"{top}/{path.relative_to(source).as_posix()}": path for path in sorted(source.rglob("*.md"))}
    files |= {OWN_VOCABULARY: DEFAULT_VOCABULARY} if with_vocabulary else {}
    return {path: place.read_bytes() for path, place in files.items()}
