"""Spans for OpenTelemetry.

The only module that imports its API, and the one list of the names in its spans: those of its conventions for
generative AI, and under `retinue.` what these have no name for. What becomes of spans is for the program that sets a
tracer provider up: until it has loaded `opentelemetry.trace`, nothing is loaded and nothing made here.

No span holds what was asked or answered, nor the message of a failure, which may quote both: only its code.
"""

import sys
from asyncio import CancelledError
from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Final, Self

from retinue import __version__
from retinue.contract.credentials import process_cleaner
from retinue.contract.result import Result, Usage
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from contextvars import Token

    from opentelemetry.context import Context
    from opentelemetry.trace import Span as OtelSpan, Tracer

_OPERATION: Final = "gen_ai.operation.name"
_AGENT: Final = "gen_ai.agent.name"
_AGENT_VERSION: Final = "gen_ai.agent.version"
_PROVIDER: Final = "gen_ai.provider.name"
_REQUEST_MODEL: Final = "gen_ai.request.model"
_RESPONSE_MODEL: Final = "gen_ai.response.model"
_TOKENS_IN: Final = "gen_ai.usage.input_tokens"
_TOKENS_OUT: Final = "gen_ai.usage.output_tokens"
_TOKENS_CACHED: Final = "gen_ai.usage.cache_read.input_tokens"
_TOOL: Final = "gen_ai.tool.name"
_TOOL_CALL: Final = "gen_ai.tool.call.id"
_ERROR: Final = "error.type"
_METHOD: Final = "http.request.method"
_RUN: Final = "retinue.run.id"
_STEP: Final = "retinue.step.id"
_SKILL: Final = "retinue.skill.name"
_ATTEMPT: Final = "retinue.attempt.number"
_OUTCOME: Final = "retinue.outcome"

_CANCELED: Final = "canceled"
_LONGEST: Final = 500
_GREATEST: Final = 2**63 - 1
"""What the protocol can say: a greater number would cost all spans that are sent with it."""

_PROVIDERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "azure": "azure.ai.openai",
        "azure-responses": "azure.ai.openai",
        "bedrock": "aws.bedrock",
        "bedrock-mantle": "aws.bedrock",
        "google": "gcp.gemini",
        "google-cloud": "gcp.vertex_ai",
        "mistral": "mistral_ai",
        "moonshotai": "moonshot_ai",
        "openai-chat": "openai",
        "openai-responses": "openai",
        "xai": "x_ai",
    }
)
"""Providers that the conventions call by another name than we do."""


class Span:
    """Something that takes time, from entering it to leaving it; what begins meanwhile in its context stands below it.

    An exception that passes marks it as failed, by the code of an error of ours or the name of its class. To be
    cancelled, or to wait for a person, is no failure. Where nobody wants spans, all of this does nothing.
    """

    __slots__ = ("_mark", "_span", "_token")

    def __init__(self, span: "OtelSpan | None") -> None:
        self._span = span

    def __enter__(self) -> Self:
        if self._span is not None:
            from opentelemetry import context, trace  # noqa: PLC0415 - loaded already: there is a span

            self._mark: Token[Span] = _current_span.set(self)
            self._token: Token[Context] = context.attach(trace.set_span_in_context(self._span))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        if self._span is None:
            return
        from opentelemetry import context  # noqa: PLC0415 - as above

        if error is not None:
            self.fail(_code_of(error))
        self._span.end()
        try:
            _current_span.reset(self._mark)
        except ValueError:  # a coroutine that was thrown out is closed in the context of whoever does that
            return
        context.detach(self._token)

    def fail(self, code: str) -> None:
        """Mark it as failed."""
        if self._span is not None and code != _CANCELED:
            from opentelemetry.trace import StatusCode  # noqa: PLC0415 - as above

            self._span.set_attribute(_ERROR, code)
            self._span.set_status(StatusCode.ERROR)

    def note_result(self, result: Result) -> None:
        """Note how an agent or a run ended, and what it took."""
        if self._span is None:
            return
        if result.outcome is not None:
            self._span.set_attribute(_OUTCOME, result.outcome)
        if result.usage is not None:
            self._note_tokens(result.usage)
        if result.fault is not None and not result.useful:
            self.fail(result.fault.code)

    def note_usage(self, usage: Usage) -> None:
        """Note what a model's response took, and which model gave it."""
        if self._span is None:
            return
        if usage.model:
            self._span.set_attribute(_RESPONSE_MODEL, _split(_clean(usage.model))[1])
        self._note_tokens(usage)

    def _note_tokens(self, usage: Usage) -> None:
        counts = {_TOKENS_IN: usage.tokens_in, _TOKENS_OUT: usage.tokens_out, _TOKENS_CACHED: usage.tokens_cached}
        for name, count in counts.items():
            if count is not None and self._span is not None:
                self._span.set_attribute(name, min(count, _GREATEST))


_NO_SPAN: Final = Span(None)

_current_span: Final[ContextVar[Span]] = ContextVar("retinue_span")
"""Tells whether a span is left in the context in which it was entered."""


def run_span(run: str) -> Span:
    """A run of a plan, or a child run."""
    return _start_span("invoke_workflow", "", {_RUN: run})


def agent_span(agent: str, skill: str | None, *, run: str, step: str, version: str | None = None) -> Span:
    """One agent asked for one thing, all its attempts together: the step of a run, or a call inside one."""
    values = {_AGENT: agent, _AGENT_VERSION: version, _SKILL: skill, _RUN: run, _STEP: step}
    return _start_span("invoke_agent", agent, values)


def attempt_span(number: int) -> Span:
    """One attempt of an agent."""
    return _start_span("attempt", "", {_ATTEMPT: number})


def model_span(model: str) -> Span:
    """One request to `model`, named as `provider:model`."""
    provider, name = _split(_clean(model))
    return _start_span("chat", name, {_PROVIDER: _PROVIDERS.get(provider, provider), _REQUEST_MODEL: name})


def tool_span(tool: str, call: str = "") -> Span:
    """One use of a tool, the question whether it may be used included."""
    tool = _clean(tool)
    return _start_span("execute_tool", tool, {_TOOL: tool, _TOOL_CALL: _clean(call)})


def request_span(method: str, headers: Mapping[str, str]) -> Span:
    """One request to a server, below the span of its caller where the headers name one (names in small letters)."""
    if "opentelemetry.trace" not in sys.modules:
        return _NO_SPAN
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra, loaded already
    from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415 - likewise

    context = TraceContextTextMapPropagator().extract(headers)
    span = _tracer().start_span(method, context=context, kind=SpanKind.SERVER, attributes={_METHOD: method})
    return Span(span) if span.get_span_context().is_valid else _NO_SPAN


def child_environment() -> dict[str, str]:
    """The variable by which a program that is started now puts its spans below ours; nothing where there are none."""
    if "opentelemetry.trace" not in sys.modules:
        return {}
    from opentelemetry.trace import get_current_span  # noqa: PLC0415 - loaded already

    span = get_current_span().get_span_context()
    if not span.is_valid:
        return {}
    return {"TRACEPARENT": f"00-{span.trace_id:032x}-{span.span_id:016x}-{span.trace_flags:02x}"}


def _start_span(operation: str, subject: str, values: Mapping[str, str | int | None]) -> Span:
    # Whoever sets a provider up has loaded the API before. To load it only to find none takes 25 ms.
    if "opentelemetry.trace" not in sys.modules:
        return _NO_SPAN
    from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra, loaded already

    attributes = {name: value for name, value in values.items() if value}
    if operation != "attempt":  # the conventions have no name for it
        attributes[_OPERATION] = operation
    kind = SpanKind.CLIENT if operation == "chat" else SpanKind.INTERNAL
    span = _tracer().start_span(f"{operation} {subject}".rstrip(), kind=kind, attributes=attributes)
    # Without a provider, and without a span of somebody else's around, there is nothing to hand down.
    return Span(span) if span.get_span_context().is_valid else _NO_SPAN


@cache
def _tracer() -> "Tracer":
    from opentelemetry.trace import get_tracer  # noqa: PLC0415 - as above

    return get_tracer("retinue", __version__)  # it works for the provider that is set up, now or later


def _clean(text: str) -> str:
    """A name that a provider, a server of tools or a setting gave: without credentials, and such as can be sent."""
    if not text or "opentelemetry.trace" not in sys.modules:
        return text
    return process_cleaner().text(text[:_LONGEST])


def _split(model: str) -> tuple[str, str]:
    provider, colon, name = model.partition(":")
    return (provider, name) if colon else ("", model)


def _code_of(error: BaseException) -> str:
    if isinstance(error, RetinueError):
        return error.code
    return _CANCELED if isinstance(error, CancelledError | GeneratorExit) else type(error).__name__
