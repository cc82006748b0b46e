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
from typing import TYPE_CHECKING, Any, Final, cast

import click

from retinue.cli.exits import Exit
from retinue.cli.options import json_option

if TYPE_CHECKING:
    from collections.abc import Sequence

    from retinue.catalogue.personal_assistant.facade import FacadeCase, Verdict

_LIMIT_S: Final = 120.0
"""Seconds that one prompt may take (B28)."""


@click.group("assistant")
def command() -> None:
    """Show the personal assistant's tools, and test which tools prompts are routed to.

    Ask it with `retinue ask personal_assistant "remind me to call Ada tomorrow"`.
    """


@command.command("domains")
@json_option
def _domains(*, as_json: bool) -> None:
    """List the built-in domains as the router sees them."""
    from retinue.agents.extensions import light_schema
    from retinue.catalogue.personal_assistant import shipped_domains
    from retinue.cli.output import echo, echo_json, safe_lines

    domains = shipped_domains()
    if as_json:
        echo_json([{"name": each.name, "tools": [tool.spec.to_json() for tool in each.tools]} for each in domains])
        return
    echo(safe_lines(light_schema(domains)))


@command.command("test")
@click.argument("cases", required=False, type=click.Path(path_type=Path))
@click.option("--keep-going", "-k", is_flag=True, help="Continue after a process has failed.")
@click.option(
    "--limit", "limit_s", type=float, default=_LIMIT_S, show_default=True, help="Time limit of one prompt, in seconds."
)
@json_option
def _test(*, cases: Path | None, keep_going: bool, limit_s: float, as_json: bool) -> None:
    """Send prompts to the assistant, each in its own process, and check which tool was used.

    CASES is a TOML file of [[case]] tables with `prompt` and `tool`; by default the built-in prompts are used. `pass`
    means that exactly the expected tool was used, `partial` that it was among several. The test stops at the first
    process that fails, unless --keep-going is given. Exits 8 when a prompt failed.
    """
    from retinue.catalogue.personal_assistant.facade import read_cases, shipped_cases
    from retinue.cli.output import echo_err, echo_json

    case_list = shipped_cases() if cases is None else read_cases(cases)
    results: list[_CaseResult] = []
    for number, case in enumerate(case_list, start=1):
        echo_err(f"[{number}/{len(case_list)}] {case.prompt}")
        results.append(_run_case(case, limit_s=limit_s))
        if results[-1].problem and not keep_going:
            break
    if as_json:
        echo_json({"cases": [result.to_json() for result in results], "left_out": len(case_list) - len(results)})
    else:
        _show(results, left_out=len(case_list) - len(results))
    if any(result.verdict == "fail" for result in results) or len(results) < len(case_list):
        sys.exit(Exit.NONCONFORMING)


@dataclass(frozen=True, slots=True)
class _CaseResult:
    """One prompt and what it led to.

    Attributes:
        problem: Why its process gave no answer; empty when it gave one.
    """

    case: "FacadeCase"
    called: "tuple[str, ...]" = ()
    verdict: "Verdict" = "fail"
    problem: str = ""

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        facts = {"prompt": self.case.prompt, "expected": self.case.tool, "called": list(self.called)}
        return {**facts, "verdict": self.verdict, **({"problem": self.problem} if self.problem else {})}


def _run_case(case: "FacadeCase", *, limit_s: float) -> _CaseResult:
    """Ask one prompt in a process of its own, with nothing remembered from before."""
    from retinue.catalogue.personal_assistant.facade import judge

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


def _show(results: "Sequence[_CaseResult]", *, left_out: int) -> None:
    from rich.table import Table
    from rich.text import Text

    from retinue.cli.output import console, echo_err, safe_lines

    table = Table(box=None, pad_edge=False)
    for title in ("verdict", "prompt", "expected", "called"):
        table.add_column(title, overflow="fold")
    colours = {"pass": "green", "partial": "yellow", "fail": "red"}
    for result in results:
        called = result.problem or ", ".join(result.called) or "nothing"
        verdict = Text(result.verdict, style=colours[result.verdict])
        table.add_row(verdict, safe_lines(result.case.prompt), safe_lines(result.case.tool), safe_lines(called))
    console().print(table)
    counts = {word: sum(result.verdict == word for result in results) for word in colours}
    echo_err(
        ", ".join(f"{count} {word}" for word, count in counts.items()) + (f", {left_out} left out" if left_out else "")
    )
