"""Says what a survey found, led by what is to be shown."""

from collections.abc import Sequence
from itertools import chain
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue._report import Report, plural
from retinue.catalogue.pattern_discovery.entries import PATTERNS, PatternEntry, fixture_entry, say_table, test_entry
from retinue.catalogue.pattern_discovery.inventory import Inventory
from retinue.catalogue.pattern_discovery.parameters import Survey

__all__ = ["say_survey"]

_LISTED: Final = 4
"""Sentences about single things; the table has more of them."""
_NOUNS: Final = {
    "tests": ("test", "tests"),
    "fixtures": ("fixture", "fixtures"),
    "steps": ("step", "steps"),
    "undefined": ("line without a step", "lines without a step"),
    "helpers": ("helper", "helpers"),
    "rules": ("documented prohibition", "documented prohibitions"),
}
_MISSING: Final = {
    "tests": "No test was found.",
    "fixtures": "No fixture was found.",
    "steps": "No step of behaviour-driven tests was found.",
    "helpers": "No public function or class is used by two other files.",
    "rules": "No document was found that forbids anything in so many words.",
}


def say_survey(found: Inventory, survey: Survey, report: Report) -> None:
    """Say what is to be shown; a kind of which there is nothing is rejected."""
    show = _shown(survey)
    if show == "overview":
        _say_overview(found, report)
        return
    every = {
        "tests": [*map(test_entry, found.tests)],
        "fixtures": [*map(fixture_entry, found.fixtures)],
        "steps": [*found.steps, *found.undefined] if survey.undefined else found.steps,
        "helpers": found.helpers,
        "rules": found.rules,
    }[show]
    if not every:
        report.reject(_MISSING[show], hint="Ask for an overview, or name another folder.")
    elif show == "steps" and survey.undefined:
        _say_entries(found.undefined, "undefined", "", report)
    elif show == "tests" and survey.pattern != "any":
        _say_pattern(found, survey.pattern, report)
    else:
        _say_entries(*_filtered(every, show, survey), report)


def _shown(survey: Survey) -> str:
    """What is to be shown; where that is not said, what the filters are about."""
    if survey.show != "overview":
        return survey.show
    if survey.pattern != "any":
        return "tests"
    if survey.undefined:
        return "steps"
    return "fixtures" if survey.unused or survey.autouse or survey.scope else "overview"


def _filtered(entries: Sequence[PatternEntry], show: str, survey: Survey) -> tuple[Sequence[PatternEntry], str, str]:
    """The entries that are asked for, what they are, and which of them, in words."""
    words = ""
    if show == "fixtures" and survey.scope:
        entries, words = [one for one in entries if one.row["scope"] == survey.scope], f" of scope {survey.scope}"
    if show == "fixtures" and survey.autouse:
        entries, words = [one for one in entries if one.row["autouse"]], f"{words} with autouse"
    if survey.unused and show in ("fixtures", "steps"):
        # Nobody has to ask for fixtures with autouse.
        entries = [one for one in entries if not one.uses and not one.row.get("autouse")]
        words = f"{words} that nobody uses"
    return entries, show, words


def _say_entries(entries: Sequence[PatternEntry], show: str, words: str, report: Report) -> None:
    noun, nouns = _NOUNS[show]
    if not entries:
        report.say(show, f"There are no {nouns}{words}.")
        return
    most = f"; most used is {{}} ({entries[0].uses:,})" if entries[0].uses else ""
    counts = f"{plural(len(entries), noun, nouns)}{words} in {plural(len({one.path for one in entries}), 'file')}"
    verb = "is" if len(entries) == 1 else "are"
    report.say(show, f"There {verb} {counts}{most}.", code(entries[0].name), source=entries[0].place)
    _list(entries, f"{nouns}{words}", report)


def _say_pattern(found: Inventory, kind: str, report: Report) -> None:
    """The tests that are written in one way, by file."""
    noun, nouns = PATTERNS[kind]
    whole = f"of {plural(len(found.tests), 'test')} in all"
    files = [one for one in found.patterns if one.row["kind"] == kind]
    if not files:
        report.say("tests", f"There are no {nouns}, {whole}.")
        return
    count = sum(one.row["count"] for one in files)
    counts = f"{plural(count, noun, nouns)} in {plural(len(files), 'file')}, {whole}"
    report.say("tests", f"There {'is' if count == 1 else 'are'} {counts}.", source=files[0].place)
    _list(files, nouns, report)


def _list(entries: Sequence[PatternEntry], title: str, report: Report) -> None:
    for one in entries[:_LISTED]:
        one.say(report)
    say_table(entries, title.capitalize(), report)


def _say_ways(found: Inventory, report: Report) -> None:
    """How many tests are written in each way."""
    for kind, nouns in PATTERNS.items():
        chosen = [one for one in found.patterns if one.row["kind"] == kind]
        if chosen:
            tests = plural(sum(one.row["count"] for one in chosen), *nouns)
            report.say("test pattern", f"{tests}, most in {{}}.", code(chosen[0].path), source=chosen[0].place)


def _say_overview(found: Inventory, report: Report) -> None:
    fixtures = [*map(fixture_entry, found.fixtures)]
    kinds = {"fixtures": fixtures, "steps": found.steps, "helpers": found.helpers, "rules": found.rules}
    tests = f"{plural(len(found.tests), 'test')} in {plural(len({one.path for one in found.tests}), 'file')}"
    *others, rules = (plural(len(entries), *_NOUNS[kind]) for kind, entries in kinds.items())
    first = next(chain(map(test_entry, found.tests), *kinds.values(), found.undefined))
    report.say("overview", f"{tests}, {', '.join(others)} and {rules}.", source=first.place)
    _list(fixtures, "fixtures", report)
    _say_ways(found, report)
    for one in (*found.helpers[:2], *found.rules[:2]):
        one.say(report)
    if found.undefined:
        _say_entries(found.undefined, "undefined", "", report)
