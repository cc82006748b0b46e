"""`retinue assistant`: what the personal assistant can do, and the facade test of its tools (B27, B28).

To ask it something, use `retinue ask personal_assistant "…"`.
"""

import json
import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import click

from retinue.agents.extensions import light_schema
from retinue.catalogue.personal_assistant import shipped_domains
from retinue.catalogue.personal_assistant.facade import FacadeCase, Verdict, judge, read_cases, shipped_cases
from retinue.cli.app import Exit
from retinue.cli.output import echo, echo_err, echo_json, safe, safe_lines


def list_domains(*, as_json: bool) -> None:
    """List the built-in domains as the router sees them."""
    domains = shipped_domains()
    if as_json:
        echo_json([{"name": each.name, "tools": [tool.spec.to_json() for tool in each.tools]} for each in domains])
        return
    echo(safe_lines(light_schema(domains)))


def check_routing(*, cases: Path | None, keep_going: bool, limit_s: float, as_json: bool) -> int:
    """Send prompts to the assistant, each in its own process, and check which tool was used."""
    case_list = shipped_cases() if cases is None else read_cases(cases)
    results: list[_CaseResult] = []
    for number, case in enumerate(case_list, start=1):
        echo_err(f"[{number}/{len(case_list)}] {case.prompt}")
        results.append(_run_case(case, limit_s=limit_s))
        if results[-1].problem and not keep_going:
            break
    left_out = len(case_list) - len(results)
    if as_json:
        echo_json({"cases": [result.to_json() for result in results], "left_out": left_out})
    else:
        colours = {"pass": "green", "partial": "yellow", "fail": "red"}
        for result in results:
            called = result.problem or ", ".join(result.called) or "nothing"
            verdict = click.style(f"{result.verdict:<7}", fg=colours[result.verdict])
            echo(f"{verdict}  {safe(result.case.prompt)}: expected {safe(result.case.tool)}, called {safe(called)}")
        counts = [f"{sum(result.verdict == word for result in results)} {word}" for word in colours]
        counts += [f"{left_out} left out"] if left_out else []
        echo_err(", ".join(counts))
    if any(result.verdict == "fail" for result in results) or left_out:
        return Exit.NONCONFORMING
    return Exit.OK


@dataclass(frozen=True, slots=True)
class _CaseResult:
    """One prompt and what it led to.

    Attributes:
        problem: Why its process gave no answer; empty when it gave one.
    """

    case: FacadeCase
    called: tuple[str, ...] = ()
    verdict: Verdict = "fail"
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        facts = {"prompt": self.case.prompt, "expected": self.case.tool, "called": list(self.called)}
        return {**facts, "verdict": self.verdict, **({"problem": self.problem} if self.problem else {})}


def _run_case(case: FacadeCase, *, limit_s: float) -> _CaseResult:
    """Ask one prompt in a process of its own, with nothing remembered from before."""
    # Without -P, a `retinue.py` in the folder where the user stands would be run instead of ours.
    command_line = [sys.executable, "-P", "-m", "retinue", "ask", "personal_assistant", case.prompt, "--json"]
    with tempfile.TemporaryDirectory(prefix="retinue-facade-") as folder:
        try:
            # S603: our own program, by an argument vector.
            process = subprocess.run(  # noqa: S603
                command_line,
                env={**os.environ, "RETINUE_STATE_DIR": folder},
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=limit_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return _CaseResult(case, problem=f"It took more than {limit_s:g} s.")
    try:
        answer = cast("dict[str, Any]", json.loads(process.stdout))
    except ValueError:
        return _CaseResult(case, problem=f"It exited with {process.returncode}: {process.stderr.strip()[-300:]}")
    called = tuple(str(trace.get("tool")) for trace in cast("list[dict[str, Any]]", answer.get("traces") or []))
    answered = called or process.returncode in {Exit.OK, Exit.QUESTION}  # to ask back is an answer, too
    problem = "" if answered else f"It exited with {process.returncode}."
    return _CaseResult(case, called, judge(case.tool, called), problem)
