"""`retinue convert`."""

import json
from pathlib import Path

import pytest

from retinue.dialects import DIALECTS, dialect
from tests.black_box.shown import harmless
from tests.cli.conftest import Give
from tests.cli.messages import ANSWER, CORRECTION, ENVELOPE, HANDOFF, REQUEST, SIGNALS
from tests.cli.shell import Terminal
from tests.dialects.hostile import UNSAFE


@pytest.mark.requirement("C1", "C2")
def test_an_answer_is_said_in_another_dialect_and_what_is_lost_is_said(retinue: Give, folder: Path) -> None:
    said = retinue("convert", "--to", "tool_use", stdin=ANSWER)
    assert said.code == 0
    assert json.loads(said.out)["status"] == "success"
    assert json.loads(said.out)["result"] == ENVELOPE["result"]
    assert said.err.startswith("markdown_json: an answer in the form `envelope`; certain: ")
    assert "lost: /" in said.err


@pytest.mark.parametrize("target", DIALECTS)
@pytest.mark.parametrize("text", [ANSWER, REQUEST, SIGNALS, HANDOFF])
def test_every_message_goes_into_every_dialect(retinue: Give, folder: Path, target: str, text: str) -> None:
    said = retinue("convert", "--to", target, "--json", stdin=text)
    assert (said.code, said.err) == (0, "")
    assert said.data["to"]["dialect"] == target
    source, kind = said.data["from"]["dialect"], said.data["from"]["kind"]
    assert retinue("convert", "--to", target, stdin=text).out.rstrip("\n") == said.data["text"].rstrip("\n")
    again = retinue("convert", "--from", target, "--kind", kind, "--to", source, "--json", stdin=said.data["text"])
    assert again.code == 0
    assert again.data["from"]["form"] == said.data["to"]["form"]


def test_fields_that_are_lost_for_one_reason_stand_on_one_line(retinue: Give, folder: Path) -> None:
    (folder / "answer.json").write_text(ANSWER)
    said = retinue("convert", "answer.json", "--to", "task_signal")
    reasons = [line.partition(" (")[2] for line in said.err.splitlines() if line.startswith("lost: ")]
    assert reasons
    assert len(set(reasons)) == len(reasons)
    machine = retinue("convert", "answer.json", "--to", "task_signal", "--json").data
    assert all(loss["field"] in said.err for loss in machine["losses"])


def test_back_in_the_same_dialect_nothing_is_lost(retinue: Give, folder: Path) -> None:
    said = retinue("convert", "--to", "markdown_json", stdin=ANSWER)
    assert json.loads(said.out) == ENVELOPE
    assert said.err.endswith("whole: nothing lost\n")


def test_a_form_can_be_chosen(retinue: Give, folder: Path) -> None:
    for form in dialect("task_signal").RESULT_FORMS:
        said = retinue("convert", "--to", "task-signal", "--form", form, "--json", stdin=SIGNALS)
        assert said.data["to"] == {"dialect": "task_signal", "form": form}


def test_when_strict_nothing_may_be_lost(retinue: Give, folder: Path) -> None:
    said = retinue("convert", "--to", "task_signal", "--strict", "--output", "out.txt", stdin=ANSWER)
    assert (said.code, said.out) == (6, "")
    assert "lost: /" in said.err
    assert "nothing was written" in said.err
    assert not (folder / "out.txt").exists()
    machine = retinue("convert", "--to", "task_signal", "--strict", "--json", stdin=ANSWER)
    assert (machine.code, machine.out) == (6, "")
    assert all(each["field"] and each["why"] for each in machine.error["detail"]["losses"])
    assert retinue("convert", "--to", "markdown_json", "--strict", stdin=ANSWER).code == 0


def test_into_a_file(retinue: Give, folder: Path) -> None:
    (folder / "answer.json").write_text(ANSWER)
    said = retinue("convert", "answer.json", "--to", "task_signal", "-o", "answer.txt")
    assert (said.code, said.out) == (0, "")
    written = (folder / "answer.txt").read_text()
    assert "STATUS: complete\n" in written
    both = retinue("convert", "answer.json", "--to", "task_signal", "-o", "answer.txt", "--json")
    assert both.data["text"].rstrip("\n") == (folder / "answer.txt").read_text().rstrip("\n")


def test_a_repair_is_said(retinue: Give, folder: Path) -> None:
    wrapped = f"Here:\n```json\n{ANSWER}\n```\n"
    said = retinue("convert", "--to", "markdown_json", "--json", stdin=wrapped)
    assert [each["rule"] for each in said.data["findings"]] == ["markdown_json/repaired"]
    assert retinue("convert", "--to", "markdown_json", "--level", "strict", stdin=wrapped).code == 6


def test_a_refused_message_is_not_converted(retinue: Give, folder: Path) -> None:
    said = retinue("convert", "--from", "markdown_json", "--to", "tool_use", stdin=json.dumps({**ENVELOPE, "agent": 3}))
    assert (said.code, said.out) == (6, "")
    assert "/agent" in said.err


@pytest.mark.parametrize("target", DIALECTS)
def test_a_request_made_again_keeps_its_correction(retinue: Give, folder: Path, target: str) -> None:
    from tests.dialects.samples import CORRECTION, REQUESTS

    again = dialect("markdown_json").render_retry(REQUESTS["bare"], CORRECTION).text
    said = retinue("convert", "--to", target, "--json", stdin=again)
    back = retinue("parse", "--dialect", target, "--kind", "task", "--json", stdin=said.data["text"])
    assert back.data["correction"]["message"] == CORRECTION.message


def test_a_correction_alone_goes_where_there_is_one(retinue: Give, folder: Path) -> None:
    said = retinue("convert", "--to", "tool_use", stdin=CORRECTION)
    assert json.loads(said.out) == json.loads(CORRECTION)
    other = retinue("convert", "--to", "markdown_json", stdin=CORRECTION)
    assert (other.code, other.out) == (2, "")
    assert "writes no correction messages" in other.err


def test_a_definition_becomes_a_card_and_comes_back(retinue: Give, folder: Path) -> None:
    tool = {
        "name": "sales_reporter",
        "description": "Reports sales of a year. Use it when somebody asks what was sold. Returns an amount.",
        "input_schema": {
            "type": "object",
            "properties": {"year": {"type": "integer", "description": "Four digits."}},
            "required": ["year"],
            "additionalProperties": False,
        },
    }
    card = retinue("convert", "--to", "agent_http", "--json", stdin=json.dumps(tool))
    assert card.data["from"]["kind"] == "definition"
    assert json.loads(card.data["text"])["capabilities"][0]["input_schema"] == tool["input_schema"]
    back = retinue("convert", "--to", "tool_use", stdin=card.data["text"])
    assert json.loads(back.out) == tool
    assert retinue("convert", "--to", "run_agent", stdin=json.dumps(tool)).code == 2


def test_news_of_progress_is_read_and_goes_nowhere_else(retinue: Give, folder: Path) -> None:
    text = "PROGRESS: Research - Analyzed 15/30 files\n"
    assert retinue("parse", "--json", stdin=text).data["noun"][0]["total"] == 30
    assert retinue("convert", "--to", "task_signal", stdin=text).out == text
    assert "writes no event messages" in retinue("convert", "--to", "agent_http", stdin=text).err


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--to", "tool_sue"), "Unknown dialect 'tool_sue'.", "`tool_use`"),
        (("--from", "nobody", "--to", "tool_use"), "Unknown dialect 'nobody'.", "run_agent"),
        ((), "Missing option '--to'", ""),
        (("--to", "task_signal", "--form", "signal"), "has no form 'signal'", "Did you mean `signals`?"),
        (("--to", "tool_use", "-o", "no/such/file"), "No such folder", ""),
    ],
)
def test_wrong_words_are_refused(retinue: Give, folder: Path, words: tuple[str, ...], message: str, hint: str) -> None:
    said = retinue("convert", *words, stdin=ANSWER)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert hint in said.err


@pytest.mark.requirement("C36")
@pytest.mark.parametrize("unsafe", UNSAFE)
def test_what_is_told_of_a_hostile_message_moves_no_cursor(retinue: Give, folder: Path, unsafe: str) -> None:
    word = UNSAFE[unsafe]
    (folder / "message").write_text(json.dumps({**ENVELOPE, "result": {word: word}, "operation": word}))
    for target in DIALECTS:
        harmless(retinue("convert", "message", "--to", target).err)
        machine = retinue("convert", "message", "--to", target, "--json")
        harmless(machine.out + machine.err)


@pytest.mark.slow
def test_at_a_terminal_the_message_itself_moves_none_either(home: Path, folder: Path) -> None:
    (folder / "message").write_text(SIGNALS.replace("The long story", "\x1b[2Jlong \u202estory"))
    with Terminal(home, folder, "convert", "message", "--to", "task_signal") as terminal:
        code, text = terminal.ended()
    assert code == 0
    assert "\x1b[2J" not in text
    assert "\u202e" not in text
    assert r"\u{1b}[2Jlong" in text
