"""`retinue config`: the settings in force."""

from pathlib import Path

import click

from retinue.cli.options import json_option, workspace_option


@click.group("config", invoke_without_command=True)
@click.pass_context
def command(context: click.Context) -> None:
    """Show the settings.

    Settings are taken, first match wins, from command line options, RETINUE_… environment variables, the project's
    retinue.toml (or [tool.retinue] in pyproject.toml), your own file, and the defaults.
    """
    if context.invoked_subcommand is None:
        context.invoke(_show, origin=False, as_json=False, workspace=None)


@command.command("show")
@click.option("--origin", is_flag=True, help="Show where each value comes from instead of its description.")
@json_option
@workspace_option
def _show(*, origin: bool, as_json: bool, workspace: Path | None) -> None:
    """Show every setting and its value."""
    from retinue.cli import user_paths
    from retinue.cli.output import echo, echo_err, echo_json, findings_text, safe
    from retinue.cli.project import find_root
    from retinue.cli.settings import KEYS, load, permission_findings

    settings = load(find_root(workspace))
    problems = [*settings.findings, *permission_findings(settings)]
    display = {name: "***" if KEYS[name].secret else setting.value for name, setting in settings.values.items()}
    if as_json:
        values = {
            name: {"value": value, "origin": settings.values[name].origin}
            for name, value in display.items()
            if value is not None
        }
        findings = [finding.to_json() for finding in problems]
        echo_json({"settings": values, "user_file": str(user_paths.user_config_file()), "findings": findings})
        return
    width = max(map(len, display))
    for name, value in display.items():
        note = settings.values[name].origin if origin else KEYS[name].about
        echo(f"{name:<{width}} = {_as_text(value):<10}{click.style(f'  # {safe(note)}', dim=True)}")
    if problems:
        echo_err(findings_text(problems))


def _as_text(value: object) -> str:
    """A value as it would stand in a file; `-` when nothing is set."""
    from retinue.cli.output import json_line

    return "-" if value in (None, (), "", {}) else json_line(value)
