"""DBOS: one workflow of durable steps at once, on SQLite in WAL mode, which it does not set itself; values are JSON.

Each step draws its number before the first of them starts, so that a replay finds them again.
"""

import asyncio
import contextlib
import json
import sqlite3
import tempfile
from pathlib import Path
from typing import Any

from dbos import DBOS, Serializer, StepOptions
from driver import Once, serve


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


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "dbos.db"
        with contextlib.closing(sqlite3.connect(file)) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
        DBOS(
            config={
                "name": "bench",
                "system_database_url": f"sqlite:///{file}",
                "serializer": Json(),
                "log_level": "ERROR",
            }
        )
        DBOS.launch()
        serve(prepare)
        DBOS.destroy()


if __name__ == "__main__":
    main()
