"""What an agent of spec 000 is sent, and what is checked in its answers, requirement by requirement.

`valid` is a call where somebody said the parameters, and a hand-off where not. What carries a mark is a hand-off,
because only its instruction is free.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from retinue.conformance.answer_checks import (
    CheckTable,
    ObjectInspector,
    each_answer,
    each_object,
    each_object_in_exchange,
    expect_member,
    garbled_values,
    is_amount,
    is_count,
    is_nonblank,
    is_uninformative,
    object_at,
    quote,
    quote_member,
    same_members,
    strict_object,
)
from retinue.conformance.port import Probe, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, TOGETHER, adapted
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.task import Context, Correction, Limits, OutputWish, Task
from retinue.dialects import tool_use

# Probes.


UNHEARD_OF: Final = "unheard_of"
"""A parameter that no agent has."""

_INSTRUCTION: Final = "Say in one sentence what you can do."


def _with_instruction(template: RequestTemplate) -> RequestTemplate:
    return replace(template, instruction=template.instruction or _INSTRUCTION)


def _full_handoff(template: RequestTemplate) -> Probe:
    task = template.task(
        "handed_on",
        context=_CONTEXT,
        limits=Limits(timeout_s=120),
        output=OutputWish(transport="json_table"),
        source_agent="orchestrator",
    )
    return Probe("handed_on", task, "It is a hand-off with all that a hand-off has.", text=_render(task, "handoff"))


_CONTEXT: Final = Context(
    what="Somebody wants to know whom to ask.", why="The work is to be shared out.", constraints=("read_only",)
)


def _unknown_parameter(template: RequestTemplate) -> Probe:
    task = template.task("unknown_parameter", parameters={**template.parameters, UNHEARD_OF: "nobody asked for this"})
    return Probe("unknown_parameter", task, "It is a call with one parameter too many.", text=_render(task, "call"))


def _last_attempt(template: RequestTemplate) -> Probe:
    task = template.task("last_attempt", parameters={**template.parameters, UNHEARD_OF: "still there"})
    correction = Correction(
        code="invalid_input",
        message=f"There is no parameter {UNHEARD_OF!r}.",
        hint=f"Leave {UNHEARD_OF!r} out.",
        retry_count=2,
        max_retries=2,
    )
    about = "It is the last of the retries, and no better than before."
    return Probe("last_attempt", task, about, correction=correction)


def _no_type(template: RequestTemplate) -> Probe:
    task = template.task("no_type")
    text = _render(task, "handoff").replace("task_delegation", "unheard_of")
    return Probe("no_type", task, "It is a message of an unknown type.", text=text)


def _render(task: Task, form: str) -> str:
    return tool_use.render_task(task, form=form).text


PROBES: Final[Mapping[str, ProbeFactory]] = {
    **adapted(
        {
            **GOOD,
            "not_ascii": ODD["not_ascii"],
            "unknown_skill": ODD["unknown_skill"],
            "handed_on": _full_handoff,
            "unknown_parameter": _unknown_parameter,
            "last_attempt": _last_attempt,
            "no_type": _no_type,
        },
        _with_instruction,
    ),
    **adapted(
        {**{name: GOOD[name] for name in TOGETHER}, "not_ascii": ODD["not_ascii"]},
        # The instruction is all there is of a hand-off.
        lambda template: replace(_with_instruction(template), parameters={}),
    ),
    **HOSTILE,
}


# Checks.


CHECKS: Final = CheckTable("tool_use")
"""By the requirement's name."""

_STATUSES: Final = ("success", "error", "partial", "failed")
_FAILURES: Final = ("error", "failed")
_ERROR_TYPES: Final = ("validation_error", "runtime_error", "timeout")
_MEASURED: Final = ("execution_time_ms", "tokens_used", "confidence", "model_used")


# Envelopes.

_STATUS: Final = expect_member("status", lambda value: value in _STATUSES)
_METADATA: Final = expect_member("metadata", lambda value: isinstance(value, dict))
_FAILS: Final = expect_member("status", lambda value: value in _FAILURES)


@CHECKS.add(each_object, "result")
def _result(body: JsonObject) -> Iterator[str]:
    is_required = body.get("status") not in _FAILURES
    if (is_required or "result" in body) and not isinstance(body.get("result"), dict | list):
        yield f"`result` is {quote_member(body, 'result')}"


@CHECKS.add(each_object, "measured")
def _measured(body: JsonObject) -> Iterator[str]:
    metadata = object_at(body, "metadata")
    yield from (f"`metadata.{name}` is missing" for name in _MEASURED if name not in metadata)


@CHECKS.add(each_object, "succeeds", "handed-on")
def _succeeds(body: JsonObject) -> Iterator[str]:
    if body.get("status") not in ("success", "partial"):
        message = _error_of(body).get("message")
        yield f"`status` is {quote_member(body, 'status')}" + (f": {quote(message)}" if message else "")


# Failures.


def _error_has(name: str, is_valid: Callable[[JsonValue], bool] = is_nonblank) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        error = _error_of(body)
        if body.get("status") in _FAILURES and not is_valid(error.get(name)):
            yield f"`{name}` is {quote_member(error, name)}"

    return inspect


@CHECKS.add(each_object, "hint-is-specific")
def _specific(body: JsonObject) -> Iterator[str]:
    hint = _error_of(body).get("correction_hint")
    if is_nonblank(hint) and is_uninformative(hint):
        yield f"`correction_hint` is {quote(hint)}"


@CHECKS.add(each_object, "hint-names-the-fix")
def _names_the_fix(body: JsonObject) -> Iterator[str]:
    error = _error_of(body)
    if UNHEARD_OF not in f"{error.get('message')} {error.get('correction_hint')}":
        yield f"neither `message` nor `correction_hint` names `{UNHEARD_OF}`: {quote_member(error, 'correction_hint')}"


@CHECKS.add(each_object, "closed")
def _closed(body: JsonObject) -> Iterator[str]:
    yield from _FAILS(body)
    error_type = _error_of(body).get("error_type")
    if body.get("status") in _FAILURES and error_type != "validation_error":
        yield f"`error_type` is {quote(error_type)}"


# Words.


def _error_of(body: JsonObject) -> JsonObject:
    """The error object: beside the envelope's other keys, or inside; the spec shows the two apart."""
    for place in (body, body.get("error"), body.get("result")):
        if isinstance(place, dict) and "error_type" in place:
            return place
    return body


CHECKS.update({
    "json": each_answer(strict_object),
    "status": each_object(_STATUS),
    "metadata": each_object(_METADATA),
    "execution-time": each_object(expect_member("metadata.execution_time_ms", is_count, optional=True)),
    "tokens": each_object(expect_member("metadata.tokens_used", is_count, optional=True)),
    "confidence": each_object(
        expect_member(
            "metadata.confidence", lambda value: is_amount(value) and cast("float", value) <= 1, optional=True
        )
    ),
    "texts": each_object(
        expect_member("metadata.model_used", is_nonblank, optional=True),
        expect_member("reasoning_log", is_nonblank, optional=True),
    ),
    "error-type": each_object(_error_has("error_type", lambda value: value in _ERROR_TYPES)),
    "error-message": each_object(_error_has("message")),
    "correction-hint": each_object(_error_has("correction_hint")),
    "retry-count": each_object(_error_has("retry_count", is_count)),
    "invalid-input": each_object(_FAILS),
    "prose": each_object(_FAILS),
    "another-tool": each_object(_FAILS),
    "escalates": each_object(expect_member("status", lambda value: value == "failed")),
    "corrected": each_object(_STATUS, _result, _METADATA),
    "not-ascii": each_object_in_exchange(garbled_values, lambda body, _: _STATUS(body)),
    "steady": same_members("status"),
})  # fmt: skip
