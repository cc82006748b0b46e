"""The answer that README.md calls an example of `make demo` is what the command says now."""

import re
from pathlib import Path

import pytest

from tests import forkserver
from tests.cli.shell import COMMAND, environment
from tests.repository.tree import ROOT

TRANSCRIPT = ROOT / "docs" / "transcripts" / "retinue-contract.md"
PLACE = re.compile(r"(?<=\(`)[^`]+?(?=:\d+`\))")
"""The file of a passage. Its line moves with every change above it."""


def quoted(printed: str) -> list[str]:
    """The files of the passages that answer the first question, in order."""
    return PLACE.findall(printed.partition("\n## ")[2].partition("\nSources: ")[0])


@pytest.mark.slow
def test_the_example_quotes_what_the_command_quotes(tmp_path: Path) -> None:
    page = TRANSCRIPT.read_text(encoding="utf-8")
    goal = re.search(r'(?<=^\$ retinue run ")[^"]+', page, re.MULTILINE)
    assert goal is not None
    assert f"DEMO_GOAL ?= {goal[0]}\n" in (ROOT / "Makefile").read_text(encoding="utf-8")
    command = [*COMMAND, "run", goal[0]]
    done = forkserver.run(command, cwd=ROOT, env=environment(tmp_path), encoding="utf-8", timeout=120)
    assert done.returncode == 0, done.stderr
    assert quoted(page) == quoted(f"\n{done.stdout}") != []
