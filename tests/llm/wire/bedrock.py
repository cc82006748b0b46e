"""How Amazon Bedrock writes: Converse as JSON, ConverseStream in frames of its own binary event stream. No sockets."""

import struct
import zlib
from collections.abc import Iterator
from typing import Any

from retinue.contract.json import dumps
from tests.llm.wire.script import Asked, Refusal, Reply, pieces

__all__ = ["BedrockConverse"]

_KINDS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}
_TEXT = 7
"""The type of a header's value."""


class BedrockConverse:
    """`POST /model/MODEL/converse` and `/model/MODEL/converse-stream`."""

    stream_type = "application/vnd.amazon.eventstream"
    garbled = b"\x00\x00\x00\x10 this is not a frame at all"

    def is_streamed(self, asked: Asked) -> bool:
        """The path says it."""
        return asked.path.endswith("/converse-stream")

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """The message, why it ended and what it took."""
        content: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
        content += [
            {"toolUse": {"toolUseId": call.id, "name": call.name, "input": call.arguments}} for call in reply.calls
        ]
        message = {"role": "assistant", "content": content}
        return {
            "output": {"message": message},
            "stopReason": self._stop(reply),
            "usage": self._usage(reply),
            "metrics": {"latencyMs": 1},
        }

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        """`messageStart`, blocks in pieces, `messageStop`, `metadata`."""
        yield self._event("messageStart", {"role": "assistant"})
        # A block of text is not announced, one of a tool's use is.
        if reply.text:
            for piece in pieces(reply.text, reply.pieces):
                yield self._event("contentBlockDelta", {"contentBlockIndex": 0, "delta": {"text": piece}})
            yield self._event("contentBlockStop", {"contentBlockIndex": 0})
        for index, call in enumerate(reply.calls, start=1):
            opened = {"toolUse": {"toolUseId": call.id, "name": call.name}}
            yield self._event("contentBlockStart", {"contentBlockIndex": index, "start": opened})
            written = call.arguments if isinstance(call.arguments, str) else dumps(call.arguments)
            for piece in pieces(written, reply.pieces):
                delta = {"toolUse": {"input": piece}}
                yield self._event("contentBlockDelta", {"contentBlockIndex": index, "delta": delta})
            yield self._event("contentBlockStop", {"contentBlockIndex": index})
        yield self._event("messageStop", {"stopReason": self._stop(reply)})
        yield self._event("metadata", {"usage": self._usage(reply), "metrics": {"latencyMs": 1}})

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`message`; what kind it is stands in a header."""
        return {"message": refusal.message}

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """What kind it is, and how long to wait."""
        waiting = {"retry-after": refusal.retry_after} if refusal.retry_after else {}
        return {"x-amzn-errortype": f"{self._kind(refusal)}:http://internal.amazon.com/"} | waiting

    def late_error(self, refusal: Refusal) -> bytes:
        """An exception as a frame."""
        kind = self._kind(refusal)
        return self._frame(
            {":message-type": "exception", ":exception-type": kind[0].lower() + kind[1:]}, self.error(refusal)
        )

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"modelSummaries": []}

    def foreign_event(self) -> bytes:
        """A frame of an event that nobody knows."""
        return self._event("modelSummaries", {"data": []})

    def empty(self, asked: Asked) -> dict[str, Any]:
        """No content."""
        return self.body(Reply(), asked)

    def _kind(self, refusal: Refusal) -> str:
        other = "ValidationException" if refusal.status < 500 else "ServiceUnavailableException"
        return refusal.kind or _KINDS.get(refusal.status, other)

    def _event(self, kind: str, data: dict[str, Any]) -> bytes:
        return self._frame({":message-type": "event", ":event-type": kind, ":content-type": "application/json"}, data)

    def _frame(self, headers: dict[str, str], data: dict[str, Any]) -> bytes:
        """Both lengths and their checksum, the headers, the payload, and the checksum of all."""
        head = b"".join(self._header(name, value) for name, value in headers.items())
        payload = dumps(data).encode()
        prelude = struct.pack("!II", 16 + len(head) + len(payload), len(head))
        frame = prelude + struct.pack("!I", zlib.crc32(prelude)) + head + payload
        return frame + struct.pack("!I", zlib.crc32(frame))

    def _header(self, name: str, value: str) -> bytes:
        key, text = name.encode(), value.encode()
        return struct.pack("!B", len(key)) + key + struct.pack("!BH", _TEXT, len(text)) + text

    def _stop(self, reply: Reply) -> str:
        return "tool_use" if reply.calls else {"end": "end_turn", "length": "max_tokens", "refused": "guardrail_intervened"}[reply.stop]  # fmt: skip

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "inputTokens": reply.tokens_in - reply.tokens_cached,
            "outputTokens": reply.tokens_out,
            "totalTokens": reply.tokens_in + reply.tokens_out,
            "cacheReadInputTokens": reply.tokens_cached,
            "cacheWriteInputTokens": 0,
        }
