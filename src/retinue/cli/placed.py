"""What is wrong with a message, each finding with the file, line and column that it is about."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from retinue.contract.finding import Finding
    from retinue.errors import RetinueError

__all__ = ["findings_in", "placed", "tell_findings"]


def findings_in(error: "RetinueError") -> "tuple[Finding, ...]":
    """All that an error says, the error itself when that is all."""
    from retinue.contract.finding import Finding

    told: list[dict[str, Any]] = error.detail.get("findings") or []
    if told:
        return tuple(Finding(**each) for each in told)
    line, column = error.detail.get("line"), error.detail.get("column")
    rule = f"message/{error.detail.get('reason') or error.code}"
    said = Finding(rule=rule, message=error.message, path=error.path, line=line, column=column, fix=error.hint)
    return (said,)


def placed(findings: "Iterable[Finding]", data: bytes, file: str) -> "tuple[Finding, ...]":
    """`findings` with the file, and with line and column where a JSON Pointer leads to one."""
    from retinue.contract.json import places

    found = tuple(findings)
    text = data.decode("utf-8", "replace").removeprefix("\ufeff")
    where = places(text) if any(each.line is None and each.path for each in found) else {}
    if not text.lstrip().startswith(("{", "[")):
        where.pop("", None)  # what stands around the JSON is part of the message
    return tuple(_at(each, where, "stdin" if file == "-" else file) for each in found)


def _at(finding: "Finding", where: dict[str, tuple[int, int]], file: str) -> "Finding":
    path = finding.path
    while path and path not in where:
        path = path.rpartition("/")[0]
    line, column = where.get(path, (None, None)) if finding.line is None and where else (finding.line, finding.column)
    return finding.model_copy(update={"file": file, "line": line, "column": column})


def tell_findings(findings: "Sequence[Finding]") -> None:
    """Say what is wrong with a message, one finding a paragraph."""
    from retinue.cli.output import findings_text, tell

    if findings:
        tell(findings_text(findings))
