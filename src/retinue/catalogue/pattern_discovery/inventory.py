"""What a project has, taken together from the facts of its files: fixtures with their users, steps, helpers, rules."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Case, FileFacts, Phrase, Rule, Step, Symbol
from retinue.catalogue.pattern_discovery.modules import Modules
from retinue.catalogue.pattern_discovery.read_step import fits, pieces_of
from retinue.catalogue.pattern_discovery.scoping import Known, Scopes, connect
from retinue.tools.search.kinds import is_test

__all__ = ["PATTERNS", "Helper", "Inventory", "Pattern", "StepUse", "TestPlace", "take", "tests_of"]

PATTERNS: Final[Mapping[str, str]] = {
    "parametrize": "parametrized tests",
    "mock": "tests that replace something by a mock",
    "aaa": "tests in three parts (arrange, act, assert)",
    "class": "tests in classes",
    "unittest": "tests of `unittest` classes",
    "raises": "tests that expect an exception or warning",
    "property": "property tests (Hypothesis)",
}
"""The ways of writing a test that are told apart, and what such tests are called."""

_USERS: Final = 2


@dataclass(frozen=True, slots=True)
class TestPlace:
    """A test and its file."""

    __test__ = False

    path: str
    case: Case

    @property
    def name(self) -> str:
        """Its name, with its class's before it."""
        return f"{self.case.owner}::{self.case.name}" if self.case.owner else self.case.name

    @property
    def place(self) -> str:
        """Its path and line."""
        return f"{self.path}:{self.case.line}"


@dataclass(frozen=True, slots=True)
class Pattern:
    """The tests of one file that are written in one way."""

    kind: str
    path: str
    tests: Sequence[Case]


@dataclass(slots=True)
class StepUse:
    """A step and the lines of feature files that it fits."""

    step: Step
    path: str
    used_in: list[str] = field(default_factory=list[str])


@dataclass(slots=True)
class Helper:
    """A public symbol of a module and the other files that use it. `kind` is `source`, `test` or `platform`."""

    symbol: Symbol
    path: str
    kind: str
    used_in: list[str]


@dataclass(slots=True)
class Inventory:
    """Everything that was found.

    Attributes:
        unknown: Fixture names that nothing in the project defines (a plugin may), with the tests that ask.
        undefined: Lines of feature files that no step fits, as path and phrase.
        modules: Which file an import leads to.
        docs: What the public symbols of the project say of themselves, by name.
        facts: Of the files, by path.
    """

    facts: Mapping[str, FileFacts]
    modules: Modules
    scopes: Scopes
    fixtures: list[Known]
    tests: list[TestPlace]
    patterns: list[Pattern]
    steps: list[StepUse]
    undefined: list[tuple[str, Phrase]]
    helpers: list[Helper]
    rules: list[tuple[str, Rule]]
    unknown: Mapping[str, list[tuple[str, Case]]]
    docs: Mapping[str, str]

    @property
    def mocks(self) -> Counter[str]:
        """By what things are replaced, and in how many tests."""
        return Counter(name for one in self.tests for name in one.case.mocks)


def tests_of(kind: str, count: int) -> str:
    """A number of tests written in one way: `1 parametrized test`."""
    words = PATTERNS[kind]
    if count == 1:
        words = (
            words.replace("tests", "test", 1)
            .replace("that replace", "that replaces")
            .replace("that expect", "that expects")
        )
    return f"{count:,} {words}"


def take(facts: Mapping[str, FileFacts], *, check: Callable[[], None] = lambda: None) -> Inventory:
    """Put the facts of all files together.

    Args:
        facts: By path.
        check: Called now and then; may raise to end the work.
    """
    modules = Modules(facts)
    scopes = Scopes(facts, modules)
    unknown = connect(facts, scopes, check=check)
    steps, undefined = _steps(facts, check)
    tests = [TestPlace(path, case) for path, file in facts.items() for case in file.tests]
    return Inventory(
        facts=facts,
        modules=modules,
        scopes=scopes,
        fixtures=sorted(scopes.fixtures, key=lambda one: (-len(one.asked_by), one.fixture.name, one.path)),
        tests=tests,
        patterns=_patterns(facts),
        steps=steps,
        undefined=undefined,
        helpers=_helpers(facts, modules),
        rules=[(path, rule) for path, file in facts.items() for rule in file.rules],
        unknown=unknown,
        docs={
            one.name: one.doc for path, file in facts.items() if not is_test(path) for one in file.symbols if one.doc
        },
    )


def _patterns(facts: Mapping[str, FileFacts]) -> list[Pattern]:
    found = [
        Pattern(kind, path, tests)
        for kind in PATTERNS
        for path, file in facts.items()
        if (tests := [case for case in file.tests if kind in case.patterns])
    ]
    order = {kind: place for place, kind in enumerate(PATTERNS)}
    return sorted(found, key=lambda one: (order[one.kind], -len(one.tests), one.path))


def _steps(facts: Mapping[str, FileFacts], check: Callable[[], None]) -> tuple[list[StepUse], list[tuple[str, Phrase]]]:
    """Every step with the lines it fits, and the lines that none does."""
    steps = [StepUse(step, path) for path, file in facts.items() for step in file.steps]
    pieces = [pieces_of(one.step.text, one.step.form) for one in steps]
    by_start: dict[str, list[int]] = {}
    for number, one in enumerate(pieces):
        by_start.setdefault(one[0][:4] if len(one[0]) >= 4 else "", []).append(number)
    undefined: list[tuple[str, Phrase]] = []
    known: dict[tuple[str, str], list[int]] = {}
    for path, file in facts.items():
        for phrase in file.phrases:
            key = (phrase.kind, phrase.text)
            if key not in known:
                check()
                near = [*by_start.get(phrase.text[:4], ()), *by_start.get("", ())]
                known[key] = [
                    number
                    for number in near
                    if steps[number].step.kind in (phrase.kind, "step") and fits(pieces[number], phrase.text)
                ]
            fitting = known[key]
            for number in fitting:
                steps[number].used_in.append(f"{path}:{phrase.line}")
            if not fitting:
                undefined.append((path, phrase))
    return sorted(steps, key=lambda one: (-len(one.used_in), one.path, one.step.line)), undefined


def _helpers(facts: Mapping[str, FileFacts], modules: Modules) -> list[Helper]:
    """Public symbols that at least two other files use; those that ask for the system with any number of users."""
    users: dict[tuple[str, str], set[str]] = {}
    for path, file in facts.items():
        # A package's `__init__` hands names on; that alone is no use of them.
        is_package = path.endswith("__init__.py")
        taken = [one.target for one in file.imports if one.bound != "*" and (one.used or not is_package)]
        for dotted in (*taken, *file.dotted):
            place = modules.symbol(dotted, path)
            if place is not None and place[0] != path:
                users.setdefault(place, set()).add(path)
    found: list[Helper] = []
    for path, file in facts.items():
        for symbol in file.symbols:
            used_in = sorted(users.get((path, symbol.name), ()))
            if symbol.platform and not is_test(path):
                found.append(Helper(symbol, path, "platform", used_in))
            elif len(used_in) >= _USERS:
                found.append(Helper(symbol, path, "test" if is_test(path) else "source", used_in))
    return sorted(found, key=lambda one: (-len(one.used_in), one.symbol.name, one.path))
