"""The error tree: what the docstring draws is what there is, and each error carries what a caller needs."""

import re
from collections.abc import Iterator
from typing import get_args

import pytest

from retinue import errors
from retinue.errors import FaultCode, RetinueError


def subclasses(kind: type[RetinueError]) -> Iterator[type[RetinueError]]:
    """`kind` and all below it in the tree; a server's own two never leave it."""
    yield kind
    for below in kind.__subclasses__():
        if below.__module__ == errors.__name__:
            yield from subclasses(below)


ALL = tuple(subclasses(RetinueError))


def drawn() -> dict[str, str | None]:
    """Each class in the docstring's tree with the one above it."""
    above: dict[str, str | None] = {}
    path: list[tuple[int, str]] = []
    for line in (errors.__doc__ or "").splitlines():
        match = re.match(r"[ │├└─]*([A-Z]\w+)(?= {2}|$)", line)
        if line.startswith("    ") and match:
            column = match.start(1)
            path = [(place, name) for place, name in path if place < column]
            above[match[1]] = path[-1][1] if path else None
            path.append((column, match[1]))
    return above


def test_the_docstring_draws_the_tree() -> None:
    there = {kind.__name__: kind.__bases__[0].__name__ for kind in ALL if kind is not RetinueError}
    assert drawn() == {"RetinueError": None, **there}


def test_every_class_is_exported() -> None:
    assert {kind.__name__ for kind in ALL} | {"FaultCode"} == set(errors.__all__)


def test_every_code_has_a_class_and_every_class_a_code() -> None:
    assert {kind.code for kind in ALL} == set(get_args(FaultCode))


@pytest.mark.requirement("C2")
def test_there_are_twelve_codes() -> None:
    assert len(get_args(FaultCode)) == 12


@pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
def test_an_error_carries_everything_it_was_given(kind: type[RetinueError]) -> None:
    detail = {"line": 3}
    error = kind("It broke.", hint="Fix it.", path="/a", suggestions=("b",), detail=detail, retry_after_s=1.5)
    detail["line"] = 4
    assert str(error) == error.message == "It broke."
    assert (error.hint, error.path, error.suggestions, error.retry_after_s) == ("Fix it.", "/a", ("b",), 1.5)
    assert error.detail == {"line": 3}
    assert isinstance(error, RetinueError)


def test_an_error_needs_only_a_message() -> None:
    error = errors.InternalError("It broke.")
    assert (error.hint, error.path, error.suggestions, error.detail, error.retry_after_s) == ("", "", (), {}, None)


@pytest.mark.requirement("C6")
def test_only_what_may_pass_by_itself_is_retryable() -> None:
    retryable = {kind.code for kind in ALL if kind.retryable}
    assert retryable == {"network_error", "unavailable", "timeout"}
