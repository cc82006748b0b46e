"""Options that several verbs share, so that they mean the same everywhere."""

import math
import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

import click

__all__ = ["Bounds", "Form", "bound_options", "form_options", "json_option", "workspace_option"]

F = TypeVar("F", bound=Callable[..., Any])

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|m|min|h)?")
_SECONDS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class _Duration(click.ParamType[float]):
    """Seconds, or a number with its unit: `90`, `500ms`, `1.5m`, `2h`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        if isinstance(value, float):
            return value
        found = _DURATION.fullmatch(str(value).strip())
        seconds = float(found[1]) * _SECONDS[found[2]] if found else 0.0
        if not 0 < seconds < math.inf:
            self.fail(f"{str(value)[:40]!r} is no time. Say seconds, or 500ms, 90s, 5m, 2h.", param, ctx)
        return seconds


class _Money(click.ParamType[float]):
    """An amount in US dollars, with or without the sign."""

    name = "usd"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The amount."""
        try:
            amount = float(str(value).removeprefix("$"))
        except ValueError:
            amount = -1.0
        if not 0 <= amount < math.inf:
            self.fail(f"{str(value)[:40]!r} is no amount of money. Say 0.5 or $0.50.", param, ctx)
        return amount


workspace_option = click.option(
    "--workspace",
    "-C",
    type=click.Path(path_type=Path),
    help="The folder to work in. [default: the top of this git repository, else this folder]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")


@dataclass(frozen=True, slots=True)
class Form:
    """How a run is shown.

    Attributes:
        as_json: One document on stdout, errors as one line of JSON on stderr.
        as_jsonl: Events as they happen, the run's `finished` with its result last.
        quiet: Nothing on stderr but errors.
    """

    as_json: bool = False
    as_jsonl: bool = False
    quiet: bool = False

    @property
    def machine(self) -> bool:
        """A program reads it."""
        return self.as_json or self.as_jsonl


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was said on the command line of time, money and tokens; None leaves it to the settings."""

    timeout_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None


def form_options(command: F) -> F:
    """Add `--json`, `--jsonl` and `--quiet`: what a `Form` is made of."""
    jsonl = "Print events as lines of JSON while they happen; the last one, `finished`, holds the result."
    for option in (
        click.option("--quiet", "-q", is_flag=True, help="No progress, no summary, no warnings."),
        click.option("--jsonl", "as_jsonl", is_flag=True, help=jsonl),
        click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document."),
    ):
        command = option(command)
    return command


def bound_options(command: F) -> F:
    """Add `--timeout`, `--max-cost` and `--max-tokens`: what `Bounds` are made of."""
    for option in (
        click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="The most tokens it may use."),
        click.option("--max-cost", type=_Money(), help="The most it may cost, in US dollars."),
        click.option("--timeout", type=_Duration(), help="The longest it may take: seconds, or 90s, 5m, 2h."),
    ):
        command = option(command)
    return command
