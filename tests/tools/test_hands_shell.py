"""`shell`: what is read as a command, what may run, and how it ends."""

import asyncio
import os
import shlex
import sys
import time
from pathlib import Path

import pytest
from hypothesis import given, settings, strategies as st

from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput, LimitReached, NotInstalled, RetinueError
from retinue.processes import program
from retinue.tools.builtin.shell_tool import argument_vector, command_line
from tests.examples import examples
from tests.tools.grips import Hands

PYTHON = sys.executable


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    root = tmp_path / "tree"
    (root / "src").mkdir(parents=True)
    return root


def run(root: Path, code: str, *words: str, output_limit: int = 30_000, **arguments: object) -> "object":
    use = Hands.over(root, programs=[PYTHON], output_limit=output_limit)
    return use("shell", command=[PYTHON, "-c", code, *words], **arguments)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("pytest -q tests/test_app.py", ["pytest", "-q", "tests/test_app.py"]),
        ("git commit -m 'a; b > c'", ["git", "commit", "-m", "a; b > c"]),
        ('grep "a b" \\$HOME', ["grep", "a b", "$HOME"]),
        ("find . -name '*.py'", ["find", ".", "-name", "*.py"]),
        ('echo "a \\"b\\" \\\\"', ["echo", 'a "b" \\']),
        ("make CC=gcc a#b a~ {} !x", ["make", "CC=gcc", "a#b", "a~", "{}", "!x"]),
        ("echo ''", ["echo", ""]),
    ],
)
def test_a_line_is_split_as_a_shell_would(line: str, words: list[str]) -> None:
    assert argument_vector(line) == words


@pytest.mark.parametrize(
    ("line", "signs"),
    [
        ("cat a | sort", ["|"]),
        ("make && make test", ["&"]),
        ("ls; rm -rf /", [";"]),
        ("ls\nrm x", ["\n"]),
        ("echo $HOME > out", ["$", ">"]),
        ('echo "$(id)"', ["$"]),
        ('echo "`id`"', ["`"]),
        ('echo "\\$5"', ["$"]),
        ("(cd src)", ["(", ")"]),
        ("ls *.py [ab]? < x", ["*", "[", "?", "<"]),
        ("KEY=1 make", ["="]),
        ("ls ~/x", ["~"]),
        ("make # all", ["#"]),
        ("! make", ["!"]),
        ("touch {a,b}", ["{"]),
        ("echo 'a' \"b\"`id`", ["`"]),
    ],
)
def test_what_only_a_shell_understands_is_refused_with_a_way(line: str, signs: list[str]) -> None:
    with pytest.raises(InvalidInput, match="there is no shell here") as caught:
        argument_vector(line)
    assert caught.value.detail == {"syntax": signs}
    assert all(repr(sign) in caught.value.hint for sign in signs)


@pytest.mark.parametrize(
    "command",
    ["", "  ", [], [""], "echo 'open", 'echo "open', "echo \\", ["a\0b"], ["x"] * 1001, "x" * 100_001, ["\ud800"]],
)
def test_what_is_no_command_is_refused(command: str | list[str]) -> None:
    with pytest.raises(InvalidInput) as caught:
        argument_vector(command)
    assert caught.value.path == "/command"
    assert caught.value.hint


@settings(max_examples=examples(200), deadline=None)
@given(
    words=st.lists(
        st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=8), min_size=1, max_size=5
    )
)
def test_a_command_line_reads_back_as_its_words(words: list[str]) -> None:
    if words[0].strip():
        assert argument_vector(command_line(words)) == words


@settings(max_examples=examples(300), deadline=None)
@given(line=st.text("ab |&;<>()$`*?[]{},.~#!='\"\\\n", max_size=14))
def test_what_is_accepted_means_the_same_to_a_shell_quoter(line: str) -> None:
    try:
        words = argument_vector(line)
    except InvalidInput:
        return
    assert words == shlex.split(line)
    assert argument_vector(shlex.join(words)) == words


def test_an_exit_code_is_an_answer(tree: Path) -> None:
    use = Hands.over(tree, programs=[PYTHON])
    code = "import sys; print('out'); sys.stdout.flush(); print('err', file=sys.stderr); sys.exit(3)"
    output = use("shell", command=[PYTHON, "-c", code])
    assert output.text == "exit code 3\nout\nerr"
    assert (output.origin, (output.data or {})["exit_code"]) == (f"program {PYTHON}", 3)
    killed = use("shell", command=[PYTHON, "-c", "import os; os.kill(os.getpid(), 9)"])
    assert killed.text == "was ended by signal 9"
    assert use("shell", command=f"{PYTHON} --version").text.startswith("exit code 0\nPython 3")


def test_only_what_is_allowed_runs(tree: Path) -> None:
    use = Hands.over(tree, programs=["ls", "./tool.sh"])
    error = use.refused("shell", command="rm -rf .")
    assert isinstance(error, AccessDenied)
    assert error.suggestions == ("./tool.sh", "ls")
    for command in ("/bin/ls", "src/../ls", "./other.sh", "LS"):
        assert isinstance(use.refused("shell", command=[command]), AccessDenied)
    assert "none is" in Hands.over(tree).refused("shell", command="ls").hint
    assert isinstance(Hands.over(tree, programs=["*"]).refused("shell", command=["./tool.sh"]), AccessDenied)
    assert Hands.over(tree, programs=["*"])("shell", command="ls").text == "exit code 0\nsrc"


def test_a_program_of_the_workspace_is_found_from_its_root(tree: Path) -> None:
    script = tree / "tool.sh"
    script.write_text("#!/bin/sh\npwd\n")
    use = Hands.over(tree, programs=["./tool.sh"])
    assert isinstance(use.refused("shell", command=["./tool.sh"]), AccessDenied)
    script.chmod(0o755)
    assert use("shell", command=["./tool.sh"], folder="src").text == f"exit code 0\n{tree / 'src'}"
    script.write_bytes(b"no program at all")
    assert "cannot be run" in use.refused("shell", command=["./tool.sh"]).message
    script.unlink()
    assert isinstance(use.refused("shell", command=["./tool.sh"]), NotInstalled)
    missing = Hands.over(tree, programs=["no-such-program"])
    assert isinstance(missing.refused("shell", command="no-such-program"), NotInstalled)


def test_the_folder_lies_inside(tree: Path) -> None:
    (tree / "file").touch()
    use = Hands.over(tree, programs=["ls"])
    assert isinstance(use.refused("shell", command="ls", folder=".."), AccessDenied)
    assert "is not a folder" in use.refused("shell", command="ls", folder="file").message
    assert isinstance(use.refused("shell", command="ls", folder="none"), RetinueError)


def test_a_program_gets_nothing_of_the_users_environment(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "secret")
    monkeypatch.setenv("SSH_AUTH_SOCK", "/tmp/agent")
    code = "import os; print(sorted(os.environ)); print(os.environ['HOME'], os.listdir(os.environ['HOME']))"
    text = Hands.over(tree, programs=[PYTHON], environment={"CI": "1"})("shell", command=[PYTHON, "-c", code]).text
    _, names, home = text.splitlines()
    assert set(names.strip("[]").replace("'", "").split(", ")) - {"LC_CTYPE", "_RETINUE_CALL"} == {
        "CI", "GIT_TERMINAL_PROMPT", "HOME", "LANG", "LC_ALL", "NO_COLOR", "PAGER", "PATH", "TERM", "TMPDIR",
    }  # fmt: skip
    place, listed = home.split(" ", 1)
    assert place != os.environ["HOME"]
    assert listed == "[]"
    assert not Path(place).exists()
    own = Hands.over(tree, programs=[PYTHON], home=tree)("shell", command=[PYTHON, "-c", code]).text
    assert f"{tree} ['src']" in own


def test_a_long_output_keeps_its_two_ends(tree: Path) -> None:
    code = "for number in range(100_000): print('line', number)"
    output = Hands.over(tree, programs=[PYTHON], output_limit=400)("shell", command=[PYTHON, "-c", code])
    assert output.truncated
    assert output.text.startswith("exit code 0\nline 0\nline 1\n")
    assert output.text.endswith("line 99998\nline 99999")
    assert " bytes are left out here …]" in output.text
    assert len(output.text) < 500


def test_what_a_terminal_would_obey_is_shown(tree: Path) -> None:
    code = "print('\\x1b[31mred\\x1b[0m \\x1b[2Jgone' + '\\x07' * 300)"
    output = Hands.over(tree, programs=[PYTHON], output_limit=600)("shell", command=[PYTHON, "-c", code])
    assert output.text.startswith("exit code 0\nred \\u{1b}[2Jgone")
    assert "characters are left out" in output.text


def test_a_program_that_takes_too_long_is_ended_with_all_it_started(tree: Path) -> None:
    code = (
        "import subprocess, sys, time\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid, flush=True)\n"
        "time.sleep(60)\n"
    )
    use = Hands.over(tree, programs=[PYTHON])
    error = use.refused("shell", command=[PYTHON, "-c", code], timeout_s=1.5)
    assert isinstance(error, DeadlineExceeded)
    child = int(error.detail["output"])
    assert _is_gone(child)


def _is_gone(process: int) -> bool:
    """Whether a process ends within some seconds: a signal takes its time on a busy machine. A zombie has ended."""
    for _ in range(500):
        try:
            if Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] in "ZX":
                return True
        except (FileNotFoundError, ProcessLookupError):
            return True
        time.sleep(0.01)
    return False


def test_what_a_program_leaves_running_is_ended(tree: Path) -> None:
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(60)'])\n"
        "print(child.pid)\n"
    )
    output = Hands.over(tree, programs=[PYTHON])("shell", command=[PYTHON, "-c", code])
    assert _is_gone(int(output.text.splitlines()[1]))


def test_what_escapes_its_group_is_not_waited_for(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_LINGER_S", 0.01)
    code = (
        "import subprocess, sys\n"
        "child = subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'], start_new_session=True)\n"
        "print(child.pid)\n"
    )
    output = Hands.over(tree, programs=[PYTHON])("shell", command=[PYTHON, "-c", code])
    os.kill(int(output.text.splitlines()[1]), 9)


def test_a_program_that_never_stops_talking_is_ended(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(program, "_MOST_BYTES", 100_000)
    code = "while True: print('x' * 1000)"
    error = Hands.over(tree, programs=[PYTHON]).refused("shell", command=[PYTHON, "-c", code])
    assert isinstance(error, LimitReached)
    assert error.detail["output"].startswith("xxx")


def test_a_cancelled_call_ends_its_program(tree: Path) -> None:
    use = Hands.over(tree, programs=[PYTHON])
    mark = tree / "pid"
    code = f"import os, time; open({str(mark)!r}, 'w').write(str(os.getpid())); time.sleep(60)"

    async def call() -> None:
        task = asyncio.create_task(use.tools["shell"].use({"command": [PYTHON, "-c", code]}, use.grip))
        while not mark.exists() or not mark.read_text():  # noqa: ASYNC110 - another process writes it
            await asyncio.sleep(0.01)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(call())
    assert _is_gone(int(mark.read_text()))
