"""How good one answer is, by rules: its schema, the values expected in it, the words it must hold.

Each of them is a share from 0 to 1; what a task does not ask for is not scored. What a model thinks of the answer is
the business of `judging`.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.contract import schema
from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.orchestration.comparing_agents.tasks import CompareTask

_RULES: Final = frozenset({"min", "max", "contains", "one_of"})
_FINDINGS: Final = 5
_CLOSE: Final = 1e-9


@dataclass(frozen=True, slots=True)
class Score:
    """How good an answer is. What was not asked for is None.

    Attributes:
        schema: 1 when the data pass the schema, else 0.
        fields: The share of the expected values that are there.
        words: The share of the expected words that the text holds.
        judge: What a model thinks.
        notes: What is missing or wrong, in sentences.
    """

    schema: float | None = None
    fields: float | None = None
    words: float | None = None
    judge: float | None = None
    notes: tuple[str, ...] = ()

    @property
    def quality(self) -> float | None:
        """The mean of what was asked for; None when nothing was."""
        shares = [each for each in (self.schema, self.fields, self.words, self.judge) if each is not None]
        return sum(shares) / len(shares) if shares else None

    def to_json(self) -> JsonMapping:
        """As data; what was not asked for is left out."""
        parts = {"schema": self.schema, "fields": self.fields, "words": self.words, "judge": self.judge}
        facts: JsonMapping = {name: value for name, value in parts.items() if value is not None}
        if self.quality is not None:
            facts["quality"] = self.quality
        return facts | ({"notes": list(self.notes)} if self.notes else {})


def score(task: CompareTask, result: Result, *, judging: bool = False) -> Score:
    """How good `result` is for `task`. One that brought nothing is worth nothing in all that is asked for.

    Args:
        task: What was asked.
        result: What came.
        judging: A model judges answers against the rubric: then one that never came has its judgement, too.
    """
    if not result.useful:
        why = f"`{result.fault.code}`: {result.fault.message}" if result.fault else "It brought no answer."
        return Score(
            schema=None if task.answer_schema is None else 0.0,
            fields=0.0 if task.expect else None,
            words=0.0 if task.contains else None,
            judge=0.0 if task.rubric and judging else None,
            notes=(why,),
        )
    notes: list[str] = []
    passed = None if task.answer_schema is None else _passes(task.answer_schema, result.data, notes)
    wrong = list(_wrong(task.expect, result.data))
    fields = 1 - len(wrong) / len(task.expect) if task.expect else None
    missing = [each for each in task.contains if each.casefold() not in result.content.casefold()]
    words = 1 - len(missing) / len(task.contains) if task.contains else None
    notes += [*wrong, *(f"The text does not hold {each!r}." for each in missing)]
    return Score(schema=passed, fields=fields, words=words, notes=tuple(notes))


def _passes(answer_schema: JsonMapping, data: object, notes: list[str]) -> float:
    findings = schema.compile(answer_schema).findings(data, bounded=True)
    notes += [f"`{each.path or '/'}`: {each.message}" for each in findings[:_FINDINGS]]
    return 0.0 if findings else 1.0


def _wrong(expect: JsonMapping, data: object) -> Iterator[str]:
    """A sentence for each expected value that is not there."""
    for place, expected in expect.items():
        there, value = _at(data, place)
        if not there:
            yield f"`{place}` is not there."
        elif not _fits(value, expected):
            yield f"`{place}` is {str(value)[:80]!r}, and {str(expected)[:80]} was expected."


def _at(data: object, place: str) -> tuple[bool, object]:
    """Whether there is something at `place` of `data`, and what."""
    steps = place[1:].split("/") if place.startswith("/") else place.split(".")
    for step in steps:
        if isinstance(data, dict) and step in (members := cast("dict[str, Any]", data)):
            data = members[step]
        elif isinstance(data, list) and re.fullmatch(r"[0-9]{1,6}", step) and int(step) < len(cast("list[Any]", data)):
            data = cast("list[Any]", data)[int(step)]
        else:
            return False, None
    return True, data


def _fits(value: object, expected: object) -> bool:
    rules = cast("dict[str, Any]", expected) if isinstance(expected, dict) else {}
    if rules and set(rules) <= _RULES:
        return all(_rule_fits(name, value, rule) for name, rule in rules.items())
    return _equals(value, cast("object", expected))


def _equals(value: object, expected: object) -> bool:
    if _is_number(value) and _is_number(expected):
        one, other = cast("float", value), cast("float", expected)
        return abs(one - other) <= _CLOSE * max(1.0, abs(one), abs(other))
    return type(value) is type(expected) and value == expected


def _rule_fits(name: str, value: object, rule: object) -> bool:
    match name:
        case "contains":
            if isinstance(value, list):
                return rule in cast("list[object]", value)
            return str(rule).casefold() in str(value).casefold()
        case "one_of":
            return isinstance(rule, list) and any(_fits(value, each) for each in cast("list[object]", rule))
        case _:
            if not (_is_number(value) and _is_number(rule)):
                return False
            number, bound = cast("float", value), cast("float", rule)
            return number >= bound if name == "min" else number <= bound


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
