"""Which files a task is about: those it names, else the one data file of the workspace that fits its words."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, cast

from retinue.catalogue.data_analyst.vocabulary import singular
from retinue.contract.question import Question
from retinue.contract.task import Task
from retinue.errors import MissingFile
from retinue.tools.data import DATA_SUFFIXES, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

__all__ = ["Chosen", "choose"]

_QUESTION: Final = "file"
_OPTIONS: Final = 24
_PATH: Final = re.compile(r"[\w./@+~-]*\w\.\w[\w.-]*")
_WORD: Final = re.compile(r"[^\W\d_]+")
_PREFERRED: Final = ("csv", "parquet", "log", "jsonl")


@dataclass(frozen=True, slots=True)
class Chosen:
    """The files to read, or which there are to choose from.

    Attributes:
        note: That nobody named the file, and why this one was taken.
    """

    paths: tuple[str, ...] = ()
    note: str = ""
    question: Question | None = None


def choose(
    task: Task, workspace: Workspace, *, question: str, least: int = 1, only: str = "", fits: Callable[[str], bool]
) -> Chosen:
    """The files that `task` is about.

    Args:
        task: Whose files they are.
        workspace: Where they are.
        question: Its words.
        least: How many are needed.
        only: The kind of file that a skill reads; empty for any.
        fits: Whether the words can be read with the columns of a file; asked when the name does not decide.

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
    if len(likely) == least:
        return Chosen(
            tuple(likely), f"No file was named; {' and '.join(f'`{path}`' for path in likely)} is the only data here."
        )
    spoken = _spoken_of(likely, question)
    if len(spoken) == least:
        return Chosen(
            tuple(spoken), f"No file was named; the words speak of {' and '.join(f'`{path}`' for path in spoken)}."
        )
    fitting = [path for path in (spoken or likely)[:8] if fits(path)] if least == 1 else []
    if len(fitting) == 1:
        return Chosen(tuple(fitting), f"No file was named; only `{fitting[0]}` has what the words speak of.")
    options = tuple(spoken or likely)
    listed = ", ".join(options[:_OPTIONS])
    text = "Which file?" if least == 1 else f"Which {least} files?"
    return Chosen(
        question=Question(
            id=_QUESTION,
            text=f"{text} There is: {listed}{', …' if len(options) > _OPTIONS else ''}.",
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
        said = [match.group().rstrip(".") for match in _PATH.finditer(question)]
        data = [path for path in said if kind_of(path) is not None]
        there = [path for path in data if workspace.readable(path)]
        # A name that is no path from the root may be a file further down.
        missing = [path for path in data if path not in there]
        if missing:
            everywhere = [entry.path for entry in list_files(workspace).files]
            for path in missing:
                below = [one for one in everywhere if one.rpartition("/")[2] == path]
                there += below if len(below) == 1 else [path]
        found = there
    return tuple(dict.fromkeys(found))


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
