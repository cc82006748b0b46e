"""Says what there is: a survey, patterns of a domain (G6), the fixture that gives something (G7), tests to follow (G8).

What fits some words is found by BM25 over small texts made of names. The weight of a word is its inverse document
frequency among the things themselves, so a word that none of them has weighs most: it is what would be new.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from retinue.catalogue._prose import code, first_of, one_line
from retinue.catalogue._report import SkillReport, plural
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.tools.search.bm25 import STOP_WORDS, WORD, Bm25, terms

from .file_facts import CaseFacts
from .inventory import BUILT_IN, PATTERNS, FixtureUse, Inventory, PatternEntry, add_table, reuse_of_words, users_of
from .parameters import FixtureSearch, Survey, TestSearch

_Entry: TypeAlias = PatternEntry[Any]
_FixtureEntry: TypeAlias = PatternEntry[FixtureUse]
_TestEntry: TypeAlias = PatternEntry[CaseFacts]

_MAX_SENTENCES: Final = 4
"""Sentences about single things; the table has more of them."""
_NOUNS: Final = {
    "tests": ("test", "tests", "No test was found."),
    "fixtures": ("fixture", "fixtures", "No fixture was found."),
    "steps": ("step", "steps", "No step of behaviour-driven tests was found."),
    "undefined": ("line without a step", "lines without a step", "No step of behaviour-driven tests was found."),
    "helpers": ("helper", "helpers", "No public function or class is used by two other files."),
    "rules": (
        "documented prohibition", "documented prohibitions",
        "No document was found that forbids anything in so many words.",
    ),
}  # fmt: skip
"""What one thing of a kind and several are called, and the message if nothing was found."""
_SHORTEST: Final = 4
_COMBINED: Final = 3
_SCORE_THRESHOLD: Final = 0.25
"""Below this share of the best score a match is no match."""
_SHARE: Final = 0.5
"""Tests that have less than this of the weight of all words are about something else."""
_MAX_SHOWN: Final = 8
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
        most, hits = bm25.max_score(query), bm25.best(query, limit=len(texts))
        order = [*texts]
        self.scores = {order[number]: round(score / most, 3) for number, score in hits}

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

    def near_best(self) -> list[_Entry]:
        """The things whose scores are not far below the best."""
        least = max(self.scores.values(), default=0.0) * _SCORE_THRESHOLD
        return [one for one, score in self.scores.items() if score >= least]


def query_words(query: str, *, purpose: str) -> dict[str, str]:
    """The words of a query as search terms, each with the word it came from; those of its `purpose` only ask for it."""
    asking = {*terms(purpose)}
    content_words = [word for word in WORD.findall(query[:2000]) if word.casefold() not in STOP_WORDS and len(word) > 1]
    return {term: word for word in content_words for term in terms(word) if term not in asking}


def report_survey(inventory: Inventory, survey: Survey, report: SkillReport) -> None:
    """Say what is to be shown; a kind of which there is nothing is rejected."""
    show = survey.show
    if survey.undefined and show in ("overview", "steps"):
        show = "undefined"
    elif show == "overview":  # then the filters say what is meant
        is_about_fixtures = survey.unused or survey.autouse or survey.scope
        show = "tests" if survey.pattern != "any" else "fixtures" if is_about_fixtures else show
    if show == "overview" and not any((inventory.tests, inventory.undefined, *inventory.lists().values())):
        hint = "Name a folder with Python code, feature files or documents."
        report.reject("Nothing to build on was found: no test, fixture, step, helper or prohibition.", hint=hint)
    elif show == "overview":
        _report_overview(inventory, report)
    elif not (getattr(inventory, show) or (show == "undefined" and inventory.steps)):
        report.reject(_NOUNS[show][2], hint="Ask for an overview, or name another folder.")
    elif show == "tests" and survey.pattern != "any":
        files = [one for one in inventory.patterns if one.fact == survey.pattern]
        _report_entries(
            files, PATTERNS[survey.pattern], report, end=f", of {plural(len(inventory.tests), 'test')} in all"
        )
    else:
        entries: Sequence[_Entry] = getattr(inventory, show)
        which = ""
        if show == "fixtures" and survey.scope:
            entries, which = [one for one in entries if one.row["scope"] == survey.scope], f" of scope {survey.scope}"
        if show == "fixtures" and survey.autouse:
            entries, which = [one for one in entries if one.row["autouse"]], f"{which} with autouse"
        if show in ("fixtures", "steps") and survey.unused:
            # A fixture with autouse is used without being requested.
            entries = [one for one in entries if not one.uses and not one.row.get("autouse")]
            which = f"{which} that are not used"
        most = f"; most used is {code(entries[0].name)} ({entries[0].uses:,})" if entries and entries[0].uses else ""
        _report_entries(entries, _NOUNS[show], report, which=which, end=most)


def _report_entries(
    entries: Sequence[_Entry], nouns: Sequence[str], report: SkillReport, *, which: str = "", end: str = ""
) -> None:
    if not entries:
        report.add(nouns[1], f"There are no {nouns[1]}{which}{end}.")
        return
    files = plural(len({one.path for one in entries}), "file")
    count = sum(one.row.get("count", 1) for one in entries)
    text = f"There {'is' if count == 1 else 'are'} {plural(count, nouns[0], nouns[1])}{which} in {files}{end}."
    report.add(nouns[1], text, source=entries[0].place)
    _add_entries(entries, f"{nouns[1]}{which}", report)


def _add_entries(entries: Sequence[_Entry], title: str, report: SkillReport) -> None:
    for one in entries[:_MAX_SENTENCES]:
        one.add_to(report)
    add_table(entries, title.capitalize(), report)


def _report_overview(inventory: Inventory, report: SkillReport) -> None:
    kinds = {
        "fixtures": inventory.fixtures,
        "steps": inventory.steps,
        "helpers": inventory.helpers,
        "rules": inventory.rules,
    }
    tests = f"{plural(len(inventory.tests), 'test')} in {plural(len({one.path for one in inventory.tests}), 'file')}"
    *others, rules = (plural(len(entries), *_NOUNS[kind][:2]) for kind, entries in kinds.items())
    first = next(chain(inventory.tests, *kinds.values(), inventory.undefined))
    report.add("overview", f"{tests}, {', '.join(others)} and {rules}.", source=first.place)
    _add_entries(inventory.fixtures, "fixtures", report)
    for kind, nouns in PATTERNS.items():
        chosen = [one for one in inventory.patterns if one.fact == kind]
        if chosen:
            count = plural(sum(one.row["count"] for one in chosen), *nouns)
            report.add("test pattern", f"{count}, most in {code(chosen[0].path)}.", source=chosen[0].place)
    for one in (*inventory.helpers[:2], *inventory.rules[:2]):
        one.add_to(report)
    if inventory.undefined:
        _report_entries(inventory.undefined, _NOUNS["undefined"], report)


def rank_by_context(inventory: Inventory, words: Mapping[str, str], report: SkillReport) -> bool:
    """Order the lists of the result by the words, and say what fits best; False when nothing does."""
    ranking = Ranking((one for entries in inventory.lists().values() for one in entries), words)
    if not ranking.scores:
        return False
    report.figures |= inventory.rows(ranking.scores) | reuse_of_words(
        *ranking.coverage([*ranking.scores][:_TESTS]), "pattern"
    )
    best = ranking.near_best()[:_MAX_SHOWN]
    for one in best:
        one.add_to(report, confidence=ranking.scores[one])
    report.add_table(
        "What fits the context", ("kind", "what", "place"), [(one.topic, one.name, one.place) for one in best]
    )
    report.add_subjects([one.name for one in best])
    return True


def look_up(inventory: Inventory, search: FixtureSearch, words: Mapping[str, str], report: SkillReport) -> None:
    """Say which fixtures give what is asked for, or what one has to do with others."""
    report.figures = {"matches": [], "composition": [], "reuse_basis": "nothing was compared"}
    same = [one for one in inventory.fixtures if one.name == search.name]
    if search.name and not same:
        near = nearest(search.name, {one.name for one in inventory.fixtures})
        hint = f"The nearest: {', '.join(near)}." if near else "Ask which fixtures there are."
        report.reject(f"There is no fixture called `{one_line(search.name)}` here.", hint=hint, suggestions=near)
    elif search.relation == "definition":
        words = words or dict.fromkeys(terms(search.name), search.name)
        ranking = Ranking(inventory.fixtures, words)
        chosen: list[_FixtureEntry] = [*dict.fromkeys([*same, *ranking.near_best()])][: search.limit]
        if chosen:
            _report_matches(inventory, chosen, ranking, report)
        else:
            names = [one_line(one.name) for one in inventory.fixtures]
            message = f"None of the {len(names):,} fixtures has any of the words asked for."
            hint = f"Available: {', '.join(names[:_MAX_SHOWN])}." if names else "Name a folder that has pytest tests."
            report.reject(message if names else "There are no fixtures here.", hint=hint, suggestions=names)
            report.figures |= reuse_of_words(0.0, words.values(), "fixture")
    elif not same:
        report.reject("Which fixture is meant is not said.", hint="Name it.", code="invalid_input")
    elif search.relation == "users":
        for one in same:
            report.add("users", f"{code(one.name)} {users_of(one.fact)}.", source=one.place)
            report.add_subjects(one.fact.files)
        users = [(user, f"{path}:{line}") for one in same for (path, user), line in one.fact.requested_by.items()]
        report.add_table(f"Users of {same[0].name}", ("user", "place"), users)
    else:
        _report_relatives(inventory, same, search.relation, report)


def _report_matches(
    inventory: Inventory, chosen: Sequence[_FixtureEntry], ranking: Ranking, report: SkillReport
) -> None:
    matches: list[JsonMapping] = []
    for one in chosen:
        score = ranking.scores.get(one, 0.0)
        matches.append({**one.row, "score": score, "reason": ranking.reason(one)})
        one.add_to(report, confidence=score)
    # The best match, and such others as add words that those before have not.
    together = [*chosen[:1]]
    for one in chosen[1:]:
        together += [one] if ranking.coverage([*together, one])[0] > ranking.coverage(together)[0] else []
    chain = _chain(together[:_COMBINED], inventory)
    # A dependency's words count: a test that requests the fixture gets it too.
    reuse = reuse_of_words(*ranking.coverage(chain), "fixture")
    report.figures = {"matches": matches, "composition": [one.row for one in chain], **reuse}
    if "new_patterns" not in reuse:
        first = matches[0]
        gives = f" gives `{first['yields']}` and" if first["yields"] else ""
        why = f"`{first['name']}`{gives} {users_of(chosen[0].fact)}"
        report.figures["why_not_new"] = f"{why}; a second one would have to be kept equal to it."
    if len(chain) > 1:
        names = _name_list([one.name for one in chain])
        report.add("composition", f"It is made of, in this order: {names}.", source=chain[-1].place)
    add_table(chosen, "Fixtures that fit", report)


def _report_relatives(inventory: Inventory, same: Sequence[_FixtureEntry], relation: str, report: SkillReport) -> None:
    """Which fixtures build on a fixture, or what it builds on itself; of each one of this name."""
    related: dict[_FixtureEntry, None] = {}
    for one in same:
        if relation == "dependencies":
            below = inventory.scopes.dependencies_of(one.fact)
            others = [each for each in inventory.fixtures if each.fact in below]
            verb, names = "depends on", one.fact.fixture.depends_on
        else:
            others = [each for each in inventory.fixtures if one.fact in inventory.scopes.dependencies_of(each.fact)]
            verb, names = "is used by", [each.name for each in others]
        report.add(relation, f"{code(one.name)} {verb} {_name_list(names) or 'no other fixture'}.", source=one.place)
        related |= dict.fromkeys(others)
    for one in [*related][:_MAX_SHOWN]:
        one.add_to(report)
    add_table([*related], f"{relation.capitalize()} of {same[0].name}", report)
    if relation == "dependencies":
        report.figures["composition"] = [one.row for one in _chain(same, inventory)]


def _name_list(names: Sequence[str]) -> str:
    return first_of([*map(code, names)], _MAX_SHOWN)


def _chain(starts: Iterable[_FixtureEntry], inventory: Inventory) -> list[_FixtureEntry]:
    """What fixtures are made of, in the order in which pytest makes it, themselves last."""
    entries = {one.fact: one for one in inventory.fixtures}
    chain: dict[_FixtureEntry, None] = {}
    visited: set[_FixtureEntry] = set()
    waiting = [*starts][::-1]
    while waiting:
        one = waiting[-1]
        if one in visited:
            chain.setdefault(waiting.pop())
        else:
            visited.add(one)
            waiting += [
                entries[each]
                for each in inventory.scopes.dependencies_of(one.fact)[::-1]
                if entries[each] not in visited
            ]
    return [*chain]


def report_similar_tests(
    inventory: Inventory, search: TestSearch, words: Mapping[str, str], report: SkillReport
) -> None:
    """Say which test files are most like what is asked for."""
    report.figures = {"matches": [], "basis": _BASIS}
    target = search.target.removeprefix("./").strip("/")
    same = {path for path in inventory.files if target and f"/{path}".endswith(f"/{target}")}
    sources = same or {path for path in inventory.files if target and path.startswith(f"{target}/")}
    tests = [
        one for one in inventory.tests if one.path not in sources and search.pattern in ("any", *one.fact.patterns)
    ]
    # Source files are known by the names they define, test files by those of their tests.
    names: list[str] = []
    for path in sources:
        file = inventory.files[path]
        names.append(path.rpartition("/")[2].removesuffix(".py").removeprefix("test_").removesuffix("_test").strip("_"))
        cases = [case.name.rpartition("::")[2].removeprefix("test_") for case in file.tests]
        names += cases or [one.symbol for one in file.symbols]
    source_words = {term: name for name in names for term in terms(name)}
    words = source_words or {**dict.fromkeys(terms(search.symbol), search.symbol), **words}
    ranking = Ranking(tests, words)
    if not words and search.pattern != "any":
        ranking.scores = dict.fromkeys(tests, 1.0)
    elif not sources and ranking.coverage([*ranking.scores][:_TESTS])[0] < _SHARE:
        ranking.scores = {}
    if not ranking.scores or (target and not sources):
        is_read = bool(sources)
        what = f"uses what `{one_line(target)}` defines" if target else "has the words asked for"
        message = f"No test {what}." if inventory.tests else "There are no tests here."
        if target and not is_read:
            message = f"There is no file `{one_line(target)}` among those that were read."
        hint = "Describe the test in words that the project uses, or name a source file of it."
        report.reject(message, hint=hint, suggestions=[*dict.fromkeys(one.path for one in inventory.tests)])
        return
    files: dict[str, list[_TestEntry]] = {}
    for one in ranking.near_best():
        files.setdefault(one.path, []).append(one)
    scores = {path: ranking.scores[best] for path, (best, *_) in files.items()}
    # The file with the best test comes first; of equals the one with more such tests.
    first = sorted(files, key=lambda path: (-round(scores[path], 2), -len(files[path]), path))[: search.limit]
    fixtures = BUILT_IN | {one.name for one in inventory.fixtures}
    report.figures["matches"] = [_report_file(files[path][:_TESTS], scores[path], fixtures, report) for path in first]
    report.subjects = list(map(one_line, first))
    if target:
        report.note(f"Compared with {code(min(sources, key=len) if len(sources) == 1 else target)}.")


def _report_file(
    tests: Sequence[_TestEntry], score: float, fixtures: Collection[str], report: SkillReport
) -> JsonMapping:
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
    uses = "".join(f", {noun} {_name_list(row[noun])}" for noun in ("fixtures", "mocks") if row[noun])
    names, assertions = _name_list(row["tests"]), plural(row["asserts"], "assertion")
    text = f"{code(tests[0].path)}: {names}, with {assertions}{uses}."
    report.add("similar tests", text, source=tests[0].place, confidence=score)
    add_table(tests, f"Tests in {tests[0].path}", report)
    return row
