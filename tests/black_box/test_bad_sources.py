"""Everything that can be wrong with source files and with what is asked about them, as a user meets it.

A file that cannot be parsed is named with its reason, the others are read, and nothing of any file is ever run.
"""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.black_box.shown import harmless, inert
from tests.black_box.user import answered, make, refused, run, snapshot

_FIXTURE = "import pytest\n\n\n@pytest.fixture\ndef client():\n    return 1\n"
_TEST = "def test_{0}(client):\n    assert client\n"
_EVIL_DOC = "\x1b[31mred \u202e <script>alert(1)</script> [x](javascript:alert(1))"

_FILES: dict[str, str | bytes | Callable[[Path], None]] = {
    "tests/conftest.py": _FIXTURE,
    "tests/test_good.py": _TEST.format("good"),
    "tests/test_syntax.py": "def test_x(:\n    pass\n",
    "tests/test_cut.py": _TEST.format("cut") + "x = (1,\n",
    "tests/test_indent.py": "def test_x(client):\n    pass\n  pass\n",
    "tests/test_old.py": "print 'Python 2'\n",
    "tests/test_nul.py": b"def test_x(client):\n    pass\n\0",
    "tests/test_bytes.py": b"# caf\xe9\ndef test_x(client):\n    pass\n",
    "tests/test_codec.py": b"# -*- coding: no-such-codec -*-\n" + _TEST.format("codec").encode(),
    "tests/test_brackets.py": "x = " + "(" * 50_000 + ")" * 50_000 + "\n",
    "tests/test_minus.py": "x = " + "-" * 500_000 + "1\n",
    "tests/test_dots.py": "x = a" + ".b" * 100_000 + "\n",
    "tests/test_blocks.py": "".join(f"{' ' * depth}if 1:\n" for depth in range(1_000)) + " " * 1_000 + "pass\n",
    "tests/test_digits.py": "x = " + "9" * 100_000 + "\n",
    "tests/test_line.py": lambda path: _large(path, 50_000_000),
    "tests/test_binary.py": bytes(range(256)) * 100,
    "tests/test_empty.py": "",
    "tests/test_evil.py": f'def test_evil(client):\n    """{_EVIL_DOC}"""\n    assert client\n',
    "tests/test_<b>bold.py": _TEST.format("bold"),
    "tests/test_\u202eright.py": _TEST.format("right"),
    "tests/test_\x1b[31mred.py": _TEST.format("red"),
    "tests/test_circle.py": (
        "import pytest\n@pytest.fixture\ndef one(two): ...\n@pytest.fixture\ndef two(one): ...\n"
        "@pytest.fixture\ndef own(own): ...\ndef test_circle(one, own): ...\n"
    ),
    "tests/test_runs.py": "open('marker', 'w').close()\n" + _TEST.format("runs"),
    "tests/test_pipe.py": os.mkfifo,
    "tests/test_outside.py": lambda path: path.symlink_to("/etc/passwd"),
    "tests/test_endless.py": lambda path: path.symlink_to("/dev/zero"),
    "tests/test_folder.py": lambda path: path.mkdir(),
    "tests/features/bad.feature": "Feature:\n  Scenario\n    Given\n    \x00 And (((\n" * 50,
    "notes.md": "# Rules\n\nNever use sleep in tests.\n",
    "conftest.py": "raise SystemExit('run')\n",
}

_UNREAD = {
    "test_syntax.py": "line 1",
    "test_cut.py": "line",
    "test_indent.py": "line 3",
    "test_old.py": "line 1",
    "test_nul.py": "",
    "test_codec.py": "no-such-codec",
    "test_brackets.py": "",
    "test_minus.py": "",
    "test_dots.py": "nested too deeply",
    "test_line.py": "50,000,000 bytes",
    "test_binary.py": "",
    "test_outside.py": "leads out",
    "test_endless.py": "leads out",
}


def _large(path: Path, size: int) -> None:
    with path.open("wb") as file:
        file.write(b'x = "')
        file.truncate(size)


@pytest.fixture(scope="module")
def wreck(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A project whose files are wrong in every way. No question changes or runs any of them."""
    root = tmp_path_factory.mktemp("wreck")
    for name, content in _FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, str | bytes):
            path.write_bytes(content if isinstance(content, bytes) else content.encode())
        else:
            content(path)
    before = snapshot(root)
    yield root
    assert snapshot(root) == before


@pytest.fixture(scope="module")
def survey(wreck: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What a program is told of the whole project."""
    home = tmp_path_factory.mktemp("home")
    done = run(home, wreck, "ask", "pattern_discovery", "full_survey", "which fixtures are there?", "--json")
    answered(done)
    harmless(done.stdout + done.stderr)
    return json.loads(done.stdout)


def test_files_that_cannot_be_parsed_cost_only_themselves(survey: dict[str, Any]) -> None:
    assert survey["outcome"] == "partial"
    fixtures = {fixture["name"]: fixture for fixture in survey["data"]["fixtures"]}
    assert {"client", "one", "two", "own"} <= set(fixtures)
    used = set(fixtures["client"]["used_in"])
    assert {"tests/test_good.py", "tests/test_<b>bold.py", "tests/test_evil.py"} <= used
    assert {path.rpartition("/")[2] for path in used}.isdisjoint(_UNREAD)


def test_every_file_that_was_not_read_is_counted_and_the_first_are_named_with_the_reason(
    survey: dict[str, Any],
) -> None:
    notes = " ".join(survey["data"]["notes"])
    warnings = " ".join(warning["message"] for warning in survey["warnings"])
    named = {name: reason for name, reason in _UNREAD.items() if name in notes}
    assert len(named) >= 3
    for name, reason in named.items():
        assert reason in notes.partition(name)[2].partition("`tests/")[0]
    assert "files could not be read, the first tests/" in warnings
    assert " are not listed" in warnings
    assert survey["warnings"][0]["recovery"]


def test_nothing_of_a_file_is_run(wreck: Path, survey: dict[str, Any]) -> None:
    assert survey["data"]["fixtures"]
    assert list(wreck.rglob("marker")) == []


@pytest.mark.parametrize("name", ["test_syntax.py", "test_nul.py", "test_brackets.py", "test_line.py", "test_pipe.py"])
def test_a_question_about_a_file_that_cannot_be_read_says_so(home: Path, wreck: Path, name: str) -> None:
    parameters = json.dumps({"target": f"tests/{name}"})
    done = run(home, wreck, "ask", "pattern_discovery", "full_survey", "what is in it?", "--params", parameters)
    assert done.returncode in {0, 5}
    assert name in done.stdout + done.stderr
    assert "next: " in done.stderr


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("../..", "outside the workspace"),
        ("/etc", "outside the workspace"),
        ("tests/test_outside.py", "outside the workspace"),
        ("no-such-folder", "does not exist"),
        ("a\0b", "control"),
        ("x" * 5_000, "1000"),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_a_place_that_is_not_there_or_outside_is_refused(home: Path, wreck: Path, target: str, said: str) -> None:
    parameters = json.dumps({"target": target})
    done = run(home, wreck, "ask", "pattern_discovery", "full_survey", "what is there?", "--params", parameters)
    assert done.returncode in {2, 5}
    refused(done, done.returncode, said)


@pytest.mark.parametrize("form", ["md", "html"])
def test_markup_in_source_files_is_shown_and_not_obeyed(home: Path, wreck: Path, form: str) -> None:
    parameters = json.dumps({"name": "client", "relation": "users"})
    words = ("ask", "pattern_discovery", "fixture_lookup", "which tests use it?", "--params", parameters)
    done = run(home, wreck, *words, "--format", form)
    answered(done, "client")
    harmless(done.stdout + done.stderr)
    if form == "html":
        inert(done.stdout)


@pytest.mark.parametrize(
    "question",
    [
        "where is the fixture `client'); DROP TABLE fixtures; --` used?",
        "which tests look like (((((((((((((((((((((((((a+)+)+)+?",
        "how is \x1b[31mred tested?".replace("\x1b", ""),
        "which fixtures are there? " * 300,
        "\U0001f4a5",
    ],
    ids=range(5),
)
def test_an_odd_question_about_source_files_ends_in_words(home: Path, wreck: Path, question: str) -> None:
    done = run(home, wreck, "ask", "pattern_discovery", "full_survey", question, "--timeout", "20")
    assert done.returncode in {0, 2, 5, 9}
    assert "our mistake" not in done.stderr
    harmless(done.stdout + done.stderr)


def test_a_goal_over_a_wreck_is_answered_in_part(home: Path, wreck: Path) -> None:
    done = run(home, wreck, "run", "which pytest fixtures are there?")
    answered(done, "client")
    assert "in part" in done.stderr
    assert "could not be read" in done.stderr


def test_what_is_remembered_of_a_file_ends_when_it_changes(home: Path) -> None:
    root = make(home / "project")
    (root / "conftest.py").write_text(_FIXTURE)
    words = ("ask", "pattern_discovery", "full_survey", "which fixtures are there?")
    answered(run(home, root, *words), "`client`")
    (root / "conftest.py").write_text(_FIXTURE.replace("client", "server"))
    done = run(home, root, *words)
    answered(done, "`server`")
    assert "client" not in done.stdout
    (root / "conftest.py").write_text(_FIXTURE.replace("():", "(:"))
    done = run(home, root, *words)
    refused(done, 5)
    assert "conftest.py" in done.stdout + done.stderr


@pytest.mark.parametrize("how", ["garbage", "cut", "folder"])
def test_a_corrupt_memory_of_files_is_only_slower(home: Path, how: str) -> None:
    root = make(home / "project")
    (root / "conftest.py").write_text(_FIXTURE)
    words = ("ask", "pattern_discovery", "full_survey", "which fixtures are there?")
    first = run(home, root, *words)
    answered(first, "`client`")
    for path in [path for path in (home / "cache").rglob("*") if path.is_file()]:
        data = path.read_bytes()
        path.unlink()
        if how == "folder":
            path.mkdir()
        else:
            path.write_bytes(os.urandom(len(data)) if how == "garbage" else data[: len(data) // 2])
    second = run(home, root, *words)
    answered(second, first.stdout.partition("\n")[0])
    if how != "folder":  # that nothing can be remembered is said
        assert second.stdout == first.stdout


def test_a_project_without_source_files_has_nothing_to_tell(home: Path) -> None:
    root = make(home / "project")
    (root / "photo.bin").write_bytes(b"\0" * 100)
    refused(run(home, root, "ask", "pattern_discovery", "full_survey", "which fixtures are there?"), 5)
