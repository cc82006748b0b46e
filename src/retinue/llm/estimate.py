"""What a request will take, as ranges with the assumptions behind them (A17, C19). Its model is settled before.

What comes in is counted; what goes out is taken from past runs of the same agent with the same model once there are
enough of them, else from the schema of the answer. Nothing here is a constant of anybody's document: where neither a
past run nor a bound is known the figure is absent.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final, Protocol, cast

from retinue.contract.definition import ThinkingBounds
from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.tokens import get_counter

MIN_SAMPLES: Final = 5
"""Past calls from which on they are believed."""

_TURNS: Final = 8
"""Requests in one conversation with tools, at most, where nothing bounds them closer."""

_DEEP: Final = 12
_CHARACTERS: Final = 3
"""Characters of bounded text in a token, at least."""


class PriceOf(Protocol):
    """Says what a call costs."""

    def __call__(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars for a call of this size; None when the price is not known."""
        ...


@dataclass(frozen=True, slots=True)
class Range:
    """From here to there, both included."""

    low: float
    high: float

    def __add__(self, other: "Range") -> "Range":
        return Range(self.low + other.low, self.high + other.high)


@dataclass(frozen=True, slots=True)
class PastCall:
    """What one earlier call of the same agent took. What nobody measured is None."""

    model: str | None = None
    tokens_in: int | None = None
    tokens_out: int | None = None
    seconds: float | None = None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What something will take. What cannot be known is None.

    Attributes:
        tokens_in: What models will read.
        tokens_out: What models will write.
        usd: Money, in US dollars.
        seconds: Time.
        assumptions: What the figures rest on, in sentences.
    """

    tokens_in: Range | None = None
    tokens_out: Range | None = None
    usd: Range | None = None
    seconds: Range | None = None
    assumptions: tuple[str, ...] = ()

    @property
    def tokens(self) -> Range | None:
        """In and out together."""
        return self.tokens_in + self.tokens_out if self.tokens_in and self.tokens_out else None

    def to_json(self) -> JsonMapping:
        """As data: `[low, high]` for each figure that there is."""
        figures = {"tokens_in": self.tokens_in, "tokens_out": self.tokens_out, "tokens": self.tokens}
        whole: JsonMapping = {name: [int(each.low), int(each.high)] for name, each in figures.items() if each}
        whole |= {"cost_usd": [self.usd.low, self.usd.high]} if self.usd else {}
        whole |= {"seconds": [self.seconds.low, self.seconds.high]} if self.seconds else {}
        return whole | {"assumptions": list(self.assumptions)}


def estimate(
    *,
    model: str | None,
    request_tokens: int,
    answer_schema: JsonMapping | None = None,
    max_output: int | None = None,
    max_requests: int | None = 1,
    price: PriceOf | None = None,
    past: Sequence[PastCall] = (),
    limits: ThinkingBounds | None = None,
    is_optional: bool = False,
) -> Estimate:
    """What one call of an agent will take.

    Args:
        model: The model it is done with; None when none is asked.
        request_tokens: Tokens of the request as it stands, instructions and tools included.
        answer_schema: The schema of its answer.
        max_output: The most tokens that the model can answer with, as far as known.
        max_requests: The most requests in its conversation: more than one where it has tools; None when nothing says.
        price: What a call costs.
        past: Earlier calls of the same agent, with whichever model.
        limits: What its own code asks at most, for an agent whose code says what a model is asked; its schema is then
            not what a model answers.
        is_optional: Whether a model is asked at all shows only when it is done.
    """
    max_requests = max_requests if limits is None else limits.requests
    same = [each for each in past if each.model == model]
    seconds = _typical_range([each.seconds for each in same])
    time_note = f"The time is not known: there are fewer than {MIN_SAMPLES} past calls like it."
    if seconds is not None:
        time_note = f"The time is that of {len(same)} past calls."
    if model is None:
        return Estimate(Range(0, 0), Range(0, 0), Range(0, 0), seconds, ("No model is asked.", time_note))
    tokens_in, input_note = _input_tokens(request_tokens, same, limits)
    tokens_out, output_note = _output_tokens(answer_schema, max_output, same, limits)
    assumptions = [input_note, output_note, time_note]
    if not _typical_range([each.tokens_in for each in same]):
        most = _TURNS if max_requests is None else max(max_requests, 1)
        if most > 1 and tokens_in is not None and tokens_out is not None:
            tokens_in = Range(tokens_in.low, most * tokens_in.high + (most - 1) * tokens_out.high)
        if most > 1 and tokens_out is not None and limits is not None:  # its code may use every answer
            tokens_out = Range(tokens_out.low, most * tokens_out.high)
        if limits is None or max_requests is not None:
            bound = "its own bound" if max_requests is not None else "nothing bounds it closer"
            assumptions.append(
                "It is asked once." if most == 1 else f"It is asked 1 to {most} times ({bound}), all sent again."
            )
        if is_optional:
            tokens_in, tokens_out = (each and Range(0, each.high) for each in (tokens_in, tokens_out))
            assumptions.append("It may need no model.")
    usd = None
    if tokens_in is None or tokens_out is None:
        assumptions.append("So there is no cost either.")
    else:
        low = None if price is None else price(tokens_in=int(tokens_in.low), tokens_out=int(tokens_out.low))
        high = None if price is None else price(tokens_in=int(tokens_in.high), tokens_out=int(tokens_out.high))
        if low is None or high is None:
            assumptions.append(f"The price of `{model}` is not known.")
        else:
            usd = Range(low, high)
    return Estimate(tokens_in, tokens_out, usd, seconds, tuple(assumptions))


def unknown_estimate(why: str) -> Estimate:
    """An estimate of what nobody can know yet, for the reason given as a sentence."""
    return Estimate(assumptions=(why,))


def combine(estimates: Iterable[Estimate], *, is_concurrent: bool = True) -> Estimate:
    """What several calls will take together. A figure that one of them lacks, all of them lack.

    Args:
        estimates: One for each call.
        is_concurrent: Some of them may run at the same time, so that the longest alone may be all it takes.
    """
    items = list(estimates)
    times = [each.seconds for each in items if each.seconds is not None]
    seconds = None
    if items and len(times) == len(items):
        lows = [each.low for each in times]
        seconds = Range(max(lows) if is_concurrent else sum(lows), sum(each.high for each in times))
    assumptions = dict.fromkeys(sentence for each in items for sentence in each.assumptions)
    return Estimate(
        _sum([each.tokens_in for each in items]),
        _sum([each.tokens_out for each in items]),
        _sum([each.usd for each in items]),
        seconds,
        tuple(assumptions),
    )


def _sum(ranges: Sequence[Range | None]) -> Range | None:
    present = [each for each in ranges if each is not None]
    return sum(present, Range(0, 0)) if len(present) == len(ranges) else None


# The parts of an estimate, each with the sentence that it rests on.


def _input_tokens(
    request_tokens: int, past: Sequence[PastCall], limits: ThinkingBounds | None
) -> tuple[Range | None, str]:
    past_range = _typical_range([each.tokens_in for each in past])
    if past_range is None and limits is not None:
        if limits.tokens_in is None:
            return None, "Tokens in are not known: its own code says what a model is asked."
        high = request_tokens + limits.tokens_in
        return Range(request_tokens, high), "Tokens in go from those of the request to the most that its code sends."
    if past_range is None:
        return Range(request_tokens, request_tokens), "Tokens in are those of the request, counted."
    low = max(past_range.low, request_tokens)
    return Range(
        low, max(past_range.high, low)
    ), f"Tokens in are those of {len(past)} past calls, at least the request's."


def _output_tokens(
    schema: JsonMapping | None, max_output: int | None, past: Sequence[PastCall], limits: ThinkingBounds | None
) -> tuple[Range | None, str]:
    past_range = _typical_range([each.tokens_out for each in past])
    if past_range is not None:
        return past_range, f"Tokens out are those of {len(past)} past calls."
    if limits is not None:
        most = [bound for bound in (limits.tokens_out, max_output) if bound is not None]
        if limits.requests is None or not most:
            return None, "Tokens out are not known: its own code does not bound them."
        return Range(1, min(most)), "Tokens out are at most what its code asks for."
    low, high = answer_tokens(schema) if schema is not None else (1, None)
    bounds = [bound for bound in (high, max_output) if bound is not None]
    if not bounds:
        return None, "Tokens out are not known: neither the answer nor the model is bounded."
    what = "the schema allows" if high is not None and high == min(bounds) else "the model can give"
    return Range(min(low, *bounds), min(bounds)), f"Tokens out go from the least answer to the most that {what}."


def _typical_range(measured: Sequence[float | None]) -> Range | None:
    """The middle four fifths of what was measured; None when it is too little."""
    values = sorted(each for each in measured if each is not None)
    if len(values) < MIN_SAMPLES:
        return None
    odd = len(values) // 10
    return Range(values[odd], values[len(values) - 1 - odd])


# The size of an answer.


def answer_tokens(schema: JsonMapping) -> tuple[int, int | None]:
    """The least and the most tokens that JSON of this schema takes; the most is None when nothing bounds it."""
    least = get_counter().count(dumps(_least(schema, _DEEP)))
    most = _most(schema, _DEEP)
    return least, None if most is None else max(least, -(-most // _CHARACTERS))


def _least(schema: object, depth: int) -> object:
    """A small value that the schema asks for, near enough to count it."""
    node = _object(schema)
    if "const" in node:
        return node["const"]
    if choices := _list(node.get("enum")):
        return min(choices, key=lambda each: len(str(each)))
    match _type(node):
        case "object":
            members = _object(node.get("properties"))
            names = [name for name in _list(node.get("required")) if isinstance(name, str)]
            return {name: _least(members.get(name), depth - 1) for name in names} if depth else {}
        case "array":
            return [_least(node.get("items"), depth - 1)] * min(_whole(node.get("minItems")) or 0, 100) if depth else []
        case "string":
            return "word " * min((_whole(node.get("minLength")) or 0) // 5, 10_000)
        case "number" | "integer":
            return 0
        case "boolean":
            return True
        case _:
            return None


def _most(schema: object, depth: int) -> int | None:
    """Characters of the longest value; None when nothing bounds it."""
    node = _object(schema)
    if "const" in node:
        return len(str(node["const"])) + 2
    if choices := _list(node.get("enum")):
        return max(len(str(each)) for each in choices) + 2
    match _type(node):
        case "object" if depth and node.get("additionalProperties") is False:
            members = _object(node.get("properties"))
            sizes = [_most(each, depth - 1) for each in members.values()]
            more = sum(len(name) + 4 for name in members) + 2
            present = [size for size in sizes if size is not None]
            return sum(present) + more if len(present) == len(sizes) else None
        case "array" if depth and (count := _whole(node.get("maxItems"))) is not None:
            one = _most(node.get("items"), depth - 1)
            return None if one is None else count * (one + 2) + 2
        case "string" if (length := _whole(node.get("maxLength"))) is not None:
            return length + 2
        case "number" | "integer":
            return 20
        case "boolean" | "null":
            return 5
        case _:
            return None


def _type(node: JsonMapping) -> object:
    kind: object = node.get("type")
    if isinstance(kind, list):
        kind = next((each for each in cast("list[object]", kind) if each != "null"), None)
    return kind or ("object" if "properties" in node else None)


def _object(value: object) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _list(value: object) -> list[object]:
    return cast("list[object]", value) if isinstance(value, list) else []


def _whole(value: object) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= 10**9 else None
