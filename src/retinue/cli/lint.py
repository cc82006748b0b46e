"""`retinue lint`: agent definitions, held against the contract."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterator

    from retinue.contract.definition import Definition
    from retinue.contract.finding import Finding

__all__ = ["command"]

_ENDINGS: Final = (".json", ".md")
_MOST: Final = 10_000
"""Files that are looked at in one go."""
_OPENED: Final = frozenset({".claude", ".retinue"})
"""Hidden folders in which people keep definitions."""
_SKIPPED: Final = frozenset({"node_modules", "__pycache__"})
_HOMES: Final = frozenset({"agents", "skills", "commands"})
"""Folders in which every file claims to be a definition."""
_TAKES: Final = frozenset({"input_schema", "inputSchema", "parameters", "skills"})
"""One of these beside `name` and `description` makes a JSON object look like a definition."""


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Warnings fail too.")
@json_option
def command(*, paths: tuple[Path, ...], strict: bool, as_json: bool) -> int:
    """Check agent definitions in PATHS: tool-use JSON and Markdown files, or folders of them.

    Of a folder, those files are read that lie below `agents`, `skills` or `commands`, or that look like a definition.
    Each finding says place, rule, what is wrong and how to mend it. Exits 6 when something is wrong.
    """
    from retinue.cli.output import counted, echo, echo_json, findings_text, tell

    files = list(dict.fromkeys(file for path in paths for file in _files(path)))
    findings = [finding for file in files for finding in _lint(file)]
    errors = sum(finding.severity == "error" for finding in findings)
    warnings = sum(finding.severity == "warning" for finding in findings)
    failed = bool(errors or (strict and warnings))
    if as_json:
        echo_json({"files": len(files), "findings": [finding.to_json() for finding in findings]})
    else:
        if findings:
            echo(findings_text(findings))
        if not files:
            tell(f"No definition was found; they end with {' or '.join(_ENDINGS)}.")
        head = click.style("failed" if failed else "clean", fg="red" if failed else "green", bold=True)
        tell(f"{head}: {counted(len(files), 'file')}, {counted(errors, 'error')}, {counted(warnings, 'warning')}")
    return Exit.INVALID if failed else Exit.OK


def _files(path: Path) -> "Iterator[Path]":
    """The definitions at `path`, in order.

    Raises:
        MissingFile: There is nothing.
        InvalidInput: It is a file of another kind, or there are too many.
    """
    from retinue.errors import InvalidInput, MissingFile

    if path.is_dir():
        found = sorted(file for file in _below(path) if _is_definition(file, path))
        if len(found) > _MOST:
            raise InvalidInput(f"{str(path)!r} holds more than {_MOST:,} definitions.", hint="Name a smaller folder.")
        yield from found
    elif not path.exists():
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a definition, or a folder of them.")
    elif path.suffix.lower() not in _ENDINGS:
        raise InvalidInput(f"{str(path)!r} is no definition.", hint=f"Definitions end with {' or '.join(_ENDINGS)}.")
    else:
        yield path


def _below(folder: Path) -> "Iterator[Path]":
    """Files that could be definitions; links to folders are not followed."""
    for where, folders, files in os.walk(folder):
        folders[:] = [each for each in folders if each not in _SKIPPED and (each[0] != "." or each in _OPENED)]
        for name in files:
            if name.lower().endswith(_ENDINGS) and not (file := Path(where, name)).is_dir():
                yield file  # one that is no file, or a link in a circle, is said to be so when it is read


def _is_definition(file: Path, folder: Path) -> bool:
    """Whether a file in a folder means to be a definition."""
    if _HOMES.intersection(file.relative_to(folder).parts[:-1]) or _HOMES.intersection(folder.resolve().parts[-1:]):
        return True
    from retinue.agents.load.document import read_bytes
    from retinue.contract import json
    from retinue.errors import RetinueError

    try:
        text = read_bytes(file)
        value = json.loads(text) if file.suffix.lower() == ".json" else None
    except RetinueError:
        return False
    if file.suffix.lower() == ".md":
        return text.startswith(b"---") and b"\nname:" in text[:2_000] and b"\ndescription:" in text[:20_000]
    entries = value if isinstance(value, list) else [value]
    return any(
        isinstance(each, dict)
        and isinstance(each.get("name"), str)
        and isinstance(each.get("description"), str)
        and not _TAKES.isdisjoint(each)
        for each in entries
    )


def _lint(file: Path) -> "list[Finding]":
    """Everything there is to say about one file: how it reads, then what it says."""
    from retinue.agents.discover import load_file
    from retinue.contract.lint import lint

    loaded = load_file(file)
    judged = [_placed(finding, agent.definition) for agent in loaded.agents for finding in lint(agent.definition)]
    known = {(finding.path, finding.message) for finding in loaded.findings}
    return [*loaded.findings, *(finding for finding in judged if (finding.path, finding.message) not in known)]


def _placed(finding: "Finding", definition: "Definition") -> "Finding":
    """`finding` with the line where its definition begins, when it has no closer one."""
    if finding.line is not None or definition.source is None or definition.source.line is None:
        return finding
    return finding.model_copy(update={"line": definition.source.line, "column": definition.source.column})
