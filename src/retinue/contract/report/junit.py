"""JUnit XML: the form of a test report that every build server reads.

There is no standard, only what servers agree on: `testsuites`, `testsuite`, `testcase` and `failure`, with these
attributes. A warning is no failure there; its words go to `system-out`, which servers show beside the case.
"""

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from retinue.contract.sanitize import printable


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
