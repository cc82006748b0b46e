"""Finds the fixture that gives what a request describes, what it builds on, and why no new one is needed (G7)."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import Piece, code, one_line
from retinue.catalogue.pattern_discovery.answers_fixtures import users_of
from retinue.catalogue.pattern_discovery.inventory import Inventory
from retinue.catalogue.pattern_discovery.question import Asked
from retinue.catalogue.pattern_discovery.relevance import Ranked, Ranking, asked_words, weighted
from retinue.catalogue.pattern_discovery.report import Report
from retinue.catalogue.pattern_discovery.reuse import Reuse, of_words
from retinue.catalogue.pattern_discovery.rows import fixture_row
from retinue.catalogue.pattern_discovery.scoping import Known
from retinue.contract.model import JsonMapping
from retinue.tools.search import terms

__all__ = ["chain_of", "document_of", "look_up"]

_COMBINED: Final = 3
_FLOOR: Final = 0.1
"""Below this share of the best score a match is no match."""


def look_up(found: Inventory, asked: Asked, report: Report, *, limit: int) -> None:
    """Say which fixtures give what is asked for; a name that is a fixture's own stands first."""
    named = [one for one in found.fixtures if one.fixture.name in asked.quoted]
    ranking = Ranking(document_of(one, found) for one in found.fixtures)
    words = asked_words(asked.text)
    ranked = ranking.best(words, limit=max(limit, 20))
    most = max((one.score for one in ranked), default=0.0)
    kept = [one for one in ranked if one.score >= most * _FLOOR][:limit]
    if not kept:
        _say_none(found, words, report)
        return
    chosen = [found.fixtures[one.number] for one in kept]
    combined = _combined(ranking, words, kept)
    # A dependency's words count: whoever takes the fixture gets it too.
    chain = _chains([found.fixtures[number] for number in combined], found)
    share, missing = ranking.coverage(words, [*combined, *(found.fixtures.index(one) for one in chain)])
    reuse = of_words(share, missing, "fixture")
    if named and named[0] in chosen:
        chosen.sort(key=lambda one: one is not named[0])
        kept.sort(key=lambda one: found.fixtures[one.number] is not named[0])
    report.figures = {
        "matches": [_row(one, match, found) for one, match in zip(chosen, kept, strict=True)],
        "composition": [_link(one) for one in chain],
        **reuse.data(),
        **({"why_not_new": why} if (why := _why_not_new(chosen[0], reuse)) else {}),
    }
    _say(list(zip(chosen, kept, strict=True)), chain, reuse, report)


def document_of(one: Known, found: Inventory) -> list[str]:
    """The words by which a fixture is found: its name counts most, then what it gives and what that says of itself."""
    fixture = one.fixture
    return weighted(
        (fixture.name, 3),
        (fixture.gives, 2),
        (fixture.doc, 1),
        (_said_of(one, found), 1),
        (" ".join(fixture.params), 1),
        (" ".join(fixture.depends_on), 1),
        (fixture.scope if fixture.scope != "function" else "", 1),
    )


def chain_of(start: Known, found: Inventory) -> list[Known]:
    """What a fixture is made of, in the order in which pytest makes it, itself last."""
    made: list[Known] = []
    waiting: list[tuple[Known, bool]] = [(start, False)]
    seen: set[int] = set()
    while waiting:
        one, ready = waiting.pop()
        if ready:
            made.append(one)
            continue
        if id(one) in seen:
            continue
        seen.add(id(one))
        waiting.append((one, True))
        for name in reversed(one.fixture.depends_on):
            below = found.scopes.resolve(name, one.path, one.fixture.owner)
            following = next((each for each in below if each is not one), None)
            if following is not None:
                waiting.append((following, False))
    return made


def _chains(starts: Sequence[Known], found: Inventory) -> list[Known]:
    every = [one for start in starts for one in chain_of(start, found)]
    return list({id(one): one for one in every}.values())


def _combined(ranking: Ranking, words: dict[str, str], kept: Sequence[Ranked]) -> list[int]:
    """The best match, and such others as add words that those before have not."""
    chosen = [kept[0].number]
    share, _ = ranking.coverage(words, chosen)
    for one in kept[1:]:
        more, _ = ranking.coverage(words, [*chosen, one.number])
        if more > share and len(chosen) < _COMBINED:
            chosen.append(one.number)
            share = more
    return chosen


def _row(one: Known, match: Ranked, found: Inventory) -> JsonMapping:
    return {
        **fixture_row(one),
        "fixture": one.fixture.name,
        "score": round(match.score, 3),
        "reason": _reason(one, match, found),
    }


def _said_of(one: Known, found: Inventory) -> str:
    return found.docs.get(one.fixture.gives.removesuffix("()").rpartition(".")[2], "")


def _reason(one: Known, match: Ranked, found: Inventory) -> str:
    """Where the words of the request stand in it."""
    places = {
        "its name": one.fixture.name,
        "what it gives": one.fixture.gives,
        "its docstring": one.fixture.doc,
        "the docstring of what it gives": _said_of(one, found),
        "its parameters": " ".join(one.fixture.params),
        "what it depends on": " ".join(one.fixture.depends_on),
    }
    said: list[str] = []
    for words, text in places.items():
        held = set(terms(text))
        if fitting := [word for word in match.words if _stands_in(word, held)]:
            said.append(f"{words} has {', '.join(f'`{word}`' for word in dict.fromkeys(fitting))}")
    return "; ".join(said) or "it has the words of the request"


def _stands_in(word: str, held: set[str]) -> bool:
    """Whether one of the terms begins the word, or the word it; what is only alike was weighed the same way."""
    return any(
        term in held or any(term.startswith(one) or one.startswith(term) for one in held if len(one) > 3)
        for term in terms(word)
    )


def _link(one: Known) -> JsonMapping:
    return {
        "fixture": one.fixture.name,
        "path": one.path,
        "line": one.fixture.line,
        "scope": one.fixture.scope,
        "depends_on": list(one.fixture.depends_on),
    }


def _why_not_new(best: Known, reuse: Reuse) -> str:
    if reuse.score is None or reuse.score < 7:
        return ""
    gives = f" gives `{one_line(best.fixture.gives)}` and" if best.fixture.gives else ""
    return f"`{one_line(best.fixture.name)}`{gives} {users_of(best)}; a second one would have to be kept equal to it."


def _say(matches: Sequence[tuple[Known, Ranked]], chain: Sequence[Known], reuse: Reuse, report: Report) -> None:
    for one, match in matches:
        template, pieces = "{}", list[Piece | str]([code(one.fixture.name)])
        if one.fixture.gives:
            template += " gives {},"
            pieces.append(code(one.fixture.gives))
        report.say("match", f"{template} {users_of(one)}.", *pieces, source=one.place, confidence=round(match.score, 3))
    if len(chain) > 1:
        report.say(
            "composition",
            f"It is made of, in this order: {', '.join(['{}'] * len(chain))}.",
            *(code(one.fixture.name) for one in chain),
            source=chain[-1].place,
        )
    if reuse.score is not None:
        report.note(f"Reuse score {reuse.score} of 10 ({reuse.band}).")
    report.about([one.fixture.name for one, _ in matches])
    report.table(
        "Fixtures that fit",
        ("fixture", "gives", "uses", "place"),
        [(one.fixture.name, one.fixture.gives, len(one.asked_by), one.place) for one, _ in matches],
    )


def _say_none(found: Inventory, words: dict[str, str], report: Report) -> None:
    report.figures = {"matches": [], "composition": [], **of_words(0.0, tuple(words.values()), "fixture").data()}
    names = [one_line(one.fixture.name) for one in found.fixtures]
    what = (
        f"None of the {len(names):,} fixtures has any of the words asked for."
        if names
        else "There are no fixtures here."
    )
    report.reject(
        what,
        hint=f"Available: {', '.join(names[:8])}." if names else "Name a folder that has pytest tests.",
        suggestions=names,
    )
