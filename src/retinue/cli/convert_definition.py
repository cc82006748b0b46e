"""`retinue convert-definition`: agent definitions from one format into another, one file or a whole folder at once."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final, cast

import click

from retinue.agents.definition_files import load_file
from retinue.agents.load.command import COMMAND
from retinue.agents.load.kinds import ENDINGS, Kind, find_definition_files
from retinue.agents.load.markdown import FILES
from retinue.agents.write import Format, WrittenDefinition, format_of_file, write
from retinue.cli.app import Exit
from retinue.cli.delivery import check_output, deliver
from retinue.cli.options import TO_FORMATS
from retinue.cli.output import (
    echo_err,
    echo_json,
    findings_text,
    first_few,
    label,
    path_text,
    plural,
    safe,
    status_line,
)
from retinue.contract.finding import Finding
from retinue.errors import AccessDenied, InvalidInput, MissingFile, RetinueError


def convert_definitions(
    *,
    paths: tuple[Path, ...],
    form: Format | None,
    kind: Kind | None,
    output: str | None,
    url: str | None,
    keep_folders: bool,
    force: bool,
    strict: bool,
    as_json: bool,
) -> int:
    """Convert the agent definitions in PATHS (files or folders) to another format."""
    form = form or (format_of_file(Path(output).name) if output else None)
    if form is None:
        raise click.UsageError(f"Name the format to write with --to: {', '.join(TO_FORMATS)}.")
    for path in paths:
        if not path.exists():
            raise MissingFile(f"No such file: {str(path)!r}.", hint="Name a definition, or a folder of them.")
    files = {
        file: path for path in reversed(paths) for file in (find_definition_files(path) if path.is_dir() else (path,))
    }
    with status_line(f"converting {plural(len(files), 'file')}"):
        conversions, findings = _convert(files, form, kind=kind, url=url)
    if len(conversions) > 1 and output is None and not as_json:
        raise click.UsageError(f"{len(conversions):,} definitions were found. Name a folder for them with --output.")
    conversions = _with_targets(conversions, output, keep_folders=keep_folders)
    if not files:
        fix = f"Definitions end with {' or '.join(ENDINGS)}; to convert another file, name it directly."
        findings.append(Finding(rule=NONE, message="No definition found here.", file=str(paths[0]), fix=fix))
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


NONE: Final = "load/none"
"""The rule that is broken where there is no file at all."""
_MAX_FIELDS: Final = 8
"""Losses of one definition that are listed."""
_MAX_LISTED: Final = 12
"""Definitions that are listed one by one."""


@dataclass(frozen=True)
class Conversion:
    """One definition on its way.

    Attributes:
        source: The file it was read from.
        name: What the agent is called.
        folder: Where that lies below the folder that was named.
        target: The file it goes into; None for stdout.
        sibling_files: The files beside a skill, which stay where they are.
    """

    source: str
    folder: Path
    name: str
    output: WrittenDefinition
    target: Path | None = None
    sibling_files: tuple[str, ...] = ()


def report_json(conversions: Sequence[Conversion], findings: Sequence[Finding], *, form: str, refused: bool) -> None:
    """Everything as one document on stdout."""
    echo_json(
        {
            "format": form,
            "definitions": [
                {
                    "name": each.name,
                    "source": each.source,
                    **({"file": str(each.target)} if each.target and not refused else {"text": each.output.text}),
                    "losses": [loss.to_json() for loss in each.output.losses],
                    **({"not_copied": list(each.sibling_files)} if each.sibling_files else {}),
                }
                for each in conversions
            ],
            "findings": [finding.to_json() for finding in findings],
        }
    )


def report_text(conversions: Sequence[Conversion], findings: Sequence[Finding], *, refused: bool) -> None:
    """A single text on stdout; on stderr what was wrong, what is lost, and what it came to."""
    worth = [finding for finding in findings if finding.severity != "info"]
    if worth:
        echo_err(findings_text(worth))
    if len(conversions) == 1 and conversions[0].target is None and not refused:
        deliver(conversions[0].output.text, None)
    for line in (
        _conversion_lines(conversions, refused=refused)
        if len(conversions) <= _MAX_LISTED
        else _summary_lines(conversions)
    ):
        echo_err(line)
    lossy = [each for each in conversions if each.output.losses]
    errors = [finding for finding in findings if finding.severity == "error"]
    failed = len({finding.file for finding in errors if finding.rule != NONE})
    head = "refused" if refused else "failed" if errors or not conversions else "done"
    parts = [f"{plural(len(conversions), 'definition')}{' not' if refused else ''} converted"]
    parts += [f"{len(lossy):,} with losses"] if lossy else []
    parts += [f"{plural(failed, 'file')} could not be"] if failed else []
    echo_err(f"{label(head, 'green' if head == 'done' else 'red')}: {', '.join(parts)}")


def _conversion_lines(conversions: Sequence[Conversion], *, refused: bool) -> Iterator[str]:
    """What became of each definition."""
    for each in conversions:
        has_file = each.target is not None and not refused
        if has_file:
            yield f"{path_text(each.source)} {click.style('→', dim=True)} {path_text(each.target)}"
        by_reason: dict[str, list[str]] = {}
        for loss in each.output.losses:
            by_reason.setdefault(loss.why, []).append(safe(loss.field))
        for why, fields in by_reason.items():
            yield f"  {label('lost', 'yellow')} {safe(each.name)}: {first_few(fields, _MAX_FIELDS)} ({safe(why)})"
        if has_file and each.sibling_files:
            files = plural(len(each.sibling_files), "file")
            yield f"  {label('left', 'yellow')} {safe(each.name)}: {files} beside it, not copied"


def _summary_lines(conversions: Sequence[Conversion]) -> Iterator[str]:
    """What many definitions lose, and what stays behind, a line each reason."""
    by_reason: dict[str, Counter[str]] = {}
    for each in conversions:
        for loss in each.output.losses:
            by_reason.setdefault(loss.why, Counter())[loss.field] += 1
    for why, fields in by_reason.items():
        counts = [f"{safe(field)} in {count:,}" for field, count in fields.most_common()]
        yield f"{label('lost', 'yellow')} {first_few(counts, _MAX_FIELDS)} ({safe(why)})"
    skills = [len(each.sibling_files) for each in conversions if each.sibling_files]
    if skills:
        files = plural(sum(skills), "file")
        yield f"{label('left', 'yellow')} {files} beside {plural(len(skills), 'skill')}, not copied"


# Converting.


def _convert(
    files: Mapping[Path, Path], form: Format, *, kind: Kind | None, url: str | None
) -> tuple[list[Conversion], list[Finding]]:
    """Read and write every definition; what is wrong with one does not keep the others from it."""
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
                # The files beside a skill; those that a command refers to are no part of it.
                beside: object = None if COMMAND in definition.extras else definition.extras.get(FILES)
                siblings = tuple(map(str, cast("list[object]", beside))) if isinstance(beside, list) else ()
                conversions.append(Conversion(str(file), folder, definition.name, output, sibling_files=siblings))
            except RetinueError as error:
                line = definition.source.line if definition.source else None
                findings.append(
                    Finding(rule="convert/cannot", message=error.message, file=str(file), line=line, fix=error.hint)
                )
    return conversions, findings


# Writing.


def _with_targets(conversions: list[Conversion], output: str | None, *, keep_folders: bool) -> list[Conversion]:
    """The definitions, each with the file it goes into."""
    if output is None:
        return conversions
    folder = Path(output)
    if len(conversions) > 1 or output.endswith(("/", "\\")) or folder.is_dir():
        return [
            replace(each, target=folder / (each.folder if keep_folders else "") / each.output.file)
            for each in conversions
        ]
    return [replace(each, target=folder) for each in conversions]


def _write(conversions: Sequence[Conversion], *, force: bool) -> None:
    """Write all files, or none when one of them is in the way."""
    targets = [(each.target, each) for each in conversions if each.target is not None]
    _check_targets_free(targets, force=force)
    for target, _ in targets:
        try:
            target.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            message = f"Cannot create the folder {str(target.parent)!r}: {error.strerror}."
            raise AccessDenied(message, hint="Choose another place with `--output`.") from None
        check_output(target)
    for count, (target, each) in enumerate(targets):
        try:
            deliver(each.output.text, target)
        except AccessDenied as error:
            message = f"{error.message} {count:,} of {len(targets):,} files were written."
            hint = "Free some disk space, or choose another place with `--output`; `--force` overwrites existing files."
            raise AccessDenied(message, hint=hint, path=str(target)) from None


def _check_targets_free(targets: Sequence[tuple[Path, Conversion]], *, force: bool) -> None:
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
