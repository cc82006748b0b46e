"""`retinue convert-definition`: agent definitions from one format into another, one file or a whole folder at once."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

import click

from retinue.cli.conversion_report import NONE, Conversion, report_json, report_text
from retinue.cli.exits import Exit
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from retinue.agents.load.kinds import Kind
    from retinue.agents.write import Format
    from retinue.contract.definition import Definition
    from retinue.contract.finding import Finding

_FROM: Final = ("markdown", "skill", "command", "tool_use", "json", "agent_json", "a2a")
_TO: Final = ("markdown", "skill", "tool_use", "json", "agent_json", "a2a")


class _Name(click.ParamType[str]):
    """One of several names, in any spelling."""

    name = "format"

    def __init__(self, names: tuple[str, ...]) -> None:
        self._names = names

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """The name that was meant."""
        from retinue.contract import names

        canonical = names.fold(str(value)).removesuffix("_md")
        if canonical not in self._names:
            near = names.nearest(str(value), self._names, limit=1)
            suggestion = f" Did you mean {near[0]!r}?" if near else ""
            self.fail(f"{str(value)[:80]!r} is none of {', '.join(self._names)}.{suggestion}", param, ctx)
        return canonical


@click.command("convert-definition")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--to", "form", type=_Name(_TO), help=f"Format to write: {', '.join(_TO)}.")
@click.option("--from", "kind", type=_Name(_FROM), help="Format of PATHS, if it cannot be detected.")
@click.option(
    "--output",
    "-o",
    metavar="FILE|DIR",
    help="Where to write: a file, or a folder for several definitions. [default: stdout]",
)
@click.option("--url", metavar="URL", help="URL of the agent, for agent_json and a2a.")
@click.option("--keep-folders", is_flag=True, help="Keep the folder structure of PATHS below --output.")
@click.option("--force", is_flag=True, help="Overwrite existing files.")
@click.option("--strict", is_flag=True, help="Fail without writing anything if something would be lost.")
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
    """Convert the agent definitions in PATHS (files or folders) to another format.

    Fields that the other format cannot express are listed on stderr. Existing files are kept unless --force is given.
    Exits 6 when a file holds no definition, and with --strict when something would be lost.

    \b
      retinue convert-definition .claude/agents --to skill --output skills/
      retinue convert-definition skills/pdf/SKILL.md --to a2a --url https://example.org/pdf > pdf.agent-card.json
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue.cli.output import plural
    from retinue.cli.status_line import status_line

    form = form or _form_of(output)
    files = {file: path for path in reversed(paths) for file in _files(path)}
    with status_line(f"converting {plural(len(files), 'file')}"):
        conversions, findings = _convert(files, form, kind=kind, url=url)
    if len(conversions) > 1 and output is None and not as_json:
        raise click.UsageError(f"{len(conversions):,} definitions were found. Name a folder for them with --output.")
    conversions = _with_targets(conversions, output, keep_folders=keep_folders)
    if not files:
        findings.append(_nothing_found(paths))
    has_losses = any(each.output.losses for each in conversions)
    failed = any(finding.severity == "error" for finding in findings)
    refused = strict and has_losses
    if not refused:
        with status_line(f"writing {plural(len(conversions), 'file')}"):
            _write(conversions, force=force)
    if as_json:
        report_json(conversions, findings, form=form, refused=refused)
    else:
        report_text(conversions, findings, refused=refused)
    return Exit.INVALID if failed or refused or not conversions else Exit.OK


def _form_of(output: str | None) -> "Format":
    """The format that the name of the output asks for.

    Raises:
        UsageError: It asks for none.
    """
    from retinue.agents.write import format_of_file

    form = format_of_file(Path(output).name) if output else None
    if form is None:
        raise click.UsageError(f"Name the format to write with --to: {', '.join(_TO)}.")
    return form


def _files(path: Path) -> tuple[Path, ...]:
    """The files at `path`.

    Raises:
        MissingFile: There is nothing.
        InvalidInput: The folder holds too many.
    """
    from retinue.agents.load.kinds import find_definition_files
    from retinue.errors import MissingFile

    if path.is_dir():
        return find_definition_files(path)
    if not path.exists():
        raise MissingFile(f"No such file: {str(path)!r}.", hint="Name a definition, or a folder of them.")
    return (path,)


def _nothing_found(paths: Sequence[Path]) -> "Finding":
    from retinue.agents.load.kinds import ENDINGS
    from retinue.contract.finding import Finding

    fix = f"Definitions end with {' or '.join(ENDINGS)}; to convert another file, name it directly."
    return Finding(rule=NONE, message="No definition found here.", file=str(paths[0]), fix=fix)


# Converting.


def _convert(
    files: Mapping[Path, Path], form: "Format", *, kind: "Kind | None", url: str | None
) -> tuple[list[Conversion], list["Finding"]]:
    """Read and write every definition; what is wrong with one does not keep the others from it.

    Args:
        files: Each file, with the path that was named.
        form: The format to write.
        kind: What the files are, when it is not for them to say.
        url: Where the agents answer.
    """
    from retinue.agents.definition_files import load_file
    from retinue.agents.write import write
    from retinue.contract.finding import Finding
    from retinue.errors import RetinueError

    conversions: list[Conversion] = []
    findings: list[Finding] = []
    for file, path in sorted(files.items()):
        folder = file.parent.relative_to(path) if file != path else Path()
        loaded = load_file(file, kind=kind)
        findings += loaded.findings
        for agent in loaded.agents:
            definition = agent.definition
            try:
                output = write(definition, form, url=url)
                sibling_files = _sibling_files(definition)
                conversions.append(Conversion(str(file), folder, definition.name, output, sibling_files=sibling_files))
            except RetinueError as error:
                line = definition.source.line if definition.source else None
                findings.append(
                    Finding(rule="convert/cannot", message=error.message, file=str(file), line=line, fix=error.hint)
                )
    return conversions, findings


def _sibling_files(definition: "Definition") -> tuple[str, ...]:
    """The files beside a skill; those that a command refers to are no part of it."""
    from retinue.agents.load.command import COMMAND
    from retinue.agents.load.markdown import FILES

    files: object = definition.extras.get(FILES)
    if not isinstance(files, list) or COMMAND in definition.extras:
        return ()
    return tuple(map(str, cast("list[object]", files)))


# Writing.


def _with_targets(conversions: list[Conversion], output: str | None, *, keep_folders: bool) -> list[Conversion]:
    """The definitions, each with the file it goes into."""
    if output is None:
        return conversions
    folder = Path(output)
    if len(conversions) > 1 or output.endswith(("/", "\\")) or folder.is_dir():
        places = [each.folder if keep_folders else Path() for each in conversions]
        return [
            replace(each, target=folder / place / each.output.file)
            for each, place in zip(conversions, places, strict=True)
        ]
    return [replace(each, target=folder) for each in conversions]


def _write(conversions: Sequence[Conversion], *, force: bool) -> None:
    """Write all files, or none when one of them is in the way.

    Raises:
        InvalidInput: A file is there already, or two definitions go into one.
        AccessDenied: A file cannot be written; the message says how many were.
    """
    from retinue.cli.delivery import check_output, deliver
    from retinue.errors import AccessDenied

    targets = [(each.target, each) for each in conversions if each.target is not None]
    _check_targets_free(targets, force=force)
    for target, _ in targets:
        _make_folder(target.parent)
        check_output(target)
    for count, (target, each) in enumerate(targets):
        try:
            deliver(each.output.text, target)
        except AccessDenied as error:
            message = f"{error.message} {count:,} of {len(targets):,} files were written."
            hint = "Free some disk space, or choose another place with `--output`; `--force` overwrites existing files."
            raise AccessDenied(message, hint=hint, path=str(target)) from None


def _check_targets_free(targets: Sequence[tuple[Path, Conversion]], *, force: bool) -> None:
    from retinue.errors import InvalidInput

    by_target: dict[Path, Conversion] = {}
    twice = [(target, each) for target, each in targets if by_target.setdefault(target, each) is not each]
    if twice:
        target, each = twice[0]
        more = f" {len(twice) - 1:,} more collide as well." if len(twice) > 1 else ""
        raise InvalidInput(
            f"{each.source!r} and {by_target[target].source!r} would both be written to {str(target)!r}.{more}",
            hint="Add `--keep-folders`, rename one of the two agents, or convert them one by one.",
            detail={"files": [each.source for _, each in twice]},
        )
    existing = [repr(str(target)) for target in by_target if target.exists() or target.is_symlink()]
    if existing and not force:
        more = f" and {len(existing) - 3} more" if len(existing) > 3 else ""
        message = f"{', '.join(existing[:3])}{more} would be replaced."
        raise InvalidInput(message, hint="Add `--force` to overwrite, or choose another place with `--output`.")


def _make_folder(folder: Path) -> None:
    from retinue.errors import AccessDenied

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        message = f"Cannot create the folder {str(folder)!r}: {error.strerror}."
        raise AccessDenied(message, hint="Choose another place with `--output`.") from None
