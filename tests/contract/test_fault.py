"""Faults: every error there and back, and whatever else was raised."""

import math
from pathlib import Path
from typing import Any, get_args

import pytest
from hypothesis import given, settings, strategies as st

from retinue import errors
from retinue.contract.fault import Fault, public_fault
from retinue.errors import FaultCode, RetinueError
from tests.contract.nouns import json_values
from tests.examples import examples
from tests.test_errors import ALL

every_class = pytest.mark.parametrize("kind", ALL, ids=lambda kind: kind.__name__)
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)


def facts(error: RetinueError) -> tuple[Any, ...]:
    """Everything an error says."""
    return (
        type(error), str(error), error.message, error.hint, error.path, error.suggestions, error.detail,
        error.retry_after_s,
    )  # fmt: skip


said = st.fixed_dictionaries(
    {
        "message": texts,
        "hint": texts,
        "path": texts,
        "suggestions": st.lists(texts, max_size=3).map(tuple),
        "detail": st.dictionaries(texts.filter(lambda key: key != "class"), json_values, max_size=3),
        "retry_after_s": st.none() | st.floats(0, 1e9),
    }
)


@pytest.mark.requirement("C2")
@every_class
@given(said=said)
@settings(max_examples=examples(25))
def test_every_error_survives_the_way_there_and_back(kind: type[RetinueError], said: dict[str, Any]) -> None:
    error = kind(**said)
    fault = Fault.from_error(error)
    assert facts(fault.to_error()) == facts(error)
    assert facts(Fault.model_validate_json(fault.to_json_text()).to_error()) == facts(error)
    assert (fault.code, fault.retryable) == (kind.code, kind.retryable)


@pytest.mark.parametrize("code", get_args(FaultCode))
def test_a_fault_of_somebody_else_becomes_the_class_of_its_code(code: FaultCode) -> None:
    error = Fault(code=code, message="m").to_error()
    assert error.code == code
    assert facts(Fault.from_error(error).to_error()) == facts(error)


@pytest.mark.parametrize(
    "forged", ["Canceled", "NoSuchClass", "FaultCode", "", "Exception", "__class__", ["MissingFile"], {"a": 1}, 5, None]
)
def test_a_forged_class_falls_back_to_the_code(forged: object) -> None:
    error = Fault(code="missing_file", message="m", detail={"class": forged}).to_error()
    assert type(error) is errors.MissingFile
    assert error.detail == {}


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no"), "`ValueError`: no"),
        (KeyError("k"), "`KeyError`: 'k'"),
        (RuntimeError(), "`RuntimeError` was raised without a message."),
        (SystemExit(3), "`SystemExit`: 3"),
        (OSError("bad name \udcff"), "`OSError`: bad name ?"),
        (ExceptionGroup("several", [ValueError()]), "`ExceptionGroup`: several (1 sub-exception)"),
    ],
)
def test_a_foreign_exception_is_our_own_mistake(error: BaseException, message: str) -> None:
    fault = Fault.from_error(error)
    assert (fault.code, fault.message, fault.retryable) == ("internal_error", message, False)
    assert fault.detail == {"class": type(error).__name__}
    assert type(fault.to_error()) is errors.InternalError
    assert Fault.model_validate_json(fault.to_json_text()) == fault


def test_an_exception_that_cannot_be_printed_becomes_a_fault() -> None:
    class Unspeakable(Exception):
        def __str__(self) -> str:
            raise RuntimeError

    assert Fault.from_error(Unspeakable()).message == "`Unspeakable` was raised without a message."


def test_a_subclass_that_somebody_made_becomes_its_code() -> None:
    class TooHot(errors.Unavailable):
        pass

    fault = Fault.from_error(TooHot("m"))
    assert fault.detail == {"class": "TooHot"}
    assert type(fault.to_error()) is errors.Unavailable


def test_the_place_is_added() -> None:
    fault = Fault.from_error(ValueError("no"), operation="find", target="a\udcff", failed_at="scan", timestamp_ns=5)
    assert (fault.operation, fault.target, fault.failed_at, fault.timestamp_ns) == ("find", "a?", "scan", 5)


@pytest.mark.parametrize("wait", [math.nan, math.inf])
def test_a_wait_that_is_no_time_is_absent(wait: float) -> None:
    assert Fault.from_error(errors.NetworkError("m", retry_after_s=wait)).retry_after_s is None


def test_a_detail_that_is_no_json_is_shown() -> None:
    fault = Fault.from_error(errors.NetworkError("m \udcff", detail={"x": {1}}))
    assert fault.detail == {"shown": "{'x': {1}}", "class": "NetworkError"}
    assert Fault.model_validate_json(fault.to_json_text()) == fault


def test_an_error_may_say_that_asking_again_is_of_no_use() -> None:
    error = errors.Unavailable("Nobody is configured.", detail={"retryable": False})
    fault = Fault.from_error(error)
    assert not fault.retryable
    assert not Fault.from_error(fault.to_error()).retryable


def test_strangers_are_told_what_is_wrong_with_their_request_and_nothing_of_the_agents_exceptions() -> None:
    ours = Fault.from_error(errors.InvalidInput("`/parameters/n` must be a number.", hint="Send 7."))
    assert public_fault(ours, run="r1").message == "`/parameters/n` must be a number."
    for theirs in (
        Fault.from_error(ValueError("password=hunter2 in /etc/clerk.conf")),
        Fault(
            code="access_denied",
            message="`clerk` raised `PermissionError`: /etc/x",
            detail={"class": "PermissionError"},
        ),
        Fault(
            code="internal_error", message="secret", path="/secret", suggestions=("secret",), detail={"where": "a:7"}
        ),
    ):
        told = public_fault(theirs, run="r1")
        assert told.code == theirs.code
        assert told.detail == {"run": "r1"}
        assert "r1" in told.message
        assert not {"secret", "hunter2", "/etc", "PermissionError"} & set(told.to_json_text().replace('"', " ").split())


def test_a_place_on_this_machine_is_told_only_when_it_is_in_the_workspace(tmp_path: Path) -> None:
    def fault(path: str) -> Fault:
        return Fault.from_error(errors.MissingFile(f"There is no file `{path}`.", hint="Name another."))

    assert "report.md" in public_fault(fault(f"{tmp_path}/docs/report.md"), run="r", root=str(tmp_path)).message
    for path, root in (
        (f"{tmp_path}/docs/report.md", ""),
        ("/etc/passwd", str(tmp_path)),
        (f"{tmp_path}2/x", str(tmp_path)),
    ):
        assert path not in public_fault(fault(path), run="r", root=root).message
    assert "docs/report.md" in public_fault(fault("docs/report.md"), run="r").message
