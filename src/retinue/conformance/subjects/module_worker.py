"""The other end of `module_process`: a process that holds what a module gave, and puts requests to it.

Lines of JSON come in on stdin and go out on what was stdout; whatever the module prints goes to stderr. It ends when
stdin does.
"""

import asyncio
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from retinue.conformance.port import Probe, RequestTemplate
from retinue.conformance.subjects.subject_info import SubjectInfo, module_subject
from retinue.contract.fault import Fault
from retinue.engine.blocking import in_thread
from retinue.errors import RetinueError


def main(words: str, dialect: str | None) -> None:
    """Import what `words` names, say what it is, and answer requests until there are no more."""
    into, out = _take_streams()
    folder = Path(words.rpartition(":")[0] or words).parent
    sys.path += [os.getcwd(), os.path.abspath(folder)]  # noqa: PTH100, PTH109 - texts; what it imports later is there too
    try:
        info = module_subject(words, dialect=dialect)
    except RetinueError as error:
        _send(out, {"fault": Fault.from_error(error).to_json()})
        return
    definition = None if info.definition is None else info.definition.to_json()
    _send(out, {"name": info.name, "dialect": info.dialect, "definition": definition})
    asyncio.run(serve(info, into, out))


def _take_streams() -> tuple[IO[bytes], IO[str]]:
    """What were stdin and stdout, for us alone: the module finds nothing on the one, and stderr behind the other."""
    into, out = os.fdopen(os.dup(0), "rb"), os.fdopen(os.dup(1), "w", encoding="ascii", newline="\n")
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    os.dup2(2, 1)
    return into, out


def _send(out: IO[str], message: Mapping[str, Any]) -> None:
    out.write(json.dumps(message) + "\n")
    out.flush()


async def serve(info: SubjectInfo, into: IO[bytes], out: IO[str]) -> None:
    """Answer the requests that come in, several at a time, until there are no more and all are answered."""
    tasks: set[asyncio.Task[None]] = set()
    while line := await in_thread(into.readline):
        task = asyncio.create_task(_answer(info, json.loads(line), out))
        tasks.add(task)
        task.add_done_callback(tasks.discard)
    await asyncio.gather(*tasks)


async def _answer(info: SubjectInfo, request: Mapping[str, Any], out: IO[str]) -> None:
    probe = Probe("asked", RequestTemplate().task("asked"), "It was put from outside.")
    exchange = await info.subject.send(probe, request["sent"], timeout_s=request["timeout_s"])
    with suppress(Exception):  # the module may have put anything there
        sys.stdout.flush()
        sys.stderr.flush()
    facts = {"text": exchange.text, "error": exchange.error, "late": exchange.late}
    _send(out, {"id": request["id"], **facts, "duration_ns": exchange.duration_ns})


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] or None)
    with suppress(Exception):
        sys.stderr.flush()
    os._exit(0)  # a thread of the module that hangs must not keep the process
