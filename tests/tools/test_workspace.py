import os
import signal
import socket
import string
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings, strategies as st

from retinue.errors import AccessDenied, InvalidInput, MissingFile, OutputInvalid
from retinue.tools import descriptors, workspace as workspace_module
from retinue.tools.paths import fold_name, quote_name
from retinue.tools.workspace import Workspace
from tests.examples import examples


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "root"
    (root / "src").mkdir(parents=True)
    (root / "docs").mkdir()
    (root / ".git").mkdir()
    (root / "src" / "a.py").write_text("a = 1\n")
    (root / "docs" / "guide.md").write_text("# Guide\n")
    (root / "foo..bar.py").write_text("odd\n")
    (tmp_path / "secret.txt").write_text("secret\n")
    (tmp_path / "root-twin").mkdir()
    (tmp_path / "root-twin" / "x").write_text("twin\n")
    (root / "inside").symlink_to("src/a.py")
    (root / "folder").symlink_to("src")
    (root / "outside").symlink_to("../secret.txt")
    (root / "away").symlink_to(tmp_path)
    (root / "circle").symlink_to("circle")
    (root / "src" / "up").symlink_to("..")
    return root


@pytest.mark.requirement("K16", "C12", "C13")
@pytest.mark.parametrize(
    ("path", "relative"),
    [
        ("src/a.py", "src/a.py"),
        ("./src//a.py", "src/a.py"),
        ("src/../src/a.py", "src/a.py"),
        ("foo..bar.py", "foo..bar.py"),
        ("inside", "src/a.py"),
        ("folder/a.py", "src/a.py"),
        ("src/up/src/up/src/a.py", "src/a.py"),
    ],
)
def test_what_leads_inside_is_read(tree: Path, path: str, relative: str) -> None:
    fence = Workspace(tree)
    assert fence.relative(path) == relative
    assert fence.resolve(path) == tree / relative
    assert fence.read_bytes(path) == (tree / relative).read_bytes()
    assert fence.read_bytes(tree / path) == (tree / relative).read_bytes()
    assert fence.readable(path)


@pytest.mark.requirement("K16", "C12", "C13")
@pytest.mark.parametrize(
    "path",
    ["../secret.txt", "outside", "away/secret.txt", "/etc/passwd", "src/../../secret.txt", "../root-twin/x", ".."],
)
def test_what_leads_outside_is_refused_whether_it_is_there_or_not(tree: Path, path: str) -> None:
    fence = Workspace(tree)
    for call in (fence.resolve, fence.read_bytes, fence.read_text, fence.check_artifact, fence.check_writing):
        with pytest.raises(AccessDenied, match="outside") as refused:
            call(path)
        assert refused.value.hint
    assert not fence.readable(path)
    with pytest.raises(AccessDenied):
        fence.resolve(path + "/that-is-not-there")


@pytest.mark.requirement("K16", "C12")
@pytest.mark.parametrize(
    "path", ["", "a\0b", "a\nb", "a\rb", "a\x1bb", "a\x7fb", "\ud800", "a\udcffb", "x" * 5000, "y" * 300]
)
def test_what_cannot_be_a_path_is_refused(tree: Path, path: str) -> None:
    fence = Workspace(tree)
    for call in (fence.read_bytes, fence.resolve, fence.check_artifact):
        with pytest.raises(InvalidInput) as refused:
            call(path)
        assert refused.value.hint
        refused.value.message.encode()
    assert not fence.readable(path)


def test_a_missing_file_suggests_its_neighbours(tree: Path) -> None:
    with pytest.raises(MissingFile) as missing:
        Workspace(tree).read_text("docs/giude.md")
    assert missing.value.suggestions == ("docs/guide.md",)
    with pytest.raises(MissingFile) as lost:
        Workspace(tree).read_text("nowhere/at/all")
    assert lost.value.suggestions == ()


def test_a_missing_file_suggests_nothing_that_may_not_be_read(tree: Path) -> None:
    (tree / "src" / "key.py").write_text("x")
    fence = Workspace(tree, read=["src/a.py", "src/kex.py"])
    with pytest.raises(MissingFile) as missing:
        fence.read_text("src/kex.py")
    assert "src/key.py" not in missing.value.suggestions


def test_only_regular_files_are_opened(tree: Path) -> None:
    os.mkfifo(tree / "fifo")
    with socket.socket(socket.AF_UNIX) as listening:
        here = Path.cwd()
        os.chdir(tree)  # the name of a socket must be short
        try:
            listening.bind("socket")
        finally:
            os.chdir(here)
        for name, kind in (("fifo", "FIFO"), ("socket", "socket"), ("src", "folder"), (".", "folder")):
            with pytest.raises(InvalidInput, match=kind):
                Workspace(tree).read_bytes(name)
    with pytest.raises(InvalidInput, match="device"):
        Workspace("/dev").read_bytes("null")
    with pytest.raises(InvalidInput, match="loop"):
        Workspace(tree).read_bytes("circle")


def test_a_file_over_the_cap_is_refused_with_its_size(tree: Path) -> None:
    with (tree / "huge.log").open("wb") as file:
        file.truncate(200 * 1024 * 1024)
    with pytest.raises(InvalidInput, match="209715200") as refused:
        Workspace(tree).read_bytes("huge.log")
    assert refused.value.detail["size"] == 209715200
    assert Workspace(tree).read_bytes("src/a.py", max_bytes=6) == b"a = 1\n"
    with pytest.raises(InvalidInput):
        Workspace(tree).read_bytes("src/a.py", max_bytes=5)


def test_a_file_that_claims_to_be_empty_is_read_no_further_than_the_cap() -> None:
    with pytest.raises(InvalidInput, match="more than the cap of 10"):
        Workspace("/proc/self").read_bytes("status", max_bytes=10)


def test_binary_files_are_no_text(tree: Path) -> None:
    (tree / "picture").write_bytes(b"\x89PNG\0\0")
    (tree / "wide").write_bytes("wide".encode("utf-16"))
    with pytest.raises(InvalidInput, match="binary"):
        Workspace(tree).read_text("picture")
    assert Workspace(tree).read_text("wide") == "wide"


@pytest.mark.requirement("K16", "C12")
def test_read_set_and_write_set_are_granted_apart(tree: Path) -> None:
    fence = Workspace(tree, read=["src"], write=["docs/out"])
    assert fence.read_text("src/a.py") == "a = 1\n"
    with pytest.raises(AccessDenied, match="may not be read") as refused:
        fence.read_text("docs/guide.md")
    assert "'src'" in refused.value.hint
    with pytest.raises(AccessDenied):
        fence.read_text("folder/../docs/guide.md")
    with pytest.raises(AccessDenied, match="may not be written"):
        fence.write_bytes("docs/outer.md", b"")
    with pytest.raises(AccessDenied, match="may not be written"):
        fence.write_bytes("src/a.py", b"")
    fence.write_bytes("docs/out/deep/file.md", b"text")
    assert (tree / "docs/out/deep/file.md").read_bytes() == b"text"
    assert not Workspace(tree).writable("anything")


def test_nothing_outside_can_be_granted(tree: Path) -> None:
    for path in ("../root-twin", "outside", "/"):
        with pytest.raises(InvalidInput, match="cannot be granted"):
            Workspace(tree, read=[path])
        with pytest.raises(InvalidInput, match="cannot be granted"):
            Workspace(tree, write=[path])


def test_a_root_must_be_a_folder(tree: Path) -> None:
    with pytest.raises(MissingFile):
        Workspace(tree / "nowhere")
    with pytest.raises(InvalidInput):
        Workspace(tree / "src" / "a.py")


@pytest.mark.parametrize(
    "path",
    [".git", ".git/config", ".GIT/config", ".Git", "src/.git/hooks/x", ".git./x", ".git /x", "git~1/x", ".g\u200cit/x",
     ".retinue/journal", ".RETINUE", "src/.retinue/x", ".git::$INDEX_ALLOCATION/x", "state/x", "State/x", "state"],
)  # fmt: skip
def test_protected_places_are_never_written_whatever_was_granted(tree: Path, path: str) -> None:
    fence = Workspace(tree, write=["."], protected=["state"])
    with pytest.raises(AccessDenied, match="protected"):
        fence.write_bytes(path, b"")
    assert not fence.writable(path)
    assert fence.writable("src/.gitignore")
    assert not fence.writable(".")


def test_nothing_is_written_when_the_workspace_is_a_git_folder(tree: Path) -> None:
    assert not Workspace(tree / ".git", write=["."]).writable("config")


def test_writing_replaces_in_one_move_and_follows_links_only_inside(tree: Path) -> None:
    fence = Workspace(tree, write=["."])
    assert fence.write_bytes("folder/b.py", b"b") == tree / "src" / "b.py"
    fence.write_bytes("src/a.py", b"new")
    assert (tree / "src" / "a.py").read_bytes() == b"new"
    with pytest.raises(AccessDenied):
        fence.write_bytes("outside", b"stolen")
    with pytest.raises(InvalidInput):
        fence.write_bytes("src", b"")
    with pytest.raises(InvalidInput):
        fence.write_bytes("src/a.py/below", b"")
    assert {path.name for path in (tree / "src").iterdir()} == {"a.py", "b.py", "up"}
    assert (tree.parent / "secret.txt").read_text() == "secret\n"


def test_a_failed_write_leaves_nothing_behind(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(descriptors.os, "replace", refuse)
    with pytest.raises(AccessDenied):
        Workspace(tree, write=["."]).write_bytes("docs/new.md", b"text")
    assert list((tree / "docs").iterdir()) == [tree / "docs" / "guide.md"]


def _swapping(monkeypatch: pytest.MonkeyPatch, swap: Callable[[], None]) -> None:
    """Let somebody change the tree after a path was checked and before it is opened."""
    real = Workspace._locate  # pyright: ignore[reportPrivateUsage] - the moment between check and use is in here

    def located(self: Workspace, path: Any) -> tuple[str, ...]:
        parts = real(self, path)
        swap()
        return parts

    monkeypatch.setattr(Workspace, "_locate", located)


def test_a_folder_swapped_for_a_link_after_the_check_is_not_followed(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tree.parent / "evil").mkdir()
    (tree.parent / "evil" / "a.py").write_text("stolen")
    fence = Workspace(tree, write=["."])

    def swap() -> None:
        if not (tree / "src").is_symlink():
            (tree / "src").rename(tree / "gone")
            (tree / "src").symlink_to("../evil")

    _swapping(monkeypatch, swap)
    with pytest.raises(AccessDenied, match="turned into a link"):
        fence.read_bytes("folder/a.py")
    (tree / "src").unlink()
    (tree / "gone").rename(tree / "src")
    with pytest.raises(AccessDenied, match="turned into a link"):
        fence.write_bytes("src/a.py", b"x")
    assert (tree.parent / "evil" / "a.py").read_text() == "stolen"


def test_a_file_swapped_for_a_fifo_between_look_and_open_does_not_block(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = descriptors.os.open

    def swap(name: Any, flags: int, *rest: Any, **options: Any) -> int:
        if name == "a.py" and (tree / "src" / "a.py").is_file():
            (tree / "src" / "a.py").unlink()
            os.mkfifo(tree / "src" / "a.py")
        return real(name, flags, *rest, **options)

    monkeypatch.setattr(descriptors.os, "open", swap)
    with pytest.raises(InvalidInput, match="FIFO"):
        Workspace(tree).read_bytes("src/a.py")


def test_what_the_system_refuses_is_access_denied(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise PermissionError(13, "no")

    monkeypatch.setattr(descriptors.os, "open", refuse)
    with pytest.raises(AccessDenied, match="system"):
        Workspace(tree).read_bytes("src/a.py")


def test_the_same_folder_under_another_spelling_is_inside(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    # As on a system that folds case: the text differs, the identity is the same.
    fence = Workspace(tree)
    real = workspace_module.os.stat

    def stat(path: Any, **options: Any) -> os.stat_result:
        return real(str(path).replace("/ROOT", "/root"), **options) if isinstance(path, str) else real(path, **options)

    monkeypatch.setattr(workspace_module.os, "stat", stat)
    shouted = str(tree.parent / "ROOT" / "src" / "a.py")
    assert fence.read_text(shouted) == "a = 1\n"
    assert fence.relative(shouted) == "src/a.py"


def test_artifact_facts_are_measured(tree: Path) -> None:
    facts = Workspace(tree).check_artifact("docs/guide.md")
    assert (facts.path, facts.size, facts.media_type) == ("docs/guide.md", 8, "text/markdown")
    assert facts.sha256 == sha256(b"# Guide\n").hexdigest()
    (tree / "blob").write_bytes(b"\0")
    assert Workspace(tree).check_artifact("blob").media_type == "application/octet-stream"
    assert Workspace(tree).check_artifact(tree / "inside").path == "src/a.py"


def test_an_empty_or_missing_artifact_is_not_taken(tree: Path) -> None:
    (tree / "empty.md").touch()
    with pytest.raises(OutputInvalid, match="empty"):
        Workspace(tree).check_artifact("empty.md")
    with pytest.raises(MissingFile):
        Workspace(tree).check_artifact("never-written.md")
    with pytest.raises(InvalidInput, match="folder"):
        Workspace(tree).check_artifact("docs")


_names = st.sampled_from(["..", ".", "", "src", "a.py", "up", "folder", "away", "outside", "inside", "circle", "root", ".git",
                          "root-twin", "secret.txt", "ä", "a\u0301", "SRC", "~", "$HOME", "con", "x" * 300])  # fmt: skip
_odd_paths = st.one_of(
    st.lists(_names, max_size=8).map("/".join), st.text(max_size=30), st.text(string.printable, max_size=30)
)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(300), deadline=None)
@given(path=_odd_paths, is_absolute=st.booleans())
@example(path="src/up/../secret.txt", is_absolute=False)
@example(path="away/../away/outside", is_absolute=False)
def test_no_path_at_all_reads_or_writes_outside(tree: Path, path: str, is_absolute: bool) -> None:
    fence = Workspace(tree, write=["docs"])
    asked = f"{tree}/{path}" if is_absolute else path
    try:
        real = fence.resolve(asked)
    except (AccessDenied, InvalidInput, MissingFile):
        pass
    else:
        assert real == real.resolve()
        assert real == tree or tree in real.parents
    with suppress(AccessDenied, InvalidInput, MissingFile):
        assert fence.read_bytes(asked) in (b"a = 1\n", b"# Guide\n", b"odd\n")
    try:
        place = fence.check_writing(asked)
    except (AccessDenied, InvalidInput, MissingFile):
        pass
    else:
        assert place == tree / "docs" or tree / "docs" in place.parents


@given(st.binary(max_size=30), st.binary(max_size=30))
@example(b'"a"', b"a")
@example(b"a\\nb", b"a\nb")
@example(b"\xff", b"\\377")
def test_quoted_names_are_safe_and_never_look_alike(first: bytes, second: bytes) -> None:
    shown = quote_name(first)
    shown.encode()
    assert not any(ord(character) < 32 for character in shown)
    assert (shown == quote_name(second)) == (first == second)


@given(st.text(max_size=20))
def test_folding_knows_git_in_any_case_and_with_anything_that_is_dropped(tail: str) -> None:
    dropped = "".join(character for character in tail if character in ". \u200c\ufeff")
    assert fold_name(".GiT" + dropped) == ".git"
    assert fold_name(".git:" + tail) == ".git"


_KILLED_AT_WORK = """
import resource, signal, sys
from retinue.tools.workspace import Workspace
signal.signal(signal.SIGXFSZ, signal.SIG_DFL)  # so that the first block beyond the limit kills us
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
Workspace(sys.argv[1], write=["."]).write_bytes("report.md", b"x" * 100_000)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has files without a name")
@pytest.mark.parametrize("before", [None, "the old report"])
def test_a_process_that_is_killed_while_it_writes_leaves_no_half_file(before: str | None, tmp_path: Path) -> None:
    if before is not None:
        (tmp_path / "report.md").write_text(before)
    ended = subprocess.run([sys.executable, "-c", _KILLED_AT_WORK, str(tmp_path)], check=False, timeout=120)
    assert ended.returncode == -signal.SIGXFSZ
    there = {file.name: file.read_text() for file in tmp_path.iterdir()}
    assert there == ({} if before is None else {"report.md": before})


def test_a_file_is_written_where_the_system_has_no_files_without_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_TMPFILE", raising=False)
    Workspace(tmp_path, write=["."]).write_bytes("report.md", b"new")
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("report.md", "new")]
