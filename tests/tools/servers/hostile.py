"""A language server that misbehaves as its first argument says. Run by the tests of `tools.lsp`."""

import json
import sys
import time
from pathlib import Path
from typing import Any

HOW = sys.argv[1]
COUNTER = sys.argv[2] if len(sys.argv) > 2 else ""
CAPABILITIES = {"definitionProvider": True, "hoverProvider": HOW != "no_hover", "referencesProvider": True}


def read() -> dict[str, Any]:
    """The next message; ends the program at the end of the input."""
    size = 0
    while True:
        line = sys.stdin.buffer.readline()
        if not line:
            sys.exit(0)
        if not line.strip():
            return json.loads(sys.stdin.buffer.read(size))
        if line.lower().startswith(b"content-length"):
            size = int(line.split(b":")[1])


def write(message: dict[str, Any], *, extra: int = 0) -> None:
    """Send a message, its length wrong by `extra`."""
    body = json.dumps(message).encode()
    sys.stdout.buffer.write(b"Content-Length: %d\r\n\r\n%b" % (len(body) + extra, body))
    sys.stdout.buffer.flush()


def raw(data: bytes) -> None:
    """Send anything."""
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def misbehave(number: int, uri: str) -> None:  # noqa: C901, PLR0912, PLR0915 - a table
    """Answer one question in the way that was asked for."""
    good = {"jsonrpc": "2.0", "id": number, "result": {"contents": "ok"}}
    match HOW:
        case "hang":
            time.sleep(600)
        case "garbage":
            raw(b"Traceback (most recent call last):\n")
        case "short":
            write(good, extra=-5)
            raw(b"\n\n")
        case "huge":
            raw(b"Content-Length: 99999999999\r\n\r\n")
        case "not_json":
            raw(b"Content-Length: 3\r\n\r\n{x}")
        case "stops_short":
            write(good, extra=50)
            sys.exit(1)
        case "die":
            sys.stderr.write("out of luck\n")
            sys.exit(3)
        case "die_once":
            if not Path(COUNTER).exists():
                Path(COUNTER).touch()
                sys.exit(3)
            write(good)
        case "busy":
            if not Path(COUNTER).exists():
                Path(COUNTER).touch()
                write({"jsonrpc": "2.0", "id": number, "error": {"code": -32801, "message": "modified"}})
            else:
                write(good)
        case "asks":
            write({"jsonrpc": "2.0", "id": "q1", "method": "workspace/configuration", "params": {"items": [{}, {}]}})
            write({"jsonrpc": "2.0", "id": "q2", "method": "workspace/applyEdit", "params": {"edit": {}}})
            write({"jsonrpc": "2.0", "id": "q3", "method": "window/unknown"})
            answers = [read() for _ in range(3)]
            text = json.dumps([each.get("result", each.get("error", {}).get("code")) for each in answers])
            write({"jsonrpc": "2.0", "id": number, "result": {"contents": text}})
        case "references":
            spans = [
                {"start": {"line": line, "character": 0}, "end": {"line": line, "character": 3}} for line in (0, 1)
            ]
            write({"jsonrpc": "2.0", "id": number, "result": [{"uri": uri, "range": span} for span in spans]})
        case "outside":
            spans = {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 1}}
            places = [
                {"uri": "file:///etc/passwd", "range": spans},
                {"uri": "http://x/y", "range": spans},
                {"uri": 3},
                {"uri": uri, "range": {"start": {"line": -1, "character": 0}, "end": {}}},
            ]
            write({"jsonrpc": "2.0", "id": number, "result": places})
        case "noisy":
            sys.stderr.write("x" * 1_000_000)
            sys.stderr.flush()
            for _ in range(2_000):
                write({"jsonrpc": "2.0", "method": "window/logMessage", "params": {"message": "y" * 100}})
            write(good)
        case _:
            write(good)


def main() -> None:
    """Serve."""
    if HOW == "mute":
        time.sleep(600)
    while True:
        message = read()
        method = message.get("method")
        if method == "initialize":
            encoding = {"positionEncoding": "utf-8"} if HOW == "utf8" else {}
            write({"jsonrpc": "2.0", "id": message["id"], "result": {"capabilities": {**CAPABILITIES, **encoding}}})
        elif method == "shutdown":
            if HOW == "stubborn":
                time.sleep(600)
            write({"jsonrpc": "2.0", "id": message["id"], "result": None})
        elif method == "exit":
            return
        elif "id" in message and method:
            position = message["params"].get("position", {})
            if HOW in ("utf8", "utf16"):
                write({"jsonrpc": "2.0", "id": message["id"], "result": {"contents": str(position["character"])}})
            else:
                misbehave(message["id"], message["params"]["textDocument"]["uri"])


main()
