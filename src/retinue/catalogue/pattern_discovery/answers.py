"""Says what a survey found, led by what is to be shown."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import code, quote
from retinue.catalogue._report import Report, plural
from retinue.catalogue.pattern_discovery.entries import PATTERNS, Entry, fixture_entry, say_table, test_entry
from retinue.catalogue.pattern_discovery.inventory import Inventory
from retinue.catalogue.pattern_discovery.parameters import Survey

__all__ = ["say_survey"]

_LISTED: Final = 4
"""Sentences about single things; the table has more of them."""


def say_survey(found: Inventory, survey: Survey, report: Report) -> None:
    """Say what is to be shown; what there is none of is rejected."""
    match _shown(survey):
        case "tests":
            _say_tests(found, survey, report)
        case "fixtures":
            _say_fixtures(found, survey, report)
        case "steps" if survey.undefined:
            _say_undefined(found, report)
        case "steps":
            what = "step of behaviour-driven tests"
            _say_used(found.steps, "step", report, survey=survey, missing=f"No {what} was found")
        case "helpers":
            missing = "No public function or class is used by two other files"
            _say_used(found.helpers, "helper", report, survey=survey, missing=missing)
        case "platform":
            helpers = [one for one in found.helpers if one.row["kind"] == "platform"]
            missing = "No public function or class asks for the operating system"
            _say_used(helpers, "platform helper", report, survey=survey, missing=missing)
        case "rules":
            missing = "No document was found that forbids anything in so many words"
            _say_used(found.rules, "documented prohibition", report, survey=survey, missing=missing)
        case _:
            _say_overview(found, report)


def _shown(survey: Survey) -> str:
    """What is to be shown; where that is not said, what the filters are about."""
    if survey.show != "overview":
        return survey.show
    if survey.pattern != "any":
        return "tests"
    if survey.undefined:
        return "steps"
    return "fixtures" if survey.unused or survey.autouse or survey.scope else "overview"


def _say_fixtures(found: Inventory, survey: Survey, report: Report) -> None:
    chosen, words = found.fixtures, ""
    if survey.scope:
        chosen, words = [one for one in chosen if one.fixture.scope == survey.scope], f" of scope {survey.scope}"
    if survey.autouse:
        chosen, words = [one for one in chosen if one.fixture.autouse], f"{words} with autouse"
    if survey.unused:  # nobody has to ask for those with autouse
        chosen = [one for one in chosen if not one.fixture.autouse]
        report.note("Uses by another project, or by a name that is put together while it runs, cannot be seen.")
    missing = "" if found.fixtures else "No fixture was found"
    _say_used([*map(fixture_entry, chosen)], "fixture", report, survey=survey, words=words, missing=missing)


def _say_used(
    entries: Sequence[Entry], noun: str, report: Report, *, survey: Survey, missing: str, words: str = ""
) -> None:
    """Say how many there are, or how many nobody uses; without any of the kind at all that is no answer."""
    if not entries and missing:
        report.reject(f"{missing}.", hint="Ask for an overview, or name another folder.")
        return
    if survey.unused:
        entries, words = [one for one in entries if not one.uses], f"{words} that nobody uses"
    if not entries:
        report.say(f"{noun}s", f"There is no {noun}{words}.")
        return
    files = len({one.path for one in entries})
    first = entries[0]
    verb = "is" if len(entries) == 1 else "are"
    lead = f"There {verb} {plural(len(entries), noun)}{words} in {plural(files, 'file')}"
    most = f"; most used is {{}} ({first.uses:,})" if first.uses else ""
    report.say(f"{noun}s", f"{lead}{most}.", code(first.name), source=first.place)
    _list(entries, f"{noun}s{words}", report)


def _list(entries: Sequence[Entry], title: str, report: Report) -> None:
    for one in entries[:_LISTED]:
        one.say(report)
    say_table(entries, title.capitalize(), report)


def _say_undefined(found: Inventory, report: Report) -> None:
    if not found.undefined:
        report.say("undefined steps", "Every line of the feature files fits a step.")
        return
    lines = plural(len(found.undefined), "line")
    verb = "fits" if len(found.undefined) == 1 else "fit"
    path, first = found.undefined[0]
    text = quote(f"{first.kind} {first.text}")
    report.say(
        "undefined steps",
        f"{lines} of feature files {verb} no step; the first is {{}}.",
        text,
        source=f"{path}:{first.line}",
    )
    rows = [(f"{one.kind} {one.text}", f"{where}:{one.line}") for where, one in found.undefined]
    report.table("Lines without a step", ("line", "place"), rows)


def _say_tests(found: Inventory, survey: Survey, report: Report) -> None:
    """The tests, or those that are written in one way."""
    kind = survey.pattern
    chosen = [one for one in found.tests if kind in ("any", *one.case.patterns)]
    if not found.tests:
        report.reject("No test was found.", hint="Name another folder: tests are what pytest collects.")
        return
    nouns = PATTERNS.get(kind, ("test", "tests"))
    if not chosen:
        report.say("tests", f"There are no {nouns[1]}, of {plural(len(found.tests), 'test')} in all.")
        return
    by_file: dict[str, int] = {}
    for one in chosen:
        by_file[one.path] = by_file.get(one.path, 0) + 1
    path = max(by_file, key=lambda each: by_file[each])
    lead = (
        f"There {'is' if len(chosen) == 1 else 'are'} {plural(len(chosen), *nouns)} in {plural(len(by_file), 'file')}"
    )
    whole = "" if kind == "any" else f", of {plural(len(found.tests), 'test')} in all"
    first = next(one for one in chosen if one.path == path)
    place = f"{path}:{first.case.line}"
    report.say("tests", f"{lead}{whole}; most, {by_file[path]:,}, in {{}}.", code(path), source=place)
    if kind == "any":
        _say_ways(found, report)
    elif kind == "mock":
        mocks = dict.fromkeys(name for one in chosen for name in one.case.mocks)
        report.say("mocks", f"By: {', '.join(['{}'] * len(mocks))}.", *map(code, mocks), source=place)
    in_order = sorted(chosen, key=lambda one: (-by_file[one.path], one.path))
    _list([*map(test_entry, in_order)], nouns[1], report)
    report.subjects = list(dict.fromkeys([path, *(one.path for one in in_order)]))[: len(report.subjects)]


def _say_ways(found: Inventory, report: Report) -> None:
    """How many tests are written in each way."""
    for kind, nouns in PATTERNS.items():
        chosen = [one for one in found.patterns if one.row["kind"] == kind]
        if chosen:
            tests = plural(sum(one.row["count"] for one in chosen), *nouns)
            report.say("test pattern", f"{tests}, most in {{}}.", code(chosen[0].path), source=chosen[0].place)


def _say_overview(found: Inventory, report: Report) -> None:
    files = len({one.path for one in found.tests})
    report.say(
        "overview",
        f"{plural(len(found.tests), 'test')} in {plural(files, 'file')}, {plural(len(found.fixtures), 'fixture')}, "
        f"{plural(len(found.steps), 'step')}, {plural(len(found.helpers), 'helper')} and "
        f"{plural(len(found.rules), 'documented prohibition')}.",
        source=test_entry(found.tests[0]).place if found.tests else next(iter(found.files)),
    )
    if found.fixtures:
        _list([*map(fixture_entry, found.fixtures)], "fixtures", report)
    _say_ways(found, report)
    for one in (*found.helpers[:2], *found.rules[:2]):
        one.say(report)
