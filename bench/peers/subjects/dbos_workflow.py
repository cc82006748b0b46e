"""DBOS: one workflow of durable steps at once; values are JSON.

On PostgreSQL when its URL is given, else on SQLite as it opens it; with `--wal` in WAL mode, which it does not set
itself. Each step draws its number before the first of them starts, so that a replay finds them again.
"""

import asyncio
import contextlib
import json
import sqlite3
import sys
import tempfile
from typing import Any

from dbos import DBOS, Serializer, StepOptions
from driver import Once, Prepare, serve


class Json(Serializer):
    """Its default is pickle."""

    def name(self) -> str:
        return "json"

    def serialize(self, data: Any) -> str:
        return json.dumps(data)

    def deserialize(self, serialized_data: str) -> Any:
        return json.loads(serialized_data)


async def square(number: int) -> int:
    return number * number


@DBOS.workflow(name="squares")
async def squares(branches: int) -> int:
    slots = [DBOS.reserve_step() for _ in range(branches)]
    steps = [slot.run_async(StepOptions(name=f"b{number}"), square, number) for number, slot in enumerate(slots)]
    return sum(await asyncio.gather(*steps))


def prepare(branches: int) -> Once:
    async def once() -> int:
        handle = await DBOS.start_workflow_async(squares, branches)
        return int(await handle.get_result())

    return once


def serve_durably(prepare: Prepare, serializer: Serializer | None = None) -> None:
    """Serve while DBOS runs; without a serializer it takes its own."""
    with tempfile.TemporaryDirectory() as folder:
        url = next((each for each in sys.argv[1:] if each != "--wal"), f"sqlite:///{folder}/dbos.db")
        if "--wal" in sys.argv:
            with contextlib.closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as connection:
                connection.execute("PRAGMA journal_mode = WAL")
        config: Any = {"name": "bench", "system_database_url": url, "serializer": serializer, "log_level": "ERROR"}
        DBOS(config=config)
        DBOS.launch()
        serve(prepare)
        DBOS.destroy()


if __name__ == "__main__":
    serve_durably(prepare, Json())
