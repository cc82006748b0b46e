"""Runs every probe on every subject, each in a process of its own, and puts into words what was seen."""

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.peers.environments import Subject, python_of, variables

__all__ = ["PROBES", "Seen", "observe", "table"]

Seen = Mapping[str, Any]
"""What a probe saw, by the names that the scripts in `subjects/` give; `hangs` when it did not end."""

_SCRIPTS: Final = Path(__file__).parent / "subjects"
_PATIENCE_S: Final = 8.0
"""More than any probe needs that ends at all, and less than a branch that hangs."""


def _branches(seen: Seen) -> str:
    if "error" in seen:
        return f"**whole run lost** ({seen['error']})"
    if not seen.get("kept"):
        return "runs on without the good branch's result"
    return "keeps the rest, says what is missing" if seen.get("missing_said") else "keeps the rest"


def _input(seen: Seen) -> str:
    if "error" in seen:
        return f"refuses: {seen['error']}"
    return f"calls the function with `{seen['got']}`"


def _correction(seen: Seen) -> str:
    calls = f"{seen['calls']} calls" if "calls" in seen else "1 call"
    if "error" in seen:
        return f"**run lost** ({seen['error']})"
    return f"asks again: the good answer after {calls}" if seen.get("calls", 1) > 1 else "passes the bad answer on"


def _never_right(seen: Seen) -> str:
    if "error" not in seen:
        return "passes the bad answer on"
    if "faults" not in seen:
        return f"**run lost** ({seen['error']})"
    kept = ", last answer kept" if seen.get("last_kept") else ""
    return f"gives up after {seen['calls']} calls, {seen['faults']} faults listed{kept}"


def _time(seen: Seen) -> str:
    told = f" ({seen['told']})" if seen.get("told") else ""
    return f"{_branches(seen)} after {seen['seconds']:g} s{told}"


PROBES: Final[Mapping[str, tuple[str, Callable[[Seen], str]]]] = {
    "two_down": ("two of three parallel branches are down", _branches),
    "text_for_integer": ('`"1"` for an integer', _input),
    "unknown_field": ("an unknown field", _input),
    "bad_then_good": ("a bad answer, then a good one", _correction),
    "always_bad": ("always a bad answer", _never_right),
    "hangs": ("a branch hangs beside a good one; limit 0.5 s where there is one", _time),
    "blocks": ("a branch blocks the event loop for 2 s", _time),
    "join_error": ("an error in the join", _branches),
}
"""What is probed: in words, and how what was seen is told."""


def observe(subjects: Sequence[Subject]) -> dict[str, dict[str, Seen]]:
    """What was seen, by probe and by the subject's name."""
    found: dict[str, dict[str, Seen]] = {}
    for probe, (title, _) in PROBES.items():
        print(f"probing: {title} …", file=sys.stderr, flush=True)
        found[probe] = {subject.name: _probe(subject, probe) for subject in subjects}
    return found


def table(found: Mapping[str, Mapping[str, Seen]], subjects: Sequence[Subject]) -> str:
    """What was seen as a Markdown table: one row a probe, one column a subject."""
    names = [subject.name for subject in subjects]
    lines = [f"| | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for probe, (title, tell) in PROBES.items():
        cells = [_told(found[probe][name], tell) for name in names]
        lines.append(f"| {title} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _told(seen: Seen, tell: Callable[[Seen], str]) -> str:
    if seen.get("hangs"):
        return f"**hangs**: no end after {_PATIENCE_S:g} s"
    if seen.get("broken"):
        return f"the probe itself failed ({seen['broken']})"
    return tell(seen).replace("|", "\\|").replace("<", "&lt;")


def _probe(subject: Subject, probe: str) -> Seen:
    command = [python_of(subject), _SCRIPTS / f"{subject.module}.py", probe]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=variables(),
            timeout=_PATIENCE_S,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return {"hangs": True}
    lines = done.stdout.strip().splitlines()
    return json.loads(lines[-1]) if lines else {"broken": done.stderr.strip().splitlines()[-1:]}
