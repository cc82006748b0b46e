"""Which files a task is about: those it names, else the one data file of the workspace that fits its words."""

import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final, cast

from retinue.catalogue.data_analyst.vocabulary import singular
from retinue.contract.question import Question
from retinue.contract.task import Task
from retinue.errors import MissingFile
from retinue.tools.data import DATA_SUFFIXES, kind_of
from retinue.tools.tree import IGNORED_FOLDERS, list_files
from retinue.tools.workspace import Workspace

__all__ = ["Chosen", "choose"]

_QUESTION: Final = "file"
_OPTIONS: Final = 24
_TRIED: Final = 8
_LOOKED_AT: Final = 200_000
_PATH: Final = re.compile(r"(?<![\w./@+~-])[\w./@+~-]*\w\.\w[\w.-]*")
_QUOTED: Final = re.compile(r'`([^`]+)`|"([^"]+)"|“([^”]+)”')
_WORD: Final = re.compile(r"[^\W\d_]+")
_PREFERRED: Final = ("csv", "parquet", "log", "jsonl")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files to read, or which there are to choose from.

    Attributes:
        note: That nobody named the file, and why this one was taken.
        is_foreign: Nobody named a file, and the words speak of nothing in any of them.
    """

    paths: tuple[str, ...] = ()
    note: str = ""
    question: Question | None = None
    is_foreign: bool = False


def choose(
    task: Task,
    workspace: Workspace,
    *,
    question: str,
    least: int = 1,
    only: str = "",
    fits: Callable[[str], int | None],
) -> Chosen:
    """The files that `task` is about.

    Args:
        task: Whose files they are.
        workspace: Where they are.
        question: Its words.
        least: How many are needed.
        only: The kind of file that a skill reads; empty for any.
        fits: How many words cannot be read with the columns of a file, or None where no word names anything in it;
            asked when its name does not decide.

    Raises:
        MissingFile: There is no data file at all, or the words name one that is not there.
    """
    named = _named(task, workspace, question)
    if named:
        return Chosen(named)
    there = [entry.path for entry in list_files(workspace).files if _is_data(entry.path, only)]
    if not there:
        raise MissingFile(
            "There is no data file in the workspace.", hint=f"Name a file that ends in {', '.join(DATA_SUFFIXES[:7])}."
        )
    likely = [path for path in there if kind_of(path) in _PREFERRED] or there
    spoken = _spoken_of(likely, question)
    return _by_name(likely, spoken, least, fits) or _by_columns(likely, spoken, least, fits)


def _by_name(
    likely: Sequence[str], spoken: Sequence[str], least: int, fits: Callable[[str], int | None]
) -> Chosen | None:
    """As many files as are needed: those whose names are said, or all there are when the words fit one."""
    if len(spoken) == least:
        return Chosen(
            tuple(spoken), f"No file was named; the words speak of {' and '.join(f'`{path}`' for path in spoken)}."
        )
    if len(likely) != least:
        return None
    if all(fits(path) is None for path in likely):
        return Chosen(is_foreign=True)
    return Chosen(
        tuple(likely), f"No file was named; {' and '.join(f'`{path}`' for path in likely)} is the only data here."
    )


def _by_columns(likely: Sequence[str], spoken: Sequence[str], least: int, fits: Callable[[str], int | None]) -> Chosen:
    """The one file in which most of the words name something; asked when there are several, foreign when none."""
    tried = tuple(spoken or likely)[:_TRIED] if least == 1 else ()
    missed = {path: count for path in tried if (count := fits(path)) is not None}
    fitting = [path for path, count in missed.items() if count == min(missed.values())]
    if len(fitting) == 1:
        return Chosen(tuple(fitting), f"No file was named; `{fitting[0]}` has most of what the words speak of.")
    if tried and not (missed or spoken) and len(likely) == len(tried):
        return Chosen(is_foreign=True)
    options = tuple(fitting or spoken or likely)
    listed = ", ".join(options[:_OPTIONS])
    text = "Which file?" if least == 1 else f"Which {least} files?"
    return Chosen(
        question=Question(
            id=_QUESTION,
            text=f"{text} Available: {listed}{', …' if len(options) > _OPTIONS else ''}.",
            kind="choice",
            options=options[:_OPTIONS],
        )
    )


def _named(task: Task, workspace: Workspace, question: str) -> tuple[str, ...]:
    """What parameters, the target, an earlier answer or the words name."""
    given = task.parameters.get("files")
    found = cast("list[str]", given) if isinstance(given, list) else list[str]()
    if not found and task.target and kind_of(task.target) is not None:
        found = [task.target]
    answered = [line.partition(": ")[2] for line in task.context.constraints if line.startswith(f"{_QUESTION}: ")]
    found = found or answered
    if not found:
        quoted = [match.group(match.lastindex or 0) for match in _QUOTED.finditer(question)]
        said = [path for path in quoted if kind_of(path) is not None and workspace.readable(path)]
        rest = question if not said else _QUOTED.sub(" ", question)
        said += [match.group().rstrip(".") for match in _PATH.finditer(rest)]
        found = [path for path in said if kind_of(path) is not None]
    return tuple(dict.fromkeys(_where(workspace, found)))


def _where(workspace: Workspace, named: Sequence[str]) -> list[str]:
    """The paths of what is `named`: a name that is no path from the root may be a file further down."""
    missing = {path for path in named if not workspace.readable(path)}
    if not missing:
        return list(named)
    listed = [entry.path for entry in list_files(workspace).files]
    below = {path: [one for one in listed if one.rpartition("/")[2] == path] for path in missing}
    if any(not there for there in below.values()):
        # Data is often what git is told to ignore: being named, such a file may be read all the same.
        for path in _ignored(workspace):
            name = path.rpartition("/")[2]
            if name in missing and path not in below[name]:
                below[name].append(path)
    found = list(dict.fromkeys(path for path in named if path not in missing))
    return [*found, *(below[path][0] if len(below[path]) == 1 else path for path in named if path in missing)]


def _ignored(workspace: Workspace) -> Iterator[str]:
    """Files under the root, those too that git ignores; folders of caches and packages are left out."""
    root = str(workspace.root)
    seen = 0
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in IGNORED_FOLDERS)
        seen += len(names)
        if seen > _LOOKED_AT:
            return
        for name in names:
            path = os.path.relpath(os.path.join(folder, name), root).replace(os.sep, "/")  # noqa: PTH118 - as walked
            if kind_of(name) is not None and workspace.readable(path):
                yield path


def _is_data(path: str, only: str) -> bool:
    kind = kind_of(path)
    return kind is not None and (not only or kind == only)


def _spoken_of(paths: Sequence[str], question: str) -> list[str]:
    """Those whose name is a word of the question, in one number or the other."""
    words = {singular(word.casefold()) for word in _WORD.findall(question)}
    found: list[str] = []
    for path in paths:
        stem = path.rpartition("/")[2].partition(".")[0]
        parts = {singular(part.casefold()) for part in _WORD.findall(stem.replace("_", " "))}
        if parts and parts <= words:
            found.append(path)
    return found
