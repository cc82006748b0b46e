"""How Gemini writes: whole contents, or a stream of them. No sockets."""

from collections.abc import Iterator
from typing import Any

from retinue.contract.json import dumps
from tests.llm.wire.script import Asked, Refusal, Reply, pieces

__all__ = ["GoogleGemini"]

_KINDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
}
_WAITING = "type.googleapis.com/google.rpc.RetryInfo"


class GoogleGemini:
    """`POST /v1beta/models/MODEL:generateContent` and `:streamGenerateContent?alt=sse`.

    Arguments of a call are an object here, so text in their place is sent as text, which is a breach of the format.
    """

    stream_type = "text/event-stream"
    garbled = b'data: {"candidates": [}\n\n'

    def is_streamed(self, asked: Asked) -> bool:
        """The path says it."""
        return ":streamGenerateContent" in asked.path

    def body(self, reply: Reply, asked: Asked) -> dict[str, Any]:
        """All parts at once."""
        parts: list[dict[str, Any]] = [{"text": reply.text}] if reply.text else []
        said = self._said([*parts, *self._calls(reply)], asked)
        said["candidates"][0]["finishReason"] = self._finish(reply)
        return said | {"usageMetadata": self._usage(reply)}

    def events(self, reply: Reply, asked: Asked) -> Iterator[bytes]:
        """The text in pieces, then each call whole, then why it ended and what it took."""
        if reply.text:
            for piece in pieces(reply.text, reply.pieces):
                yield self._event(self._said([{"text": piece}], asked))
        for call in self._calls(reply):
            yield self._event(self._said([call], asked))
        last = self._said([{"text": ""}], asked)
        last["candidates"][0]["finishReason"] = self._finish(reply)
        yield self._event(last | {"usageMetadata": self._usage(reply)})

    def error(self, refusal: Refusal) -> dict[str, Any]:
        """`error` with `code`, `message` and `status`; how long to wait is one of the details."""
        kind = refusal.kind or _KINDS.get(refusal.status, "UNKNOWN")
        details = [{"@type": _WAITING, "retryDelay": f"{refusal.retry_after}s"}] if refusal.retry_after else []
        return {"error": {"code": refusal.status, "message": refusal.message, "status": kind, "details": details}}

    def error_headers(self, refusal: Refusal) -> dict[str, str]:
        """None: not even how long to wait."""
        return {}

    def late_error(self, refusal: Refusal) -> bytes:
        """The same as data of an event."""
        return self._event(self.error(refusal))

    def foreign(self) -> dict[str, Any]:
        """Something like a list of models."""
        return {"models": [], "nextPageToken": ""}

    def foreign_event(self) -> bytes:
        """The same as data of an event."""
        return self._event(self.foreign())

    def empty(self, asked: Asked) -> dict[str, Any]:
        """No candidates."""
        return {"candidates": [], "usageMetadata": self._usage(Reply()), "responseId": "gemini-1"}

    def _said(self, parts: list[dict[str, Any]], asked: Asked) -> dict[str, Any]:
        model = asked.path.rpartition("/")[2].partition(":")[0]
        candidate: dict[str, Any] = {"content": {"role": "model", "parts": parts}, "index": 0}
        return {"candidates": [candidate], "modelVersion": model, "responseId": "gemini-1"}

    def _calls(self, reply: Reply) -> list[dict[str, Any]]:
        return [
            {"functionCall": {"id": call.id, "name": call.name, "args": call.arguments}, "thoughtSignature": "c2lnbmVk"}
            for call in reply.calls
        ]

    def _event(self, data: dict[str, Any]) -> bytes:
        return f"data: {dumps(data)}\r\n\r\n".encode()

    def _finish(self, reply: Reply) -> str:
        return {"end": "STOP", "length": "MAX_TOKENS", "refused": "SAFETY"}[reply.stop]

    def _usage(self, reply: Reply) -> dict[str, Any]:
        return {
            "promptTokenCount": reply.tokens_in,
            "candidatesTokenCount": reply.tokens_out,
            "totalTokenCount": reply.tokens_in + reply.tokens_out,
            "cachedContentTokenCount": reply.tokens_cached,
        }
