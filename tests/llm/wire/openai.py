"""How OpenAI writes: chat completions, which everybody else speaks too, and responses, which few do. No sockets."""

from collections.abc import Iterator
from typing import Any

from retinue.contract.json import dumps
from tests.llm.wire.script import Asked, Call, Refusal, Reply, pieces

__all__ = ["OpenAIChat", "OpenAIResponses"]

_KINDS = {
    401: "invalid_api_key",
    404: "model_not_found",
    429: "rate_limit_exceeded",
    500: "server_error",
    529: "server_error",
}


def _arguments(call: Call) -> str:
    return call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)


def _error(refusal: Refusal) -> dict[str, Any]:
    kind = refusal.kind or _KINDS.get(refusal.status, "invalid_request_error")
    return {"message": refusal.message, "type": kind, "param": None, "code": kind}


class _OpenAI:
    """What both have in common."""

    stream_type = "text/event-stream"
    garbled = b'event: message\ndata: {"id": [}\n\n'

    def is_streamed(self, asked: Asked) -> bool:
        """The body says it."""
        return bool(asked.body.get("stream"))

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`error` with `message`, `type` and `code`."""
        return {"error": _error(refusal)}

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """How long to wait."""
        return {"retry-after": refusal.retry_after} if refusal.retry_after else {}

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"object": "list", "data": []}

    def foreign_event(self) -> bytes:
        """The same as data of an event."""
        return f"data: {dumps(self.foreign())}\n\n".encode()


class OpenAIChat(_OpenAI):
    """`POST /v1/chat/completions`."""

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """A `chat.completion`."""
        message: dict[str, Any] = {"role": "assistant", "content": reply.text or None}
        if reply.calls:
            message["tool_calls"] = [
                {"id": call.id, "type": "function", "function": {"name": call.name, "arguments": _arguments(call)}}
                for call in reply.calls
            ]
        why = self._finish(reply)
        choice = {"index": 0, "message": message, "finish_reason": why, "native_finish_reason": why, "logprobs": None}
        return self._head("chat.completion", asked) | {"choices": [choice], "usage": self._usage(reply)}

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
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
        if asked.body.get("stream_options", {}).get("include_usage"):
            yield self._event(self._head("chat.completion.chunk", asked) | {"choices": [], "usage": self._usage(reply)})
        yield b"data: [DONE]\n\n"

    def late_error(self, refusal: Refusal) -> bytes:
        """The error as data of an event."""
        return self._event(self.error(refusal))

    def empty(self, asked: Asked) -> dict[str, Any]:
        """No choices."""
        return self._head("chat.completion", asked) | {"choices": [], "usage": self._usage(Reply())}

    def _head(self, kind: str, asked: Asked) -> dict[str, Any]:
        head = {"id": "chatcmpl-1", "object": kind, "created": 1_700_000_000, "model": asked.body.get("model", "")}
        # OpenRouter says who answered, and calls the native reason by name; nobody else minds.
        return head | {"provider": "Loopback"}

    def _chunk(self, asked: Asked, delta: dict[str, Any], *, finish: str | None = None) -> bytes:
        choice = {"index": 0, "delta": delta, "finish_reason": finish, "native_finish_reason": finish}
        return self._event(self._head("chat.completion.chunk", asked) | {"choices": [choice]})

    def _event(self, data: dict[str, Any]) -> bytes:
        return f"data: {dumps(data)}\n\n".encode()

    def _finish(self, reply: Reply) -> str:
        return "tool_calls" if reply.calls else {"end": "stop", "length": "length", "refused": "content_filter"}[reply.stop]  # fmt: skip

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "prompt_tokens": reply.tokens_in,
            "completion_tokens": reply.tokens_out,
            "total_tokens": reply.tokens_in + reply.tokens_out,
            "prompt_tokens_details": {"cached_tokens": reply.tokens_cached},
        }


class OpenAIResponses(_OpenAI):
    """`POST /v1/responses`."""

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """A `response`."""
        why = {"end": None, "length": "max_output_tokens", "refused": "content_filter"}[reply.stop]
        ended = {
            "status": "incomplete" if why else "completed",
            "incomplete_details": {"reason": why} if why else None,
            "output": self._items(reply),
            "usage": self._usage(reply),
        }
        return self._head(asked) | ended

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        """`response.created`, items in pieces, `response.completed` or `response.incomplete`, each with its number."""
        for number, (kind, data) in enumerate(self._told(reply, asked)):
            yield self._event(kind, data | {"sequence_number": number})

    def late_error(self, refusal: Refusal) -> bytes:
        """The event `error`."""
        told = _error(refusal)
        del told["type"]
        return self._event("error", told | {"sequence_number": 99})

    def empty(self, asked: Asked) -> dict[str, Any]:
        """No items."""
        return self.body(Reply(), asked)

    def _told(self, reply: Reply, asked: Asked) -> Iterator[tuple[str, dict[str, Any]]]:
        begun = self._head(asked) | {"status": "in_progress"}
        yield "response.created", {"response": begun}
        yield "response.in_progress", {"response": begun}
        for index, item in enumerate(self._items(reply)):
            place = {"output_index": index, "item_id": item["id"]}
            yield "response.output_item.added", {"output_index": index, "item": self._opened(item)}
            if item["type"] == "message":
                (part,) = item["content"]
                place["content_index"] = 0
                yield "response.content_part.added", place | {"part": part | {"text": ""}}
                for piece in pieces(part["text"], reply.pieces):
                    yield "response.output_text.delta", place | {"delta": piece, "logprobs": []}
                yield "response.output_text.done", place | {"text": part["text"], "logprobs": []}
                yield "response.content_part.done", place | {"part": part}
            else:
                for piece in pieces(item["arguments"], reply.pieces):
                    yield "response.function_call_arguments.delta", place | {"delta": piece}
                whole = {"arguments": item["arguments"], "name": item["name"]}
                yield "response.function_call_arguments.done", place | whole
            yield "response.output_item.done", {"output_index": index, "item": item}
        ended = self.body(reply, asked)
        yield f"response.{ended['status']}", {"response": ended}

    def _opened(self, item: dict[str, Any]) -> dict[str, Any]:
        return item | {"status": "in_progress"} | ({"content": []} if "content" in item else {"arguments": ""})

    def _items(self, reply: Reply) -> list[dict[str, Any]]:
        part: dict[str, Any] = {"type": "output_text", "text": reply.text, "annotations": [], "logprobs": []}
        said: dict[str, Any] = {
            "type": "message",
            "id": "msg_1",
            "status": "completed",
            "role": "assistant",
            "content": [part],
        }
        calls = [
            {
                "type": "function_call",
                "id": f"fc_{number}",
                "call_id": call.id,
                "name": call.name,
                "arguments": _arguments(call),
                "status": "completed",
            }
            for number, call in enumerate(reply.calls)
        ]
        return [*([said] if reply.text else []), *calls]

    def _head(self, asked: Asked) -> dict[str, Any]:
        return {
            "id": "resp_1",
            "object": "response",
            "created_at": 1_700_000_000,
            "status": "completed",
            "model": asked.body.get("model", ""),
            "output": [],
            "parallel_tool_calls": True,
            "tool_choice": "auto",
            "tools": [],
            "error": None,
            "incomplete_details": None,
            "usage": None,
        }

    def _event(self, kind: str, data: dict[str, Any]) -> bytes:
        return f"event: {kind}\ndata: {dumps({'type': kind} | data)}\n\n".encode()

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "input_tokens": reply.tokens_in,
            "input_tokens_details": {"cached_tokens": reply.tokens_cached},
            "output_tokens": reply.tokens_out,
            "output_tokens_details": {"reasoning_tokens": 0},
            "total_tokens": reply.tokens_in + reply.tokens_out,
        }
