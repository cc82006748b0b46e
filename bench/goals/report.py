"""The scores as rows of the table, by kind, and goal by goal for those who want to mend something."""

import statistics
from collections.abc import Iterator, Sequence
from typing import Final

from bench.goals.goal import Half, Wanted
from bench.goals.score import Score
from bench.table import Row
from retinue.contract.plan import Delegation

__all__ = ["by_kind", "failures", "rows"]

_CALLED: Final = {"dev": "goals", "held": "held-out goals"}
_ANSWER_CHARS: Final = 400


def rows(half: Half, scores: Sequence[Score]) -> list[Row]:
    """What the table says of one half."""
    name, count = _CALLED[half], len(scores)
    bound, wanted = (sum(numbers) for numbers in zip(*(score.parameters for score in scores), strict=True))
    facts = sum(len(score.goal.facts) for score in scores)
    shown = facts - sum(len(score.missing) for score in scores)
    return [
        _share(f"{name}: exact plan", sum(score.plan for score in scores), count, goal=0.8),
        _share(f"{name}: parameters bound as said", bound, wanted, goal=0.8),
        _share(f"{name}: facts in the answer", shown, facts, goal=0.75),
        Row(f"{name}: false claims", sum(len(score.false) for score in scores), "claims", goal=0),
        _share(f"{name}: right outcome", sum(score.outcome for score in scores), count),
        _share(f"{name}: right in everything", sum(score.right for score in scores), count),
        Row(f"{name}: one answer", statistics.median(score.came.seconds for score in scores) * 1e3, "ms"),
    ]


def by_kind(scores: Sequence[Score]) -> str:
    """A Markdown table with one row a kind."""
    lines = ["| kind | goals | plan | parameters | facts | false | outcome | all right |"]
    lines.append("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |")
    for kind in dict.fromkeys(score.goal.kind for score in scores):
        same = [score for score in scores if score.goal.kind == kind]
        facts = sum(len(score.goal.facts) for score in same)
        cells = (
            kind,
            len(same),
            sum(score.plan for score in same),
            f"{sum(score.parameters[0] for score in same)}/{sum(score.parameters[1] for score in same)}",
            f"{facts - sum(len(score.missing) for score in same)}/{facts}",
            sum(len(score.false) for score in same),
            sum(score.outcome for score in same),
            sum(score.right for score in same),
        )
        lines.append(f"| {' | '.join(map(str, cells))} |")
    return "\n".join(lines)


def failures(scores: Sequence[Score]) -> str:
    """Each goal that is not right in everything: what was expected, and what came."""
    return "\n\n".join("\n".join(_failure(score)) for score in scores if not score.right)


def _failure(score: Score) -> Iterator[str]:
    goal, came = score.goal, score.came
    bound, wanted = score.parameters
    yield f"{goal.id} ({goal.repo}, {goal.kind}): {goal.goal}"
    if not score.plan or bound < wanted:
        yield f"  {'plan' if not score.plan else 'parameters'} wanted: {_wanted(goal.plans[0])}" + (
            f"  (or {len(goal.plans) - 1} more)" if len(goal.plans) > 1 else ""
        )
        dropped = came.plan.dropped if came.plan else ()
        yield f"  came: {'; '.join(map(_node, came.nodes)) or 'nobody'}" + "".join(
            f"; dropped {one.clause!r}: {one.reason}" for one in dropped
        )
    if not score.outcome:
        yield f"  outcome wanted: {' or '.join(goal.outcome)}; came: {came.ending}"
    for label, found in (("missing", score.missing), ("false", score.false), ("not said", score.unsaid)):
        if found:
            yield f"  {label}: {', '.join(map(repr, found))}"
    if came.result is not None:
        yield f"  answer: {' '.join(came.result.content.split())[:_ANSWER_CHARS]}"
        if came.result.questions:
            yield f"  asked: {' / '.join(f'{one.text} {list(one.options)}' for one in came.result.questions)}"


def _wanted(plan: Sequence[Wanted]) -> str:
    return (
        "; ".join(
            f"{number}: {' or '.join(one.who)}{_extra(one.parameters)}{_needs(one.needs)}"
            for number, one in enumerate(plan)
        )
        or "nobody"
    )


def _node(node: Delegation) -> str:
    given = {binding.parameter: binding.value for binding in node.bindings if binding.how != "default"}
    spoken = {name: value for name, value in given.items() if value != node.instruction}
    return f"{node.id}: {node.agent}.{node.skill}{_extra(spoken)}{_needs(node.needs)}"


def _extra(parameters: object) -> str:
    return f" {parameters}" if parameters else ""


def _needs(needs: Sequence[object]) -> str:
    return f" needs {list(needs)}" if needs else ""


def _share(name: str, right: int, count: int, *, goal: float | None = None) -> Row:
    share = right / count if count else 1.0
    return Row(name, share, "share", goal, at_least=True, note=f"{right} of {count}")
