"""Says what a survey found, led by what is to be shown."""

from collections.abc import Sequence
from itertools import chain
from typing import Any, Final, TypeAlias

from retinue.catalogue._prose import code
from retinue.catalogue._report import Report, plural

from .entries import PATTERNS, PatternEntry, say_table
from .inventory import Inventory
from .parameters import Survey

__all__ = ["say_survey"]

_Entries: TypeAlias = Sequence[PatternEntry[Any]]

_LISTED: Final = 4
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
"""What one thing of a kind and several are called, and what is said where there is none."""


def say_survey(found: Inventory, survey: Survey, report: Report) -> None:
    """Say what is to be shown; a kind of which there is nothing is rejected."""
    show = _shown(survey)
    if show == "overview" and not any((found.tests, found.undefined, *found.lists().values())):
        hint = "Name a folder with Python code, feature files or documents."
        report.reject("Nothing to build on was found: no test, fixture, step, helper or prohibition.", hint=hint)
    elif show == "overview":
        _say_overview(found, report)
    elif not (getattr(found, show) or (show == "undefined" and found.steps)):
        report.reject(_NOUNS[show][2], hint="Ask for an overview, or name another folder.")
    elif show == "tests" and survey.pattern != "any":
        files = [one for one in found.patterns if one.fact == survey.pattern]
        _say_entries(files, PATTERNS[survey.pattern], report, end=f", of {plural(len(found.tests), 'test')} in all")
    else:
        entries, which = _filtered(getattr(found, show), show, survey)
        most = f"; most used is {{}} ({entries[0].uses:,})" if entries and entries[0].uses else ""
        _say_entries(entries, _NOUNS[show], report, which=which, end=most)


def _shown(survey: Survey) -> str:
    """What is to be shown; where that is not said, what the filters are about."""
    if survey.undefined and survey.show in ("overview", "steps"):
        return "undefined"
    if survey.show == "overview" and survey.pattern != "any":
        return "tests"
    is_filtered = survey.unused or survey.autouse or survey.scope
    return "fixtures" if survey.show == "overview" and is_filtered else survey.show


def _filtered(entries: _Entries, show: str, survey: Survey) -> tuple[_Entries, str]:
    """The entries that are asked for, and which those are, in words."""
    which = ""
    if show == "fixtures" and survey.scope:
        entries, which = [one for one in entries if one.row["scope"] == survey.scope], f" of scope {survey.scope}"
    if show == "fixtures" and survey.autouse:
        entries, which = [one for one in entries if one.row["autouse"]], f"{which} with autouse"
    if show in ("fixtures", "steps") and survey.unused:
        # Nobody has to ask for fixtures with autouse.
        entries = [one for one in entries if not one.uses and not one.row.get("autouse")]
        which = f"{which} that nobody uses"
    return entries, which


def _say_entries(entries: _Entries, nouns: Sequence[str], report: Report, *, which: str = "", end: str = "") -> None:
    if not entries:
        report.say(nouns[1], f"There are no {nouns[1]}{which}{end}.")
        return
    files = plural(len({one.path for one in entries}), "file")
    count = sum(one.row.get("count", 1) for one in entries)
    template = f"There {'is' if count == 1 else 'are'} {plural(count, nouns[0], nouns[1])}{which} in {files}{end}."
    report.say(nouns[1], template, code(entries[0].name), source=entries[0].place)
    _list(entries, f"{nouns[1]}{which}", report)


def _list(entries: _Entries, title: str, report: Report) -> None:
    for one in entries[:_LISTED]:
        one.say(report)
    say_table(entries, title.capitalize(), report)


def _say_overview(found: Inventory, report: Report) -> None:
    kinds = {"fixtures": found.fixtures, "steps": found.steps, "helpers": found.helpers, "rules": found.rules}
    tests = f"{plural(len(found.tests), 'test')} in {plural(len({one.path for one in found.tests}), 'file')}"
    *others, rules = (plural(len(entries), *_NOUNS[kind][:2]) for kind, entries in kinds.items())
    first = next(chain(found.tests, *kinds.values(), found.undefined))
    report.say("overview", f"{tests}, {', '.join(others)} and {rules}.", source=first.place)
    _list(found.fixtures, "fixtures", report)
    for kind, nouns in PATTERNS.items():
        chosen = [one for one in found.patterns if one.fact == kind]
        if chosen:
            count = plural(sum(one.row["count"] for one in chosen), *nouns)
            report.say("test pattern", f"{count}, most in {{}}.", code(chosen[0].path), source=chosen[0].place)
    for one in (*found.helpers[:2], *found.rules[:2]):
        one.say(report)
    if found.undefined:
        _say_entries(found.undefined, _NOUNS["undefined"], report)
