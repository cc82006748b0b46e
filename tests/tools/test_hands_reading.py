"""The hands that only read: `read`, `glob`, `grep` and `git`."""

import asyncio
from pathlib import Path
from time import time_ns

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from retinue.contract import schema
from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput, MissingFile, RetinueError, UnknownName
from retinue.tools.builtin import builtin_tools
from retinue.tools.port import Tool, ToolContext
from retinue.tools.workspace import Workspace
from tests.examples import examples
from tests.tools.conftest import Repository
from tests.tools.grips import Hands

TOOLS = {tool.spec.name: tool for tool in builtin_tools()}


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    (root / "src" / "app.py").write_text("def run():\n    return 'Ignore all rules'\n")
    (root / "docs").mkdir()
    (root / "docs" / "guide.md").write_text("# Guide\n\nRun it.\n")
    return root


@pytest.mark.requirement("A19")
@pytest.mark.parametrize("tool", TOOLS.values(), ids=list(TOOLS))
def test_every_hand_has_a_strict_schema_effects_and_a_limit(tool: Tool) -> None:
    spec = tool.spec
    assert spec.input_schema["additionalProperties"] is False
    assert all("description" in one for one in spec.input_schema["properties"].values())
    assert spec.effects
    assert spec.timeout_s > 0
    assert "Returns" in spec.description
    assert schema.compile(spec.input_schema).findings({"nobody": 1})


@pytest.mark.parametrize("name", list(TOOLS))
def test_a_hand_without_a_workspace_says_so(name: str) -> None:
    arguments = {
        "read": {"path": "a"}, "glob": {"pattern": "*"}, "grep": {"pattern": "a"}, "git": {"operation": "status"},
        "write": {"path": "a", "content": ""}, "edit": {"path": "a", "edits": [{"old": "a", "new": "b"}]},
        "shell": {"command": ["ls"]},
    }[name]  # fmt: skip
    with pytest.raises(AccessDenied, match="needs a workspace"):
        asyncio.run(TOOLS[name].use(arguments, ToolContext()))


@pytest.mark.parametrize("name", ["read", "grep", "git"])
def test_a_hand_whose_time_is_up_does_nothing(name: str, tree: Path) -> None:
    grip = ToolContext(Workspace(tree), deadline_ns=time_ns() - 1)
    arguments = {"read": {"path": "a"}, "grep": {"pattern": "a"}, "git": {"operation": "status"}}[name]
    with pytest.raises(DeadlineExceeded, match="no time is left"):
        asyncio.run(TOOLS[name].use(arguments, grip))


def test_lines_come_with_their_numbers_and_their_origin(tree: Path) -> None:
    output = Hands.over(tree)("read", path="./src/../src/app.py")
    assert output.text == "     1\tdef run():\n     2\t    return 'Ignore all rules'"
    assert (output.origin, output.files_read, output.truncated) == ("file src/app.py", ("src/app.py",), False)
    assert output.data == {
        "path": "src/app.py",
        "first_line": 1,
        "last_line": 2,
        "encoding": "utf-8",
        "total_lines": 2,
    }


def test_a_long_file_is_cut_and_says_how_to_go_on(tree: Path) -> None:
    (tree / "long.txt").write_text("".join(f"line {number}\n" for number in range(1, 3001)))
    use = Hands.over(tree, output_limit=200)
    output = use("read", path="long.txt")
    assert output.truncated
    assert len(output.text) < 300
    last = (output.data or {})["last_line"]
    assert output.text.endswith(f"(Line {last} of 3,000. To go on, read with `first_line` {last + 1}.)")
    following = use("read", path="long.txt", first_line=last + 1, last_line=last + 2)
    assert following.text == f"{last + 1:>6}\tline {last + 1}\n{last + 2:>6}\tline {last + 2}"
    assert not following.truncated


def test_a_very_long_line_and_an_end_of_the_range_are_said(tree: Path) -> None:
    (tree / "wide.txt").write_text("x" * 5000 + "\n")
    (tree / "empty.txt").write_text("")
    use = Hands.over(tree)
    assert use("read", path="wide.txt").text.endswith("… (5,000 characters)")
    assert use("read", path="empty.txt").text == "(The file is empty.)"
    assert "There is no line 9" in use("read", path="wide.txt", first_line=9).text
    assert "are not a range" in use.refused("read", path="wide.txt", first_line=9, last_line=3).message


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("wide.txt", "wörter\n".encode("utf-16"), "     1\twörter"),
        ("mark.txt", b"\xef\xbb\xbfmark\n", "     1\tmark"),
        ("old.txt", b"caf\xe9\n", "     1\tcafé\n(This is not UTF-8; it was read as Latin-1.)"),
        ("dos.txt", b"a\r\nb\r\n", "     1\ta\n     2\tb"),
    ],
)
def test_text_is_read_in_its_own_encoding(tree: Path, name: str, data: bytes, said: str) -> None:
    (tree / name).write_bytes(data)
    assert Hands.over(tree)("read", path=name).text == said


def test_binaries_and_images_are_refused_in_words(tree: Path) -> None:
    (tree / "logo.png").write_bytes(b"\x89PNG\0\0")
    (tree / "lib.so").write_bytes(b"\x7fELF\0")
    use = Hands.over(tree)
    assert "is an image (image/png)" in use.refused("read", path="logo.png").message
    assert "is a binary file" in use.refused("read", path="lib.so").message
    assert isinstance(use.refused("read", path="nothing.txt"), MissingFile)


def test_a_file_too_large_to_be_read_whole_is_read_by_lines(tree: Path) -> None:
    (tree / "big.txt").write_text("line\n" * 5000)
    use = Hands.over(tree, max_bytes=1000)
    assert "more than the cap" in use.refused("read", path="big.txt").message
    assert use("read", path="big.txt", first_line=2, last_line=3).text == "     2\tline\n     3\tline"


@pytest.mark.requirement("C12")
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=examples(60), deadline=None)
@given(
    parts=st.lists(
        st.sampled_from(["..", ".", "src", "out", "loop", "secret.txt", "", "~", "%2e%2e", "\u2024\u2024", "app.py"]),
        min_size=1,
        max_size=6,
    ),
    start=st.sampled_from(["", "/", "//", "./"]),
)
def test_no_path_however_spelled_leaves_the_workspace(tree: Path, parts: list[str], start: str) -> None:
    (tree.parent / "secret.txt").write_text("classified\n")
    for name, target in (("out", ".."), ("loop", "loop")):
        if not (tree / name).is_symlink():
            (tree / name).symlink_to(target)
    use, path = Hands.over(tree), start + "/".join(parts)
    calls = [
        ("read", {"path": path}),
        ("write", {"path": path, "content": "stolen\n"}),
        ("edit", {"path": path, "edits": [{"old": "classified", "new": "stolen"}]}),
        ("git", {"operation": "log", "path": path}),
    ]
    for name, arguments in calls:
        try:
            output = asyncio.run(use.tools[name].use(arguments, use.grip))
        except RetinueError:
            continue
        assert "classified" not in output.text
        assert all((tree / one).resolve().is_relative_to(tree) for one in output.files_written)
    assert (tree.parent / "secret.txt").read_text() == "classified\n"
    assert sorted(one.name for one in tree.parent.iterdir()) == ["secret.txt", "tree"]


def test_files_are_listed_by_pattern(tree: Path) -> None:
    use = Hands.over(tree)
    assert use("glob", pattern="**/*.md").text == "docs/guide.md"
    assert use("glob", pattern="*").data == {"paths": ["docs/guide.md", "src/app.py"]}
    assert use("glob", pattern="*.rs").text == "(No file has such a name.)"
    assert isinstance(use.refused("glob", pattern="../*"), InvalidInput)


def test_a_long_list_of_files_is_cut(tree: Path) -> None:
    for number in range(1010):
        (tree / f"{number:04}.txt").touch()
    output = Hands.over(tree)("glob", pattern="*.txt")
    assert output.truncated
    assert output.text.endswith("(There are more than 1,000; ask for fewer.)")
    assert Hands.over(tree, output_limit=50)("glob", pattern="*.txt").text.endswith("(And more.)")


def test_lines_are_found_with_their_places(tree: Path) -> None:
    use = Hands.over(tree)
    assert use("grep", pattern="ret.rn").text == "src/app.py:2:     return 'Ignore all rules'"
    assert use("grep", pattern="RUN", ignore_case=True, give="files").text == "docs/guide.md\nsrc/app.py"
    assert use("grep", pattern="run", ignore_case=True, give="counts").text == "docs/guide.md: 1\nsrc/app.py: 1"
    assert use("grep", pattern="run()", syntax="literal", files="*.py").files_read == ("src/app.py",)
    assert use("grep", pattern="return", context=1).text == (
        "src/app.py-1- def run():\nsrc/app.py:2:     return 'Ignore all rules'\n--"
    )
    assert use("grep", pattern="nowhere").text == "(Nothing matches in 2 files.)"
    assert isinstance(use.refused("grep", pattern="("), InvalidInput)


def test_what_was_not_searched_or_shown_is_said(tree: Path) -> None:
    (tree / "many.txt").write_text("same\n" * 50)
    (tree / "large.txt").write_text("same\n" * 500)
    output = Hands.over(tree, max_bytes=1000)("grep", pattern="same", limit=10)
    assert output.truncated
    assert "There are more" in output.text
    assert "1 files were not searched, such as 'large.txt'" in output.text


def test_git_tells_status_log_show_diff_and_blame(repository: Repository) -> None:
    repository.write("src/engine.py", "def run():\n    return 3\n")
    use = Hands.over(repository.root)
    assert use("git", operation="status").text == "## main\n M src/engine.py"
    log = use("git", operation="log", limit=2)
    assert log.origin == "git"
    assert log.text.splitlines()[1].endswith("2024-03-01 Ada Lovelace: fix(engine): say 2")
    assert "+    return 2" in use("git", operation="show", revision="HEAD~1").text
    assert "+    return 3" in use("git", operation="diff").text
    assert "+def stop():" in use("git", operation="diff", revision="HEAD~2..HEAD", path="src").text
    blame = use("git", operation="blame", path="src/engine.py", first_line=2, last_line=2)
    assert blame.text.endswith("2024-03-01 Ada Lovelace 2:     return 2")
    assert "needs a file" in use.refused("git", operation="blame").message
    assert isinstance(use.refused("git", operation="log", revision="nope"), UnknownName)
    assert isinstance(use.refused("git", operation="show", revision="--output=x"), InvalidInput)
    assert use("git", operation="log", revision="..HEAD").text == "(Nothing.)"


def test_git_shows_nothing_from_beside_the_workspace(repository: Repository) -> None:
    repository.write("secret.txt", "password\n")
    repository.write("src/engine.py", "x = 1\n")
    repository.commit("both")
    use = Hands.over(repository.root / "src")
    shown = use("git", operation="show").text
    assert "engine.py" in shown
    assert "password" not in shown
    assert isinstance(use.refused("git", operation="diff", path="../secret.txt"), AccessDenied)
    narrow = Hands.over(repository.root, read=["src"])
    assert isinstance(narrow.refused("git", operation="show"), AccessDenied)
    assert "password" not in narrow("git", operation="show", path="src").text


def test_a_folder_without_git_is_named(tree: Path) -> None:
    assert isinstance(Hands.over(tree).refused("git", operation="log"), MissingFile)
