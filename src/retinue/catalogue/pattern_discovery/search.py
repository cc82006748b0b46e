"""Finds what fits some words: patterns of a domain (G6), the fixture that gives something (G7), tests to follow (G8).

BM25 over small texts made of names. The weight of a word is its inverse document frequency among the things
themselves, so a word that none of them has weighs most: it is what would be new.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from retinue.catalogue._prose import Prose, code, listed, one_line
from retinue.catalogue._report import Report, plural
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.tools.search import Bm25, terms
from retinue.tools.search.words import STOP_WORDS, WORD

from .entries import PatternEntry, say_table, users_of
from .facts import CaseFacts
from .inventory import BUILT_IN, Inventory, reuse_of_words
from .parameters import FixtureSearch, TestSearch
from .resolution import FixtureUse

__all__ = ["Ranking", "look_up", "query_words", "rank_by_context", "say_similar"]

_Entry: TypeAlias = PatternEntry[Any]
_FixtureEntry: TypeAlias = PatternEntry[FixtureUse]
_TestEntry: TypeAlias = PatternEntry[CaseFacts]

_SHORTEST: Final = 4
_COMBINED: Final = 3
_FLOOR: Final = 0.25
"""Below this share of the best score a match is no match."""
_SHARE: Final = 0.5
"""Tests that have less than this of the weight of all words are about something else."""
_SHOWN: Final = 8
_TESTS: Final = 5
_BASIS: Final = "The BM25 of a file's best test over the most that the words, or the names of a file, could reach."


class Ranking:
    """Things and how well they fit some words: search terms, each with the word it came from.

    Attributes:
        scores: Of the things that have any of the words, best first: the BM25 of each over the most that these words
            could reach, those that nothing has included; 0 to 1.
    """

    def __init__(self, entries: Iterable[_Entry], words: Mapping[str, str]) -> None:
        texts = {one: one.terms() for one in entries}
        self._terms = {one: frozenset(text) for one, text in texts.items()}
        vocabulary = frozenset[str]().union(*self._terms.values())
        self._forms: dict[str, list[str]] = {}
        for term, word in words.items():
            # A word that nothing has stands for what begins it, or begins with it: `auth`, `authenticated`.
            every = () if term in vocabulary or len(term) < _SHORTEST else vocabulary
            alike = [one for one in every if len(one) >= _SHORTEST and (one.startswith(term) or term.startswith(one))]
            self._forms.setdefault(word, []).extend([term, *alike])
        bm25 = Bm25(texts.values())
        self._weights = {word: max(map(bm25.idf, own)) for word, own in self._forms.items()}
        query = [term for own in self._forms.values() for term in own]
        most, found = bm25.max_score(query), bm25.best(query, limit=len(texts))
        order = [*texts]
        self.scores = {order[number]: round(score / most, 3) for number, score in found}

    def coverage(self, entries: Iterable[_Entry]) -> tuple[float, tuple[str, ...]]:
        """How much of the words' weight some things have together, 0 to 1, and the words that none of them has."""
        together = frozenset[str]().union(*(self._terms[one] for one in entries))
        missing = tuple(word for word, own in self._forms.items() if together.isdisjoint(own))
        whole = sum(self._weights.values())
        return (1 - sum(self._weights[word] for word in missing) / whole if whole else 0.0), missing

    def reason(self, one: _Entry) -> str:
        """Why a thing is among those that fit."""
        missing = self.coverage([one])[1]
        words = [f"`{word}`" for word in self._forms if word not in missing]
        return f"it has {', '.join(words)}" if words else "it is called so"

    def worth(self) -> list[_Entry]:
        """The things whose scores are not far below the best."""
        least = max(self.scores.values(), default=0.0) * _FLOOR
        return [one for one, score in self.scores.items() if score >= least]


def query_words(query: str, *, purpose: str) -> dict[str, str]:
    """The words of a query as search terms, each with the word it came from; those of its `purpose` only ask for it."""
    asking = {*terms(purpose)}
    telling = [word for word in WORD.findall(query[:2000]) if word.casefold() not in STOP_WORDS and len(word) > 1]
    return {term: word for word in telling for term in terms(word) if term not in asking}


def rank_by_context(found: Inventory, words: Mapping[str, str], report: Report) -> bool:
    """Order the lists of the result by the words, and say what fits best; False when nothing does."""
    ranking = Ranking((one for entries in found.lists().values() for one in entries), words)
    if not ranking.scores:
        return False
    report.figures |= found.rows(ranking.scores) | reuse_of_words(
        *ranking.coverage([*ranking.scores][:_TESTS]), "pattern"
    )
    best = ranking.worth()[:_SHOWN]
    for one in best:
        one.say(report, confidence=ranking.scores[one])
    report.table("What fits the context", ("kind", "what", "place"), [(one.topic, one.name, one.place) for one in best])
    report.about([one.name for one in best])
    return True


def look_up(found: Inventory, search: FixtureSearch, words: Mapping[str, str], report: Report) -> None:
    """Say which fixtures give what is asked for, or what one has to do with others."""
    report.figures = {"matches": [], "composition": [], "reuse_basis": "nothing was compared"}
    same = [one for one in found.fixtures if one.name == search.name]
    if search.name and not same:
        near = nearest(search.name, {one.name for one in found.fixtures})
        hint = f"The nearest: {', '.join(near)}." if near else "Ask which fixtures there are."
        report.reject(f"There is no fixture called `{one_line(search.name)}` here.", hint=hint, suggestions=near)
    elif search.relation == "definition":
        words = words or dict.fromkeys(terms(search.name), search.name)
        ranking = Ranking(found.fixtures, words)
        chosen: list[_FixtureEntry] = [*dict.fromkeys([*same, *ranking.worth()])][: search.limit]
        if chosen:
            _say_matches(found, chosen, ranking, report)
        else:
            _reject_all(found, words, report)
    elif not same:
        report.reject("Which fixture is meant is not said.", hint="Name it.", code="invalid_input")
    elif search.relation == "users":
        _say_users(same, report)
    else:
        _say_relatives(found, same, search.relation, report)


def _reject_all(found: Inventory, words: Mapping[str, str], report: Report) -> None:
    names = [one_line(one.name) for one in found.fixtures]
    message = f"None of the {len(names):,} fixtures has any of the words asked for."
    hint = f"Available: {', '.join(names[:_SHOWN])}." if names else "Name a folder that has pytest tests."
    report.reject(message if names else "There are no fixtures here.", hint=hint, suggestions=names)
    report.figures |= reuse_of_words(0.0, words.values(), "fixture")


def _say_matches(found: Inventory, chosen: Sequence[_FixtureEntry], ranking: Ranking, report: Report) -> None:
    matches: list[JsonMapping] = []
    for one in chosen:
        score = ranking.scores.get(one, 0.0)
        matches.append({**one.row, "score": score, "reason": ranking.reason(one)})
        one.say(report, confidence=score)
    chain = _chain(_combined(ranking, chosen), found)
    # A dependency's words count: whoever takes the fixture gets it too.
    reuse = reuse_of_words(*ranking.coverage(chain), "fixture")
    report.figures = {"matches": matches, "composition": [one.row for one in chain], **reuse}
    if "new_patterns" not in reuse:
        first = matches[0]
        gives = f" gives `{first['yields']}` and" if first["yields"] else ""
        why = f"`{first['name']}`{gives} {users_of(chosen[0].fact)}"
        report.figures["why_not_new"] = f"{why}; a second one would have to be kept equal to it."
    if len(chain) > 1:
        names = listed((code(one.name) for one in chain), _SHOWN)
        report.say("composition", "It is made of, in this order: {}.", names, source=chain[-1].place)
    say_table(chosen, "Fixtures that fit", report)


def _say_users(same: Sequence[_FixtureEntry], report: Report) -> None:
    """Who uses a fixture; of each one of this name."""
    for one in same:
        report.say("users", f"{{}} {users_of(one.fact)}.", code(one.name), source=one.place)
        report.about(one.fact.files)
    users = [(user, f"{path}:{line}") for one in same for (path, user), line in one.fact.asked_by.items()]
    report.table(f"Users of {same[0].name}", ("user", "place"), users)


def _say_relatives(found: Inventory, same: Sequence[_FixtureEntry], relation: str, report: Report) -> None:
    """Which fixtures build on a fixture, or what it builds on itself; of each one of this name."""
    related: dict[_FixtureEntry, None] = {}
    for one in same:
        if relation == "dependencies":
            below = found.scopes.below(one.fact)
            others = [each for each in found.fixtures if each.fact in below]
            verb, names = "depends on", one.fact.fixture.depends_on
        else:
            others = [each for each in found.fixtures if one.fact in found.scopes.below(each.fact)]
            verb, names = "is used by", [each.name for each in others]
        template = f"{{}} {verb} {'{}' if names else 'no other fixture'}."
        report.say(relation, template, code(one.name), listed(map(code, names), _SHOWN), source=one.place)
        related |= dict.fromkeys(others)
    for one in [*related][:_SHOWN]:
        one.say(report)
    say_table([*related], f"{relation.capitalize()} of {same[0].name}", report)
    if relation == "dependencies":
        report.figures["composition"] = [one.row for one in _chain(same, found)]


def _combined(ranking: Ranking, matches: Sequence[_FixtureEntry]) -> list[_FixtureEntry]:
    """The best match, and such others as add words that those before have not."""
    chosen = [*matches[:1]]
    for one in matches[1:]:
        chosen += [one] if ranking.coverage([*chosen, one])[0] > ranking.coverage(chosen)[0] else []
    return chosen[:_COMBINED]


def _chain(starts: Iterable[_FixtureEntry], found: Inventory) -> list[_FixtureEntry]:
    """What fixtures are made of, in the order in which pytest makes it, themselves last."""
    entries = {one.fact: one for one in found.fixtures}
    chain: dict[_FixtureEntry, None] = {}
    begun: set[_FixtureEntry] = set()
    waiting = [*starts][::-1]
    while waiting:
        one = waiting[-1]
        if one in begun:
            chain.setdefault(waiting.pop())
        else:
            begun.add(one)
            waiting += [entries[each] for each in found.scopes.below(one.fact)[::-1] if entries[each] not in begun]
    return [*chain]


def say_similar(found: Inventory, search: TestSearch, words: Mapping[str, str], report: Report) -> None:
    """Say which test files are most like what is asked for."""
    report.figures = {"matches": [], "basis": _BASIS}
    target = search.target.removeprefix("./").strip("/")
    same = {path for path in found.files if target and f"/{path}".endswith(f"/{target}")}
    sources = same or {path for path in found.files if target and path.startswith(f"{target}/")}
    tests = [one for one in found.tests if one.path not in sources and search.pattern in ("any", *one.fact.patterns)]
    words = _words_of(found, sources) or {**dict.fromkeys(terms(search.symbol), search.symbol), **words}
    ranking = Ranking(tests, words)
    if not words and search.pattern != "any":
        ranking.scores = dict.fromkeys(tests, 1.0)
    elif not sources and ranking.coverage([*ranking.scores][:_TESTS])[0] < _SHARE:
        ranking.scores = {}
    if not ranking.scores or (target and not sources):
        _reject_tests(found, target, report, is_read=bool(sources))
        return
    files: dict[str, list[_TestEntry]] = {}
    for one in ranking.worth():
        files.setdefault(one.path, []).append(one)
    scores = {path: ranking.scores[best] for path, (best, *_) in files.items()}
    # The file with the best test comes first; of equals the one with more such tests.
    first = sorted(files, key=lambda path: (-round(scores[path], 2), -len(files[path]), path))[: search.limit]
    fixtures = BUILT_IN | {one.name for one in found.fixtures}
    report.figures["matches"] = [_say_file(files[path][:_TESTS], scores[path], fixtures, report) for path in first]
    report.subjects = list(map(one_line, first))
    if target:
        report.note("Compared with {}.", code(min(sources, key=len) if len(sources) == 1 else target))


def _reject_tests(found: Inventory, target: str, report: Report, *, is_read: bool) -> None:
    what = f"uses what `{one_line(target)}` defines" if target else "has the words asked for"
    message = f"No test {what}." if found.tests else "There are no tests here."
    if target and not is_read:
        message = f"There is no file `{one_line(target)}` among those that were read."
    hint = "Describe the test in words that the project uses, or name a source file of it."
    report.reject(message, hint=hint, suggestions=[*dict.fromkeys(one.path for one in found.tests)])


def _words_of(found: Inventory, sources: Iterable[str]) -> dict[str, str]:
    """The words of source files by the names they define, of test files by those of their tests."""
    words: dict[str, str] = {}
    for path in sources:
        file = found.files[path]
        stem = path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test").strip("_")
        tests = [case.name.rpartition("::")[2].removeprefix("test_") for case in file.tests]
        names = [stem, *(tests or [one.symbol for one in file.symbols])]
        words |= {term: name for name in names for term in terms(name)}
    return words


def _say_file(tests: Sequence[_TestEntry], score: float, fixtures: Collection[str], report: Report) -> JsonMapping:
    """Say which tests of a file fit; gives them as a row."""
    cases = [one.fact for one in tests]
    row: JsonMapping = {
        "path": tests[0].path,
        "lines": [f"{case.line}-{case.end}" for case in cases],
        "tests": [one.name for one in tests],
        "fixtures": [*dict.fromkeys(name for case in cases for name in case.requests if name in fixtures)],
        "mocks": [*dict.fromkeys(name for case in cases for name in case.mocks)],
        "asserts": sum(case.asserts for case in cases),
        "score": score,
    }
    uses = [
        Prose(f", {noun} {{}}", (listed(map(code, row[noun]), _SHOWN),)) for noun in ("fixtures", "mocks") if row[noun]
    ]
    template = f"{{}}: {{}}, with {plural(row['asserts'], 'assertion')}{'{}' * len(uses)}."
    pieces = (code(tests[0].path), listed(map(code, row["tests"]), _SHOWN), *uses)
    report.say("similar tests", template, *pieces, source=tests[0].place, confidence=score)
    say_table(tests, f"Tests in {tests[0].path}", report)
    return row
