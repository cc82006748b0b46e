"""`retinue tickets`: make a tree, check it, ask what is next."""

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.cli.conftest import Give, Said

ROOT = "docs/tickets"
STORY = f"{ROOT}/INIT-0001/EPIC-0001.1/STORY-0001.1.1"
TASK = f"{STORY}/TASK-0001.1.1.1.md"


@pytest.fixture
def tree(retinue: Give, folder: Path) -> Path:
    assert retinue("tickets", "init").code == 0
    return folder


def put(folder: Path, path: str, text: str | bytes) -> Path:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    return file


def task(number: int, status: str = "🔵 Not Started", more: str = "") -> str:
    return (
        f"# TASK-0001.1.1.{number}: Step {number}\n\n**Parent Story**: STORY-0001.1.1\n**Status**: {status}\n{more}\n"
    )


def change(file: Path, old: str, new: str) -> None:
    text = file.read_text(encoding="utf-8")
    assert old in text
    file.write_text(text.replace(old, new), encoding="utf-8")


def rules(said: Said) -> dict[str, list[tuple[str, int]]]:
    """Place of each finding by rule."""
    found: dict[str, list[tuple[str, int]]] = {}
    for each in said.data["findings"]:
        found.setdefault(each["rule"].removeprefix("ticket/"), []).append((each["file"], each.get("line", 0)))
    return found


def test_a_new_tree_is_clean_and_its_first_task_is_next(retinue: Give, folder: Path) -> None:
    said = retinue("tickets", "init")
    assert said.code == 0
    assert said.out.split() == [
        f"{ROOT}/BUG-0001.md",
        f"{ROOT}/INIT-0001/EPIC-0001.1/README.md",
        f"{STORY}/README.md",
        TASK,
        f"{ROOT}/INIT-0001/README.md",
    ]
    assert (said := retinue("tickets", "check", "--strict")).code == 0
    assert said.err == "clean: 5 files, 0 errors, 0 warnings\n"
    said = retinue("tickets", "next")
    assert said.code == 0
    assert [line.split()[:2] for line in said.out.splitlines()] == [["ready", "BUG-0001"], ["ready", "TASK-0001.1.1.1"]]


def test_nothing_that_is_there_is_overwritten(retinue: Give, tree: Path) -> None:
    (tree / STORY / "README.md").unlink()
    said = retinue("tickets", "init")
    assert said.code == 2
    assert "is there already; nothing was written" in said.err
    assert not (tree / STORY / "README.md").exists()
    said = retinue("tickets", "init", "elsewhere", "--json")
    assert "elsewhere/BUG-0001.md" in said.data["created"]
    assert retinue("tickets", "init", "../out").code == 2


def test_without_a_ticket_a_check_does_not_look_like_a_pass(retinue: Give, folder: Path) -> None:
    for words in (("check",), ("next",), ("check", "--json")):
        said = retinue("tickets", *words)
        assert said.code == 2
        assert "There is no ticket in `docs/tickets`" in said.err
        assert "retinue tickets init" in said.err


def test_reports_for_build_servers_and_code_hosts(retinue: Give, tree: Path) -> None:
    change(tree / TASK, "STORY-0001.1.1](README.md)", "STORY-0001.1.9](README.md)")
    said = retinue("tickets", "check")
    assert said.code == 6
    assert f"{TASK}:3:1: error ticket/missing-parent STORY-0001.1.9, which it is part of, has no file." in said.out
    assert "    fix: Create STORY-0001.1.9, or name another parent." in said.out
    assert said.err.startswith("failed: 5 files, 1 error, 2 warnings")
    retinue("tickets", "check", "--output", "report.sarif")
    (run,) = json.loads((tree / "report.sarif").read_text())["runs"]
    assert {one["ruleId"] for one in run["results"]} == {"ticket/missing-parent", "ticket/parent-differs"}
    assert {one["id"] for one in run["tool"]["driver"]["rules"]} == {"ticket/missing-parent", "ticket/parent-differs"}
    retinue("tickets", "check", "--output", "report.xml")
    suite = ET.fromstring((tree / "report.xml").read_bytes())[0]
    assert (suite.get("name"), suite.get("tests"), suite.get("failures")) == ("retinue tickets check", "5", "1")
    assert {case.get("name") for case in suite if not len(case)} == {"check"}


@pytest.mark.requirement("K17", "C15")
@pytest.mark.parametrize(
    "ticket",
    [
        "",
        "STORY-1",
        "story-0001.1.1",
        "STORY-0001.1.1\n",
        "STORY-\u0660\u0660\u0660\u0661.1.1",
        "TASK-0001.1.1",
        "BUG-00012",
        "FIX-1",
    ],
)
def test_what_is_no_ticket_id_is_refused(retinue: Give, tree: Path, ticket: str) -> None:
    said = retinue("tickets", "next", ticket)
    assert said.code == 2
    assert "ticket id" in said.err
    assert "STORY-####.*.*" in said.err


@pytest.mark.requirement("K17")
def test_tasks_below_one_ticket(retinue: Give, tree: Path) -> None:
    assert [one["id"] for one in retinue("tickets", "next", "EPIC-0001.1", "--json").data["ready"]] == [
        "TASK-0001.1.1.1"
    ]
    assert [one["id"] for one in retinue("tickets", "next", "BUG-0001", "--json").data["ready"]] == ["BUG-0001"]
    said = retinue("tickets", "next", "STORY-0001.1.7")
    assert said.code == 2
    assert "There is no ticket STORY-0001.1.7" in said.err


def test_each_open_task_says_why_it_cannot_start(retinue: Give, tree: Path) -> None:
    put(tree, TASK, task(1, "🟡 In Progress"))
    for number, status, more in [
        (2, "todo", "**Depends on**: TASK-0001.1.1.1, TASK-0001.1.1.3"),
        (3, "✅ Done", "\n**Blocks:**\n- TASK-0001.1.1.4 (it needs the parser)"),
        (4, "⬜", "\n## Dependencies\n\n- TASK-0001.1.1.77 complete"),
        (5, "🔴 Blocked", ""),
        (6, "nearly", ""),
        (7, "❌ Cancelled", ""),
        (10, "offen", "\n**Estimated Hours**: 4.5\n\n## Abhängigkeiten\n\n- TASK-0001.1.1.3"),
    ]:
        put(tree, f"{STORY}/TASK-0001.1.1.{number}.md", task(number, status, more))
    said = retinue("tickets", "next", "STORY-0001.1.1", "--json")
    assert said.code == 0
    (ready,) = said.data["ready"]
    assert (ready["id"], ready["estimated_hours"], ready["title"]) == ("TASK-0001.1.1.10", 4.5, "Step 10")
    assert [one["id"] for one in said.data["in_progress"]] == ["TASK-0001.1.1.1"]
    reasons = {
        one["id"]: [(b["type"], b["ticket"], b.get("status")) for b in one["blockers"]] for one in said.data["waiting"]
    }
    assert reasons == {
        "TASK-0001.1.1.2": [("prerequisite", "TASK-0001.1.1.1", "in_progress")],
        "TASK-0001.1.1.4": [("missing_dependency", "TASK-0001.1.1.77", None)],
        "TASK-0001.1.1.5": [("status", "TASK-0001.1.1.5", "blocked")],
        "TASK-0001.1.1.6": [("status", "TASK-0001.1.1.6", None)],
    }
    text = retinue("tickets", "next", "-n", "1").out
    assert "waiting  TASK-0001.1.1.2  Step 2" in text
    assert "    TASK-0001.1.1.1 is `in_progress`." in text
    assert "and 3 more; --limit shows them" in text


def test_what_is_above_a_task_can_keep_it_waiting(retinue: Give, tree: Path) -> None:
    change(
        tree / ROOT / "INIT-0001/EPIC-0001.1/README.md", "**Story Points**", "**Requires**: BUG-0001\n**Story Points**"
    )
    change(tree / STORY / "README.md", "🔵 Not Started", "⛔ Blocked")
    (waiting,) = retinue("tickets", "next", "STORY-0001.1.1", "--json").data["waiting"]
    assert [(one["type"], one["ticket"]) for one in waiting["blockers"]] == [
        ("ancestor", "STORY-0001.1.1"),
        ("prerequisite", "BUG-0001"),
    ]
    assert retinue("tickets", "next", "STORY-0001.1.1").code == 1


def test_when_everything_is_done_there_is_nothing_to_do(retinue: Give, tree: Path) -> None:
    for file in (tree / ROOT).rglob("*.md"):
        change(file, "**Status**: 🔵 Not Started", "**Status**: ✅ Done")
    said = retinue("tickets", "next")
    assert (said.code, said.out) == (0, "Nothing is open.\n")


CHANGES: Mapping[str, tuple[Mapping[str, str | bytes], dict[str, list[tuple[str, int]]]]] = {
    "two files with one id": (
        {f"{ROOT}/BUG-0002.md": "# BUG-0001: Again\n\nStatus: open\n"},
        {
            "id-differs": [(f"{ROOT}/BUG-0002.md", 1)],
            "same-id": [(f"{ROOT}/BUG-0001.md", 1), (f"{ROOT}/BUG-0002.md", 1)],
        },
    ),
    "parents that are part of each other": (
        {
            f"{ROOT}/EPIC-0001.7.md": "# EPIC-0001.7: A\n\nParent: EPIC-0001.8\nStatus: open\n",
            f"{ROOT}/EPIC-0001.8.md": "# EPIC-0001.8: B\n\nParent: EPIC-0001.7\nStatus: open\n",
        },
        {
            "parent-circle": [(f"{ROOT}/EPIC-0001.7.md", 3)],
            "wrong-parent": [(f"{ROOT}/EPIC-0001.7.md", 3), (f"{ROOT}/EPIC-0001.8.md", 3)],
        },
    ),
    "a ticket that is its own parent": (
        {f"{ROOT}/STORY-0001.1.5.md": "# STORY-0001.1.5: A\n\nParent: STORY-0001.1.5\nStatus: open\n"},
        {"parent-circle": [(f"{ROOT}/STORY-0001.1.5.md", 3)]},
    ),
    "tasks that wait for each other": (
        {
            f"{STORY}/TASK-0001.1.1.2.md": task(2, more="**Requires**: TASK-0001.1.1.3"),
            f"{STORY}/TASK-0001.1.1.3.md": task(3, more="**Requires**: TASK-0001.1.1.2"),
        },
        {"dependency-circle": [(f"{STORY}/TASK-0001.1.1.2.md", 5)]},
    ),
    "ids of every wrong kind": (
        {
            f"{ROOT}/STORY-12.md": "# STORY-12: Sign in\n\nStatus: open\n",
            f"{ROOT}/task-0001.1.1.4.md": "# task-0001.1.1.4: Lower case\n\nStatus: open\n",
            f"{STORY}/TASK-0001.1.1.5.md": task(5, more="**Requires**: TASK-7"),
        },
        {
            "bad-id": [
                (f"{STORY}/TASK-0001.1.1.5.md", 5),
                (f"{ROOT}/STORY-12.md", 1),
                (f"{ROOT}/task-0001.1.1.4.md", 1),
            ]
        },
    ),
    "front matter that is none": (
        {
            f"{ROOT}/BUG-0003.md": "---\nid: BUG-0003\nstatus: [open\n---\n# Title\n",
            f"{ROOT}/BUG-0004.md": "---\nid: BUG-0004\n# Title\n",
        },
        {
            "front-matter": [(f"{ROOT}/BUG-0003.md", 3), (f"{ROOT}/BUG-0004.md", 1)],
            "no-status": [(f"{ROOT}/BUG-0004.md", 3)],
        },
    ),
    "bytes that are no text, or no UTF-8": (
        {
            f"{ROOT}/BUG-0003.md": b"\x00\x01",
            f"{ROOT}/BUG-0004.md": "# BUG-0004: Größe\n\nStatus: open\n".encode("latin-1"),
        },
        {"encoding": [(f"{ROOT}/BUG-0004.md", 1)], "unread": [(f"{ROOT}/BUG-0003.md", 1)]},
    ),
    "mixed line ends, a byte-order mark and tabs": (
        {f"{ROOT}/BUG-0003.md": b"\xef\xbb\xbf# BUG-0003: A\r\n\r\n**Status**:\tDone\n\n-\t[x]\tBox\r"},
        {"line-ends": [(f"{ROOT}/BUG-0003.md", 1)]},
    ),
    "headings of two languages": (
        {f"{ROOT}/BUG-0003.md": "# BUG-0003: A\n\nStatus: open\n\n## Acceptance Kriterien\n\n- [ ] a\n"},
        {"heading": [(f"{ROOT}/BUG-0003.md", 5)]},
    ),
    "a status nobody knows, and one that disagrees with its icon": (
        {
            f"{ROOT}/BUG-0003.md": "# BUG-0003: A\n\nStatus: nearly\n",
            f"{ROOT}/BUG-0004.md": "# BUG-0004: A\n\nStatus: ✅ In Progress\nProgress: ██░░ 100%\n",
        },
        {
            "bar-differs": [(f"{ROOT}/BUG-0004.md", 4)],
            "status-differs": [(f"{ROOT}/BUG-0004.md", 3)],
            "unknown-status": [(f"{ROOT}/BUG-0003.md", 3)],
        },
    ),
    "a link with the separators of Windows, and one to nowhere": (
        {
            f"{STORY}/TASK-0001.1.1.2.md": "# TASK-0001.1.1.2: A\n\n**Parent**: [the story](.\\README.md)\nStatus: open\n",
            f"{STORY}/TASK-0001.1.1.3.md": "# TASK-0001.1.1.3: A\n\n**Parent**: [the story](../gone.md)\nStatus: open\n",
        },
        {"missing-parent": [(f"{STORY}/TASK-0001.1.1.3.md", 3)]},
    ),
    "children and requirements without a file, a kind too high": (
        {
            f"{STORY}/README.md": "# STORY-0001.1.1: A\n\nStatus: done\n\n## Tasks\n\n| ID | Status |\n|---|---|\n"
            "| TASK-0001.1.1.1 | ✅ Done |\n| TASK-0001.1.1.8 | open |\n\n## Dependencies\n\n**Requires:**\n- STORY-0009.9.9\n",
            f"{ROOT}/TASK-0002.1.1.1.md": "# TASK-0002.1.1.1: A\n\nParent: EPIC-0001.1\nStatus: open\n",
        },
        {
            "child-status": [(f"{STORY}/README.md", 9), (f"{ROOT}/INIT-0001/EPIC-0001.1/README.md", 25)],
            "done-too-early": [(f"{STORY}/README.md", 3)],
            "missing-child": [(f"{STORY}/README.md", 10)],
            "missing-dependency": [(f"{STORY}/README.md", 15)],
            "wrong-parent": [(f"{ROOT}/TASK-0002.1.1.1.md", 3)],
        },
    ),
    "a scenario that is no Gherkin beside one that is": (
        {
            f"{ROOT}/BUG-0003.md": "# BUG-0003: A\n\nStatus: open\n\n```gherkin\nScenario: a\n  Given b\n  Then c\n    {\n"
            "\nScenario: d\n  Given e\n```\n"
        },
        {"scenario": [(f"{ROOT}/BUG-0003.md", 9)]},
    ),
    "files that are no tickets": (
        {f"{ROOT}/README.md": "# About our tickets\n", f"{ROOT}/notes.txt": "none"},
        {"other-file": [(f"{ROOT}/README.md", 1)]},
    ),
}


@pytest.mark.requirement("K13", "K17")
@pytest.mark.parametrize("what", CHANGES)
def test_bad_input_is_told_with_its_place_and_the_rest_is_read(retinue: Give, tree: Path, what: str) -> None:
    files, expected = CHANGES[what]
    for path, text in files.items():
        put(tree, path, text)
    said = retinue("tickets", "check", "--json")
    assert {rule: sorted(places) for rule, places in rules(said).items()} == {r: sorted(p) for r, p in expected.items()}
    assert all(each["message"] and each["fix"] for each in said.data["findings"])
    assert said.data["files"] >= 5
    assert retinue("tickets", "next").code in {0, 1}


@pytest.mark.requirement("K15")
def test_tasks_that_a_story_lists_and_nobody_wrote_are_named(retinue: Give, tree: Path) -> None:
    listed = "".join(f"- [ ] TASK-0001.1.1.{number}: Step\n" for number in (1, 2, 3, 4, 5))
    change(tree / STORY / "README.md", "- [ ] TASK-0001.1.1.1: The first step\n", listed)
    (finding,) = retinue("tickets", "check", "--json").data["findings"]
    assert finding["rule"] == "ticket/missing-child"
    assert all(f"TASK-0001.1.1.{number}" in finding["message"] for number in (2, 3, 4, 5))


def test_what_has_one_meaning_is_fixed_and_no_other_byte_changes(retinue: Give, tree: Path) -> None:
    data = "\ufeff# BUG-0003: Größe\r\n\n**Status**: ✅ In Progress  \r\n**Progress**: ████░░░░░░ 70 %\r\n\t- [ ] x\n".encode()
    file = put(tree, f"{ROOT}/BUG-0003.md", data)
    said = retinue("tickets", "check", "--fix")
    assert said.err == "clean: 6 files, 0 errors, 0 warnings, 1 note (--notes lists them), 2 fixed\n"
    assert file.read_bytes() == data.replace("✅".encode(), "🟡".encode()).replace(
        "████░░░".encode(), "███████".encode()
    )


@pytest.mark.requirement("C38")
def test_a_project_has_its_own_words_and_layout(retinue: Give, folder: Path) -> None:
    put(
        folder,
        ".retinue/tickets.toml",
        'folders = ["plan"]\n[ids]\nstory = "S-*"\ntask = "S-*.T*"\n[parents]\ntask = "story"\n'
        '[statuses]\ndone = ["shipped", "🚀"]\n',
    )
    put(folder, "plan/S-1/README.md", "# S-1 Sign in\n\nStatus: todo\n")
    put(folder, "plan/S-1/S-1.T1-form.md", "---\nstatus: 🚀 Shipped\n---\n# S-1.T1 The form\n")
    put(folder, "plan/S-1/S-1.T2.md", "# S-1.T2 The button\n\nStatus: todo\nDepends on: S-1.T1\n")
    assert retinue("tickets", "check", "--strict").err == "clean: 3 files, 0 errors, 0 warnings\n"
    assert [one["id"] for one in retinue("tickets", "next", "S-1", "--json").data["ready"]] == ["S-1.T2"]


def test_the_vocabulary_can_be_written_to_be_changed(retinue: Give, folder: Path) -> None:
    assert ".retinue/tickets.toml" in retinue("tickets", "init", "--vocabulary").out
    assert retinue("tickets", "check", "--strict").code == 0
    change(folder / ".retinue/tickets.toml", '"docs/tickets", ', "")
    assert retinue("tickets", "check").code == 0, "files are known by their names, where no folder has any"


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("ids = 3", "ids"),
        ("[ids]\nstory = '('", "/ids/story"),
        ("[parents]\nepic = 'saga'", "saga"),
        ("[parents]\nstory = 'epic'\nepic = 'story'", "part of itself"),
        ("[statuses]\nmaybe = ['x']", "maybe"),
        ("nothing", "not TOML"),
        ("colour = 'red'", "colour"),
    ],
)
def test_a_vocabulary_that_cannot_be_used_is_told(retinue: Give, tree: Path, text: str, why: str) -> None:
    put(tree, ".retinue/tickets.toml", text)
    said = retinue("tickets", "check")
    assert said.code == 6
    assert "`.retinue/tickets.toml`" in said.err
    assert why in said.err


def test_names_from_a_ticket_cannot_move_the_cursor(retinue: Give, tree: Path) -> None:
    put(tree, f"{ROOT}/BUG-0003.md", "# BUG-0003: \x1b[2JGone\n\nStatus: \x1b[31mred\n")
    for words in (("check",), ("next",)):
        said = retinue("tickets", *words)
        assert "\x1b[2J" not in said.out
        assert "\x1b[31m" not in said.out


def test_a_file_that_cannot_be_opened_is_told(retinue: Give, tree: Path) -> None:
    (tree / ROOT / "BUG-0009.md").symlink_to("nowhere.md")
    (tree / "tickets").symlink_to(tree.parent)
    put(tree, "backlog", "a file that is called like a folder of tickets")
    data: Any = retinue("tickets", "check", "--json").data
    assert [(one["rule"], one["file"]) for one in data["findings"]] == [
        ("ticket/unread", f"{ROOT}/BUG-0009.md"),
        ("ticket/unread", "tickets"),
    ]


def test_tickets_in_a_submodule_or_a_folder_that_git_ignores_are_read(retinue: Give, folder: Path) -> None:
    def git(*words: str, at: Path = folder) -> None:
        identity = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org", "-c", "protocol.file.allow=always")
        subprocess.run(["git", *identity, *words], cwd=at, check=True, capture_output=True)

    other = folder.parent / "other"
    put(other, "BUG-0001.md", "# BUG-0001: A\n\nStatus: open\n")
    for words in (("init",), ("add", "-A"), ("commit", "-m", "tickets")):
        git(*words, at=other)
    git("init")
    git("submodule", "add", str(other), "docs/tickets/theirs")
    put(folder, "docs/tickets/BUG-0002.md", "# BUG-0002: B\n\nStatus: open\n")
    put(folder, "tickets/BUG-0003.md", "# BUG-0003: C\n\nStatus: open\n")
    put(folder, ".gitignore", "tickets\n")
    ready = retinue("tickets", "next", "--json").data["ready"]
    assert [one["path"] for one in ready] == [
        "docs/tickets/theirs/BUG-0001.md",
        "docs/tickets/BUG-0002.md",
        "tickets/BUG-0003.md",
    ]
