"""Finds the tests most like a description, or those of a source file: two or three files with their lines (G8)."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue.pattern_discovery.inventory import PATTERNS, Inventory, TestPlace
from retinue.catalogue.pattern_discovery.question import PATTERN_WORDS, Asked
from retinue.catalogue.pattern_discovery.relevance import Ranking, asked_words, weighted
from retinue.catalogue.pattern_discovery.report import Report, plural
from retinue.catalogue.pattern_discovery.rows import range_of
from retinue.contract.model import JsonMapping
from retinue.errors import MissingFile
from retinue.tools.search import terms

__all__ = ["document_of_test", "find_similar", "source_asked_for"]

_TESTS: Final = 5
_FLOOR: Final = 0.25
_BASIS: Final = (
    "The score is, for the best test of a file, half its BM25 over the best that the words could reach (for a source "
    "file: over the best test's), and half the share of the names asked for that it uses; where no name was asked for, "
    "the first alone."
)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """What tests are compared with: words, and names that count when a test uses them as they are."""

    words: dict[str, str]
    names: frozenset[str]
    source: str = ""


def find_similar(found: Inventory, asked: Asked, target: str, report: Report, *, limit: int) -> JsonMapping:
    """Say which test files are most like what is asked for; gives them as data."""
    source = source_asked_for(found, asked, target)
    wanted = _of_file(found, source) if source else _of_words(found, asked)
    tests = [one for one in found.tests if one.path != source and _is_written_as(one, asked)]
    scored = _scored(found, tests, wanted)
    if asked.wish in PATTERNS and not source and not asked_words(PATTERN_WORDS.sub(" ", asked.text)):
        scored = [(1.0, one) for one in tests]
    if not scored:
        what = f"No test uses what `{source}` defines." if source else "No test has any of the words asked for."
        report.reject(
            what if found.tests else "There are no tests here.",
            hint="Describe the test in words that the project uses, or name a source file of it.",
            suggestions=list(dict.fromkeys(one.path for one in found.tests)),
        )
        return {"matches": [], "basis": _BASIS}
    files = _by_file(scored)[:limit]
    _say(files, source, report)
    return {"matches": [_row(path, score, hits) for path, score, hits in files], "basis": _BASIS}


def _is_written_as(one: TestPlace, asked: Asked) -> bool:
    """Whether a test is written in the way that the question names, when it names one."""
    return asked.wish not in PATTERNS or asked.wish in one.case.patterns


def source_asked_for(found: Inventory, asked: Asked, target: str) -> str:
    """The file that is meant, by its path or the end of it; empty when the request is in words.

    Raises:
        MissingFile: `target` names a file that is not here.
    """
    for name in (target, *asked.files):
        if not name:
            continue
        wanted = name.removeprefix("./").strip("/")
        fitting = [path for path in found.facts if path == wanted or path.endswith(f"/{wanted}")]
        if fitting:
            return min(fitting, key=len)
        if name == target and target.endswith(".py"):
            raise MissingFile(
                f"There is no Python file {target!r} among those that were read.",
                hint="Name it from the project's root.",
            )
    return ""


def document_of_test(one: TestPlace) -> list[str]:
    """The words by which a test is found."""
    return weighted(
        (one.case.name.removeprefix("test"), 3),
        (one.case.owner.removeprefix("Test"), 3),
        (one.case.doc, 1),
        (" ".join(one.case.words), 1),
        (" ".join(one.case.requests), 1),
        (one.path.rpartition("/")[2].removesuffix(".py"), 1),
    )


def _of_file(found: Inventory, path: str) -> _Wanted:
    """A source file by the names it defines, a test file by those it uses."""
    facts = found.facts[path]
    stem = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test").strip("_")
    if facts.tests:
        texts = [stem, *(case.name.removeprefix("test_") for case in facts.tests)]
        return _Wanted({term: term for text in texts for term in terms(text)}, frozenset(), path)
    names = [one.name for one in facts.symbols]
    return _Wanted({term: name for name in [stem, *names] for term in terms(name)}, frozenset(names), path)


def _of_words(found: Inventory, asked: Asked) -> _Wanted:
    known = {symbol.name for facts in found.facts.values() for symbol in facts.symbols}
    names = frozenset(one.rpartition(".")[2] for one in asked.tokens if one.rpartition(".")[2] in known)
    return _Wanted(asked_words(asked.text), names)


def _scored(found: Inventory, tests: Sequence[TestPlace], wanted: _Wanted) -> list[tuple[float, TestPlace]]:
    """The tests that fit, best first."""
    ranking = Ranking(document_of_test(one) for one in tests)
    ranked = ranking.best(wanted.words, limit=len(tests))
    # A file has so many words that no test comes near having all: there the best test sets the measure.
    most = ranked[0].score if ranked and wanted.source else 1.0
    scores = {one.number: one.score / most for one in ranked}
    importing = _importers(found, wanted.source)
    result: list[tuple[float, TestPlace]] = []
    for number, one in enumerate(tests):
        used = wanted.names.intersection(one.case.words)
        share = len(used) / min(len(wanted.names), 3) if wanted.names else 0.0
        score = scores.get(number, 0.0)
        if wanted.source and wanted.names and not (used and one.path in importing) and score == 0:
            continue
        score = (score + min(share, 1.0)) / 2 if wanted.names else score
        if score > 0:
            result.append((score, one))
    return sorted(result, key=lambda item: (-item[0], item[1].path, item[1].case.line))


def _importers(found: Inventory, source: str) -> frozenset[str]:
    """The files that import something of `source`."""
    if not source:
        return frozenset()
    return frozenset(
        path
        for path, facts in found.facts.items()
        for dotted in (*(one.target for one in facts.imports), *facts.dotted)
        if found.modules.module(dotted, path) == source or (found.modules.symbol(dotted, path) or ("",))[0] == source
    )


def _by_file(scored: Sequence[tuple[float, TestPlace]]) -> list[tuple[str, float, list[TestPlace]]]:
    """The best tests of each file, the file with the best test first; of equals the one with more such tests."""
    best = scored[0][0]
    files: dict[str, list[tuple[float, TestPlace]]] = {}
    for score, one in scored:
        if score >= best * _FLOOR:
            files.setdefault(one.path, []).append((score, one))
    ordered = sorted(files.items(), key=lambda item: (-round(item[1][0][0], 2), -len(item[1]), item[0]))
    return [(path, tests[0][0], [one for _, one in tests[:_TESTS]]) for path, tests in ordered]


def _row(path: str, score: float, tests: Sequence[TestPlace]) -> JsonMapping:
    return {
        "path": path,
        "lines": [range_of(one.case.line, one.case.end) for one in tests],
        "tests": [one.name for one in tests],
        "fixtures": list(dict.fromkeys(name for one in tests for name in one.case.requests)),
        "mocks": list(dict.fromkeys(name for one in tests for name in one.case.mocks)),
        "asserts": sum(one.case.asserts for one in tests),
        "patterns": list(dict.fromkeys(kind for one in tests for kind in one.case.patterns)),
        "score": round(score, 3),
    }


def _say(files: Sequence[tuple[str, float, list[TestPlace]]], source: str, report: Report) -> None:
    for path, score, tests in files:
        first = tests[0]
        mocks = list(dict.fromkeys(name for one in tests for name in one.case.mocks))
        asked = list(dict.fromkeys(name for one in tests for name in one.case.requests))
        pieces = [code(path), *(code(one.name) for one in tests)]
        template = f"{{}}: {', '.join(['{}'] * len(tests))}"
        asserts = plural(sum(one.case.asserts for one in tests), "assertion")
        template += f", with {asserts}"
        for words, names in (("fixtures", asked), ("mocks", mocks)):
            if names:
                template += f", {words} {', '.join(['{}'] * len(names))}"
                pieces += map(code, names)
        report.say("similar tests", f"{template}.", *pieces, source=first.place, confidence=round(min(score, 1.0), 3))
    if source:
        report.note("Compared with {}.", code(source))
    report.about([path for path, _, _ in files])
    report.table(
        "Similar tests",
        ("test", "mocks", "asserts", "place"),
        [(one.name, ", ".join(one.case.mocks), one.case.asserts, one.place) for _, _, tests in files for one in tests],
    )
