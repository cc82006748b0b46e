"""Options that several verbs share, so that they mean the same everywhere, and what the shell offers for them.

Those words are looked up when asked for, after TAB; whatever goes wrong, nothing is offered.
"""

import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar, cast

import click
from click.shell_completion import CompletionItem

from retinue.cli.setting_keys import RUNNERS

if TYPE_CHECKING:
    from retinue.cli.project import Project

planner_option = click.option(
    "--planner",
    type=click.Choice(["auto", "model", "rules"]),
    help="How to make the plan: with a model if one is configured (auto), always with a model, or by rules.",
)

runner_option = click.option(
    "--runner",
    type=click.Choice(RUNNERS),
    help="How to run agents defined by a prompt: with Retinue's own loop, or with Claude Code.  [default: own]",
)

F = TypeVar("F", bound=Callable[..., Any])

_DURATION: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|m|min|h)?")
_SECONDS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


class Duration(click.ParamType[float]):
    """Seconds, or a number with its unit: `90`, `500ms`, `1.5m`, `2h`."""

    name = "time"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        if isinstance(value, float):
            return value
        match = _DURATION.fullmatch(str(value).strip())
        seconds = float(match[1]) * _SECONDS[match[2]] if match else 0.0
        if not 0 < seconds < math.inf:
            self.fail(f"{str(value)[:40]!r} is not a duration. Use seconds, or 500ms, 90s, 5m, 2h.", param, ctx)
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
            self.fail(f"{str(value)[:40]!r} is not an amount of money. Use 0.5 or $0.50.", param, ctx)
        return amount


workspace_option = click.option(
    "--workspace",
    "-C",
    type=click.Path(path_type=Path),
    help="Folder to work in. [default: root of the git repository, or the current folder]",
)

level_option = click.option(
    "--level",
    type=click.Choice(["strict", "standard", "lenient"]),
    help="How strictly answers are validated. [default: standard]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")


@dataclass(frozen=True, slots=True)
class Form:
    """How a run is shown.

    Attributes:
        as_json: One document on stdout, errors as one line of JSON on stderr.
        as_jsonl: Events as they happen, the run's `finished` with its result last.
        quiet: Nothing on stderr but errors.
        document: The answer as this kind of text, whoever reads it; None leaves it to the terminal.
        output: The file that gets the answer, in place of stdout.
    """

    as_json: bool = False
    as_jsonl: bool = False
    quiet: bool = False
    document: Literal["md", "html"] | None = None
    output: Path | None = None

    @property
    def machine(self) -> bool:
        """A program reads it."""
        return self.as_json or self.as_jsonl


@dataclass(frozen=True, slots=True)
class Bounds:
    """What was said on the command line of time, money, tokens and delegations; None leaves it to the settings."""

    timeout_s: float | None = None
    cost_usd: float | None = None
    tokens: int | None = None
    nodes: int | None = None


_ENDINGS: Final = {".md": "md", ".markdown": "md", ".html": "html", ".htm": "html", ".json": "json"}
"""Which format a file's name asks for."""


def form_of(
    *, as_json: bool, kind: str | None, output: Path | None, as_jsonl: bool = False, quiet: bool = False
) -> Form:
    """The form that the options ask for together.

    Raises:
        UsageError: Two of them ask for different things, or nothing says in which format to write a file.
        RetinueError: The file could not be written.
    """
    if as_jsonl and (kind or output):
        raise click.UsageError("--jsonl prints events; it cannot be combined with --format or --output.")
    if as_json and kind not in {None, "json"}:
        raise click.UsageError(f"--json and --format {kind} are two formats. Use only one.")
    if output is not None:
        from retinue.cli.delivery import check_output

        kind = kind or ("json" if as_json else _ENDINGS.get(output.suffix.lower()))
        if kind is None:
            raise click.UsageError(f"Cannot tell the format of {output.name[:80]!r}. Add --format md, html or json.")
        check_output(output)
    document: Literal["md", "html"] | None = "md" if kind == "md" else "html" if kind == "html" else None
    return Form(as_json=as_json or kind == "json", as_jsonl=as_jsonl, quiet=quiet, document=document, output=output)


def document_options(command: F) -> F:
    """Add `--format` and `--output`."""
    output_help = "Write the answer to this file; its extension sets the format unless --format is given."
    for option in (
        click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help=output_help),
        click.option(
            "--format", "kind", type=click.Choice(["md", "html", "json"]), help="Output format: Markdown, HTML or JSON."
        ),
    ):
        command = option(command)
    return command


def form_options(command: F) -> F:
    """Add `--format`, `--output`, `--json`, `--jsonl` and `--quiet`: what a `Form` is made of."""
    command = document_options(command)
    jsonl = "Print events as JSON lines as they happen; the last one, `finished`, holds the result."
    for option in (
        click.option("--quiet", "-q", is_flag=True, help="Hide progress, summary and warnings."),
        click.option("--jsonl", "as_jsonl", is_flag=True, help=jsonl),
        click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document."),
    ):
        command = option(command)
    return command


def bound_options(command: F) -> F:
    """Add `--timeout`, `--max-cost`, `--max-tokens` and `--max-nodes`: what `Bounds` are made of."""
    delegations = "Limit on delegations, nested ones included. [default: 10000]"
    for option in (
        click.option("--max-nodes", type=click.IntRange(1, 100_000), metavar="N", help=delegations),
        click.option("--max-tokens", type=click.IntRange(min=0), metavar="N", help="Token limit."),
        click.option("--max-cost", type=_Money(), help="Cost limit in US dollars."),
        click.option("--timeout", type=Duration(), help="Time limit: seconds, or 90s, 5m, 2h."),
    ):
        command = option(command)
    return command


def agent_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The agents at hand."""
    del parameter
    try:
        definitions = _project(context).registry.definitions()
    except Exception:  # noqa: BLE001 - a traceback in the middle of a command line helps nobody
        return []
    return _offer(((each.name, each.description) for each in definitions), incomplete)


def agent_words(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The agents at hand, then the skills of the one that was chosen."""
    words = [*cast("Iterable[str]", context.params.get("words") or ())]
    if not words:
        return agent_names(context, parameter, incomplete)
    if len(words) > 1:
        return []
    try:
        skills = _project(context).registry.get(words[0]).definition.skills
    except Exception:  # noqa: BLE001 - as above
        return []
    return _offer(((each.name, each.description) for each in skills if not each.unavailable), incomplete)


def run_ids(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The newest runs, each with its goal."""
    del context, parameter
    from retinue.cli import user_paths
    from retinue.engine.journal import Journal

    try:
        with Journal(user_paths.journal_file()) as journal:
            return _offer(((each.run, each.label) for each in journal.list(50)), incomplete)
    except Exception:  # noqa: BLE001 - as above
        return []


def _project(context: click.Context) -> "Project":
    from retinue.cli.project import open_project

    return open_project(context.params.get("workspace"))


def _offer(words: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    from retinue.cli.output import safe

    return [CompletionItem(safe(word), help=safe(about)[:80]) for word, about in words if word.startswith(incomplete)]


agents_option = click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=agent_names,
    help="Use only this agent; repeatable.",
)

context_option = click.option(
    "--context",
    type=click.Choice(["full", "summary", "metadata", "none"]),
    help="How much of each result is passed on to the next agent.",
)

model_option = click.option(
    "--model", metavar="NAME", help="Default model: provider:model, or a tier (small, medium, large)."
)

choose_option = click.option(
    "--choose",
    "choice",
    type=click.Choice(["A", "B", "C", "auto", "ask"], case_sensitive=False),
    help="Which option to take when there are several; auto takes the recommended one.  [default: ask]",
)
