"""How the things of a project are shown: as a row of a result and of a table, as a sentence, and as words to search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from retinue.catalogue._prose import Piece, code, one_line, quote
from retinue.catalogue._report import Report, plural
from retinue.catalogue.pattern_discovery.facts import CaseFacts, PublicSymbol, RuleSentence, StepDefinition
from retinue.catalogue.pattern_discovery.resolution import FixtureUse
from retinue.contract.model import JsonMapping
from retinue.tools.search import terms

__all__ = [
    "PATTERNS", "PatternEntry", "TestPlace", "fixture_entry", "helper_entry", "pattern_entry", "rule_entry",
    "say_table", "step_entry", "test_entry", "users_of",
]  # fmt: skip

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
_COLUMNS: Final[Mapping[str, Mapping[str, str]]] = {
    "fixture": {
        "fixture": "name", "gives": "yields", "depends on": "depends_on", "scope": "scope", "uses": "uses",
    },
    "test": {"test": "name", "mocks": "mocks", "asserts": "asserts"},
    "test pattern": {"file": "path", "tests": "count"},
    "step": {"kind": "kind", "text": "text", "uses": "uses"},
    "helper": {"symbol": "symbol", "signature": "signature", "users": "uses"},
    "prohibition": {"text": "text"},
}  # fmt: skip
"""The columns of a table by topic, each with the field of a row that stands in it."""


@dataclass(frozen=True, slots=True)
class TestPlace:
    """A test and its file."""

    __test__ = False

    path: str
    case: CaseFacts


@dataclass(frozen=True, slots=True)
class PatternEntry:
    """One thing, as it is shown.

    Attributes:
        row: Its fields in the result.
        template: Its sentence, with `{}` where the pieces stand.
        texts: By which it is found, each with how much it counts.
    """

    topic: str
    name: str
    path: str
    line: int
    row: JsonMapping
    template: str
    pieces: Sequence[Piece]
    texts: Sequence[tuple[str, int]]

    @property
    def place(self) -> str:
        """Its path and line."""
        return f"{self.path}:{self.line}"

    @property
    def uses(self) -> int:
        """How many use it, as far as that is counted."""
        return self.row.get("uses", 0)

    def terms(self) -> list[str]:
        """The search terms of its texts, each as often as it counts."""
        return [term for text, times in self.texts for term in terms(text) * times]

    def say(self, report: Report, *, confidence: float | None = None) -> None:
        """Add its sentence to a report."""
        report.say(self.topic, self.template, *self.pieces, source=self.place, confidence=confidence)


def say_table(entries: Sequence[PatternEntry], title: str, report: Report) -> None:
    """Add entries of one topic as a table, and as what the answer is about."""
    report.about([one.name for one in entries])
    if entries:
        columns = _COLUMNS[entries[0].topic]
        cells = [[*(_cell(one.row[key]) for key in columns.values()), one.place] for one in entries]
        report.table(title, (*columns, "place"), cells)


def _cell(value: Any) -> Any:
    return ", ".join(value) if isinstance(value, list) else value  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType] - of a row


def users_of(one: FixtureUse) -> str:
    """By how many a fixture is used, as the end of a sentence."""
    if not one.asked_by:
        return "is used by every test it can be seen from" if one.fixture.autouse else "is used by nobody"
    users = plural(len(one.asked_by), "test or fixture", "tests and fixtures")
    return f"is used by {users} in {plural(len(one.files), 'file')}"


def fixture_entry(one: FixtureUse) -> PatternEntry:
    """A fixture."""
    fixture = one.fixture
    row: JsonMapping = {
        "name": one_line(fixture.name),
        "path": one.path,
        "line_start": fixture.line,
        "line_end": fixture.end,
        "doc": one_line(fixture.doc),
        "scope": fixture.scope,
        "autouse": fixture.autouse,
        "params": list(fixture.params),
        "yields": one_line(fixture.gives),
        "tears_down": fixture.tears_down,
        "depends_on": [one_line(name) for name in fixture.depends_on],
        "used_in": one.files[:_FILES],
        "uses": len(one.asked_by),
        **({"class": fixture.owner} if fixture.owner else {}),
    }
    gives, about_gives = ([code(fixture.gives)], "gives {}, ") if fixture.gives else ([], "")
    doc, end = _doc(fixture.doc)
    others = [*fixture.params, *fixture.depends_on, *([fixture.scope] if fixture.scope != "function" else [])]
    texts = [(fixture.name, 3), (fixture.gives, 2), (fixture.doc, 1), (" ".join(others), 1)]
    template = f"{{}} {about_gives}{users_of(one)}{end}"
    return PatternEntry(
        "fixture", fixture.name, one.path, fixture.line, row, template, [code(fixture.name), *gives, *doc], texts
    )


def test_entry(one: TestPlace) -> PatternEntry:
    """A test."""
    case, name = one.case, one.case.qualified_name
    doc, end = _doc(case.doc)
    row: JsonMapping = {"name": name, "mocks": list(case.mocks), "asserts": case.asserts}
    texts = [
        (f"{case.name.removeprefix('test')} {case.owner.removeprefix('Test')}", 3),
        (f"{case.doc} {' '.join([*case.words, *case.requests])} {one.path.rpartition('/')[2].removesuffix('.py')}", 1),
    ]
    template = f"{{}} has {plural(case.asserts, 'assertion')}{end}"
    return PatternEntry("test", name, one.path, case.line, row, template, [code(name), *doc], texts)


def pattern_entry(kind: str, path: str, cases: Sequence[CaseFacts]) -> PatternEntry:
    """The tests of one file that are written in one way."""
    row: JsonMapping = {
        "kind": kind,
        "path": path,
        "lines": [f"{case.line}-{case.end}" for case in cases[:_FILES]],
        "count": len(cases),
    }
    if kind == "mock":
        row["by"] = list(dict.fromkeys(name for case in cases for name in case.mocks))
    names = " ".join(f"{case.name.removeprefix('test')} {case.doc}" for case in cases)
    template = f"{{}} has {plural(len(cases), *PATTERNS[kind])}."
    texts = [(kind, 1), (path, 2), (names, 1)]
    return PatternEntry("test pattern", path, path, cases[0].line, row, template, [code(path)], texts)


def step_entry(step: StepDefinition, path: str, used_in: Sequence[str]) -> PatternEntry:
    """A step of behaviour-driven tests, with the lines of feature files that it fits."""
    row: JsonMapping = {"kind": step.kind, "text": one_line(step.text), **_used(path, step.line, used_in)}
    template = f"{step.kind.capitalize()} {{}}: {plural(len(used_in), 'use')}."
    return PatternEntry(
        "step", step.text, path, step.line, row, template, [code(step.text)], [(step.text, 2), (path, 1)]
    )


def helper_entry(symbol: PublicSymbol, path: str, kind: str, used_in: Sequence[str]) -> PatternEntry:
    """A public symbol of a module, with the other files that use it. `kind` is `source` or `test`."""
    texts = {"symbol": symbol.name, "kind": kind, "signature": one_line(symbol.signature), "doc": one_line(symbol.doc)}
    doc, end = _doc(symbol.doc)
    template = f"{{}}, used in {plural(len(used_in), 'other file')}{end}"
    return PatternEntry(
        "helper",
        symbol.name,
        path,
        symbol.line,
        {**texts, **_used(path, symbol.line, used_in)},
        template,
        [code(symbol.signature), *doc],
        [(symbol.name, 3), (f"{symbol.doc} {symbol.signature} {path}", 1)],
    )


def rule_entry(rule: RuleSentence, path: str) -> PatternEntry:
    """A sentence of a document that says what must not be done."""
    row = {"text": one_line(rule.text), "path": path, "line": rule.line}
    return PatternEntry(
        "prohibition", path, path, rule.line, row, "{}", [quote(rule.text)], [(rule.text, 1), (path, 1)]
    )


def _used(path: str, line: int, used_in: Sequence[str]) -> JsonMapping:
    return {"path": path, "line": line, "used_in": list(used_in[:_FILES]), "uses": len(used_in)}


def _doc(text: str) -> tuple[list[Piece], str]:
    """A docstring as the end of a sentence."""
    return ([quote(text.rstrip("."), longest=120)], ": {}.") if text else ([], ".")
