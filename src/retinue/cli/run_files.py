"""Runs as files: exported for people and programs, and as a bundle that another history takes in.

A bundle is lines of JSON: one that says what follows, then the run, and its child runs after it. It may come from
anybody, so all of it is checked before anything is written, and what would choose a folder, a program, a model or an
owner is left out.
"""

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import Field, ValidationError

from retinue.cli.delivery import bytes_in, choose_format, deliver
from retinue.cli.output import echo_err, echo_json, json_text, plural, safe
from retinue.cli.recorded_run import RecordedRun, find_run, open_journal
from retinue.cli.runs import whole_facts
from retinue.contract.event import Event
from retinue.contract.json import MAX_DEPTH, as_mapping, loads
from retinue.contract.model import JsonMapping, Many, Model
from retinue.engine.event_codec import decode, encode
from retinue.engine.ids import CHILD, check_run_id
from retinue.engine.journal import Journal
from retinue.engine.run_history import RunHistory, Value
from retinue.errors import InvalidInput, ParseError, RetinueError, Unavailable
from retinue.orchestration.present.html_page import as_history_html

_ENDINGS: Final = {".json": "json", ".jsonl": "jsonl", ".html": "html", ".htm": "html", ".bundle": "bundle"}
_FORMAT: Final = "retinue-run"
_VERSION: Final = 1
_MAX_BYTES: Final = 256 * 2**20
_SAFE_FACTS: Final = ("verb", "agents", "level", "environment")
"""What an imported run keeps of how its command was called: nothing that is run, read or paid for."""

_Moment: TypeAlias = Annotated[int, Field(ge=0, lt=2**63)]
_Counts: TypeAlias = dict[Value, Annotated[int, Field(ge=0)]]


class BundledEvent(Model):
    """An event of a run in a bundle."""

    node: str = ""
    attempt: Annotated[int, Field(ge=0, lt=2**31)] = 0
    at_ns: _Moment
    kind: str
    body: JsonMapping


class BundledRun(Model):
    """A run in a bundle: how it was started, the values it was given, and its events in order."""

    run: str
    workflow: str
    label: str = ""
    started_ns: _Moment
    parent: str | None = None
    payload: JsonMapping
    notes: Many[tuple[Value, int | float] | tuple[Literal["renewed"], _Counts]] = ()
    events: Many[BundledEvent] = ()


def export_run(*, run: str | None, kind: str | None, output: Path | None) -> None:
    """Write the whole history of RUN, the newest by default."""
    kind = choose_format(kind, output, _ENDINGS, as_json=False, default="json")
    with open_journal() as journal:
        name = find_run(journal, run)
        if kind == "bundle":
            deliver(bundle_of(journal, name), output)
        else:
            whole, result = RecordedRun.read(journal, name), journal.result(name)
            documents = [event.to_json() for event in whole.events]
            if kind == "jsonl":
                deliver("".join(f"{json.dumps(document)}\n" for document in documents), output)
            elif kind == "html":
                deliver(as_history_html(whole.record, whole.events, whole.nodes, whole.faults, result), output)
            else:
                facts = whole_facts(whole, result, journal.rating(name), None)
                facts |= {"payload": journal.history(name).payload, "events": documents}
                deliver(f"{json_text(facts)}\n", output)
    if output is not None:
        echo_err(f"written to {safe(output)}")


def bundle_of(journal: Journal, run: str) -> str:
    """A run with its child runs as the text of a bundle."""
    children = sorted(name for name in journal.find(f"{run}{CHILD}") if name.startswith(f"{run}{CHILD}"))
    lines: list[str] = []
    for name in (run, *children):
        history = journal.history(name)
        facts: JsonMapping = {
            "run": name,
            "workflow": history.workflow,
            "label": history.label,
            "started_ns": history.started_ns,
            "payload": history.payload,
            "notes": history.notes,
            "events": [
                {
                    "node": event.node,
                    "attempt": event.attempt,
                    "at_ns": event.at_ns,
                    "kind": event.kind,
                    "body": json.loads(encode(event.body)),
                }
                for event in history.events
            ],
        }
        lines.append(json.dumps(facts | ({"parent": history.parent} if history.parent else {})) + "\n")
    text = "".join(lines)
    head = {"format": _FORMAT, "version": _VERSION, "run": run, "sha256": hashlib.sha256(text.encode()).hexdigest()}
    return f"{json.dumps(head)}\n{text}"


def import_run(*, file: str, name: str | None, as_json: bool) -> None:
    """Add the run in FILE to the history."""
    data = bytes_in(file, hint="Write one with `retinue runs export RUN --format bundle`.", limit=_MAX_BYTES)
    if len(data) > _MAX_BYTES:
        raise InvalidInput(f"The bundle is larger than {_MAX_BYTES:,} bytes.", hint="Export a smaller run.")
    histories = list(read_bundle(data, name=name))
    run = histories[0].run
    with open_journal() as journal:
        # The run itself comes last: it is listed only when all of it is there.
        if any(run in (each, each.partition(CHILD)[0]) for each in journal.find(run)) or not all(
            map(journal.begin_once, reversed(histories))
        ):
            hint = "Give it another id with `--as NEW`."
            raise InvalidInput(f"There is a run `{run}` in the history already.", hint=hint, path="/run")
    if as_json:
        echo_json({"run": run, "runs": len(histories), "events": sum(len(each.events) for each in histories)})
    else:
        children = f" with {plural(len(histories) - 1, 'child run')}" if histories[1:] else ""
        echo_err(f"Run {safe(run)} imported{children}. See it with: retinue runs show {safe(run)}")


def read_bundle(data: bytes, *, name: str | None = None) -> Iterator[RunHistory]:
    """The runs in a bundle, the one that all belong to first.

    Args:
        data: The file.
        name: The id that this run gets; its own when absent.

    Raises:
        ParseError: It is no bundle, or was damaged.
        Unavailable: A newer version wrote it.
        InvalidInput: `name` cannot be an id.
    """
    first, _, rest = data.partition(b"\n")
    try:
        head = as_mapping(loads(first))
    except ParseError:
        head = {}
    if head.get("format") != _FORMAT:
        raise ParseError("This is not a bundle of a run.", hint="Write one with `retinue runs export -o run.bundle`.")
    if head.get("version") != _VERSION:
        message = f"The bundle has the format {str(head.get('version'))[:20]}; this version knows {_VERSION}."
        raise Unavailable(message, hint="Update this program.")
    if head.get("sha256") != hashlib.sha256(rest).hexdigest() or not rest:
        raise ParseError("The bundle is damaged: it is not as it was written.", hint="Export the run again.")
    own = str(head.get("run"))
    for each in filter(None, (own, name)):
        check_run_id(each)
    names: dict[str, str] = {}
    for number, line in enumerate(rest.splitlines(), 2):
        try:
            loads(line, max_bytes=_MAX_BYTES, max_depth=MAX_DEPTH + 8)  # strictly, where pydantic would guess
            start = BundledRun.model_validate_json(line)
            parent = start.run.rpartition(CHILD)[0] if names else None
            if (
                start.run in names
                or start.parent != parent
                or (start.run != own if parent is None else parent not in names)
            ):
                raise ParseError(f"the run {start.run[:80]!r} does not belong here")
            names[start.run] = run = f"{name or own}{start.run.removeprefix(own)}"
            events = [
                Event(run, one.node, one.attempt, place, one.at_ns, decode(one.kind, json.dumps(one.body)))
                for place, one in enumerate(start.events, 1)
            ]
        except (RetinueError, ValidationError) as error:
            lines = error.message if isinstance(error, RetinueError) else " ".join(str(error).split()[3:])
            message = f"Line {number} of the bundle cannot be read: {lines[:200]}"
            raise ParseError(message, hint="Export the run again.", detail={"line": number}) from None
        # What would choose a folder, a program or a model, were the run resumed here, is another's word.
        payload = {key: value for key, value in start.payload.items() if key != "model"}
        if plan := as_mapping(payload.get("plan")):
            extras = as_mapping(plan.get("extras"))
            facts = {key: value for key, value in as_mapping(extras.get("cli")).items() if key in _SAFE_FACTS}
            payload["plan"] = {**plan, "extras": {**extras, "cli": facts} if facts else extras}
        yield RunHistory(
            run=run,
            workflow=start.workflow,
            payload=payload,
            label=start.label,
            started_ns=start.started_ns,
            parent=None if parent is None else names[parent],
            events=events,
            notes=list(start.notes),
        )
