"""Findings and verdicts as the files that other programs read: JUnit XML for build servers, SARIF for code scanning.

Text made of values; writing it to a file is the business of `cli/`. How people are shown a finding is there too.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote

from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.lint.rules import find_rule
from retinue.contract.sanitize import printable

_SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
_LEVELS: Final[Mapping[Severity, str]] = {"error": "error", "warning": "warning", "info": "note"}
_MAX_BYTES: Final = 2**30
_ARGUMENT: Final = re.compile(r"\{([0-9]+)\}")


def render_sarif(findings: Iterable[Finding], *, version: str) -> str:
    """Write `findings` as one SARIF 2.1.0 log, with what there is to know of every rule that was broken.

    This is how code hosts show findings beside the lines they are about. Columns count code points, as ours do. A
    finding without a line has no region.

    Args:
        findings: What was found, in the order it should be shown.
        version: Of Retinue, as `MAJOR.MINOR.PATCH`.
    """
    everything = tuple(findings)
    rules = {entry.id: entry for entry in (find_rule(finding.rule) for finding in everything) if entry}
    places = {name: index for index, name in enumerate(rules)}
    descriptors: list[JsonValue] = []
    for entry in rules.values():
        descriptor: JsonObject = {
            "id": entry.id,
            "shortDescription": {"text": entry.title},
            "fullDescription": {"text": entry.why},
            "defaultConfiguration": {"level": _LEVELS[entry.severity]},
        }
        if entry.rows:
            descriptor["properties"] = {"tags": list[JsonValue](entry.rows)}
        descriptors.append(descriptor)
    driver: JsonObject = {"name": "retinue", "semanticVersion": version, "rules": descriptors}
    run: JsonObject = {
        "tool": {"driver": driver},
        "columnKind": "unicodeCodePoints",
        "results": [_result(finding, places) for finding in everything],
    }
    log: JsonObject = {"$schema": _SCHEMA, "version": "2.1.0", "runs": [run]}
    return json.dumps(log, max_bytes=_MAX_BYTES) + "\n"


def _result(finding: Finding, places: Mapping[str, int]) -> JsonObject:
    entry = find_rule(finding.rule)
    # Nothing in the text is taken for an argument or for a link (SARIF 2.1.0, 3.11.5 and 3.11.6).
    text = _ARGUMENT.sub(r"{{\1}}", printable(f"{finding.message} {finding.fix}".strip()))
    text = text.replace("[", "\\[").replace("]", "\\]") if "](" in text else text
    result: JsonObject = {
        "ruleId": printable(finding.rule),
        "level": _LEVELS[finding.severity],
        "message": {"text": text},
    }
    if entry:
        result["ruleIndex"] = places[entry.id]
    location: JsonObject = {}
    if finding.file:
        # A relative reference, or a URI when the path is absolute.
        uri = quote(finding.file)
        physical: JsonObject = {"artifactLocation": {"uri": f"file://{uri}" if uri.startswith("/") else uri}}
        if finding.line:
            region: JsonObject = {"startLine": finding.line}
            if finding.column:
                region["startColumn"] = finding.column
            physical["region"] = region
        location["physicalLocation"] = physical
    if finding.path:
        location["logicalLocations"] = [{"fullyQualifiedName": printable(finding.path)}]
    if location:
        result["locations"] = [location]
    return result


@dataclass(frozen=True, slots=True)
class ReportCase:
    """One thing that was checked.

    Attributes:
        name: What it is called; with `group`, no other case of the report should be called so.
        group: What it belongs to, such as a file or a dialect.
        failure: What is wrong, one sentence; None when it passed.
        detail: More lines on it, of a failure or of a warning.
        seconds: How long it took, when that was measured.
    """

    name: str
    group: str
    file: str | None = None
    line: int | None = None
    failure: str | None = None
    detail: str = ""
    seconds: float | None = None


def render_junit(suite: str, cases: Iterable[ReportCase]) -> str:
    """Write `cases` as one suite. The XML is well-formed whatever stands in them."""
    all_cases = tuple(cases)
    measured = [case.seconds for case in all_cases if case.seconds is not None]
    counts = {
        "name": suite,
        "tests": len(all_cases),
        "failures": sum(case.failure is not None for case in all_cases),
        "errors": 0,
        "skipped": 0,
        "time": _seconds(sum(measured)) if measured else None,
    }
    whole = {name: value for name, value in counts.items() if name != "skipped"}
    lines = ['<?xml version="1.0" encoding="UTF-8"?>', _tag("testsuites", whole), "  " + _tag("testsuite", counts)]
    lines += [_case(case) for case in all_cases]
    return "\n".join([*lines, "  </testsuite>", "</testsuites>", ""])


def _case(case: ReportCase) -> str:
    facts = {
        "classname": case.group,
        "name": case.name,
        "file": case.file,
        "line": case.line,
        "time": None if case.seconds is None else _seconds(case.seconds),
    }
    if case.failure is not None:
        inside = f"{_tag('failure', {'message': case.failure})}{_text(case.detail)}</failure>"
    elif case.detail:
        inside = f"<system-out>{_text(case.detail)}</system-out>"
    else:
        return f"    {_tag('testcase', facts, empty=True)}"
    return f"    {_tag('testcase', facts)}\n      {inside}\n    </testcase>"


def _seconds(seconds: float) -> str:
    return f"{seconds:.6f}"


# XML. Written by hand: the standard library's writers pass characters on that no XML reader takes.

_NOT_XML: Final = re.compile("[\ufffe\uffff]")
"""What XML 1.0 forbids beside the controls and surrogates that `printable` has made visible."""
_ENTITIES: Final = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;"})
_IN_QUOTES: Final = str.maketrans({'"': "&quot;", "\n": "&#10;", "\t": "&#9;"})


def _tag(name: str, facts: Mapping[str, object], *, empty: bool = False) -> str:
    attributes = "".join(
        f' {key}="{_text(str(value)).translate(_IN_QUOTES)}"' for key, value in facts.items() if value is not None
    )
    return f"<{name}{attributes}{'/' if empty else ''}>"


def _text(text: str) -> str:
    visible = _NOT_XML.sub(lambda match: f"\\u{{{ord(match[0]):x}}}", printable(text))
    return visible.translate(_ENTITIES)
