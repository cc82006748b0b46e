"""Narrows a survey to one domain, and ranks what is left by a stated context (G6)."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Literal, TypeAlias, TypeVar, assert_never

from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue.pattern_discovery.answers_fixtures import users_of
from retinue.catalogue.pattern_discovery.inventory import Helper, Inventory, Pattern, StepUse, tests_of
from retinue.catalogue.pattern_discovery.lookup import document_of
from retinue.catalogue.pattern_discovery.relevance import Ranked, Ranking, asked_words, weighted
from retinue.catalogue.pattern_discovery.report import Report
from retinue.catalogue.pattern_discovery.reuse import of_words
from retinue.catalogue.pattern_discovery.rows import (
    MOST,
    fixture_row,
    helper_row,
    pattern_row,
    step_row,
    with_relevance,
)
from retinue.catalogue.pattern_discovery.scoping import Known
from retinue.contract.model import JsonMapping
from retinue.tools.search.kinds import is_test

__all__ = ["Domain", "narrow", "say_relevant"]

Domain: TypeAlias = Literal["e2e-testing", "unit-testing", "source-code", "documentation"]
T = TypeVar("T")

_END_TO_END: Final = re.compile(
    r"(?:\A|[/_.-])(?:e2e|end[-_]?to[-_]?end|integration|acceptance|functional|features?|bdd|system|ui)(?=[/_.-])",
    re.IGNORECASE,
)
_TESTING: Final = (None, "e2e-testing", "unit-testing")
_BEST: Final = 5
_SAID: Final = 8
_FLOOR: Final = 0.25


def narrow(found: Inventory, domain: Domain | None, folder: str) -> Inventory:
    """What belongs to a domain when one is named, and lies in a folder when one is."""

    def is_in(path: str) -> bool:
        return not folder or path == folder or path.startswith(f"{folder}/")

    def end_to_end(path: str) -> bool:
        return _END_TO_END.search(path) is not None

    def is_tested(path: str) -> bool:
        return domain is None or end_to_end(path) == (domain == "e2e-testing")

    tests = [one for one in found.tests if domain in _TESTING and is_tested(one.path)]
    users = {one.path for one in tests}
    fixtures = [one for one in found.fixtures if is_tested(one.path) or not users.isdisjoint(one.files)]
    return Inventory(
        facts=found.facts,
        modules=found.modules,
        scopes=found.scopes,
        fixtures=[one for one in fixtures if domain in _TESTING and is_in(one.path)],
        tests=[one for one in tests if is_in(one.path)],
        patterns=[one for one in found.patterns if domain in _TESTING and is_tested(one.path) and is_in(one.path)],
        steps=[one for one in found.steps if domain in (None, "e2e-testing") and is_in(one.path)],
        undefined=[one for one in found.undefined if domain in (None, "e2e-testing") and is_in(one[0])],
        helpers=[one for one in found.helpers if is_in(one.path) and _helps(one, domain, is_tested)],
        rules=[one for one in found.rules if domain in (None, "documentation") and is_in(one[0])],
        unknown=found.unknown,
        docs=found.docs,
    )


def _helps(one: Helper, domain: Domain | None, is_tested: Callable[[str], bool]) -> bool:
    match domain:
        case None:
            return True
        case "source-code":
            return not is_test(one.path)
        case "documentation":
            return False
        case "e2e-testing" | "unit-testing":
            return is_test(one.path) and is_tested(one.path)
        case _:
            assert_never(domain)


def say_relevant(found: Inventory, context: str, report: Report) -> bool:
    """Rank everything by the context and say what fits best; False when nothing does."""
    words = asked_words(context)
    documents = [
        *(document_of(one, found) for one in found.fixtures),
        *(_pattern_document(one) for one in found.patterns),
        *(weighted((one.step.text, 2), (one.path, 1)) for one in found.steps),
        *(_helper_document(one) for one in found.helpers),
        *(weighted((rule.text, 1), (path, 1)) for path, rule in found.rules),
    ]
    ranking = Ranking(documents)
    ranked = ranking.best(words, limit=len(documents)) if words else []
    scores = {one.number: one.score for one in ranked}
    _fill_lists(found, scores, report)
    if not ranked:
        return False
    share, missing = ranking.coverage(words, [one.number for one in ranked[:_BEST]])
    report.figures |= of_words(share, missing, "pattern").data()
    _say_best(found, ranked, report)
    return True


def _fill_lists(found: Inventory, scores: Mapping[int, float], report: Report) -> None:
    """The lists of the result, each by relevance where that was measured."""
    start = 0

    def ranked(things: Sequence[T], row: Callable[[T], JsonMapping]) -> list[JsonMapping]:
        nonlocal start
        numbered = [(scores.get(start + place), one) for place, one in enumerate(things)]
        start += len(things)
        if scores:
            numbered = sorted(numbered, key=lambda item: -(item[0] or 0.0))
        return [with_relevance(row(one), (score or 0.0) if scores else None) for score, one in numbered[:MOST]]

    report.figures |= {
        "fixtures": ranked(found.fixtures, fixture_row),
        "test_patterns": ranked(found.patterns, pattern_row),
        "steps": ranked(found.steps, step_row),
        "helpers": ranked(found.helpers, helper_row),
        "anti_patterns": ranked(
            found.rules, lambda one: {"text": one_line(one[1].text), "path": one[0], "line": one[1].line}
        ),
    }


def _say_best(found: Inventory, ranked: Sequence[Ranked], report: Report) -> None:
    everything = [*found.fixtures, *found.patterns, *found.steps, *found.helpers, *found.rules]
    rows: list[tuple[str, str, str]] = []
    fitting = [one for one in ranked[:_SAID] if one.score >= ranked[0].score * _FLOOR]
    for match in fitting:
        one = everything[match.number]
        sure = round(match.score, 3)
        match one:
            case Known():
                report.say(
                    "fixture", f"{{}} {users_of(one)}.", code(one.fixture.name), source=one.place, confidence=sure
                )
                rows.append(("fixture", one.fixture.name, one.place))
            case Pattern():
                place = f"{one.path}:{one.tests[0].line}"
                said = f"{{}} has {tests_of(one.kind, len(one.tests))}."
                report.say("test pattern", said, code(one.path), source=place, confidence=sure)
                rows.append((one.kind, one.path, place))
            case StepUse():
                place = f"{one.path}:{one.step.line}"
                report.say("step", f"{one.step.kind} {{}}", code(one.step.text), source=place, confidence=sure)
                rows.append(("step", one.step.text, place))
            case Helper():
                place = f"{one.path}:{one.symbol.line}"
                report.say("helper", "{}", code(one.symbol.signature), source=place, confidence=sure)
                rows.append(("helper", one.symbol.name, place))
            case (path, rule):
                report.say("prohibition", "{}", quote(rule.text), source=f"{path}:{rule.line}", confidence=sure)
                rows.append(("prohibition", rule.text, f"{path}:{rule.line}"))
    report.table("What fits the context", ("kind", "what", "place"), rows)
    report.about([name for _, name, _ in rows])


def _pattern_document(one: Pattern) -> list[str]:
    names = " ".join(case.name.removeprefix("test") for case in one.tests)
    return weighted((one.kind, 1), (one.path, 2), (names, 1), (" ".join(case.doc for case in one.tests), 1))


def _helper_document(one: Helper) -> list[str]:
    return weighted((one.symbol.name, 3), (one.symbol.doc, 1), (one.symbol.signature, 1), (one.path, 1))
