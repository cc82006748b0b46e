"""How Anthropic writes its messages. No sockets."""

from collections.abc import Iterator
from typing import Any

from retinue.contract.json import dumps
from tests.llm.wire.script import Asked, Refusal, Reply, pieces

__all__ = ["AnthropicMessages"]

_KINDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    404: "not_found_error",
    429: "rate_limit_error",
    500: "api_error",
    529: "overloaded_error",
}


class AnthropicMessages:
    """`POST /v1/messages`."""

    stream_type = "text/event-stream"
    garbled = b'event: message\ndata: {"id": [}\n\n'

    def is_streamed(self, asked: Asked) -> bool:
        """The body says it."""
        return bool(asked.body.get("stream"))

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """A `message`."""
        content: list[dict[str, Any]] = [{"type": "text", "text": reply.text}] if reply.text else []
        content += [{"type": "tool_use", "id": each.id, "name": each.name, "input": each.arguments} for each in reply.calls]  # fmt: skip
        usage = self._usage(reply) | {"output_tokens": reply.tokens_out}
        return self._head(asked) | {"content": content, "stop_reason": self._stop(reply), "usage": usage}

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        """`message_start`, blocks in pieces, `message_delta`, `message_stop`."""
        head: dict[str, Any] = self._head(asked) | {"content": [], "usage": self._usage(reply) | {"output_tokens": 1}}
        yield self._event({"type": "message_start", "message": head})
        yield self._event({"type": "ping"})
        blocks: list[tuple[dict[str, Any], str, str, str]] = []
        if reply.text:
            blocks.append(({"type": "text", "text": ""}, "text_delta", "text", reply.text))
        for call in reply.calls:
            block: dict[str, Any] = {"type": "tool_use", "id": call.id, "name": call.name, "input": {}}
            written = call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)
            blocks.append((block, "input_json_delta", "partial_json", written))
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
        kind = refusal.kind or _KINDS.get(refusal.status, "api_error")
        return {"type": "error", "error": {"type": kind, "message": refusal.message}, "request_id": "req_1"}

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """How long to wait."""
        return {"retry-after": refusal.retry_after} if refusal.retry_after else {}

    def late_error(self, refusal: Refusal) -> bytes:
        """The same as an event."""
        return self._event(self.error(refusal))

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"data": [], "has_more": False}

    def foreign_event(self) -> bytes:
        """The same as data of an event."""
        return f"data: {dumps(self.foreign())}\n\n".encode()

    def empty(self, asked: Asked) -> dict[str, Any]:
        """No content."""
        return self.body(Reply(), asked)

    def _head(self, asked: Asked) -> dict[str, Any]:
        head = {"id": "msg_1", "type": "message", "role": "assistant", "model": asked.body.get("model", "")}
        return head | {"stop_reason": None, "stop_sequence": None}

    def _event(self, data: dict[str, Any]) -> bytes:
        return f"event: {data['type']}\ndata: {dumps(data)}\n\n".encode()

    def _stop(self, reply: Reply) -> str:
        return "tool_use" if reply.calls else {"end": "end_turn", "length": "max_tokens", "refused": "refusal"}[reply.stop]  # fmt: skip

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "input_tokens": reply.tokens_in - reply.tokens_cached,
            "cache_read_input_tokens": reply.tokens_cached,
            "cache_creation_input_tokens": 0,
        }
