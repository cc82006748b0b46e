"""The baseline of `retinue lint`: findings that are known and accepted, so that only new ones fail.

A finding is known by its file, rule, path and message, and not by its line, so that edits elsewhere in the file do not
bring it back. Two alike count as two.
"""

import json
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from retinue.agents.load.document import read_bytes
from retinue.cli.delivery import deliver
from retinue.contract.finding import Finding
from retinue.contract.json import loads
from retinue.errors import ParseError

if TYPE_CHECKING:
    from collections.abc import Iterable


_KEYS = ("file", "rule", "path", "message")


def read_baseline(path: Path) -> Counter[tuple[str, ...]]:
    """How often each known finding is accepted.

    Raises:
        ParseError: It is no baseline.
        RetinueError: It cannot be read.
    """
    try:
        value = loads(read_bytes(path, max_bytes=64 * 2**20), max_bytes=64 * 2**20)
    except ParseError as error:
        raise ParseError(f"{str(path)!r} is not a baseline: {error.message}", hint=_HINT, path="") from None
    entries = value.get("findings") if isinstance(value, dict) else None
    if not isinstance(entries, list):
        raise ParseError(f"{str(path)!r} is not a baseline: `findings` is missing.", hint=_HINT)
    return Counter(tuple(str(entry.get(key, "")) for key in _KEYS) for entry in entries if isinstance(entry, dict))


_HINT = "Write a new one with `retinue lint PATHS --baseline FILE --update-baseline`."


def write_baseline(path: Path, findings: "Iterable[Finding]") -> None:
    """Accept `findings` from now on.

    Raises:
        AccessDenied: The file cannot be written.
    """
    entries = [dict(zip(_KEYS, _key(finding), strict=True)) for finding in findings]
    deliver(json.dumps({"findings": entries}, indent=1, ensure_ascii=False) + "\n", path)


def new_findings(findings: "Iterable[Finding]", baseline: Counter[tuple[str, ...]]) -> list[Finding]:
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
