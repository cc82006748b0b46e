"""What a project has, taken together from the facts of its files: fixtures, tests, steps, helpers, rules.

It can be narrowed to a domain or a folder, and scored by how much of it is shared.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from retinue.contract.model import JsonMapping
from retinue.tools.search.kinds import is_test

from .entries import (
    PATTERNS,
    PatternEntry,
    fixture_entry,
    helper_entry,
    pattern_entry,
    rule_entry,
    step_entry,
    test_entry,
)
from .facts import CaseFacts, FileFacts, StepSentence
from .parameters import Domain
from .resolution import FixtureUse, Modules, Scopes, node_of
from .steps import matcher_of

__all__ = ["BUILT_IN", "LIST_LIMIT", "Inventory", "narrow", "reuse_of", "reuse_of_words", "take_stock"]

_Step: TypeAlias = PatternEntry[StepSentence]

_BUILT_IN: Final = """
    cache capfd capfdbinary caplog capsys capsysbinary capteesys doctest_namespace monkeypatch pytestconfig pytester
    record_property record_testsuite_property record_xml_attribute recwarn request subtests testdir tmp_path
    tmp_path_factory tmpdir tmpdir_factory
"""
BUILT_IN: Final = frozenset(_BUILT_IN.split())
"""The fixtures that pytest itself has."""
LIST_LIMIT: Final = 500
"""Rows of one list of a result; its `counts` say how many there are."""
_USERS: Final = 2
"""What so many others use is shared."""
_END_TO_END: Final = re.compile(
    r"(?i)(?<![^/_.-])(?:e2e|end[_-]to[_-]end|integration|acceptance|functional|features?|bdd|system|ui)(?![^/_.-])"
)
"""What a folder, or a part of a file's name, is called whose tests go through everything."""
_MOST_NEW: Final = 20
_SURVEY_BASIS: Final = "10 times the share of what tests ask for that is pytest's own or has at least two users."
_WORDS_BASIS: Final = "10 times the share of the request's words, weighted by rarity (idf), that the matches have."


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


def take_stock(files: Mapping[str, FileFacts]) -> Inventory:
    """Put the facts of all files together, given by path."""
    modules = Modules(files)
    scopes = Scopes(files, modules)
    steps, undefined = _steps(files)
    patterns = [
        pattern_entry(kind, path, cases)
        for kind in PATTERNS
        for path, file in files.items()
        if (cases := [case for case in file.tests if kind in case.patterns])
    ]
    return Inventory(
        files=files,
        scopes=scopes,
        fixtures=sorted(map(fixture_entry, scopes.fixtures), key=lambda one: (-one.uses, one.name, one.path)),
        tests=[test_entry(case, path) for path, file in files.items() for case in file.tests],
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
            fitting = [used_in for matcher, used_in in near if matcher.match(phrase.text)]
            for used_in in fitting:
                used_in.append(f"{path}:{phrase.line}")
            undefined += [] if fitting else [step_entry(phrase, path)]
    return sorted((step_entry(*one) for one in steps), key=lambda one: (-one.uses, one.path, one.line)), undefined


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
    helpers = [
        helper_entry(symbol, path, "test" if is_test(path) else "source", sorted(used_in))
        for path, file in files.items()
        for symbol in file.symbols
        if len(used_in := users.get((path, symbol.symbol), ())) >= _USERS
    ]
    return sorted(helpers, key=lambda one: (-one.uses, one.name, one.path))


def narrow(whole: Inventory, domain: Domain | None, folder: str) -> Inventory:
    """What belongs to a domain when one is named, and lies in a folder (or is the file); `.` is all of the project."""
    users = {one.path for one in whole.tests if _domain_of(one) == domain}

    def counts(one: PatternEntry[Any]) -> bool:
        is_asked = isinstance(one.fact, FixtureUse) and not users.isdisjoint(one.fact.files)
        is_inside = folder == "." or f"{one.path}/".startswith(f"{folder}/")
        return is_inside and (is_asked or domain in (None, _domain_of(one)))

    lists = ("fixtures", "tests", "patterns", "steps", "undefined", "helpers", "rules")
    return replace(whole, **{name: [*filter(counts, getattr(whole, name))] for name in lists})


def _domain_of(one: PatternEntry[Any]) -> Domain:
    if one.topic == "prohibition":
        return "documentation"
    if one.topic == "helper" and not is_test(one.path):
        return "source-code"
    return "e2e-testing" if one.topic == "step" or _END_TO_END.search(one.path) else "unit-testing"


def reuse_of(found: Inventory) -> JsonMapping:
    """How much of what the project's tests ask for is shared: score, band, basis, and what is not."""
    new = [_need("step", one.name, "no step fits this line", one.place) for one in found.undefined]
    requests, served = len(new), 0
    for test in found.tests:
        for name in test.fact.requests:
            fixture = next(iter(found.scopes.resolve(name, node_of(test.path, test.fact.owner))), None)
            is_shared = len(fixture.asked_by) >= _USERS if fixture else name in BUILT_IN
            requests += bool(fixture) or is_shared
            served += is_shared
            if fixture and not is_shared:
                place = f"{fixture.path}:{fixture.fixture.line_start}"
                new.append(_need("fixture", name, "only one test uses it", place))
    for one in found.steps:
        requests += one.uses
        served += one.uses if one.uses >= _USERS else 0
        new += [_need("step", one.name, "only one line uses it", one.place)] if one.uses == 1 else []
    return _reuse(served / requests if requests else None, _SURVEY_BASIS, new)


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
