"""A process that is killed in the middle of a fan-out, and the one that goes on: `victim SUBJECT PLACE RAN hang|RUN`.

Each step that begins adds its name to the file RAN. With `hang`, some steps never end; the run's id is printed once
the others have ended and are safe on the disk.
"""

import asyncio
import os
import sys
from pathlib import Path

from retinue.contract.model import JsonMapping
from retinue.contract.result import Result
from retinue.engine.base import Step, WorkflowScope
from tests.engine.flows import collect, fan_out, happened, result
from tests.engine.subjects import KINDS, Subject, flushed


def body(name: str, ran: Path, *, hanging: bool) -> Step:
    async def step() -> Result:
        handle = os.open(ran, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
        os.write(handle, f"{name}\n".encode())
        os.close(handle)
        if hanging:
            await asyncio.Event().wait()
        return result(name)

    return step


async def main(subject: Subject, ran: Path, run: str) -> None:
    hang = run == "hang"
    inner = fan_out(lambda: {f"i{n}": body(f"i{n}", ran, hanging=hang and n == 1) for n in range(2)})

    async def flow(scope: WorkflowScope, payload: JsonMapping) -> Result:
        names = [f"s{n}" for n in range(10)]
        scope.reserve([*names, "inner"])
        for n, name in enumerate(names):
            scope.step(name, body(name, ran, hanging=hang and n >= 7))
        scope.child("inner", "inner", {})
        done = await collect(scope, 11)
        return result(outcome="success" if all(one.useful for _, one in done) else "failed")

    async with subject.open({"flow": flow, "inner": inner}) as engine:
        if not hang:
            await engine.resume(run)
            sys.stdout.write(f"{(await engine.result(run)).outcome}\n")
            return
        run = await engine.start("flow", {})
        for n in range(7):
            await happened(engine, run, "finished", f"s{n}")
        await happened(engine, f"{run}:inner", "finished", "i0")
        await flushed(engine)
        sys.stdout.write(f"{run}\n")
        sys.stdout.flush()
        await engine.result(run)


if __name__ == "__main__":
    kind, place, ran, run = sys.argv[1:]
    asyncio.run(main(Subject(kind, KINDS[kind], place), Path(ran), run))
