"""Makes a repository from texts and a written history: the same bytes and the same commit ids on every machine.

What is in the repositories that the goals ask about stands in `shop`, `weather` and `bench/data/*.txt`; here is only
how they are made.
"""

import os
import re
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

__all__ = ["DATA", "Commit", "Fixture", "at", "git", "plant", "texts"]

DATA: Final = Path(__file__).resolve().parent.parent / "data"


@dataclass(frozen=True, slots=True)
class Fixture:
    """A repository that goals are asked about."""

    name: str
    root: Path
    head: str


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit, as it is written down.

    Attributes:
        day: An ISO day; the hour follows from the place in the history.
        author: The first name; it stands for the whole of it in `people`.
        files: Paths, parted by spaces; `cart.py@40` is the first 40 % of that file's lines.
        branch: Which branch it goes onto.
        begins: The branch on which a new branch begins.
        merges: The branch that it merges; `files` names then what comes from there.
        tag: What it is called from then on.
    """

    day: str
    author: str
    message: str
    files: str = ""
    branch: str = "main"
    begins: str = ""
    merges: str = ""
    tag: str = ""


def texts(name: str) -> dict[str, str]:
    """The files of a bundle of `bench/data`, by their paths: each begins with a line `=== PATH`."""
    whole = (DATA / name).read_text(encoding="utf-8")
    files = (part.partition("\n") for part in re.split(r"^=== ", whole, flags=re.MULTILINE)[1:])
    return {path: text for path, _, text in files}


def plant(
    root: Path, *, name: str, contents: Mapping[str, str], history: Sequence[Commit], people: Mapping[str, str]
) -> Fixture:
    """Make the repository in the empty folder `root`, with `main` checked out."""
    git(root, "init", "--quiet", "--initial-branch=main", "--object-format=sha1")
    marks: dict[str, int] = {}
    stream = b"".join(
        piece
        for number, commit in enumerate(history, start=1)
        for piece in _imported(commit, number=number, contents=contents, people=people, marks=marks)
    )
    git(root, "fast-import", "--quiet", stream=stream)
    git(root, "reset", "--quiet", "--hard")
    return Fixture(name=name, root=root, head=git(root, "rev-parse", "HEAD"))


def at(day: str, second: int = 0) -> datetime:
    """A moment of a day, in UTC."""
    return datetime.fromtimestamp(datetime.fromisoformat(f"{day}T00:00:00+00:00").timestamp() + second, tz=UTC)


def git(root: Path, *arguments: str, stream: bytes = b"") -> str:
    """Run git in `root` with no settings but its own, and give what it printed."""
    clean = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(root), "-c", "core.autocrlf=false", *arguments]
    return subprocess.run(command, env=clean, input=stream, check=True, stdout=subprocess.PIPE).stdout.decode().strip()


def _imported(
    commit: Commit, *, number: int, contents: Mapping[str, str], people: Mapping[str, str], marks: dict[str, int]
) -> Iterator[bytes]:
    """One commit in the form that `git fast-import` reads."""
    seconds = int(at(commit.day, 9 * 3600 + number * 431).timestamp())
    email = people[commit.author].lower().replace(" ", ".") + "@example.org"
    who = f"{people[commit.author]} <{email}> {seconds} +0000"
    yield f"commit refs/heads/{commit.branch}\nmark :{number}\nauthor {who}\ncommitter {who}\n".encode()
    yield _data(commit.message)
    if commit.begins:
        yield f"from :{marks[commit.begins]}\n".encode()
    if commit.merges:
        yield f"merge :{marks[commit.merges]}\n".encode()
    for item in commit.files.split():
        path, _, share = item.partition("@")
        yield f"M 100644 inline {path}\n".encode()
        yield _data(_first(contents[path], int(share or 100)))
    marks[commit.branch] = number
    if commit.tag:
        yield f"reset refs/tags/{commit.tag}\nfrom :{number}\n".encode()
    if commit.merges:
        yield f"reset refs/heads/{commit.merges}\nfrom {'0' * 40}\n".encode()


def _first(text: str, percent: int) -> str:
    lines = text.splitlines(keepends=True)
    return "".join(lines[: max(1, len(lines) * percent // 100)])


def _data(text: str) -> bytes:
    content = text.encode()
    return b"data %d\n%b\n" % (len(content), content)
