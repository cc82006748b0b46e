import multiprocessing
import os
import stat
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import InvalidInput
from retinue.tools.search import Index, Passage, index as index_module
from retinue.tools.search.cache import CacheFile
from retinue.tools.search.ranking import Question, passages_of
from retinue.tools.workspace import Workspace
from tests.examples import examples
from tests.tools.conftest import Repository

FILES = {
    "README.md": "# Engine\n\nThe engine computes sums. It retries a failed step twice.\n\n## Storage\n\nResults live in SQLite.\n",
    "docs/guide.md": "# Guide\n\nInstall it first.\n\n## Deadlines\n\nA deadline is the smallest of all bounds. It is never extended.\n",
    "src/engine.py": '"""Runs steps."""\n\nMAX_RETRIES = 2\n\n\ndef run_step(step):\n    """Run one step and retry it when it fails."""\n    return step()\n\n\nclass StepFailed(Exception):\n    """A step gave up."""\n',
    "src/store.py": '"""Keeps results."""\n\n\ndef open_store(path):\n    """Open the SQLite store at `path`."""\n    return path\n',
    "tests/test_engine.py": "def test_a_step_is_retried():\n    assert run_step\n",
    "data.json": '{"deadline": 5}\n',
}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        os.utime(root / name, (1_700_000_000, 1_700_000_000))
    return root


def _asked(root: Path, query: str, **options: object) -> list[Passage]:
    return Index.open(Workspace(root)).search(query, **options)  # pyright: ignore[reportArgumentType] - options of a test


def test_the_sentence_that_answers_comes_first_with_its_place(tree: Path) -> None:
    best = _asked(tree, "What is a deadline?")[0]
    assert (best.path, best.start, best.end, best.kind) == ("docs/guide.md", 5, 7, "docs")
    assert (best.sentence, best.line) == ("A deadline is the smallest of all bounds.", 7)
    assert best.title == "Guide > Deadlines"
    assert best.text.split("\n") == FILES["docs/guide.md"].split("\n")[4:7]
    parts = best.parts
    assert best.score == pytest.approx(parts.sentence + parts.paragraph + parts.name + parts.title + parts.path)
    assert min(parts.sentence, parts.paragraph, parts.title) > 0


def test_a_definition_comes_first_when_it_is_asked_for(tree: Path) -> None:
    for query in ("run_step", "where is runStep defined?", "how does run step work"):
        best = _asked(tree, query)[0]
        assert (best.path, best.name, best.start) == ("src/engine.py", "run_step", 6)
    assert _asked(tree, "StepFailed")[0].name == "StepFailed"
    assert _asked(tree, "how many max retries")[0].name == "MAX_RETRIES"


def test_a_test_stands_back_behind_what_it_tests_unless_it_is_asked_for(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "gauge.py").write_text("def gauge():\n    return 1\n")
    (tmp_path / "things").mkdir()
    (tmp_path / "things" / "gauge.py").write_text("def gauge():\n    return 1\n")
    assert [passage.path for passage in _asked(tmp_path, "gauge")] == ["things/gauge.py", "tests/gauge.py"]
    assert [passage.path for passage in _asked(tmp_path, "gauge test")] == ["tests/gauge.py", "things/gauge.py"]


def test_kinds_paths_and_limit_narrow_the_search(tree: Path) -> None:
    assert {passage.kind for passage in _asked(tree, "sqlite results", kinds=("docs",))} == {"docs"}
    assert {passage.path for passage in _asked(tree, "step", paths=["src/**"])} == {"src/engine.py"}
    assert len(_asked(tree, "step retry sqlite", limit=2)) == 2
    assert _asked(tree, "deadline", kinds=("data",))[0].path == "data.json"
    assert _asked(tree, "deadline", limit=0) == []
    with pytest.raises(InvalidInput):
        _asked(tree, "deadline", paths=["../*"])


def test_nothing_is_found_for_what_is_not_there(tree: Path) -> None:
    for query in ("", "?!", "quantum", "x" * 1_000_000):
        assert _asked(tree, query) == []


def test_a_limit_does_not_change_what_is_best(tree: Path) -> None:
    whole = _asked(tree, "retry a step in the engine and keep results", limit=100)
    for limit in range(1, len(whole)):
        assert _asked(tree, "retry a step in the engine and keep results", limit=limit) == whole[:limit]
    assert [passage.score for passage in whole] == sorted((passage.score for passage in whole), reverse=True)


# --- what is searched -----------------------------------------------------------------------------------------------


def test_what_is_not_searched_is_reported_with_the_reason(tree: Path) -> None:
    (tree / "big.md").write_text("word " * 250_000)
    (tree / "binary.py").write_bytes(b"\0\1")
    (tree / "photo.png").write_bytes(b"\x89PNG")
    (tree / "x.min.js").write_text("var a")
    (tree / "line\nbreak.md").write_text("x")
    (tree / "again.md").symlink_to("README.md")
    (tree / "empty.md").write_text("")
    found = Index(Workspace(tree)).refresh()
    assert found.files == len(FILES) + 1
    reasons = {item.path: item.reason for item in found.skipped}
    assert reasons.keys() == {"big.md", "binary.py", "photo.png", "x.min.js", '"line\\nbreak.md"'}
    assert reasons["binary.py"] == "it is binary"
    assert "1250000 bytes" in reasons["big.md"]


def test_a_file_that_cannot_be_read_is_reported(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Workspace.read_bytes

    def read(self: Workspace, path: str, **options: int) -> bytes:
        if path == "README.md":
            raise InvalidInput("no")
        return real(self, path, **options)

    monkeypatch.setattr(Workspace, "read_bytes", read)
    found = Index(Workspace(tree)).refresh()
    assert [(item.path, item.reason) for item in found.skipped] == [("README.md", "no")]


def test_ignored_files_are_not_searched(make_repository: Callable[..., Repository]) -> None:
    made = make_repository()
    made.write(".gitignore", "secret.md\n")
    made.write("secret.md", "# Deadline\n")
    assert _asked(made.root, "deadline") == []


def test_other_encodings_and_line_ends_are_searched(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("Grüße.\r\n\r\nZwei Fristen.\r\n".encode("latin-1"))
    (tmp_path / "b.md").write_bytes("Eine Frist.\n".encode("utf-16"))
    assert [(passage.path, passage.line, passage.sentence) for passage in _asked(tmp_path, "gruße")] == [
        ("a.md", 1, "Grüße.")
    ]
    assert _asked(tmp_path, "fristen")[0].start == 3
    assert _asked(tmp_path, "frist")[0].path == "b.md"


# --- staying up to date ---------------------------------------------------------------------------------------------


def test_changes_are_noticed(tree: Path, tmp_path: Path) -> None:
    index = Index(Workspace(tree), cache_dir=tmp_path / "cache")
    assert index.refresh().read == len(FILES)
    assert index.refresh().read == 0
    (tree / "new.md").write_text("A quantum leap.\n")
    (tree / "README.md").write_text("Nothing.\n")
    (tree / "src/store.py").unlink()
    found = index.refresh()
    assert (found.read, found.removed, found.files) == (2, 1, len(FILES))
    assert index.search("quantum")[0].path == "new.md"
    assert "src/store.py" not in {passage.path for passage in index.search("sqlite store")}
    again = Index(Workspace(tree), cache_dir=tmp_path / "cache")
    again.refresh()
    assert again.search("quantum leap sqlite step") == index.search("quantum leap sqlite step")


def test_a_second_run_reads_nothing_and_answers_the_same(tree: Path, tmp_path: Path) -> None:
    first = Index.open(Workspace(tree), cache_dir=tmp_path / "deep" / "cache")
    second = Index(Workspace(tree), cache_dir=tmp_path / "deep" / "cache")
    found = second.refresh()
    assert (found.read, found.files, found.warnings) == (0, len(FILES), ())
    assert second.search("retry step") == first.search("retry step") == _asked(tree, "retry step")


def test_a_file_changed_a_moment_ago_is_looked_at_again(tree: Path, tmp_path: Path) -> None:
    path = tree / "README.md"
    path.write_text("alpha\n")
    before = path.stat()
    index = Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    path.write_text("omega\n")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as within one tick of the clock
    assert index.refresh().read == 1
    assert index.search("omega")
    assert not index.search("alpha")


def test_a_moved_file_is_not_taken_apart_again(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    index = Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    (tree / "README.md").rename(tree / "MOVED.md")

    def never(_: str) -> object:
        raise AssertionError

    monkeypatch.setattr(index_module, "_checks", never)
    found = index.refresh()
    assert (found.read, found.removed) == (1, 1)
    assert index.search("retries failed")[0].path == "MOVED.md"


def test_progress_is_told_and_may_stop_the_work_without_losing_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(120):
        (root / f"{number:03}.md").write_text(f"Word{number}.\n")
        os.utime(root / f"{number:03}.md", (1_700_000_000, 1_700_000_000))
    told: list[tuple[int, int]] = []
    Index.open(Workspace(root), progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 120), (50, 120), (100, 120), (120, 120)]

    def stop(done: int, _: int) -> None:
        if done == 50:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        Index.open(Workspace(root), cache_dir=tmp_path / "cache", progress=stop)
    rest = Index(Workspace(root), cache_dir=tmp_path / "cache").refresh()
    assert (rest.read, rest.removed, rest.files) == (70, 0, 120)


def test_a_stop_forgets_nothing_that_was_known(tree: Path, tmp_path: Path) -> None:
    index = Index.open(Workspace(tree), cache_dir=tmp_path / "cache")

    def stop(_: int, __: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        index.refresh(progress=stop)
    assert index.search("deadline")
    assert index.refresh().read == 0


def test_a_file_that_vanishes_between_look_and_answer_is_left_out(tree: Path) -> None:
    index = Index.open(Workspace(tree))
    (tree / "docs/guide.md").unlink()
    assert "docs/guide.md" not in {passage.path for passage in index.search("deadline bounds step")}


# --- the cache ------------------------------------------------------------------------------------------------------


def _cache_of(root: Path, folder: Path) -> Path:
    return CacheFile(folder, str(root)).path


def test_the_cache_is_private(tree: Path, tmp_path: Path) -> None:
    Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    path = _cache_of(tree, tmp_path / "cache")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert list((tmp_path / "cache").iterdir()) == [path]
    assert b"deadline" not in path.read_bytes()


@pytest.mark.parametrize(
    ("start", "end", "instead"),
    [(0, 0, b""), (0, 0, b"SQLite format 3\0"), (-4, 10_000_000, b""), (60, 61, b"\xff"), (10, 10_000, b"")],
)
def test_a_damaged_or_foreign_cache_is_rebuilt_with_a_warning(
    tree: Path, tmp_path: Path, start: int, end: int, instead: bytes
) -> None:
    Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    path = _cache_of(tree, tmp_path / "cache")
    data = path.read_bytes()
    path.write_bytes(data[:start] + instead + data[end:] if end or instead else b"")
    index = Index(Workspace(tree), cache_dir=tmp_path / "cache")
    found = index.refresh()
    assert found.read == len(FILES)
    assert "not usable" in found.warnings[0]
    assert index.search("deadline")
    assert Index(Workspace(tree), cache_dir=tmp_path / "cache").refresh().warnings == ()


def test_a_cache_of_another_tree_is_not_believed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    (tmp_path / "other" / "README.md").write_text("x")
    _cache_of(tree, tmp_path / "cache").rename(_cache_of(tmp_path / "other", tmp_path / "cache"))
    assert "another tree" in Index(Workspace(tmp_path / "other"), cache_dir=tmp_path / "cache").refresh().warnings[0]


def test_a_cache_that_is_a_link_or_a_fifo_is_not_followed(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    (tmp_path / "target").write_text("mine")
    path = _cache_of(tree, tmp_path / "cache")
    path.symlink_to(tmp_path / "target")
    assert Index(Workspace(tree), cache_dir=tmp_path / "cache").refresh().warnings
    assert (tmp_path / "target").read_text() == "mine"
    assert not path.is_symlink()
    path.unlink()
    os.mkfifo(path)
    assert Index(Workspace(tree), cache_dir=tmp_path / "cache").refresh().warnings
    assert path.is_file()


def test_a_cache_that_cannot_be_written_costs_only_time(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    index = Index(Workspace(tree), cache_dir=tmp_path / "cache")
    found = index.refresh()
    assert any("cannot be" in warning for warning in found.warnings)
    assert index.search("deadline")


def test_what_a_killed_process_left_is_swept_away(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").mkdir()
    left = _cache_of(tree, tmp_path / "cache").with_name(_cache_of(tree, tmp_path / "cache").name + ".77.tmp")
    left.write_text("half")
    os.utime(left, (1, 1))
    fresh = left.with_name(left.name.replace("77", "78"))
    fresh.write_text("half")
    Index.open(Workspace(tree), cache_dir=tmp_path / "cache")
    assert not left.exists()
    assert fresh.exists()


def test_a_failed_write_leaves_nothing_behind(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("retinue.tools.search.cache.Path.replace", fail)
    found = Index(Workspace(tree), cache_dir=tmp_path / "cache").refresh()
    assert "No space left" in found.warnings[0]
    assert list((tmp_path / "cache").iterdir()) == []


def _build(root: str, cache: str, wanted: int) -> None:
    for _ in range(5):
        found = Index(Workspace(root), cache_dir=cache).refresh()
        if found.warnings or found.files != wanted:
            raise SystemExit(1)


@pytest.mark.slow
def test_processes_at_once_never_see_half_a_cache(tree: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_build, args=(str(tree), str(tmp_path / "cache"), len(FILES))) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]
    assert Index(Workspace(tree), cache_dir=tmp_path / "cache").refresh().read == 0


# --- laws -----------------------------------------------------------------------------------------------------------

_word = st.sampled_from(
    ["step", "retry", "run_step", "openStore", "deadline", "Grün", "x", "the", ".", "# ", "\n\n", "\n", "def step():\n"]
)
_text = st.lists(_word, max_size=40).map(" ".join)


@given(
    text=_text,
    floor=st.floats(0, 30),
    weights=st.dictionaries(st.sampled_from(["step", "retr", "x", "grun"]), st.floats(0.1, 5)),
)
def test_a_floor_hides_only_what_lies_under_it(text: str, floor: float, weights: dict[str, float]) -> None:
    for path, kind in (("a.md", "docs"), ("a.py", "code")):
        whole = list(passages_of(path, kind, text, Question(weights), floor=0.0))  # pyright: ignore[reportArgumentType] - both are kinds
        above = list(passages_of(path, kind, text, Question(weights), floor=floor))  # pyright: ignore[reportArgumentType] - both are kinds
        assert above == [passage for passage in whole if passage.score > floor]


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(_text, min_size=1, max_size=5), query=_text, limit=st.integers(1, 4))
def test_the_best_few_are_the_first_of_all(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, limit: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for number, text in enumerate(texts):
        (root / f"{number}.{'md' if number % 2 else 'py'}").write_text(text)
    index = Index.open(Workspace(root))
    whole = index.search(query, limit=1000)
    assert [passage.score for passage in index.search(query, limit=limit)] == [
        passage.score for passage in whole[:limit]
    ]
    for passage in whole:
        lines = (root / passage.path).read_text().split("\n")
        assert passage.text == "\n".join(lines[passage.start - 1 : passage.end])
        assert passage.start <= passage.line <= passage.end
