"""What an agent of spec 001 is sent, and what is checked in its answers, requirement by requirement."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

from retinue.conformance.answer_checks import (
    CheckTable,
    ObjectInspector,
    each_answer,
    each_object,
    each_object_in_exchange,
    expect_member,
    garbled_values,
    is_amount,
    is_nonblank,
    objects_at,
    quote,
    quote_member,
    strict_object,
)
from retinue.conformance.port import Probe, ProbeExchange, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, adapted
from retinue.contract import json, schema
from retinue.contract.json import JsonObject, JsonValue
from retinue.dialects.run_agent import ANSWER_SCHEMA, ToolTraceMinimal

# Probes.


_PROMPT: Final = "Say in one sentence what you can do."


def _with_prompt(template: RequestTemplate) -> RequestTemplate:
    """The prompt is all that is always there, so it has to say something; marks are put into it."""
    parameter: object = template.parameters.get("prompt")
    prompt = parameter if isinstance(parameter, str) else template.instruction
    others = {name: value for name, value in template.parameters.items() if name != "prompt"}
    return replace(template, instruction=prompt or _PROMPT, parameters=others)


def _with(name: str, about: str, **more: Any) -> ProbeFactory:
    """A probe that sends further arguments as they stand."""

    def make_probe(template: RequestTemplate) -> Probe:
        text = json.dumps({"prompt": template.instruction, **more})
        return Probe(name, template.task(name), about, text=text)

    return make_probe


PROBES: Final[Mapping[str, ProbeFactory]] = adapted(
    {
        **GOOD,
        "not_ascii": ODD["not_ascii"],
        "everything": _with(
            "everything",
            "It has all four arguments.",
            chat_history="user: Hello.\nassistant: Hello, what can I do?",
            memory="Likes short answers.",
            config={"domain_timeout_secs": 30, "execution_mode": "async"},
        ),
        "nulls": _with(
            "nulls", "What is not there is null, as in the signature.", chat_history=None, memory=None, config=None
        ),
        "odd_history": _with(
            "odd_history", "Its history has no roles.", chat_history="we spoke of the weather\n\n- and of bread"
        ),
        "unknown_config": _with(
            "unknown_config",
            "Its configuration has unknown keys.",
            config={"unheard_of": [1], "colour": "red"},
        ),
        **HOSTILE,
    },
    _with_prompt,
)


# Checks.


CHECKS: Final = CheckTable("run_agent")
"""By the requirement's name."""

_SLACK_S: Final = 0.05
"""Clocks are read at different moments; so much more than we measured is still true."""
_NANOSECONDS: Final = 1_000_000_000
_HAS_CONTENT: Final = expect_member("content", is_nonblank)
_HAS_TIME: Final = expect_member("response_time_secs", is_amount)


@CHECKS.add(each_object, "schema")
def _schema(body: JsonObject) -> Iterator[str]:
    for finding in schema.compile(ANSWER_SCHEMA).findings(body):
        yield f"`{finding.path or '/'}`: {finding.message}"


@CHECKS.add(each_object_in_exchange, "wall-clock")
def _wall_clock(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    seconds, measured = body.get("response_time_secs"), exchange.duration_ns / _NANOSECONDS
    if not is_amount(seconds):
        yield f"`response_time_secs` is {quote_member(body, 'response_time_secs')}"
    elif seconds == 0 and (isinstance(seconds, int) or measured > _SLACK_S):  # 0.0 may be a quick call, rounded
        yield "`response_time_secs` is 0: not measured"
    elif isinstance(seconds, int | float) and seconds > measured + _SLACK_S:
        yield f"`response_time_secs` is {quote(seconds)}, and the whole call took {measured:.3f} s"


@CHECKS.add(each_object, "traces")
def _traces(body: JsonObject) -> Iterator[str]:
    traces = body.get("traces")
    if not isinstance(traces, list):
        yield f"`traces` is {quote_member(body, 'traces')}"
        return
    yield from (f"`traces[{at}]` is {quote(item)}" for at, item in enumerate(traces) if not isinstance(item, dict))


def _each_trace(name: str, is_valid: Callable[[JsonValue], bool], *, optional: bool = False) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        for at, item in objects_at(body, "traces"):
            if not (optional and name not in item) and not is_valid(item.get(name)):
                yield f"`traces[{at}].{name}` is {quote_member(item, name)}"

    return inspect


@CHECKS.add(each_object, "trace-keys")
def _trace_keys(body: JsonObject) -> Iterator[str]:
    for at, item in objects_at(body, "traces"):
        yield from (f"`traces[{at}]` has {quote(key)}" for key in item if key not in ToolTraceMinimal.model_fields)


@CHECKS.add(each_object, "trace-time")
def _trace_time(body: JsonObject) -> Iterator[str]:
    whole = body.get("response_time_secs")
    for at, item in objects_at(body, "traces"):
        seconds = item.get("duration_secs")
        if isinstance(seconds, int | float) and isinstance(whole, int | float) and seconds > whole:
            yield f"`traces[{at}].duration_secs` is {quote(seconds)}, and the whole call took {quote(whole)}"


@CHECKS.add(each_object, "arguments", "nulls", "history", "unknown-config", "corrected")
def _answered(body: JsonObject) -> Iterator[str]:
    """An answer of the right shape that reports no failure."""
    yield from _HAS_CONTENT(body)
    yield from _HAS_TIME(body)
    yield from _traces(body)
    if body.get("error"):
        yield f"`error` is {quote(body['error'])}"


CHECKS.update({
    "json": each_answer(strict_object),
    "content": each_object(expect_member("content", lambda value: isinstance(value, str))),
    "says-something": each_object(_HAS_CONTENT),
    "response-time": each_object(_HAS_TIME),
    "trace-tool": each_object(_each_trace("tool", is_nonblank)),
    "trace-output": each_object(_each_trace("output", lambda value: isinstance(value, str))),
    "trace-args": each_object(_each_trace("args", lambda value: isinstance(value, dict), optional=True)),
    "trace-duration": each_object(_each_trace("duration_secs", is_amount, optional=True)),
    "not-ascii": each_object_in_exchange(garbled_values),
})  # fmt: skip
