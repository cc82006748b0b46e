"""What a project has, taken together from the facts of its files: fixtures, tests, steps, helpers, rules.

Each is an entry: a row of a result and of a table, a sentence, and words to search. All of them can be narrowed to a
domain or a folder, and scored by how much of it is shared.

What a name leads to follows from paths and imports alone; nothing is imported. Fixtures follow pytest's own rules of
nearness: class before module, module before the `conftest.py` of its folder, that before those above it; what is
imported counts as defined. A module that is neither test nor `conftest.py` gives its fixtures to all, as a plugin does,
and where several could be meant the nearest. A fixture that asks for its own name gets the next one further out.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import translate
from glob import escape
from posixpath import commonpath
from typing import Any, Final, Generic, TypeAlias, TypeVar

from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.contract.model import JsonMapping
from retinue.tools.search.bm25 import terms
from retinue.tools.search.passages import is_test
from retinue.tools.structure.graph import absolute_name, python_names

from .file_facts import CaseFacts, FileFacts, Fixture, PublicSymbol, RuleSentence, StepSentence
from .parameters import Domain

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
_BUILT_IN: Final = """
    cache capfd capfdbinary caplog capsys capsysbinary capteesys doctest_namespace monkeypatch pytestconfig pytester
    record_property record_testsuite_property record_xml_attribute recwarn request subtests testdir tmp_path
    tmp_path_factory tmpdir tmpdir_factory
"""
BUILT_IN: Final = frozenset(_BUILT_IN.split())
"""The fixtures that pytest itself has."""
LIST_LIMIT: Final = 500
"""Rows of one list of a result; its `is_included` say how many there are."""
_USERS: Final = 2
"""What so many others use is shared."""
_END_TO_END: Final = re.compile(
    r"(?i)(?<![^/_.-])(?:e2e|end[_-]to[_-]end|integration|acceptance|functional|features?|bdd|system|ui)(?![^/_.-])"
)
"""What a folder, or a part of a file's name, is called whose tests go through everything."""
_FIELD: Final = re.compile(r"\{[^{}]*\}")
_GAP: Final = re.compile(
    r"""(?x)(?: \((?:[^()]|\([^()]*\))*\) | \[[^\]]*\] | \\[A-Za-z0-9] | \\?.(?=[*?+{]) | [.|^$(){}\[\]*?+] )
        [*?+]? (?:\{[^}]*\})?"""
)
"""What is no literal word in a regular expression: groups, classes, and whatever is repeated and so may be missing."""
_MOST_NEW: Final = 20
_SURVEY_BASIS: Final = "10 times the share of what tests ask for that is pytest's own or has at least two users."
_WORDS_BASIS: Final = "10 times the share of the request's words, weighted by rarity (idf), that the matches have."


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
    sentence: str
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

    def add_to(self, report: SkillReport, *, confidence: float | None = None) -> None:
        """Add its sentence to a report."""
        report.add(self.topic, self.sentence, source=self.place, confidence=confidence)


def add_table(entries: Sequence[PatternEntry[Any]], title: str, report: SkillReport) -> None:
    """Add entries of one topic as a table, and as what the answer is about."""
    report.add_subjects([one.name for one in entries])
    if entries:
        columns = _COLUMNS[entries[0].topic]
        cells = [[", ".join(one.row[key]) if key in _LISTS else one.row[key] for key in columns] for one in entries]
        rows = [[*each, one.place] for each, one in zip(cells, entries, strict=True)]
        report.add_table(title, [*(name.replace("_", " ") for name in columns), "place"], rows)


class Modules:
    """The modules of one project, given by path. Where two files could be meant, the one nearer to the importer is."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._symbols = {
            path: {one.symbol for one in file.symbols} for path, file in files.items() if path.endswith(".py")
        }
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._symbols):
            for name in python_names(path, self._symbols):
                self._by_name.setdefault(name, []).append(path)
        self._bound: dict[str, dict[str, str]] = {}  # what the names that a file imports stand for
        for path in self._symbols:
            imports = files[path].imports
            stars = [absolute_name(one.target, path).removesuffix(".*") for one in imports if one.bound == "*"]
            modules = [(star, self._module(star, path)) for star in stars]
            names = {name: f"{star}.{name}" for star, module in modules for name in self._symbols.get(module or "", ())}
            self._bound[path] = names | {one.bound: one.target for one in imports}

    def symbol(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The file and name of what `dotted` stands for, re-exports followed; None when it is not of this project."""
        for _ in range(8):  # so that circles end
            parts = absolute_name(dotted, importer).split(".")
            ends = range(len(parts) - 1, 0, -1)  # the longest beginning that is a module, and the name after it
            splits = ((self._module(".".join(parts[:end]), importer), parts[end]) for end in ends)
            path, name = next((one for one in splits if one[0] is not None), (None, ""))
            if path is None:
                return None
            target = None if name in self._symbols[path] else self._bound[path].get(name)
            if target is None:
                return path, name
            dotted, importer = target, path
        return None

    def _module(self, dotted: str, importer: str) -> str | None:
        paths = self._by_name.get(dotted, ())
        return max(paths, key=lambda path: (len(commonpath((path, importer))), -len(path)), default=None)


@dataclass(slots=True, eq=False)
class FixtureUse:
    """A fixture, where it stands, and who asks for it.

    Attributes:
        requested_by: Tests and fixtures that name it, as path and name, with the line.
    """

    fixture: Fixture
    path: str
    requested_by: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    @property
    def files(self) -> list[str]:
        """The files from which it is asked for, sorted."""
        return sorted({path for path, _ in self.requested_by})


def _start(path: str, file: FileFacts) -> str:
    """How the places begin from which a module's fixtures can be seen."""
    if path.rpartition("/")[2] == "conftest.py":
        return f"/{path.removesuffix('conftest.py')}"
    return node_of(path, "") if file.tests else ""


def node_of(path: str, owner: str) -> str:
    """A file or a class in it as one text, which begins with that of whatever is around it."""
    return f"/{path}::{owner}::" if owner else f"/{path}::"


class Scopes:
    """Every fixture of a project by the place from which it can be seen, and who asks for it."""

    def __init__(self, files: Mapping[str, FileFacts], modules: Modules) -> None:
        self.fixtures = [FixtureUse(one, path) for path, file in files.items() for one in file.fixtures]
        self._by_name: dict[str, dict[tuple[str, str], FixtureUse]] = {}
        self._cache: dict[tuple[str, str], list[FixtureUse]] = {}
        top = {(one.path, one.fixture.name): one for one in self.fixtures if not one.fixture.owner}
        for one in self.fixtures:
            start = node_of(one.path, one.fixture.owner) if one.fixture.owner else _start(one.path, files[one.path])
            # The last definition of a name in a module is the one that counts, as in Python.
            self._by_name.setdefault(one.fixture.name, {})[start, one.path] = one
        names = {*self._by_name}
        for path, file in files.items():
            for one in file.imports:  # most are of something else
                place = modules.symbol(one.target, path) if one.target.rpartition(".")[2] in names else None
                if place in top:
                    self._by_name.setdefault(one.bound, {})[_start(path, file), path] = top[place]
        # What a fixture asks for is looked up from each test that gets it, as pytest does: a module may put its own
        # fixture in place of the one that a `conftest.py` would give to another.
        waiting = [(one, node_of(one.path, one.fixture.owner)) for one in self.fixtures]
        for path, file in files.items():
            for case in file.tests:
                node = node_of(path, case.owner)
                for one in [each for name in case.requests for each in self.resolve(name, node)[:1]]:
                    one.requested_by[path, case.name] = case.line
                    waiting.append((one, node))
        visited: set[tuple[FixtureUse, str]] = set()
        while waiting:
            one, node = waiting.pop()
            if (one, node) not in visited:
                visited.add((one, node))
                for dependency in self.dependencies_of(one, node):
                    dependency.requested_by[one.path, one.fixture.name] = one.fixture.line_start
                    waiting.append((dependency, node))

    def resolve(self, name: str, node: str) -> list[FixtureUse]:
        """What `name` means at a place: the nearest first, then those it hides."""
        if (name, node) not in self._cache:
            matches = [
                (len(start), len(commonpath((f"/{path}", node))), one)
                for (start, path), one in self._by_name.get(name, {}).items()
                if node.startswith(start)
            ]
            self._cache[name, node] = [one for *_, one in sorted(matches, key=lambda each: each[:2], reverse=True)]
        return self._cache[name, node]

    def dependencies_of(self, one: FixtureUse, node: str = "") -> list[FixtureUse]:
        """The fixtures that a fixture asks for, as they are seen from a place, or from where it stands."""
        fixtures: list[FixtureUse] = []
        for name in one.fixture.depends_on:
            candidates = self.resolve(name, node or node_of(one.path, one.fixture.owner))
            fixtures += candidates[candidates.index(one) + 1 :][:1] if one in candidates else candidates[:1]
        return fixtures


def users_of(one: FixtureUse) -> str:
    """By how many a fixture is used, as the end of a sentence."""
    if not one.requested_by:
        return "is used by every test it can be seen from" if one.fixture.autouse else "is not used"
    users = plural(len(one.requested_by), "test or fixture", "tests and fixtures")
    return f"is used by {users} in {plural(len(one.files), 'file')}"


def _fixture_entry(one: FixtureUse) -> PatternEntry[FixtureUse]:
    """A fixture."""
    fixture = one.fixture
    row = _row(fixture, path=one.path, used_in=one.files[:_FILES], uses=len(one.requested_by))
    gives = f" gives {code(fixture.yields)}," if fixture.yields else ""
    sentence = f"{code(fixture.name)}{gives} {users_of(one)}{_doc(fixture.doc)}."
    # What it gives counts twice.
    scope = fixture.scope.replace("function", "")
    text = " ".join([fixture.yields] * 2 + [fixture.doc, *fixture.params, *fixture.depends_on, scope])
    return PatternEntry(one, "fixture", fixture.name, one.path, fixture.line_start, row, sentence, fixture.name, text)


def _step_entry(step: StepSentence, path: str, used_in: Sequence[str] = ()) -> PatternEntry[StepSentence]:
    """A step of behaviour-driven tests, with the lines of feature files that it fits."""
    row = _row(step, path=path, used_in=list(used_in[:_FILES]), uses=len(used_in))
    sentence = f"{step.kind.capitalize()} {code(step.text)}: {plural(len(used_in), 'use')}."
    return PatternEntry(step, "step", step.text, path, step.line, row, sentence, step.text, path)


def rule_entry(rule: RuleSentence, path: str) -> PatternEntry[RuleSentence]:
    """A sentence of a document that says what must not be done."""
    row, sentence = _row(rule, path=path), quote(rule.text)
    return PatternEntry(rule, "prohibition", path, path, rule.line, row, sentence, rule.text, path)


def _row(fact: Fixture | StepSentence | PublicSymbol | RuleSentence, **more: Any) -> JsonMapping:
    """The fields of a fact that are shown, printable, and more."""
    fields = [(name, value) for name, value in fact._asdict().items() if name not in ("owner", "form")]
    return {name: one_line(value) if isinstance(value, str) else value for name, value in fields} | more


def _doc(text: str) -> str:
    """A docstring as the end of a sentence."""
    return f": {quote(text.rstrip('.'), limit=120)}" if text else ""


_Step: TypeAlias = PatternEntry[StepSentence]


@dataclass(slots=True)
class Inventory:
    """Everything that was found.

    Attributes:
        files: Their facts, by path.
        patterns: The files that have tests written in each way, those with most first.
        undefined: Lines of feature files that no step fits.
    """

    files: Mapping[str, FileFacts]
    scopes: Scopes
    fixtures: list[PatternEntry[FixtureUse]]
    tests: list[PatternEntry[CaseFacts]]
    patterns: list[PatternEntry[str]]
    steps: list[_Step]
    undefined: list[_Step]
    helpers: list[PatternEntry[Any]]
    rules: list[PatternEntry[Any]]

    def lists(self) -> dict[str, Sequence[PatternEntry[Any]]]:
        """The lists of a result."""
        return {
            "fixtures": self.fixtures,
            "test_patterns": self.patterns,
            "steps": self.steps,
            "helpers": self.helpers,
            "anti_patterns": self.rules,
        }

    def rows(self, scores: Mapping[PatternEntry[Any], float]) -> JsonMapping:
        """The rows of these lists, each up to a bound; when there are scores the best first, with their relevance."""
        rows: JsonMapping = {}
        for name, entries in self.lists().items():
            best = sorted(entries, key=lambda one: -scores.get(one, 0.0))[:LIST_LIMIT]
            rows[name] = [{**one.row, "relevance": scores.get(one, 0.0)} if scores else one.row for one in best]
        return rows


def build_inventory(files: Mapping[str, FileFacts]) -> Inventory:
    """Put the facts of all files together, given by path."""
    modules = Modules(files)
    scopes = Scopes(files, modules)
    steps, undefined = _steps(files)
    tests: list[PatternEntry[CaseFacts]] = []
    patterns: list[PatternEntry[str]] = []
    for path, file in files.items():
        for case in file.tests:
            row: JsonMapping = {"name": case.name, "mocks": list(case.mocks), "asserts": case.asserts}
            sentence = f"{code(case.name)} has {plural(case.asserts, 'assertion')}{_doc(case.doc)}."
            text = " ".join([case.doc, *case.words, *case.requests, path.rpartition("/")[2].removesuffix(".py")])
            heading = case.name.replace("_", " ")  # one long word is taken for a hash
            tests.append(PatternEntry(case, "test", case.name, path, case.line, row, sentence, heading, text))
        for kind in PATTERNS:
            if cases := [case for case in file.tests if kind in case.patterns]:
                lines = [f"{case.line}-{case.end}" for case in cases[:_FILES]]
                row = {"kind": kind, "path": path, "lines": lines, "count": len(cases)}
                sentence = f"{code(path)} has {plural(len(cases), *PATTERNS[kind])}."
                text = f"{kind} " + " ".join(f"{case.name} {case.doc}" for case in cases).replace("_", " ")
                line = cases[0].line
                patterns.append(PatternEntry(kind, "test pattern", path, path, line, row, sentence, path, text))
    return Inventory(
        files=files,
        scopes=scopes,
        fixtures=sorted(map(_fixture_entry, scopes.fixtures), key=lambda one: (-one.uses, one.name, one.path)),
        tests=tests,
        patterns=sorted(patterns, key=lambda one: ([*PATTERNS].index(one.fact), -one.row["count"], one.path)),
        steps=steps,
        undefined=undefined,
        helpers=_helpers(files, modules),
        rules=[rule_entry(rule, path) for path, file in files.items() for rule in file.rules],
    )


def _steps(files: Mapping[str, FileFacts]) -> tuple[list[_Step], list[_Step]]:
    """Every step with the lines it fits, and the lines that none does."""
    steps = [(step, path, list[str]()) for path, file in files.items() for step in file.steps]
    matchers: dict[str, list[tuple[re.Pattern[str], list[str]]]] = {}
    for step, _, used_in in steps:
        matchers.setdefault(step.kind, []).append((matcher_of(step), used_in))
    undefined: list[_Step] = []
    for path, file in files.items():
        for phrase in file.phrases:
            near = [*matchers.get(phrase.kind, ()), *matchers.get("step", ())]
            uses = [used_in for matcher, used_in in near if matcher.match(phrase.text)]
            for used_in in uses:
                used_in.append(f"{path}:{phrase.line}")
            undefined += [] if uses else [_step_entry(phrase, path)]
    return sorted((_step_entry(*one) for one in steps), key=lambda one: (-one.uses, one.path, one.line)), undefined


def matcher_of(step: StepSentence) -> re.Pattern[str]:
    """What the lines look like that a step fits. It takes no longer than the line is long, whatever the step says."""
    pieces = [step.text]
    if step.form == "parse":
        pieces = _FIELD.split(step.text)
    elif step.form == "re":
        literal = _GAP.split(step.text.removeprefix("^").removesuffix("$"))
        pieces = [piece.replace("\\", "") for piece in literal]
    return re.compile(translate("*".join(map(escape, pieces))))


def _helpers(files: Mapping[str, FileFacts], modules: Modules) -> list[PatternEntry[Any]]:
    """Public symbols that at least two other files use."""
    users: dict[tuple[str, str], set[str]] = {}
    names = {symbol.symbol for file in files.values() for symbol in file.symbols}
    for path, file in files.items():
        # A package's `__init__` hands names on; that alone is no use of them.
        is_package = path.endswith("__init__.py")
        imports = [one.target for one in file.imports if one.bound != "*" and (one.used or not is_package)]
        for dotted in (*imports, *file.dotted):
            place = None if names.isdisjoint(dotted.split(".")) else modules.symbol(dotted, path)
            if place is not None and place[0] != path:
                users.setdefault(place, set()).add(path)
    helpers: list[PatternEntry[Any]] = []
    for path, file in files.items():
        for one in file.symbols:
            used_in = sorted(users.get((path, one.symbol), ()))
            if len(used_in) < _USERS:
                continue
            kind = "test" if is_test(path) else "source"
            row = _row(one, path=path, kind=kind, used_in=used_in[:_FILES], uses=len(used_in))
            sentence = f"{code(one.signature)}, used in {plural(len(used_in), 'other file')}{_doc(one.doc)}."
            text = f"{one.doc} {one.signature} {path}"
            helpers.append(PatternEntry(one, "helper", one.symbol, path, one.line, row, sentence, one.symbol, text))
    return sorted(helpers, key=lambda one: (-one.uses, one.name, one.path))


def narrow(whole: Inventory, domain: Domain | None, folder: str) -> Inventory:
    """What belongs to a domain when one is named, and lies in a folder (or is the file); `.` is all of the project."""
    users = {one.path for one in whole.tests if _domain_of(one) == domain}

    def is_included(one: PatternEntry[Any]) -> bool:
        is_asked = isinstance(one.fact, FixtureUse) and not users.isdisjoint(one.fact.files)
        is_inside = folder == "." or f"{one.path}/".startswith(f"{folder}/")
        return is_inside and (is_asked or domain in (None, _domain_of(one)))

    lists = ("fixtures", "tests", "patterns", "steps", "undefined", "helpers", "rules")
    return replace(whole, **{name: [*filter(is_included, getattr(whole, name))] for name in lists})


def _domain_of(one: PatternEntry[Any]) -> Domain:
    if one.topic == "prohibition":
        return "documentation"
    if one.topic == "helper" and not is_test(one.path):
        return "source-code"
    return "e2e-testing" if one.topic == "step" or _END_TO_END.search(one.path) else "unit-testing"


def reuse_of(inventory: Inventory) -> JsonMapping:
    """How much of what the project's tests ask for is shared: score, band, basis, and what is not."""
    new = [_need("step", one.name, "no step fits this line", one.place) for one in inventory.undefined]
    requests, shared_count = len(new), 0
    for test in inventory.tests:
        for name in test.fact.requests:
            fixture = next(iter(inventory.scopes.resolve(name, node_of(test.path, test.fact.owner))), None)
            is_shared = len(fixture.requested_by) >= _USERS if fixture else name in BUILT_IN
            requests += bool(fixture) or is_shared
            shared_count += is_shared
            if fixture and not is_shared:
                place = f"{fixture.path}:{fixture.fixture.line_start}"
                new.append(_need("fixture", name, "only one test uses it", place))
    for one in inventory.steps:
        requests += one.uses
        shared_count += one.uses if one.uses >= _USERS else 0
        new += [_need("step", one.name, "only one line uses it", one.place)] if one.uses == 1 else []
    return _reuse(shared_count / requests if requests else None, _SURVEY_BASIS, new)


def reuse_of_words(share: float, missing: Iterable[str], kind: str) -> JsonMapping:
    """The same for a request in words, by the share of them that matches have and the words that none has."""
    reason = "nothing that was found has this word"
    return _reuse(share, _WORDS_BASIS, [_need(kind, word, reason) for word in missing])


def _reuse(share: float | None, basis: str, new: Sequence[JsonMapping]) -> JsonMapping:
    if share is None:
        return {"reuse_basis": basis}
    # Only when really all of it exists is it ten.
    score = 10 if share >= 1 else min(9, round(10 * share))
    bands = {10: "all existing", 7: "mostly existing", 4: "mixed", 0: "novel"}
    band = next(band for least, band in bands.items() if score >= least)
    reuse: JsonMapping = {"reuse_basis": basis, "reuse_score": score, "reuse_band": band}
    return reuse if score >= 7 else {**reuse, "new_patterns": list(new[:_MOST_NEW])}


def _need(kind: str, need: str, reason: str, source: str | None = None) -> JsonMapping:
    return {"kind": kind, "need": need, "reason": reason} | ({"source": source} if source else {})
