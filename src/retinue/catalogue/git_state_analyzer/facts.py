"""Who has committed here, and which branches and tags there are: what parameters can name."""

import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from retinue.contract.facts import Facts
from retinue.errors import DeadlineExceeded, RetinueError
from retinue.tools.git import Git
from retinue.tools.git.commit_index import CommitIndex
from retinue.tools.workspace import Workspace

__all__ = ["read_facts"]

_NAMES: Final = 2000
"""Most names of a kind."""
_LONGEST: Final = 200
_SECONDS: Final = 2.0


def read_facts(workspace: Workspace, cache_dir: Path | None = None) -> Facts:
    """The authors, branches and tags of the repository that the workspace is in; nothing when it is in none.

    Of a long history that was never read, only those are told who committed what can be read in two seconds.
    """
    end = time.monotonic() + _SECONDS

    def check() -> None:
        if time.monotonic() > end:
            raise DeadlineExceeded("Reading the history took too long.", hint="Ask again.")

    try:
        git = Git(workspace.root, timeout_s=_SECONDS)
        branches, tags = [one.name for one in git.branches()], [one.name for one in git.tags()]
        with CommitIndex(git, cache_dir, check=check) as index:
            cut = index.refresh()
            authors = index.authors(_NAMES + 1)
    except RetinueError as error:
        return Facts(is_complete=not isinstance(error, DeadlineExceeded))
    names = {"author": _harmless(authors), "branch": _harmless(branches), "tag": _with_versions(_harmless(tags))}
    is_whole = not cut and max(map(len, (authors, *names.values()))) <= _NAMES
    return Facts(names={kind: tuple(each[:_NAMES]) for kind, each in names.items()}, is_complete=is_whole)


def _harmless(names: Iterable[str]) -> list[str]:
    """Names that can be said: one with a line break, or with what steers a terminal, is not offered at all."""
    return [
        name
        for name in names
        if name.strip() and name.isprintable() and len(name) <= _LONGEST and "\N{REPLACEMENT CHARACTER}" not in name
    ]


def _with_versions(names: list[str]) -> list[str]:
    """Tags, and behind them the versions that people call them by: `v1.2.0` is 1.2.0, and 1.2 too."""
    bare = [name.removeprefix("v") for name in names if name.removeprefix("v")[:1].isdecimal()]
    short = [name.removesuffix(".0") for name in bare if name.count(".") > 1]
    return list(dict.fromkeys([*names, *bare, *short]))
