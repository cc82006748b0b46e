"""`retinue ask --command`: real programs, good ones and bad ones, asked by somebody at a shell."""

import json
import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import pytest

from retinue.cli.ask import with_command
from retinue.dialects import DIALECTS
from retinue.errors import InvalidInput
from tests.agents.programs import ANSWERS, BROKEN, script, telling, wait_until_gone
from tests.cli import shell
from tests.cli.conftest import Give

if TYPE_CHECKING:
    from retinue.cli.project import Project

# An agent that reads the correction and mends itself, and knows nothing of Retinue.
MENDING = """
import json, sys
request = sys.stdin.read()
answer = {"status": "success", "agent": "my-agent", "version": "1.0", "operation": "my-agent",
          "metadata": {"execution_time_ms": 3}}
if "**Correction:**" in request:
    answer["result"] = {"words": 2}
print(json.dumps(answer))
"""
NEVER = 'import sys\nsys.stdin.read()\nprint(\'{"status": "done", "agent": "my-agent"}\')\n'
FAILING = """
import json, sys
print(json.dumps({
    "status": "error", "agent": "my-agent", "version": "1.0", "error_type": "missing_file",
    "message": "STORY-0001.2.3 has no task files.", "context": {"operation": "my-agent", "target": "STORY-0001.2.3"},
    "partial_results": {"story": {"completeness": 85}},
    "recovery_suggestions": ["Create TASK-0001.2.3.1.md.", "Ask for the story alone."],
    "metadata": {"execution_time_ms": 3, "error_timestamp": "2025-10-08T15:30:00Z"}}))
"""


def command(*words: object) -> str:
    """Words as somebody types them."""
    return " ".join(f"'{word}'" for word in words)


@pytest.fixture
def agent(folder: Path) -> Path:
    """A program in the folder in which the user stands."""
    return script(folder, "import sys\nprint('heard', sys.stdin.read().strip())\n")


def test_a_program_answers(retinue: Give, agent: Path) -> None:
    said = retinue("ask", "--command", "./my-agent --json", "hello there", "-q")
    assert (said.code, said.out, said.err) == (0, "heard hello there\n", "")
    assert retinue("ask", "--command", "./my-agent", "hello", "-q").out == "heard hello\n"
    assert retinue("ask", "--command", "./my-agent", "-", "-q", stdin="piped").out == "heard piped\n"


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_program_answers_in_each_dialect(retinue: Give, folder: Path, dialect: str) -> None:
    program = telling(folder / "agent", ANSWERS[dialect])
    (folder / "report.md").write_text("# Words\n")
    said = retinue("ask", "--command", command(*program), "--dialect", dialect, "count", "--json")
    assert (said.code, said.err) == (0, "")
    assert said.data["outcome"] == "success"
    assert said.data["native"] == ANSWERS[dialect]
    if dialect != "task_signal":
        assert said.data["data"] == {"words": 2}
    else:
        assert said.data["artifacts"][0]["title"] == "Words"


@pytest.mark.requirement("A13", "K24")
def test_a_program_that_breaks_its_contract_once_mends_itself(retinue: Give, folder: Path) -> None:
    script(folder, MENDING)
    said = retinue("ask", "--command", "./my-agent", "--dialect", "markdown_json", "count", "--json")
    assert (said.code, said.data["data"], said.data["retries"]) == (0, {"words": 2}, 1)
    assert said.data["attempts"][0]["fault"]["code"] == "output_invalid"


@pytest.mark.requirement("A14", "K26")
def test_a_program_that_always_breaks_its_contract_fails_and_says_why(retinue: Give, folder: Path) -> None:
    script(folder, NEVER)
    said = retinue("ask", "--command", "./my-agent", "--dialect", "markdown_json", "count")
    assert (said.code, said.out) == (5, "")
    assert "error: The message is not a `markdown_json` answer" in said.err
    assert "next: " in said.err
    assert 'It was asked 3 times, each time with the error.\nit said:\n  {"status": "done"' in said.err
    result = retinue("ask", "--command", "./my-agent", "--dialect", "markdown_json", "count", "--json").data
    assert (result["outcome"], len(result["attempts"])) == ("failed", 3)


@pytest.mark.requirement("H18")
def test_what_was_told_on_the_way_is_no_part_of_what_it_said(retinue: Give, folder: Path) -> None:
    script(folder, "print('PROGRESS: Reading - 1/2\\nCHECKPOINT: Read - done\\nCREATED: gone.md')\n")
    said = retinue("ask", "--command", "./my-agent", "--dialect", "task_signal", "count")
    assert said.code == 5
    assert said.err.endswith("it said:\n  CREATED: gone.md\n")


@pytest.mark.requirement("K26", "C25")
def test_a_failure_shows_its_message_its_recovery_and_its_partial_results(retinue: Give, folder: Path) -> None:
    script(folder, FAILING)
    said = retinue("ask", "--command", "./my-agent", "--dialect", "markdown_json", "look")
    assert (said.code, said.out) == (5, "")
    assert "error: STORY-0001.2.3 has no task files." in said.err
    assert "next: Create TASK-0001.2.3.1.md." in said.err
    assert "or: Ask for the story alone." in said.err
    partial = said.err.partition("partial results, not a complete answer:\n")[2]
    assert json.loads(partial) == {"story": {"completeness": 85}}


@pytest.mark.requirement("K26")
def test_a_program_that_says_nothing_has_failed_to_respond(retinue: Give, folder: Path) -> None:
    script(folder, "raise SystemExit('out of ideas')\n")
    said = retinue("ask", "--command", "./my-agent", "look")
    assert said.code == 5
    assert "`my-agent` ended with status 1: out of ideas" in said.err
    assert "failed to respond. Try again, or do it manually." in said.err
    assert "failed to respond" not in retinue("ask", "--command", "./my-agent", "look", "-q").err


@pytest.mark.requirement("C21")
def test_a_program_that_hangs_is_ended(retinue: Give, folder: Path) -> None:
    (folder / "my-agent").write_text("#!/bin/sh\nsleep 1000 &\necho $$ $! > pids\nsleep 1000\n")
    (folder / "my-agent").chmod(0o755)
    said = retinue("ask", "--command", "./my-agent", "look", "--timeout", "700ms", "--json")
    assert (said.code, said.data["fault"]["code"]) == (7, "timeout")
    wait_until_gone(*map(int, (folder / "pids").read_text().split()))


def test_a_program_that_floods_is_refused(retinue: Give, folder: Path) -> None:
    script(folder, "while True: print('na' * 10_000)\n")
    said = retinue("ask", "--command", "./my-agent", "look")
    assert (said.code, said.out) == (5, "")
    assert "printed more than 8,388,608 bytes" in said.err


def test_a_program_that_leaves_children_has_answered(retinue: Give, folder: Path) -> None:
    script(folder, "import subprocess\nsubprocess.Popen(['sleep', '1000'])\nprint('answer', flush=True)\n")
    said = retinue("ask", "--command", "./my-agent", "look")
    assert (said.code, said.out) == (0, "answer\n")
    assert "ended before the processes it had started" in said.err


def test_a_program_that_is_not_there_is_unreachable(retinue: Give, folder: Path) -> None:
    said = retinue("ask", "--command", "./gone", "look")
    assert (said.code, said.out) == (4, "")
    assert "next: Install it, or fix the path." in said.err


def test_a_program_that_is_nearly_meant_is_named(retinue: Give, agent: Path, folder: Path) -> None:
    said = retinue("ask", "--command", "./my-agnet", "look")
    assert said.code == 4
    assert f"next: Did you mean '{agent}'?" in said.err
    script(folder, "", name="reviewer.py")
    assert f"next: Did you mean '{folder / 'reviewer.py'}'?" in retinue("ask", "--command", "./reviewer", "look").err
    assert "Did you mean" not in retinue("ask", "--command", "./gone.py", "look").err
    said = retinue("ask", "--command", "my-agent", "look")
    assert "next: It is in the current folder, which is not searched. Write `./my-agent`." in said.err
    said = retinue("ask", "--command", "KEY=1 ./my-agent", "look")
    assert "The command is not read by a shell." in said.err
    said = retinue("ask", "--command", "./", "look")
    assert "is a folder." in said.err


def test_a_path_with_spaces_wants_quotes(retinue: Give, folder: Path) -> None:
    script(folder, "print('here')", name="my own agent")
    said = retinue("ask", "--command", "./my own agent --json", "look")
    assert (said.code, said.out) == (2, "")
    assert "next: Quote it: './my own agent'" in said.err
    assert retinue("ask", "--command", "'./my own agent' --json", "look", "-q").out == "here\n"


def test_a_variable_that_is_set_and_not_shown_is_named(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEY_OF_REVIEW", "secret")
    script(folder, "import os\nprint(len(os.environ['KEY_OF_REVIEW']))")
    said = retinue("ask", "--command", "./my-agent", "look")
    assert said.code == 5
    assert "`my-agent` ended with status 1: KeyError: 'KEY_OF_REVIEW'" in said.err
    assert "next: It sees few variables, and not `KEY_OF_REVIEW`: name it, as by `--env KEY_OF_REVIEW`." in said.err
    assert "secret" not in said.err
    assert retinue("ask", "--command", "./my-agent", "look", "--env", "KEY_OF_REVIEW", "-q").out == "6\n"


@pytest.mark.parametrize(
    ("dialect", "answer"),
    [
        (None, ""),
        (None, " \n"),
        (None, "ERROR:"),
        ("task_signal", "ERROR:"),
        ("task_signal", "ERROR:\n\nIt broke."),
        ("task_signal", "STATUS:"),
        ("task_signal", "TITLE:\nSUMMARY:"),
        ("task_signal", "CREATED:\nTITLE: Login"),
        ("task_signal", "CREATED:\nSTATUS: complete"),
        ("task_signal", "| Topic | Status | Path | Summary |\n|---|---|---|---|"),
        ("run_agent", '{"content": "", "response_time_secs": 1, "traces": []}'),
    ],
)
def test_an_answer_that_holds_nothing_is_asked_for_again_and_then_a_failure(
    retinue: Give, folder: Path, dialect: str | None, answer: str
) -> None:
    script(folder, f"import sys\nopen('asked', 'a').write('x')\nprint({answer!r})")
    said = retinue("ask", "--command", "./my-agent", *(["--dialect", dialect] if dialect else []), "look", "--json")
    assert (said.code, said.data["outcome"], said.data["fault"]["code"]) == (5, "failed", "output_invalid")
    assert (folder / "asked").read_text(encoding="utf-8") == "xxx"


@pytest.mark.parametrize(
    "answer", ["STATUS: complete", "ERROR:\nSTATUS: complete", "CREATED: none\nSTATUS: complete", "TITLE:\n\nLogin"]
)
def test_a_word_for_success_counts_beside_a_signal_that_was_left_blank(
    retinue: Give, folder: Path, answer: str
) -> None:
    script(folder, f"print({answer!r})")
    said = retinue("ask", "--command", "./my-agent", "--dialect", "task_signal", "look", "--json")
    assert (said.code, said.data["outcome"]) == (0, "success")


@pytest.mark.parametrize("joined", ["|", "&&", ";", "> out.txt", "2>&1"])
def test_what_only_a_shell_can_do_is_refused(retinue: Give, agent: Path, joined: str) -> None:
    said = retinue("ask", "--command", f"./my-agent {joined} cat", "look")
    assert (said.code, said.out) == (2, "")
    assert "and no shell reads it." in said.err
    assert retinue("ask", "--command", f"./my-agent '{joined}' cat", "look", "-q").code == 0


@pytest.mark.requirement("C44")
def test_parameters_and_a_skill_are_told_to_the_program(retinue: Give, folder: Path) -> None:
    program = telling(folder / "agent", ANSWERS["markdown_json"])
    words = ("--dialect", "markdown_json", "--as", "Counter", "-p", "target=a.md", "-p", "Since=2024")
    said = retinue("ask", "--command", command(*program), *words, "count-words", "how many", "--json")
    assert (said.code, said.data["agent"], said.data["skill"]) == (0, "counter", "count_words")
    asked = (folder / "agent" / "request0.txt").read_text()
    for line in ("**Agent:** counter", "**Operation:** count-words", "**Target:** a.md", "- Since: 2024", "how many"):
        assert line in asked


def test_only_named_variables_are_seen(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KEY_OF_TEST", "k")
    monkeypatch.setenv("SECRET_OF_TEST", "s")
    script(folder, "import os\nprint(os.environ.get('KEY_OF_TEST'), os.environ.get('SECRET_OF_TEST'))\n")
    assert retinue("ask", "--command", "./my-agent", "x", "-q", "--env", "KEY_OF_TEST").out == "k None\n"


def test_it_runs_where_the_person_stands(retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    below = folder / "below"
    below.mkdir()
    monkeypatch.chdir(below)
    script(below, "import os\nprint(os.path.basename(os.getcwd()))\n")
    assert retinue("ask", "--command", "./my-agent", "x", "-q").out == "below\n"
    assert retinue("ask", "--command", "./my-agent", "x", "-q", "--workspace", str(folder)).out == "project\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--dialect", "tool_use", "x"), "--dialect can only be used with --command."),
        (("--as", "x", "--env", "A", "x"), "--as, --env can only be used with --command."),
        (("--command", "'", "x"), "is not a command"),
        (("--command", " ", "x"), "The command is empty."),
        (("--command", "true", "--dialect", "yaml", "x"), "yaml"),
        (("--command", "true", "--as", "---", "x"), "is not a valid name"),
        (("--command", "true", "two words", "three words"), "Put the instruction in quotes"),
        (("--command", "true", "a", "b", "c"), "Put the instruction in quotes"),
    ],
)
def test_what_makes_no_sense_is_refused(retinue: Give, folder: Path, words: tuple[str, ...], message: str) -> None:
    said = retinue("ask", *words)
    assert said.code == 2
    assert message in said.err
    assert "next: " in said.err


def test_errors_are_one_line_of_json_for_programs(retinue: Give, folder: Path) -> None:
    said = retinue("ask", "--command", "./gone", "look", "--json")
    assert said.error["code"] == "unavailable"
    assert said.error["hint"]
    assert said.data["outcome"] == "error"


def test_what_a_program_says_cannot_move_the_cursor(retinue: Give, folder: Path) -> None:
    script(folder, "import sys\nprint('\\x1b[2J red', file=sys.stderr)\nprint('\\x1b[31m \\u202e'); sys.exit(1)\n")
    said = retinue("ask", "--command", "./my-agent", "look")
    assert said.code == 5
    assert not {"\x1b", "\u202e"}.intersection(said.out + said.err)


def test_a_run_of_a_program_can_be_resumed(retinue: Give, folder: Path) -> None:
    program = script(folder, "raise SystemExit(1)\n")
    assert retinue("ask", "--command", "./my-agent", "hello there").code == 5
    program.write_text(f"#!{sys.executable}\nimport sys\nprint('heard', sys.stdin.read().strip())\n")
    assert retinue("runs", "resume", "-q").out == "heard hello there\n"


def test_answers_without_a_named_dialect_are_recognised(retinue: Give, folder: Path) -> None:
    program = telling(folder / "agent", ANSWERS["markdown_json"])
    said = retinue("ask", "--command", command(*program), "count", "--json")
    assert said.data["data"] == {"words": 2}
    assert "answered in `markdown_json`" in said.data["warnings"][0]["message"]


@pytest.mark.parametrize("dialect", DIALECTS)
def test_no_dialect_makes_a_program_that_breaks_it_succeed(retinue: Give, folder: Path, dialect: str) -> None:
    program = telling(folder / "agent", BROKEN[dialect])
    said = retinue("ask", "--command", command(*program), "--dialect", dialect, "count")
    assert (said.code, said.out) == (5, "")


@pytest.mark.slow
def test_ctrl_c_ends_the_program_too(home: Path, folder: Path) -> None:
    script(folder, "import os, time\nopen('pid', 'w').write(str(os.getpid()))\nprint(flush=True)\ntime.sleep(1000)\n")
    with shell.Terminal(home, folder, "ask", "--command", "./my-agent", "look") as terminal:
        terminal.expect("my_agent")
        while not (folder / "pid").exists() or not (folder / "pid").read_text():
            os.sched_yield()
        terminal.interrupt()
        assert terminal.ended()[0] == 130
    wait_until_gone(int((folder / "pid").read_text()))


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only there can it be seen what a process has inherited")
def test_a_daemon_that_a_program_leaves_is_named(retinue: Give, folder: Path) -> None:
    twice = "if os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        os.closerange(0, 99)\n"
    daemon = f"{twice}        open('pid', 'w').write(str(os.getpid()))\n        time.sleep(1000)\n    os._exit(0)\n"
    script(folder, f"import os, time\n{daemon}os.wait()\nwhile not os.path.exists('pid'): pass\nprint('done')\n")
    said = retinue("ask", "--command", "./my-agent", "look", "--json")
    pid = int((folder / "pid").read_text())
    os.kill(pid, signal.SIGKILL)
    assert said.code == 0
    (warning,) = said.data["warnings"]
    assert warning["message"] == f"`my-agent` left 1 process running: {pid}."


@pytest.mark.slow
@pytest.mark.parametrize("lines", [1, 1000])
def test_a_program_that_tells_its_progress_for_ever_ends_in_its_time(home: Path, folder: Path, lines: int) -> None:
    told = f"'PROGRESS: Read - page 1/3\\n' * {lines}"
    script(folder, f"import sys\nwhile True:\n    sys.stdout.write({told})\n    sys.stdout.flush()\n")
    words = ("ask", "--command", "./my-agent", "--dialect", "task_signal", "look", "--timeout", "5s", "--json")
    done = shell.run(home, folder, *words)
    assert done.returncode in {5, 7}  # by the end of its time, or because it said too much
    assert json.loads(done.stdout)["fault"]["code"] in {"timeout", "output_invalid"}


@pytest.mark.parametrize("said", [{"argv": "x"}, {"argv": [1]}, {"argv": ["x"], "name": 1}, {}])
def test_a_damaged_record_of_a_command_is_refused(said: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as caught:
        with_command(cast("Project", object()), said)
    assert caught.value.hint


def test_the_files_of_an_agent_that_failed_are_named(retinue: Give, folder: Path) -> None:
    said = "CREATED: half.md\nTITLE: Half\nSUMMARY: Half of it.\nERROR: FILE_NOT_FOUND - Gone.\nRECOVERY: Look.\nSTATUS: failed\n"
    script(folder, f"open('half.md', 'w').write('x')\nprint({said!r})", name="writer")
    told = retinue("ask", "--command", "./writer", "--dialect", "task_signal", "Write it")
    assert told.code == 5
    assert "files it wrote: half.md\n" in told.err
