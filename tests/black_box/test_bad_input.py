"""Everything that can be wrong with what Retinue is given, as a user meets it: real commands, real repositories.

Each ends with a clear typed error or a partial result and the documented exit code (docs/reference/faults.md), and
nothing is lost or left behind.
"""

import asyncio
import json
import math
import os
import re
import shutil
import signal
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import retinue
from retinue.errors import AccessDenied, InvalidInput, MissingFile, UnknownName
from tests.black_box.rogues import ROGUES
from tests.black_box.user import (
    Done,
    answered,
    commit,
    error_of,
    git,
    give,
    last_run,
    listed,
    make,
    refused,
    refused_both_ways,
    repository,
    run,
    snapshot,
)
from tests.cli.shell import COMMAND, Terminal, children_of, environment, start

_GOAL = "what does the parser promise, and who changed it last?"
_PROMISE = "The parser reads tokens and promises never to fail."
_PATIENCE_S = 60.0
"""How long a test waits before it calls something hung; nothing is judged by it."""

not_root = pytest.mark.skipif(os.geteuid() == 0, reason="mode bits do not bind root")
as_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root can give files away")


# A user, and what the user stands in


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A small repository in order. Nothing that any test does to it may change it."""
    root = repository(tmp_path_factory.mktemp("plain"), {"README.md": f"{_PROMISE}\n"}, "Add the parser")
    (root / "src").mkdir()
    commit(root, {"src/parser.py": "def parse(text):\n    return text.split()\n"}, "Split words")
    before = snapshot(root)
    yield root
    assert snapshot(root) == before


@pytest.fixture(scope="module")
def rogues(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository whose agents misbehave."""
    return repository(tmp_path_factory.mktemp("rogues"), {".retinue/agents/rogues.py": ROGUES}, "Add agents")


@pytest.fixture
def trusting(home: Path, rogues: Path) -> Path:
    """`rogues`, trusted by its user."""
    assert run(home, rogues, "trust", "--yes").returncode == 0
    return rogues


# Unknown names


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        (("ask", "nobody", "hello there"), "invalid_input", "research_supervisor, researcher_analyst"),
        (("ask", "git_state_analyser", "hello there"), "invalid_input", "git_state_analyzer"),
        (("ask", "git_state_analyzer", "branch_stats", "hello there"), "invalid_input", "branch_status"),
        (("ask", "git_state_analyzer", "branch_status", "-p", "bsae=main"), "invalid_input", "`base`"),
        (("ask", "git_state_analyzer", "commit_analysis", "-p", "limit=many"), "invalid_input", "/parameters/limit"),
        (("ask", "git_state_analyzer", "branch_status", "-p", "base"), "invalid_input", "NAME=VALUE"),
        (("ask", "git_state_analyzer", "branch_status", "--params", '{"base": }'), "parse_error", "column 10"),
        (("ask", "git_state_analyzer", "branch_status", "--params", '{"a":1,"a":2}'), "parse_error", "twice"),
        (("ask", "git_state_analyzer", "branch_status", "--params", "[1]"), "invalid_input", "JSON object"),
        (("run", _GOAL, "--agent", "nobody"), "invalid_input", "nobody"),
        (("run", _GOAL, "--timeout", "soon"), "invalid_input", "500ms"),
        (("run", _GOAL, "--tiemout", "1"), "invalid_input", "--timeout"),
        (("run", _GOAL, "-C", "no-such-folder"), "missing_file", "no-such-folder"),
        (("runs", "show", "nonsense"), "invalid_input", "nonsense"),
        (("runs", "resume", "nonsense"), "invalid_input", "nonsense"),
        (("agents", "nobody"), "invalid_input", "git_state_analyzer"),
        (("lint", "no-such-file.json"), "missing_file", "no-such-file.json"),
        (("trust", "no-such-folder", "--yes"), "missing_file", "no-such-folder"),
    ],
)
def test_what_nobody_knows_is_refused_with_what_there_is(
    home: Path, plain: Path, words: tuple[str, ...], code: str, said: str
) -> None:
    done = run(home, plain, *words, "--json")
    error = error_of(done)
    assert (done.returncode, error["code"]) == (2, code)
    assert said in json.dumps(error, ensure_ascii=False)
    assert error["hint"]


def test_a_person_is_told_the_same_in_words(home: Path, plain: Path) -> None:
    refused(run(home, plain, "rnu", "what is this?"), 2, "`run`")
    refused(run(home, plain, "ask", "nobody", "hello there"), 2, "research_supervisor, researcher_analyst")
    refused(run(home, plain, "ask", "git_state_analyzer", "branch_stats", "hello there"), 2, "branch_status")
    refused(run(home, plain, "ask", "git_state_analyzer", "branch_status", "-p", "bsae=main"), 2, "`base`")


# Definitions


_MALFORMED = {
    ".retinue/agents/twice.json": ('{"name": "a",\n "name": "b"}', 2, "twice"),
    ".retinue/agents/cut.json": ('{"name": "cut', 1, "ends"),
    ".retinue/agents/deep.json": ("[" * 100_000, 1, "nested"),
    ".retinue/agents/nan.json": ('{"name": NaN}', 1, "NaN"),
    ".retinue/agents/code.json": (
        '{"name": "importer", "description": "Imports. Use when due. Returns it.",\n "handler": "os:system"}',
        2,
        "names code",
    ),
    ".retinue/agents/far.json": (
        '{"name": "far", "description": "Reads. Use when due. Returns it.", "input_schema": {"$ref": "file:///etc"}}',
        1,
        "nothing is fetched",
    ),
    ".claude/agents/tag.md": (
        '---\nname: tag\ndescription: !!python/object/apply:os.system ["touch marker"]\n---\nHello\n',
        3,
        "tag",
    ),
    ".claude/agents/twice.md": ("---\nname: a\nname: b\ndescription: c\n---\n", 3, "twice"),
    ".claude/agents/bomb.md": ("---\na: &a [x, x]\nb: [*a, *a]\nname: bomb\ndescription: b\n---\n", 2, "anchor"),
    ".claude/agents/open.md": ("---\nname: open\ndescription: never closed\n", 1, "no end"),
    ".claude/agents/empty.md": ("", 1, "empty"),
    ".claude/agents/bare.md": ("Only prose.\n", 1, "front matter"),
    ".claude/agents/binary.md": ("\x00\x01---", 1, "NUL"),
}


@pytest.fixture(scope="module")
def definitions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A project of definitions that are all wrong, and of a Python file that must not run."""
    root = tmp_path_factory.mktemp("definitions")
    (root / ".git").mkdir()
    for name, (text, _, _) in _MALFORMED.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    (root / ".retinue/agents/evil.py").write_text("open('marker', 'w').close()\n")
    (root / ".claude/agents/latin.md").write_bytes(b"---\nname: caf\xe9\n---\n")
    (root / ".claude/agents/out.md").symlink_to("/etc/passwd")
    (root / ".claude/agents/circle.md").symlink_to("circle.md")
    (root / ".claude/agents/up").symlink_to("..")
    os.mkfifo(root / ".claude/agents/pipe.md")
    with (root / ".claude/agents/huge.md").open("wb") as file:
        file.truncate(200 * 2**20)
    return root


@pytest.fixture(scope="module")
def passed_over(definitions: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, dict[str, Any]]:
    """What `retinue agents --json` says of each file that it passed over, by its path."""
    done = run(tmp_path_factory.mktemp("home"), definitions, "agents", "--json")
    answered(done)
    said = json.loads(done.stdout)
    assert {"git_state_analyzer", "researcher_analyst"} <= {agent["name"] for agent in said["agents"]}
    return {each["path"]: each for each in said["skipped"]}


@pytest.mark.parametrize("file", _MALFORMED)
def test_a_malformed_definition_is_passed_over_with_its_line_and_what_to_do(
    passed_over: dict[str, dict[str, Any]], file: str
) -> None:
    _, line, reason = _MALFORMED[file]
    assert reason in passed_over[file]["reason"]
    assert passed_over[file]["line"] == line
    assert passed_over[file]["hint"]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("latin.md", "UTF-8"),
        ("out.md", "leads out"),
        ("circle.md", "circle"),
        ("up", "not followed"),
        ("pipe.md", "not a regular file"),
        ("huge.md", "209,715,200 bytes"),
    ],
)
def test_a_file_that_is_no_text_of_the_project_is_passed_over(
    passed_over: dict[str, dict[str, Any]], name: str, reason: str
) -> None:
    assert reason in passed_over[f".claude/agents/{name}"]["reason"]
    assert passed_over[f".claude/agents/{name}"]["hint"]


def test_nothing_that_a_project_names_is_run_before_it_is_trusted(
    definitions: Path, passed_over: dict[str, dict[str, Any]]
) -> None:
    assert "not trusted" in passed_over[".retinue/agents/evil.py"]["reason"]
    assert list(definitions.rglob("marker")) == []


def test_linting_malformed_definitions_fails_and_lists_them_all(home: Path, definitions: Path) -> None:
    done = run(home, definitions, "lint", ".", "--json")
    assert done.returncode == 6
    findings = json.loads(done.stdout)["findings"]
    found = {finding["file"] for finding in findings if finding["severity"] == "error"}
    assert found.issuperset(_MALFORMED)
    assert all(finding["fix"] for finding in findings if finding["severity"] == "error")


@pytest.mark.parametrize("name", ["pipe.md", "circle.md"])
def test_linting_a_folder_is_not_silent_about_what_it_cannot_read(home: Path, definitions: Path, name: str) -> None:
    assert name in run(home, definitions, "lint", ".").stdout


def test_a_malformed_definition_named_by_the_user_is_an_invalid_definition(home: Path, definitions: Path) -> None:
    done = run(home, definitions, "lint", ".retinue/agents/code.json")
    assert done.returncode == 6
    assert ".retinue/agents/code.json:2:" in done.stdout
    assert "load/names-code" in done.stdout


def test_settings_that_are_no_file_are_a_warning_and_the_rest_goes_on(home: Path) -> None:
    root = home / "project"
    (root / ".git").mkdir(parents=True)
    (root / "retinue.toml").mkdir()
    (root / "pyproject.toml").mkdir()
    done = run(home, root, "config", "show")
    answered(done, "run.timeout_s")
    assert "retinue.toml" in done.stderr


# The fence


@pytest.fixture(scope="module")
def fenced(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with links to what lies outside, and an agent that reads what it is told to."""
    around = tmp_path_factory.mktemp("around")
    (around / "secret.md").write_text("The hidden word is swordfish.\n")
    root = around / "inside"
    (root / "folder").mkdir(parents=True)
    (root / "link.md").symlink_to("../secret.md")
    (root / "absolute.md").symlink_to(around / "secret.md")
    (root / "outdoors").symlink_to("..")
    (root / "circle.md").symlink_to("circle.md")
    files = {"Letter.md": "The letter says hello.\n", ".retinue/agents/rogues.py": ROGUES}
    return repository(root, files, "Add a letter")


_OUTSIDE = [
    "../secret.md",
    "folder/../../secret.md",
    "/etc/passwd",
    "link.md",
    "absolute.md",
    "outdoors/secret.md",
]
_NOWHERE = [
    "..%2fsecret.md",
    "%2e%2e/secret.md",
    "\u2024\u2024/secret.md",
    "LINK.MD",
    "~/secret.md",
    "file:///etc/passwd",
]
_NO_PATHS = ["", "a\0b", "a\nb", "a\rb", "\udcff.md", "x" * 5000, "circle.md"]


@pytest.mark.parametrize("path", _OUTSIDE)
def test_a_path_that_leads_out_of_the_workspace_is_denied(fenced: Path, path: str) -> None:
    with pytest.raises(AccessDenied):
        retinue.Workspace(fenced).read_text(path)


@pytest.mark.parametrize("path", _NOWHERE)
def test_a_path_in_disguise_is_only_a_name_that_is_not_there(fenced: Path, path: str) -> None:
    with pytest.raises((MissingFile, AccessDenied)):
        retinue.Workspace(fenced).read_text(path)


@pytest.mark.parametrize("path", _NO_PATHS, ids=ascii)
def test_what_can_be_no_path_is_invalid(fenced: Path, path: str) -> None:
    with pytest.raises((InvalidInput, AccessDenied)):
        retinue.Workspace(fenced).read_text(path)


def test_an_agent_is_stopped_at_the_fence_and_that_is_what_it_answers(home: Path, fenced: Path) -> None:
    assert run(home, fenced, "trust", "--yes").returncode == 0
    answered(run(home, fenced, "ask", "reader", "-p", "path=Letter.md"), "says hello")
    for path in ("../secret.md", "link.md"):
        done = run(home, fenced, "ask", "reader", "-p", f"path={path}")
        refused(done, 5, "outside the workspace")
        assert "swordfish" not in done.stdout + done.stderr


def test_no_answer_quotes_what_lies_outside(home: Path, fenced: Path) -> None:
    for path in ("../secret.md", "link.md", "outdoors/secret.md"):
        done = run(home, fenced, "run", f"what does {path} say about the hidden word swordfish?")
        assert done.returncode in {0, 1}
        assert "The hidden word" not in done.stdout


@pytest.mark.parametrize("words", [{"paths": ["../secret.md"]}, {"range": "--output=marker"}, {"range": "-x"}])
def test_git_is_given_no_path_outside_and_no_option(home: Path, fenced: Path, words: dict[str, Any]) -> None:
    parameters = json.dumps({"question": "who", **words})
    refused(run(home, fenced, "ask", "git_state_analyzer", "commit_analysis", "--params", parameters), 5)
    assert not (fenced / "marker").exists()


# Repositories


def test_a_repository_without_commits_says_so(home: Path) -> None:
    root = home / "new"
    root.mkdir()
    git(root, "init", "-q")
    answered(run(home, root, "run", "who changed it last?"), "no commits yet")
    answered(run(home, root, "ask", "git_state_analyzer", "branch_status"), "no commits yet", "`main`")


def test_a_bare_repository_has_a_history_and_no_files(home: Path, plain: Path) -> None:
    git(home, "clone", "-q", "--bare", str(plain), "bare.git")
    done = run(home, home / "bare.git", "run", "what does the parser promise, and what were the last 5 commits?")
    answered(done, "`Split words`", "Nothing was found")
    assert "in part" in done.stderr


def test_a_shallow_clone_says_that_its_counts_are_of_a_part(home: Path, plain: Path) -> None:
    git(home, "clone", "-q", "--depth", "1", f"file://{plain}", "shallow")
    done = run(home, home / "shallow", "run", "who changed it last?")
    answered(done, "`Split words`", "shallow")
    assert "git fetch --unshallow" in done.stderr


def test_a_detached_head_is_named_by_its_commit(home: Path, plain: Path) -> None:
    git(home, "clone", "-q", str(plain), "detached")
    git(home / "detached", "checkout", "-q", "HEAD~1")
    answered(run(home, home / "detached", "ask", "git_state_analyzer", "branch_status"), "detached")


@as_root
def test_a_repository_of_another_user_is_denied_with_what_to_do_and_its_files_are_still_read(
    home: Path, plain: Path
) -> None:
    root = home / "theirs"
    shutil.copytree(plain, root)
    for path in (root, *root.rglob("*")):
        os.chown(path, 54321, 54321)
    words = ("ask", "git_state_analyzer", "who changed it last?")
    nobody = {"HOME": str(home), "XDG_CONFIG_HOME": str(home)}
    refused(run(home, root, *words, places=nobody), 5, "belongs to another user", "safe.directory")
    done = run(home, root, "run", _GOAL, places=nobody)
    answered(done, _PROMISE, "belongs to another user")


def test_outside_of_any_repository_files_are_read_and_the_history_is_missed(home: Path) -> None:
    root = home / "folder"
    root.mkdir()
    (root / "notes.md").write_text("The robot promises tea.\n")
    done = run(home, root, "run", "what does the robot promise, and who are the main authors?")
    answered(done, "The robot promises tea.", "in no git repository")
    assert "warning" in done.stderr or "in part" in done.stderr


def test_a_hostile_configuration_runs_nothing(home: Path, plain: Path) -> None:
    root, marker = home / "hostile", home / "marker"
    shutil.copytree(plain, root)
    trap = root / "trap.sh"
    trap.write_text(f"#!/bin/sh\necho $0 >> '{marker}'\n")
    trap.chmod(0o755)
    traps = (
        "core.fsmonitor core.sshCommand core.pager core.editor core.askPass diff.external diff.x.command gpg.program "
        "diff.x.textconv filter.x.clean filter.x.smudge filter.x.process interactive.diffFilter credential.helper"
    )
    for name in traps.split():
        git(root, "config", name, str(trap))
    for name, value in {
        "core.hooksPath": str(root / "hooks"),
        "log.showSignature": "true",
        "alias.log": f"!{trap}",
        "remote.origin.url": f"ext::{trap}",
        "remote.origin.promisor": "true",
        "extensions.partialClone": "origin",
    }.items():
        git(root, "config", name, value)
    (root / "hooks").mkdir()
    for hook in ("post-index-change", "reference-transaction", "post-checkout", "fsmonitor-watchman"):
        shutil.copy(trap, root / "hooks" / hook)
    (root / ".gitattributes").write_text("* filter=x diff=x\n")
    (root / "README.md").write_text(f"{_PROMISE} Always.\n")
    goal = "what does the parser promise, who changed README.md last, what is uncommitted, and what were the last 5 commits?"
    answered(run(home, root, "run", goal), _PROMISE, "`Split words`", "`.gitattributes`")
    assert not marker.exists()


# File names and files

_ODD_NAMES = [
    b"new\nline.md",
    b"tab\there.md",
    b'quo"te.md',
    b"\xff\xfe.md",
    b"esc\x1b[31m.md",
    "turn\u202earound.md".encode(),
    b"-rf.md",
    b"$(touch marker).md",
    b":(top).md",
]


@pytest.fixture(scope="module")
def oddly_named(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("names")
    git(root, "init", "-q")
    for number, name in enumerate(_ODD_NAMES):
        (root / os.fsdecode(name)).write_text(f"The parser promises rule {number}.\n")
    git(root, "add", "-A")
    git(root, "commit", "-qm", "Evil \x1b[31msubject\x1b[0m \u202e of the parser")
    return root


def test_odd_file_names_are_read_and_shown_harmlessly(home: Path, oddly_named: Path) -> None:
    done = run(home, oddly_named, "run", "what does the parser promise, and which files changed most?")
    answered(done, "The parser promises rule", "(`-rf.md:1`)", r"`\"new\nline.md\"`".replace('\\"', '"'))
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout + done.stderr) is None
    assert list(oddly_named.glob("marker*")) == []


def test_odd_file_names_come_back_whole_in_json(home: Path, oddly_named: Path) -> None:
    done = run(home, oddly_named, "ask", "researcher_analyst", "what does the parser promise?", "--json")
    answered(done)
    assert re.search("[\x00-\x08\x0b-\x1f\x7f\u202e]", done.stdout) is None
    found = {finding["path"] for finding in json.loads(done.stdout)["data"]["findings"]}
    assert found <= {name.decode("utf-8", "replace") for name in _ODD_NAMES}


def test_files_left_out_for_their_names_are_listed(home: Path, oddly_named: Path) -> None:
    done = run(home, oddly_named, "ask", "researcher_analyst", "what does the parser promise?", "--json")
    left_out = json.dumps(json.loads(done.stdout)["data"]["not_searched"])
    assert "line.md" in left_out
    assert "376.md" in left_out


@pytest.fixture(scope="module")
def heavy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a huge file, binary files, links in circles, a pipe, and one useful sentence."""
    root = repository(tmp_path_factory.mktemp("heavy"), {"doc.md": "The engine promises delivery.\n"}, "Add a doc")
    with (root / "huge.txt").open("wb") as file:
        file.truncate(200 * 2**20)
    (root / "binary.md").write_bytes(b"PK\x03\x04\0\0 engine promises \0")
    (root / "noise.dat").write_bytes(os.urandom(300_000))
    (root / "a" / "b").mkdir(parents=True)
    (root / "a" / "b" / "up").symlink_to("../..")
    (root / "circle.md").symlink_to("other.md")
    (root / "other.md").symlink_to("circle.md")
    (root / "endless.md").symlink_to("/dev/zero")
    os.mkfifo(root / "pipe.md")
    return root


def test_huge_and_binary_files_and_circles_are_left_out_and_named(home: Path, heavy: Path) -> None:
    done = run(home, heavy, "ask", "researcher_analyst", "what does the engine promise?", "--json")
    answered(done)
    data = json.loads(done.stdout)["data"]
    assert [finding["path"] for finding in data["findings"]] == ["doc.md"]
    reasons = {each["source"]: each["reason"] for each in data["not_searched"]}
    assert "209715200 bytes" in reasons["huge.txt"]
    assert "binary" in reasons["binary.md"]
    assert "circle" in reasons["circle.md"]
    assert "endless.md" in reasons


@pytest.mark.slow
def test_a_huge_file_in_the_history_is_counted_and_not_shown(home: Path, heavy: Path) -> None:
    root = home / "copy"
    git(home, "clone", "-q", str(heavy), "copy")
    with (root / "huge.txt").open("wb") as file:
        file.truncate(200 * 2**20)
    commit(root, {}, "Add a huge file")
    answered(run(home, root, "run", "what was the largest change?"), "Add a huge file")


# Goals


@pytest.mark.parametrize("goal", ["", " ", "\n"], ids=repr)
def test_a_goal_of_no_characters_is_wrong_usage(home: Path, plain: Path, goal: str) -> None:
    refused_both_ways(home, plain, ("run", goal), exits=2, code="invalid_input", said="The goal is empty.")


def test_a_goal_of_a_million_characters_is_refused_at_once(home: Path, plain: Path) -> None:
    goal = ("what does the parser promise? " * 33_334)[:1_000_000].encode()
    refused(run(home, plain, "run", "-", stdin=goal), 2, "999,9")
    refused(run(home, plain, "ask", "researcher_analyst", "-", stdin=goal), 2, "100,000 are allowed")
    refused(run(home, plain, "run", "-", stdin=b"x" * 9_000_000), 2, "8,388,608 bytes")


@pytest.mark.parametrize("goal", ["a\x01b", "\x1b[31mred", "a\x7fb"], ids=ascii)
def test_a_goal_with_control_characters_is_wrong_usage(home: Path, plain: Path, goal: str) -> None:
    refused(run(home, plain, "run", goal), 2, "control character")


@pytest.mark.parametrize("goal", ["?", "💥", "xyzzy frobnicate quux", "何が変わりましたか"])
def test_a_goal_that_nobody_can_answer_fails_and_says_so(home: Path, plain: Path, goal: str) -> None:
    done = run(home, plain, "run", goal)
    assert (done.returncode, "Not answered" in done.stdout) == (1, True), done.stderr


def test_a_goal_whose_answer_is_not_there_fails_and_says_what_was_searched(home: Path, plain: Path) -> None:
    done = run(home, plain, "run", "how does the flux capacitor regenerate plutonium?")
    assert done.returncode == 1
    assert "Nothing was found" in done.stdout
    assert "2 files" in done.stdout


def test_a_goal_that_asks_back_ends_with_the_question(home: Path, plain: Path) -> None:
    done = run(home, plain, "ask", "researcher_analyst", "--json")
    assert done.returncode in {2, 9}
    assert "task" in error_of(done)["message"]


# Agents


@pytest.mark.slow
@pytest.mark.parametrize("agent", ["hanger", "digger"])
def test_an_agent_that_hangs_is_stopped_at_its_time(home: Path, trusting: Path, agent: str) -> None:
    done = run(home, trusting, "ask", agent, "x", "--timeout", "300ms", "--json")
    assert (done.returncode, json.loads(done.stdout)["fault"]["code"]) == (7, "timeout")
    assert "--timeout" in error_of(done)["message"]


def test_a_branch_that_hangs_does_not_take_the_others_with_it(home: Path, trusting: Path) -> None:
    goal = "sing a loud song and hang a framed picture"
    done = run(home, trusting, "run", goal, "--timeout", "400ms")
    assert done.returncode == 7
    assert "song: sing a loud song" in done.stdout
    assert "hanger" in done.stdout


@pytest.mark.slow
def test_an_agent_that_blocks_the_loop_for_a_while_keeps_its_answer_and_is_told_on(home: Path, trusting: Path) -> None:
    done = run(home, trusting, "ask", "blocker", "x", "--timeout", "200ms")
    assert done.returncode in {0, 7}
    assert "road: x" in done.stdout
    assert "blocked the event loop" in done.stderr


@pytest.mark.slow
def test_an_agent_that_blocks_the_loop_for_ever_is_struck_down_and_what_was_finished_is_kept(
    home: Path, trusting: Path
) -> None:
    done = run(home, trusting, "run", "sing a loud song and spin raw yarn", "--timeout", "200ms")
    refused(done, 7, "blocked the event loop")
    assert last_run(home, trusting)["finished_steps"] == ["n1"]


def test_what_an_agent_prints_is_kept_out_of_the_data(home: Path, trusting: Path) -> None:
    done = run(home, trusting, "ask", "printer", "x", "--json")
    answered(done)
    assert json.loads(done.stdout)["data"] == {"paper": "x"}
    assert sorted(done.stderr.split("\n")[:3]) == ["from a child", "printed", "written"]


@pytest.mark.parametrize(
    ("agent", "said"),
    [("leaver", "SystemExit"), ("thread_leaver", "SystemExit"), ("thrower", "Mute"), ("faker", "was not written")],
)
def test_an_agent_that_exits_throws_or_lies_is_an_error_of_its_own(
    home: Path, trusting: Path, agent: str, said: str
) -> None:
    refused(run(home, trusting, "ask", agent, "x"), 5, said)
    done = run(home, trusting, "ask", agent, "x", "--json")
    assert done.returncode == 5
    result = json.loads(done.stdout)
    assert said in result["fault"]["message"]
    assert error_of(done)["code"] == result["fault"]["code"]


def test_an_agent_that_raises_the_interrupt_of_a_person_ends_the_command_as_that_does(
    home: Path, trusting: Path
) -> None:
    refused(run(home, trusting, "run", "interrupt a long talk"), 130, "Interrupted")
    assert last_run(home, trusting)["outcome"] == "canceled"


def test_an_agent_that_ends_the_process_loses_only_itself(home: Path, trusting: Path) -> None:
    done = run(home, trusting, "run", "sing a loud song and quit a boring job")
    assert done.returncode == 42  # nobody within the process can prevent that
    record = last_run(home, trusting)
    assert (record["stalled"], record["finished_steps"]) == (True, ["n1"])
    for name in ("journal.sqlite3-wal", "journal.sqlite3-shm"):
        assert not (home / "state" / name).exists(), "reading the history has tidied up"


_LOOP: list[Any] = []
_LOOP.append(_LOOP)


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


_GARBAGE: dict[str, Callable[[], Any]] = {
    "none": lambda: None,
    "number": lambda: 7,
    "text": lambda: "not json",
    "tuple": lambda: ("a", 1),
    "bytes": lambda: {"a": b"\xff"},
    "object": lambda: {"a": object()},
    "type": lambda: dict,
    "nan": lambda: {"a": [math.nan]},
    "infinity": lambda: {"a": math.inf},
    "loop": lambda: {"a": _LOOP},
    "deep": lambda: {"a": nested(10_000)},
    "surrogate": lambda: {"a": "\ud800"},
    "long number": lambda: {"a": 10**5000},
    "huge": lambda: {"a": "x" * 20_000_000},
    "endless": lambda: iter(int, 1),
}


@pytest.mark.parametrize("kind", _GARBAGE)
def test_an_agent_that_returns_garbage_has_failed_and_the_place_is_named(kind: str) -> None:
    @retinue.agent
    async def collector() -> dict[str, Any]:
        """Collects garbage. Use when garbage is due. Returns it."""
        return _GARBAGE[kind]()

    result = asyncio.run(retinue.call(collector))
    assert result.outcome == "failed"
    assert result.fault is not None
    assert (result.fault.code, result.retries) == ("output_invalid", 2)
    assert result.fault.message
    assert result.fault.hint
    assert "promises some" not in result.fault.message


# The public API


def test_the_api_refuses_bad_input_with_typed_errors(home: Path) -> None:
    @retinue.agent
    async def echo(text: str) -> str:
        """Echoes text. Use when an echo is due. Returns the text."""
        return text

    for words in ({}, {"text": 7}, {"txet": "a"}, {"text": "\ud800"}, {"text": math.nan}):
        result = asyncio.run(retinue.call(echo, **words))
        assert result.fault is not None
        assert (result.outcome, result.fault.code) == ("error", "invalid_input")
        assert result.attempts == ()

    async def goals() -> None:
        registry = retinue.Registry([echo])
        async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
            orchestrator = retinue.Orchestrator(registry, engine)
            for goal in ("", "x" * 1_000_000, "\0", "\ud800"):
                with pytest.raises(InvalidInput):
                    await orchestrator.run_goal(goal)
            with pytest.raises(UnknownName):
                await orchestrator.run_task("nobody", instruction="hello")
            result = await orchestrator.run_task("echo", "nothing", instruction="hello")
            assert (result.outcome, result.data["failures"][0]["code"]) == ("error", "invalid_input")

    asyncio.run(goals())
    for folder, error in ((home / "nowhere", MissingFile), (Path(__file__), InvalidInput)):
        with pytest.raises(error):
            retinue.Workspace(folder)


# Ctrl-C, and whoever else ends a command


@pytest.mark.slow
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_goes_on_where_it_was_and_leaves_nothing_behind(home: Path, how: signal.Signals) -> None:
    root = repository(make(home / "project"), {".retinue/agents/rogues.py": ROGUES}, "Add agents")
    assert run(home, root, "trust", "--yes").returncode == 0
    with start(home, root, "run", "count white sheep and wait at a city gate", "--jsonl") as process:
        assert process.stdout is not None
        for line in process.stdout:
            if '"waiting"' in line:
                break
        while not (runs := listed(home, root)) or runs[0]["finished_steps"] != ["n1"]:
            assert process.poll() is None
        process.send_signal(how)
        _, err = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == (130 if how is not signal.SIGKILL else -signal.SIGKILL)
    assert "Traceback" not in err
    if sys.platform == "linux":
        assert children_of([process.pid]) == []
    record = last_run(home, root)
    assert record["finished_steps"] == ["n1"]
    assert record["stalled"] is (how is signal.SIGKILL)

    (root / "open").touch()
    done = run(home, root, "runs", "resume")
    answered(done, "sheep:", "passed:")
    assert (root / "counted.txt").read_text() == "once\n"
    assert last_run(home, root)["outcome"] == "success"


@pytest.mark.slow
def test_a_second_interrupt_ends_an_agent_that_blocks_the_loop(home: Path, trusting: Path) -> None:
    with start(home, trusting, "run", "spin raw yarn") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "spinning\n"
        for _ in range(2):
            process.send_signal(signal.SIGINT)
            time.sleep(0.2)  # two at once would be one
        _, err = process.communicate(timeout=_PATIENCE_S)
    assert process.returncode == 130
    assert "Traceback" not in err
    assert last_run(home, trusting)["outcome"] == "canceled"


@pytest.mark.slow
def test_a_termination_ends_an_agent_that_blocks_the_loop(home: Path, trusting: Path) -> None:
    with start(home, trusting, "run", "spin raw yarn") as process:
        assert process.stderr is not None
        assert process.stderr.readline() == "spinning\n"
        try:
            for _ in range(2):
                process.terminate()
                time.sleep(0.3)
            assert process.wait(1.0) == 130
        finally:
            process.kill()


# Streams


def through_a_shell(home: Path, folder: Path, script: str) -> Done:
    env = environment(home, RETINUE=" ".join(COMMAND))
    return give(["bash", "-o", "pipefail", "-c", script], folder, env)


@pytest.mark.parametrize("words", [f'run "{_GOAL}"', f'run "{_GOAL}" --json', f'run "{_GOAL}" --jsonl', "agents"])
def test_a_reader_that_takes_one_line_and_goes_is_no_error(home: Path, plain: Path, words: str) -> None:
    done = through_a_shell(home, plain, f"$RETINUE {words} | head -n 1")
    assert done.returncode == 0
    assert done.stdout.count("\n") == 1
    assert "error" not in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs a device that is always full")
def test_an_answer_that_cannot_be_written_is_a_failure_and_nobodys_mistake(home: Path, plain: Path) -> None:
    done = through_a_shell(home, plain, f'$RETINUE run "{_GOAL}" > /dev/full')
    assert done.returncode == 1
    assert "No space left" in done.stderr
    assert "our mistake" not in done.stderr


def test_no_colour_is_respected_at_a_terminal(home: Path, plain: Path) -> None:
    with Terminal(home, plain, "run", "", NO_COLOR="1") as terminal:
        code, seen = terminal.ended()
    assert code == 2
    assert re.search(r"\x1b\[[0-9;]*3[0-9]", seen) is None
    with Terminal(home, plain, "run", _GOAL, NO_COLOR="1") as terminal:
        code, seen = terminal.ended()
    assert code == 0
    assert re.search(r"\x1b\[(?:[0-9]+;)*(?:3[0-8]|9[0-7]|4[0-8])m", seen) is None


@pytest.mark.parametrize(
    "locale",
    [
        {"LC_ALL": "C", "PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        {"LC_ALL": "POSIX", "PYTHONIOENCODING": "latin-1"},
    ],
    ids=lambda locale: " ".join(locale.values()),
)
def test_a_locale_without_unicode_loses_no_answer(home: Path, plain: Path, locale: dict[str, str]) -> None:
    answered(run(home, plain, "run", _GOAL, places=locale), _PROMISE)


_ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


def test_a_question_with_letters_that_the_locale_has_not_is_answered(home: Path, plain: Path) -> None:
    for words in (
        ("ask", "git_state_analyzer", "what did José change?"),
        ("run", "who touched the naïve parser last?"),
    ):
        done = run(home, plain, *words, places=_ASCII)
        assert done.returncode in {0, 1, 2, 5}
        assert "UnicodeEncodeError" not in done.stderr
    asked = "who changed `é` last?"
    done = run(home, plain, "ask", "git_state_analyzer", asked, places=_ASCII)
    assert (done.returncode, "UnicodeEncodeError" in done.stderr) == (2, False)


def test_a_file_that_the_locale_cannot_name_is_a_fault_that_says_how_to_open_it(home: Path) -> None:
    root = repository(make(home / "project"), {"café.md": "The café promises coffee.\n"}, "Ajoute le café")
    done = run(
        home, root, "ask", "git_state_analyzer", "commit_analysis", "--params", '{"paths": ["café.md"]}', places=_ASCII
    )
    refused(done, 5, "in this locale", "PYTHONUTF8=1")
    answered(run(home, root, "ask", "researcher_analyst", "what does the café promise?"), "café promises coffee")


def test_words_that_are_no_unicode_are_wrong_usage(home: Path, plain: Path) -> None:
    refused(run(home, plain, "run", os.fsdecode(b"what does \xff promise")), 2, "Unicode")
    answered(run(home, plain, "run", "-", stdin=b"who changed it last? \xff"), "`Split words`")


# The computer itself


@pytest.mark.parametrize("where", [{}, {"HOME": ""}, {"HOME": "/proc/none"}], ids=["none", "empty", "unwritable"])
def test_without_a_home_it_still_answers(home: Path, plain: Path, where: dict[str, str]) -> None:
    env = {name: value for name, value in environment(home).items() if name not in {"HOME", "XDG_STATE_HOME"}}
    answered(give([*COMMAND, "run", _GOAL], plain, {**env, **where}), _PROMISE)


@pytest.mark.parametrize("name", ["STATE", "CACHE", "CONFIG"])
def test_a_folder_that_cannot_be_written_costs_the_history_and_not_the_answer(
    home: Path, plain: Path, name: str
) -> None:
    in_the_way = home / "file"
    in_the_way.write_text("in the way")
    done = run(home, plain, "run", _GOAL, places={f"RETINUE_{name}_DIR": str(in_the_way)})
    answered(done, _PROMISE)
    assert ("History is not recorded" in done.stderr) is (name == "STATE")


@not_root
def test_a_read_only_state_costs_the_history_and_not_the_answer(home: Path, plain: Path) -> None:
    state = make(home / "locked")
    state.chmod(0o500)
    done = run(home, plain, "run", _GOAL, places={"RETINUE_STATE_DIR": str(state)})
    answered(done, _PROMISE)
    assert "History is not recorded" in done.stderr


def test_trust_that_cannot_be_kept_is_not_given(home: Path, rogues: Path) -> None:
    in_the_way = home / "file"
    in_the_way.write_text("in the way")
    refused(run(home, rogues, "trust", "--yes", places={"RETINUE_STATE_DIR": str(in_the_way)}), 2, "cannot be written")


def test_a_full_disk_costs_the_history_and_not_the_answer(home: Path, plain: Path) -> None:
    # A limit on the size of files answers as a full disk does, and needs no device.
    limited = f'ulimit -f 4; exec $RETINUE run "{_GOAL}"'
    env = environment(home, RETINUE=" ".join(COMMAND), RETINUE_STATE_DIR=str(home / "full"))
    done = give(["sh", "-c", limited], plain, env)
    answered(done, _PROMISE)
    assert "History is not recorded" in done.stderr
    assert "Free space" in done.stderr


def test_many_runs_at_once_share_one_history_and_one_cache(home: Path, plain: Path) -> None:
    together = [start(home, plain, "run", _GOAL) for _ in range(4)]
    ended = [(*process.communicate(timeout=_PATIENCE_S), process.returncode) for process in together]
    assert [code for _, _, code in ended] == [0] * 4
    assert len({out for out, _, _ in ended}) == 1
    assert all("warning" not in err for _, err, _ in ended)
    assert [record["outcome"] for record in listed(home, plain)] == ["success"] * 4


def test_a_corrupt_history_is_left_alone_and_costs_no_answer(home: Path, plain: Path) -> None:
    journal = make(home / "state") / "journal.sqlite3"
    journal.write_bytes(os.urandom(20_000))
    before = journal.read_bytes()
    done = run(home, plain, "run", _GOAL)
    answered(done, _PROMISE)
    assert "History is not recorded" in done.stderr
    refused_both_ways(home, plain, ("runs", "list"), exits=2, code="parse_error", said="Move the file away")
    refused(run(home, plain, "runs", "resume"), 2, "Move the file away")
    assert run(home, plain, "doctor").returncode == 1
    assert journal.read_bytes() == before


def test_a_damaged_run_does_not_hide_the_others(home: Path, plain: Path) -> None:
    import sqlite3

    for goal in (_GOAL, "who changed it last?"):
        answered(run(home, plain, "run", goal))
    journal = sqlite3.connect(home / "state" / "journal.sqlite3")
    with journal:
        journal.execute("UPDATE events SET body = '{\"x\": [[' WHERE run = (SELECT max(run) FROM events)")
    journal.close()
    damaged, whole = listed(home, plain)
    assert damaged["damage"]
    assert (whole["label"], whole["outcome"]) == (_GOAL, "success")
    refused(run(home, plain, "runs", "show"), 2, "cannot be read")
    answered(run(home, plain, "runs", "show", whole["run"]), _PROMISE)


@pytest.mark.parametrize("how", ["garbage", "cut", "folder"])
def test_a_corrupt_cache_is_only_slower(home: Path, plain: Path, how: str) -> None:
    first = run(home, plain, "run", _GOAL)
    answered(first, _PROMISE)
    kept = [path for path in (home / "cache").rglob("*") if path.is_file()]
    assert kept
    for path in kept:
        data = path.read_bytes()
        path.unlink()
        if how == "folder":
            path.mkdir()
        else:
            path.write_bytes(os.urandom(len(data)) if how == "garbage" else data[: len(data) // 2])
    assert run(home, plain, "run", _GOAL).stdout == first.stdout


@pytest.mark.parametrize("text", ["{", '{"format": 1, "folders": {"/": 1}}'])
def test_a_corrupt_trust_store_trusts_nobody_and_is_kept_when_a_new_one_is_begun(
    home: Path, rogues: Path, text: str
) -> None:
    store = make(home / "state") / "trust.json"
    store.write_text(text)
    store.chmod(0o600)
    refused(run(home, rogues, "trust", "--list"), 2, "trust store is damaged")
    refused(run(home, rogues, "ask", "singer", "x"), 2, "singer")
    answered(run(home, rogues, "trust", "--yes"))
    answered(run(home, rogues, "ask", "singer", "x"), "song: x")
    assert [path.read_text() for path in store.parent.glob("trust.damaged-*")] == [text]


def test_a_trust_store_that_others_may_write_trusts_nobody(home: Path, trusting: Path) -> None:
    (home / "state" / "trust.json").chmod(0o666)
    refused(run(home, trusting, "ask", "singer", "x"), 2, "singer")
    refused(run(home, trusting, "trust", "--list"), 2, "written by others")


def test_trust_ends_when_the_code_changes(home: Path) -> None:
    root = make(home / "project")
    files = {".retinue/agents/rogues.py": ROGUES}
    repository(root, files, "Add agents")
    answered(run(home, root, "trust", "--yes"))
    with (root / ".retinue/agents/rogues.py").open("a") as file:
        file.write("\nopen('marker', 'w').close()\n")
    refused(run(home, root, "ask", "singer", "x"), 2, "singer")
    refused(run(home, root, "trust"), 2, "trust --yes")
    assert not (root / "marker").exists()
