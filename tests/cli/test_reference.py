"""The pages of reference list what there is: every verb and option, every setting, and nothing besides."""

import re
from collections.abc import Iterator

import click
import pytest

from retinue.cli import verbs
from retinue.cli.app import VERBS
from retinue.cli.setting_keys import KEYS
from tests.repository.tree import ROOT

PAGE = (ROOT / "docs" / "reference" / "command-line.md").read_text(encoding="utf-8")
SECTIONS = dict(re.findall(r"^## ([a-zE-]+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))


def command_of(verb: str) -> click.Command:
    return getattr(verbs, verb.replace("-", "_"))


def options_of(command: click.Command) -> Iterator[str]:
    """The long names of all options, those of commands inside of it too."""
    for parameter in command.params:
        if isinstance(parameter, click.Option):
            yield from (name for name in parameter.opts if name.startswith("--"))
    if isinstance(command, click.Group):
        for inner in command.commands.values():
            yield from options_of(inner)


def said(text: str) -> set[str]:
    return set(re.findall(r"(?<![\w-])--[a-z][a-z0-9-]*", text))


def test_every_verb_stands_in_the_table_and_has_a_section() -> None:
    assert [*re.findall(r"^\| \[`([a-z-]+)", PAGE, re.MULTILINE)] == [*VERBS]
    assert [*SECTIONS] == ["Everywhere", *VERBS]


@pytest.mark.parametrize("verb", VERBS)
def test_a_section_lists_the_options_of_its_verb_and_no_others(verb: str) -> None:
    there = {*options_of(command_of(verb))}
    assert there - said(SECTIONS[verb]) - said(SECTIONS["Everywhere"]) == set()
    of_another = r"`[a-z]+ --[a-z]+`"
    assert said(re.sub(of_another, "", SECTIONS[verb])) - there == set()


def test_every_setting_has_its_row_with_its_variable_and_whether_projects_may_set_it() -> None:
    page = (ROOT / "docs" / "reference" / "settings.md").read_text(encoding="utf-8")
    rows = re.findall(
        r"^\| `([a-z_.]+)` \| `([A-Z_]+)` \|.*\| (yes|no|it may add|in a .*trusted.* folder) \|$", page, re.MULTILINE
    )
    assert rows == [
        (
            name,
            f"RETINUE_{name.replace('.', '_').upper()}",
            "it may add"
            if key.adds
            else "in a [trusted](../concepts/trust.md) folder"
            if key.names_model
            else "yes"
            if key.for_projects
            else "no",
        )
        for name, key in KEYS.items()
    ]
