"""Every declaration of a verb fits the code that it names."""

import importlib
import inspect
from collections.abc import Callable, Iterator
from typing import Any

import click
import pytest

from retinue.cli.app import VERBS, cli
from tests.cli.conftest import Give


def commands() -> Iterator[click.Command]:
    for name in VERBS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        yield command
        if isinstance(command, click.Group):
            yield from command.commands.values()


def code(target: str) -> Callable[..., Any]:
    module, _, name = target.partition(":")
    return getattr(importlib.import_module(f"retinue.cli.{module}"), name)


def arguments_of(function: Callable[..., Any], names: set[str]) -> tuple[set[str], str]:
    """The arguments that the code of a declaration gets, and its name; each `together` is checked on the way."""
    inside = inspect.getclosurevars(function).nonlocals
    if "build" in inside:
        inspect.signature(code(inside["build"])).bind(**dict.fromkeys(inside["names"]))
        return arguments_of(inside["command"], names.difference(inside["names"]) | {inside["name"]})
    return names, inside.get("target", "")


@pytest.mark.parametrize("command", [*commands()], ids=lambda command: command.name)
def test_code_takes_exactly_the_options_of_its_declaration(command: click.Command) -> None:
    assert command.callback is not None
    names, target = arguments_of(command.callback, {str(each.name) for each in command.params if each.expose_value})
    if target:  # else the code is in `verbs` itself
        inspect.signature(code(target)).bind(**dict.fromkeys(names))


@pytest.mark.parametrize("verb", VERBS)
def test_examples_in_the_help_of_a_verb_stand_one_a_line(retinue: Give, verb: str) -> None:
    shown = retinue(verb, "--help").out
    assert "\\b" not in shown
    assert "\b" not in shown
    examples = [line for line in shown.splitlines() if line.startswith("    retinue ")]
    assert all(line.count("retinue ") == 1 or "&&" in line for line in examples)
