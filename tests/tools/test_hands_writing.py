"""The hands that write: `write` and `edit`, on real files, with others at work on them too."""

import asyncio
import os
import signal
import subprocess
import sys
from fcntl import LOCK_EX, flock
from pathlib import Path
from threading import Barrier, Thread

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.errors import AccessDenied, InvalidInput, MissingFile, RetinueError, Unavailable
from retinue.tools import descriptors
from retinue.tools.builtin import builtin_tools
from retinue.tools.workspace import Workspace
from tests.examples import examples
from tests.tools.grips import Hands


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    root.mkdir()
    (root / "app.py").write_text("def run():\n    return 1\n")
    return root


def edits(*pairs: tuple[str, str]) -> list[dict[str, str]]:
    return [{"old": old, "new": new} for old, new in pairs]


def test_a_new_file_is_written_with_its_folders(tree: Path) -> None:
    output = Hands.over(tree)("write", path="src/deep/new.py", content="x = 1\n")
    assert output.text == "`src/deep/new.py` is new: 1 lines, 6 bytes."
    assert (output.files_written, output.data and output.data["action"]) == (("src/deep/new.py",), "create")
    assert (tree / "src/deep/new.py").read_bytes() == b"x = 1\n"
    assert [entry.name for entry in (tree / "src/deep").iterdir()] == ["new.py"]


def test_a_file_nobody_read_is_not_replaced(tree: Path) -> None:
    use = Hands.over(tree)
    assert "was not read in this conversation" in use.refused("write", path="app.py", content="").message
    use("read", path="app.py")
    output = use("write", path="app.py", content="def run():\n    return 2\n")
    assert output.text.splitlines()[:2] == ["--- a/app.py", "+++ b/app.py"]
    assert "-    return 1\n+    return 2" in output.text
    assert use("write", path="app.py", content="def run():\n    return 3\n").files_written == ("app.py",)
    again = use("write", path="app.py", content="def run():\n    return 3\n")
    assert ("already has this content" in again.text, again.files_written) == (True, ())


def test_a_file_that_changed_since_it_was_read_is_refused(tree: Path) -> None:
    use = Hands.over(tree)
    use("read", path="app.py")
    (tree / "app.py").write_text("def run():\n    return 'theirs'\n")
    for name, arguments in (
        ("write", {"content": "mine"}),
        ("edit", {"edits": edits(("def run", "def walk"))}),
    ):
        error = use.refused(name, path="app.py", **arguments)
        assert error.message == "'app.py' has changed since it was read"
        assert "read the file again" in error.hint
    assert "theirs" in (tree / "app.py").read_text()
    use("read", path="app.py")
    use("edit", path="app.py", edits=edits(("theirs", "ours"), ("run", "walk")))
    assert (tree / "app.py").read_text() == "def walk():\n    return 'ours'\n"
    use("edit", path="app.py", edits=edits(("ours", "all")))


def test_an_edit_gives_its_diff(tree: Path) -> None:
    output = Hands.over(tree)("edit", path="app.py", edits=[{"old": "1", "new": "2", "replace_all": True}])
    assert output.text == "--- a/app.py\n+++ b/app.py\n@@ -1,2 +1,2 @@\n def run():\n-    return 1\n+    return 2"
    assert (output.origin, output.files_written) == ("file app.py", ("app.py",))


def test_no_edit_is_done_when_one_cannot_be(tree: Path) -> None:
    error = Hands.over(tree).refused("edit", path="app.py", edits=edits(("run", "walk"), ("nothing here", "x")))
    assert error.path == "/edits/1/old"
    assert (tree / "app.py").read_text() == "def run():\n    return 1\n"
    assert isinstance(Hands.over(tree).refused("edit", path="no.py", edits=edits(("a", "b"))), MissingFile)


@pytest.mark.parametrize(
    ("data", "after"),
    [
        ("ä = 1\n".encode("utf-16"), "ä = 2\n".encode("utf-16")),
        (b"\xef\xbb\xbfa = 1\r\n", b"\xef\xbb\xbfa = 2\r\n"),
        (b"caf\xe9 = 1\n", b"caf\xe9 = 2\n"),
    ],
)
def test_an_edit_keeps_encoding_and_line_ends(tree: Path, data: bytes, after: bytes) -> None:
    (tree / "text").write_bytes(data)
    Hands.over(tree)("edit", path="text", edits=edits(("= 1\n", "= 2\n")))
    assert (tree / "text").read_bytes() == after


def test_what_cannot_be_written_is_refused_in_words(tree: Path) -> None:
    (tree / "old.txt").write_bytes(b"caf\xe9\n")
    (tree / "blob").write_bytes(b"\0\1")
    use = Hands.over(tree, max_bytes=100)
    error = use.refused("edit", path="old.txt", edits=edits(("caf", "₤")))
    assert "cannot be written in this file, which is in latin-1" in error.message
    assert "binary" in use.refused("edit", path="blob", edits=edits(("a", "b"))).message
    assert "more than the cap" in use.refused("write", path="big", content="x" * 101).message
    assert "would grow over" in use.refused("edit", path="app.py", edits=edits(("run", "x" * 100))).message
    with pytest.raises(InvalidInput, match="not Unicode"):
        asyncio.run(use.tools["write"].use({"path": "odd", "content": "\ud800"}, use.grip))
    (tree / "large.txt").write_bytes(b"a" * 101)
    assert "more than the cap" in use.refused("edit", path="large.txt", edits=edits(("a", "b"))).message
    assert isinstance(use.refused("write", path="app.py/below", content=""), InvalidInput)
    (tree / "folder").mkdir()
    assert "is a folder" in use.refused("write", path="folder", content="").message
    use("read", path="app.py")
    (tree / "app.py").write_bytes(b"\0")
    assert "has changed" in use.refused("write", path="app.py", content="x").message


@pytest.mark.requirement("C12")
@pytest.mark.parametrize("path", [".git/hooks/x", ".GIT/config", "a/.retinue/x", "../x", "/etc/x", "out/x"])
def test_protected_and_outside_places_are_refused(tree: Path, path: str) -> None:
    (tree / "out").symlink_to("..")
    use = Hands.over(tree)
    assert isinstance(use.refused("write", path=path, content="x"), AccessDenied)
    assert isinstance(use.refused("edit", path=path, edits=edits(("a", "b"))), AccessDenied)


def test_what_may_be_written_but_not_read_is_not_shown(tree: Path) -> None:
    use = Hands.over(tree, read=["docs"])
    error = use.refused("edit", path="app.py", edits=edits(("guess", "x")))
    assert (type(error), "may not be read" in error.message) == (AccessDenied, True)
    assert isinstance(Hands.over(tree, write=["docs"]).refused("write", path="x", content=""), AccessDenied)


def test_modes_are_kept_and_respected(tree: Path) -> None:
    (tree / "app.py").chmod(0o751)
    Hands.over(tree)("edit", path="app.py", edits=edits(("run", "walk")))
    assert (tree / "app.py").stat().st_mode & 0o777 == 0o751
    (tree / "app.py").chmod(0o444)
    error = Hands.over(tree).refused("edit", path="app.py", edits=edits(("walk", "run")))
    assert (type(error), "write-protected" in error.message) == (AccessDenied, True)
    assert "walk" in (tree / "app.py").read_text()


def test_the_owner_is_kept_where_the_system_lets_us(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[int, int]] = []

    def refuse(_: int, user: int, group: int) -> None:
        asked.append((user, group))
        raise PermissionError(1, "no")

    monkeypatch.setattr(descriptors.os, "fchown", refuse)
    real = os.fstat

    def elsewhere(descriptor: int) -> os.stat_result:
        found = list(real(descriptor))
        found[4] += 1
        return os.stat_result(found)

    monkeypatch.setattr(descriptors.os, "fstat", elsewhere)
    Workspace(tree, write=["."]).write_bytes("app.py", b"new")
    assert asked == [((tree / "app.py").stat().st_uid, (tree / "app.py").stat().st_gid)]


@pytest.mark.parametrize("shared", [True, False], ids=["one conversation", "two conversations"])
def test_edits_at_the_same_time_are_all_kept(tree: Path, *, shared: bool) -> None:
    (tree / "list.txt").write_text("".join(f"item {number};\n" for number in range(24)))
    one = Hands.over(tree)
    together = Barrier(4)
    failed: list[RetinueError] = []

    def work(first: int) -> None:
        use = one if shared else Hands.over(tree)
        together.wait()
        for number in range(first, 24, 4):
            try:
                use("edit", path="list.txt", edits=edits((f"item {number};", f"done {number};")))
            except RetinueError as error:
                failed.append(error)

    threads = [Thread(target=work, args=(first,)) for first in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = (tree / "list.txt").read_text()
    # A conversation whose own knowledge is overtaken is told so; what it was told is done, is done.
    assert text.count("done") == 24 - len(failed)
    assert all("has changed since" in error.message for error in failed)


def test_a_folder_that_stays_locked_is_said(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(descriptors, "_LONGEST_WAIT_S", 0.01)
    descriptor = os.open(tree, os.O_RDONLY)
    try:
        flock(descriptor, LOCK_EX)
        assert isinstance(Hands.over(tree).refused("edit", path="app.py", edits=edits(("run", "x"))), Unavailable)
    finally:
        os.close(descriptor)


_VICTIM = """
import os, signal, sys
from retinue.tools import descriptors
from retinue.tools.workspace import Workspace

def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)

if sys.argv[2] == "before":
    descriptors.os.fchmod = die
else:
    descriptors.os.replace = die
Workspace(sys.argv[1], write=["."]).revise("app.py", lambda old: b"new" * 100_000)
"""


@pytest.mark.parametrize("moment", ["before", "after"])
def test_a_process_killed_in_the_middle_leaves_the_old_file_whole(tree: Path, moment: str) -> None:
    done = subprocess.run([sys.executable, "-c", _VICTIM, str(tree), moment], check=False)
    assert done.returncode == -signal.SIGKILL
    assert (tree / "app.py").read_text() == "def run():\n    return 1\n"
    Hands.over(tree)("edit", path="app.py", edits=edits(("run", "walk")))
    assert (tree / "app.py").read_text() == "def walk():\n    return 1\n"


def test_a_file_that_turns_into_a_link_meanwhile_is_not_followed(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tree.parent / "theirs").write_text("theirs")
    real = Workspace._locate_writable  # pyright: ignore[reportPrivateUsage] - the moment between check and use is in here

    def swapping(self: Workspace, path: str) -> tuple[str, ...]:
        parts = real(self, path)
        (tree / "app.py").unlink()
        (tree / "app.py").symlink_to("../theirs")
        return parts

    monkeypatch.setattr(Workspace, "_locate_writable", swapping)
    with pytest.raises(AccessDenied, match="turned into a link"):
        Workspace(tree, write=["."]).revise("app.py", lambda _: b"stolen")
    assert (tree.parent / "theirs").read_text() == "theirs"


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(40), deadline=None)
@given(
    lines=st.lists(st.sampled_from(["a", "b", "c", "  a", ""]), max_size=8),
    pairs=st.lists(st.tuples(st.text("abc\n ", min_size=1, max_size=3), st.text("xyz\n", max_size=3)), min_size=1, max_size=3),
)  # fmt: skip
def test_a_call_either_does_everything_or_leaves_the_bytes_alone(
    tree: Path, lines: list[str], pairs: list[tuple[str, str]]
) -> None:
    text = "\n".join(lines)
    (tree / "list.txt").write_text(text)
    use = Hands.over(tree)
    try:
        output = asyncio.run(use.tools["edit"].use({"path": "list.txt", "edits": edits(*pairs)}, use.grip))
    except InvalidInput:
        assert (tree / "list.txt").read_text() == text
    else:
        assert output.files_written == ("list.txt",)
        assert (tree / "list.txt").read_text() != text or output.text == ""


def test_each_conversation_has_hands_of_its_own() -> None:
    first, second = builtin_tools(), builtin_tools()
    assert [tool.spec.name for tool in first] == ["read", "glob", "grep", "git", "write", "edit", "shell"]
    assert first[4] is not second[4]
