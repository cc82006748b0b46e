"""A bundle is read as strictly as anything that a stranger sent."""

import contextlib
import hashlib
import json
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest
from hypothesis import example, given, settings, strategies as st

from retinue.contract.event import Event, NodeFinished, NodeStarted
from retinue.contract.result import Result
from retinue.engine.run_history import RunHistory
from retinue.errors import InvalidInput, ParseError, RetinueError, Unavailable
from retinue.orchestration import run_bundle
from retinue.orchestration.run_bundle import bundle_of, read_bundle

Change: TypeAlias = Callable[[list[Any]], object]


def history(run: str = "r1", parent: str | None = None) -> RunHistory:
    result = Result(task_id="t", agent="singer", outcome="success", data={"song": "lä"})
    events = [Event(run, "", 0, 1, 5, NodeStarted()), Event(run, "n1", 1, 2, 6, NodeFinished(result))]
    return RunHistory(run, "run_plan", {"plan": {}}, "sing", 4, parent, events, [("now", 2**60 + 1), ("renewed", {"now": 1, "random": 0, "sleep": 0})])  # fmt: skip


BUNDLE = bundle_of([history(), history("r1:n1~2", "r1")]).encode()


def bundle(change: Change | None = None, *, head: dict[str, Any] | None = None) -> bytes:
    """A bundle whose second line was changed and whose digest is right again."""
    first, *lines = BUNDLE.decode().splitlines()
    documents = [json.loads(line) for line in lines]
    if change is not None:
        change(documents)
    text = "".join(f"{json.dumps(each)}\n" for each in documents)
    facts = json.loads(first) | {"sha256": hashlib.sha256(text.encode()).hexdigest()} | (head or {})
    return f"{json.dumps(facts)}\n{text}".encode()


def test_a_bundle_gives_back_what_was_put_in() -> None:
    assert list(read_bundle(BUNDLE)) == [history(), history("r1:n1~2", "r1")]


def test_a_run_gets_another_id_with_its_child_runs() -> None:
    parent, child = read_bundle(BUNDLE, name="new")
    assert (parent.run, child.run, child.parent) == ("new", "new:n1~2", "new")
    assert {event.run for event in child.events} == {"new:n1~2"}


def change_first(**facts: Any) -> Change:
    return lambda documents: documents[0].update(facts)


CASES: list[tuple[Change, str]] = [
    (change_first(run="other"), "does not belong here"),
    (change_first(parent="r0"), "does not belong here"),
    (lambda documents: documents.reverse(), "does not belong here"),
    (lambda documents: documents.append(documents[1]), "does not belong here"),
    (lambda documents: documents[1].update(run="r2:n1", parent="r2"), "does not belong here"),
    (change_first(started_ns=-1), "started_ns"),
    (change_first(started_ns=2**63), "started_ns"),
    (change_first(started_ns="4"), "started_ns"),
    (change_first(owner="them"), "owner"),
    (change_first(notes=[["now", "soon"]]), "notes"),
    (lambda documents: documents[0]["events"][0].update(kind="exec"), "exec"),
    (lambda documents: documents[0]["events"][1].update(body={"result": {}}), "Result"),
    (lambda documents: documents[0]["events"][0].update(body={"agent": 3}), "agent"),
    (lambda documents: documents.clear(), "damaged"),
]


@pytest.mark.parametrize(("change", "why"), CASES)
def test_what_a_history_cannot_be_is_refused_with_its_place(change: Change, why: str) -> None:
    with pytest.raises(ParseError, match=why):
        list(read_bundle(bundle(change)))


def test_a_damaged_bundle_and_one_of_a_newer_version_are_told_apart() -> None:
    with pytest.raises(ParseError, match="damaged"):
        list(read_bundle(BUNDLE[:-20]))
    with pytest.raises(ParseError, match="damaged"):
        list(read_bundle(BUNDLE.replace(b"singer", b"winger")))
    with pytest.raises(Unavailable, match="format 2"):
        list(read_bundle(bundle(head={"version": 2})))
    with pytest.raises(InvalidInput, match="cannot be the id"):
        list(read_bundle(bundle(head={"run": "a b"})))


def test_what_two_parsers_could_read_differently_is_refused() -> None:
    line = '{"run":"r1","run":"r1","workflow":"w","started_ns":1,"payload":{}}\n'
    head = {"format": "retinue-run", "version": 1, "run": "r1", "sha256": hashlib.sha256(line.encode()).hexdigest()}
    with pytest.raises(ParseError, match="Line 2"):
        list(read_bundle(f"{json.dumps(head)}\n{line}".encode()))


def test_a_bundle_has_a_greatest_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(run_bundle, "MAX_BUNDLE_BYTES", 100)
    with pytest.raises(InvalidInput, match="larger than 100 bytes"):
        list(read_bundle(BUNDLE))


@given(st.binary(max_size=200) | st.recursive(st.none() | st.integers() | st.text(), st.lists, max_leaves=5))
@example(b"{" * 5_000)
@settings(max_examples=80)
def test_whatever_a_bundle_holds_it_is_read_or_refused(value: object) -> None:
    lines = value if isinstance(value, bytes) else json.dumps({"run": "r1", "workflow": "w", "events": value}).encode()
    head = {"format": "retinue-run", "version": 1, "run": "r1", "sha256": hashlib.sha256(lines).hexdigest()}
    for data in (lines, json.dumps(head).encode() + b"\n" + lines):
        with contextlib.suppress(RetinueError):
            list(read_bundle(data))
