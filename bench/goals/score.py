"""Judges what came of a goal: the plan, what was bound, the facts, false claims, the ending. Pure, but for reading the
repository to see whether a cited line or commit is there.

A fact counts when the answer shows it: in its text, or in the sections it was made of, with their tables. Evidence that
was only looked at does not count.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import permutations
from pathlib import Path
from typing import Any, Final, cast

from bench.goals.goal import Goal, Wanted
from bench.goals.repository import git
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result

__all__ = ["Came", "Score", "Sources", "judge"]

_CITED: Final = re.compile(
    r"(?<![\w/.-])((?:[\w.-]+/)*[\w-][\w.-]*\.(?:py|md|csv|log|jsonl|toml|feature|txt)):(\d+)(?:-(\d+))?"
)
_SHA: Final = re.compile(r"(?<![\w-])(?=[0-9]*[a-f])(?=[a-f]*[0-9])[0-9a-f]{7,40}(?![\w-])")
_MOST_NODES: Final = 6


@dataclass(frozen=True, slots=True)
class Came:
    """What came of one goal.

    Attributes:
        plan: None when there was none because something was raised.
        error: What was raised instead of a plan or a result.
    """

    plan: Plan | None
    result: Result | None
    seconds: float
    error: str = ""

    @property
    def nodes(self) -> Sequence[Delegation]:
        """The nodes of the plan."""
        return self.plan.nodes if self.plan else ()

    @property
    def data(self) -> Mapping[str, Any]:
        """The structured answer; empty when there is none."""
        return cast("Mapping[str, Any]", (self.result and self.result.data) or {})

    @property
    def ending(self) -> str:
        """How the run ended, as the goals call it."""
        if self.result is None:
            return f"raised {self.error}"
        return "input_required" if self.result.lifecycle == "input_required" else str(self.result.outcome)

    @property
    def text(self) -> str:
        """The answer: its text, and the sections with their tables as data; on one line."""
        if self.result is None:
            return ""
        shown = (self.data.get(key) for key in ("answer", "tables", "metrics"))
        return " ".join(" ".join([self.result.content, *(leaf for part in shown for leaf in _leaves(part))]).split())


@dataclass(frozen=True, slots=True)
class Score:
    """One goal, judged.

    Attributes:
        parameters: How many parameters are bound as wanted, and how many are wanted.
        missing: The facts that the answer does not show.
        false: What the answer claims and is not so.
        unsaid: What was not asked, or not said to be unanswered, although it should have been.
    """

    goal: Goal
    came: Came
    plan: bool
    parameters: tuple[int, int]
    missing: tuple[str, ...]
    false: tuple[str, ...]
    outcome: bool
    unsaid: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Everything is as it should be."""
        bound, wanted = self.parameters
        return self.plan and self.outcome and bound == wanted and not (self.missing or self.false or self.unsaid)


class Sources:
    """What can be cited in a repository."""

    def __init__(self, root: Path) -> None:
        self._root = root
        self._commits = git(root, "rev-list", "--all").split()
        self._lines: dict[str, int] = {}

    def false_citations(self, text: str) -> Iterator[str]:
        """Each place and each commit that `text` names and that is not there."""
        for found in _CITED.finditer(text):
            path, *lines = found.groups()
            if self._length(path) < max(int(line) for line in lines if line):
                yield found.group()
        for found in _SHA.finditer(text):
            if not any(commit.startswith(found.group()) for commit in self._commits):
                yield f"commit {found.group()}"

    def _length(self, path: str) -> int:
        """How many lines a file has; none when there is no such file."""
        if path not in self._lines:
            file = self._root / path
            self._lines[path] = len(file.read_bytes().splitlines()) if file.is_file() else -1
        return self._lines[path]


def judge(goal: Goal, came: Came, sources: Sources) -> Score:
    """Hold what came of `goal` against what is expected."""
    text = came.text
    questions = json.dumps([one.to_json() for one in came.result.questions] if came.result else [])
    return Score(
        goal=goal,
        came=came,
        plan=came.plan is not None and any(_matches(wanted, came.nodes) for wanted in goal.plans),
        parameters=max((_bound(wanted, came.nodes) for wanted in goal.plans), key=_share),
        missing=tuple(fact for fact in goal.facts if not re.search(fact, text)),
        false=(
            *(claim for claim in goal.forbidden if re.search(claim, text)),
            *dict.fromkeys(sources.false_citations(text)),
        ),
        outcome=came.ending in goal.outcome,
        unsaid=(
            *(name for name in goal.asks if not re.search(name, questions)),
            *(clause for clause in goal.dropped if not re.search(clause, _not_answered(came))),
        ),
    )


def _leaves(value: object) -> Iterator[str]:
    """The names and values of some data, without its punctuation."""
    if isinstance(value, Mapping):
        for name, inner in cast("Mapping[str, object]", value).items():
            yield name
            yield from _leaves(inner)
    elif isinstance(value, list):
        for inner in cast("list[object]", value):
            yield from _leaves(inner)
    elif value is not None:
        yield str(value)


def _not_answered(came: Came) -> str:
    return json.dumps(came.data.get("not_answered", []), ensure_ascii=False)


def _matches(wanted: Sequence[Wanted], nodes: Sequence[Delegation]) -> bool:
    """Whether the nodes are the wanted ones, whatever they are called, each waiting for exactly what it should."""
    if len(wanted) != len(nodes) or len(nodes) > _MOST_NODES:
        return False
    return any(
        all(
            _who(node) in one.who and set(node.needs) == {order[position].id for position in one.needs}
            for one, node in zip(wanted, order, strict=True)
        )
        for order in permutations(nodes)
    )


def _who(node: Delegation) -> str:
    return f"{node.agent}.{node.skill}"


def _bound(wanted: Sequence[Wanted], nodes: Sequence[Delegation]) -> tuple[int, int]:
    """How many parameters are bound as wanted, at nodes of the same skill, each taken once; and how many are wanted."""
    left = list(nodes)
    bound = 0
    for one in wanted:
        same = [node for node in left if _who(node) in one.who]
        best = max(same, key=lambda node: _bound_at(one, node), default=None)
        if best is not None:
            left.remove(best)
            bound += _bound_at(one, best)
    return bound, sum(len(one.parameters) for one in wanted)


def _bound_at(one: Wanted, node: Delegation) -> int:
    return sum(_same(value, node.parameters.get(name)) for name, value in one.parameters.items())


def _same(wanted: object, value: object) -> bool:
    if isinstance(wanted, str) and wanted.startswith("~"):
        return isinstance(value, str) and re.fullmatch(wanted[1:], value) is not None
    if isinstance(wanted, list) and isinstance(value, list):
        first, second = cast("list[object]", wanted), cast("list[object]", value)
        return sorted(map(str, first)) == sorted(map(str, second))
    return wanted == value


def _share(counts: tuple[int, int]) -> tuple[float, int]:
    bound, wanted = counts
    return (bound / wanted if wanted else 1.0, wanted)
