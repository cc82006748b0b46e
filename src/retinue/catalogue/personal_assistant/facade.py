"""Facade tests: for each prompt the tool that must be used, and a verdict (B27). Running the prompts is for the caller.

What is shipped are prompts in words of their own: none of them is the example of a tool's docstring, or the router
would only be asked to recognise it.
"""

import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal, TypeAlias, cast

from retinue.errors import InvalidInput, MissingFile

__all__ = ["Case", "Verdict", "judge", "read_cases", "shipped_cases"]

Verdict: TypeAlias = Literal["pass", "partial", "fail"]


@dataclass(frozen=True, slots=True)
class Case:
    """One prompt, and the tool it must lead to."""

    prompt: str
    tool: str


def judge(expected: str, called: Sequence[str]) -> Verdict:
    """`pass` when exactly the expected tool was called, `partial` when it was among several, else `fail`."""
    different = set(called)
    if different == {expected}:
        return "pass"
    return "partial" if expected in different else "fail"


def shipped_cases() -> tuple[Case, ...]:
    """The cases for the shipped domains."""
    text = files(__package__ or "").joinpath("facade.toml").read_text(encoding="utf-8")
    return _cases(text, "facade.toml")


def read_cases(path: Path) -> tuple[Case, ...]:
    """The cases in a TOML file of `[[case]]` tables with `prompt` and `tool`.

    Raises:
        MissingFile: There is no such file.
        InvalidInput: It is no such file; the hint shows what one looks like.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        raise MissingFile(f"There is no file {str(path)!r}.", hint="Name a TOML file with `[[case]]` tables.") from None
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInput(f"{str(path)!r} cannot be read: {error}.", hint="Name a TOML file in UTF-8.") from None
    return _cases(text, str(path))


def _cases(text: str, name: str) -> tuple[Case, ...]:
    hint = 'Write: [[case]], then prompt = "..." and tool = "..." below it.'
    try:
        listed: Any = tomllib.loads(text).get("case")
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"{name!r} is not TOML: {error}.", hint=hint) from None
    if not isinstance(listed, list) or not listed:
        raise InvalidInput(f"{name!r} holds no case.", hint=hint)
    cases: list[Case] = []
    for number, each in enumerate(cast("list[Any]", listed), start=1):
        facts = cast("dict[str, Any]", each) if isinstance(each, dict) else {}
        prompt, tool = facts.get("prompt"), facts.get("tool")
        if set(facts) != {"prompt", "tool"} or not isinstance(prompt, str) or not isinstance(tool, str):
            raise InvalidInput(f"Case {number} of {name!r} is not a prompt and a tool.", hint=hint)
        cases.append(Case(prompt, tool))
    return tuple(cases)
