"""Options that several verbs share, so that they mean the same everywhere."""

from pathlib import Path

import click

__all__ = ["json_option", "workspace_option"]

workspace_option = click.option(
    "--workspace",
    "-C",
    type=click.Path(path_type=Path),
    help="The folder to work in. [default: the top of this git repository, else this folder]",
)

json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON document instead.")
