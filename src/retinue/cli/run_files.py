"""Runs as files: exported for people and programs, and as a bundle that another history takes in (`run_bundle`)."""

import json
from pathlib import Path
from typing import Final

from retinue.cli.delivery import bytes_in, choose_format, deliver
from retinue.cli.output import echo_err, echo_json, json_text, plural, safe
from retinue.cli.recorded_run import RecordedRun, find_run, open_journal
from retinue.cli.runs import whole_facts
from retinue.contract.json import as_mapping
from retinue.engine.ids import CHILD
from retinue.errors import InvalidInput
from retinue.orchestration.present.html_page import as_history_html
from retinue.orchestration.run_bundle import MAX_BUNDLE_BYTES, bundle_of, read_bundle

_ENDINGS: Final = {".json": "json", ".jsonl": "jsonl", ".html": "html", ".htm": "html", ".bundle": "bundle"}
_SAFE_FACTS: Final = ("verb", "agents", "level", "environment")
"""What an imported run keeps of how its command was called: nothing that is run, read or paid for."""


def export_run(*, run: str | None, kind: str | None, output: Path | None) -> None:
    """Write the whole history of RUN, the newest by default."""
    kind = choose_format(kind, output, _ENDINGS, as_json=False, default="json")
    with open_journal() as journal:
        name = find_run(journal, run)
        if kind == "bundle":
            children = sorted(journal.find(f"{name}{CHILD}", limit=-1))
            deliver(bundle_of([journal.history(each) for each in (name, *children)]), output)
        else:
            whole, result = RecordedRun.read(journal, name), journal.result(name)
            documents = [event.to_json() for event in whole.events]
            if kind == "jsonl":
                deliver("".join(f"{json.dumps(document)}\n" for document in documents), output)
            elif kind == "html":
                started_ns = whole.record.started_ns
                faults = [(entry.who, entry.post_mortem(started_ns)) for entry in whole.faults]
                deliver(as_history_html(whole.record, whole.events, whole.nodes, faults, result), output)
            else:
                facts = whole_facts(whole, result, journal.rating(name), None)
                facts |= {"payload": journal.history(name).payload, "events": documents}
                deliver(f"{json_text(facts)}\n", output)
    if output is not None:
        echo_err(f"written to {safe(output)}")


def import_run(*, file: str, name: str | None, as_json: bool) -> None:
    """Add the run in FILE to the history."""
    data = bytes_in(file, hint="Write one with `retinue runs export RUN --format bundle`.", limit=MAX_BUNDLE_BYTES)
    histories = list(read_bundle(data, name=name))
    for history in histories:
        # What would choose a folder, a program or a model, were it resumed here, is another's word.
        history.payload.pop("model", None)
        extras = as_mapping(as_mapping(history.payload.get("plan")).get("extras"))
        if facts := as_mapping(extras.pop("cli", None)):
            extras["cli"] = {key: facts[key] for key in _SAFE_FACTS if key in facts}
    run = histories[0].run
    with open_journal() as journal:
        # The run itself comes last: it is listed only when all of it is there.
        if any(run in (each, each.partition(CHILD)[0]) for each in journal.find(run, limit=-1)) or not all(
            map(journal.begin_once, reversed(histories))
        ):
            hint = "Give it another id with `--as NEW`."
            raise InvalidInput(f"There is a run `{run}` in the history already.", hint=hint, path="/run")
    if as_json:
        echo_json({"run": run, "runs": len(histories), "events": sum(len(each.events) for each in histories)})
    else:
        children = f" with {plural(len(histories) - 1, 'child run')}" if histories[1:] else ""
        echo_err(f"Run {safe(run)} imported{children}. See it with: retinue runs show {safe(run)}")
