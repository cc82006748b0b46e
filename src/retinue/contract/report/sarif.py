"""SARIF 2.1.0: the form in which code hosts show findings beside the lines they are about.

One run of one tool. Columns count code points, as ours do. Nothing is said that was not found: a finding without a
line has no region.
"""

import re
from collections.abc import Iterable, Mapping
from typing import Final

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.lint.rules import LintRule, find_rule
from retinue.contract.sanitize import printable

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_MAX_BYTES: Final = 2**30
_UNRESERVED: Final = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~/")


def render_sarif(findings: Iterable[Finding], *, version: str) -> str:
    """Write `findings` as one SARIF log, with what there is to know of every rule that was broken.

    Args:
        findings: What was found, in the order it should be shown.
        version: Of Retinue, as `MAJOR.MINOR.PATCH`.
    """
    everything = tuple(findings)
    rules = {entry.id: entry for entry in (find_rule(finding.rule) for finding in everything) if entry}
    places = {name: index for index, name in enumerate(rules)}
    driver: JsonObject = {
        "name": "retinue",
        "semanticVersion": version,
        "rules": [_descriptor(each) for each in rules.values()],
    }
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places) for finding in everything],
    }
    log: JsonObject = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, max_bytes=_MAX_BYTES) + "\n"


def _descriptor(entry: LintRule) -> JsonObject:
    descriptor: JsonObject = {
        "id": entry.id,
        "shortDescription": {"text": entry.title},
        "fullDescription": {"text": entry.why},
        "defaultConfiguration": {"level": _LEVELS[entry.severity]},
    }
    if entry.rows:
        descriptor["properties"] = {"tags": list[JsonValue](entry.rows)}
    return descriptor


def _result(finding: Finding, places: Mapping[str, int]) -> JsonObject:
    entry = find_rule(finding.rule)
    text = f"{finding.message} {finding.fix}".strip()
    result: JsonObject = {
        "ruleId": printable(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": _message(text)},
    }
    if entry:
        result["ruleIndex"] = places[entry.id]
    if location := _location(finding):
        result["locations"] = [location]
    return result


def _location(finding: Finding) -> JsonObject:
    location: JsonObject = {}
    if finding.file:
        physical: JsonObject = {"artifactLocation": {"uri": _uri(finding.file)}}
        if finding.line:
            region: JsonObject = {"startLine": finding.line}
            if finding.column:
                region["startColumn"] = finding.column
            physical["region"] = region
        location["physicalLocation"] = physical
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.path)}]
    return location


def _uri(file: str) -> str:
    """`file` as a relative reference, or as a URI when it is absolute."""
    encoded = "".join(chr(byte) if byte in _UNRESERVED else f"%{byte:02X}" for byte in file.encode())
    return f"file://{encoded}" if encoded.startswith("/") else encoded


_ARGUMENT: Final = re.compile(r"\{([0-9]+)\}")


def _message(text: str) -> str:
    """`text` as a message: nothing in it is taken for an argument or for a link (SARIF 2.1.0, 3.11.5 and 3.11.6)."""
    escaped = _ARGUMENT.sub(r"{{\1}}", printable(text))
    return escaped.replace("[", "\\[").replace("]", "\\]") if "](" in escaped else escaped
