"""`retinue completion`: the script that makes your shell complete `retinue`."""

import click
from click.shell_completion import get_completion_class


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print the completion script for SHELL.

    For bash, add to ~/.bashrc:  eval "$(retinue completion bash)"
    """
    from retinue.cli.app import cli

    completion_class = get_completion_class(shell)
    if completion_class is None:  # pragma: no cover - the choice above lists what click has
        raise click.UsageError(f"No completion for {shell!r}.")
    click.echo(completion_class(cli, {}, "retinue", "_RETINUE_COMPLETE").source())
