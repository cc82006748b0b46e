"""What the shell offers after TAB. Whatever goes wrong while it is looked up, nothing is offered."""

from collections.abc import Iterable
from typing import cast

import click
from click.shell_completion import CompletionItem

from retinue.cli.output import safe
from retinue.cli.project import Project, open_project
from retinue.cli.settings import journal_of, settings_of


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
    try:
        with journal_of(settings_of(None)) as journal:
            return _offer(((each.run, each.label) for each in journal.list(50)), incomplete)
    except Exception:  # noqa: BLE001 - as above
        return []


def _project(context: click.Context) -> Project:
    return open_project(context.params.get("workspace"))


def _offer(words: Iterable[tuple[str, str]], incomplete: str) -> list[CompletionItem]:
    return [CompletionItem(safe(word), help=safe(about)[:80]) for word, about in words if word.startswith(incomplete)]
