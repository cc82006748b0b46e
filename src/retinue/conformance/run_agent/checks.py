"""What is looked at in the answers of an agent of spec 001, requirement by requirement."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from retinue.conformance.answers import ObjectLook, accepted, each, each_object, shown, unmixed
from retinue.conformance.port import Check, Exchange
from retinue.contract import json, schema
from retinue.contract.json import JsonObject, JsonValue
from retinue.dialects.run_agent import ANSWER_SCHEMA, ToolTraceMinimal
from retinue.errors import ParseError

__all__ = ["CHECKS"]

_SLACK_S: Final = 0.05
"""Clocks are read at different moments; so much more than we measured is still true."""
_NANOSECONDS: Final = 1_000_000_000


def _any(exchanges: Mapping[str, Exchange]) -> Iterable[str]:
    """Nothing: that there is an answer to each has been seen before a check is asked."""
    del exchanges
    return ()


def _json(exchange: Exchange) -> Iterator[str]:
    try:
        value = json.loads(exchange.text or "")
    except ParseError as error:
        yield f"{error.message} {error.hint}"
        return
    if not isinstance(value, dict):
        yield f"it is JSON, and no object: {shown(value)}"


def _schema(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for finding in schema.compile(ANSWER_SCHEMA).findings(body):
        yield f"`{finding.path or '/'}`: {finding.message}"


def _content(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if not isinstance(body.get("content"), str):
        yield f"`content` is {_said(body, 'content')}"


def _says_something(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    content = body.get("content")
    if not isinstance(content, str) or not content.strip():
        yield f"`content` is {_said(body, 'content')}"


def _response_time(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    if not _is_time(body.get("response_time_secs")):
        yield f"`response_time_secs` is {_said(body, 'response_time_secs')}"


def _wall_clock(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    seconds, measured = body.get("response_time_secs"), exchange.duration_ns / _NANOSECONDS
    if not _is_time(seconds):
        yield f"`response_time_secs` is {_said(body, 'response_time_secs')}"
    elif seconds == 0:
        yield "`response_time_secs` is 0: nobody measured"
    elif isinstance(seconds, int | float) and seconds > measured + _SLACK_S:
        yield f"`response_time_secs` is {shown(seconds)}, and the whole call took {measured:.3f} s"


def _traces(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    traces = body.get("traces")
    if not isinstance(traces, list):
        yield f"`traces` is {_said(body, 'traces')}"
        return
    yield from (f"`traces[{at}]` is {shown(item)}" for at, item in enumerate(traces) if not isinstance(item, dict))


def _trace_has_text(name: str) -> ObjectLook:
    def look(body: JsonObject, exchange: Exchange) -> Iterator[str]:
        del exchange
        for at, item in _items(body):
            said = item.get(name)
            if not isinstance(said, str) or (name == "tool" and not said.strip()):
                yield f"`traces[{at}].{name}` is {_said(item, name)}"

    return look


def _trace_args(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for at, item in _items(body):
        if "args" in item and not isinstance(item["args"], dict):
            yield f"`traces[{at}].args` is {shown(item['args'])}"


def _trace_duration(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for at, item in _items(body):
        if "duration_secs" in item and not _is_time(item["duration_secs"]):
            yield f"`traces[{at}].duration_secs` is {shown(item['duration_secs'])}"


def _trace_keys(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    for at, item in _items(body):
        yield from (f"`traces[{at}]` has {shown(key)}" for key in item if key not in ToolTraceMinimal.model_fields)


def _trace_time(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    del exchange
    whole = body.get("response_time_secs")
    for at, item in _items(body):
        took = item.get("duration_secs")
        if isinstance(took, int | float) and isinstance(whole, int | float) and took > whole:
            yield f"`traces[{at}].duration_secs` is {shown(took)}, and the whole call took {shown(whole)}"


def _answered(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    """An answer of the right shape that reports no failure."""
    yield from _says_something(body, exchange)
    yield from _response_time(body, exchange)
    yield from _traces(body, exchange)
    if body.get("error"):
        yield f"`error` is {shown(body['error'])}"


def _not_ascii(body: JsonObject, exchange: Exchange) -> Iterator[str]:
    words = exchange.probe.task.target or ""
    broken = (words.encode().decode("latin-1"), words.encode("ascii", "replace").decode(), "\ufffd")
    text = json.dumps(body)
    yield from (f"the answer holds {shown(wrong)}" for wrong in broken if wrong in text)


def _items(body: JsonObject) -> Iterator[tuple[int, JsonObject]]:
    traces = body.get("traces")
    for at, item in enumerate(traces if isinstance(traces, list) else ()):
        if isinstance(item, dict):
            yield at, item


def _is_time(value: JsonValue) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and value >= 0


def _said(body: JsonObject, name: str) -> str:
    return shown(body[name]) if name in body else "missing"


CHECKS: Final[Mapping[str, Check]] = {
    f"run_agent/{name}": check
    for name, check in {
        "answers": _any,
        "json": each(_json),
        "schema": each_object(_schema),
        "content": each_object(_content),
        "says-something": each_object(_says_something),
        "response-time": each_object(_response_time),
        "wall-clock": each_object(_wall_clock),
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
        "not-ascii": each_object(_not_ascii),
        "unmixed": unmixed,
        "corrected": each_object(_answered),
        "strict": accepted("run_agent"),
    }.items()
}
"""By the id of the requirement."""
