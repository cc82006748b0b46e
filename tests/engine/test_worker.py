"""What a worker does with a call, seen from inside one process: the real ones are killed before they could report."""

import pickle
from collections.abc import Callable

import pytest

from retinue.engine import worker_main
from retinue.engine.worker_main import to_error
from retinue.errors import DeadlineExceeded, InternalError, InvalidInput, RetinueError
from tests.engine import chores


def answer(function: Callable[..., object], *args: object) -> tuple[bool, object]:
    call = pickle.dumps(("chore", pickle.dumps((function, args, {}))))
    return pickle.loads(worker_main._answer(call))  # pyright: ignore[reportPrivateUsage] - the heart of `main`


def failure(function: Callable[..., object], *args: object) -> RetinueError:
    good, value = answer(function, *args)
    assert not good
    assert isinstance(value, tuple)
    return to_error(value)  # pyright: ignore[reportUnknownArgumentType] - a tuple of `Failure`'s shape, by `_failure`


def test_a_value_comes_back() -> None:
    assert answer(len, "abc") == (True, 3)


@pytest.mark.parametrize(
    ("function", "kind", "words"),
    [
        (chores.refuses, InvalidInput, "No."),
        (chores.is_late, DeadlineExceeded, "Too late."),
        (chores.unpicklable, InternalError, "cannot be sent back"),
        (chores.exits, InternalError, "SystemExit"),
    ],
)
def test_a_failure_comes_back_as_data(function: Callable[..., object], kind: type[RetinueError], words: str) -> None:
    error = failure(function)
    assert type(error) is kind
    assert words in error.message


def test_what_cannot_be_carried_in_detail_is_shown_instead() -> None:
    assert "lambda" in failure(chores.is_late).detail["bad"]


def test_a_call_that_cannot_be_read_is_a_failure_too() -> None:
    error = failure(len, chores.Stubborn())
    assert "unreadable" in error.message
