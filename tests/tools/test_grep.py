import shutil
from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import InternalError, InvalidInput, RetinueError, Unavailable
from retinue.tools import grep as engines
from retinue.tools.grep import Engine, GrepQuery, GrepResult, LineHit, Match, grep
from retinue.tools.workspace import Workspace
from tests.examples import examples

ENGINES: list[Engine] = ["ripgrep", "python"]


@pytest.fixture(params=ENGINES)
def engine(request: pytest.FixtureRequest) -> Engine:
    if request.param == "ripgrep" and shutil.which("rg") is None:
        pytest.skip("ripgrep is not installed")
    return request.param


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("def run():\n    return run_all(1)\n\n# RUN\n")
    (root / "b.md").write_text("No newline, run at the end: run")
    (root / "crlf.txt").write_bytes(b"first\r\nrun\r\nlast\r\n")
    (root / "wide.txt").write_bytes("grün\nrun\n".encode("utf-16"))
    (root / "mark.txt").write_bytes("run\n".encode("utf-8-sig"))
    (root / "latin.txt").write_bytes("grün run\n".encode("latin-1"))
    (root / "binary.bin").write_bytes(b"run\0run\n")
    (root / "-dash").write_text("run\n")
    (root / ".hidden").write_text("run\n")
    (root / "link.py").symlink_to("src/a.py")
    return root


def _places(found: GrepResult) -> list[tuple[str, int, int]]:
    return [(match.path, match.line, match.column) for match in found.matches]


def test_a_literal_is_found_everywhere_but_in_links_and_binaries(tree: Path, engine: Engine) -> None:
    found = grep(Workspace(tree), "run", syntax="literal", engine=engine)
    assert _places(found) == [
        ("-dash", 1, 1),
        (".hidden", 1, 1),
        ("b.md", 1, 13),
        ("crlf.txt", 2, 1),
        ("latin.txt", 1, 6),
        ("mark.txt", 1, 1),
        ("src/a.py", 1, 5),
        ("src/a.py", 2, 12),
        ("wide.txt", 2, 1),
    ]
    assert [match.text for match in found.matches][2:6] == ["No newline, run at the end: run", "run", "gr�n run", "run"]
    assert [(item.path, item.reason) for item in found.skipped] == [("binary.bin", "it is binary")]
    assert (found.files, found.truncated_by, found.engine) == (9, "", engine)


@pytest.mark.parametrize(
    ("pattern", "options", "places"),
    [
        (
            r"^run$",
            {},
            [("-dash", 1, 1), (".hidden", 1, 1), ("crlf.txt", 2, 1), ("mark.txt", 1, 1), ("wide.txt", 2, 1)],
        ),
        (r"r\w+_", {}, [("src/a.py", 2, 12)]),
        (r"\(\d\)", {}, [("src/a.py", 2, 19)]),
        (r"RUN", {}, [("src/a.py", 4, 3)]),
        (r"# run", {"ignore_case": True}, [("src/a.py", 4, 3 - 2)]),
        (r"r.n\(", {"paths": ["*.py"]}, [("src/a.py", 1, 5)]),
        (r"run(?=_)", {}, [("src/a.py", 2, 12)]),
        (r"\brun\b.*run", {}, [("b.md", 1, 13)]),
        (r"grün", {}, [("wide.txt", 1, 1)]),
        (
            r"x*$",
            {"paths": ["src/"]},
            [("src/a.py", 1, 11), ("src/a.py", 2, 22), ("src/a.py", 3, 1), ("src/a.py", 4, 6)],
        ),
        (r"(a)\1|urn r", {}, [("src/a.py", 2, 8)]),
        (r"nowhere", {}, []),
    ],
)
def test_expressions_find_the_same_lines_in_both_engines(
    tree: Path, engine: Engine, pattern: str, options: dict[str, object], places: list[tuple[str, int, int]]
) -> None:
    chosen = None if engine == "ripgrep" else engine
    assert _places(grep(Workspace(tree), pattern, engine=chosen, **options)) == places  # pyright: ignore[reportArgumentType] - options of a test


def test_a_literal_means_what_it_says(tree: Path, engine: Engine) -> None:
    assert _places(grep(Workspace(tree), "run()", syntax="literal", engine=engine)) == [("src/a.py", 1, 5)]
    assert _places(grep(Workspace(tree), "-dash", syntax="literal", engine=engine)) == []
    assert _places(grep(Workspace(tree), "ALL(1", syntax="literal", ignore_case=True, engine=engine)) == [
        ("src/a.py", 2, 16)
    ]


def test_context_lines_come_with_a_match(tree: Path, engine: Engine) -> None:
    (match,) = grep(Workspace(tree), "return", context=2, engine=engine).matches
    assert match == Match("src/a.py", 2, 5, "    return run_all(1)", ("def run():",), ("", "# RUN"))


def test_as_many_as_wanted_and_it_says_that_there_are_more(tree: Path, engine: Engine) -> None:
    found = grep(Workspace(tree), "run", max_matches=3, engine=engine)
    assert [place[0] for place in _places(found)] == ["-dash", ".hidden", "b.md"]
    assert found.truncated_by == "matches"
    assert grep(Workspace(tree), "run", max_matches=9, engine=engine).truncated_by == ""


def test_a_long_line_is_shown_around_its_match(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "a.txt").write_text("ü" * 5000 + "needle" + "x" * 5000)
    (match,) = grep(Workspace(tmp_path), "needle", engine=engine).matches
    assert (match.line, match.column) == (1, 5001)
    assert len(match.text) == 500
    assert match.text[100:106] == "needle"


def test_a_file_over_the_cap_is_reported(tmp_path: Path, engine: Engine) -> None:
    (tmp_path / "big.txt").write_text("needle\n" * 1000)
    (tmp_path / "small.txt").write_text("needle\n")
    found = grep(Workspace(tmp_path, max_bytes=100), "needle", engine=engine)
    assert _places(found) == [("small.txt", 1, 1)]
    assert [item.path for item in found.skipped] == ["big.txt"]


def test_many_files_are_asked_in_batches(tmp_path: Path, engine: Engine) -> None:
    for number in range(1100):
        (tmp_path / f"f{number:04}").write_text("needle\n" if number % 100 == 0 else "hay\n")
    found = grep(Workspace(tmp_path), "needle", engine=engine)
    assert [match.path for match in found.matches] == [f"f{number:04}" for number in range(0, 1100, 100)]
    assert grep(Workspace(tmp_path), "needle", max_matches=2, engine=engine).truncated_by == "matches"


@pytest.mark.parametrize(
    "pattern", ["", "(", "a**", "[", "a\nb", "a\0", "\ud800", "x" * 1001, "(?P<n", "a{999999999999}"]
)
def test_a_pattern_that_is_none_is_refused(tree: Path, pattern: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        grep(Workspace(tree), pattern)
    assert refused.value.path == "/pattern"
    assert refused.value.hint


def test_an_exponential_expression_is_ended_and_what_was_found_is_kept(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("ab\n")
    (tmp_path / "b.txt").write_text("a" * 60 + "\n")
    found = grep(Workspace(tmp_path), r"^(a+)+b", engine="python", timeout_s=1.5)
    assert _places(found) == [("a.txt", 1, 1)]
    assert found.truncated_by == "time"


def test_no_time_at_all_is_said(tree: Path, engine: Engine) -> None:
    found = grep(Workspace(tree), "run", timeout_s=0.0, engine=engine)
    assert found.truncated_by == "time"


def test_the_read_set_holds(tree: Path, engine: Engine) -> None:
    assert _places(grep(Workspace(tree, read=["src"]), "run", engine=engine)) == [
        ("src/a.py", 1, 5),
        ("src/a.py", 2, 12),
    ]


def _install(monkeypatch: pytest.MonkeyPatch, program: str | None) -> None:
    def find_program(_: str) -> str | None:
        return program

    monkeypatch.setattr(engines, "find_program", find_program)


def test_without_ripgrep_python_answers(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    _install(monkeypatch, None)
    assert grep(Workspace(tree), "run").engine == "python"
    with pytest.raises(Unavailable, match="'rg' is not installed"):
        grep(Workspace(tree), "run", engine="ripgrep")


def test_a_ripgrep_that_fails_is_replaced(tree: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = tmp_path / "rg"
    broken.write_text("#!/bin/sh\necho 'it hurts' >&2\nexit 2\n")
    broken.chmod(0o755)
    _install(monkeypatch, str(broken))
    assert grep(Workspace(tree), "run").engine == "python"
    with pytest.raises(InvalidInput, match="it hurts"):
        grep(Workspace(tree), "run", engine="ripgrep")
    broken.write_text("#!/bin/sh\necho 'regex parse error' >&2\nexit 2\n")
    assert grep(Workspace(tree), "run", engine="ripgrep").engine == "python"


def test_a_search_process_that_dies_is_our_mistake(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engines, "_START", "raise SystemExit(5)")
    with pytest.raises(InternalError):
        grep(Workspace(tree), "r+un", engine="python")


def test_files_that_change_meanwhile_do_no_harm(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    hits = [LineHit("b.md", 7, 1, is_bytes=False), LineHit("gone", 1, 1, is_bytes=False)]

    def find(*_: object, **__: object) -> Generator[LineHit, None, None]:
        yield from hits

    monkeypatch.setattr("retinue.tools.grep.find_by_python", find)
    found = grep(Workspace(tree), "run", engine="python")
    assert found.matches == ()
    assert [item.path for item in found.skipped] == ["gone"]
    assert list(engines.hits_in(Workspace(tree), GrepQuery("x", True, False, 9), ["gone"])) == []


@pytest.mark.skipif(shutil.which("rg") is None, reason="ripgrep is not installed")
@settings(max_examples=examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text("aäb B_1.(\t", max_size=12), min_size=1, max_size=6),
    pattern=st.one_of(
        st.text("aäbB_1.(", min_size=1, max_size=3),
        st.sampled_from([r"a+", r"\w+\b", r"^\s*$", r"[ab]+_", r"(a|b)c?", r"\d", r"b{2,3}", r"\W", r".", r"(?:ä|B)$"]),
    ),
    ignore_case=st.booleans(),
    is_literal=st.booleans(),
)
def test_both_engines_agree(
    tmp_path: Path, lines: list[str], pattern: str, ignore_case: bool, is_literal: bool
) -> None:
    (tmp_path / "a.txt").write_text("\n".join(lines) + "\n")

    def asked(engine: Engine) -> object:
        syntax = "literal" if is_literal else "regex"
        try:
            return grep(
                Workspace(tmp_path), pattern, syntax=syntax, ignore_case=ignore_case, context=1, engine=engine
            ).matches
        except RetinueError as error:
            return error.code

    assert asked("ripgrep") == asked("python")


def test_the_worker_answers_on_its_own(tree: Path) -> None:
    found = grep(Workspace(tree), r"ru+n_?", engine="python", max_matches=2)
    assert len(found.matches) == 2
    assert found.truncated_by == "matches"
