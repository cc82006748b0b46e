"""What a scripted provider says, as plain data: one script serves every wire format.

Nothing here knows HTTP, nor how a format writes it down.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

__all__ = [
    "Asked",
    "Call",
    "Line",
    "Mishap",
    "Refusal",
    "Reply",
    "Script",
    "in_order",
    "pieces",
    "tools_in",
    "turns_in",
]


@dataclass(frozen=True, slots=True)
class Asked:
    """One request as it came in; names of headers in small letters.

    Attributes:
        path: Its path, the query included.
    """

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Call:
    """A tool that the model wants used.

    Attributes:
        arguments: An object, or the very text to send in its place.
    """

    name: str
    arguments: dict[str, Any] | str = field(default_factory=dict[str, Any])
    id: str = "call_1"


@dataclass(frozen=True, slots=True)
class Reply:
    """One response.

    Attributes:
        tokens_in: All that was read, what came from a cache included.
        pieces: In how many parts texts and arguments are streamed.
    """

    text: str = ""
    calls: tuple[Call, ...] = ()
    tokens_in: int = 20
    tokens_out: int = 5
    tokens_cached: int = 0
    stop: Literal["end", "length", "refused"] = "end"
    pieces: int = 3


@dataclass(frozen=True, slots=True)
class Refusal:
    """An HTTP status other than 200.

    Attributes:
        kind: The provider's own word for it; by the status when empty.
        retry_after: The header of that name, as text.
    """

    status: int
    message: str = "no"
    kind: str = ""
    retry_after: str = ""


@dataclass(frozen=True, slots=True)
class Mishap:
    """A response that goes wrong on its way.

    Attributes:
        kind: `silent` never answers; `cut` ends in the middle; `ended` too, but as if that were all; `garbled` is not
            JSON, nor are its events; `empty` has no choice and no content; `foreign` is JSON of another shape; `late`
            reports an error after the first pieces; `slow` waits `pause_s` before each piece.
    """

    kind: Literal["silent", "cut", "ended", "garbled", "empty", "foreign", "late", "slow"]
    reply: Reply = field(default_factory=lambda: Reply("one two three four"))
    pause_s: float = 0.0


Line: TypeAlias = Reply | Refusal | Mishap
Script: TypeAlias = Sequence[Line] | Callable[[dict[str, Any]], Line]


def in_order(lines: Sequence[Line]) -> Callable[[dict[str, Any]], Line]:
    """Each line once; whoever asks further is refused in a way that no client tries again."""
    left = iter(tuple(lines))
    return lambda _: next(left, Refusal(400, f"the script ended after {len(lines)} lines"))


def turns_in(body: dict[str, Any]) -> list[Any]:
    """The turns of the conversation in a request, in whatever format."""
    return next(body[key] for key in ("messages", "contents", "input") if key in body)


def tools_in(body: dict[str, Any]) -> list[str]:
    """The names of the tools that a request offers, in whatever format."""
    offered: list[dict[str, Any]] = body.get("tools") or body.get("toolConfig", {}).get("tools") or []
    flat = [each for tool in offered for each in tool.get("functionDeclarations", [tool])]
    named = [tool.get("function", tool.get("toolSpec", tool)) for tool in flat]
    return [tool["name"] for tool in named if "name" in tool]


def pieces(text: str, count: int) -> list[str]:
    """`text` in at most `count` parts of like length; at least one."""
    size = max(1, -(-len(text) // count))
    return [text[start : start + size] for start in range(0, len(text), size)] or [""]
