"""Agents of spec 003 as strangers write them, each right in its own style; none knows this project."""

import json
import re
import time
from typing import Any

__all__ = ["always_partial", "refusing", "terse", "verbose"]


# One that says only what it must.


def terse(text: str) -> str:
    """Totals an invoice; its own names are in camelCase and in snake_case."""
    said = dict(re.findall(r"^\*\*(\w+):\*\* *(.+)$", text[:20_000], re.MULTILINE))
    body: dict[str, Any] = {"agent": "invoice_checker", "version": "1.0", "metadata": {"execution_time_ms": 0}}
    if said.get("Operation", "").replace("-", "_") != "check_totals" or ".." in said.get("Target", ""):
        way = {"recovery_suggestions": ["Ask for check_totals of an invoice in this repository."]}
        return json.dumps(
            {"status": "error", "error_type": "invalid_input", "message": "Only check_totals is done.", **way, **body}
        )
    return json.dumps({"status": "success", "operation": "check_totals", "result": {"sum": 12.5}, **body})


# One that says everything, much of it nobody asked for, in another language.

_PRUEFUNGEN = {"rechnung-pruefen": 1, "mahnung-schreiben": 2}


def verbose(text: str) -> str:
    """Checks invoices in German, and repeats what it was asked."""
    began = time.perf_counter_ns()
    lines = [line.strip() for line in text.splitlines()[:200]]
    asked: dict[str, str] = {}
    for line in lines:
        if line.startswith("**") and ":**" in line:
            name, value = line[2:].split(":**", 1)
            asked[name] = value.strip()
    operation, target = asked.get("Operation", ""), asked.get("Target", "")
    known = operation in _PRUEFUNGEN and target and not set(target.split("/")) & {"..", "~"}
    body = _bericht(operation, target) if known else _fehler(operation, target)
    body["metadata"] |= {"execution_time_ms": (time.perf_counter_ns() - began) // 1_000_000, "host": None}
    return json.dumps(body, ensure_ascii=False, indent=4)


def _bericht(operation: str, target: str) -> dict[str, Any]:
    result = {
        "gegenstand": target,
        "total_score": 97.5,
        "elapsed_seconds": None,
        "duration_ms": None,
        "has_attachments": None,
        "notes": None,
        "total_coverage": 87.5,
        "total_amount": 119.99,
        "positionen": [],
        "files": ["rechnungen/2025-001.pdf"],
        "status": "geprüft",
    }
    return {
        "status": "success",
        "agent": "rechnungs-pruefer",
        "version": "1.0.3",
        "operation": operation,
        "result": result,
        "warnings": [],
        "metadata": {"files_read": 1, "files_written": 0, "completeness": 100, "model": "none"},
        "schema": "https://example.org/rechnung",
    }


def _fehler(operation: str, target: str) -> dict[str, Any]:
    return {
        "status": "error",
        "agent": "rechnungs-pruefer",
        "version": "1.0.3",
        "error_type": "invalid_input",
        "message": f"Diese Anfrage wird hier nicht bearbeitet: {operation[:40]!r}.",
        "context": {"operation": operation[:40], "target": target[:80], "failed_at": "Eingabe", "zeile": None},
        "partial_results": {},
        "recovery_suggestions": [f"Verwenden Sie eine der Prüfungen {', '.join(_PRUEFUNGEN)}."],
        "metadata": {"error_timestamp": "2025-10-08T15:30:00.123Z"},
    }


# One that does only what it knows to the letter.

_ACCOUNTS = {"ACC-1": 3, "ACC-2": 0}


def refusing(text: str) -> str:
    """Counts bookings; an account it does not know, and a parameter it does not know, are errors."""
    found = re.fullmatch(
        r"\s*\*\*Agent:\*\* ledger-reader\n\*\*Operation:\*\* ([a-z-]+)\n\*\*Target:\*\* (\S+)(.*)", text, re.DOTALL
    )
    if found is None:
        return _refused("invalid_input", "The text is not a request for ledger-reader.", "read the request")
    operation, account, rest = found.groups()
    if operation not in {"count-bookings", "list-bookings"}:
        return _refused("invalid_input", f"Nothing here is called {operation!r}.", "look up the operation")
    if ".." in account:
        return _refused("access_denied", "That leads out of the ledger.", "look up the account")
    if account not in _ACCOUNTS:
        return _refused("missing_file", f"There is no account {account!r}.", "look up the account")
    if "**Optional Parameters:**" in rest:
        return _refused("invalid_input", "No parameter is taken.", "read the parameters")
    body = {"status": "success", "agent": "ledger-reader", "version": "1.0", "operation": operation}
    return json.dumps(
        {**body, "result": {"count": _ACCOUNTS[account], "bookings": []}, "metadata": {"execution_time_ms": 4}}
    )


def _refused(kind: str, message: str, failed_at: str) -> str:
    return json.dumps(
        {
            "status": "error",
            "agent": "ledger-reader",
            "version": "1.0",
            "error_type": kind,
            "message": message,
            "context": {"failed_at": failed_at},
            "recovery_suggestions": ["Ask for count-bookings or list-bookings of ACC-1 or ACC-2."],
            "metadata": {"execution_time_ms": 1},
        },
        ensure_ascii=False,
    )


# One that never sees all of it.


def always_partial(text: str) -> str:
    """Looks at what it can reach, and warns of the rest."""
    head = {"agent": "watcher", "version": "1.0"}
    metadata: dict[str, Any] = {"execution_time_ms": 2}
    if "**Operation:** look" not in text[:1_000] or ".." in text:
        error: dict[str, Any] = {
            "status": "error",
            "error_type": "invalid_input",
            "message": "Only `look` is done here, inside the repository.",
            "context": {"operation": "?", "target": "?", "failed_at": "read the request"},
            "recovery_suggestions": ["Ask for the operation look of a folder."],
        }
        return json.dumps({**error, **head, "metadata": {**metadata, "error_timestamp": "2025-10-08T15:30:00Z"}})
    warning = {
        "type": "incomplete_context",
        "message": "Two of the five folders are on a disk that is not mounted.",
        "impact": "Nothing can be said about the files in them.",
        "recovery": "Mount /archive, and ask again.",
    }
    result: dict[str, Any] = {"files": [], "count": 3}
    said = {"status": "partial", "operation": "look", "result": result, "warnings": [warning]}
    return json.dumps({**said, **head, "metadata": {**metadata, "completeness": 60}})
