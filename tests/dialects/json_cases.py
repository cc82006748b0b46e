"""Case files of the JSON dialects, read: a message as it stands, and what it comes to at each level.

Keys of a case: `text` (the JSON) or `raw` (the text itself); `value`, what it says in the contract, without defaults;
`strict`, true when a strict reader takes it too, else the paths that it refuses; `findings`, the rules of what a
standard reader bears; `refused`, the paths that a standard reader refuses; `lenient`, what a lenient one makes of it;
`same`, writing it gives the same message.
"""

import json
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeAlias

import pytest

from retinue.contract.model import Model
from retinue.dialects.port import Parsed, RenderedMessage
from retinue.errors import ParseError, RetinueError

__all__ = ["Case", "cases", "said_of", "see_case", "see_same"]

Reader: TypeAlias = Callable[..., Parsed[Any]]
Writer: TypeAlias = Callable[..., RenderedMessage]


@dataclass(frozen=True)
class Case:
    """One case, as it stands in its file."""

    said: dict[str, Any]

    @property
    def text(self) -> str:
        return self.said["raw"] if "raw" in self.said else json.dumps(self.said["text"])


def cases(file: Path) -> list[Any]:
    """The cases of `file`, each named."""
    return [pytest.param(Case(said), id=said["name"]) for said in json.loads(file.read_text(encoding="utf-8"))]


def see_case(case: Case, read: Reader, say: Callable[[Any], Any]) -> None:
    """See that `read` makes of it what the case says at every level; `say` gives what is compared."""
    said = case.said
    standard = partial(read, case.text)
    if "refused" in said:
        error = _refusal(standard)
        assert _paths(error) == sorted(set(said["refused"]))
        assert error.detail.get("reason") == said.get("reason")
        assert error.hint
    else:
        got = standard()
        assert say(got.value) == said["value"]
        assert [one.rule for one in got.findings if one.severity != "info"] == said.get("findings", [])
        assert all(one.message.endswith(".") for one in got.findings)
    if said.get("strict") is True:
        assert say(read(case.text, level="strict").value) == said["value"]
    elif "strict" in said:
        assert _paths(_refusal(partial(read, case.text, level="strict"))) == sorted(set(said["strict"]))
    if "lenient" in said:
        got = read(case.text, level="lenient")
        assert say(got.value) == said["lenient"]
        assert got.findings


def see_same(case: Case, read: Reader, write: Writer) -> None:
    """See that writing what was read gives the message again."""
    assert json.loads(write(read(case.text).value).text) == case.said["text"]


def said_of(noun: Model) -> dict[str, Any]:
    """A noun without what it says by default."""
    return noun.model_dump(mode="json", exclude_defaults=True, by_alias=True)


def _refusal(read: Callable[[], object]) -> RetinueError:
    with pytest.raises(RetinueError) as caught:
        read()
    return caught.value


def _paths(error: RetinueError) -> list[str]:
    if isinstance(error, ParseError):
        return []
    return sorted({one.get("path", "") for one in error.detail["findings"] if one["severity"] == "error"})
