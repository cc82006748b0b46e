"""How the things of a project are shown: as a row of a result and of a table, as a sentence, and as words to search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Generic, TypeVar

from retinue.catalogue._prose import Prose, code, one_line, quote
from retinue.catalogue._report import Report, plural
from retinue.contract.model import JsonMapping
from retinue.tools.search import terms

from .facts import CaseFacts, Fixture, PublicSymbol, RuleSentence, StepSentence
from .resolution import FixtureUse

__all__ = [
    "PATTERNS", "PatternEntry", "fixture_entry", "helper_entry", "pattern_entry", "rule_entry", "say_table",
    "step_entry", "test_entry", "users_of",
]  # fmt: skip

F = TypeVar("F")

PATTERNS: Final[Mapping[str, tuple[str, str]]] = {
    "parametrize": ("parametrized test", "parametrized tests"),
    "mock": ("test that replaces something by a mock", "tests that replace something by a mock"),
    "aaa": ("test in three parts (arrange, act, assert)", "tests in three parts (arrange, act, assert)"),
    "class": ("test in a class", "tests in classes"),
    "unittest": ("test of a `unittest` class", "tests of `unittest` classes"),
    "raises": ("test that expects an exception or warning", "tests that expect an exception or warning"),
    "property": ("property test (Hypothesis)", "property tests (Hypothesis)"),
}
"""The ways of writing a test that are told apart, and what one such test, and several, are called."""

_FILES: Final = 20
_LISTS: Final = ("depends_on", "mocks")
_COLUMNS: Final[Mapping[str, Sequence[str]]] = {
    "fixture": ("name", "yields", "depends_on", "scope", "uses"),
    "test": ("name", "mocks", "asserts"),
    "test pattern": ("path", "count"),
    "step": ("kind", "text", "uses"),
    "helper": ("symbol", "signature", "uses"),
    "prohibition": ("text",),
}
"""The fields of a row that stand in a table, by topic."""


@dataclass(frozen=True, eq=False, slots=True)
class PatternEntry(Generic[F]):
    """One thing, as it is shown.

    Attributes:
        fact: What it is.
        row: Its fields in the result.
        heading: By which it is found first: these words count three times.
        text: By which it is found, too.
    """

    fact: F
    topic: str
    name: str
    path: str
    line: int
    row: JsonMapping
    sentence: Prose
    heading: str
    text: str = ""

    @property
    def place(self) -> str:
        """Its path and line."""
        return f"{self.path}:{self.line}"

    @property
    def uses(self) -> int:
        """How many use it, as far as that is counted."""
        return self.row.get("uses", 0)

    def terms(self) -> list[str]:
        """The search terms of its words, each as often as it counts."""
        return terms(self.heading) * 3 + terms(self.text)

    def say(self, report: Report, *, confidence: float | None = None) -> None:
        """Add its sentence to a report."""
        report.say(self.topic, "{}", self.sentence, source=self.place, confidence=confidence)


def say_table(entries: Sequence[PatternEntry[Any]], title: str, report: Report) -> None:
    """Add entries of one topic as a table, and as what the answer is about."""
    report.about([one.name for one in entries])
    if entries:
        columns = _COLUMNS[entries[0].topic]
        cells = [[", ".join(one.row[key]) if key in _LISTS else one.row[key] for key in columns] for one in entries]
        rows = [[*each, one.place] for each, one in zip(cells, entries, strict=True)]
        report.table(title, [*(name.replace("_", " ") for name in columns), "place"], rows)


def users_of(one: FixtureUse) -> str:
    """By how many a fixture is used, as the end of a sentence."""
    if not one.asked_by:
        return "is used by every test it can be seen from" if one.fixture.autouse else "is used by nobody"
    users = plural(len(one.asked_by), "test or fixture", "tests and fixtures")
    return f"is used by {users} in {plural(len(one.files), 'file')}"


def fixture_entry(one: FixtureUse) -> PatternEntry[FixtureUse]:
    """A fixture."""
    fixture = one.fixture
    row = _row(fixture, path=one.path, used_in=one.files[:_FILES], uses=len(one.asked_by))
    gives = Prose(" gives {},", (code(fixture.yields),)) if fixture.yields else ""
    sentence = Prose("{}{} {}{}.", (code(fixture.name), gives, users_of(one), _doc(fixture.doc)))
    # What it gives counts twice.
    scope = fixture.scope.replace("function", "")
    text = " ".join([fixture.yields] * 2 + [fixture.doc, *fixture.params, *fixture.depends_on, scope])
    return PatternEntry(one, "fixture", fixture.name, one.path, fixture.line_start, row, sentence, fixture.name, text)


def test_entry(case: CaseFacts, path: str) -> PatternEntry[CaseFacts]:
    """A test."""
    row: JsonMapping = {"name": case.name, "mocks": list(case.mocks), "asserts": case.asserts}
    sentence = Prose(f"{{}} has {plural(case.asserts, 'assertion')}{{}}.", (code(case.name), _doc(case.doc)))
    text = " ".join([case.doc, *case.words, *case.requests, path.rpartition("/")[2].removesuffix(".py")])
    heading = case.name.replace("_", " ")  # one long word is taken for a hash
    return PatternEntry(case, "test", case.name, path, case.line, row, sentence, heading, text)


def pattern_entry(kind: str, path: str, cases: Sequence[CaseFacts]) -> PatternEntry[str]:
    """The tests of one file that are written in one way."""
    lines = [f"{case.line}-{case.end}" for case in cases[:_FILES]]
    row: JsonMapping = {"kind": kind, "path": path, "lines": lines, "count": len(cases)}
    sentence = Prose(f"{{}} has {plural(len(cases), *PATTERNS[kind])}.", (code(path),))
    names = " ".join(f"{case.name} {case.doc}" for case in cases).replace("_", " ")
    return PatternEntry(kind, "test pattern", path, path, cases[0].line, row, sentence, path, f"{kind} {names}")


def step_entry(step: StepSentence, path: str, used_in: Sequence[str] = ()) -> PatternEntry[StepSentence]:
    """A step of behaviour-driven tests, with the lines of feature files that it fits."""
    row = _row(step, path=path, used_in=list(used_in[:_FILES]), uses=len(used_in))
    sentence = Prose(f"{step.kind.capitalize()} {{}}: {plural(len(used_in), 'use')}.", (code(step.text),))
    return PatternEntry(step, "step", step.text, path, step.line, row, sentence, step.text, path)


def helper_entry(one: PublicSymbol, path: str, kind: str, used_in: Sequence[str]) -> PatternEntry[PublicSymbol]:
    """A public symbol of a module, with the other files that use it. `kind` is `source` or `test`."""
    row = _row(one, path=path, kind=kind, used_in=list(used_in[:_FILES]), uses=len(used_in))
    sentence = Prose(f"{{}}, used in {plural(len(used_in), 'other file')}{{}}.", (code(one.signature), _doc(one.doc)))
    text = f"{one.doc} {one.signature} {path}"
    return PatternEntry(one, "helper", one.symbol, path, one.line, row, sentence, one.symbol, text)


def rule_entry(rule: RuleSentence, path: str) -> PatternEntry[RuleSentence]:
    """A sentence of a document that says what must not be done."""
    row, sentence = _row(rule, path=path), Prose("{}", (quote(rule.text),))
    return PatternEntry(rule, "prohibition", path, path, rule.line, row, sentence, rule.text, path)


def _row(fact: Fixture | StepSentence | PublicSymbol | RuleSentence, **more: Any) -> JsonMapping:
    """The fields of a fact that are shown, printable, and more."""
    fields = [(name, value) for name, value in fact._asdict().items() if name not in ("owner", "form")]
    return {name: one_line(value) if isinstance(value, str) else value for name, value in fields} | more


def _doc(text: str) -> Prose | str:
    """A docstring as the end of a sentence."""
    return Prose(": {}", (quote(text.rstrip("."), longest=120),)) if text else ""
