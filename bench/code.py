"""Code navigation on a made-up repository of 60 files: the language server's first answer, warm answers, outlines.

And `analyze` over 1,200 files: each parsed, and again with all of them known.
"""

import asyncio
import shutil
import statistics
import tempfile
import time
from collections.abc import Awaitable, Callable
from pathlib import Path

from bench.table import Row
from retinue.agents.local import LocalContext
from retinue.catalogue.code_engineer_executor import CodeEngineerExecutor
from retinue.contract.task import Task
from retinue.tools.lsp.navigator import Navigator
from retinue.tools.lsp.server import LanguageServerPool
from retinue.tools.outline import outline_of
from retinue.tools.workspace import Workspace

__all__ = ["measure", "plant"]

_FILES = 60
_WARM = 20
_COPIES = 20


def plant(folder: Path) -> None:
    """Write a package whose modules use each other."""
    package = folder / "shop"
    package.mkdir()
    (package / "__init__.py").write_text("")
    for number in range(_FILES - 1):
        used = f"from .part{number - 1} import Part{number - 1}, step{number - 1}\n\n\n" if number else ""
        calls = f"step{number - 1}(value) + " if number else ""
        methods = "".join(
            f'    def method{each}(self, value: int) -> int:\n        """Do {each}."""\n'
            f"        return step{number}(value) + {each}\n\n"
            for each in range(10)
        )
        (package / f"part{number}.py").write_text(
            f'{used}def step{number}(value: int) -> int:\n    """Go on."""\n    return {calls}{number}\n\n\n'
            f"class Part{number}:\n{methods}"
        )


def measure() -> list[Row]:
    """Each figure is the median of several on one warm server, but for the first answers."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        plant(folder)
        first = statistics.median(asyncio.run(_first(folder)) for _ in range(5))
        return [
            Row("code: ty, started to its first hover", first, "ms"),
            *asyncio.run(_warm(folder)),
            Row("code: outline of a file", _outlined(folder), "ms"),
            *_analyzed(folder),
        ]


async def _first(folder: Path) -> float:
    began = time.perf_counter_ns()
    async with LanguageServerPool() as servers:
        navigator = Navigator(servers, Workspace(folder))
        await navigator.hover(await navigator.find("step30", path="shop/part30.py"))
        took = time.perf_counter_ns() - began
    return took / 1e6


async def _warm(folder: Path) -> list[Row]:
    async with LanguageServerPool() as servers:
        navigator = Navigator(servers, Workspace(folder))
        spot = await navigator.find("step30", path="shop/part30.py")
        asked: dict[str, Callable[[], Awaitable[object]]] = {
            "hover": lambda: navigator.hover(spot),
            "definition": lambda: navigator.definition(spot),
            "references": lambda: navigator.references(spot),
            "incoming calls": lambda: navigator.incoming_calls(spot),
            "workspace symbols": lambda: navigator.workspace_symbols("step30"),
            "symbols of a file": lambda: navigator.document_symbols("shop/part30.py"),
        }
        return [Row(f"code: ty, warm, {what}", await _median(ask), "ms") for what, ask in asked.items()]


async def _median(ask: Callable[[], Awaitable[object]]) -> float:
    await ask()
    times: list[float] = []
    for _ in range(_WARM):
        began = time.perf_counter_ns()
        await ask()
        times.append((time.perf_counter_ns() - began) / 1e6)
    return statistics.median(times)


def _multiply(folder: Path, many: Path) -> None:
    """Copy the package many times, each time with other content: the same would be read once."""
    for number in range(_COPIES):
        shutil.copytree(folder / "shop", many / f"shop{number}")
        for file in (many / f"shop{number}").iterdir():
            file.write_text(f"# {number}\n{file.read_text()}")


def _analyzed(folder: Path) -> list[Row]:
    """The whole agent over many files, in worker processes: first with no cache, then with what that left."""
    with tempfile.TemporaryDirectory() as name:
        many, cache = Path(name).resolve() / "many", Path(name) / "cache"
        _multiply(folder, many)
        first, again = (asyncio.run(_analysis(many, cache)) for _ in range(2))
    files = f"{_COPIES * _FILES:,} files"
    return [Row(f"code: analyze {files}", first, "ms"), Row(f"code: analyze {files} again", again, "ms")]


async def _analysis(folder: Path, cache: Path) -> float:
    agent = CodeEngineerExecutor.bind(cache_dir=cache)
    task = Task(id="t", agent="code_engineer_executor", skill="analyze", parameters={"task": "how complex is it"})
    async with LocalContext(workspace=Workspace(folder)) as context:
        began = time.perf_counter_ns()
        await agent.run(task, context)
        return (time.perf_counter_ns() - began) / 1e6


def _outlined(folder: Path) -> float:
    workspace = Workspace(folder)
    outline_of(workspace, "shop/part1.py")
    times: list[float] = []
    for number in range(_FILES - 1):
        began = time.perf_counter_ns()
        outline_of(workspace, f"shop/part{number}.py")
        times.append((time.perf_counter_ns() - began) / 1e6)
    return statistics.median(times)
