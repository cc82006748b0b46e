"""Rename, move and extract: what they give runs as before, and what cannot be kept right is refused."""

import asyncio
import re
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.errors import InvalidInput, UnknownName
from retinue.tools.refactor.extract import extract
from retinue.tools.refactor.move import move
from retinue.tools.refactor.source import ChangeSet, FileUpdate, SourceEdit, apply_edits, syntax_error
from retinue.tools.workspace import Workspace
from tests.examples import examples


def made(root: Path, files: dict[str, str]) -> Workspace:
    for path, text in files.items():
        root.joinpath(path).parent.mkdir(parents=True, exist_ok=True)
        root.joinpath(path).write_text(text)
    return Workspace(root, write=["."])


def ran(text: str) -> dict[str, object]:
    space: dict[str, object] = {}
    exec(compile(text, "m.py", "exec"), space)
    return space


STATEMENTS = [
    "c = a + 1",
    "d = c * b",
    "a += 1",
    "if a > b:\n    c = 7\n    d = a",
    "for i in range(b):\n    c += i",
    "for e in [1, 2]:\n    d = e",
    "while a < 2:\n    a += 1\n    c = a",
    "d = [c for c in range(a)][:1]",
    "try:\n    d = 1 // a\nexcept ZeroDivisionError as z:\n    d = str(z)",
    "g = lambda: b",
    "b = (lambda x: x + a)(b)",
    "with open('/dev/null') as h:\n    c = h.read()",
    "if b:\n    late = a\n    c = late",
    "match a:\n    case 0:\n        c = 'zero'\n    case n:\n        d = n",
    "(w := a)",
    "if a == 0:\n    return 'early'",
]

FUNCTION = '''\
def total(prices, rate):
    """Sum up."""
    # first the net
    net = 0
    for price in prices:
        net += price
    tax = net * rate
    label = f"{net}+{tax}"
    return label
'''


def test_extracted_lines_become_a_function_with_what_flows_in_and_out() -> None:
    found = extract("m.py", FUNCTION, first_line=3, last_line=6, name="net_of")
    assert (found.inputs, found.outputs) == (("prices",), ("net",))
    after = found.changes.files[0].after
    assert "def net_of(prices):\n    # first the net\n    net = 0\n" in after
    assert "    net = net_of(prices)\n" in after
    assert ran(after)["total"]([1, 2], 0.5) == "3+1.5"  # type: ignore[operator]


def test_a_value_that_is_changed_goes_in_and_comes_out() -> None:
    found = extract("m.py", FUNCTION, first_line=5, last_line=6, name="add_all")
    assert (found.inputs, found.outputs) == (("prices", "net"), ("net",))


@pytest.mark.parametrize(
    ("body", "lines", "why"),
    [
        ("def f(a):\n    if a:\n        return 1\n    b = 2\n    return b\n", (2, 3), "leaves or suspends"),
        ("def f(a):\n    for x in a:\n        if x:\n            break\n    return x\n", (3, 4), "steers a loop"),
        ("def f(a):\n    if a:\n        b = 1\n    return b\n", (2, 3), "may have no value"),
        ("async def f(a):\n    b = await a\n    return b\n", (2, 2), "awaits"),
        ("def f(a):\n    b = (a +\n         1)\n    return b\n", (2, 2), "not whole statements"),
        ("def f():\n    global b\n    b = 1\n", (3, 3), "global"),
        ("class A:\n    def f(self):\n        super().f()\n", (3, 3), "super"),
        ("class A:\n    def f(self):\n        self.__x = 1\n", (3, 3), "private"),
        ("class A:\n    x = 1\n    y = 2\n", (2, 2), "body of a class"),
        ("def f(a):\n    g = lambda: b\n    b = a\n    return g\n", (3, 3), "shared with a function"),
        ("def f(a):\n    new = 1\n    return new\n", (2, 2), "already used"),
    ],
)  # fmt: skip
def test_what_cannot_be_extracted_is_refused_with_its_reason(body: str, lines: tuple[int, int], why: str) -> None:
    with pytest.raises(InvalidInput, match=why):
        extract("m.py", body, first_line=lines[0], last_line=lines[1], name="new")


def test_comprehensions_keep_their_variables_to_themselves() -> None:
    text = "def f(xs):\n    ys = [x * 2 for x in xs]\n    zs = {y: y for y in ys}\n    return zs\n"
    found = extract("m.py", text, first_line=2, last_line=3, name="new")
    assert (found.inputs, found.outputs) == (("xs",), ("zs",))


def test_a_text_over_several_lines_is_not_moved() -> None:
    text = 'def f(a):\n    if a:\n        b = """x\n  y"""\n    else:\n        b = ""\n    return b\n'
    found = extract("m.py", text, first_line=3, last_line=4, name="new")
    assert ran(found.changes.files[0].after)["f"](1) == "x\n  y"  # type: ignore[operator]


PACKAGE = {
    "pkg/__init__.py": "",
    "pkg/a.py": '"""A."""\n\nimport os\nimport json\nfrom .b import low\n\n__all__ = ["helper", "keep"]\n\n\n# why it is here\ndef helper(x: int) -> str:\n    return json.dumps(low(x))\n\n\ndef keep() -> str:\n    return os.sep\n',
    "pkg/b.py": "def low(x):\n    return x\n",
    "pkg/c.py": '"""C."""\n\n\ndef other():\n    return 1\n',
    "user.py": "from pkg.a import helper, keep\nimport pkg.a\n\nprint(helper(1), keep(), pkg.a.helper(2))\n",
    "second.py": "from pkg import a\n\nprint(a.helper(3))\n",
}  # fmt: skip


def test_a_moved_function_takes_its_imports_along_and_the_project_still_runs(tmp_path: Path) -> None:
    workspace = made(tmp_path, PACKAGE)
    before = subprocess.run([sys.executable, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    found = asyncio.run(move(workspace, "pkg/a.py", "helper", "pkg/c.py"))
    assert {change.path for change in found.changes.files} == {"pkg/a.py", "pkg/c.py", "user.py", "second.py"}
    found.changes.apply(workspace)
    new = (tmp_path / "pkg/c.py").read_text()
    assert "# why it is here\ndef helper(x: int) -> str:" in new
    assert "import json\nfrom .b import low\n" in new
    old = (tmp_path / "pkg/a.py").read_text()
    assert "json" not in old
    assert '__all__ = ["keep"]' in old
    assert any("__all__" in note for note in found.notes)
    after = subprocess.run([sys.executable, "user.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert after.stdout == before.stdout
    second = subprocess.run([sys.executable, "second.py"], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert second.stdout == "3\n"


def test_a_move_into_a_new_file_makes_it(tmp_path: Path) -> None:
    workspace = made(tmp_path, PACKAGE)
    found = asyncio.run(move(workspace, "pkg/a.py", "keep", "pkg/d.py"))
    change = next(change for change in found.changes.files if change.path == "pkg/d.py")
    assert change.action == "create"
    assert change.after == "import os\n\n\ndef keep() -> str:\n    return os.sep\n"


def test_a_move_that_would_make_a_circle_is_refused(tmp_path: Path) -> None:
    files = {"a.py": "def low():\n    return 1\n\n\ndef helper():\n    return low()\n\n\nprint(helper())\n", "b.py": ""}
    with pytest.raises(InvalidInput, match="import each other"):
        asyncio.run(move(made(tmp_path, files), "a.py", "helper", "b.py"))


def test_a_move_of_nothing_lists_what_there_is(tmp_path: Path) -> None:
    with pytest.raises(UnknownName) as caught:
        asyncio.run(move(made(tmp_path, PACKAGE), "pkg/a.py", "helpr", "pkg/c.py"))
    assert caught.value.suggestions == ("helper", "keep")


def test_changes_are_all_written_or_none(tmp_path: Path) -> None:
    workspace = made(tmp_path, {"a.py": "a = 1\n", "b.py": "b = 1\n"})
    changes = ChangeSet.of([FileUpdate("a.py", "a = 1\n", "a = 2\n"), FileUpdate(".git/x.py", None, "x = 1\n")])
    with pytest.raises(Exception, match="protected"):
        changes.apply(workspace)
    assert (tmp_path / "a.py").read_text() == "a = 1\n"


def test_a_change_of_a_file_that_has_changed_is_refused(tmp_path: Path) -> None:
    workspace = made(tmp_path, {"a.py": "a = 3\n"})
    with pytest.raises(InvalidInput, match="has changed"):
        ChangeSet.of([FileUpdate("a.py", "a = 1\n", "a = 2\n")]).apply(workspace)


def test_a_change_that_breaks_a_file_is_refused() -> None:
    with pytest.raises(InvalidInput, match="would be broken at line 1"):
        ChangeSet.of([FileUpdate("a.py", "a = 1\n", "a = (\n")]).check()


def test_overlapping_edits_are_refused() -> None:
    with pytest.raises(InvalidInput, match="overlap"):
        apply_edits("abc\n", [SourceEdit(1, 1, 1, 3, "x"), SourceEdit(1, 2, 1, 4, "y")])


def test_the_diff_is_one_that_git_takes(tmp_path: Path) -> None:
    made(tmp_path, {"a.py": "a = 1"})
    diff = ChangeSet.of([FileUpdate("a.py", "a = 1", "a = 2"), FileUpdate("n.py", None, "n = 1\n")]).diff()
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "apply"], cwd=tmp_path, input=diff, text=True, check=True)
    assert (tmp_path / "a.py").read_text() == "a = 2"
    assert (tmp_path / "n.py").read_text() == "n = 1\n"


@settings(max_examples=examples(60), deadline=None)
@given(
    st.lists(st.sampled_from(STATEMENTS), min_size=2, max_size=7),
    st.integers(min_value=0, max_value=6),
    st.integers(min_value=1, max_value=6),
)
def test_what_is_extracted_gives_what_it_gave(body: list[str], start: int, length: int) -> None:
    lines = [f"    {line}" for statement in body for line in statement.split("\n")]
    text = "\n".join(("def f(a, b):", "    c = d = 0", *lines, "    return a, b, c, d", ""))
    first = 3 + start % len(lines)
    last = min(first + length - 1, 2 + len(lines))
    try:
        found = extract("m.py", text, first_line=first, last_line=last, name="new")
    except InvalidInput:
        return
    after = found.changes.files[0].after
    for arguments in ((1, 2), (0, 5), (-3, 1)):
        assert outcome(after, arguments) == outcome(text, arguments)


def outcome(text: str, arguments: tuple[int, int]) -> object:
    try:
        return ran(text)["f"](*arguments)  # type: ignore[operator]
    except Exception as error:  # noqa: BLE001 - how it fails is compared
        return type(error)


@settings(max_examples=examples(100), deadline=None)
@given(st.text(alphabet="ab\n\r\u00e4", max_size=40), st.data())
def test_edits_change_their_places_and_nothing_else(text: str, data: st.DataObject) -> None:
    lines = text.split("\n")
    line = data.draw(st.integers(1, len(lines)))
    column = data.draw(st.integers(1, len(lines[line - 1]) + 1))
    before = sum(len(each) + 1 for each in lines[: line - 1]) + column - 1
    assert apply_edits(text, [SourceEdit(line, column, line, column, "X")]) == f"{text[:before]}X{text[before:]}"


SRC = {
    "src/pkg/__init__.py": "",
    "src/pkg/sub/__init__.py": "",
    "src/pkg/a.py": "from .b import low\nfrom . import b as whole\n\n\ndef helper(x: 'Low'):\n    return low(x), whole.low(x)\n",
    "src/pkg/b.py": "class Low: ...\n\n\ndef low(x):\n    return x\n",
    "src/pkg/sub/c.py": "",
    "src/pkg/sub/user.py": "from ..a import (\n    helper,\n)\n\nprint(helper(1))\n",
    "tests/test_a.py": "import pkg.a as module\nfrom pkg.a import helper as h\n\nprint(module.helper(1), h(2), 'pkg.a.helper')\n",
}  # fmt: skip


def test_a_move_between_packages_turns_relative_imports(tmp_path: Path) -> None:
    workspace = made(tmp_path, SRC)
    found = asyncio.run(move(workspace, "src/pkg/a.py", "helper", "src/pkg/sub/c.py"))
    found.changes.apply(workspace)
    assert (tmp_path / "src/pkg/sub/c.py").read_text().startswith("from ..b import low\nfrom .. import b as whole\n")
    assert (tmp_path / "src/pkg/sub/user.py").read_text().startswith("from .c import helper\n")
    test = (tmp_path / "tests/test_a.py").read_text()
    assert "from pkg.sub.c import helper as h\nfrom pkg.sub.c import helper\n" in test
    assert "print(helper(1), h(2), 'pkg.a.helper')" in test
    assert found.notes == ["tests/test_a.py:4 holds 'a.helper' in a text."]
    environment = {"PYTHONPATH": str(tmp_path / "src")}
    subprocess.run([sys.executable, "tests/test_a.py"], cwd=tmp_path, env=environment, check=True, capture_output=True)


@pytest.mark.parametrize(
    ("files", "why"),
    [
        ({"a.py": "def f():\n    return __name__\n"}, "means something only there"),
        ({"a.py": "x = 0\n\n\ndef f():\n    global x\n    x = 1\n"}, "rebinds globals"),
        ({"a.py": "def f(): ...\n", "b.py": "f = 1\n"}, "has a 'f' already"),
        ({"a.py": "def f(): ...\n", "c.py": "from a import *\n\nf()\n"}, "imports everything"),
        ({"a.py": "def f(): ...\n", "c.py": "def g():\n    from a import f\n\n    f()\n"}, "inside a function"),
        ({"a.py": "def f(): ...\n", "c.py": "import a\n\nf = a.f\n"}, "of its own"),
        ({"a.py": "import os\n\n\ndef f():\n    os.sep\n", "b.py": "os = 1\n"}, "means something else"),
        ({"a.py": "if 1:\n    import os\n\n\ndef f():\n    os.sep\n"}, "only under a condition"),
        ({"a.py": "def f(): ...\n", "b.py": "from a import f as g\n"}, "imports it as 'g'"),
        ({"a.py": "def f(): ...\n", "b.py": "(\n"}, "cannot be parsed"),
        ({"a.py": "def f(): ...\n", "c.py": "from a import f; import os\n"}, "several statements"),
    ],
)
def test_a_move_that_cannot_be_kept_right_is_refused(tmp_path: Path, files: dict[str, str], why: str) -> None:
    with pytest.raises(InvalidInput, match=why) as caught:
        asyncio.run(move(made(tmp_path, files), "a.py", "f", "b.py"))
    assert caught.value.hint


def test_a_move_back_into_a_module_that_imported_it_drops_the_import(tmp_path: Path) -> None:
    files = {"a.py": "def f():\n    return 1\n", "b.py": "import sys\nfrom a import f\n\nprint(f(), sys.path and 1)\n"}
    workspace = made(tmp_path, files)
    asyncio.run(move(workspace, "a.py", "f", "b.py")).changes.apply(workspace)
    assert "from a" not in (tmp_path / "b.py").read_text()
    assert (tmp_path / "a.py").read_text() == ""


@pytest.mark.parametrize("target", ["a.py", "b.txt"])
def test_a_move_needs_two_python_files(tmp_path: Path, target: str) -> None:
    with pytest.raises(InvalidInput, match="different Python files"):
        asyncio.run(move(made(tmp_path, {"a.py": "def f(): ...\n"}), "a.py", "f", target))


def test_when_a_later_file_cannot_be_written_the_earlier_is_put_back(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workspace = made(tmp_path, {"a.py": "a = 1\n", "z.py": "z = 1\n"})
    write = Workspace.write_bytes

    def failing(self: Workspace, path: str, data: bytes) -> Path:
        if path == "z.py":
            raise OSError("no space")
        return write(self, path, data)

    monkeypatch.setattr(Workspace, "write_bytes", failing)
    changes = [
        FileUpdate("a.py", "a = 1\n", "a = 2\n"),
        FileUpdate("m.py", None, "m = 1\n"),
        FileUpdate("z.py", "z = 1\n", "z = 2\n"),
    ]
    with pytest.raises(OSError, match="no space"):
        ChangeSet.of(changes).apply(workspace)
    assert (tmp_path / "a.py").read_text() == "a = 1\n"
    assert not (tmp_path / "m.py").exists()


def test_other_languages_are_parsed_as_well_where_they_can_be() -> None:
    assert syntax_error("a.go", "package x\nfunc {\n") is not None
    assert syntax_error("a.go", "package x\nfunc A() {}\n") is None
    assert syntax_error("a.txt", "((") is None
    assert syntax_error("a.py", "a = '\0'\n") is not None


def refused(text: str, first: int, last: int, name: str = "new_one") -> str:
    with pytest.raises(InvalidInput) as caught:
        extract("m.py", text, first_line=first, last_line=last, name=name)
    return str(caught.value)


GUARDED = """\
def guarded(make):
    found = None
    {head}
        found = make()
        found.go()
    {tail}
    return found
"""


@pytest.mark.parametrize(
    ("head", "tail"),
    [
        ("try:", "finally:\n        print(found)"),
        ("try:", "except OSError as error:\n        raise ValueError(found) from error"),
        ("try:", "except OSError:\n        pass"),
        ("with suppress(OSError):", "found = found or 1"),
    ],
)
def test_what_is_read_after_a_failure_is_not_extracted(head: str, tail: str) -> None:
    text = GUARDED.format(head=head, tail=tail)
    assert "when a part of the lines fails" in refused(text, 4, 5)
    assert extract("m.py", text, first_line=4, last_line=4, name="new_one").outputs == ("found",)


def test_what_is_lost_with_a_failure_anyhow_is_extracted() -> None:
    text = GUARDED.format(head="try:", tail="except OSError:\n        return 7")
    assert extract("m.py", text, first_line=4, last_line=5, name="new_one").outputs == ("found",)


@pytest.mark.parametrize(
    ("text", "lines", "why"),
    [
        ("async def f(g):\n    a = 1\n    return [x async for x in g], a\n", (2, 3), "leaves"),
        ("async def f(g):\n    xs = [x async for x in g]\n    return xs\n", (2, 2), "awaits"),
        ('def f():\n    """It."""\n    return 1\n', (2, 2), "documentation"),
        ('"""It."""\nx = 1\n', (1, 1), "documentation"),
        ("def f(\n    a): print(a)\n", (2, 2), "contains what surrounds its statement"),
        ("def f(a):\r    b = a\r    b += 1\r    return b\r", (2, 3), "carriage return"),
        ("from __future__ import annotations\nx = 1\n", (1, 2), "beginning of the file"),
        ("def f(a):\n    b = vars()\n    return b\n", (2, 2), "`vars`"),
    ],
)
def test_what_cannot_stand_elsewhere_is_not_extracted(text: str, lines: tuple[int, int], why: str) -> None:
    assert why in refused(text, *lines)


def test_a_new_function_does_not_hide_a_builtin() -> None:
    assert "built-in" in refused(FUNCTION, 4, 6, "sum")


def test_only_what_compiles_is_written() -> None:
    assert syntax_error("m.py", "def f():\n    return 1\nreturn 2\n") == (3, "'return' outside function")
    assert syntax_error("m.py", "x = '\\d'\nassert (1, 'always')\n") is None


def test_a_move_does_not_close_a_circle_over_others(tmp_path: Path) -> None:
    workspace = made(
        tmp_path,
        {
            "p/__init__.py": "",
            "p/a.py": "def helper():\n    return 1\n\n\ndef own():\n    return helper()\n",
            "p/b.py": "from p.a import own\n\n\ndef other():\n    return own()\n",
            "p/c.py": "from p.b import other\n\n\ndef third():\n    return other()\n",
            "p/d.py": "import typing\n\nif typing.TYPE_CHECKING:\n    from p.a import own\n\n\ndef late():\n    from p.a import own\n",
        },
    )
    with pytest.raises(InvalidInput, match=r"in a circle: p/a\.py → p/c\.py → p/b\.py → p/a\.py"):
        asyncio.run(move(workspace, "p/a.py", "helper", "p/c.py"))
    asyncio.run(move(workspace, "p/a.py", "helper", "p/d.py")).changes.apply(workspace)
    done = subprocess.run(
        [sys.executable, "-c", "import p.c; print(p.c.third())"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "1\n", done.stderr


def test_a_module_beside_of_the_same_name_is_no_circle(tmp_path: Path) -> None:
    workspace = made(
        tmp_path,
        {
            "p/__init__.py": "",
            "p/a.py": "def helper():\n    return 1\n\n\ndef own():\n    return helper()\n",
            "p/json.py": "from p.a import own\n\n\ndef other():\n    return own()\n",
            "p/c.py": "import json\n\nTEXT = json.dumps(1)\n",
        },
    )
    found = asyncio.run(move(workspace, "p/a.py", "helper", "p/c.py"))
    assert "from .c import helper" in found.changes.files[0].after


def test_overloads_move_together_and_what_is_handed_on_stays_handed_on(tmp_path: Path) -> None:
    workspace = made(
        tmp_path,
        {
            "p/__init__.py": "from p.a import twice as twice\n",
            "p/a.py": (
                "import typing\n\n\n@typing.overload\ndef twice(x: int) -> int: ...\n\n\n"
                "@typing.overload\ndef twice(x: str) -> str: ...\n\n\ndef twice(x):\n    return x * 2\n\n\ndef last():\n    return 0\n"
            ),
        },
    )
    asyncio.run(move(workspace, "p/a.py", "twice", "p/b.py")).changes.apply(workspace)
    assert (tmp_path / "p/__init__.py").read_text() == "from p.b import twice as twice\n"
    assert "twice" not in (tmp_path / "p/a.py").read_text()
    assert (tmp_path / "p/b.py").read_text().count("def twice") == 3
    assert ran((tmp_path / "p/b.py").read_text())["twice"]("ab") == "abab"  # pyright: ignore[reportCallIssue, reportUnknownVariableType] - made here


def test_a_module_has_a_name_that_can_be_imported(tmp_path: Path) -> None:
    workspace = made(tmp_path, {"a.py": "def f():\n    return 1\n"})
    with pytest.raises(InvalidInput, match="no module can be called 'a b'"):
        asyncio.run(move(workspace, "a.py", "f", "a b.py"))


def test_moved_code_takes_the_line_ends_of_its_new_file(tmp_path: Path) -> None:
    files = {
        "windows.py": b"def f():\r\n    return 1\r\n\r\n\r\nX = f()\r\n",
        "unix.py": b"Y = 1\n",
        "mixed.py": b"A = 1\r\nB = 2\n",
    }
    for path, data in files.items():
        (tmp_path / path).write_bytes(data)
    workspace = Workspace(tmp_path, write=["."])
    for target, ends in (("unix.py", {b"\n"}), ("new.py", {b"\r\n"}), ("mixed.py", {b"\r\n", b"\n"})):
        found = asyncio.run(move(workspace, "windows.py", "f", target)).changes.files
        texts = {change.path: change.after.encode() for change in found}
        assert set(re.findall(rb"\r?\n", texts["windows.py"])) == {b"\r\n"}
        assert set(re.findall(rb"\r?\n", texts[target])) == ends
