import multiprocessing
import os
import sqlite3
import stat
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import InvalidInput
from retinue.tools.search.index import Index, PassageHit
from retinue.tools.workspace import HidingRule, Workspace
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


SEARCHED = len(FILES) - 1
"""All but the data."""


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    for name, text in FILES.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text)
        os.utime(root / name, (1_700_000_000, 1_700_000_000))
    return root


def found_in(root: Path, *words: str, **options: object) -> list[PassageHit]:
    with Index(Workspace(root)) as index:
        index.refresh()
        return index.search(words, **options)  # pyright: ignore[reportArgumentType] - options of a test


def test_a_section_is_found_with_its_headings_and_lines(tree: Path) -> None:
    best = found_in(tree, "deadline", "bounds")[0]
    assert (best.path, best.kind, best.start, best.end) == ("docs/guide.md", "docs", 5, 7)
    assert best.title == "Guide > Deadlines"


def test_words_meet_by_their_stems(tree: Path) -> None:
    assert {hit.path for hit in found_in(tree, "retrying")} >= {"README.md", "src/engine.py"}


def test_a_definition_is_found_by_its_name_and_by_the_parts_of_it(tree: Path) -> None:
    assert found_in(tree, "run_step")[0].name == "run_step"
    assert found_in(tree, "failed", "gave")[0].name == "StepFailed"
    with Index(Workspace(tree)) as index:
        index.refresh()
        assert [(hit.path, hit.start) for hit in index.definitions_of("run_step")] == [("src/engine.py", 6)]
        assert index.definitions_of("step") == index.definitions_of("?") == []


def test_kinds_files_and_limit_narrow_the_search(tree: Path) -> None:
    assert {hit.kind for hit in found_in(tree, "sqlite", "results", kinds=("docs",))} == {"docs"}
    assert {hit.path for hit in found_in(tree, "step", files=["src/engine.py"])} == {"src/engine.py"}
    assert len(found_in(tree, "step", "retry", "sqlite", limit=2)) == 2
    assert found_in(tree, "step", files=[]) == []


def test_nothing_is_found_for_what_is_not_there(tree: Path) -> None:
    for query in ("", "?!", "quantum", "x" * 1_000_000, '"OR" NEAR(a b) *'):
        assert found_in(tree, query) == []


def test_it_counts_in_how_many_passages_a_word_stands(tree: Path) -> None:
    with Index(Workspace(tree)) as index:
        index.refresh()
        assert index.document_frequencies(["deadline", "quantum", "?"]) == ([1, 0, 0], 11)
        for number in range(3):
            (tree / "README.md").write_text(f"# Quantum {number}\n")
            index.refresh()
        counts, _ = index.document_frequencies(["quantum"])
        assert counts == [1]  # not one for each of its former states


# --- what is searched -----------------------------------------------------------------------------------------------


def test_what_is_not_searched_is_reported_with_the_reason(tree: Path) -> None:
    (tree / "big.md").write_text("word " * 250_000)
    (tree / "binary.py").write_bytes(b"\0\1")
    (tree / "photo.png").write_bytes(b"\x89PNG")
    (tree / "x.min.js").write_text("var a")
    (tree / "line\nbreak.md").write_text("x")
    (tree / "again.md").symlink_to("README.md")
    (tree / "empty.md").write_text("")
    with Index(Workspace(tree)) as index:
        refreshed = index.refresh()
    assert refreshed.files == SEARCHED + 1
    reasons = {item.path: item.reason for item in refreshed.skipped}
    assert reasons.keys() == {"big.md", "binary.py", "data.json", "photo.png", "x.min.js", '"line\\nbreak.md"'}
    assert reasons["binary.py"] == "it is binary"
    assert "1250000 bytes" in reasons["big.md"]


def test_a_file_that_cannot_be_read_is_reported_and_tried_again(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = Workspace.read_bytes

    def read(self: Workspace, path: str, **options: int) -> bytes:
        if path == "README.md":
            raise InvalidInput("no")
        return real(self, path, **options)

    with Index(Workspace(tree)) as index:
        with monkeypatch.context() as patch:
            patch.setattr(Workspace, "read_bytes", read)
            assert ("README.md", "no") in [(item.path, item.reason) for item in index.refresh().skipped]
        assert index.refresh().read == 1


def test_ignored_files_are_not_searched(make_repository: Callable[..., Repository]) -> None:
    made = make_repository()
    made.write(".gitignore", "secret.md\n")
    made.write("secret.md", "# Deadline\n")
    assert found_in(made.root, "deadline") == []


def test_other_encodings_and_line_ends_are_searched(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_bytes("Grüße.\r\n\r\nZwei Fristen.\r\n".encode("latin-1"))
    (tmp_path / "b.md").write_bytes("Eine Frist.\n".encode("utf-16"))
    assert [(hit.path, hit.start, hit.end) for hit in found_in(tmp_path, "grüße")] == [("a.md", 1, 3)]
    assert found_in(tmp_path, "frist")[0].path == "b.md"


# --- staying up to date ---------------------------------------------------------------------------------------------


def test_changes_are_noticed(tree: Path, tmp_path: Path) -> None:
    with Index(Workspace(tree), cache_dir=tmp_path / "cache") as index:
        assert [index.refresh().read, index.refresh().read] == [SEARCHED, 0]
        (tree / "new.md").write_text("A quantum leap.\n")
        (tree / "README.md").write_text("Nothing.\n")
        (tree / "src/store.py").unlink()
        refreshed = index.refresh()
        assert (refreshed.read, refreshed.removed, refreshed.files) == (2, 1, SEARCHED)
        assert index.search(["quantum"])[0].path == "new.md"
        assert "src/store.py" not in {hit.path for hit in index.search(["sqlite", "store"])}


def test_a_second_run_reads_nothing_and_answers_the_same(tree: Path, tmp_path: Path) -> None:
    _file_of(tree, tmp_path / "deep" / "cache")
    with Index(Workspace(tree), cache_dir=tmp_path / "deep" / "cache") as second:
        refreshed = second.refresh()
        assert (refreshed.read, refreshed.files, refreshed.warnings) == (0, SEARCHED, ())
        assert second.search(["retry", "step"]) == found_in(tree, "retry", "step")


def test_a_file_changed_a_moment_ago_is_looked_at_again(tree: Path, tmp_path: Path) -> None:
    path = tree / "README.md"
    path.write_text("alpha\n")
    before = path.stat()
    with Index(Workspace(tree), cache_dir=tmp_path / "cache") as index:
        index.refresh()
        path.write_text("omega\n")
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))  # as within one tick of the clock
        assert index.refresh().read == 1
        assert index.search(["omega"])
        assert not index.search(["alpha"])


def test_progress_is_told_and_may_stop_the_work_without_losing_it(tmp_path: Path) -> None:
    root = tmp_path / "root"
    root.mkdir()
    for number in range(120):
        (root / f"{number:03}.md").write_text(f"Word{number}.\n")
        os.utime(root / f"{number:03}.md", (1_700_000_000, 1_700_000_000))
    told: list[tuple[int, int]] = []
    with Index(Workspace(root)) as index:
        index.refresh(progress=lambda done, total: told.append((done, total)))
    assert told == [(0, 120), (50, 120), (100, 120), (120, 120)]

    def stop(done: int, _: int) -> None:
        if done == 50:
            raise KeyboardInterrupt

    with Index(Workspace(root), cache_dir=tmp_path / "cache") as index, pytest.raises(KeyboardInterrupt):
        index.refresh(progress=stop)
    with Index(Workspace(root), cache_dir=tmp_path / "cache") as index:
        refreshed = index.refresh()
    assert (refreshed.read, refreshed.removed, refreshed.files) == (70, 0, 120)


def test_what_is_left_behind_of_changed_files_is_swept_out(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("retinue.tools.search.index._ORPHANS", 3)
    with Index(Workspace(tree)) as index:
        for number in range(12):
            (tree / "README.md").write_text(f"# Engine\n\nNumber {number}.\n")
            index.refresh()
        assert [hit.path for hit in index.search(["number"])] == ["README.md"]


# --- the file -------------------------------------------------------------------------------------------------------


def _file_of(root: Path, folder: Path) -> Path:
    with Index(Workspace(root), cache_dir=folder) as index:
        assert index.path is not None
        index.refresh()
        return index.path


def test_the_index_is_private_and_holds_no_text(tree: Path, tmp_path: Path) -> None:
    path = _file_of(tree, tmp_path / "cache")
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "cache").stat().st_mode) == 0o700
    assert list((tmp_path / "cache").iterdir()) == [path]
    assert b"the smallest of all bounds" not in path.read_bytes()


@pytest.mark.parametrize(
    ("start", "instead"), [(0, b"no database at all"), (4096, b"\xff" * 20_000), (100, b"\0" * 900)]
)
def test_a_damaged_index_is_built_anew(tree: Path, tmp_path: Path, start: int, instead: bytes) -> None:
    path = _file_of(tree, tmp_path / "cache")
    data = path.read_bytes()
    path.write_bytes(data[:start] + instead + data[start + len(instead) :])
    with Index(Workspace(tree), cache_dir=tmp_path / "cache") as index:
        index.refresh()
        assert index.search(["deadline"])[0].path == "docs/guide.md"
    assert found_in(tree, "deadline") != []


def test_a_table_that_is_gone_is_noticed_in_the_middle_of_a_search(tree: Path, tmp_path: Path) -> None:
    path = _file_of(tree, tmp_path / "cache")
    with Index(Workspace(tree), cache_dir=tmp_path / "cache") as index:
        index.refresh()
        with closing(sqlite3.connect(path)) as database:
            database.execute("DROP TABLE words")
        assert index.search(["deadline"])[0].path == "docs/guide.md"


def test_a_link_or_a_pipe_in_place_of_the_index_is_not_followed(tree: Path, tmp_path: Path) -> None:
    path = _file_of(tree, tmp_path / "cache")
    (tmp_path / "target").write_text("mine")
    path.unlink()
    path.symlink_to(tmp_path / "target")
    assert _file_of(tree, tmp_path / "cache") == path
    assert (tmp_path / "target").read_text() == "mine"
    path.unlink()
    os.mkfifo(path)
    _file_of(tree, tmp_path / "cache")
    assert path.is_file()


def test_an_index_that_cannot_be_written_costs_only_time(tree: Path, tmp_path: Path) -> None:
    (tmp_path / "cache").write_text("a file is in the way")
    with Index(Workspace(tree), cache_dir=tmp_path / "cache") as index:
        assert "not usable" in index.refresh().warnings[0]
        assert index.search(["deadline"])


def test_what_is_hidden_is_not_there_whoever_indexed_it(tree: Path, tmp_path: Path) -> None:
    hidden = Workspace(tree).hiding(HidingRule(lambda path: "a rule" if path.startswith("docs") else "", key="test"))
    _file_of(tree, tmp_path / "cache")
    with Index(hidden, cache_dir=tmp_path / "cache") as index:
        index.refresh()
        assert index.search(["deadline"]) == []
        assert "docs/guide.md" not in index.paths()


def _build(root: str, cache: str, wanted: int) -> None:
    for _ in range(5):
        with Index(Workspace(root), cache_dir=cache) as index:
            if index.refresh().files != wanted or not index.search(["deadline"]):
                raise SystemExit(1)


@pytest.mark.slow
def test_processes_at_once_never_see_half_an_index(tree: Path, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    workers = [context.Process(target=_build, args=(str(tree), str(tmp_path / "cache"), SEARCHED)) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join(60)
    assert [worker.exitcode for worker in workers] == [0, 0, 0]


# --- laws -----------------------------------------------------------------------------------------------------------

_word = st.sampled_from(
    ["step", "retry", "run_step", "openStore", "deadline", "Grün", "x", "the", ".", "# ", "\n\n", "\n", "def step():\n"]
)
_text = st.lists(_word, max_size=40).map(" ".join)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(_text, min_size=1, max_size=5), query=_text, limit=st.integers(1, 4))
def test_the_best_few_are_the_first_of_all_and_lie_in_their_files(
    tmp_path_factory: pytest.TempPathFactory, texts: list[str], query: str, limit: int
) -> None:
    root = tmp_path_factory.mktemp("tree")
    for number, text in enumerate(texts):
        (root / f"{number}.{'md' if number % 2 else 'py'}").write_text(text)
    whole = found_in(root, *query.split(), limit=1000)
    assert found_in(root, *query.split(), limit=limit) == whole[:limit]
    for hit in whole:
        lines = (root / hit.path).read_text().split("\n")
        assert 1 <= hit.start <= hit.end <= len(lines)


@settings(max_examples=examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(first=st.dictionaries(st.sampled_from("abcd"), _text), second=st.dictionaries(st.sampled_from("abcd"), _text))
def test_an_index_that_was_brought_up_to_date_answers_as_a_new_one(
    tmp_path_factory: pytest.TempPathFactory, first: dict[str, str], second: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("tree")

    def write(texts: dict[str, str], at: int) -> None:
        for path in root.iterdir():
            path.unlink()
        for name, text in texts.items():
            (root / f"{name}.md").write_text(text)
            os.utime(root / f"{name}.md", (at, at))

    with Index(Workspace(root)) as index:
        write(first, 1_700_000_000)
        index.refresh()
        write(second, 1_700_000_100)
        index.refresh()
        for word in ("step", "deadline", "openStore"):
            places = {(hit.path, hit.start) for hit in index.search([word], limit=1000)}
            assert places == {(hit.path, hit.start) for hit in found_in(root, word, limit=1000)}
