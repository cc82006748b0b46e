"""`retinue lint`: agent definitions, held against the contract."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option
from retinue.cli.output import echo_json, findings_text, tell

if TYPE_CHECKING:
    from retinue.contract.finding import Finding

__all__ = ["command"]

_ENDINGS = (".json", ".md")


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@json_option
def command(*, paths: tuple[Path, ...], strict: bool, as_json: bool) -> int:
    """Check agent definitions in PATHS: tool-use JSON and Markdown files, or folders of them.

    Exits 6 when something is wrong.
    """
    files = [file for path in paths for file in _files(path)]
    findings = [finding for file in files for finding in _lint(file)]
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = sum(finding.severity == "warning" for finding in findings)
    if as_json:
        echo_json({"files": len(files), "findings": [finding.to_json() for finding in findings]})
    elif findings:
        click.echo(findings_text(findings))
    tell(f"{len(files)} file{'' if len(files) == 1 else 's'}, {errors} errors, {warnings} warnings")
    return Exit.INVALID if errors or (strict and warnings) else Exit.OK


def _files(path: Path) -> list[Path]:
    """The definitions at `path`, in order.

    Raises:
        MissingFile: There is nothing.
        InvalidInput: It is a file of another kind.
    """
    from retinue.errors import InvalidInput, MissingFile

    if path.is_dir():
        return sorted(file for file in path.rglob("*") if file.suffix.lower() in _ENDINGS and file.is_file())
    if not path.exists():
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a definition, or a folder of them.")
    if path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"{str(path)!r} is no definition.", hint=f"Definitions end with {' or '.join(_ENDINGS)}.")
    return [path]


def _lint(file: Path) -> "list[Finding]":
    """Everything there is to say about one file: how it reads, then what it says."""
    from retinue.agents.discover import load_file
    from retinue.contract.lint import lint

    loaded = load_file(file)
    return [*loaded.findings, *(finding for agent in loaded.agents for finding in lint(agent.definition))]
