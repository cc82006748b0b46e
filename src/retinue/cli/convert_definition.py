"""`retinue convert-definition`: agent definitions from one format into another, one file or a whole folder at once."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from retinue.agents.load.kinds import Kind
    from retinue.agents.write import Format, Written
    from retinue.contract.finding import Finding

__all__ = ["command"]

_FROM: Final = ("markdown", "skill", "command", "tool_use", "json", "agent_json", "a2a")
_TO: Final = ("markdown", "skill", "tool_use", "json", "agent_json", "a2a")
_MOST_SAID: Final = 8
"""Losses of one definition that a person is told."""


class _Name(click.ParamType[str]):
    """One of several names, in any spelling."""

    name = "format"

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that was meant."""
        from retinue.contract import names

        folded = names.fold(str(value)).removesuffix("_md")
        if folded not in self._names:
            near = names.nearest(str(value), self._names, limit=1)
            meant = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(f"{str(value)[:80]!r} is none of {', '.join(self._names)}.{meant}", param, ctx)
        return folded


@dataclass(frozen=True)
class _Converted:
    """One definition on its way.

    Attributes:
        source: The file it was read from.
        name: What the agent is called.
        folder: Where that lies below the folder that was named.
        target: The file it goes into; None for stdout.
    """

    source: str
    folder: Path
    name: str
    written: "Written"
    target: Path | None = None


@click.command("convert-definition")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "form", type=_Name(_TO), help=f"The format to write: {', '.join(_TO)}.")
@click.option("--from", "kind", type=_Name(_FROM), help="What PATHS are, when neither name nor content says so.")
@click.option("--output", "-o", metavar="FILE|DIR", help="Where to write; a folder for several. [default: stdout]")
@click.option("--url", metavar="URL", help="Where the agent answers: for agent_json and a2a.")
@click.option("--keep-folders", is_flag=True, help="Write each file as deep below --output as it lay below PATHS.")
@click.option("--force", is_flag=True, help="Replace files that are there already.")
@click.option("--strict", is_flag=True, help="Write nothing when a definition would lose something.")
@json_option
def command(
    *,
    paths: tuple[Path, ...],
    form: "Format | None",
    kind: "Kind | None",
    output: str | None,
    url: str | None,
    keep_folders: bool,
    force: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Convert agent definitions in PATHS, files or folders of them, into another format.

    What the other format cannot say is told on stderr, field by field. Nothing is replaced without --force. Exits 6
    when a file held no definition, or with --strict when something would be lost.
    """
    form = form or _form_of(output)
    files = {file: path for path in reversed(paths) for file in _files(path)}
    converted, findings = _convert(files, form, kind=kind, url=url)
    converted = _placed(converted, output, keep_folders=keep_folders)
    lost = any(each.written.losses for each in converted)
    failed = any(finding.severity == "error" for finding in findings)
    refused = strict and lost
    if not refused:
        _write(converted, force=force)
    if as_json:
        _tell_program(converted, findings, form=form, refused=refused)
    else:
        _tell_person(converted, findings, refused=refused)
    return Exit.INVALID if failed or refused or not converted else Exit.OK


def _form_of(output: str | None) -> "Format":
    """The format that the name of the output asks for.

    Raises:
        UsageError: It asks for none.
    """
    from retinue.agents.write import format_of_file

    form = format_of_file(Path(output).name) if output else None
    if form is None:
        raise click.UsageError(f"Say with --to which format to write: {', '.join(_TO)}.")
    return form


def _files(path: Path) -> tuple[Path, ...]:
    """The files at `path`.

    Raises:
        MissingFile: There is nothing.
        InvalidInput: The folder holds too many.
    """
    from retinue.agents.load.gather import gather
    from retinue.errors import MissingFile

    if path.is_dir():
        return gather(path)
    if not path.exists():
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a definition, or a folder of them.")
    return (path,)


# Converting.


def _convert(
    files: Mapping[Path, Path], form: "Format", *, kind: "Kind | None", url: str | None
) -> tuple[list[_Converted], list["Finding"]]:
    """Read and write every definition; what is wrong with one does not keep the others from it.

    Args:
        files: Each file, with the path that was named.
        form: The format to write.
        kind: What the files are, when it is not for them to say.
        url: Where the agents answer.
    """
    from retinue.agents.discover import load_file
    from retinue.agents.write import write
    from retinue.contract.finding import Finding
    from retinue.errors import RetinueError

    converted: list[_Converted] = []
    findings: list[Finding] = []
    for file, path in sorted(files.items()):
        folder = file.parent.relative_to(path) if file != path else Path()
        loaded = load_file(file, kind=kind)
        findings += loaded.findings
        for agent in loaded.agents:
            definition = agent.definition
            try:
                converted.append(_Converted(str(file), folder, definition.name, write(definition, form, url=url)))
            except RetinueError as error:
                line = definition.source.line if definition.source else None
                findings.append(
                    Finding(rule="convert/cannot", message=error.message, file=str(file), line=line, fix=error.hint)
                )
    return converted, findings


# Writing.


def _placed(converted: list[_Converted], output: str | None, *, keep_folders: bool) -> list[_Converted]:
    """The definitions, each with the file it goes into.

    Raises:
        UsageError: There are several, and no folder for them.
    """
    if output is None:
        if len(converted) > 1:
            raise click.UsageError(f"{len(converted)} definitions were found. Name a folder for them with --output.")
        return converted
    folder = Path(output)
    if len(converted) > 1 or output.endswith(("/", "\\")) or folder.is_dir():
        places = [each.folder if keep_folders else Path() for each in converted]
        return [
            replace(each, target=folder / place / each.written.file)
            for each, place in zip(converted, places, strict=True)
        ]
    return [replace(each, target=folder) for each in converted]


def _write(converted: Sequence[_Converted], *, force: bool) -> None:
    """Write all files, or none when one of them is in the way.

    Raises:
        InvalidInput: A file is there already, or two definitions go into one.
        AccessDenied: A file cannot be written.
    """
    from retinue.cli.delivery import check_output, deliver

    targets = [(each.target, each) for each in converted if each.target is not None]
    _see_free(targets, force=force)
    for target, _ in targets:
        _make_folder(target.parent)
        check_output(target)
    for target, each in targets:
        deliver(each.written.text, target)


def _see_free(targets: Sequence[tuple[Path, _Converted]], *, force: bool) -> None:
    from retinue.errors import InvalidInput

    taken: dict[Path, _Converted] = {}
    for target, each in targets:
        other = taken.setdefault(target, each)
        if other is not each:
            raise InvalidInput(
                f"{each.source!r} and {other.source!r} would both go into {str(target)!r}.",
                hint="Add `--keep-folders`, rename one of the two agents, or convert them one by one.",
            )
    there = [repr(str(target)) for target in taken if target.exists() or target.is_symlink()]
    if there and not force:
        more = f" and {len(there) - 3} more" if len(there) > 3 else ""
        message = f"{', '.join(there[:3])}{more} would be replaced."
        raise InvalidInput(message, hint="Add `--force` to replace, or name another place with `--output`.")


def _make_folder(folder: Path) -> None:
    from retinue.errors import AccessDenied

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"The folder {str(folder)!r} cannot be made: {error.strerror}."
        raise AccessDenied(message, hint="Name another place with `--output`.") from None


# Telling.


def _tell_program(converted: Sequence[_Converted], findings: Sequence["Finding"], *, form: str, refused: bool) -> None:
    from retinue.cli.output import echo_json

    echo_json(
        {
            "format": form,
            "definitions": [
                {
                    "name": each.name,
                    "source": each.source,
                    **({"file": str(each.target)} if each.target and not refused else {"text": each.written.text}),
                    "losses": [loss.to_json() for loss in each.written.losses],
                }
                for each in converted
            ],
            "findings": [finding.to_json() for finding in findings],
        }
    )


def _tell_person(converted: Sequence[_Converted], findings: Sequence["Finding"], *, refused: bool) -> None:
    from retinue.cli.delivery import deliver
    from retinue.cli.output import counted, findings_text, safe, tell

    worth = [finding for finding in findings if finding.severity != "info"]
    if worth:
        tell(findings_text(worth))
    for each in converted:
        if each.target is None and not refused:
            deliver(each.written.text, None)
        elif each.target and not refused:
            tell(f"{safe(each.source)} {click.style('→', dim=True)} {safe(each.target)}")
        for line in _losses(each):
            tell(line)
    lost = [each for each in converted if each.written.losses]
    failed = len({finding.file for finding in findings if finding.severity == "error"})
    head = "refused" if refused else "failed" if failed or not converted else "done"
    said = [f"{counted(len(converted), 'definition')}{' not' if refused else ''} converted"]
    said += [f"{len(lost)} with losses"] if lost else []
    said += [f"{counted(failed, 'file')} could not be"] if failed else []
    tell(f"{click.style(head, fg='green' if head == 'done' else 'red', bold=True)}: {', '.join(said)}")


def _losses(each: _Converted) -> Iterator[str]:
    """What the text of a definition does not say, a line each reason."""
    from retinue.cli.output import safe

    by_reason: dict[str, list[str]] = {}
    for loss in each.written.losses:
        by_reason.setdefault(loss.why, []).append(loss.field)
    for why, fields in by_reason.items():
        more = f" and {len(fields) - _MOST_SAID} more" if len(fields) > _MOST_SAID else ""
        head = click.style("lost", fg="yellow", bold=True)
        yield f"  {head} {safe(each.name)}: {safe(', '.join(fields[:_MOST_SAID]))}{more} ({safe(why)})"
