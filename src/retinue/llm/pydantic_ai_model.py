"""A model of pydantic-ai, spoken to by our port: one request, one response.

The loop, the tools, the budget and the permissions are not here (`conversation`), and no request is tried twice:
whoever makes an attempt decides that.
"""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Final, Literal, cast

from retinue.contract.credentials import Cleaner
from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.contract.result import Cost, Usage
from retinue.errors import InvalidInput, NetworkError, OutputInvalid, RetinueError

from ._bedrock import in_flight
from .failures import timeout_error, translate_error
from .port import AnswerShape, OnText, Request, Response, StopReason
from .prices import Price, PriceList
from .provider_info import LazyModule
from .pydantic_ai_messages import MessageTranslator

if TYPE_CHECKING:
    from pydantic_ai import messages, models, output, profiles, settings, tools
else:
    messages, models, output, tools = (
        LazyModule(f"pydantic_ai.{name}") for name in ("messages", "models", "output", "tools")
    )

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
        model: "models.Model",
        *,
        name: str = "",
        price: Price | None = None,
        address: str = "",
        variables: Sequence[str] = (),
        cleaner: Cleaner | None = None,
    ) -> None:
        self.model = model
        self.name = name or f"{model.system}:{model.model_name}"
        self._profile: profiles.ModelProfile = {}
        with suppress(NotImplementedError):  # nothing is known of one that only hands on to others
            self._profile = model.profile
        limit: object = self._profile.get("anthropic_max_output_tokens")
        self.max_output: int | None = limit if isinstance(limit, int) else None
        self._messages = MessageTranslator(f"{model.system} {address}".strip())
        self._prices = PriceList(self.name, own=price, address=address)
        self._variables, self._cleaner = tuple(variables), cleaner
        self._tools: tuple[Sequence[ToolSpec], list[tools.ToolDefinition]] = ((), [])

    def __repr__(self) -> str:
        return f"PydanticAIModel({self.name!r})"

    async def respond(self, request: Request, *, on_text: OnText | None = None) -> Response:
        """Answer once, by the provider. Errors are those of `LanguageModel.respond`."""
        if request.tools and not self._profile.get("supports_tools", True):
            raise InvalidInput(f"`{self.name}` cannot use tools.", hint="Use a model that can, or ask without tools.")
        parameters, output_tool = self._request_parameters(request)
        options = self._settings(request)
        seconds = request.timeout_s
        timer = asyncio.timeout(seconds)
        try:
            async with timer:
                native = self.model.prepare_messages(self._messages.to_messages(request.turns), parameters)
                # Have connections that belong to this event loop; an agent of pydantic-ai does it before each
                # run.
                self.model._refresh_http_client()  # pyright: ignore[reportPrivateUsage] - there is no public way  # noqa: SLF001
                with in_flight():
                    if on_text is None and (request.max_tokens or 0) <= _STREAMED:
                        response = await self.model.request(native, options, parameters)
                    else:
                        response = await self._stream(native, options, parameters, on_text)
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
        names = self.model.unsupported_settings
        ignored += [
            name for name in ("temperature", "max_tokens") if getattr(request, name) is not None and name in names
        ]
        return tuple(ignored)

    async def close(self) -> None:
        """Close the connections. The model may still be asked; it opens new ones."""
        async with self.model:
            pass

    @property
    def _supports_thinking(self) -> bool:
        return bool(self._profile.get("supports_thinking") or self._profile.get("thinking_always_enabled"))

    def _request_parameters(self, request: Request) -> "tuple[models.ModelRequestParameters, str]":
        """Tools, instructions and the shape of the answer; and the name of the tool whose arguments are the answer."""
        parts = [messages.InstructionPart(request.instructions)] if request.instructions else []
        if request.tools is not self._tools[0]:  # those of the last request are kept, for the next is mostly alike
            self._tools = (
                request.tools,
                [_tool(spec.name, spec.description, spec.input_schema) for spec in request.tools],
            )
        definitions = self._tools[1]
        parameters = models.ModelRequestParameters(function_tools=definitions, instruction_parts=parts)
        shape = request.shape
        if shape is None:
            return parameters, ""
        mode = self._mode(request, shape)
        if mode == "tool":
            name = shape.name
            while any(tool.name == name for tool in definitions):
                name += "_"
            answer = replace(_tool(name, shape.description or None, shape.schema), kind="output")
            return replace(parameters, output_mode="tool", output_tools=[answer], allow_text_output=False), name
        target = output.OutputObjectDefinition(
            json_schema=shape.schema,
            name=shape.name,
            description=shape.description or None,
            strict=_strictness(shape.schema),
        )
        return replace(parameters, output_mode=mode, output_object=target), ""

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

    def _settings(self, request: Request) -> "settings.ModelSettings":
        options: settings.ModelSettings = {"max_retries": 0}
        if request.max_tokens is not None:
            options["max_tokens"] = request.max_tokens
        if request.temperature is not None:
            options["temperature"] = request.temperature
        if request.timeout_s is not None:
            options["timeout"] = request.timeout_s
        if request.effort is not None and self._supports_thinking and self._has_thinking_room(request):
            options["thinking"] = request.effort
        if request.tools and self._profile.get("supports_cache"):
            # Tools mean more requests to come, and each repeats what the one before it said.
            options["cache"] = True
        for name in self.model.unsupported_settings:
            options.pop(name, None)
        return options

    def _has_thinking_room(self, request: Request) -> bool:
        """Whether thinking leaves an answer: where it is a number of tokens, that must be less than all."""
        is_claude = self.model.system == "anthropic" or self._profile.get("bedrock_thinking_variant") == "anthropic"
        if request.max_tokens is None or request.effort is None or not is_claude:
            return True
        adaptive = any(self._profile.get(f"{each}_supports_adaptive_thinking") for each in ("anthropic", "bedrock"))
        return adaptive or request.max_tokens > _THINKING_BUDGETS[request.effort]

    async def _stream(
        self,
        native: "list[messages.ModelMessage]",
        options: "settings.ModelSettings",
        parameters: "models.ModelRequestParameters",
        on_text: OnText | None,
    ) -> "messages.ModelResponse":
        length = 0
        async with self.model.request_stream(native, options, parameters) as stream:
            async for event in stream:
                piece = ""
                if isinstance(event, messages.PartStartEvent) and isinstance(event.part, messages.TextPart):
                    piece = event.part.content
                elif isinstance(event, messages.PartDeltaEvent) and isinstance(event.delta, messages.TextPartDelta):
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

    def _is_complete(self, response: "messages.ModelResponse") -> bool:
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

    def _usage(self, response: "messages.ModelResponse") -> Usage:
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


def _tool(name: str, description: str | None, schema: JsonMapping) -> "tools.ToolDefinition":
    return tools.ToolDefinition(
        name=name, description=description, parameters_json_schema=schema, strict=_strictness(schema)
    )


def _strictness(schema: JsonMapping) -> bool | None:
    """A provider that is strict would close what is open; None leaves it to the provider."""
    return False if is_open(schema) else None


def openai_model(name: str, provider: str, *, base_url: str, key: str) -> "models.Model":
    """The model that an address serves as OpenAI's chat completions do, called `provider` in messages."""
    chat: Any = LazyModule("pydantic_ai.models.openai")
    compatible: Any = LazyModule("pydantic_ai.providers.openai_compatible")
    endpoint = compatible.OpenAICompatibleProvider(provider, base_url=base_url, api_key=key)
    return chat.OpenAIChatModel(name, provider=endpoint)


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
