"""Finds what fits some words: patterns of a domain (G6), the fixture that gives something (G7), tests to follow (G8).

BM25 over small texts made of names. The weight of a word is its inverse document frequency among the things
themselves, so a word that none of them has weighs most: it is what would be new.
"""

from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from retinue.catalogue._prose import Piece, code, one_line
from retinue.catalogue._report import Report, plural
from retinue.catalogue.pattern_discovery.entries import (
    PatternEntry,
    TestPlace,
    fixture_entry,
    say_table,
    test_entry,
    users_of,
)
from retinue.catalogue.pattern_discovery.inventory import LIST_LIMIT, Inventory, reuse_of_words
from retinue.catalogue.pattern_discovery.parameters import FixtureSearch, TestSearch
from retinue.catalogue.pattern_discovery.resolution import BUILT_IN, FixtureUse
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.tools.search import Bm25, terms
from retinue.tools.search.words import STOP_WORDS, WORD

__all__ = ["Ranking", "WordMatch", "look_up", "query_words", "rank_by_context", "say_similar"]

_SHORTEST: Final = 4
_WORDS: Final = 32
_COMBINED: Final = 3
_FLOOR: Final = 0.25
"""Below this share of the best score a match is no match."""
_SHARE: Final = 0.5
"""Tests that have less than this of the weight of all words are about something else."""
_SHOWN: Final = 8
_ENOUGH: Final = 7
"""From this reuse score on, nothing new is needed."""
_TESTS: Final = 5
_BASIS: Final = (
    "The score is the BM25 of a file's best test over the most that the words could reach; the words of a source file "
    "are the names that it defines."
)


class WordMatch(NamedTuple):
    """One thing and how well it fits.

    Attributes:
        score: Its BM25 over the most that these words could reach, those that nothing has included; 0 to 1.
        words: The words it has, as they were asked.
    """

    number: int
    score: float = 0.0
    words: tuple[str, ...] = ()


class Ranking:
    """Things to be found by words.

    Args:
        entries: The things.
    """

    def __init__(self, entries: Iterable[PatternEntry]) -> None:
        texts = [one.terms() for one in entries]
        self._bm25 = Bm25(texts)
        self._terms = [frozenset(text) for text in texts]
        self._vocabulary = frozenset[str]().union(*self._terms)
        self._by_start: dict[str, list[str]] = {}
        for term in self._vocabulary:
            self._by_start.setdefault(term[:_SHORTEST], []).append(term)

    def best(self, words: Mapping[str, str]) -> list[WordMatch]:
        """The things that have any of the words, best first."""
        forms = self._forms(words)
        every = [term for each in forms.values() for term in each]
        most = self._bm25.max_score(every)
        return [
            WordMatch(number, score / most, tuple(word for word, own in forms.items() if self._terms[number] & {*own}))
            for number, score in self._bm25.best(every, limit=len(self._terms))
        ]

    def coverage(self, words: Mapping[str, str], numbers: Iterable[int]) -> tuple[float, tuple[str, ...]]:
        """How much of the words' weight some things have together, 0 to 1, and the words that none of them has."""
        together = frozenset[str]().union(*(self._terms[number] for number in numbers))
        forms = self._forms(words)
        weights = {word: max(map(self._bm25.idf, own)) for word, own in forms.items()}
        missing = tuple(word for word, own in forms.items() if together.isdisjoint(own))
        return (1 - sum(weights[word] for word in missing) / sum(weights.values()) if weights else 0.0), missing

    def _forms(self, words: Mapping[str, str]) -> dict[str, list[str]]:
        """Each word with the terms it may stand as: itself, and what begins it (`auth`, `authenticated`)."""
        forms: dict[str, list[str]] = {}
        for term, word in words.items():
            near = () if term in self._vocabulary else self._by_start.get(term[:_SHORTEST], ())
            alike = [one for one in near if len(one) >= _SHORTEST and (one.startswith(term) or term.startswith(one))]
            forms.setdefault(word, []).extend([term, *alike])
        return forms


def query_words(query: str, *, purpose: str) -> dict[str, str]:
    """The words of a query as search terms, each with the word it came from.

    Args:
        query: What is looked for.
        purpose: What the skill says of itself: words in it ask for the skill, and need not stand in what is found.
    """
    asking = {*terms(purpose)}
    telling = [word for word in WORD.findall(query[:2000]) if word.casefold() not in STOP_WORDS and len(word) > 1]
    every = [(term, word) for word in telling[:_WORDS] for term in terms(word) if term not in asking]
    return dict(every)


# --- one domain -----------------------------------------------------------------------------------------------------


def rank_by_context(found: Inventory, words: Mapping[str, str], report: Report) -> bool:
    """Order the lists of the result by the words, and say what fits best; False when nothing does."""
    lists = found.lists()
    entries = [(name, one) for name, each in lists.items() for one in each]
    ranking = Ranking(entry for _, entry in entries)
    matches = ranking.best(words)
    if not matches:
        return False
    scores = {one.number: one.score for one in matches}
    rows: dict[str, list[JsonMapping]] = {name: [] for name in lists}
    for number in sorted(range(len(entries)), key=lambda each: -scores.get(each, 0.0)):
        name, entry = entries[number]
        rows[name].append({**entry.row, "relevance": round(scores.get(number, 0.0), 3)})
    share, missing = ranking.coverage(words, [one.number for one in matches[:_TESTS]])
    report.figures |= {name: each[:LIST_LIMIT] for name, each in rows.items()}
    report.figures |= reuse_of_words(share, missing, "pattern")
    best = [one for one in matches[:_SHOWN] if one.score >= matches[0].score * _FLOOR]
    for one in best:
        entries[one.number][1].say(report, confidence=round(one.score, 3))
    shown = [entries[one.number][1] for one in best]
    report.table("What fits the context", ("kind", "what", "place"), [(e.topic, e.name, e.place) for e in shown])
    report.about([one.name for one in shown])
    return True


# --- one fixture ----------------------------------------------------------------------------------------------------


def look_up(found: Inventory, search: FixtureSearch, words: Mapping[str, str], report: Report) -> None:
    """Say which fixtures give what is asked for, or what one has to do with others."""
    report.figures = {"matches": [], "composition": [], "reuse_basis": "nothing was compared"}
    same = [one for one in found.fixtures if one.fixture.name == search.name]
    if search.name and not same:
        near = nearest(search.name, {one.fixture.name for one in found.fixtures})
        hint = f"The nearest: {', '.join(near)}." if near else "Ask which fixtures there are."
        report.reject(f"There is no fixture called `{one_line(search.name)}` here.", hint=hint, suggestions=near)
    elif search.relation == "definition":
        _say_matches(found, same, search, words, report)
    elif same:
        _say_relation(found, same, search, report)
    else:
        report.reject("Which fixture is meant is not said.", hint="Name it.", code="invalid_input")


def _say_matches(
    found: Inventory, same: Sequence[FixtureUse], search: FixtureSearch, words: Mapping[str, str], report: Report
) -> None:
    entries = [fixture_entry(one) for one in found.fixtures]
    ranking = Ranking(entries)
    words = words or dict.fromkeys(terms(search.name), search.name)
    ranked = {one.number: one for one in ranking.best(words)}
    least = max((one.score for one in ranked.values()), default=0.0) * _FLOOR
    numbers = [number for number, one in enumerate(found.fixtures) if one in same]
    numbers += [number for number, one in ranked.items() if one.score >= least and number not in numbers]
    if not numbers:
        names = [one.name for one in entries]
        message = f"None of the {len(names):,} fixtures has any of the words asked for."
        hint = f"Available: {', '.join(map(one_line, names[:8]))}." if names else "Name a folder that has pytest tests."
        report.reject(message if names else "There are no fixtures here.", hint=hint, suggestions=names)
        report.figures |= reuse_of_words(0.0, words.values(), "fixture")
        return
    numbers = numbers[: search.limit]
    combined = _combined(ranking, words, numbers)
    chain = _chain([found.fixtures[number] for number in combined], found)
    # A dependency's words count: whoever takes the fixture gets it too.
    share, missing = ranking.coverage(words, [*combined, *(found.fixtures.index(one) for one in chain)])
    reuse = reuse_of_words(share, missing, "fixture")
    matches: list[JsonMapping] = []
    for number in numbers:
        entry, match = entries[number], ranked.get(number, WordMatch(number))
        reason = f"it has {', '.join(f'`{word}`' for word in match.words)}" if match.words else "it is called so"
        entry.say(report, confidence=round(match.score, 3))
        matches.append({**entry.row, "score": round(match.score, 3), "reason": reason})
    report.figures = {"matches": matches, "composition": [fixture_entry(one).row for one in chain], **reuse}
    if reuse["reuse_score"] >= _ENOUGH:
        best, row = found.fixtures[numbers[0]], matches[0]
        gives = f" gives `{row['yields']}` and" if row["yields"] else ""
        report.figures["why_not_new"] = (
            f"`{row['name']}`{gives} {users_of(best)}; a second one would have to be kept equal to it."
        )
    if len(chain) > 1:
        report.say(
            "composition", f"It is made of, in this order: {_slots(chain)}.", *_names(chain), source=chain[-1].place
        )
    say_table([entries[number] for number in numbers], "Fixtures that fit", report)


def _say_relation(found: Inventory, same: Sequence[FixtureUse], search: FixtureSearch, report: Report) -> None:
    """Who uses a fixture, which build on it, and what it builds on itself; of each one of this name."""
    name = code(search.name)
    chosen: list[FixtureUse] = []
    for one in same:
        if search.relation == "users":
            fixtures = sum((each.path, each.fixture.name) in one.asked_by for each in found.fixtures)
            split = f", {fixtures:,} of them fixtures" if 0 < fixtures < len(one.asked_by) else ""
            report.say("users", f"{{}} {users_of(one)}{split}.", name, source=one.place)
            report.about(one.files)
        elif search.relation == "dependencies":
            names = one.fixture.depends_on
            template = f"{{}} depends on {_slots(names) or 'no other fixture'}."
            report.say("dependencies", template, name, *map(code, names), source=one.place)
            chosen += found.scopes.below(one)
        else:
            above = [each for each in found.fixtures if one in found.scopes.below(each)]
            verb = "depends" if len(above) == 1 else "depend"
            template = f"{plural(len(above), 'fixture')} {verb} on {{}}: {_slots(above)}."
            report.say(
                "dependents", template if above else "No fixture depends on {}.", name, *_names(above), source=one.place
            )
            chosen += above
    entries = [fixture_entry(one) for one in dict.fromkeys(chosen)]
    for one in entries[:_SHOWN]:
        one.say(report)
    say_table(entries, f"{search.relation.capitalize()} of {search.name}", report)
    if search.relation == "users":
        users = [(user, f"{path}:{line}") for one in same for (path, user), line in one.asked_by.items()]
        report.table(f"Users of {search.name}", ("user", "place"), users)
    if search.relation == "dependencies":
        report.figures["composition"] = [fixture_entry(one).row for one in _chain(same, found)]


def _slots(things: Sequence[object]) -> str:
    """A place for each name in a sentence, as far as it can be read."""
    more = f" and {len(things) - _SHOWN:,} more" if len(things) > _SHOWN else ""
    return ", ".join(["{}"] * min(len(things), _SHOWN)) + more


def _names(fixtures: Sequence[FixtureUse]) -> list[Piece]:
    return [code(one.fixture.name) for one in fixtures]


def _combined(ranking: Ranking, words: Mapping[str, str], numbers: Sequence[int]) -> list[int]:
    """The best match, and such others as add words that those before have not."""
    chosen = list(numbers[:1])
    for number in numbers[1:]:
        adds = ranking.coverage(words, [*chosen, number])[0] > ranking.coverage(words, chosen)[0]
        chosen += [number] if adds and len(chosen) < _COMBINED else []
    return chosen


def _chain(starts: Iterable[FixtureUse], found: Inventory) -> list[FixtureUse]:
    """What fixtures are made of, in the order in which pytest makes it, themselves last."""
    chain: dict[int, FixtureUse] = {}
    waiting = [(one, False) for one in starts][::-1]
    seen: set[int] = set()
    while waiting:
        one, is_ready = waiting.pop()
        if is_ready:
            chain[id(one)] = one
        elif id(one) not in seen:
            seen.add(id(one))
            waiting += [(one, True), *((each, False) for each in found.scopes.below(one)[::-1])]
    return list(chain.values())


# --- similar tests --------------------------------------------------------------------------------------------------


def say_similar(found: Inventory, search: TestSearch, words: Mapping[str, str], report: Report) -> None:
    """Say which test files are most like what is asked for."""
    report.figures = {"matches": [], "basis": _BASIS}
    target = search.target.removeprefix("./").strip("/")
    same = {path for path in found.files if target and f"/{path}".endswith(f"/{target}")}
    sources = same or {path for path in found.files if target and path.startswith(f"{target}/")}
    tests = [one for one in found.tests if one.path not in sources and search.pattern in ("any", *one.case.patterns)]
    words = _words_of(found, sources) or {**dict.fromkeys(terms(search.symbol), search.symbol), **words}
    ranking = Ranking(map(test_entry, tests))
    matches = ranking.best(words)
    if not sources and ranking.coverage(words, [one.number for one in matches[:_TESTS]])[0] < _SHARE:
        matches = []
    if not words and search.pattern != "any":
        matches = [WordMatch(number, 1.0) for number in range(len(tests))]
    if not matches or (target and not sources):
        unread = f"There is no file `{one_line(target)}` among those that were read."
        unused = f"No test uses what `{one_line(target)}` defines." if target else "No test has the words asked for."
        report.reject(
            unread if target and not sources else unused if found.tests else "There are no tests here.",
            hint="Describe the test in words that the project uses, or name a source file of it.",
            suggestions=list(dict.fromkeys(one.path for one in found.tests)),
        )
        return
    fixtures = BUILT_IN | {one.fixture.name for one in found.fixtures}
    files: dict[str, list[TestPlace]] = {}
    scores: dict[str, float] = {}
    for match in matches:
        if match.score >= matches[0].score * _FLOOR:
            files.setdefault(tests[match.number].path, []).append(tests[match.number])
            scores.setdefault(tests[match.number].path, match.score)
    # The file with the best test comes first; of equals the one with more such tests.
    first = sorted(files, key=lambda path: (-round(scores[path], 2), -len(files[path]), path))[: search.limit]
    report.figures["matches"] = [_say_file(files[path][:_TESTS], scores[path], fixtures, report) for path in first]
    report.subjects = list(map(one_line, first))
    if target:
        report.note("Compared with {}.", code(min(sources, key=len) if len(sources) == 1 else target))


def _words_of(found: Inventory, sources: Iterable[str]) -> dict[str, str]:
    """The words of source files by the names they define, of test files by those of their tests."""
    words: dict[str, str] = {}
    for path in sources:
        file = found.files[path]
        stem = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test").strip("_")
        tests = [case.name.removeprefix("test_") for case in file.tests]
        words |= {term: name for name in (stem, *(tests or [one.name for one in file.symbols])) for term in terms(name)}
    return words


def _say_file(tests: Sequence[TestPlace], score: float, fixtures: Container[str], report: Report) -> JsonMapping:
    """Say which tests of a file fit; gives them as a row."""
    cases = [one.case for one in tests]
    row: JsonMapping = {
        "path": tests[0].path,
        "lines": [f"{case.line}-{case.end}" for case in cases],
        "tests": [one.qualified_name for one in cases],
        "fixtures": list(dict.fromkeys(name for case in cases for name in case.requests if name in fixtures)),
        "mocks": list(dict.fromkeys(name for case in cases for name in case.mocks)),
        "asserts": sum(case.asserts for case in cases),
        "patterns": list(dict.fromkeys(kind for case in cases for kind in case.patterns)),
        "score": round(score, 3),
    }
    template = f"{{}}: {_slots(tests)}, with {plural(row['asserts'], 'assertion')}"
    template += "".join(f", {noun} {_slots(row[noun])}" for noun in ("fixtures", "mocks") if row[noun])
    pieces = [code(name) for name in (row["path"], *row["tests"], *row["fixtures"][:_SHOWN], *row["mocks"][:_SHOWN])]
    entries = [test_entry(one) for one in tests]
    report.say("similar tests", f"{template}.", *pieces, source=entries[0].place, confidence=row["score"])
    say_table(entries, f"Tests in {row['path']}", report)
    return row
