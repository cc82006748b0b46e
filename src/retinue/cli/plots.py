"""Writes charts into SVG files."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.delivery import check_output, deliver_bytes
from retinue.cli.output import echo_err, safe
from retinue.contract.table import Chart
from retinue.orchestration.present.html.chart import charts_file

if TYPE_CHECKING:
    from collections.abc import Sequence


def check_plot(file: Path) -> None:
    """Find out whether charts can be written there.

    Raises:
        UsageError: The name's ending asks for another kind of picture than SVG.
        RetinueError: The file could not be written.
    """
    if file.suffix.lower() != ".svg":
        raise click.UsageError(f"Cannot draw {file.name[:80]!r}. Use the extension .svg.")
    check_output(file)


def write_plot(file: Path, title: str, charts: "Sequence[Chart]", *, subtitle: str) -> None:
    """Draw `charts` into `file`, whole or not at all, and say where it is.

    Raises:
        AccessDenied: The file cannot be written.
    """
    deliver_bytes(charts_file(title, charts, subtitle=subtitle).encode(), file)
    echo_err(f"drawn into {safe(file)}")
