"""What an agent of spec 003 is sent, and what is checked in its answers, requirement by requirement.

The three of the spec's own tests are `valid`, `unknown_skill` and `partial_data`; their targets are the spec's words
where nobody says which target is valid.
"""

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Final, cast

from retinue.conformance.answer_checks import (
    CheckTable,
    ObjectInspector,
    all_answers,
    each_answer,
    each_object,
    each_object_in_exchange,
    expect_member,
    garbled_values,
    is_amount,
    is_count,
    is_nonblank,
    is_uninformative,
    missing,
    object_at,
    object_in,
    objects_at,
    quote,
    quote_member,
    same_members,
    strict_object,
    values_in,
)
from retinue.conformance.port import Probe, ProbeExchange, ProbeFactory, RequestTemplate
from retinue.conformance.requests import GOOD, HOSTILE, ODD, adapted, text_probe
from retinue.contract import spec_exact
from retinue.contract.json import JsonObject, JsonValue
from retinue.contract.names import fold, to_kebab
from retinue.errors import InvalidInput

# Probes.


def _partial_data(template: RequestTemplate) -> Probe:
    target = template.partial_target or "PARTIAL-DATA-TARGET"
    return Probe("partial_data", template.about(target=target).task("partial_data"), "Not all that it needs is there.")


def _outside_target(template: RequestTemplate) -> Probe:
    task = template.about(target="../../../etc/passwd").task("outside")
    return Probe("outside", task, "Its target is a path that leads out of the repository.")


PROBES: Final[Mapping[str, ProbeFactory]] = adapted(
    {
        **GOOD,
        **ODD,
        "partial_data": _partial_data,
        "outside": _outside_target,
        **HOSTILE,
        "no_operation": text_probe(
            "no_operation", "**Agent:** agent\n**Target:** VALID-TARGET\n**Context:** none\n", "It names no operation."
        ),
    },
    # The block has a line for the target, so there has to be one.
    lambda template: template if template.target else replace(template, target="VALID-TARGET"),
)


# Checks.


CHECKS: Final = CheckTable("markdown_json")
"""By the requirement's name."""

_STATUSES: Final = ("success", "partial", "error")
_ERROR_TYPES: Final = ("missing_file", "invalid_input", "parse_error", "access_denied", "timeout", "internal_error")
_WARNING_TYPES: Final = ("missing_data", "degraded_analysis", "incomplete_context")
_VERSION: Final = re.compile(r"(?:0|[1-9][0-9]*)(?:\.(?:0|[1-9][0-9]*)){1,2}")
_TIMESTAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}(?:\.[0-9]+)?Z")
_OUTSIDE_TEXT: Final = "root:x:0:0"


# Every answer.

_STATUS: Final = expect_member("status", lambda value: value in _STATUSES)


@CHECKS.add(each_object_in_exchange, "agent")
def _agent(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    expected, actual = exchange.probe.task.agent, body.get("agent")
    if not isinstance(actual, str) or fold(actual) != expected:
        yield f"`agent` is {quote_member(body, 'agent')}, and `{to_kebab(expected)}` was asked"


@CHECKS.add(each_object, "what")
def _what(body: JsonObject) -> Iterator[str]:
    name = "error_type" if body.get("status") == "error" else "operation"
    if not is_nonblank(body.get(name)):
        yield f"`{name}` is {quote_member(body, name)}"


@CHECKS.add(each_object_in_exchange, "operation")
def _operation(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    expected, actual = exchange.probe.task.skill, body.get("operation")
    if body.get("status") != "error" and expected and (not isinstance(actual, str) or fold(actual) != expected):
        yield f"`operation` is {quote_member(body, 'operation')}, and `{to_kebab(expected)}` was asked"


@CHECKS.add(each_object_in_exchange, "validator")
def _validator(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    expected, actual = exchange.probe.task.agent, str(body.get("agent"))
    # C46: a name may be spelled in snake_case; and a text that is no request names nobody, so any name will do.
    good = exchange.probe.text is not None or fold(actual) == expected
    try:
        spec_exact.validate_agent_contract(body, actual if good else to_kebab(expected))
    except InvalidInput as error:
        yield error.message


@CHECKS.add(each_object, "required")
def _required(body: JsonObject) -> Iterator[str]:
    status = body.get("status")
    required = [
        "status",
        "agent",
        "version",
        "metadata",
        *(["error_type", "message"] if status == "error" else ["operation", "result"]),
    ]
    yield from (f"`{name}` is null" for name in required if name in body and body[name] is None)


# The spec's own tests, assertion by assertion.


@CHECKS.add(each_object_in_exchange, "success-test")
def _success_test(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    yield from missing(body, "status", "agent", "version", "result", "metadata")
    if body.get("status") != "success":
        message = body.get("message")
        yield f"`status` is {quote_member(body, 'status')}" + (f": {quote(message)}" if message else "")
    yield from _agent(body, exchange)
    milliseconds = object_at(body, "metadata").get("execution_time_ms")
    # C5: the spec's own `isinstance` lets a boolean pass.
    if not isinstance(milliseconds, int) or isinstance(milliseconds, bool):
        yield f"`metadata.execution_time_ms` is {quote(milliseconds)}, and no integer"


@CHECKS.add(each_object, "error-test")
def _error_test(body: JsonObject) -> Iterator[str]:
    if body.get("status") != "error":
        yield f"`status` is {quote_member(body, 'status')}"
    yield from missing(body, "error_type", "message", "recovery_suggestions")
    suggestions = body.get("recovery_suggestions")
    if "recovery_suggestions" in body and not (isinstance(suggestions, list) and suggestions):
        yield f"`recovery_suggestions` is {quote(suggestions)}"


@CHECKS.add(each_object, "partial-test")
def _partial_test(body: JsonObject) -> Iterator[str]:
    if body.get("status") != "partial":
        return
    yield from missing(body, "warnings", "result")
    if "warnings" in body and not _warnings(body):
        yield f"`warnings` is {quote(body['warnings'])}"
    for at, warning in enumerate(_warnings(body)):
        yield from (
            f"`warnings[{at}]` has no `{name}`" for name in ("type", "message", "impact") if name not in warning
        )


# Partial envelopes.


def _each_warning(name: str, is_valid: Callable[[JsonValue], bool] = is_nonblank) -> ObjectInspector:
    def inspect(body: JsonObject) -> Iterator[str]:
        for at, warning in enumerate(_warnings(body)):
            if not is_valid(warning.get(name)):
                yield f"`warnings[{at}].{name}` is {quote_member(warning, name)}"

    return inspect


@CHECKS.add(each_object, "degrades")
def _degrades(body: JsonObject) -> Iterator[str]:
    if body.get("status") == "error":
        yield f"`status` is `error`: {quote(body.get('message'))}"


# Error envelopes.


@CHECKS.add(all_answers, "lists-operations")
def _lists_operations(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    operation = exchanges["valid"].probe.task.skill
    text = exchanges["unknown_skill"].text or ""
    if operation is None:
        yield "valid: it was not asked for an operation, because its operations are not known"
    elif to_kebab(operation) not in text and operation not in text:
        yield f"unknown_skill: `{to_kebab(operation)}`, which it does, is nowhere in the answer"


@CHECKS.add(each_object, "error-context")
def _error_context(body: JsonObject) -> Iterator[str]:
    context = body.get("context")
    if not isinstance(context, dict):
        yield f"`context` is {quote_member(body, 'context')}"
        return
    for name in ("operation", "target", "failed_at"):
        is_in_body = name == "operation" and isinstance(body.get("operation"), str)  # C4: either place will do
        if not isinstance(context.get(name), str) and not is_in_body:
            yield f"`context.{name}` is {quote_member(context, name)}"


# Requests that are no good, or odd.


@CHECKS.add(each_object, "invalid-input", "hostile-input")
def _refused(body: JsonObject) -> Iterator[str]:
    if body.get("status") != "error":
        yield f"`status` is {quote_member(body, 'status')}"
    yield from missing(body, "error_type", "message", "recovery_suggestions")


@CHECKS.add(each_object_in_exchange, "outside-path")
def _outside(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    if _OUTSIDE_TEXT in (exchange.text or ""):
        yield "the answer holds what is in the file outside"
    target = exchange.probe.task.target
    used = [place for place, name, value in values_in(body.get("result")) if value == target and name != "target"]
    if body.get("status") != "error" and used:
        yield f"`status` is {quote_member(body, 'status')}, and `/result{used[0]}` is the path"


@CHECKS.add(all_answers, "free-parameters")
def _free_parameters(exchanges: Mapping[str, ProbeExchange]) -> Iterator[str]:
    bodies = {name: object_in(exchange.text or "") or {} for name, exchange in exchanges.items()}
    if bodies["unknown_parameter"].get("status") == "error" != bodies["valid"].get("status"):
        yield f"unknown_parameter: {quote(bodies['unknown_parameter'].get('message'))}"


@CHECKS.add(each_object_in_exchange, "corrected")
def _corrected(body: JsonObject, exchange: ProbeExchange) -> Iterator[str]:
    yield from _STATUS(body)
    yield from _agent(body, exchange)
    yield from missing(body, "error_type" if body.get("status") == "error" else "result", "metadata")


# Words.


def _warnings(body: JsonObject) -> list[JsonObject]:
    warnings = body.get("warnings")
    return (
        [each if isinstance(each, dict) else cast("JsonObject", {}) for each in warnings]
        if isinstance(warnings, list)
        else []
    )


_SCORE: Final = re.compile(r"(?:^|_)(?:score|percent|percentage|completeness|confidence)$")
_COUNT: Final = re.compile(r"(?:^|_)(?:count|total)$|^(?:count|total|number)_(?:of_)?\w+$|^files_(?:read|written)$")
_MEASURED: Final = re.compile(
    r"(?:^|_)(?:amount|average|bytes|cost|coverage|days|distance|duration|eur|hours|minutes|mean|ms|ns|price|rate|ratio|revenue|s|sales|seconds|time|usd|value|weight)(?:_|$)"
)
"""Totals of these are measured, not counted."""
_NUMBER: Final = re.compile(r"\s*[-+]?[0-9]+(?:[.,][0-9]+)?\s*%?\s*")
_PLURAL: Final = re.compile(r"(?:[a-z]s|_list|children)$")
_NOT_PLURAL: Final = re.compile(
    r"(?:ss|us|is|as|^does|details|notes|remarks|series|^news)$|^(?:allows|has|is|needs|supports|uses|was|were)(?:_|$)"
)
"""Ends in an s, and may be one thing: a text, or whether something is so."""
_PATH: Final = re.compile(r"(?:^|_)(?:path|paths|file|files|filename|directory|folder)$")


@CHECKS.add(each_object, "scores")
def text_for_number(body: JsonObject) -> Iterator[str]:
    """Scores and percentages that are text, or something else than a number."""
    for place, name, value in values_in(body):
        wrong = isinstance(value, bool) or (isinstance(value, str) and _NUMBER.fullmatch(value))
        if _SCORE.search(name) and wrong:
            yield f"`{place}` is {quote(value)}"


@CHECKS.add(each_object, "arrays")
def wrong_array(body: JsonObject) -> Iterator[str]:
    """Nulls where a name in the plural says that there is an array."""
    for place, name, value in values_in(body):
        is_item = place.rpartition("/")[2].isdecimal()  # an empty cell of a row is no missing array
        single = any(one.search(name) for one in (_NOT_PLURAL, _COUNT, _MEASURED))
        plural = _PLURAL.search(name) and not single
        if value is None and plural and not is_item:
            yield f"`{place}` is null"


@CHECKS.add(each_object, "booleans")
def text_for_boolean(body: JsonObject) -> Iterator[str]:
    """Text that says true or false and nothing else."""
    for place, _, value in values_in(body):
        if isinstance(value, str) and value.strip().lower() in {"true", "false"}:
            yield f"`{place}` is {quote(value)}"


@CHECKS.add(each_object, "counts")
def wrong_count(body: JsonObject) -> Iterator[str]:
    """Counts and totals that are negative, broken, boolean or text."""
    for place, name, value in values_in(body):
        if not _COUNT.search(name) or _MEASURED.search(name) or _SCORE.search(name):
            continue
        is_number_text = isinstance(value, str) and _NUMBER.fullmatch(value)
        if is_number_text or isinstance(value, bool | float) or (isinstance(value, int) and value < 0):
            yield f"`{place}` is {quote(value)}"


@CHECKS.add(each_object, "paths")
def outside_path(body: JsonObject) -> Iterator[str]:
    """Paths that are neither absolute nor relative to the root of a repository."""
    for place, name, value in values_in(body.get("result")):
        if isinstance(value, str) and _PATH.search(name) and (why := _path_fault(value)):
            yield f"`/result{place}` {why}: {quote(value)}"


def _path_fault(path: str) -> str:
    if not path.strip():
        return "is empty"
    if any(mark in path for mark in "\0\n\r"):
        return "has a line break or NUL"
    if path.startswith("~"):
        return "leads to a user's home"
    if ".." in re.split(r"[/\\]", path):
        return "leads upwards"
    return "is a URL" if re.match(r"[a-z][a-z0-9+.-]+://", path, re.IGNORECASE) else ""


@CHECKS.add(each_object, "messages")
def generic_message(body: JsonObject) -> Iterator[str]:
    """Messages of errors and warnings that say nothing."""
    if body.get("status") == "error" and is_uninformative(body.get("message"), words=2):
        yield f"`message` is {quote(body.get('message'))}"
    for at, warning in objects_at(body, "warnings"):
        if is_uninformative(warning.get("message"), words=2):
            yield f"`warnings[{at}].message` is {quote(warning.get('message'))}"


@CHECKS.add(each_object, "recovery")
def generic_suggestion(body: JsonObject) -> Iterator[str]:
    """Ways out that are none."""
    suggestions = body.get("recovery_suggestions")
    for at, suggestion in enumerate(suggestions if isinstance(suggestions, list) else ()):
        if _is_unhelpful(suggestion):
            yield f"`recovery_suggestions[{at}]` is {quote(suggestion)}"
    for at, warning in objects_at(body, "warnings"):
        if "recovery" in warning and _is_unhelpful(warning["recovery"]):
            yield f"`warnings[{at}].recovery` is {quote(warning['recovery'])}"


def _is_unhelpful(value: JsonValue) -> bool:
    """Whether a way out says nothing, or is a single word: a name alone does not say what to do with it."""
    return is_uninformative(value) or (isinstance(value, str) and value.isascii() and len(value.split()) == 1)


CHECKS.update({
    "json": each_answer(strict_object),
    "status": each_object(_STATUS),
    "version": each_object(
        expect_member("version", lambda value: isinstance(value, str) and _VERSION.fullmatch(value) is not None)
    ),
    "execution-time": each_object(expect_member("metadata.execution_time_ms", is_count)),
    "file-counts": each_object(
        expect_member("metadata.files_read", is_count, optional=True),
        expect_member("metadata.files_written", is_count, optional=True),
    ),
    "warning-types": each_object(_each_warning("type", lambda value: value in _WARNING_TYPES)),
    "warning-recovery": each_object(_each_warning("recovery")),
    "completeness": each_object(
        expect_member(
            "metadata.completeness", lambda value: is_amount(value) and cast("float", value) <= 100, when="partial"
        )
    ),
    "error-types": each_object(expect_member("error_type", lambda value: value in _ERROR_TYPES, when="error")),
    "error-kind": each_object(expect_member("error_type", lambda value: value == "invalid_input")),
    "error-message": each_object(expect_member("message", is_nonblank, when="error")),
    "error-timestamp": each_object(
        expect_member(
            "metadata.error_timestamp",
            lambda value: isinstance(value, str) and _TIMESTAMP.fullmatch(value) is not None,
        )
    ),
    "impact": each_object(_each_warning("impact")),
    "not-ascii": each_object_in_exchange(garbled_values, lambda body, _: _STATUS(body)),
    "steady": same_members("status", "agent", "version", "operation"),
})  # fmt: skip
