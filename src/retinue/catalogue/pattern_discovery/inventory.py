"""What a project has, taken together from the facts of its files: fixtures, tests, steps, helpers, rules.

It can be narrowed to a domain or a folder, and scored by how much of it is shared.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePosixPath
from typing import Final

from retinue.catalogue.pattern_discovery.entries import (
    PATTERNS,
    PatternEntry,
    TestPlace,
    fixture_entry,
    helper_entry,
    pattern_entry,
    rule_entry,
    step_entry,
)
from retinue.catalogue.pattern_discovery.facts import FileFacts, StepDefinition
from retinue.catalogue.pattern_discovery.parameters import Domain
from retinue.catalogue.pattern_discovery.resolution import BUILT_IN, FixtureUse, Modules, Scopes, connect
from retinue.catalogue.pattern_discovery.steps import fits, pieces_of
from retinue.contract.model import JsonMapping
from retinue.tools.search.kinds import is_test

__all__ = ["LIST_LIMIT", "Inventory", "narrow", "reuse_of", "reuse_of_words", "take_stock"]

LIST_LIMIT: Final = 500
"""Rows of one list of a result; its `counts` say how many there are."""
_USERS: Final = 2
"""What so many others use is shared."""
_END_TO_END: Final = frozenset(
    {"e2e", "integration", "acceptance", "functional", "feature", "features", "bdd", "system", "ui"}
)
_MOST_NEW: Final = 20
_SURVEY_BASIS: Final = (
    "10 times the share of what tests ask for (fixtures by name, lines of feature files) that something shared serves: "
    "a fixture of pytest's own, or a fixture or step of the project with at least two users. Names that no file "
    "defines are left out, since a plugin may."
)
_WORDS_BASIS: Final = (
    "10 times the share of the request's words, each weighted by its rarity among the patterns (BM25's idf), "
    "that the matches have together."
)


@dataclass(slots=True)
class Inventory:
    """Everything that was found.

    Attributes:
        files: Their facts, by path.
        undefined: Lines of feature files that no step fits.
    """

    files: Mapping[str, FileFacts]
    scopes: Scopes
    fixtures: list[FixtureUse]
    tests: list[TestPlace]
    patterns: list[PatternEntry]
    steps: list[PatternEntry]
    undefined: list[PatternEntry]
    helpers: list[PatternEntry]
    rules: list[PatternEntry]

    def lists(self) -> dict[str, list[PatternEntry]]:
        """The lists of a result."""
        return {
            "fixtures": [fixture_entry(one) for one in self.fixtures],
            "test_patterns": self.patterns,
            "steps": self.steps,
            "helpers": self.helpers,
            "anti_patterns": self.rules,
        }

    def is_empty(self) -> bool:
        """Whether there is nothing to build on."""
        return not (self.fixtures or self.tests or self.steps or self.undefined or self.helpers or self.rules)


def take_stock(files: Mapping[str, FileFacts]) -> Inventory:
    """Put the facts of all files together, given by path."""
    modules = Modules(files)
    scopes = Scopes(files, modules)
    connect(files, scopes)
    steps, undefined = _steps(files)
    return Inventory(
        files=files,
        scopes=scopes,
        fixtures=sorted(scopes.fixtures, key=lambda one: (-len(one.asked_by), one.fixture.name, one.path)),
        tests=[TestPlace(path, case) for path, file in files.items() for case in file.tests],
        patterns=_patterns(files),
        steps=steps,
        undefined=undefined,
        helpers=_helpers(files, modules),
        rules=[rule_entry(rule, path) for path, file in files.items() for rule in file.rules],
    )


def _patterns(files: Mapping[str, FileFacts]) -> list[PatternEntry]:
    """The files that have tests written in each way, those with most first."""
    entries = [
        pattern_entry(kind, path, cases)
        for kind in PATTERNS
        for path, file in files.items()
        if (cases := [case for case in file.tests if kind in case.patterns])
    ]
    order = {kind: number for number, kind in enumerate(PATTERNS)}
    return sorted(entries, key=lambda one: (order[one.row["kind"]], -one.row["count"], one.path))


def _steps(files: Mapping[str, FileFacts]) -> tuple[list[PatternEntry], list[PatternEntry]]:
    """Every step with the lines it fits, and the lines that none does."""
    steps = [(step, path, list[str]()) for path, file in files.items() for step in file.steps]
    by_start: dict[str, list[tuple[tuple[str, ...], StepDefinition, list[str]]]] = {}
    for step, _, used_in in steps:
        pieces = pieces_of(step.text, step.form)
        by_start.setdefault(pieces[0][:4] if len(pieces[0]) >= 4 else "", []).append((pieces, step, used_in))
    undefined: list[PatternEntry] = []
    fitting: dict[tuple[str, str], list[list[str]]] = {}
    for path, file in files.items():
        for phrase in file.phrases:
            key = (phrase.kind, phrase.text)
            if key not in fitting:
                near = [*by_start.get(phrase.text[:4], ()), *by_start.get("", ())]
                fitting[key] = [
                    used_in
                    for pieces, step, used_in in near
                    if step.kind in (phrase.kind, "step") and fits(pieces, phrase.text)
                ]
            for used_in in fitting[key]:
                used_in.append(f"{path}:{phrase.line}")
            undefined += [] if fitting[key] else [step_entry(StepDefinition(*key, "exact", phrase.line), path, ())]
    steps.sort(key=lambda one: (-len(one[2]), one[1], one[0].line))
    return [step_entry(*one) for one in steps], undefined


def _helpers(files: Mapping[str, FileFacts], modules: Modules) -> list[PatternEntry]:
    """Public symbols that at least two other files use."""
    users: dict[tuple[str, str], set[str]] = {}
    names = {symbol.name for file in files.values() for symbol in file.symbols}
    for path, file in files.items():
        # A package's `__init__` hands names on; that alone is no use of them.
        is_package = path.endswith("__init__.py")
        imports = [one.target for one in file.imports if one.bound != "*" and (one.used or not is_package)]
        for dotted in (*imports, *file.dotted):
            place = None if names.isdisjoint(dotted.split(".")) else modules.symbol(dotted, path)
            if place is not None and place[0] != path:
                users.setdefault(place, set()).add(path)
    helpers: list[PatternEntry] = []
    for path, file in files.items():
        for symbol in file.symbols:
            used_in = sorted(users.get((path, symbol.name), ()))
            if len(used_in) >= _USERS:
                helpers.append(helper_entry(symbol, path, "test" if is_test(path) else "source", used_in))
    return sorted(helpers, key=lambda one: (-one.uses, one.name, one.path))


# --- a part of it ---------------------------------------------------------------------------------------------------


def narrow(whole: Inventory, domain: Domain | None, folder: str) -> Inventory:
    """What belongs to a domain when one is named, and lies in a folder (or is the file) when one is."""
    tests_count = domain in (None, "e2e-testing", "unit-testing")
    steps_count, rules_count = domain in (None, "e2e-testing"), domain in (None, "documentation")

    def is_inside(path: str) -> bool:
        return not folder or path == folder or path.startswith(f"{folder}/")

    def is_of_domain(path: str) -> bool:
        return tests_count and (domain is None or _is_end_to_end(path) == (domain == "e2e-testing"))

    def is_helping(one: PatternEntry) -> bool:
        if domain == "source-code":
            return not is_test(one.path)
        return domain is None or (is_test(one.path) and is_of_domain(one.path))

    users = {one.path for one in whole.tests if is_of_domain(one.path)}
    fixtures = [one for one in whole.fixtures if is_of_domain(one.path) or not users.isdisjoint(one.files)]
    return replace(
        whole,
        fixtures=[one for one in fixtures if is_inside(one.path)],
        tests=[one for one in whole.tests if is_of_domain(one.path) and is_inside(one.path)],
        patterns=[one for one in whole.patterns if is_of_domain(one.path) and is_inside(one.path)],
        steps=[one for one in whole.steps if steps_count and is_inside(one.path)],
        undefined=[one for one in whole.undefined if steps_count and is_inside(one.path)],
        helpers=[one for one in whole.helpers if is_helping(one) and is_inside(one.path)],
        rules=[one for one in whole.rules if rules_count and is_inside(one.path)],
    )


def _is_end_to_end(path: str) -> bool:
    """Whether a folder, or a part of the file's name, says that its tests go through everything."""
    folded = path.lower().replace("end_to_end", "e2e").replace("end-to-end", "e2e").replace("-", "_").replace(".", "_")
    return any(not _END_TO_END.isdisjoint(part.split("_")) for part in PurePosixPath(folded).parts)


# --- how far it goes ------------------------------------------------------------------------------------------------


def reuse_of(found: Inventory) -> JsonMapping:
    """How much of what the project's tests ask for is shared: score, band, basis, and what is not."""
    requests = served = 0
    alone: list[JsonMapping] = []
    for test in found.tests:
        for name in test.case.requests:
            fixtures = found.scopes.resolve(name, test.path, test.case.owner)[:1]
            is_shared = name in BUILT_IN if not fixtures else len(fixtures[0].asked_by) >= _USERS
            requests += bool(fixtures) or is_shared
            served += is_shared
            if fixtures and not is_shared:
                alone.append(_need("fixture", name, "only one test uses it", fixtures[0].place))
    for one in found.steps:
        requests += one.uses
        served += one.uses if one.uses >= _USERS else 0
        if one.uses == 1:
            alone.append(_need("step", one.name, "only one line uses it", one.place))
    requests += len(found.undefined)
    new = [_need("step", one.name, "no step fits this line", one.place) for one in found.undefined]
    return _reuse(served / requests if requests else None, _SURVEY_BASIS, [*new, *alone])


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
    more = {"new_patterns": list(new[:_MOST_NEW])} if score < 7 else {}
    return {"reuse_basis": basis, "reuse_score": score, "reuse_band": band, **more}


def _need(kind: str, need: str, reason: str, source: str = "") -> JsonMapping:
    return {"kind": kind, "need": need, "reason": reason, **({"source": source} if source else {})}
