"""Writes plots into files: SVG or PNG, as the file's name asks."""

from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

if TYPE_CHECKING:
    from retinue.orchestration.present.plot import Plot

__all__ = ["check_plot", "write_plot"]

_ENDINGS: Final = (".svg", ".png")


def check_plot(file: Path) -> None:
    """Find out whether a plot can be written there.

    Raises:
        UsageError: The name's ending asks for no kind of picture that there is.
        RetinueError: The file could not be written.
    """
    from retinue.cli.delivery import check_output

    if file.suffix.lower() not in _ENDINGS:
        raise click.UsageError(f"Cannot tell the format of {file.name[:80]!r}. Use the extension .svg or .png.")
    check_output(file)


def write_plot(file: Path, plot: "Plot") -> None:
    """Draw `plot` into `file`, whole or not at all, and say where it is.

    Raises:
        AccessDenied: The file cannot be written.
    """
    from retinue.cli.delivery import deliver_bytes
    from retinue.cli.output import safe, tell
    from retinue.orchestration.present.plot import as_png, as_svg

    deliver_bytes(as_png(plot) if file.suffix.lower() == ".png" else as_svg(plot).encode(), file)
    tell(f"drawn into {safe(file)}")
