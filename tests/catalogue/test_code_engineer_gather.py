"""How the code engineer reads many files: in worker processes, from the cache, with progress, and as far as time goes."""

import asyncio
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import TypeAdapter

from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext, Outside
from retinue.agents.registry import Registry
from retinue.catalogue import _tree
from retinue.catalogue._names import symbol_facts
from retinue.catalogue.code_engineer_executor import CodeEngineerExecutor, analyze
from retinue.catalogue.code_engineer_executor.analyze import CachedOutline, extract_outlines
from retinue.contract.event import Progress
from retinue.contract.result import Result
from retinue.contract.task import Task
from retinue.errors import AccessDenied, InternalError, NotInstalled
from retinue.tools.outline import FileOutline
from retinue.tools.workspace import Workspace

pytestmark = pytest.mark.requirement("A19")

_BEGAN = 1_000_000_000_000
_MINUTE = 60_000_000_000


@pytest.fixture
def shop(tmp_path: Path) -> Path:
    root = tmp_path / "shop"
    root.mkdir()
    for number in range(9):
        text = f'def step{number}(a):\n    """Go."""\n    return a and {number}\n\n\ndef bare{number}(): ...\n'
        (root / f"part{number}.py").write_text(text)
    (root / "view.tsx").write_text("export const View = () => <p>{a || b}</p>;\n")
    return root


class Context(LocalContext):
    """A call whose worker processes are what a test says."""

    def __init__(self, root: Path, instead: Callable[..., Any] | None = None, **options: Any) -> None:
        super().__init__(workspace=Workspace(root), **options)
        self._instead = instead
        self.offloaded = 0

    async def offload(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        self.offloaded += 1
        if self._instead is None:
            return await super().offload(function, *args, **kwargs)
        return self._instead(*args)


def ask(context: Context, skill: str = "analyze", *, cache: Path | None = None, **parameters: Any) -> Result:
    agent = CodeEngineerExecutor.bind(cache_dir=cache)
    wish = {"task": "look at all of the code", "scope": "project", **parameters}
    asked = Task(id="t", agent="code_engineer_executor", skill=skill, produced_by="person", parameters=wish)

    async def run() -> Result:
        async with context:
            return await Boundary(Registry((agent,))).call(asked, context)

    return asyncio.run(run())


def told(result: Result) -> str:
    assert result.fault is None, result.fault
    return json.dumps(result.data, sort_keys=True)


@pytest.fixture
def in_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    """However small a tree is, it is given to worker processes, a few files at a time."""
    monkeypatch.setattr(_tree, "_ALONE_BYTES", 0)
    monkeypatch.setattr(_tree, "_BATCH_FILES", 4)


@pytest.mark.slow
@pytest.mark.parametrize("skill", ["analyze", "docs"])
def test_worker_processes_find_what_is_found_here_and_progress_is_told(
    shop: Path, skill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = Context(shop)
    alone = ask(here, skill)
    assert here.offloaded == 0
    monkeypatch.setattr(_tree, "_ALONE_BYTES", 0)
    monkeypatch.setattr(_tree, "_BATCH_FILES", 4)
    apart = Context(shop)
    assert told(ask(apart, skill)) == told(alone)
    assert apart.offloaded == 3
    progress = [one.body for one in apart.events if isinstance(one.body, Progress) and one.body.total]
    assert [one.done for one in progress][-1] == 10
    assert {one.total for one in progress} == {10}


@pytest.mark.parametrize("skill", ["analyze", "docs"])
def test_a_second_run_parses_only_what_changed(
    shop: Path, tmp_path: Path, skill: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    read: list[str] = []

    def counted(files: Sequence[tuple[str, bytes, str]]) -> list[CachedOutline]:
        read.extend(path for path, _, _ in files)
        return extract_outlines(files)

    monkeypatch.setattr(analyze, "extract_outlines", counted)
    cache = tmp_path / "cache"
    first = ask(Context(shop), skill, cache=cache)
    assert len(read) == 10
    assert told(ask(Context(shop), skill, cache=cache)) == told(first)
    assert len(read) == 10
    (shop / "part1.py").write_text("def other(): ...\n")
    (shop / "part2.py").rename(shop / "part20.py")
    ask(Context(shop), skill, cache=cache, entry_point={"file_path": "part1.py"}, scope="file")
    assert read[10:] == ["part1.py"]
    assert "other" in told(ask(Context(shop), skill, cache=cache))
    assert len(read) == 11


def test_a_damaged_cache_costs_time_and_nothing_else(shop: Path, tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    first = told(ask(Context(shop), cache=cache))
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    for damaged in (b"", whole[: len(whole) // 2], whole.replace(b"[", b"{"), whole.replace(b"step1", b"step2")):
        kept.write_bytes(damaged)
        assert told(ask(Context(shop), cache=cache)) == first
    cache.rename(tmp_path / "away")
    cache.write_text("a file is in the way")
    assert "could not be kept" in ask(Context(shop), cache=cache).data["notes"][0]


def test_without_processes_it_reads_itself(shop: Path, in_processes: None) -> None:
    def refuse(_: object) -> object:
        raise AccessDenied("This run has no worker processes.")

    context = Context(shop, refuse)
    assert ask(context).data["metadata"]["files_analyzed"] == 10
    assert context.offloaded < 4


def test_the_one_file_that_ends_its_process_is_named(shop: Path, in_processes: None) -> None:
    def die(files: Sequence[tuple[str, bytes, str]]) -> list[CachedOutline]:
        if any(path == "part3.py" for path, _, _ in files):
            raise InternalError("The worker of `outlined` died of SIGSEGV before it had answered.")
        return extract_outlines(files)

    result = ask(Context(shop, die))
    assert result.data["metadata"]["files_analyzed"] == 9
    assert "part3.py" in result.data["notes"][0]
    assert "SIGSEGV" in result.data["notes"][0]


def test_when_time_is_up_what_was_read_is_answered_and_the_rest_counted(shop: Path, in_processes: None) -> None:
    now = _BEGAN

    def slow(files: Sequence[tuple[str, bytes, str]]) -> list[CachedOutline]:
        nonlocal now
        now += 2 * _MINUTE
        return extract_outlines(files)

    context = Context(shop, slow, deadline_ns=_BEGAN + _MINUTE, outside=Outside(clock=lambda: now))
    result = ask(context)
    assert result.outcome == "partial"
    assert "Time was up before 6 files had been read: " in result.warnings[0].message


def test_when_time_is_up_before_anything_was_read_that_is_a_fault(shop: Path) -> None:
    now = _BEGAN

    def clock() -> int:
        nonlocal now
        now += _MINUTE
        return now

    result = ask(Context(shop, deadline_ns=_BEGAN + _MINUTE // 2, outside=Outside(clock=clock)))
    assert result.fault is not None
    assert result.fault.code == "timeout"


def test_a_grammar_that_is_not_here_is_said_as_it_is(shop: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(_: object) -> list[CachedOutline]:
        raise NotInstalled("The grammar of `tsx` is not installed.", hint="install `retinue[code]`")

    monkeypatch.setattr(analyze, "extract_outlines", missing)
    result = ask(Context(shop))
    assert result.fault is not None
    assert "grammar of `tsx`" in result.fault.message


def test_a_grammar_that_is_not_here_takes_no_names_of_other_languages(
    shop: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def without_grammar(_workspace: Workspace, _path: str) -> FileOutline:
        raise NotInstalled("The grammar of `tsx` is not installed.", hint="install `retinue[code]`")

    assert "View" in symbol_facts(Workspace(shop), None).names["symbol"]
    monkeypatch.setattr("retinue.tools.outline.outline_of", without_grammar)
    facts = symbol_facts(Workspace(shop), None)
    assert facts.names["symbol"][:4] == ("step0", "bare0", "step1", "bare1")
    assert ("View" in facts.names["symbol"], facts.is_complete) == (False, False)


@pytest.mark.parametrize(("text", "lines"), [("", 0), ("x", 1), ("x\n", 1), ("\n", 1), ("x\n\ny", 3)])
def test_an_empty_file_has_no_lines_and_figures_all_the_same(tmp_path: Path, text: str, lines: int) -> None:
    (tmp_path / "a.py").write_text(text)
    found = ask(Context(tmp_path)).data["metrics"]
    assert found == {"files": 1, "lines": lines, "classes": 0, "functions": 0}


def test_what_cannot_be_read_is_named(shop: Path) -> None:
    (shop / "blob.py").write_bytes(b"\0\xff\0")
    result = ask(Context(shop))
    assert "blob.py" in result.data["notes"][0]
    assert "binary" in result.data["notes"][0]


def test_an_outline_goes_into_json_and_back() -> None:
    [found] = extract_outlines(
        [("a.ts", b"/** Sums. */\nexport function sum(a: number[]) { return a && 1 }\nclass A<\n", "")]
    )
    assert found.notes
    rows = TypeAdapter(CachedOutline)
    assert rows.validate_json(rows.dump_json(found)) == found
