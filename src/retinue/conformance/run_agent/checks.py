"""What is looked at in the answers of an agent of spec 001, requirement by requirement."""

from collections.abc import Iterator, Mapping
from typing import Final

from retinue.conformance.answer_checks import (
    ObjectInspector,
    any_answer,
    each_answer,
    each_object,
    each_object_in_exchange,
    garbled_values,
    passes_strict_reader,
    strict_object,
    unmixed,
)
from retinue.conformance.members import is_amount, is_nonblank, objects_at, quote, quote_member
from retinue.conformance.port import Check, ProbeExchange
from retinue.contract import schema
from retinue.contract.json import JsonObject
from retinue.dialects.run_agent import ANSWER_SCHEMA, ToolTraceMinimal

_SLACK_S: Final = 0.05
"""Clocks are read at different moments; so much more than we measured is still true."""
_NANOSECONDS: Final = 1_000_000_000


def _schema(body: JsonObject) -> Iterator[str]:
    for finding in schema.compile(ANSWER_SCHEMA).findings(body):
        yield f"`{finding.path or '/'}`: {finding.message}"


def _content(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("content"), str):
        yield f"`content` is {quote_member(body, 'content')}"


def _says_something(body: JsonObject) -> Iterator[str]:
    if not is_nonblank(body.get("content")):
        yield f"`content` is {quote_member(body, 'content')}"


def _response_time(body: JsonObject) -> Iterator[str]:
    if not is_amount(body.get("response_time_secs")):
        yield f"`response_time_secs` is {quote_member(body, 'response_time_secs')}"


def _wall_clock(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    seconds, measured = body.get("response_time_secs"), exchange.duration_ns / _NANOSECONDS
    if not is_amount(seconds):
        yield f"`response_time_secs` is {quote_member(body, 'response_time_secs')}"
    elif seconds == 0 and (isinstance(seconds, int) or measured > _SLACK_S):  # 0.0 may be a quick call, rounded
        yield "`response_time_secs` is 0: nobody measured"
    elif isinstance(seconds, int | float) and seconds > measured + _SLACK_S:
        yield f"`response_time_secs` is {quote(seconds)}, and the whole call took {measured:.3f} s"


def _traces(body: JsonObject) -> Iterator[str]:
    traces = body.get("traces")
    if not isinstance(traces, list):
        yield f"`traces` is {quote_member(body, 'traces')}"
        return
    yield from (f"`traces[{at}]` is {quote(item)}" for at, item in enumerate(traces) if not isinstance(item, dict))


def _trace_has_text(name: str) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        for at, item in objects_at(body, "traces"):
            text = item.get(name)
            if not isinstance(text, str) or (name == "tool" and not text.strip()):
                yield f"`traces[{at}].{name}` is {quote_member(item, name)}"

    return inspect


def _trace_args(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        if "args" in item and not isinstance(item["args"], dict):
            yield f"`traces[{at}].args` is {quote(item['args'])}"


def _trace_duration(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        if "duration_secs" in item and not is_amount(item["duration_secs"]):
            yield f"`traces[{at}].duration_secs` is {quote(item['duration_secs'])}"


def _trace_keys(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        yield from (f"`traces[{at}]` has {quote(key)}" for key in item if key not in ToolTraceMinimal.model_fields)


def _trace_time(body: JsonObject) -> Iterator[str]:
    whole = body.get("response_time_secs")
    for at, item in objects_at(body, "traces"):
        seconds = item.get("duration_secs")
        if isinstance(seconds, int | float) and isinstance(whole, int | float) and seconds > whole:
            yield f"`traces[{at}].duration_secs` is {quote(seconds)}, and the whole call took {quote(whole)}"


def _answered(body: JsonObject) -> Iterator[str]:
    """An answer of the right shape that reports no failure."""
    yield from _says_something(body)
    yield from _response_time(body)
    yield from _traces(body)
    if body.get("error"):
        yield f"`error` is {quote(body['error'])}"


CHECKS: Final[Mapping[str, Check]] = {
    "answers": any_answer,
    "json": each_answer(strict_object),
    "schema": each_object(_schema),
    "content": each_object(_content),
    "says-something": each_object(_says_something),
    "response-time": each_object(_response_time),
    "wall-clock": each_object_in_exchange(_wall_clock),
    "traces": each_object(_traces),
    "trace-tool": each_object(_trace_has_text("tool")),
    "trace-output": each_object(_trace_has_text("output")),
    "trace-args": each_object(_trace_args),
    "trace-duration": each_object(_trace_duration),
    "trace-keys": each_object(_trace_keys),
    "trace-time": each_object(_trace_time),
    "arguments": each_object(_answered),
    "nulls": each_object(_answered),
    "history": each_object(_answered),
    "unknown-config": each_object(_answered),
    "not-ascii": each_object_in_exchange(garbled_values),
    "unmixed": unmixed,
    "corrected": each_object(_answered),
    "strict": passes_strict_reader("run_agent"),
}
"""By the requirement's name."""
