"""What is wrong with a message, each finding with the file, line and column that it is about."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retinue.contract.finding import Finding
    from retinue.errors import RetinueError


def findings_in(error: "RetinueError") -> "tuple[Finding, ...]":
    """All that an error says, the error itself when that is all."""
    from retinue.contract.finding import Finding

    entries: list[dict[str, Any]] = error.detail.get("findings") or []
    if entries:
        return tuple(Finding(**each) for each in entries)
    line, column = error.detail.get("line"), error.detail.get("column")
    rule = f"message/{error.detail.get('reason') or error.code}"
    finding = Finding(rule=rule, message=error.message, path=error.path, line=line, column=column, fix=error.hint)
    return (finding,)


def locate_findings(findings: "Iterable[Finding]", data: bytes, file: str) -> "tuple[Finding, ...]":
    """`findings` with the file, and with line and column where a JSON Pointer leads to one."""
    from retinue.contract.json import source_map

    all_findings = tuple(findings)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    where = source_map(text) if any(each.line is None and each.path for each in all_findings) else {}
    if not text.lstrip().startswith(("{", "[")):
        where.pop("", None)  # what stands around the JSON is part of the message
    return tuple(_with_place(each, where, "stdin" if file == "-" else file) for each in all_findings)


def _with_place(finding: "Finding", where: dict[str, tuple[int, int]], file: str) -> "Finding":
    path = finding.path
    while path and path not in where:
        path = path.rpartition("/")[0]
    line, column = where.get(path, (None, None)) if finding.line is None and where else (finding.line, finding.column)
    return finding.model_copy(update={"file": file, "line": line, "column": column})


def report_findings(findings: "Sequence[Finding]") -> None:
    """Say what is wrong with a message, one finding a paragraph."""
    from retinue.cli.output import echo_err, findings_text

    if findings:
        echo_err(findings_text(findings))
