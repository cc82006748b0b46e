"""Makes the repository that `bench.goal` asks about: any number of files of about 10 kB, and a history.

    python -m bench.tree FOLDER [FILES]

The same number of files and the same seed give the same bytes and the same commit ids. Nearly all of it is made up by
chance; what the scheduler does when a job fails, and who changed it last, is written here, so that an answer can be
judged.
"""

import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench.prose import SUBSYSTEMS, Chance, module, module_name, module_of_tests, page

__all__ = ["PEOPLE", "Tree", "path_names", "plant", "text_of"]

_SEED: Final = "orchard"
_BEGIN: Final = 1_735_722_000  # 2025-01-01T09:00:00Z
_BETWEEN_S: Final = 3 * 3600 + 7
PEOPLE: Final = ("Ana Ruiz", "Ben Okafor", "Chloe Martin", "Dai Nguyen", "Edda Lind", "Farid Aziz")
"""Who made all commits but one."""
_AUTHOR: Final = "Noor Haddad"
_SUBJECT: Final = "fix(scheduler): double the wait before each further try"
_RETRY: Final = "src/orchard/scheduler/retry.py"

_WRITTEN: Final = {
    "README.md": """\
# Orchard

Orchard moves orders from the shop to the door. Each folder below `src/orchard` is one part of it, described below
`docs` under the same name.
""",
    "docs/scheduler/retries.md": """\
# Retries in the scheduler

The retry policy of the scheduler is the same for every job: a job that failed is tried again up to five times, and
each wait is twice as long as the one before, from 400 milliseconds to at most 30 seconds.

A job that was refused is not tried again, because it would be refused again. After the last try the job is put on
the shelf of dead jobs, from where only a person takes it back.
""",
    _RETRY: '''\
"""The retry policy of the scheduler: when a job that failed is tried again."""

ATTEMPTS = 5
FIRST_WAIT_S = 0.4
LONGEST_WAIT_S = 30.0


class Refused(Exception):
    """The job can never succeed, so it is not tried again."""


def may_retry(attempt: int, error: Exception) -> bool:
    """Whether the scheduler tries a job again: up to five times, and never when it was refused."""
    return attempt < ATTEMPTS and not isinstance(error, Refused)


def wait_before(attempt: int) -> float:
    """The seconds before the try numbered `attempt`: twice the wait before, from 0.4 to at most 30 seconds."""
    return min(FIRST_WAIT_S * 2 ** (attempt - 1), LONGEST_WAIT_S)
''',
}


@dataclass(frozen=True, slots=True)
class Tree:
    """A planted tree.

    Attributes:
        size: All files together, in bytes.
        head: The id of the last commit.
        latest: The id of the last commit that changed the scheduler.
        author: Who made that commit.
    """

    root: Path
    files: int
    size: int
    commits: int
    head: str
    latest: str
    author: str = _AUTHOR


@dataclass(frozen=True, slots=True)
class _Commit:
    """One commit of the history: files that are new in it, some still unfinished, and files that it finishes."""

    number: int
    author: str
    message: str
    changes: Sequence[tuple[str, bool]]


def plant(root: Path, *, files: int) -> Tree:
    """Make a repository with `files` files in the empty folder `root`, with one commit for five files.

    Raises:
        ValueError: There are fewer than 50 files, too few for a history.
    """
    if files < 50:
        raise ValueError(f"a tree has at least 50 files, not {files}")
    _git(root, "init", "--quiet", "--initial-branch=main", "--object-format=sha1")
    history = _history(path_names(files), commits=files // 5)
    _git(root, "fast-import", "--quiet", stream=(piece for commit in history for piece in _imported(commit)))
    _git(root, "reset", "--quiet", "--hard")
    size = _aged(root)
    _git(root, "update-index", "--refresh")
    return Tree(
        root=root,
        files=files,
        size=size,
        commits=len(history),
        head=_git(root, "rev-parse", "HEAD"),
        latest=_git(root, "log", "-1", "--format=%H", "--", ":(glob)**/scheduler/**"),
    )


def path_names(count: int) -> list[str]:
    """The paths of all files."""
    chance = Chance(f"{_SEED}/paths")
    found = dict.fromkeys(_WRITTEN)
    while len(found) < count:
        part, name = chance.one(SUBSYSTEMS), module_name(Chance(f"{_SEED}/{len(found)}"))
        form = chance.one(("src/orchard/{}/{}.py",) * 5 + ("tests/{}/test_{}.py",) * 2 + ("docs/{}/{}.md",) * 3)
        path = form.format(part, name)
        found[path if path not in found else form.format(part, f"{name}_{len(found)}")] = None
    return list(found)


def text_of(path: str) -> str:
    """What is in the file at `path`; a made-up one holds 10 kB on average."""
    if path in _WRITTEN:
        return _WRITTEN[path]
    chance = Chance(f"{_SEED}/{path}")
    make = {"src": module, "tests": module_of_tests, "docs": page}[path.partition("/")[0]]
    return make(chance, Path(path).parent.name, size=2_400 + chance.below(14_000))


def _history(paths: Sequence[str], *, commits: int) -> list[_Commit]:
    """Files come five at a time; every third is finished only later; the scheduler is changed last by one person."""
    chance = Chance(f"{_SEED}/history")
    changes: list[list[tuple[str, bool]]] = [[] for _ in range(commits)]
    last = commits * 9 // 10
    for number, path in enumerate(sorted(paths, key=lambda path: ("/scheduler/" not in path, chance.below(1 << 30)))):
        born = number * commits // len(paths)
        ours = "/scheduler/" in path
        later = last if path == _RETRY else born + 1 + chance.below(commits - born)
        unfinished = path == _RETRY or (number % 3 == 0 and not ours and later < commits)
        changes[born].append((path, not unfinished))
        if unfinished:
            changes[later].append((path, True))
    return [
        _Commit(number, _AUTHOR, _SUBJECT, changed)
        if number == last
        else _Commit(number, chance.one(PEOPLE), _message(chance, changed[0][0]), changed)
        for number, changed in enumerate(changes)
    ]


def _message(chance: Chance, path: str) -> str:
    part = Path(path).parent.name or "orchard"
    return chance.filled(f"{chance.one(('feat', 'fix', 'refactor', 'docs'))}({part}): {{v}} the {{a}} {{n}}")


def _imported(commit: _Commit) -> Iterator[bytes]:
    """One commit in the form that `git fast-import` reads."""
    email = commit.author.lower().replace(" ", ".") + "@orchard.example"
    who = f"{commit.author} <{email}> {_BEGIN + commit.number * _BETWEEN_S} +0000"
    yield f"commit refs/heads/main\nauthor {who}\ncommitter {who}\n".encode()
    yield _data(commit.message)
    for path, whole in commit.changes:
        text = text_of(path)
        yield f"M 100644 inline {path}\n".encode()
        yield _data(text if whole else text[: text.rindex("\n\n") + 1])


def _data(text: str) -> bytes:
    content = text.encode()
    return b"data %d\n%b\n" % (len(content), content)


def _aged(root: Path) -> int:
    """Date all files back, as in any tree that was not made this moment, and give their size."""
    size = 0
    for folder, folders, names in os.walk(root):
        folders[:] = [name for name in folders if name != ".git"]
        for name in names:
            path = Path(folder, name)
            os.utime(path, (_BEGIN, _BEGIN))
            size += path.stat().st_size
    return size


def _git(root: Path, *arguments: str, stream: Iterable[bytes] = ()) -> str:
    """Run git in `root` with no settings but its own, and give what it printed."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("GIT_")}
    clean |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1"}
    command = ["git", "-C", str(root), "-c", "core.autocrlf=false", *arguments]
    with subprocess.Popen(command, env=clean, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        for piece in stream:
            process.stdin.write(piece)
        process.stdin.close()
        printed = process.stdout.read().decode()
    if process.returncode:
        raise subprocess.CalledProcessError(process.returncode, command)
    return printed.strip()


if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    print(plant(folder, files=int(sys.argv[2]) if len(sys.argv) > 2 else 1_000))
