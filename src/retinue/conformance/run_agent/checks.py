"""What is looked at in the answers of an agent of spec 001, requirement by requirement."""

from collections.abc import Iterator, Mapping
from typing import Final

from retinue.conformance.answers import (
    ObjectLook,
    accepted,
    anything,
    each,
    each_object,
    each_object_asked,
    garbled_values,
    is_object,
    unmixed,
)
from retinue.conformance.members import is_amount, is_words, objects_at, quoted, shown
from retinue.conformance.port import Check, Exchange
from retinue.contract import schema
from retinue.contract.json import JsonObject
from retinue.dialects.run_agent import ANSWER_SCHEMA, ToolTraceMinimal

__all__ = ["CHECKS"]

_SLACK_S: Final = 0.05
"""Clocks are read at different moments; so much more than we measured is still true."""
_NANOSECONDS: Final = 1_000_000_000


def _schema(body: JsonObject) -> Iterator[str]:
    for finding in schema.compile(ANSWER_SCHEMA).findings(body):
        yield f"`{finding.path or '/'}`: {finding.message}"


def _content(body: JsonObject) -> Iterator[str]:
    if not isinstance(body.get("content"), str):
        yield f"`content` is {quoted(body, 'content')}"


def _says_something(body: JsonObject) -> Iterator[str]:
    if not is_words(body.get("content")):
        yield f"`content` is {quoted(body, 'content')}"


def _response_time(body: JsonObject) -> Iterator[str]:
    if not is_amount(body.get("response_time_secs")):
        yield f"`response_time_secs` is {quoted(body, 'response_time_secs')}"


def _wall_clock(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    seconds, measured = body.get("response_time_secs"), exchange.duration_ns / _NANOSECONDS
    if not is_amount(seconds):
        yield f"`response_time_secs` is {quoted(body, 'response_time_secs')}"
    elif seconds == 0 and (isinstance(seconds, int) or measured > _SLACK_S):  # 0.0 may be a quick call, rounded
        yield "`response_time_secs` is 0: nobody measured"
    elif isinstance(seconds, int | float) and seconds > measured + _SLACK_S:
        yield f"`response_time_secs` is {shown(seconds)}, and the whole call took {measured:.3f} s"


def _traces(body: JsonObject) -> Iterator[str]:
    traces = body.get("traces")
    if not isinstance(traces, list):
        yield f"`traces` is {quoted(body, 'traces')}"
        return
    yield from (f"`traces[{at}]` is {shown(item)}" for at, item in enumerate(traces) if not isinstance(item, dict))


def _trace_has_text(name: str) -> ObjectLook:
    def look(body: JsonObject) -> Iterator[str]:
        for at, item in objects_at(body, "traces"):
            said = item.get(name)
            if not isinstance(said, str) or (name == "tool" and not said.strip()):
                yield f"`traces[{at}].{name}` is {quoted(item, name)}"

    return look


def _trace_args(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        if "args" in item and not isinstance(item["args"], dict):
            yield f"`traces[{at}].args` is {shown(item['args'])}"


def _trace_duration(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        if "duration_secs" in item and not is_amount(item["duration_secs"]):
            yield f"`traces[{at}].duration_secs` is {shown(item['duration_secs'])}"


def _trace_keys(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        yield from (f"`traces[{at}]` has {shown(key)}" for key in item if key not in ToolTraceMinimal.model_fields)


def _trace_time(body: JsonObject) -> Iterator[str]:
    whole = body.get("response_time_secs")
    for at, item in objects_at(body, "traces"):
        took = item.get("duration_secs")
        if isinstance(took, int | float) and isinstance(whole, int | float) and took > whole:
            yield f"`traces[{at}].duration_secs` is {shown(took)}, and the whole call took {shown(whole)}"


def _answered(body: JsonObject) -> Iterator[str]:
    """An answer of the right shape that reports no failure."""
    yield from _says_something(body)
    yield from _response_time(body)
    yield from _traces(body)
    if body.get("error"):
        yield f"`error` is {shown(body['error'])}"


CHECKS: Final[Mapping[str, Check]] = {
    f"run_agent/{name}": check
    for name, check in {
        "answers": anything,
        "json": each(is_object),
        "schema": each_object(_schema),
        "content": each_object(_content),
        "says-something": each_object(_says_something),
        "response-time": each_object(_response_time),
        "wall-clock": each_object_asked(_wall_clock),
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
        "not-ascii": each_object_asked(garbled_values),
        "unmixed": unmixed,
        "corrected": each_object(_answered),
        "strict": accepted("run_agent"),
    }.items()
}
"""By the id of the requirement."""
