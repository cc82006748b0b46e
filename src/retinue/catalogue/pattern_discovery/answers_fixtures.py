"""Says what was found of fixtures: all of them, one by name, who builds on whom, and what nobody uses."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import code, quote
from retinue.catalogue.pattern_discovery.inventory import Inventory
from retinue.catalogue.pattern_discovery.question import Asked
from retinue.catalogue.pattern_discovery.report import Report, plural
from retinue.catalogue.pattern_discovery.scoping import BUILT_IN, Known
from retinue.contract.names import nearest

__all__ = [
    "list_fixtures",
    "say_dependencies",
    "say_dependents",
    "say_fixture_users",
    "say_fixtures",
    "say_missing",
    "table_fixtures",
    "users_of",
]

_LISTED: Final = 4
"""Sentences about single fixtures; the table has more of them."""
_NAMED: Final = 8


def say_fixtures(found: Inventory, asked: Asked, report: Report) -> None:
    """The fixtures of the project, or those of one kind, or the one that is named."""
    chosen, words = found.fixtures, ""
    if asked.scope:
        chosen, words = [one for one in chosen if one.fixture.scope == asked.scope], f" of scope {asked.scope}"
    if asked.autouse:
        chosen, words = [one for one in chosen if one.fixture.autouse], f"{words} with autouse"
    if asked.unused:
        _say_unused(chosen, report)
        return
    name = "" if words else asked.named({one.fixture.name for one in found.fixtures})
    if name:
        _say_fixture(found, name, report)
        return
    if not chosen:
        report.say("fixtures", f"No fixture{words} was found.", source="")
        return
    files = len({one.path for one in chosen})
    verb = "is" if len(chosen) == 1 else "are"
    report.say(
        "fixtures",
        f"There {verb} {plural(len(chosen), 'fixture')}{words} in {plural(files, 'file')}; most used is {{}}, by "
        f"{plural(len(chosen[0].asked_by), 'test or fixture', 'tests and fixtures')}.",
        code(chosen[0].fixture.name),
        source=chosen[0].place,
    )
    list_fixtures(chosen[: _LISTED - 1], report)
    table_fixtures("Fixtures", chosen, report)


def _say_unused(chosen: Sequence[Known], report: Report) -> None:
    unused = [one for one in chosen if not one.asked_by and not one.fixture.autouse]
    if not unused:
        report.say("unused fixtures", f"Each fixture is used somewhere ({len(chosen):,} in all).", source="")
        return
    report.say(
        "unused fixtures",
        f"{len(unused):,} of {plural(len(chosen), 'fixture')} {'is' if len(unused) == 1 else 'are'} used by no test "
        f"and no other fixture: {_braces(unused)}.",
        *(code(one.fixture.name) for one in unused[:_NAMED]),
        source=unused[0].place,
    )
    report.note("Uses by another project, or by a name that is put together while it runs, cannot be seen.")
    for one in unused[1:_LISTED]:
        report.say("unused fixtures", "{} is used by nobody.", code(one.fixture.name), source=one.place)
    table_fixtures("Unused fixtures", unused, report)


def _say_fixture(found: Inventory, name: str, report: Report) -> None:
    """One fixture, in all its definitions."""
    defined = [one for one in found.fixtures if one.fixture.name == name]
    list_fixtures(defined, report)
    for one in defined[:1]:
        if one.fixture.depends_on:
            names = one.fixture.depends_on
            report.say(
                "dependencies", f"It asks for {', '.join(['{}'] * len(names))}.", *map(code, names), source=one.place
            )
        if one.files:
            shown = one.files[:5]
            more = f" and {len(one.files) - 5:,} more" if len(one.files) > 5 else ""
            report.say(
                "users", f"It is used in {', '.join(['{}'] * len(shown))}{more}.", *map(code, shown), source=one.place
            )
    table_fixtures(f"Fixture {name}", defined, report)


def list_fixtures(chosen: Sequence[Known], report: Report) -> None:
    """One sentence for each of the first."""
    for one in chosen[:_LISTED]:
        template, pieces = "{}", [code(one.fixture.name)]
        if one.fixture.gives:
            template += " gives {}"
            pieces.append(code(one.fixture.gives))
        template += f"{',' if one.fixture.gives else ''} {users_of(one)}"
        if one.fixture.doc:
            template += ": {}"
            pieces.append(quote(one.fixture.doc.rstrip("."), longest=120))
        report.say("fixture", f"{template}.", *pieces, source=one.place)
    report.about([one.fixture.name for one in chosen])


def say_dependents(found: Inventory, asked: Asked, report: Report) -> None:
    """Which fixtures ask for the one that is named."""
    names = {one.fixture.name for one in found.fixtures} | BUILT_IN
    name = asked.named(names)
    if not name:
        say_missing(found, asked, report)
        return
    chosen = [one for one in found.fixtures if name in one.fixture.depends_on and one.fixture.name != name]
    own = [one for one in found.fixtures if name in one.fixture.depends_on and one.fixture.name == name]
    if not chosen and not own:
        where = next((one.place for one in found.fixtures if one.fixture.name == name), "")
        report.say("dependents", "No fixture depends on {}.", code(name), source=where)
        return
    every = [*chosen, *own]
    report.say(
        "dependents",
        f"{plural(len(every), 'fixture')} depend{'s' if len(every) == 1 else ''} on {{}}: {_braces(every)}.",
        code(name), *(code(one.fixture.name) for one in every[:_NAMED]),
        source=every[0].place,
    )  # fmt: skip
    for one in every[:_LISTED]:
        names_asked = one.fixture.depends_on
        report.say(
            "dependents",
            f"{{}} asks for {', '.join(['{}'] * len(names_asked))}, and {users_of(one)}.",
            code(one.fixture.name), *map(code, names_asked),
            source=one.place,
        )  # fmt: skip
    report.about([one.fixture.name for one in every])
    table_fixtures(f"Fixtures that depend on {name}", every, report)


def say_missing(found: Inventory, asked: Asked, report: Report) -> None:
    """That there is no fixture of the name that the question is about; all fixtures when it is about none."""
    if not asked.about:
        say_fixtures(found, asked, report)
        return
    near = nearest(asked.about, {one.fixture.name for one in found.fixtures})
    hint = f"The nearest: {', '.join(near)}." if near else "Ask which fixtures there are."
    report.reject(f"There is no fixture called `{asked.about}` here.", hint=hint, suggestions=near)


def say_dependencies(found: Inventory, asked: Asked, report: Report) -> None:
    """What the fixture that is named asks for."""
    name = asked.named({one.fixture.name for one in found.fixtures})
    if not name:
        say_missing(found, asked, report)
        return
    for one in [one for one in found.fixtures if one.fixture.name == name]:
        names = one.fixture.depends_on
        if names:
            report.say(
                "dependencies",
                f"{{}} depends on {', '.join(['{}'] * len(names))}.",
                code(name), *map(code, names),
                source=one.place,
            )  # fmt: skip
        else:
            report.say("dependencies", "{} depends on no other fixture.", code(name), source=one.place)
        report.about(names)


def say_fixture_users(found: Inventory, name: str, report: Report) -> None:
    """Who asks for a fixture, by its definitions."""
    defined = [one for one in found.fixtures if one.fixture.name == name]
    fixtures = {(one.path, one.fixture.name) for one in found.fixtures}
    for one in defined[:_LISTED]:
        asking = sum(user in fixtures for user in one.asked_by)
        split = f", {asking:,} of them fixtures" if asking and asking < len(one.asked_by) else ""
        report.say("users", f"{{}} {users_of(one)}{split}.", code(name), source=one.place)
    rows = [(user, f"{path}:{line}") for one in defined for (path, user), line in one.asked_by.items()]
    report.table(f"Users of {name}", ("user", "place"), rows)
    report.about([path for one in defined for path in one.files])


def table_fixtures(title: str, chosen: Sequence[Known], report: Report) -> None:
    """Fixtures as rows."""
    report.table(
        title,
        ("fixture", "gives", "depends on", "scope", "uses", "place"),
        [
            (
                one.fixture.name,
                one.fixture.gives,
                ", ".join(one.fixture.depends_on),
                one.fixture.scope,
                len(one.asked_by),
                one.place,
            )
            for one in chosen
        ],
    )


def users_of(one: Known) -> str:
    """By how many a fixture is used, as the end of a sentence."""
    if not one.asked_by:
        return "is used by every test it can be seen from" if one.fixture.autouse else "is used by nobody"
    users = plural(len(one.asked_by), "test or fixture", "tests and fixtures")
    return f"is used by {users} in {plural(len(one.files), 'file')}"


def _braces(chosen: Sequence[object]) -> str:
    more = f" and {len(chosen) - _NAMED:,} more" if len(chosen) > _NAMED else ""
    return f"{', '.join(['{}'] * min(len(chosen), _NAMED))}{more}"
