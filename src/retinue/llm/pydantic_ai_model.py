"""A model of pydantic-ai, spoken to by our port: one request, one response.

The loop, the tools, the budget and the permissions are not here (`conversation`), and no request is tried twice:
whoever makes an attempt decides that.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final, Literal, cast

from retinue.contract.credentials import Cleaner
from retinue.contract.definition import ToolSpec
from retinue.contract.result import Cost, Usage
from retinue.errors import InvalidInput, NetworkError, OutputInvalid, RetinueError

from ._bedrock import in_flight
from .failures import timeout_error, translate_error
from .port import AnswerShape, OnText, Request, Response, StopReason
from .prices import Price, PriceList
from .pydantic_ai_messages import MessageTranslator

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage, ModelResponse
    from pydantic_ai.models import Model, ModelRequestParameters
    from pydantic_ai.profiles import ModelProfile
    from pydantic_ai.settings import ModelSettings
    from pydantic_ai.tools import ToolDefinition


_STREAMED: Final = 16_384
"""Tokens of an answer from which on it is streamed whether anybody hears it or not: some clients insist on it."""

_MAX_STREAM: Final = 2**21
"""Characters of a stream after which nobody reads on."""

_STOPS: Final[dict[str | None, StopReason]] = {
    None: "end",
    "stop": "end",
    "tool_call": "end",
    "length": "length",
    "content_filter": "refused",
    "error": "other",
}
_THINKING_BUDGETS: Final = {"low": 2_048, "medium": 10_000, "high": 16_384, "max": 32_768}
"""Tokens that thinking takes of an answer where a provider asks for a number."""

_NARROW: Final = frozenset({"anthropic", "bedrock"})
"""Systems whose own form of structured output takes only some schemas."""


_GOOGLE: Final = frozenset({"google", "google-cloud"})


class PydanticAIModel:
    """A language model over any `Model` of pydantic-ai.

    Args:
        model: The model.
        name: What it is called, as `provider:model`; by default what it says of itself.
        price: A price of one's own, which holds instead of the price book's.
        address: The provider's address where it is not its usual one.
        variables: The environment variables that may hold its key, for the hint when it is refused.
        cleaner: Takes keys out of what the provider says.

    Attributes:
        model: The model.
        name: `provider:model`.
        max_output: The most tokens one response can hold, as far as known.
    """

    def __init__(
        self,
        model: "Model",
        *,
        name: str = "",
        price: Price | None = None,
        address: str = "",
        variables: Sequence[str] = (),
        cleaner: Cleaner | None = None,
    ) -> None:
        from pydantic_ai.models import ModelRequestParameters  # noqa: PLC0415 - optional
        from pydantic_ai.tools import ToolDefinition  # noqa: PLC0415 - optional

        self.model = model
        self.name = name or f"{model.system}:{model.model_name}"
        self._profile = _profile_of(model)
        limit: object = self._profile.get("anthropic_max_output_tokens")
        self.max_output: int | None = limit if isinstance(limit, int) else None
        self._messages = MessageTranslator(f"{model.system} {address}".strip())
        self._prices = PriceList(self.name, own=price, address=address)
        self._variables, self._cleaner = tuple(variables), cleaner
        self._parameters, self._definition = ModelRequestParameters, ToolDefinition
        self._tools: tuple[Sequence[ToolSpec], list[ToolDefinition]] = ((), [])

    def __repr__(self) -> str:
        return f"PydanticAIModel({self.name!r})"

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Answer once, by the provider. Errors are those of `LanguageModel.respond`."""
        if request.tools and not self._profile.get("supports_tools", True):
            raise InvalidInput(f"`{self.name}` cannot use tools.", hint="Use a model that can, or ask without tools.")
        parameters, output_tool = self._request_parameters(request)
        settings = self._settings(request)
        seconds = request.timeout_s
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                messages = self.model.prepare_messages(self._messages.to_messages(request.turns), parameters)
                # Have connections that belong to this event loop; an agent of pydantic-ai does it before each
                # run.
                self.model._refresh_http_client()  # pyright: ignore[reportPrivateUsage] - there is no public way  # noqa: SLF001
                with in_flight():
                    if on_text is None and (request.max_tokens or 0) <= _STREAMED:
                        response = await self.model.request(messages, settings, parameters)
                    else:
                        response = await self._stream(messages, settings, parameters, on_text)
        except TimeoutError as error:
            if seconds is not None and timer.expired():
                raise timeout_error(self.name, seconds) from error
            raise NetworkError(f"`{self.name}` did not answer in time.", hint="Try again.") from error
        except RetinueError:
            raise
        except Exception as error:  # noqa: BLE001 - clients raise whatever they like; ours is raised instead
            # What the client says may hold the key, so its own words are not chained to ours.
            raise translate_error(error, model=self.name, variables=self._variables, cleaner=self._cleaner) from None
        if not (response.parts or response.finish_reason or response.usage.has_values()):
            raise self._no_answer_error()
        turn = self._messages.to_turn(response, output_tool=output_tool)
        stop = "tools" if turn.tool_calls else _STOPS.get(response.finish_reason, "other")
        return Response(turn, self._usage(response), stop)

    def price(self, *, tokens_in: int, tokens_out: int) -> float | None:
        """US dollars that a call of this size would cost at most; None when the price is not known.

        Where a provider takes more for what it puts into its cache, all of it is thought to go there.
        """
        cache_tokens = tokens_in if self._profile.get("supports_cache") else 0
        cost = self._prices.cost(tokens_in=tokens_in, tokens_out=tokens_out, tokens_written=cache_tokens)
        return None if cost is None else cost.usd

    def unsupported(self, request: Request) -> tuple[str, ...]:
        """What `request` asks for that this model is known to ignore: `effort`, `temperature`, `max_tokens`."""
        ignored: list[str] = []
        if request.effort is not None and not (self._supports_thinking and self._has_thinking_room(request)):
            ignored.append("effort")
        settings = self.model.unsupported_settings
        if request.temperature is not None and "temperature" in settings:
            ignored.append("temperature")
        if request.max_tokens is not None and "max_tokens" in settings:
            ignored.append("max_tokens")
        return tuple(ignored)

    async def close(self) -> None:
        """Close the connections. The model may still be asked; it opens new ones."""
        async with self.model:
            pass

    @property
    def _supports_thinking(self) -> bool:
        return bool(self._profile.get("supports_thinking") or self._profile.get("thinking_always_enabled"))

    def _request_parameters(self, request: Request) -> "tuple[ModelRequestParameters, str]":
        """Tools, instructions and the shape of the answer; and the name of the tool whose arguments are the answer."""
        from pydantic_ai.messages import InstructionPart  # noqa: PLC0415 - optional

        parts = [InstructionPart(request.instructions)] if request.instructions else []
        tools = self._tool_definitions(request.tools)
        shape = request.shape
        if shape is None:
            return self._parameters(function_tools=tools, instruction_parts=parts), ""
        from pydantic_ai.output import OutputObjectDefinition  # noqa: PLC0415 - optional

        mode = self._mode(request, shape)
        strict = False if is_open(shape.schema) else None
        if mode == "tool":
            name = shape.name
            while any(tool.name == name for tool in tools):
                name += "_"
            output = self._definition(
                name=name,
                description=shape.description or None,
                parameters_json_schema=shape.schema,
                kind="output",
                strict=strict,
            )
            parameters = self._parameters(
                function_tools=tools,
                instruction_parts=parts,
                output_mode="tool",
                output_tools=[output],
                allow_text_output=False,
            )
            return parameters, name
        target = OutputObjectDefinition(
            json_schema=shape.schema,
            name=shape.name,
            description=shape.description or None,
            strict=strict,
        )
        parameters = self._parameters(
            function_tools=tools, instruction_parts=parts, output_mode=mode, output_object=target
        )
        return parameters, ""

    def _mode(self, request: Request, shape: AnswerShape) -> Literal["native", "tool", "prompted"]:
        """How an answer of a shape is asked for: the stricter the better, where nothing of the shape is lost."""
        narrow = self.model.system in _NARROW
        native = self._profile.get("supports_json_schema_output") and not (narrow and not compiles(shape.schema))
        # The older models of Google take either tools or a schema for the answer.
        either = self.model.system in _GOOGLE and not self._profile.get("google_supports_tool_combination")
        if native and not (request.tools and either):
            return "native"
        if narrow and request.effort is not None and self._supports_thinking:
            return "prompted"  # whoever thinks first cannot be made to use a tool
        return "tool" if self._profile.get("supports_tools", True) else "prompted"

    def _tool_definitions(self, specs: Sequence[ToolSpec]) -> "list[ToolDefinition]":
        """The tools as pydantic-ai knows them; those of the last request are kept, for the next is mostly alike."""
        if specs is not self._tools[0]:
            definitions = [
                self._definition(
                    name=spec.name,
                    description=spec.description,
                    parameters_json_schema=spec.input_schema,
                    strict=False if is_open(spec.input_schema) else None,
                )
                for spec in specs
            ]
            self._tools = (specs, definitions)
        return self._tools[1]

    def _settings(self, request: Request) -> "ModelSettings":
        settings: ModelSettings = {"max_retries": 0}
        if request.max_tokens is not None:
            settings["max_tokens"] = request.max_tokens
        if request.temperature is not None:
            settings["temperature"] = request.temperature
        if request.timeout_s is not None:
            settings["timeout"] = request.timeout_s
        if request.effort is not None and self._supports_thinking and self._has_thinking_room(request):
            settings["thinking"] = request.effort
        if request.tools and self._profile.get("supports_cache"):
            # Tools mean more requests to come, and each repeats what the one before it said.
            settings["cache"] = True
        for name in self.model.unsupported_settings:
            settings.pop(name, None)
        return settings

    def _has_thinking_room(self, request: Request) -> bool:
        """Whether thinking leaves an answer: where it is a number of tokens, that must be less than all."""
        is_claude = self.model.system == "anthropic" or self._profile.get("bedrock_thinking_variant") == "anthropic"
        if request.max_tokens is None or request.effort is None or not is_claude:
            return True
        adaptive = any(self._profile.get(f"{each}_supports_adaptive_thinking") for each in ("anthropic", "bedrock"))
        return adaptive or request.max_tokens > _THINKING_BUDGETS[request.effort]

    async def _stream(
        self,
        messages: "list[ModelMessage]",
        settings: "ModelSettings",
        parameters: "ModelRequestParameters",
        on_text: OnText | None,
    ) -> "ModelResponse":
        from pydantic_ai.messages import (  # noqa: PLC0415 - optional
            PartDeltaEvent,
            PartStartEvent,
            TextPart,
            TextPartDelta,
        )

        length = 0
        async with self.model.request_stream(messages, settings, parameters) as stream:
            async for event in stream:
                piece = ""
                if isinstance(event, PartStartEvent) and isinstance(event.part, TextPart):
                    piece = event.part.content
                elif isinstance(event, PartDeltaEvent) and isinstance(event.delta, TextPartDelta):
                    piece = event.delta.content_delta
                if piece:
                    length += len(piece)
                    if on_text is not None:
                        on_text(piece)
                if length > _MAX_STREAM:
                    return stream.get()
            response = stream.get()
        if self._is_complete(response):
            return response
        if not response.parts:
            raise self._no_answer_error()
        raise NetworkError(
            f"The answer of `{self.name}` was cut off on the way.", hint="Try again.", detail={"reached": True}
        )

    def _no_answer_error(self) -> OutputInvalid:
        return OutputInvalid(f"What `{self.name}` sent is not an answer.", hint="Try again, or use another model.")

    def _is_complete(self, response: "ModelResponse") -> bool:
        """Whether a stream came to its end: some servers never say why they stop, but then they say what it took."""
        if response.state == "incomplete":
            return False
        if self.model.provider is None:
            return True
        if response.finish_reason is None:
            return False
        # For servers that never say why, `stop` is assumed of every stream, a cut one too.
        has_reason = response.finish_reason != "stop" or (response.provider_details or {}).get("finish_reason")
        return bool(has_reason) or (response.usage.has_values() and not response.usage.unmeasured_requests)

    def _usage(self, response: "ModelResponse") -> Usage:
        used = response.usage
        # Another model than the one asked only when the provider says that another one answered.
        provider, _, name = self.name.partition(":")
        reported = response.model_name or name
        model = self.name if name in reported else f"{provider}:{reported}"
        if used.unmeasured_requests or not used.has_values():
            return Usage(requests=1, model=model)
        if used.cost is not None and used.cost >= 0:
            day = response.timestamp.date().isoformat()
            cost = Cost(usd=float(used.cost), price_id=f"{provider}: as billed", price_date=day)
        else:
            cost = self._prices.cost(
                tokens_in=used.input_tokens,
                tokens_out=used.output_tokens,
                tokens_cached=used.cache_read_tokens,
                tokens_written=used.cache_write_tokens,
            )
        return Usage(
            tokens_in=used.input_tokens,
            tokens_out=used.output_tokens,
            tokens_cached=used.cache_read_tokens or None,
            requests=1,
            cost=cost,
            model=model,
        )


def _profile_of(model: "Model") -> "ModelProfile":
    """What the model can do; nothing is known of one that only hands on to others."""
    try:
        return model.profile
    except NotImplementedError:
        return {}


_MAX_DEPTH: Final = 64
_MAX_OPTIONAL: Final = 24
"""Keys that need not be there, in a whole schema: with more, the grammar is refused as too large."""

_NOT_COMPILED: Final = frozenset({"$ref", "$dynamicRef", "allOf", "anyOf", "oneOf", "not", "if", "prefixItems"})


def is_open(schema: object) -> bool:
    """Whether some object in `schema` may hold keys that nothing names.

    An object that lists its keys and says nothing of others is not meant: closing it loses nothing that was asked for.
    """
    return any(_takes_any_key(each) for each in _schemas(schema))


def compiles(schema: object) -> bool:
    """Whether `schema` is one that providers with a narrow grammar take, and take whole."""
    optional = 0
    for each in _schemas(schema):
        if _takes_any_key(each) or isinstance(each.get("type"), (list, tuple)) or _NOT_COMPILED & each.keys():
            return False
        keys, required = each.get("properties"), each.get("required")
        if isinstance(keys, Mapping):
            required_keys = cast("Sequence[object]", required) if isinstance(required, (list, tuple)) else ()
            optional += sum(key not in required_keys for key in cast("Mapping[str, object]", keys))
    return optional <= _MAX_OPTIONAL


def _takes_any_key(schema: Mapping[str, object]) -> bool:
    kinds = schema.get("type")
    types = cast("Sequence[object]", kinds) if isinstance(kinds, (list, tuple)) else (kinds,)
    if "object" not in types:
        return False
    others = schema.get("additionalProperties")
    return bool(others or schema.get("patternProperties")) or (others is None and not schema.get("properties"))


def _schemas(value: object, depth: int = 0) -> Iterator[Mapping[str, object]]:
    """Every object in `value`, itself included: more than the schemas in it, but never fewer."""
    if depth > _MAX_DEPTH:
        return
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, object]", value)
        yield mapping
        for each in mapping.values():
            yield from _schemas(each, depth + 1)
    elif isinstance(value, (list, tuple)):
        for each in cast("Sequence[object]", value):
            yield from _schemas(each, depth + 1)
