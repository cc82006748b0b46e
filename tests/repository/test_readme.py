"""README.md does what it says: every block, in order, in one empty folder.

A command's output is the `text` block behind it: stdout, then stderr. `python -m tests.repository.test_readme` writes what the
commands print now into README.md.
"""

import json
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from tests.cli.shell import environment
from tests.llm.wire.script import Reply
from tests.llm.wire.server import WireServer
from tests.repository.tree import ROOT

README = ROOT / "README.md"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
NAMED = re.compile(r"`([^`\s]+)`:\s*$")
"""The end of the paragraph before a block that is to be saved as a file."""

NOT_RUN: Mapping[str, str] = {
    "pip install .": "installs into the reader's environment; `make` does the same for this one",
    "export ANTHROPIC_API_KEY=...": "the key is in the environment of the commands already",
}


def blocks(page: str) -> Iterator[tuple[str, str, str]]:
    """Each block's kind and text, with the prose before it."""
    found = list(BLOCK.finditer(page))
    starts = [0, *(each.end() for each in found)]
    for start, each in zip(starts, found, strict=False):
        yield each["kind"], each["text"], page[start : each.start()]


def steady(printed: str) -> str:
    """What is printed, without what differs from run to run: durations, ids, and progress, which slow runs tell."""
    printed = re.sub(r"^ +\d+(?:\.\d)? s  .*\n", "", printed, flags=re.MULTILINE)
    printed = re.sub(r"\b\d+(?:\.\d+)? (?:ms|s)\b", "N s", printed)
    return re.sub(r"\brun [0-9a-z]{16}\b", "run ID", printed).strip()


def run(command: str, folder: Path, variables: Mapping[str, str]) -> str:
    """What `command` prints in `folder`, which it may refuse to do with an exit code of its own."""
    ended = subprocess.run(
        ["bash", "-c", command], cwd=folder, env=variables, stdin=subprocess.DEVNULL, capture_output=True, text=True,
        check=False, timeout=120,
    )  # fmt: skip
    assert "Traceback" not in ended.stderr, ended.stderr
    assert ended.returncode != 127, ended.stderr
    return (ended.stdout + ended.stderr).replace(str(folder), "~/project")


def followed(page: str, home: Path, server: WireServer) -> str:
    """Follow `page` to its end, and give it back with what its commands print."""
    folder = home / "project"
    folder.mkdir()
    configuration = home / "config" / "config.toml"
    configuration.parent.mkdir()
    configuration.write_text(f'[models.base_url]\nanthropic = "{server.url}"\n', encoding="utf-8")
    variables = environment(home, ANTHROPIC_API_KEY="x", PYTHONWARNINGS="default")
    variables["PATH"] = f"{Path(sys.executable).parent}{os.pathsep}{variables['PATH']}"
    told: list[str] = []
    for kind, text, prose in blocks(page):
        if kind == "console":
            commands = [line.removeprefix("$ ") for line in text.splitlines()]
            told.append("".join(run(each, folder, variables) for each in commands if each not in NOT_RUN))
        elif named := NAMED.search(prose):
            file = folder / named[1]
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
    printed = iter(told)
    last, console = "", False
    pieces: list[str] = []
    end = 0
    for found in BLOCK.finditer(page):
        pieces.append(page[end : found.start()])
        end = found.end()
        if found["kind"] == "console":
            last = next(printed)
        shown = found["kind"] == "text" and console
        pieces.append(f"```text\n{last.strip()}\n```" if shown else found[0])
        console = found["kind"] == "console"
    return "".join([*pieces, page[end:]])


def answered(_body: object) -> Reply:
    return Reply(json.dumps({"answer": "The door code is 4711."}))


def test_every_block_does_what_is_shown(tmp_path: Path) -> None:
    page = README.read_text(encoding="utf-8")
    with WireServer(answered) as server:
        assert steady(followed(page, tmp_path, server)) == steady(page)
        assert server.asked


def test_every_block_is_a_command_its_output_or_a_file() -> None:
    found = list(blocks(README.read_text(encoding="utf-8")))
    for (before, _, _), (kind, text, prose) in pairwise([("", "", ""), *found]):
        assert kind != "text" or before == "console"
        assert kind in {"text", "console"} or NAMED.search(prose)
        assert kind != "console" or all(line.startswith("$ ") for line in text.splitlines())


def test_what_is_not_run_stands_there() -> None:
    commands = {
        line
        for kind, text, _ in blocks(README.read_text(encoding="utf-8"))
        if kind == "console"
        for line in text.splitlines()
    }
    assert {f"$ {each}" for each in NOT_RUN} <= commands


@pytest.mark.parametrize("line", ["success", "1 agent · 5 ms · run 01m85091paaxcm84"])
def test_a_changed_output_is_seen(line: str) -> None:
    assert steady(line) == steady(line.replace("5 ms", "1.2 s").replace("01m", "02n"))
    assert steady(line) != steady(f"{line} more")


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as there, WireServer(answered) as provider:
        README.write_text(followed(README.read_text(encoding="utf-8"), Path(there), provider), encoding="utf-8")
