"""`retinue lint`: agent definitions and whoever calls them, held against the contract and against what they were."""

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retinue.agents.lint import LintReport
    from retinue.contract.finding import Finding
    from retinue.contract.lint import EarlierDefinition

_Format: TypeAlias = Literal["text", "json", "junit", "sarif"]
_FORMATS: Final = ("text", "json", "junit", "sarif")
_ENDINGS: Final[dict[str, _Format]] = {".txt": "text", ".json": "json", ".xml": "junit", ".sarif": "sarif"}
"""Which format a file's name asks for."""


@click.command("lint")
@click.argument("paths", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option("--strict", is_flag=True, help="Treat warnings as errors.")
@click.option("--notes", is_flag=True, help="Also list notes, which are only counted otherwise.")
@click.option("--select", multiple=True, metavar="RULE", help="Check only rules whose id starts with this; repeatable.")
@click.option("--ignore", multiple=True, metavar="RULE", help="Skip rules whose id starts with this; repeatable.")
@click.option("--against", metavar="REV|FOLDER", help="Also report changes since REV or FOLDER that break callers.")
@click.option("--fix", "fix", is_flag=True, help="Fix what can be fixed automatically: misspelt names, missing quotes.")
@click.option(
    "--baseline",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Report only findings that are not in this file.",
)
@click.option("--update-baseline", is_flag=True, help="Write all current findings to the baseline file.")
@click.option("--format", "kind", type=click.Choice(_FORMATS), help="Report format. [default: text]")
@click.option("--output", "-o", type=click.Path(path_type=Path), metavar="FILE", help="Write the report to this file.")
@json_option
def command(
    *,
    paths: tuple[Path, ...],
    strict: bool,
    notes: bool,
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    against: str | None,
    fix: bool,
    baseline: Path | None,
    update_baseline: bool,
    kind: str | None,
    output: Path | None,
    as_json: bool,
) -> int:
    """Check the agent definitions in PATHS: tool-use JSON, Markdown and Python files, or folders.

    In a folder, files below `agents`, `skills` or `commands` and files that look like a definition are checked; in
    other texts, only how they call agents. No code is run. Each finding names place, rule, problem and fix; see
    `retinue explain RULE` for more. Exits 6 when there are errors.

    \b
      retinue lint .claude agents/
      retinue lint .claude --against origin/main --output lint.sarif
    """  # noqa: D301 - click reads the backspace: keep these lines as they are
    from retinue import catalogue
    from retinue.agents.lint import apply_fixes, collect_files, lint_tree
    from retinue.cli.baseline import new_findings, read_baseline, write_baseline
    from retinue.cli.delivery import check_output, deliver
    from retinue.cli.output import plural
    from retinue.cli.status_line import status_line

    form = _form(kind, output, as_json=as_json)
    _check_rules_exist(select, "--select")
    _check_rules_exist(ignore, "--ignore")
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE.")
    for file in (output, baseline if update_baseline else None):
        if file is not None:
            check_output(file)
    with status_line("looking for definitions"):
        files = collect_files(paths)
        earlier = _earlier_definitions(paths, against) if against else ()
    ready_made = [agent.definition for agent in catalogue.agents()]
    ignored = (*ignore, *_ignored_here())
    with status_line(f"checking {plural(len(files), 'file')}"):
        linted = lint_tree(files, earlier=earlier, catalogue=ready_made)
        fixes = apply_fixes(each for each in linted.findings if fix and _is_selected(each.rule, select, ignored))
        if fixes:
            linted = lint_tree(collect_files(paths), earlier=earlier, catalogue=ready_made)
    findings = [each for each in linted.findings if _is_selected(each.rule, select, ignored)]
    if not linted.names:
        findings.append(_nothing_found(paths))
    if baseline is not None and update_baseline:
        write_baseline(baseline, findings)
    baseline_count = len(findings)
    if baseline is not None:
        findings = new_findings(findings, read_baseline(baseline))
    baseline_count -= len(findings)
    failed = any(each.severity == "error" or (strict and each.severity == "warning") for each in findings)
    # A person reads what is wrong; what is merely worth knowing waits until it is asked for.
    visible_findings = (
        findings if form != "text" or output or notes or select else [f for f in findings if f.severity != "info"]
    )
    report = _report(visible_findings, linted, form, strict=strict)
    deliver(click.unstyle(report) if output and form == "text" else report, output)
    if form != "json" or output:
        _report_totals(
            findings,
            linted,
            failed=failed,
            has_hidden_notes=len(visible_findings) < len(findings),
            baseline_count=baseline_count,
            fix_count=len(fixes),
        )
    return Exit.INVALID if failed else Exit.OK


def _form(kind: str | None, output: Path | None, *, as_json: bool) -> _Format:
    if as_json and kind not in {None, "json"}:
        raise click.UsageError(f"--json and --format {kind} are two formats. Use only one.")
    if kind is not None:
        return cast("_Format", kind)
    if as_json:
        return "json"
    return "text" if output is None else _ENDINGS.get(output.suffix.lower(), "text")


# Which rules.


def _check_rules_exist(prefixes: "Iterable[str]", option: str) -> None:
    from retinue.contract.lint import RULES, find_rule
    from retinue.contract.names import nearest

    for prefix in prefixes:
        if not prefix or (find_rule(prefix) is None and not any(rule_id.startswith(prefix) for rule_id in RULES)):
            near = nearest(prefix, RULES, limit=1)
            suggestion = f" Did you mean `{near[0]}`?" if near else " `retinue explain` lists them."
            raise click.UsageError(f"{option}: no such rule {prefix[:80]!r}.{suggestion}")


def _ignored_here() -> tuple[str, ...]:
    """What the settings of this folder say to ignore."""
    from retinue.cli.project import find_root
    from retinue.cli.settings import load

    return cast("tuple[str, ...]", load(find_root(None)).get("lint.ignore"))


def _is_selected(rule: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    return (not select or rule.startswith(select)) and not (ignore and rule.startswith(ignore))


# What was before.


def _earlier_definitions(paths: "Sequence[Path]", against: str) -> "Sequence[EarlierDefinition]":
    from retinue.agents.lint import definitions_at_revision, definitions_in_folder
    from retinue.errors import MissingFile

    folder = Path(against)
    if not folder.is_dir():
        try:
            return definitions_at_revision(paths, against)
        except MissingFile:
            message = f"{against[:200]!r} is neither a folder nor a git revision: this is not a git repository."
            raise MissingFile(message, hint="Name the folder with the earlier definitions.") from None
    if len(paths) != 1 or not paths[0].is_dir():
        raise click.UsageError("--against FOLDER compares two folders: name one folder as PATH.")
    return definitions_in_folder(paths[0], folder)


# What is said.


def _report(findings: "Sequence[Finding]", linted: "LintReport", form: _Format, *, strict: bool) -> str:
    """The report as the text that goes out."""
    from retinue.cli.output import findings_text, json_text

    match form:
        case "json":
            return json_text({"files": len(linted.names), "findings": [each.to_json() for each in findings]}) + "\n"
        case "junit":
            from retinue.cli.lint_cases import cases_of
            from retinue.contract.report import render_junit

            return render_junit("retinue lint", cases_of(findings, linted.names, strict=strict))
        case "sarif":
            import retinue
            from retinue.contract.report import render_sarif

            return render_sarif(findings, version=retinue.__version__)
        case "text":
            return findings_text(findings) + "\n" if findings else ""


def _nothing_found(paths: "Sequence[Path]") -> "Finding":
    """The warning that no file was checked: a check of nothing must not look like a pass."""
    from retinue.agents.lint import ENDINGS
    from retinue.contract.formatting import natural_list
    from retinue.contract.lint.rules import make_finding

    places = natural_list([repr(str(path)) for path in paths], last="or")
    fix = f"Name other paths. Definitions end with {natural_list(ENDINGS, last='or')}."
    return make_finding(
        "load/nothing", "", f"No definition found in {places}.", fix, file=str(paths[0]), line=1, column=1
    )


def _report_totals(
    findings: "Sequence[Finding]",
    linted: "LintReport",
    *,
    failed: bool,
    has_hidden_notes: bool,
    baseline_count: int,
    fix_count: int,
) -> None:
    """Say in a line what it came to."""
    from retinue.cli.output import echo_err, plural

    word = "failed" if failed else "clean" if linted.names else "nothing checked"
    head = click.style(word, fg="red" if failed else "green" if linted.names else "yellow", bold=True)
    number = Counter(finding.severity for finding in findings)
    counts = [plural(len(linted.names), "file"), plural(number["error"], "error")]
    counts.append(plural(number["warning"], "warning"))
    if number["info"]:
        counts.append(f"{plural(number['info'], 'note')}{' (--notes lists them)' if has_hidden_notes else ''}")
    counts += [f"{baseline_count} in the baseline"] if baseline_count else []
    counts += [f"{fix_count} fixed"] if fix_count else []
    echo_err(f"{head}: {', '.join(counts)}")
