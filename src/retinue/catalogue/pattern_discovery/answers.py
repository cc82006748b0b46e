"""Says what a survey found, led by what the question wants: one function for each wish."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

from retinue.catalogue._prose import code, quote
from retinue.catalogue.pattern_discovery.answers_fixtures import (
    list_fixtures,
    say_dependencies,
    say_dependents,
    say_fixture_users,
    say_fixtures,
    say_missing,
    table_fixtures,
)
from retinue.catalogue.pattern_discovery.inventory import PATTERNS, Helper, Inventory, StepUse, tests_of
from retinue.catalogue.pattern_discovery.question import Asked, Wish
from retinue.catalogue.pattern_discovery.report import Report, plural

__all__ = ["answer"]

_LISTED: Final = 4
"""Sentences about single things; the table has more of them."""


def answer(found: Inventory, asked: Asked, report: Report) -> None:
    """Say what the question wants."""
    _ANSWERS[asked.wish](found, asked, report)


# --- how tests are written ------------------------------------------------------------------------------------------


def _say_pattern(found: Inventory, asked: Asked, report: Report) -> None:
    kind = str(asked.wish)
    chosen = [one for one in found.patterns if one.kind == kind]
    if not chosen:
        report.say("test pattern", f"There are no {PATTERNS[kind]}.", source="")
        return
    tests = sum(len(one.tests) for one in chosen)
    first = chosen[0]
    report.say(
        "test pattern",
        f"There {'is' if tests == 1 else 'are'} {tests_of(kind, tests)} in {plural(len(chosen), 'file')}, of "
        f"{plural(len(found.tests), 'test')} in all; most, {len(first.tests):,}, in {{}}.",
        code(first.path),
        source=f"{first.path}:{first.tests[0].line}",
    )
    if kind == "mock":
        by = found.mocks.most_common()
        listed = ", ".join(f"{{}} ({count:,})" for _, count in by)
        report.say("mocks", f"By: {listed}.", *(code(name) for name, _ in by), source=first.path)
    for one in chosen[1:_LISTED]:
        names = [case.name for case in one.tests[:3]]
        report.say(
            "test pattern",
            f"{{}} has {len(one.tests):,}: {', '.join(['{}'] * len(names))}{', …' if len(one.tests) > 3 else ''}.",
            code(one.path), *map(code, names),
            source=f"{one.path}:{one.tests[0].line}",
        )  # fmt: skip
    rows = [
        (
            f"{case.owner}::{case.name}" if case.owner else case.name,
            ", ".join(case.mocks),
            case.asserts,
            f"{one.path}:{case.line}",
        )
        for one in chosen
        for case in one.tests
    ]
    report.table(PATTERNS[kind].capitalize(), ("test", "mocks", "asserts", "place"), rows)
    report.about([one.path for one in chosen])


# --- steps, helpers, rules ------------------------------------------------------------------------------------------


def _say_steps(found: Inventory, asked: Asked, report: Report) -> None:
    if asked.undefined and found.undefined:
        path, phrase = found.undefined[0]
        report.say(
            "undefined steps",
            f"{plural(len(found.undefined), 'line')} of feature files fit no step; the first is {{}}.",
            quote(f"{phrase.kind} {phrase.text}"),
            source=f"{path}:{phrase.line}",
        )
        report.table(
            "Lines without a step",
            ("line", "place"),
            [(f"{one.kind} {one.text}", f"{where}:{one.line}") for where, one in found.undefined],
        )
        return
    chosen = [one for one in found.steps if not one.used_in] if asked.unused else found.steps
    if not chosen:
        said = (
            "Every step is used by a feature file." if found.steps else "No step of behaviour-driven tests was found."
        )
        report.say("steps", said, source="")
        return
    missing = f"; {plural(len(found.undefined), 'line')} of feature files fit none" if found.undefined else ""
    verb = "is" if len(chosen) == 1 else "are"
    unused = " that no feature file uses" if asked.unused else ""
    report.say(
        "steps",
        f"There {verb} {plural(len(chosen), 'step')}{unused}{missing}.",
        source=f"{chosen[0].path}:{chosen[0].step.line}",
    )
    for one in chosen[:_LISTED]:
        _say_step(one, report)
    report.table(
        "Steps",
        ("kind", "text", "uses", "place"),
        [(one.step.kind, one.step.text, len(one.used_in), f"{one.path}:{one.step.line}") for one in chosen],
    )
    report.about([one.step.text for one in chosen])


def _say_step(one: StepUse, report: Report) -> None:
    report.say(
        "step",
        f"{one.step.kind.capitalize()} {{}}: {plural(len(one.used_in), 'use')}.",
        code(one.step.text),
        source=f"{one.path}:{one.step.line}",
    )


def _say_users(found: Inventory, asked: Asked, report: Report) -> None:
    fixture = asked.named({one.fixture.name for one in found.fixtures})
    helper = asked.named({one.symbol.name for one in found.helpers})
    if fixture:
        say_fixture_users(found, fixture, report)
    elif helper:
        chosen = [one for one in found.helpers if one.symbol.name == helper]
        _list_helpers(chosen, report)
        report.table(f"Users of {helper}", ("file",), [(path,) for path in chosen[0].used_in])
        report.about(chosen[0].used_in)
    else:
        say_missing(found, asked, report)


def _say_helpers(found: Inventory, asked: Asked, report: Report) -> None:
    chosen = [one for one in found.helpers if one.kind == "platform"] if asked.wish == "platform" else found.helpers
    what = "platform helper" if asked.wish == "platform" else "helper"
    if not chosen:
        wanted = "asks for the operating system" if asked.wish == "platform" else "is used by two other files"
        report.say("helpers", f"No public function or class {wanted}.", source="")
        return
    first = chosen[0]
    report.say(
        "helpers",
        f"There {'is' if len(chosen) == 1 else 'are'} {plural(len(chosen), what)}; most used is {{}}, in "
        f"{plural(len(first.used_in), 'other file')}.",
        code(first.symbol.name),
        source=f"{first.path}:{first.symbol.line}",
    )
    _list_helpers(chosen, report)
    report.table(
        f"{what.capitalize()}s",
        ("symbol", "signature", "users", "place"),
        [(one.symbol.name, one.symbol.signature, len(one.used_in), f"{one.path}:{one.symbol.line}") for one in chosen],
    )


def _list_helpers(chosen: Sequence[Helper], report: Report) -> None:
    for one in chosen[:_LISTED]:
        template = f"{{}}, used in {plural(len(one.used_in), 'other file')}"
        doc = [quote(one.symbol.doc.rstrip("."), longest=120)] if one.symbol.doc else []
        report.say(
            "helper",
            f"{template}: {{}}." if doc else f"{template}.",
            code(one.symbol.signature), *doc,
            source=f"{one.path}:{one.symbol.line}",
        )  # fmt: skip
    report.about([one.symbol.name for one in chosen])


def _say_rules(found: Inventory, _: Asked, report: Report) -> None:
    if not found.rules:
        report.say("prohibitions", "No document was found that forbids anything in so many words.", source="")
        return
    files = len({path for path, _ in found.rules})
    path, rule = found.rules[0]
    report.say(
        "prohibitions",
        f"{plural(len(found.rules), 'sentence')} in {plural(files, 'document')} say what must not be done.",
        source=f"{path}:{rule.line}",
    )
    for path, rule in found.rules[:_LISTED]:
        report.say("prohibition", "{}", quote(rule.text), source=f"{path}:{rule.line}")
    report.table(
        "Documented prohibitions", ("text", "place"), [(rule.text, f"{path}:{rule.line}") for path, rule in found.rules]
    )
    report.about([path for path, _ in found.rules])


# --- everything -----------------------------------------------------------------------------------------------------


def _say_overview(found: Inventory, _: Asked, report: Report) -> None:
    test_files = len({one.path for one in found.tests})
    source = found.tests[0].place if found.tests else next(iter(found.facts), "")
    report.say(
        "overview",
        f"{plural(len(found.tests), 'test')} in {plural(test_files, 'file')}, "
        f"{plural(len(found.fixtures), 'fixture')}, {plural(len(found.steps), 'step')}, "
        f"{plural(len(found.helpers), 'helper')} and {plural(len(found.rules), 'documented prohibition')}.",
        source=source,
    )
    list_fixtures(found.fixtures[:3], report)
    for kind in dict.fromkeys(one.kind for one in found.patterns):
        chosen = [one for one in found.patterns if one.kind == kind]
        report.say(
            "test pattern",
            f"{tests_of(kind, sum(len(one.tests) for one in chosen))}, most in {{}}.",
            code(chosen[0].path),
            source=f"{chosen[0].path}:{chosen[0].tests[0].line}",
        )
    _list_helpers(found.helpers[:2], report)
    for path, rule in found.rules[:2]:
        report.say("prohibition", "{}", quote(rule.text), source=f"{path}:{rule.line}")
    table_fixtures("Fixtures", found.fixtures, report)


_ANSWERS: Final[Mapping[Wish, Callable[[Inventory, Asked, Report], None]]] = {
    "dependents": say_dependents,
    "dependencies": say_dependencies,
    "users": _say_users,
    "tested": _say_overview,
    "rules": _say_rules,
    "steps": _say_steps,
    "platform": _say_helpers,
    "helpers": _say_helpers,
    "mock": _say_pattern,
    "parametrize": _say_pattern,
    "aaa": _say_pattern,
    "unittest": _say_pattern,
    "property": _say_pattern,
    "raises": _say_pattern,
    "class": _say_pattern,
    "fixtures": say_fixtures,
    "overview": _say_overview,
}
