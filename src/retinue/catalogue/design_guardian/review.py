"""What rules find in tickets: signal words, steps that nobody asked for, abstractions with one implementation (G13).

All rules and words are data (`design-guardian.toml`). A ticket is judged by its own lines and by what the tickets above
it ask for; of the code only what it names counts, and what it could reuse: fixtures of pytest, helpers, tests.
"""

import ast
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from math import ceil
from pathlib import Path
from textwrap import dedent
from typing import Final, NamedTuple

from pydantic import Field

from retinue.catalogue._names import is_test_or_vendored, read_names
from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue.tickets import IssueSeverity, Rubric, Ticket, TicketTree, mask_names, word_pattern
from retinue.catalogue.tickets.ticket import line_starts
from retinue.catalogue.tickets.vocabulary import FINISHED
from retinue.contract.model import Many, Model
from retinue.errors import DeadlineExceeded, MissingFile, RetinueError
from retinue.tools.search.bm25 import STOP_WORDS, Bm25, terms
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

from .parameters import ComplexityKind, DesignIssue, PatternReuse, ReusablePattern, SimplifyAction

RUBRIC: Final = Path(__file__).with_name("design-guardian.toml")
_MAX_SOURCE: Final = 256 * 1024  # bytes; a larger file is made by a program
_ASKING: Final = frozenset({"acceptance_criteria", "user_story", "scenarios"})
_NEAR: Final = 2  # lines on either side in which a number counts
_STEM: Final = 6
_FEWEST_TERMS: Final = 3  # of a step, before it is held against anything
_PYTHON: Final = re.compile(r"^[ ]{0,8}```(?:python|py)\b[^\n]*\n(.*?)(?:^[ ]{0,8}```|\Z)", re.MULTILINE | re.DOTALL)
_MARKS: Final = re.compile(r"\A[-*+#>\s]*(?:\[.\]\s*)?")
_OTHER_CODE: Final = (".ts", ".tsx", ".js", ".jsx", ".go", ".rs", ".java", ".kt", ".cs", ".rb")
_ABSTRACT: Final = frozenset({"ABC", "ABCMeta", "abstractmethod"})
_SEVERAL: Final = r"\b(?:multi|multiple|several|two|three|four|five|both|different|[0-9]{1,4})[ \t-]{1,3}(?:\w{1,30} )?"
_MOST_PATTERNS: Final = 8  # of a kind
_SHARED: Final = 2  # words that a name has in common with a ticket before it is said to be available
_FEWEST_WORDS: Final = 3  # of the purpose of a fixture, before what is planned in the same words is the same
_CODE_NAME: Final = re.compile(r"`([a-z_]\w{2,60})(?:\(\))?`")
_NAME: Final = re.compile(r"\w*[^\W_]_\w+")
_DOC: Final = re.compile(
    r"[^\n]{0,400}(?:\n[^\n]{0,200}){0,8}?:\s{0,80}\n\s{0,80}[rR]?(?:\"\"\"|''')\s{0,80}([^\n\"']+)"
)
_BANDS: Final = ((10.0, "all exist"), (7.0, "mostly existing"), (4.0, "mixed"), (0.0, "mostly new"))


class GuardRule(Model):
    """One kind of issue: with `words` looked for in prose, with `question` asked of a model, else found by rule."""

    category: ComplexityKind
    severity: IssueSeverity
    words: Many[str] = ()
    unless: Many[str] = ()
    number_disarms: bool = False
    several_disarm: bool = False
    question: str = ""
    description: str
    problem: str = ""
    recommendation: str
    action: SimplifyAction
    impact: str


class GuardRubric(Rubric):
    """What is looked for, what disarms it, and how the whole is assessed; the file says what each is."""

    most_high: int = Field(ge=1)
    most_medium: int = Field(ge=1)
    medium_share: float = Field(ge=0)
    shared_objective: float = Field(ge=0, le=1)
    words: dict[str, Many[str]]
    never_flag: dict[str, Many[str]]
    rules: dict[str, GuardRule]

    @cached_property
    def never(self) -> re.Pattern[str]:
        """Finds what is never an issue."""
        return word_pattern(tuple(word for words in self.never_flag.values() for word in words))

    def find(self, key: str) -> re.Pattern[str]:
        """Finds the words of this key; nothing, where the rubric does without."""
        return word_pattern(tuple(self.words.get(key, ())))

    @cached_property
    def number(self) -> re.Pattern[str]:
        """Finds a number that measures something."""
        units = "|".join(map(re.escape, self.words.get("units", ()))) or "(?!)"
        measured = rf"(?<![\w.])[0-9][0-9.,]{{0,12}}[KkM]?\+?\s?(?:{units})(?!\w)"
        return re.compile(rf"{measured}|[<>≤≥]=?\s?[0-9]", re.IGNORECASE)

    @cached_property
    def plain_terms(self) -> set[str]:
        """The terms that say nothing of what a step is about."""
        return _content(" ".join(self.words.get("plain_words", ())))

    def assess(self, issues: Sequence[DesignIssue], reviewed: int) -> tuple[str, str]:
        """The overall assessment, and the rule that it follows."""
        high, medium = (sum(one.severity == severity for one in issues) for severity in ("high", "medium"))
        bound = max(self.most_medium, ceil(self.medium_share * reviewed))
        word = "overengineered" if high >= self.most_high or medium >= bound else "acceptable_complexity"
        return word if issues else "simple_and_clean", (
            f"overengineered from {plural(self.most_high, 'high issue')} or {bound} medium ones on (here {high} and"
            f" {medium}, in {plural(reviewed, 'ticket')}), simple_and_clean without any, else acceptable_complexity"
        )


@dataclass(slots=True)
class Reviewer:
    """Reviews `target` and what is part of it by a rubric, and collects what it finds, also the steps in scope."""

    tree: TicketTree
    target: Ticket
    rubric: GuardRubric
    workspace: Workspace
    report: SkillReport
    check: Callable[[], None]
    reviewed: list[Ticket] = field(default_factory=list[Ticket])
    issues: dict[tuple[str, ...], DesignIssue] = field(default_factory=dict[tuple[str, ...], DesignIssue])
    in_scope: list[str] = field(default_factory=list[str])

    def review(self) -> None:
        """Find all that rules find. What is finished can no longer be simpler, and is reviewed only by itself."""
        waiting, visited, finished = [self.target], {self.target.ticket_id}, 0
        left_out = set[str | None]() if self.target.status in FINISHED else FINISHED
        for one in waiting:
            below = [other for other in self.tree.parts(one.ticket_id) if other.ticket_id not in visited]
            visited |= {other.ticket_id for other in below}
            waiting += [other for other in below if other.status not in left_out]
            finished += sum(other.status in left_out for other in below)
        if finished:
            self.report.note(f"Left out, since nothing can be changed there: {plural(finished, 'finished ticket')}.")
        try:
            for one in waiting:
                if self.reviewed:  # the target itself is reviewed in any case
                    self.check()
                self.reviewed.append(one)
                self._find_words(one)
                self._find_unasked(one)
            self._find_single_implementations()
        except DeadlineExceeded:
            message = f"Time was up when {len(self.reviewed)} of {plural(len(waiting), 'ticket')} had been reviewed."
            impact = "There may be issues in the rest, and abstractions were not all looked at."
            self.report.warn("missing_data", message, impact=impact, recovery="Allow more time, or review a part.")

    def add(self, name: str, ticket: Ticket, line: int | str, evidence: str, reason: str = "") -> None:
        """Add an issue, on a line of `ticket` or at another place; of words in one ticket the first has all places.

        With a `reason` it is a model's judgement.
        """
        rule = self.rubric.rules.get(name)
        if rule is None:  # this rubric does without it
            return
        place = line if isinstance(line, str) else f"{ticket.path}:{line}"
        key = (name, ticket.path) if rule.words else (name, ticket.path, place)
        if key in self.issues:
            also_at = (*self.issues[key].also_at, place)
            self.issues[key] = self.issues[key].model_copy(update={"also_at": also_at})
            return
        self.issues[key] = DesignIssue(
            rule=name, category=rule.category, severity=rule.severity, ticket=ticket.ticket_id or ticket.path,
            location=place, description=rule.description, evidence=one_line(_MARKS.sub("", evidence)),
            problem=reason or rule.problem, recommendation=rule.recommendation, judged_by="model" if reason else "rule",
        )  # fmt: skip

    def _find_words(self, ticket: Ticket) -> None:
        """Lines of prose that a rule with words is about, and that nothing disarms."""
        rubric, rows, id_pattern = self.rubric, ticket.rows, self.tree.vocabulary.reference
        above = self.tree.tickets_above(ticket.ticket_id)
        demands = _content(" ".join([ticket.title, *(f"{one.title} {one.text_of(*_ASKING)}" for one in above)]))
        own = {line for one in ticket.sections if one.key in _ASKING for line in range(one.line, one.end + 1)}
        own_demands = demands | _content(ticket.text_of(*_ASKING))
        for line, text in self.prose(ticket):
            for name, rule in rubric.rules.items():
                match = word_pattern(tuple(rule.words)).search(text) if rule.words else None
                if match is None or (rule.unless and word_pattern(tuple(rule.unless)).search(text)):
                    continue
                near = "\n".join(rows[max(line - 1 - _NEAR, 0) : line + _NEAR])
                if _content(match[0]) <= (demands if line in own else own_demands) or id_pattern.search(rows[line - 1]):
                    continue
                if rubric.never.search(text) or (rule.number_disarms and rubric.number.search(near)):
                    continue
                if not (rule.several_disarm and any(_are_several(match[0], one.text) for one in (ticket, *above))):
                    self.add(name, ticket, line, rows[line - 1].strip())
                    break

    def prose(self, ticket: Ticket) -> Iterator[tuple[int, str]]:
        """The lines of a ticket that say what is planned, with names masked."""
        skipped, disarmed = self.rubric.find("skipped_sections"), self.rubric.find("disarmed_by")
        parts = [one for one in ticket.sections if skipped.search(one.title)]
        left_out = {ticket.line, *self._ticked(ticket), *(row for one in parts for row in range(one.line, one.end + 1))}
        for line, text in enumerate(replace(ticket, text=mask_names(ticket.text)).rows, 1):
            is_plain = text.strip() and not text.lstrip().startswith("|") and "~~" not in text
            if is_plain and line not in left_out and not disarmed.search(text):
                yield line, text

    def _ticked(self, ticket: Ticket) -> set[int]:
        """The lines of steps that are done, where the target is not."""
        return {one.line for one in ticket.checklist if one.is_done and self.target.status not in FINISHED}

    def _find_unasked(self, ticket: Ticket) -> None:
        """Steps of a task, or the task itself, that share no word with what its story asks for."""
        story = self.tree.parent(ticket.ticket_id)
        if story is None or ticket.kind in self.tree.vocabulary.parents.values():
            return
        plain_terms = self.rubric.plain_terms
        wanted = _content(f"{story.title} {story.text_of(*_ASKING)}") - plain_terms
        if not any(one.key in _ASKING for one in story.sections) or len(wanted) < _FEWEST_TERMS:
            self.report.note(f"{code(story.ticket_id)} has no acceptance criteria to hold its tasks against.")
            return
        rows, never, ticked = ticket.rows, self.rubric.never, self._ticked(ticket)
        first_step = min((one.line for one in ticket.checklist), default=len(rows) + 1)
        title = _content(ticket.title) - plain_terms
        objective = _content(" ".join(rows[ticket.line : first_step - 1])) - plain_terms
        is_foreign = len(title & wanted) < 2 and len(objective & wanted) < self.rubric.shared_objective * len(objective)
        if is_foreign and not never.search(ticket.title):
            self.add("unasked-task", ticket, ticket.line, ticket.title)
            return
        promises, routine = wanted | title | objective | _content(story.text), self.rubric.find("routine")
        for item in ticket.checklist:
            if item.section == "acceptance_criteria" or rows[item.line - 1][:1] in {" ", "\t"}:
                continue  # a step below another belongs to that
            end = item.line
            while end < len(rows) and rows[end][:1] in {"", " ", "\t"}:
                end += 1
            block = "\n".join(rows[item.line - 1 : end])
            about = _content(block) - plain_terms
            if about & promises or len(about) < _FEWEST_TERMS or never.search(block) or routine.search(item.text):
                self.in_scope.append(one_line(item.text))
            elif item.line not in ticked:
                self.add("unasked-item", ticket, item.line, item.text)

    def _find_single_implementations(self) -> None:
        """Abstract classes with one concrete subclass, in the Python that the tickets hold or name."""
        every: list[_Class] = []
        abstract: dict[str, tuple[Ticket, _Class]] = {}
        read: dict[str, None] = {}
        for ticket in self.reviewed:
            starts = line_starts(ticket.text)
            blocks = ((match[1], bisect(starts, match.start(1)) - 1) for match in _PYTHON.finditer(ticket.text))
            own = [one for block, before in blocks for one in _classes(block, ticket.path, before)]
            every += own  # before those of files, which are read once more below
            files = [one.target for one in ticket.targets("file") if one.target not in read]
            read |= dict.fromkeys(files)
            own += [one for path in files if path.endswith(".py") for one in _classes(self.source(path), path)]
            for one in own:
                if one.is_abstract:
                    abstract.setdefault(one.name, (ticket, one))
        if unread := [code(path) for path in read if path.endswith(_OTHER_CODE)]:
            paths = ", ".join(unread[:3])
            self.report.note(f"Abstract classes are looked for in Python only, not in {paths} and the like.")
        for entry in list_files(self.workspace).files if abstract else ():
            self.check()
            if entry.path.endswith(".py") and entry.size <= _MAX_SOURCE:
                source = self.source(entry.path)
                every += _classes(source, entry.path) if any(name in source for name in abstract) else ()
        below: dict[str, list[_Class]] = {}
        for one in every:
            for base in one.bases:
                below.setdefault(base, []).append(one)
        for name, (ticket, one) in abstract.items():
            waiting, visited, concrete = [name], {name}, dict[str, _Class]()
            for base in waiting:
                others = [other for other in below.get(base, ()) if other.name not in visited]
                further = [other.name for other in others if other.is_abstract]
                waiting += further
                visited.update(further)
                concrete |= {other.name: other for other in others if not other.is_abstract}
            if len(concrete) == 1 and not self.rubric.never.search(f"{name} {one.doc}"):
                (only,) = concrete.values()
                evidence = f"`{name}` ({one.place}) has only `{only.name}` ({only.place})."
                self.add("single-implementation", ticket, one.place, evidence)

    def source(self, path: str) -> str:
        """The text of a file; empty when it cannot be read, which is said unless it is only planned."""
        try:
            return self.workspace.read_text(path, max_bytes=_MAX_SOURCE)
        except MissingFile:
            return ""
        except RetinueError as error:
            self.report.note(f"{code(path)} was not read: {quote(error.message)}")
            return ""


class ReuseFinder:
    """Knows the fixtures, helpers and tests of the project whose tickets `reviewer` has reviewed.

    What those plan although it exists becomes an issue of his. In `cache_dir` is kept what was read of a tree.
    """

    def __init__(self, reviewer: Reviewer, cache_dir: Path | None) -> None:
        self.reviewer, self.source = reviewer, cache(reviewer.source)
        self.fixtures, self.helpers, self.tests = dict[str, str](), dict[str, str](), dict[str, list[str]]()
        files, is_complete = read_names(reviewer.workspace, cache_dir)
        if not is_complete:
            reviewer.report.note("There was no time to read the names of all code: more may be there to reuse.")
        for path, one in files.items():
            self.fixtures |= dict.fromkeys(one.fixtures, path)
            functions = (*one.tops, *(name.rpartition(".")[2] for name in one.members))
            if tests := [name for name in functions if name.startswith("test_")]:
                self.tests[path] = tests
            if path.endswith(".py") and not is_test_or_vendored(path):
                self.helpers |= {name: path for name in one.tops if name.islower() and not name.startswith("_")}

    def place(self, name: str, path: str) -> ReusablePattern:
        """Where a name is defined, and the first line of its docstring."""
        text = self.source(path)
        definition = re.search(rf"^[ \t]*(?:async )?def {re.escape(name)}\b", text, re.MULTILINE)
        if definition is None:  # a fixture may have another name than its function
            return ReusablePattern(name=name, location=path)
        doc, line = _DOC.match(text, definition.end()), text.count("\n", 0, definition.end()) + 1
        return ReusablePattern(name=name, location=f"{path}:{line}", purpose=one_line(doc[1]) if doc else "")

    def find(self) -> PatternReuse:
        """What could be reused, with a score where there is a basis for one."""
        reviewed = self.reviewer.reviewed
        text = "\n".join(one.text for one in reviewed)
        mentions = {*_CODE_NAME.findall(text), *_NAME.findall(text)}
        steps = (item.text for one in reviewed for item in one.checklist)
        words = _content(" ".join([self.reviewer.target.title, *steps])) - self.reviewer.rubric.plain_terms
        new, used = self._planned_anew(), mentions & self.fixtures.keys()
        score, why = None, "No fixture is named and none is planned: there is no basis for a score."
        if total := len(used) + len(new):
            score = round(10 * len(used) / total, 1)
            band = next(word for least, word in _BANDS if score >= least)
            fixtures = plural(total, "fixture")
            why = f"Of {fixtures} named or planned {len(used)} exist, of ten that is {score:g} ({band})."
        test_words = {path: f"{path} {' '.join(names)}" for path, names in self.tests.items()}
        best = [(self.place(self.tests[path][0], path), path) for path in _best(test_words, words)[:3]]
        counts = {path: plural(len(self.tests[path]), "test") for _, path in best}
        tests = [one.model_copy(update={"name": path, "purpose": counts[path]}) for one, path in best]
        return PatternReuse(
            fixtures_available=self._available(self.fixtures, mentions, words), reuse_score=score, reuse_assessment=why,
            helpers_available=self._available(self.helpers, mentions, words), test_patterns_available=tests,
            violations=[one for one in self.reviewer.issues.values() if one.rule == "fixture-exists"],
        )  # fmt: skip

    def _available(self, places: Mapping[str, str], mentions: set[str], words: set[str]) -> list[ReusablePattern]:
        """Those that are named, then those whose names share most words."""
        names = [*sorted(places.keys() & mentions), *_best({name: name.replace("_", " ") for name in places}, words)]
        return [self.place(name, places[name]) for name in list(dict.fromkeys(names))[:_MOST_PATTERNS]]

    def _planned_anew(self) -> set[str]:
        """The names of fixtures that are planned and do not exist; what is planned although it exists is an issue."""
        rubric = self.reviewer.rubric
        empty_words = _content(" ".join(rubric.words.get("fixture_plain_words", ()))) | rubric.plain_terms
        by_words = {frozenset(key): name for name in self.fixtures if (key := _parts(name) - empty_words)}
        places = {name: self.place(name, path) for name, path in self.fixtures.items()}
        purposes = {name: _content(one.purpose) - empty_words for name, one in places.items()}
        new: set[str] = set()
        # A finished ticket may have made what is there.
        for ticket in (one for one in self.reviewer.reviewed if one.status not in FINISHED):
            for line, names, row in self._planned(ticket):
                about = _content(row) - empty_words
                same = [name for name in names if name in places]
                same += [by_words[key] for one in names if (key := frozenset(_parts(one) - empty_words)) in by_words]
                same += [name for name, key in purposes.items() if len(key) >= _FEWEST_WORDS and key <= about]
                if same:
                    one = places[same[0]]
                    sentence = f"{row} — `{one.name}` is at {one.location}{one.purpose and f': {one.purpose}'}"
                    self.reviewer.add("fixture-exists", ticket, line, sentence)
                else:
                    new |= set(names)
        return new

    def _planned(self, ticket: Ticket) -> Iterator[tuple[int, list[str], str]]:
        """Each line that plans new fixtures, with their names; of a list below such a line each row is one."""
        rubric, rows, in_list = self.reviewer.rubric, ticket.rows, False
        words, changed = rubric.find("new_fixture"), rubric.find("changed_fixture")
        for line, text in self.reviewer.prose(ticket):
            row = rows[line - 1].strip()
            in_list = in_list and row.startswith(("-", "*"))
            is_new = words.search(text) is not None and changed.search(text) is None
            if is_new or in_list:
                names = _CODE_NAME.findall(row)
                yield line, names[:1] if in_list else names, row
            in_list = in_list or (is_new and row.rstrip("*").endswith(":"))


class _Class(NamedTuple):
    name: str
    bases: list[str]
    is_abstract: bool
    place: str
    doc: str


def _classes(source: str, path: str, lines_before: int = 0) -> Iterator[_Class]:
    """The classes of a Python text; none when it does not parse, as what a ticket sketches may not."""
    try:
        nodes = list(ast.walk(ast.parse(dedent(source)))) if "class " in source else []
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in nodes:
        if isinstance(node, ast.ClassDef):
            functions = (one for one in node.body if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef))
            decorators = (mark for one in functions for mark in one.decorator_list)
            marks = [*node.bases, *(one.value for one in node.keywords), *decorators]
            doc = ast.get_docstring(node) or ""
            is_abstract = not _ABSTRACT.isdisjoint(map(_last_name, marks)) or doc.casefold().startswith("abstract ")
            place = f"{path}:{node.lineno + lines_before}"
            yield _Class(node.name, list(map(_last_name, node.bases)), is_abstract, place, doc)


def _last_name(node: ast.expr) -> str:
    node = node.value if isinstance(node, ast.Subscript) else node
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def _content(text: str) -> set[str]:
    """The terms of a text that say what it is about, cut so that `format` and `formatter` meet."""
    return {term[:_STEM] for term in terms(text) if len(term) > 1 and term not in STOP_WORDS and not term.isdecimal()}


def _are_several(words: str, text: str) -> bool:
    """Whether `text` speaks of several of what one of `words` names: `multiple providers`."""
    nouns = "|".join(re.escape(word[:_STEM]) for word in re.findall(r"\w{5,}", words)) or "(?!)"
    return re.search(rf"{_SEVERAL}(?:{nouns})", text, re.IGNORECASE) is not None


def _parts(name: str) -> set[str]:
    return _content(name.replace("_", " "))


def _best(texts: Mapping[str, str], words: set[str]) -> list[str]:
    """The keys of those texts that share enough words, best first."""
    keys, documents = list(texts), [_content(text) for text in texts.values()]
    ranked = Bm25(documents).best(sorted(words), limit=2 * _MOST_PATTERNS)
    return [keys[at] for at, _ in ranked if len(documents[at] & words) >= _SHARED]
