"""Documents keep their word: links lead somewhere, examples run, and short pages are short."""

import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

from tests.repository.tree import ROOT, child_environment, text_files

PAGES = [path for path in text_files() if path.suffix == ".md" and "fixtures" not in path.parts]
EXAMPLES = sorted((ROOT / "docs" / "examples").glob("*.py"))

FENCED = re.compile(r"^ {0,3}(?P<fence>`{3,}|~{3,}).*?(?:^ {0,3}(?P=fence)[`~]*[ \t]*$|\Z)", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?P<ticks>`+)(?!`).+?(?<!`)(?P=ticks)(?!`)")
LINK = re.compile(
    r"\[(?:[^\[\]]|\[[^\]]*\])*\]\((?P<target><[^>]*>|[^()\s]*(?:\([^()]*\))?[^()\s]*)(?:\s+\"[^\"]*\")?\)"
)
REFERENCE = re.compile(r"^ {0,3}\[[^\]]+\]:\s*(?P<target>\S+)", re.MULTILINE)
HEADING = re.compile(r"^ {0,3}#{1,6}\s+(?P<text>.*?)\s*#*\s*$", re.MULTILINE)
ANCHOR = re.compile(r"<a\s+(?:id|name)=\"(?P<id>[^\"]+)\"")


def prose(page: str) -> str:
    """A page without its code, in which nothing is a link or a heading."""
    return FENCED.sub("", page)


def links(page: str) -> Iterator[str]:
    text = CODE.sub("", prose(page))
    for pattern in (LINK, REFERENCE):
        yield from (found["target"].strip("<>") for found in pattern.finditer(text))


@cache
def anchors(page: str) -> set[str]:
    """What `#...` may name on a page, by the rule of the forges: lower case, no punctuation, dashes for spaces."""
    found: set[str] = {match["id"] for match in ANCHOR.finditer(page)}
    for heading in HEADING.finditer(prose(page)):
        text = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", heading["text"])
        slug = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        repeats = sum(1 for name in found if re.fullmatch(rf"{re.escape(slug)}(-\d+)?", name))
        found.add(f"{slug}-{repeats}" if repeats else slug)
    return found


def broken(page: Path) -> Iterator[str]:
    for target in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z][a-z0-9+.-]*:", target, re.IGNORECASE):
            continue
        name, _, anchor = target.partition("#")
        there = (page.parent / name).resolve() if name else page
        if not there.is_relative_to(ROOT) or not there.exists():
            yield f"{target}: there is no such file"
        elif anchor and there.suffix == ".md" and anchor not in anchors(there.read_text(encoding="utf-8")):
            yield f"{target}: there is no such heading"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    assert list(broken(page)) == []


def test_a_broken_link_is_caught(tmp_path: Path) -> None:
    page = ROOT / "docs" / "no_such_page.md"
    text = (
        "[a](missing.md) [b](../README.md#no-such-heading) `[c](code.md)`\n\n```\n[d](fence.md)\n```\n\n[e]: gone.md\n"
    )
    assert list(links(text)) == ["missing.md", "../README.md#no-such-heading", "gone.md"]
    (tmp_path / page.name).write_text(text)
    assert [found.partition(":")[0] for found in broken(tmp_path / page.name)] == list(links(text))


def test_anchors_follow_the_forges() -> None:
    page = "# What, why?\n## `run` and [ask](x.md)\n## What why\n```\n# no heading\n```\n"
    assert anchors(page) == {"what-why", "run-and-ask", "what-why-1"}


def test_there_are_examples() -> None:
    assert EXAMPLES


@pytest.mark.slow
@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_every_example_runs(example: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-W", "error", str(example)],
        cwd=tmp_path,
        env=child_environment(NO_COLOR="1"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout


def test_the_page_for_coding_agents_is_short() -> None:
    assert len((ROOT / "AGENTS.md").read_text(encoding="utf-8").splitlines()) < 100


def test_the_changelog_has_a_place_for_the_next_change() -> None:
    assert re.search(r"^## \[?Unreleased\]?", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)
