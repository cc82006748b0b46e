"""`retinue config`: the settings in force."""

from pathlib import Path

import click

from retinue.cli.options import json_option, workspace_option
from retinue.cli.output import echo_json, findings_text, safe, tell

__all__ = ["command"]


@click.group("config")
def command() -> None:
    """Show the settings in force.

    A flag wins over RETINUE_… in the environment, that over the project's retinue.toml (or [tool.retinue] in
    pyproject.toml), that over your own file, that over the default.
    """


@command.command("show")
@click.option("--origin", is_flag=True, help="Also say where each value comes from.")
@json_option
@workspace_option
def show(*, origin: bool, as_json: bool, workspace: Path | None) -> None:
    """Show every setting and its value."""
    from retinue.cli import places
    from retinue.cli.project import find_root
    from retinue.cli.settings import KEYS, load

    settings = load(find_root(workspace))
    shown = {
        name: {"value": "***" if KEYS[name].secret else setting.value, "origin": setting.origin}
        for name, setting in settings.values.items()
    }
    if as_json:
        findings = [finding.to_json() for finding in settings.findings]
        echo_json({"settings": shown, "user_file": str(places.user_config_file()), "findings": findings})
        return
    width = max(map(len, shown))
    for name, setting in shown.items():
        value = "-" if setting["value"] in (None, ()) else safe(setting["value"])
        source = f"  # {safe(setting['origin'])}" if origin else f"  # {KEYS[name].about}"
        click.echo(f"{name:<{width}} = {value:<10}{source}")
    if settings.findings:
        tell(findings_text(settings.findings))
