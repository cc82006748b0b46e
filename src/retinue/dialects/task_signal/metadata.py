"""What of an answer goes up the hierarchy: path, title and summary of each file (H12), and how much shorter that is.

How much is spared is measured with a named counter, never claimed (C20, H13).
"""

from dataclasses import dataclass
from typing import cast

from retinue.contract import json
from retinue.contract.model import JsonMapping, Model
from retinue.contract.result import Result
from retinue.contract.tokens import TokenCounter, get_counter as counter_called

from .parse import parse_result


class ArtifactMetadata(Model):
    """What a caller needs to know of one file (H12)."""

    path: str | None = None
    title: str | None = None
    summary: str | None = None


@dataclass(frozen=True, slots=True)
class Reduction:
    """How much shorter the metadata is than the answer (H13, C20).

    Attributes:
        counter: The token counter that measured.
        before: Tokens of the whole answer.
        after: Tokens of its metadata, as JSON.
    """

    counter: str
    before: int
    after: int


def metadata(result: Result) -> tuple[ArtifactMetadata, ...]:
    """Path, title and summary of each file; of the whole where no file was made; nothing when nothing is said."""
    entries = tuple(ArtifactMetadata(path=one.path, title=one.title, summary=one.summary) for one in result.artifacts)
    if entries:
        return entries
    whole = ArtifactMetadata(title=_text(result.data, "title"), summary=_text(result.data, "summary"))
    return () if whole == ArtifactMetadata() else (whole,)


def reduction(text: str, counter: TokenCounter | None = None) -> Reduction:
    """Measure how much shorter the metadata of an answer is than the answer.

    Args:
        text: The answer, as the agent wrote it.
        counter: What measures; the default counter unless given.

    Raises:
        OutputInvalid: It is no answer.
    """
    counter = counter or counter_called()
    entries = [one.to_json() for one in metadata(parse_result(text).value)]
    metadata_json = "" if not entries else json.dumps(entries[0] if len(entries) == 1 else entries)
    return Reduction(counter.name, before=counter.count(text), after=counter.count(metadata_json))


def _text(data: object, name: str) -> str | None:
    value: object = cast("JsonMapping", data).get(name) if isinstance(data, dict) else None
    return value if isinstance(value, str) and value else None
