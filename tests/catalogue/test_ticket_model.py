"""Tickets as they are read from Markdown: every part with its line, every edit with no other byte changed."""

import sys
import threading
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.catalogue.tickets import (
    Ticket,
    TicketTree,
    check_tickets,
    read_ticket,
    read_tickets,
    read_vocabulary,
    task_readiness,
)
from retinue.catalogue.tickets.proposed_edit import ProposedEdit, apply_edits
from retinue.errors import InvalidInput, ParseError
from retinue.tools.workspace import Workspace

WORDS = read_vocabulary()

STORY = """\
---
labels: [a, b]
depends_on: [STORY-0001.2.1, TASK-0001.2.2.1]
---
# STORY-0001.2.3 — Sign in with `src/auth/login.py`

**Parent Epic**: [EPIC-0001.2](../README.md)
**Status:** 🟡 In Progress | **Story Points:** 5
- **Progress**: ███░░░░░░░ 30% (3/10)
Estimated Hours: 7.5

<!-- **Status**: Done -->

## User Story

As a user I want what BUG-0007 says.

## Acceptance Criteria

- [x] It opens `tests\\auth\\test_login.py:12`, not `git log -1` nor `/plan-story`
  - [ ] **It** is fast
1. [ ] numbered

## BDD Scenarios

```gherkin
Feature: Sign in

  Background:
    Given a user

  @fast
  Scenario: It works
    When they sign in
    Then they are in

  Scenario Outline: It fails
    When <they> do not
    Examples:
      | they |
      | Ada  |
```

**Scenario: outside of code**
- **Given** a list
- **When** it is read

## Tasks

| Nr | Ticket | Status |
|----|--------|--------|
| 1 | [TASK-0001.2.3.1](TASK-0001.2.3.1.md) | ✅ Done |
| 2 | TASK-0001.2.3.2 | 🔵 |

- ✅ TASK-0001.2.3.3 (after TASK-0001.2.3.1)
- see STORY-0001.2.2

## Dependencies

**Requires:**
- STORY-0001.2.2

**Blocks**
- none of these

**Blocks:**
- EPIC-0001.3
"""


def ticket(text: str | bytes, path: str = "docs/tickets/STORY-0001.2.3.md") -> Ticket:
    return read_ticket(path, text if isinstance(text, bytes) else text.encode(), WORDS)


def test_every_part_of_a_ticket_is_read_with_its_line() -> None:
    one = ticket(STORY)
    assert (one.ticket_id, one.kind, one.title, one.line) == (
        "STORY-0001.2.3",
        "story",
        "Sign in with `src/auth/login.py`",
        5,
    )
    assert one.status == "in_progress"
    assert {key: (field.value, field.line) for key, field in one.fields.items()} == {
        "requires": ("STORY-0001.2.1, TASK-0001.2.2.1", 3),
        "parent": ("[EPIC-0001.2](../README.md)", 7),
        "status": ("🟡 In Progress", 8),
        "points": ("5", 8),
        "progress": ("███░░░░░░░ 30% (3/10)", 9),
        "estimate": ("7.5", 10),
    }
    assert all(field.value in one.rows[field.line - 1] for field in one.fields.values())
    assert (one.number("estimate"), one.number("points"), one.number("actual")) == (7.5, 5.0, None)
    progress = one.progress
    assert progress is not None
    assert (progress.percent, progress.parts, progress.bar, progress.full) == (30, (3, 10), "███░░░░░░░", 3)
    assert [(item.text.partition(" ")[0], item.is_done, item.line, item.section) for item in one.checklist] == [
        ("It", True, 20, "acceptance_criteria"),
        ("**It**", False, 21, "acceptance_criteria"),
        ("numbered", False, 22, "acceptance_criteria"),
    ]
    assert [(each.name, each.line, each.steps, each.problem) for each in one.scenarios] == [
        ("It works", 33, ("When they sign in", "Then they are in"), ""),
        ("It fails", 37, ("When <they> do not",), ""),
        ("outside of code", 44, ("Given a list", "When it is read"), ""),
    ]
    assert [(section.key, section.line, section.end) for section in one.sections] == [
        ("user_story", 14, 17),
        ("acceptance_criteria", 18, 23),
        ("scenarios", 24, 47),
        ("children", 48, 57),
        ("dependencies", 58, 68),
    ]
    assert [(r.target, r.line) for r in one.targets("file")] == [
        ("src/auth/login.py", 5),
        ("tests/auth/test_login.py", 20),
    ]
    assert [(r.target, r.line, r.status) for r in one.targets("child")] == [
        ("TASK-0001.2.3.1", 52, "done"),
        ("TASK-0001.2.3.2", 53, "todo"),
        ("TASK-0001.2.3.3", 55, "done"),
    ]
    assert [r.target for r in one.targets("requires")] == ["STORY-0001.2.1", "TASK-0001.2.2.1", "STORY-0001.2.2"]
    assert [(r.target, r.line) for r in one.targets("blocks")] == [("EPIC-0001.3", 67)]
    assert {r.target for r in one.targets("mentions")} == {"BUG-0007", "STORY-0001.2.2"}
    assert one.findings == ()


@pytest.mark.parametrize(
    "header",
    [
        "Status: Done\nParent: EPIC-0001.2",
        "**Status**: Done\n**Parent Epic**: EPIC-0001.2",
        "- **Status:** done\n- **Parent:** EPIC-0001.2",
        "* Status: ✅\n* Part of: EPIC-0001.2",
        "| Status | Done |\n|---|---|\n| Parent | EPIC-0001.2 |",
        "| Field | Value |\n|---|---|\n| **Status** | ✅ Complete |\n| Parent | EPIC-0001.2 |",
        "## Status\n\nClosed (2025-01-02)\n\n## Parent\n\nEPIC-0001.2",
        "__Zustand__: erledigt\n__Gehört zu__: EPIC-0001.2",
        "**Статус**: Готово\n**Родитель**: EPIC-0001.2",
        "**状态**\uff1a已完成\n**Parent**\uff1aEPIC-0001.2",
    ],
)
def test_status_and_parent_are_read_in_every_usual_layout(header: str) -> None:
    one = ticket(f"# STORY-0001.2.3: A\n\n{header}\n\n## Rest\n\n**Status**: open\n")
    assert one.status == "done"
    assert [reference.target for reference in one.targets("parent")] == ["EPIC-0001.2"]


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("docs/tickets/STORY-0001.2.3.md", "# Sign in\n"),
        ("docs/tickets/STORY-0001.2.3-sign-in.md", ""),
        ("docs/tickets/STORY-0001.2.3 - Sign in.md", "## Notes\n"),
        ("docs/tickets/EPIC-0001.2/STORY-0001.2.3/README.md", "text"),
        ("docs/tickets/STORY-0001.2.3_sign_in/index.md", "text"),
        ("docs/tickets/sign-in.md", "# STORY-0001.2.3: Sign in\n"),
        ("docs/tickets/sign-in.md", "# [STORY-0001.2.3] Sign in\n"),
        ("docs/tickets/sign-in.md", "# 🚧 STORY-0001.2.3\n"),
        ("docs/tickets/sign-in.md", "STORY-0001.2.3: Sign in\n======\n"),
        ("docs/tickets/sign-in.md", "---\nid: STORY-0001.2.3\ntitle: Sign in\n---\ntext\n"),
    ],
)
def test_the_id_is_found_in_front_matter_title_file_or_folder(path: str, text: str) -> None:
    one = ticket(text, path)
    assert (one.ticket_id, one.kind) == ("STORY-0001.2.3", "story")


@pytest.mark.requirement("K17", "C15")
def test_an_id_is_checked_as_a_whole_and_in_ascii() -> None:
    ids = {
        "initiative": "INIT-0001",
        "epic": "EPIC-0001.12",
        "story": "STORY-0001.2.3",
        "task": "TASK-0001.2.3.4",
        "bug": "BUG-0001",
    }
    for kind, ticket_id in ids.items():
        assert WORDS.check_id(ticket_id, kind) == WORDS.check_id(ticket_id) == ticket_id
    for wrong in (
        "",
        "TASK-0001.2.3.4\n",
        "TASK-\u0660\u0660\u0660\u0661.2.3.4",
        " BUG-0001",
        "BUG-001",
        "bug-0001",
        "STORY-0001.2",
        "X-1",
    ):
        with pytest.raises(InvalidInput):
            WORDS.check_id(wrong)
    with pytest.raises(InvalidInput, match="of kind `bug`, not `task`"):
        WORDS.check_id("BUG-0001", "task")
    assert [WORDS.parent_id(ids[kind]) for kind in ids] == [None, "INIT-0001", "EPIC-0001.2", "STORY-0001.2.3", None]


def test_text_with_another_meaning_is_not_taken_for_a_ticket_s_own() -> None:
    one = ticket(
        "# STORY-0001.2.3: A\n\nStatus: open\n\n```yaml\nStatus: done\nParent: EPIC-0009.9\n```\n\n## Notes\n\n"
        "Done: everything. Status: done\n\nstory-0001.2.4, XSTORY-0001.2.5, STORY-0001.2.6.1 and STORY-0001.2.{7,8}\n"
    )
    assert one.status == "todo"
    assert one.references == ()


@pytest.mark.parametrize(
    ("value", "percent", "parts", "bar", "right"),
    [
        ("░░░░░░░░░░ 0%", 0, None, "░░░░░░░░░░", "░░░░░░░░░░"),
        ("██████████ 100%", 100, None, "██████████", "██████████"),
        ("[#####-----] 50 %", 50, None, "#####-----", "#####-----"),
        ("████░░░░░░ 45%", 45, None, "████░░░░░░", "████░░░░░░"),
        ("█████░░░░░ 45%", 45, None, "█████░░░░░", "████░░░░░░"),
        ("██████████ 20%", 20, None, "██████████", "██░░░░░░░░"),
        ("🟩🟩⬜⬜ 25%", 25, None, "🟩🟩⬜⬜", "🟩⬜⬜⬜"),
        ("3/4 tasks", None, (3, 4), "", ""),
        ("none yet", None, None, "", ""),
    ],
)
def test_progress_is_read_as_percent_parts_and_bar(
    value: str, percent: int | None, parts: tuple[int, int] | None, bar: str, right: str
) -> None:
    progress = ticket(f"# STORY-0001.2.3: A\n\nStatus: open\nProgress: {value}\n").progress
    assert progress is not None
    assert (progress.percent, progress.parts, progress.bar, progress.bar and progress.right_bar) == (
        percent,
        parts,
        bar,
        right,
    )


# Editing.

PIECES = st.sampled_from([
    "# STORY-0001.2.3: A", "Status: open", "**Status**: ✅ Todo", "---", "\ttab", "- [ ] box", "```gherkin", "Scenario: a",
    "  Given b", "| a | b |", "|---|---|", "\u2028", "\x0c", "<!--", "> quote", "`src/a.py`", "Ω", "😀", " " * 5, "",
    "Progress: ██░░ 100%", "id: BUG-0001", "**Parent**: [x](..\\y.md)", "    code", "1. one", "***", "&amp;", "\x00",
])  # fmt: skip
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
TEXTS = st.lists(st.tuples(PIECES | st.text(max_size=20), ENDS), max_size=25).map(
    lambda rows: "".join(row + end for row, end in rows)
)
ENCODINGS = st.sampled_from(["utf-8", "utf-8-sig", "utf-16", "latin-1"])


def encoded(text: str, encoding: str) -> bytes:
    return text.encode(encoding, "ignore")


@settings(deadline=None)
@given(TEXTS, ENCODINGS)
def test_any_text_is_read_and_what_is_written_back_is_the_same_bytes(
    tmp_path_factory: pytest.TempPathFactory, text: str, encoding: str
) -> None:
    data = encoded(text, encoding)
    folder = tmp_path_factory.mktemp("tickets")
    (folder / "STORY-0001.2.3.md").write_bytes(data)
    workspace = Workspace(folder, write=(".",))
    try:
        one = read_ticket("STORY-0001.2.3.md", data, WORDS)
    except ParseError:
        assert b"\0" in data
        return
    last = max(len(one.text.replace("\r\n", "\n").replace("\r", "\n").split("\n")), 1)
    places = [*one.references, *one.checklist, *one.scenarios, *one.fields.values(), *one.sections, *one.findings]
    assert all(1 <= (place.line or 0) <= last for place in places)
    line, row = max(enumerate(one.rows, 1), key=lambda pair: len(pair[1]))
    if row:
        edit(workspace, one, (line, row, row))
        assert (folder / "STORY-0001.2.3.md").read_bytes() == data
    status = one.fields.get("status")
    if status is not None and one.rows[status.line - 1].count(status.value) == 1:
        edit(workspace, one, (status.line, status.value, "Done!!"))
        again = read_ticket("STORY-0001.2.3.md", (folder / "STORY-0001.2.3.md").read_bytes(), WORDS)
        assert again.rows[status.line - 1] == one.rows[status.line - 1].replace(status.value, "Done!!")
        edit(workspace, again, (status.line, "Done!!", status.value))
        assert (folder / "STORY-0001.2.3.md").read_bytes() == data


def edit(workspace: Workspace, one: Ticket, *edits: tuple[int, str, str]) -> None:
    """Make `edits` of lines: what stands there, and what is to."""
    proposals = [
        ProposedEdit(file=one.path, edit_type="test", old=old, new=new, reason="", line=line, digest=one.digest)
        for line, old, new in edits
    ]
    apply_edits(workspace, TicketTree.of([one], WORDS), proposals)


def test_a_file_that_changed_meanwhile_is_not_written(tmp_path: Path) -> None:
    file = tmp_path / "BUG-0001.md"
    file.write_text("# BUG-0001: A\n\nStatus: open\n")
    one = ticket(file.read_bytes(), "BUG-0001.md")
    workspace = Workspace(tmp_path, write=(".",))
    file.write_text("# BUG-0001: A\n\nStatus: done\n")
    with pytest.raises(InvalidInput, match="changed while"):
        edit(workspace, one, (1, "BUG", "BOG"))
    assert file.read_text() == "# BUG-0001: A\n\nStatus: done\n"


def test_all_edits_are_made_or_none(tmp_path: Path) -> None:
    file = tmp_path / "BUG-0001.md"
    data = "# BUG-0001: Größe\n\nStatus: open\n".encode("latin-1")
    file.write_bytes(data)
    one, workspace = ticket(data, "BUG-0001.md"), Workspace(tmp_path, write=(".",))
    for edits in (
        [(1, "BUG", "BOG"), (1, "UG", "OG")],
        [(1, "BUG", "BOG"), (1, "?", "!")],
        [(1, "BUG", "✅")],
    ):
        with pytest.raises(InvalidInput):
            edit(workspace, one, *edits)
        assert file.read_bytes() == data
    edit(workspace, one, (3, "open", "done"), (1, "BUG", "BÜG"))
    assert file.read_bytes() == data.replace(b"BUG", b"B\xdcG").replace(b"open", b"done")


def test_of_two_who_write_at_once_one_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "BUG-0001.md"
    file.write_text("# BUG-0001: A\n\nStatus: open\n")
    one, workspace = ticket(file.read_bytes(), "BUG-0001.md"), Workspace(tmp_path, write=(".",))
    outcomes: list[str] = []

    def write(new: str) -> None:
        try:
            edit(workspace, one, (1, ": A", f": {new}"))
            outcomes.append(new)
        except InvalidInput:
            outcomes.append("refused")

    threads = [threading.Thread(target=write, args=(f"by {number}",)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    (winner,) = [each for each in outcomes if each != "refused"]
    assert file.read_text() == f"# BUG-0001: {winner}\n\nStatus: open\n"


# Much of it.


def test_of_a_very_long_ticket_the_beginning_is_read_and_the_rest_is_told(tmp_path: Path) -> None:
    data = b"# BUG-0001: A\n\nStatus: open\n\n" + "word ö\n".encode() * 700_000
    assert len(data) > 5_000_000
    (tmp_path / "BUG-0001.md").write_bytes(data)
    one = ticket(data, "BUG-0001.md")
    assert (one.ticket_id, one.status) == ("BUG-0001", "todo")
    (finding,) = one.findings
    assert finding.rule == "ticket/too-long"
    assert "4,900,029 characters" in finding.message
    edit(Workspace(tmp_path, write=(".",), max_bytes=2**24), one, (3, "open", "done"))
    assert (tmp_path / "BUG-0001.md").read_bytes() == data.replace(b"open", b"done")


@pytest.mark.slow
def test_ten_thousand_tickets_that_wait_for_one_another_are_linked_without_recursion() -> None:
    texts = {
        f"docs/tickets/TASK-0001.1.1.{n}.md": f"# TASK-0001.1.1.{n}: A\n\nStatus: todo\nRequires: TASK-0001.1.1.{n % 10_000 + 1}\n"
        for n in range(1, 10_001)
    }
    tree = TicketTree.of((read_ticket(path, text.encode(), WORDS) for path, text in texts.items()), WORDS)
    (circle,) = [each for each in check_tickets(tree) if each.rule == "ticket/dependency-circle"]
    assert "TASK-0001.1.1.1 → TASK-0001.1.1.2 → " in circle.message
    assert len(circle.message) < 1_000
    assert {blocker.kind for task in task_readiness(tree) for blocker in task.blockers} == {"prerequisite", "circle"}


def test_a_tree_elsewhere_is_found_by_the_names_of_its_files(tmp_path: Path) -> None:
    (tmp_path / "plans" / "EPIC-0001.2").mkdir(parents=True)
    (tmp_path / "plans" / "EPIC-0001.2" / "README.md").write_text("# EPIC-0001.2: A\n\nStatus: open\n")
    (tmp_path / "plans" / "STORY-0001.2.1-x.md").write_text("Status: open\n")
    (tmp_path / "README.md").write_text("# BUG-0001 is only named here\n")
    tree = read_tickets(Workspace(tmp_path))
    assert sorted(tree.by_id) == ["EPIC-0001.2", "STORY-0001.2.1"]
    assert tree.children == {"INIT-0001": ["EPIC-0001.2"], "EPIC-0001.2": ["STORY-0001.2.1"]}


def test_without_the_extra_scenarios_are_not_read_and_that_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "gherkin", None)
    monkeypatch.setitem(sys.modules, "gherkin.errors", None)
    one = ticket(STORY)
    (finding,) = one.findings
    assert (finding.rule, finding.line) == ("ticket/scenarios-unread", 27)
    assert "retinue[tickets]" in finding.fix
    assert one.scenarios == ()
    assert one.status == "in_progress"


def test_what_a_list_requires_ends_with_the_list_and_prose_is_no_parent() -> None:
    one = ticket(
        "# STORY-0001.2.3: A\n\n**Depends on**:\n- STORY-0001.2.1\n\nStatus: open\n\nUnlike STORY-0001.2.2.\n\n"
        "## Story\n\nAs epic 2 says, EPIC-0001.3 waits.\n\n## Progress of scenarios\n\n- [ ] Scenario 1: It works\n\n"
        "Rule: never.\nExample: STORY-0001.2.9\n"
    )
    assert [reference.target for reference in one.targets("requires")] == ["STORY-0001.2.1"]
    assert one.targets("parent") == ()
    assert {r.target for r in one.targets("mentions")} == {"STORY-0001.2.2", "EPIC-0001.3", "STORY-0001.2.9"}
    assert (one.scenarios, one.findings) == ((), ())


@pytest.mark.parametrize("link", ["../README.md", "..", "../", "..%5CREADME.md", "../README.md#top"])
def test_a_parent_may_be_a_link_to_its_file_or_folder(link: str) -> None:
    epic = ticket("# EPIC-0002.1: A\n\nStatus: open\n", "docs/tickets/EPIC-0002.1/README.md")
    story = ticket(f"**Parent**: [up]({link})\n**Status**: open\n", "docs/tickets/EPIC-0002.1/STORY-0001.2.3/README.md")
    assert TicketTree.of([story, epic], WORDS).parents["STORY-0001.2.3"] == "EPIC-0002.1"


@pytest.mark.parametrize(
    "text",
    [
        "a" + " " * 300_000 + "b",
        "`" * 300_000,
        "[" * 300_000,
        "bug" + "x" * 300_000,
        "** " * 100_000,
        "9 " * 100_000 + "%",
    ],
)
def test_hostile_lines_are_read_in_time_that_grows_with_their_length(text: str) -> None:
    one = ticket(f"# BUG-0001: A\n\nStatus: open\nProgress: {text}\n\n## Dependencies\n\n- {text}\n", "BUG-0001.md")
    assert one.status == "todo"


def test_the_order_of_its_own_parts_is_nothing_that_a_ticket_waits_for(tmp_path: Path) -> None:
    folder = tmp_path / "docs/tickets"
    folder.mkdir(parents=True)
    order = "## Dependencies\n\n- **STORY-0001.2.2** depends on STORY-0001.2.1\n- EPIC-0001.1\n"
    (folder / "EPIC-0001.2.md").write_text(
        f"# EPIC-0001.2: Fast\n\n**Status**: 📝 Planning\n\n{order}", encoding="utf-8"
    )
    for number in (1, 2):
        text = f"# STORY-0001.2.{number}: A part\n\n**Status**: Not Started\n**Requires**: EPIC-0001.2\n"
        (folder / f"STORY-0001.2.{number}.md").write_text(text, encoding="utf-8")
    tree = read_tickets(Workspace(tmp_path))
    assert tree.requires["EPIC-0001.2"] == ["EPIC-0001.1"]
    assert tree.by_id["EPIC-0001.2"].status == "todo"
    assert "ticket/dependency-circle" not in {finding.rule for finding in check_tickets(tree)}
