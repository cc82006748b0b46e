"""The two wire formats: how a reply, an error and a stream of them are written.

OpenAI's chat completions and Anthropic's messages, as their public descriptions have them. No sockets.
"""

from collections.abc import Iterator
from typing import Any, Protocol

from retinue.contract.json import dumps
from tests.llm.wire.script import Call, Refusal, Reply, pieces

__all__ = ["FORMATS", "AnthropicMessages", "Format", "OpenAIChat"]

_OPENAI_KINDS = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded", 500: "server_error"}
_ANTHROPIC_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class Format(Protocol):
    """One provider's way of writing."""

    def body(self, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        """The whole answer at once."""
        ...

    def events(self, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        """The answer as server-sent events, each with its blank line."""
        ...

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """The body of an error."""
        ...

    def late_error(self, refusal: Refusal) -> str:
        """An error as an event."""
        ...

    def foreign(self) -> dict[str, Any]:
        """JSON that is no answer."""
        ...

    def empty(self, asked: dict[str, Any]) -> dict[str, Any]:
        """An answer with nothing in it."""
        ...


def _arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)


class OpenAIChat:
    """`POST /v1/chat/completions`."""

    def body(self, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        """A `chat.completion`."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
                for call in reply.calls
            ]
        choice = {"index": 0, "message": message, "finish_reason": self._finish(reply), "logprobs": None}
        return self._head("chat.completion", asked) | {"choices": [choice], "usage": self._usage(reply)}

    def events(self, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        """`chat.completion.chunk` after `chat.completion.chunk`, then `[DONE]`."""
        yield self._chunk(asked, {"role": "assistant", "content": ""})
        if reply.text:
            for piece in pieces(reply.text, reply.pieces):
                yield self._chunk(asked, {"content": piece})
        for index, call in enumerate(reply.calls):
            opened = {"index": index, "id": call.id, "type": "function", "function": {"name": call.name, "arguments": ""}}  # fmt: skip
            yield self._chunk(asked, {"tool_calls": [opened]})
            for piece in pieces(_arguments(call), reply.pieces):
                yield self._chunk(asked, {"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
        yield self._chunk(asked, {}, finish=self._finish(reply))
        if asked.get("stream_options", {}).get("include_usage"):
            yield self._event(self._head("chat.completion.chunk", asked) | {"choices": [], "usage": self._usage(reply)})
        yield "data: [DONE]\n\n"

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`error` with `message`, `type` and `code`."""
        kind = refusal.kind or _OPENAI_KINDS.get(refusal.status, "invalid_request_error")
        return {"error": {"message": refusal.message, "type": kind, "param": None, "code": kind}}

    def late_error(self, refusal: Refusal) -> str:
        """The same as data of an event."""
        return self._event(self.error(refusal))

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"object": "list", "data": []}

    def empty(self, asked: dict[str, Any]) -> dict[str, Any]:
        """No choices."""
        return self._head("chat.completion", asked) | {"choices": [], "usage": self._usage(Reply())}

    def _head(self, kind: str, asked: dict[str, Any]) -> dict[str, Any]:
        return {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": asked.get("model", "")}

    def _chunk(self, asked: dict[str, Any], delta: dict[str, Any], *, finish: str | None = None) -> str:
        choice = {"index": 0, "delta": delta, "finish_reason": finish}
        return self._event(self._head("chat.completion.chunk", asked) | {"choices": [choice]})

    def _event(self, data: dict[str, Any]) -> str:
        return f"data: {dumps(data)}\n\n"

    def _finish(self, reply: Reply) -> str:
        return "tool_calls" if reply.calls else {"end": "stop", "length": "length", "refused": "content_filter"}[reply.stop]  # fmt: skip

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "prompt_tokens": reply.tokens_in,
            "completion_tokens": reply.tokens_out,
            "total_tokens": reply.tokens_in + reply.tokens_out,
            "prompt_tokens_details": {"cached_tokens": reply.tokens_cached},
        }


class AnthropicMessages:
    """`POST /v1/messages`."""

    def body(self, reply: Reply, asked: dict[str, Any]) -> dict[str, Any]:
        """A `message`."""
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [{"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments} for each in reply.calls]  # fmt: skip
        usage = self._usage(reply) | {"output_tokens": reply.tokens_out}
        return self._head(asked) | {"content": content, "stop_reason": self._stop(reply), "usage": usage}

    def events(self, reply: Reply, asked: dict[str, Any]) -> Iterator[str]:
        """`message_start`, blocks in pieces, `message_delta`, `message_stop`."""
        head: dict[str, Any] = self._head(asked) | {"content": [], "usage": self._usage(reply) | {"output_tokens": 1}}
        yield self._event({"type": "message_start", "message": head})
        yield self._event({"type": "ping"})
        blocks: list[tuple[dict[str, Any], str, str, str]] = []
        if reply.text:
            blocks.append(({"type": "text", "text": ""}, "text_delta", "text", reply.text))
        for call in reply.calls:
            block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            blocks.append((block, "input_json_delta", "partial_json", _arguments(call)))
        for index, (start, kind, key, text) in enumerate(blocks):
            yield self._event({"type": "content_block_start", "index": index, "content_block": start})
            for piece in pieces(text, reply.pieces):
                delta = {"type": kind, key: piece}
                yield self._event({"type": "content_block_delta", "index": index, "delta": delta})
            yield self._event({"type": "content_block_stop", "index": index})
        delta = {"stop_reason": self._stop(reply), "stop_sequence": None}
        usage = {"output_tokens": reply.tokens_out}
        yield self._event({"type": "message_delta", "delta": delta, "usage": usage})
        yield self._event({"type": "message_stop"})

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`error` with `type` and `message`."""
        kind = refusal.kind or _ANTHROPIC_KINDS.get(refusal.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "req_1"}

    def late_error(self, refusal: Refusal) -> str:
        """The same as an event."""
        return self._event(self.error(refusal))

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"data": [], "has_more": False}

    def empty(self, asked: dict[str, Any]) -> dict[str, Any]:
        """No content."""
        return self.body(Reply(), asked)

    def _head(self, asked: dict[str, Any]) -> dict[str, Any]:
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.get("model", "")}
        return head | {"stop_reason": None, "stop_sequence": None}

    def _event(self, data: dict[str, Any]) -> str:
        return f"event: {data['type']}\ndata: {dumps(data)}\n\n"

    def _stop(self, reply: Reply) -> str:
        return "tool_use" if reply.calls else {"end": "end_turn", "length": "max_tokens", "refused": "refusal"}[reply.stop]  # fmt: skip

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "input_tokens": reply.tokens_in - reply.tokens_cached,
            "cache_read_input_tokens": reply.tokens_cached,
            "cache_creation_input_tokens": 0,
        }


FORMATS: dict[str, Format] = {"/v1/chat/completions": OpenAIChat(), "/v1/messages": AnthropicMessages()}
"""By the path that is asked."""
