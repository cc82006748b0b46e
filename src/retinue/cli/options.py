"""What declarations of verbs share: options that mean the same everywhere, kinds of values, and how code is loaded.

A declaration (`verbs`) names its code as text, and the code is imported when the command runs: so help stays quick, and
modules import what they need at their top.
"""

import importlib
import math
import re
import time
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any, Final, TypeVar

import click
from click.shell_completion import CompletionItem

from retinue.cli.setting_keys import RUNNERS
from retinue.contract import names

F = TypeVar("F", bound=Callable[..., Any])

DIALECTS: Final = ("tool_use", "run_agent", "task_signal", "markdown_json", "agent_http", "a2a")
"""The six, for help texts and choices: naming them must not cost loading them."""
KITS: Final = (*DIALECTS, "mcp", "agent_json")
"""By whose requirements an agent or a server can be judged."""
TO_FORMATS: Final = ("markdown", "skill", "tool_use", "json", "agent_json", "a2a")
"""The formats that definitions are written in."""
DIALECT_WORDS: Final = f"{', '.join(DIALECTS[:-1])} or {DIALECTS[-1]}"


def lazy(target: str) -> Callable[..., Any]:
    """A function that calls `target` (`module:name`, a module of this folder), imported at the call."""

    def call(*arguments: Any, **options: Any) -> Any:
        module, _, name = target.partition(":")
        return getattr(importlib.import_module(f"retinue.cli.{module}"), name)(*arguments, **options)

    return call


def implemented_by(target: str) -> Callable[[Callable[[], None]], Callable[..., Any]]:
    """Give a declaration its code: `target`, as for `lazy`, is called with the options when the command runs."""
    return lambda declaration: wraps(declaration)(lazy(target))


def together(name: str, build: str, *options: Callable[[Any], Any]) -> Callable[[F], Callable[..., Any]]:
    """Add `options` to a command; its code gets `name`, made of their values by `build` (as for `lazy`)."""

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        @wraps(command)
        def wrapper(**values: Any) -> Any:
            members = {member: values.pop(member) for member in names}
            return command(**values, **{name: lazy(build)(**members)})

        earlier: list[click.Parameter] = getattr(wrapper, "__click_params__", [])
        count = len(earlier)
        for option in reversed(options):
            wrapper = option(wrapper)
        parameters: list[click.Parameter] = getattr(wrapper, "__click_params__", [])
        names = [str(parameter.name) for parameter in parameters[count:]]
        return wrapper

    return decorate


# Kinds of values.


class Duration(click.ParamType[float]):
    """Seconds, or a number with its unit: `90`, `500ms`, `1.5m`, `2h`."""

    name = "time"
    _FORM: Final = re.compile(r"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)\s*(ms|s|m|min|h)?")
    _SECONDS: Final = {"ms": 0.001, None: 1.0, "s": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> float:
        """The time in seconds."""
        if isinstance(value, float):
            return value
        match = self._FORM.fullmatch(str(value).strip())
        seconds = float(match[1]) * self._SECONDS[match[2]] if match else 0.0
        if not 0 < seconds < math.inf:
            self.fail(f"{str(value)[:40]!r} is not a duration. Use seconds, or 500ms, 90s, 5m, 2h.", param, ctx)
        return seconds


class Money(click.ParamType[float]):
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


class Since(click.ParamType[int]):
    """A moment, in nanoseconds since 1970: a day (`2026-01-31`), or an age (`12h`, `7d`, `4w`)."""

    name = "when"
    _AGES: Final = {"h": 3_600, "d": 86_400, "w": 7 * 86_400}

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """The moment."""
        if isinstance(value, int):
            return value
        text = str(value).strip()
        if age := re.fullmatch(r"([0-9]{1,5})\s*([hdw])", text):
            return time.time_ns() - int(age[1]) * self._AGES[age[2]] * 10**9
        try:
            return int(time.mktime(time.strptime(text, "%Y-%m-%d"))) * 10**9
        except (ValueError, OverflowError):
            self.fail(f"{text[:40]!r} is not a date or an age. Use 2026-01-31, 12h, 7d or 4w.", param, ctx)


class FormatName(click.ParamType[str]):
    """The format of a definition, in any spelling."""

    name = "format"

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The format's own name."""
        canonical = names.fold(str(value)).removesuffix("_md")
        if canonical not in self._names:
            near = names.nearest(str(value), self._names, limit=1)
            suggestion = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(f"{str(value)[:80]!r} is none of {', '.join(self._names)}.{suggestion}", param, ctx)
        return canonical


# Options.


def _checked_by(target: str) -> Callable[[click.Context, click.Parameter, Path | None], Path | None]:
    """A callback that has `target` (as for `lazy`) look at the file before the command begins."""

    def callback(_context: click.Context, _parameter: click.Parameter, file: Path | None) -> Path | None:
        if file is not None:
            lazy(target)(file)
        return file

    return callback


def choice(*words: str) -> click.Choice[str]:
    """One of a few words."""
    return click.Choice(words)


def output_option(help_text: str) -> Callable[[F], F]:
    """`--output FILE`."""
    check = _checked_by("delivery:check_output")
    file = click.Path(path_type=Path)
    return click.option("--output", "-o", type=file, metavar="FILE", callback=check, help=help_text)


def limit_option(default: int) -> Callable[[F], F]:
    """`--limit`."""
    number = click.IntRange(1, 1_000_000)
    return click.option(
        "--limit", "-n", type=number, default=default, show_default=True, help="Maximum number to show."
    )


def plot_option(help_text: str) -> Callable[[F], F]:
    """`--plot FILE`."""
    check = _checked_by("stats:check_plot")
    return click.option("--plot", type=click.Path(path_type=Path), metavar="FILE", callback=check, help=help_text)


def dialect_names(context: click.Context, parameter: click.Parameter, incomplete: str) -> list[CompletionItem]:
    """The six dialects, for the shell."""
    del context, parameter
    return [CompletionItem(name) for name in DIALECTS if name.startswith(incomplete)]


def dialect_option(*names: str) -> Callable[[F], F]:
    """The dialect of a message, as the option `names`."""
    words = f"Dialect: {DIALECT_WORDS}. [default: detected]"
    return click.option(*names, "dialect", metavar="NAME", shell_complete=dialect_names, help=words)


store_option = click.option(
    "--store",
    metavar="URL|FILE",
    expose_value=False,
    callback=_checked_by("settings:keep_store"),
    help="Where the history of runs is: postgresql://…, or a file. [default: on this computer]",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
since_option = click.option(
    "--since", type=Since(), metavar="WHEN", help="Only runs since this date or age: 2026-01-31, 12h, 7d, 4w."
)
workspace_option = click.option(
    "--workspace",
    "-C",
    type=click.Path(path_type=Path),
    help="Folder to work in. [default: root of the git repository, or the current folder]",
)
planner_option = click.option(
    "--planner",
    type=choice("auto", "model", "rules"),
    help="How to make the plan: with a model if one is configured (auto), always with a model, or by rules.",
)
runner_option = click.option(
    "--runner",
    type=choice(*RUNNERS),
    help="How to run agents defined by a prompt: with Retinue's own loop, or with Claude Code.  [default: own]",
)
level_option = click.option(
    "--level",
    type=choice("strict", "standard", "lenient"),
    help="How strictly answers are validated. [default: standard]",
)
agents_option = click.option(
    "--agent",
    "agents",
    multiple=True,
    metavar="NAME",
    shell_complete=lazy("completion:agent_names"),
    help="Use only this agent; repeatable.",
)
context_option = click.option(
    "--context",
    type=choice("full", "summary", "metadata", "none"),
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
scope_option = click.option(
    "--scope",
    type=choice("project", "global"),
    default="project",
    show_default=True,
    help="Memories of this project, or global ones.",
)
_format_option = click.option(
    "--format", "kind", type=choice("md", "html", "json"), help="Output format: Markdown, HTML or JSON."
)
_answer_option = output_option("Write the answer to this file; its extension sets the format unless --format is given.")
document_options = together("form", "delivery:form_of", _format_option, _answer_option, json_option)
form_options = together(
    "form",
    "delivery:form_of",
    click.option("--json", "as_json", is_flag=True, help="Print the result as one JSON document."),
    click.option(
        "--jsonl",
        "as_jsonl",
        is_flag=True,
        help="Print events as JSON lines as they happen; the last one, `finished`, holds the result.",
    ),
    click.option("--quiet", "-q", is_flag=True, help="Hide progress, summary and warnings."),
    _format_option,
    _answer_option,
)
project_option = together("project", "project:open_project", workspace_option)
bound_options = together(
    "bounds",
    "project:Bounds",
    click.option("--timeout", "timeout_s", type=Duration(), help="Time limit: seconds, or 90s, 5m, 2h."),
    click.option("--max-cost", "cost_usd", type=Money(), help="Cost limit in US dollars."),
    click.option("--max-tokens", "tokens", type=click.IntRange(min=0), metavar="N", help="Token limit."),
    click.option(
        "--max-nodes",
        "nodes",
        type=click.IntRange(1, 100_000),
        metavar="N",
        help="Limit on delegations, nested ones included. [default: 10000]",
    ),
)


def message_options(*dialect: str) -> Callable[[F], Callable[..., Any]]:
    """FILE and how it is read: the option `dialect`, `--kind`, `--level`, `--agent`, `--skill`, `--task-id`."""
    level = choice("strict", "standard", "lenient")
    return together(
        "options",
        "message:MessageOptions",
        dialect_option(*dialect),
        click.argument("file", default="-", metavar="[FILE]"),
        click.option(
            "--kind",
            type=choice("task", "result", "correction", "definition", "event"),
            help="Kind of message. [default: detected]",
        ),
        click.option("--level", type=level, default="standard", help="How strictly to validate. [default: standard]"),
        click.option("--agent", metavar="NAME", help="The agent's name, if the message does not say it."),
        click.option("--skill", metavar="NAME", help="The skill's name, if the message does not say it."),
        click.option("--task-id", default="", metavar="ID", help="The task's id, if the message does not say it."),
    )


def parameter_options(one: str, document: str) -> Callable[[F], Callable[..., Any]]:
    """`--param` and `--params`, with these words."""
    return together(
        "parameters",
        "delivery:parameters_of",
        click.option("--param", "-p", "pairs", multiple=True, metavar="NAME=VALUE", help=one),
        click.option("--params", "document", metavar="JSON", help=document),
    )
