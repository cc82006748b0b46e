"""`retinue lint`: agent definitions and their callers, checked against the contract and their earlier versions."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import cast

import click

from retinue import catalogue
from retinue.agents.lint import (
    ENDINGS,
    apply_fixes,
    collect_files,
    definitions_at_revision,
    definitions_in_folder,
    lint_tree,
)
from retinue.agents.load.document import read_bytes
from retinue.cli.delivery import check_output, deliver
from retinue.cli.findings_report import report_findings, report_format
from retinue.cli.output import plural, status_line
from retinue.cli.settings import settings_of
from retinue.contract.finding import Finding
from retinue.contract.formatting import natural_list
from retinue.contract.json import loads
from retinue.contract.lint import RULES, EarlierDefinition, find_rule
from retinue.contract.lint.rules import make_finding
from retinue.contract.names import nearest
from retinue.errors import MissingFile, ParseError


def lint_definitions(
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
    """Check the agent definitions in PATHS: tool-use JSON, Markdown and Python files, or folders."""
    form = report_format(kind, output, as_json=as_json)
    _check_rules_exist(select, "--select")
    _check_rules_exist(ignore, "--ignore")
    if update_baseline and baseline is None:
        raise click.UsageError("--update-baseline needs --baseline FILE.")
    if baseline is not None and update_baseline:
        check_output(baseline)
    with status_line("looking for definitions"):
        files = collect_files(paths)
        earlier = _earlier_definitions(paths, against) if against else ()
    ready_made = [agent.definition for agent in catalogue.agents()]
    # What the settings of this folder say to ignore.
    ignored = (*ignore, *cast("tuple[str, ...]", settings_of(None).get("lint.ignore")))
    with status_line(f"checking {plural(len(files), 'file')}"):
        linted = lint_tree(files, earlier=earlier, catalogue=ready_made)
        fixes = apply_fixes(each for each in linted.findings if fix and _is_selected(each.rule, select, ignored))
        if fixes:
            linted = lint_tree(collect_files(paths), earlier=earlier, catalogue=ready_made)
    findings = [each for each in linted.findings if _is_selected(each.rule, select, ignored)]
    if not linted.names:
        # A check of nothing must not look like a pass.
        places = natural_list([repr(str(path)) for path in paths], last="or")
        remedy = f"Name other paths. Definitions end with {natural_list(ENDINGS, last='or')}."
        message, file = f"No definition found in {places}.", str(paths[0])
        findings.append(make_finding("load/nothing", "", message, remedy, file=file, line=1, column=1))
    if baseline is not None and update_baseline:
        write_baseline(baseline, findings)
    baseline_count = len(findings)
    if baseline is not None:
        findings = new_findings(findings, read_baseline(baseline))
    baseline_count -= len(findings)
    return report_findings(
        findings,
        linted.names,
        form,
        output,
        suite="retinue lint",
        strict=strict,
        notes=notes or bool(select),
        baseline_count=baseline_count,
        fix_count=len(fixes),
    )


# Which rules.


def _check_rules_exist(prefixes: Iterable[str], option: str) -> None:
    for prefix in prefixes:
        if not prefix or (find_rule(prefix) is None and not any(rule_id.startswith(prefix) for rule_id in RULES)):
            near = nearest(prefix, RULES, limit=1)
            suggestion = f" Did you mean `{near[0]}`?" if near else " `retinue explain` lists them."
            raise click.UsageError(f"{option}: no such rule {prefix[:80]!r}.{suggestion}")


def _is_selected(rule: str, select: tuple[str, ...], ignore: tuple[str, ...]) -> bool:
    return (not select or rule.startswith(select)) and not (ignore and rule.startswith(ignore))


# What was before.


def _earlier_definitions(paths: Sequence[Path], against: str) -> Sequence[EarlierDefinition]:
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


# The baseline.


_KEYS = ("file", "rule", "path", "message")


def read_baseline(path: Path) -> Counter[tuple[str, ...]]:
    """How often each known finding is accepted."""
    try:
        value = loads(read_bytes(path, max_bytes=64 * 2**20), max_bytes=64 * 2**20)
    except ParseError as error:
        raise ParseError(f"{str(path)!r} is not a baseline: {error.message}", hint=_HINT, path="") from None
    entries = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ParseError(f"{str(path)!r} is not a baseline: `findings` is missing.", hint=_HINT)
    return Counter(tuple(str(entry.get(key, "")) for key in _KEYS) for entry in entries if isinstance(entry, dict))


_HINT = "Write a new one with `retinue lint PATHS --baseline FILE --update-baseline`."


def write_baseline(path: Path, findings: Iterable[Finding]) -> None:
    """Accept `findings` from now on."""
    entries = [dict(zip(_KEYS, _key(finding), strict=True)) for finding in findings]
    deliver(json.dumps({"findings": entries}, indent=1, ensure_ascii=False) + "\n", path)


def new_findings(findings: Iterable[Finding], baseline: Counter[tuple[str, ...]]) -> list[Finding]:
    """Those findings that the baseline does not accept."""
    remaining = baseline.copy()
    new: list[Finding] = []
    for finding in findings:
        if remaining[_key(finding)] > 0:
            remaining[_key(finding)] -= 1
        else:
            new.append(finding)
    return new


def _key(finding: Finding) -> tuple[str, ...]:
    return (finding.file or "", finding.rule, finding.path, finding.message)
