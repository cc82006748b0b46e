"""`retinue check`: who is judged, how the report comes, and what the exit code says."""

import json
import os
import signal
import sys
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest

from retinue.llm.port import Request, UserMessage
from tests.agents.programs import script, wait_until_gone
from tests.cli import shell
from tests.cli.conftest import Give
from tests.cli.thinking import use_models
from tests.conformance.mutants.task_signal import GOOD
from tests.repository.tree import ROOT

AGENT = f"""
import sys
sys.path.insert(0, {str(ROOT)!r})
from tests.conformance.mutants.markdown_json import MUTANTS, GOOD

print("importing")
fenced = MUTANTS["markdown_json/json"]
late_warning = MUTANTS["markdown_json/completeness"]

def answer(text):
    print("a word on stdout")
    return GOOD(text)

def nonsense(text):
    return 'I am \\x1b[31mnot\\x1b[0m JSON'

def silent(text):
    return None

if __name__ == "__main__":
    sys.stdout.write(GOOD(sys.stdin.read()))
"""
ASKED = (
    "--agent=ticket-analyzer", "--operation=story-deep", "--target=STORY-0001.2.3", "--partial-target=STORY-0001.2.4",
)  # fmt: skip
SPEAKS = ("--dialect=markdown_json", *ASKED)


@pytest.fixture
def agent(folder: Path) -> Path:
    file = folder / "my_agent.py"
    file.write_text(AGENT, encoding="utf-8")
    return file


def test_an_agent_that_conforms(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:answer", *SPEAKS)
    assert said.code == 0
    head, asked, _, passed = said.out.splitlines()
    assert head == "my_agent.py:answer by markdown_json, requirements 1.0"
    assert asked == "asked: agent ticket_analyzer, operation story_deep, target STORY-0001.2.3"
    assert passed.startswith("passed answers, json, status")
    assert said.err.endswith("conforms: 41 passed, 0 failed, 0 warned\n")
    assert "a word on stdout" not in said.out


@pytest.mark.requirement("K8")
def test_a_broken_must_fails_with_its_clause_and_the_way_out(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:fenced", *SPEAKS)
    assert said.code == 8
    for words in (
        "failed markdown_json/json",
        "MUST: Every answer is one JSON object and nothing around it",
        "clause: Output Validation Requirements: JSON Structure (K1, K8, C17)",
        "- valid, again, corrected and 15 more: Line 1, column 1",
        "answered: Here is the analysis: ```json",
        "fix: Print the JSON object alone",
    ):
        assert words in said.out
    assert said.err.endswith("failed: 39 passed, 1 failed, 1 warned\n")


def test_a_broken_should_warns_and_fails_only_when_strict(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:late_warning", *SPEAKS)
    assert said.code == 0
    assert "warned markdown_json/completeness" in said.out
    strict = retinue("check", "my_agent.py:late_warning", *SPEAKS, "--strict")
    assert (strict.code, strict.out) == (8, said.out)


def test_nothing_that_an_agent_says_moves_the_cursor(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:nonsense", *SPEAKS)
    assert said.code == 8
    assert "\x1b" not in said.out


def test_one_that_never_answers_fails_everything(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:silent", *SPEAKS, "--json")
    assert said.code == 8
    assert said.data["counts"]["passed"] == 0
    assert {each["error"] for each in said.data["exchanges"]} == {"It returned `None`, and no answer."}


def test_a_program_that_cannot_be_started_is_not_judged(retinue: Give, agent: Path) -> None:
    said = retinue("check", "--command", "./my_agent.py", *SPEAKS)
    assert (said.code, said.out) == (2, "")
    assert f"next: Allow it: `chmod +x {agent}`." in said.err
    said = retinue("check", "--command", "./", *SPEAKS)
    assert (said.code, said.out) == (2, "")
    assert "is a folder." in said.err


def test_its_time_is_said_as_everywhere(retinue: Give, agent: Path) -> None:
    assert retinue("check", "my_agent.py:answer", *SPEAKS, "--timeout", "1m").code == 0
    assert "is not a duration" in retinue("check", "my_agent.py:answer", *SPEAKS, "--timeout", "soon").err


def test_one_reason_is_told_once(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:silent", *SPEAKS)
    assert said.code == 8
    assert (
        said.out.count("It returned `None`, and no answer.") == 3
    )  # what is wrong, and what came back to two requests
    assert "\nfailed for the same reasons: json, status, agent, " in said.out
    assert "\nwarned for the same reasons: " in said.out


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there are no such signals")
@pytest.mark.parametrize("how", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("subject", [("--command", "./my-agent"), ("hanging.py:answer",)])
def test_whoever_ends_it_ends_what_it_judges(home: Path, folder: Path, how: str, subject: tuple[str, ...]) -> None:
    hangs = "import os, signal, time\nsignal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
    wait = "open(f'pids/{os.getpid()}', 'w').close()\ntime.sleep(1000)\n"
    (folder / "pids").mkdir()
    script(folder, hangs + wait)
    (folder / "hanging.py").write_text(f"import os, time\ndef answer(text):\n    {wait.replace(chr(10), '; ')}\n")
    with shell.start(home, folder, "check", *subject, *SPEAKS) as process:
        while not (started := [int(each.name) for each in (folder / "pids").iterdir()]):
            assert process.poll() is None
            os.sched_yield()
        process.send_signal(getattr(signal, how))
        process.communicate()
    assert process.returncode == 130
    wait_until_gone(*started)


def test_the_dialect_is_found_out_by_asking(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:answer", *ASKED, "--json")
    assert said.code == 0
    assert said.data["dialect"] == "markdown_json"
    assert said.data["facts"]["dialect"].startswith("found out (")


def test_one_that_speaks_nothing_known_has_to_be_told(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:silent")
    assert (said.code, said.out) == (2, "")
    assert "Nothing that 'my_agent.py:silent' answers is in a dialect." in said.err
    assert "markdown_json" in said.err


@pytest.mark.slow
def test_a_command_is_judged_in_processes_of_its_own(retinue: Give, agent: Path) -> None:
    said = retinue("check", "--command", f"{sys.executable} my_agent.py", *SPEAKS, "--json")
    broken = [each for each in said.data["requirements"] if each["outcome"] != "passed"]
    # It prints a word while it is imported, which stands before each answer.
    assert {each["id"].partition("/")[2] for each in broken} == {"json", "strict"}
    assert said.code == 8


def test_a_definition_says_how_it_is_asked(retinue: Give, agent: Path) -> None:
    definition = {
        "name": "ticket_analyzer",
        "description": "Judges a story. Use before work on it begins. Returns a score.",
        "dialect": "markdown_json",
        "skills": [
            {
                "name": "story_deep",
                "description": "Judges one story.",
                "target_field": "story",
                "input_schema": {
                    "type": "object",
                    "properties": {"story": {"type": "string", "description": "Its id."}},
                    "required": ["story"],
                    "additionalProperties": False,
                },
                "samples": [{"parameters": {"story": "STORY-0001.2.3"}}],
            }
        ],
    }
    Path("definition.json").write_text(json.dumps(definition), encoding="utf-8")
    said = retinue("check", "my_agent.py:answer", "--definition", "definition.json", "--partial-target=STORY-1.2.4")
    how = "asked: agent ticket_analyzer, operation story_deep, target STORY-0001.2.3, parameters story"
    assert (said.code, said.out.splitlines()[1]) == (0, how)


def test_every_form_of_the_report(retinue: Give, agent: Path) -> None:
    assert retinue("check", "my_agent.py:fenced", *SPEAKS, "-o", "report.json").code == 8
    assert json.loads(Path("report.json").read_text(encoding="utf-8"))["passed"] is False
    assert retinue("check", "my_agent.py:fenced", *SPEAKS, "-o", "report.xml").out == ""
    assert ET.parse("report.xml").getroot().attrib["failures"] == "1"
    said = retinue("check", "my_agent.py:fenced", *SPEAKS, "-o", "report.html")
    assert said.err.splitlines()[-1].endswith("written to report.html")
    assert "does not conform" in Path("report.html").read_text(encoding="utf-8")
    assert "<testsuites" in retinue("check", "my_agent.py:fenced", *SPEAKS, "--format", "junit").out
    retinue("check", "my_agent.py:fenced", *SPEAKS, "-o", "report.txt")
    assert "failed markdown_json/json" in Path("report.txt").read_text(encoding="utf-8")


def test_whoever_did_not_say_how_it_is_asked_is_told(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:answer", "--dialect=markdown_json")
    assert said.code == 8
    assert "say how to ask: --agent, --operation" in said.err


@pytest.mark.parametrize(
    ("words", "code", "told"),
    [
        (["gone.py"], 2, "gone.py"),
        (["my_agent.py:anser"], 2, "Did you mean `my_agent.py:answer`?"),
        (["no_such_module_of_anybody"], 2, "There is no module"),
        (["--command", "no-such-program-of-anybody"], 4, "There is no program"),
        (["--command", "'"], 2, "is not a command"),
        (["my_agent.py:answer", "--env", "KEY"], 2, "for commands"),
        (["my_agent.py:answer", "--definition", "gone.json"], 2, "No such file: 'gone.json'."),
        (["my_agent.py:answer", "--definition", "bad.json"], 6, "holds no definition that can be used"),
        (["my_agent.py:answer", "--json", "--format", "html"], 2, "are two formats"),
        (["my_agent.py:answer", "-o", "report.pdf"], 2, "Cannot tell the format of 'report.pdf'"),
        (["my_agent.py:answer", "-o", "no/such/report.html"], 2, "No such folder"),
        (["my_agent.py:answer", "--timeout", "0"], 2, "--timeout"),
        (["my_agent.py:answer", "--dialect", "yaml"], 2, "yaml"),
        ([], 2, "SUBJECT"),
    ],
)
def test_what_cannot_be_judged_is_said(retinue: Give, agent: Path, words: list[str], code: int, told: str) -> None:
    Path("bad.json").write_text("{")
    said = retinue("check", *words)
    assert (said.code, said.out) == (code, "")
    assert told in said.err


def test_an_order_that_is_no_good_is_one_line_of_json(retinue: Give, agent: Path) -> None:
    assert retinue("check", "gone.py", "--json").error["code"] == "missing_file"


# Several subjects, Markdown agents, URLs.


def test_several_subjects_are_judged_in_one_call(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:answer", "my_agent.py:fenced", *SPEAKS)
    assert said.code == 8
    assert "my_agent.py:answer conforms: 41 passed" in said.err
    assert "my_agent.py:fenced failed: " in said.err
    data = retinue("check", "my_agent.py:answer", "my_agent.py:fenced", *SPEAKS, "--json").data
    assert (data["passed"], [each["passed"] for each in data["reports"]]) == (False, [True, False])
    junit = retinue("check", "my_agent.py:answer", "my_agent.py:fenced", *SPEAKS, "--format=junit").out
    assert len({case.get("classname") for case in ET.fromstring(junit).iter("testcase")}) == 2
    html = retinue("check", "my_agent.py:answer", "my_agent.py:fenced", *SPEAKS, "--format=html").out
    assert html.count("<header>") == 2


def test_a_subject_that_is_not_there_costs_no_report_on_the_others(retinue: Give, agent: Path) -> None:
    said = retinue("check", "my_agent.py:answer", "gone.py", *SPEAKS)
    assert said.code == 2
    assert said.out.startswith("my_agent.py:answer by markdown_json")


RESEARCHER = """---
name: researcher
description: Looks things up. Use when something must be found. Returns signals.
---
You look things up, and answer in signals.
"""


def test_a_markdown_agent_is_judged_by_what_a_model_makes_of_it(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / "researcher.md").write_text(RESEARCHER, encoding="utf-8")
    asked = ("check", "researcher.md", "--dialect=task_signal", "--instruction=Look up logins")
    said = retinue(*asked)
    assert said.code == 4
    assert "needs a model" in said.err
    assert "--model" in said.err

    def follow(request: Request) -> str:
        assert request.instructions == "You look things up, and answer in signals."
        turn = request.turns[-1]
        assert isinstance(turn, UserMessage)
        return GOOD(turn.text)

    use_models(monkeypatch, follow)
    said = retinue(*asked, "--model=small")
    assert said.code == 0, said.out
    use_models(monkeypatch, lambda _: "All is well.")
    assert retinue(*asked, "--model=small").code == 8


def test_a_url_where_nobody_answers_says_what_was_asked_and_what_came(retinue: Give, folder: Path) -> None:
    said = retinue("check", "http://127.0.0.1:1/agents/a")
    assert said.code == 4
    assert "Nobody answers at 'http://127.0.0.1:1/agents/a'." in said.err
    assert "GET /agents/a/.well-known/agent-card.json: '127.0.0.1:1' cannot be reached" in said.err
