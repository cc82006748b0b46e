"""Facade tests: for each prompt the tool that must be used, and a verdict (B27). Who calls this runs the prompts."""

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeAlias

from pydantic import Field, TypeAdapter, ValidationError

from retinue.contract.model import Model
from retinue.errors import InvalidInput, MissingFile

Verdict: TypeAlias = Literal["pass", "partial", "fail"]


class FacadeCase(Model):
    """One prompt, and the tool it must lead to."""

    prompt: str
    tool: str


def judge(expected: str, used_tools: Sequence[str]) -> Verdict:
    """`pass` when exactly the expected tool was called, `partial` when it was among several, else `fail`."""
    return "pass" if set(used_tools) == {expected} else "partial" if expected in used_tools else "fail"


def shipped_cases() -> tuple[FacadeCase, ...]:
    """The cases for the shipped domains."""
    return read_cases(Path(__file__).with_name("facade.toml"))


def read_cases(path: Path) -> tuple[FacadeCase, ...]:
    """The cases in a TOML file of `[[case]]` tables with `prompt` and `tool`.

    Raises:
        MissingFile: There is no such file.
        InvalidInput: It is no such file; the hint shows what one looks like.
    """
    hint = 'Write: [[case]], then prompt = "..." and tool = "..." below it.'
    try:
        cases = TypeAdapter(Annotated[tuple[FacadeCase, ...], Field(min_length=1)])
        return cases.validate_python(tomllib.loads(path.read_text(encoding="utf-8")).get("case"))
    except FileNotFoundError:
        raise MissingFile(f"There is no file {str(path)!r}.", hint=hint) from None
    except (OSError, ValueError, RecursionError) as error:
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error
        raise InvalidInput(f"{str(path)!r} holds no cases that can be read: {why}.", hint=hint) from None
