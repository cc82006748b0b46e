"""`retinue parse`."""

import json
from pathlib import Path
from typing import Any

import pytest
from click import unstyle

from retinue.cli.message import DIALECT_WORDS, outline
from retinue.dialects import DIALECTS
from tests.black_box.shown import harmless
from tests.cli.conftest import Give
from tests.cli.messages import ANSWER, ENVELOPE, HANDOFF, REQUEST, SIGNALS
from tests.cli.shell import Terminal
from tests.dialects.hostile import NONSENSE, UNSAFE


def test_a_message_is_recognised_read_and_shown(retinue: Give, folder: Path) -> None:
    (folder / "answer.json").write_text(ANSWER)
    said = retinue("parse", "answer.json")
    assert said.code == 0
    assert said.err.startswith("markdown_json: an answer in the form `envelope`; certain: ")
    assert "agent: ticket_analyzer\n" in said.out
    assert "outcome: success\n" in said.out
    assert "task_id" not in said.out
    assert (
        "data:\n  score: 85\n  ready: true\n  issues: []\n  note: |\n    All there.\n    Nothing is missing.\n"
        in said.out
    )


@pytest.mark.parametrize(
    ("text", "dialect", "kind"),
    [
        (ANSWER, "markdown_json", "result"),
        (REQUEST, "markdown_json", "task"),
        (SIGNALS, "task_signal", "result"),
        (HANDOFF, "tool_use", "task"),
    ],
)
def test_programs_get_one_document(retinue: Give, folder: Path, text: str, dialect: str, kind: str) -> None:
    said = retinue("parse", "--json", stdin=text)
    assert (said.code, said.err) == (0, "")
    assert said.data["dialect"] == dialect
    assert said.data["kind"] == kind
    assert said.data["certainty"] == "certain"
    assert said.data["form"]
    assert said.data["why"]
    assert said.data["noun"]["agent"]
    assert said.data["findings"] == []


def test_what_is_borne_is_said_with_its_place(retinue: Give, folder: Path) -> None:
    (folder / "answer.md").write_text(f"Here you are:\n\n```json\n{ANSWER}\n```\n")
    said = retinue("parse", "answer.md")
    assert said.code == 0
    assert "answer.md: warning markdown_json/repaired" in said.err
    assert "fix: Send the JSON object alone." in said.err
    strict = retinue("parse", "answer.md", "--level", "strict")
    assert (strict.code, strict.out) == (6, "")
    assert "answer.md:1:1: error " in strict.err


@pytest.mark.requirement("C3")
def test_a_refused_message_says_everything_that_is_wrong_with_line_and_column(retinue: Give, folder: Path) -> None:
    broken = {**ENVELOPE, "version": 1, "metadata": {"execution_time_ms": True}}
    (folder / "answer.json").write_text(json.dumps(broken, indent=2))
    said = retinue("parse", "answer.json", "--level", "strict")
    assert (said.code, said.out) == (6, "")
    assert "answer.json:4:3 /version: error" in said.err
    assert "/metadata/execution_time_ms" in said.err
    assert "answer.json:13:5 /metadata/execution_time_ms: error" in said.err
    assert "\nerror: " in said.err
    machine = retinue("parse", "answer.json", "--level", "strict", "--json")
    assert (machine.code, machine.out) == (6, "")
    assert machine.error["code"] == "output_invalid"
    places = {(each["line"], each["column"]) for each in machine.error["detail"]["findings"]}
    assert places >= {(4, 3), (13, 5)}


def test_broken_json_is_placed(retinue: Give, folder: Path) -> None:
    said = retinue("parse", stdin='{\n "status": "success",\n "agent": "a"')
    assert said.code == 6
    assert "stdin:3:14 /agent: error message/truncated" in said.err


def test_what_speaks_no_dialect_is_refused(retinue: Give, folder: Path) -> None:
    said = retinue("parse", "--kind", "result", stdin="Nothing that anybody would say.")
    assert said.code == 6
    assert "Name the dialect with `--dialect`" in said.err


def test_an_empty_message_is_said_to_be_empty(retinue: Give, folder: Path) -> None:
    said = retinue("parse", stdin="")
    assert (said.code, said.out) == (6, "")
    assert "it is empty" in said.err
    assert "fix: Check that the agent prints its answer to stdout" in said.err


@pytest.mark.parametrize("data", [bytes(range(128, 256)), '{"status": "success"}'.encode("utf-16")])
def test_what_is_no_text_is_said_to_be_none(retinue: Give, folder: Path, data: bytes) -> None:
    (folder / "answer.bin").write_bytes(data)
    said = retinue("parse", "answer.bin")
    assert (said.code, said.out) == (6, "")
    assert "not UTF-8" in said.err


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("**STATUS**: complete\n", "does not stand bare"),
        ("Done!\n\nCREATED: docs/a.md\n", "below other text"),
        ("```\nSTATUS: complete\n```\n", "in a code fence"),
    ],
)
def test_what_was_meant_as_signals_is_told_what_keeps_it_from_it(
    retinue: Give, folder: Path, text: str, why: str
) -> None:
    said = retinue("parse", stdin=text)
    assert (said.code, said.out) == (6, "")
    assert "does not count" in said.err
    assert why in said.err


def test_one_finding_is_told_once(retinue: Give, folder: Path) -> None:
    said = retinue("parse", "--dialect", "task_signal", stdin="All went well.\n")
    assert said.err.count("No signal stands") == 1
    assert len(said.err.splitlines()) == 2


def test_what_could_be_several_things_is_said_to_be(retinue: Give, folder: Path) -> None:
    said = retinue("parse", stdin='{"year": 2025}')
    assert said.code == 0
    assert "; possible: " in said.err
    assert "\n  or agent_http: a request; possible: " in said.err


def test_a_message_that_nobody_would_recognise_is_read_as_what_it_is_said_to_be(retinue: Give, folder: Path) -> None:
    said = retinue("parse", "--dialect", "markdown-json", "--kind", "result", stdin="{}")
    assert said.code == 6
    assert "/status" in said.err
    unsaid = retinue("parse", "--dialect", "markdown_json", "--json", stdin="{")
    assert unsaid.code == 6
    assert unsaid.error["detail"]["reason"] == "truncated"


def test_what_the_message_does_not_say_can_be_said(retinue: Give, folder: Path) -> None:
    said = retinue(
        "parse", "--agent", "Story Analyzer", "--skill", "look-deep", "--task-id", "t7", "--json", stdin=SIGNALS
    )
    noun = said.data["noun"]
    assert (noun["agent"], noun["skill"], noun["task_id"]) == ("story_analyzer", "look_deep", "t7")


def test_what_is_only_said_to_be_a_message_is_shown_as_said(retinue: Give, folder: Path) -> None:
    prompt = "Look into the parser, please."
    said = retinue(
        "parse", "-d", "task_signal", "--kind", "task", "--level", "lenient", "--agent", "researcher", stdin=prompt
    )
    assert said.code == 0
    assert said.err.startswith("task_signal: a request in the form `prompt`")
    assert f"instruction: {prompt}\n" in said.out
    machine = retinue("parse", "-d", "task_signal", "--kind", "task", "--level", "lenient", "--json", stdin=prompt)
    assert machine.data["findings"]


def test_a_request_that_is_made_again_is_shown_with_its_correction(retinue: Give, folder: Path) -> None:
    from retinue.dialects import dialect
    from tests.dialects.samples import CORRECTION, REQUESTS

    again = dialect("tool_use").render_retry(REQUESTS["bare"], CORRECTION).text
    said = retinue("parse", stdin=again)
    assert "instruction: Judge the story.\n" in said.out
    assert f"  message: {CORRECTION.message}\n" in said.out.partition("\ncorrection:\n")[2]


def test_the_shell_offers_the_dialects() -> None:
    from click import Context

    from retinue.cli.options import dialect_names
    from retinue.cli.verbs import parse

    context, parameter = Context(parse), parse.params[0]
    assert [item.value for item in dialect_names(context, parameter, "t")] == ["tool_use", "task_signal"]


@pytest.mark.parametrize(
    ("words", "message", "hint"),
    [
        (("--dialect", "markdwon_json"), "Unknown dialect 'markdwon_json'.", "`markdown_json`"),
        (("--dialect", "markdown_json", "--kind", "event"), "has no event messages", "It reads: task, result"),
        (("--agent", "!"), "Invalid agent name '!'", "letters, digits"),
        (("--skill", "9"), "Invalid skill name '9'", "letters, digits"),
        (("--level", "loose"), "'loose' is not one of", ""),
        (("--kind", "letter"), "'letter' is not one of", ""),
        (("gone.json",), "No such file: 'gone.json'", "Name the file"),
        (("..",), "cannot be read", "Name a readable file"),
        (("a\0b",), "cannot be read", "Name a readable file"),
    ],
)
def test_wrong_words_are_refused(retinue: Give, folder: Path, words: tuple[str, ...], message: str, hint: str) -> None:
    said = retinue("parse", *words, stdin=ANSWER)
    assert (said.code, said.out) == (2, "")
    assert message in said.err
    assert hint in said.err


def test_too_large_a_message_is_refused(retinue: Give, folder: Path) -> None:
    (folder / "large").write_bytes(b" " * (16 * 2**20 + 1))
    said = retinue("parse", "large", "--json")
    assert said.code == 6
    assert said.error["detail"]["reason"] == "too_large"


def test_the_help_names_the_dialects_there_are() -> None:
    assert sorted(DIALECT_WORDS.replace(" or ", ", ").split(", ")) == sorted(DIALECTS)


@pytest.mark.slow
@pytest.mark.parametrize("nonsense", NONSENSE)
@pytest.mark.requirement("C36")
def test_whatever_comes_in_nothing_that_moves_a_cursor_goes_out(retinue: Give, folder: Path, nonsense: str) -> None:
    text = NONSENSE[nonsense]()
    (folder / "message").write_bytes(text if isinstance(text, bytes) else text.encode("utf-8", "surrogatepass"))
    for options in ((), ("--json",), *(("--dialect", name) for name in DIALECTS)):
        said = retinue("parse", "message", *options)
        assert said.code in {0, 6}
        harmless(said.out + said.err)
        assert len(said.out) + len(said.err) < 50_000_000


@pytest.mark.requirement("C36")
@pytest.mark.parametrize("unsafe", UNSAFE)
def test_words_of_others_are_shown_and_not_obeyed(retinue: Give, folder: Path, unsafe: str) -> None:
    word = UNSAFE[unsafe]
    hostile = {**ENVELOPE, "agent": word, "result": {word: word, "list": [word]}, word: word}
    for text in (json.dumps(hostile), REQUEST.replace("Pre-work", word), SIGNALS.replace("Patterns", word)):
        (folder / "message").write_text(text)
        for options in ((), ("--json",)):
            said = retinue("parse", "message", *options)
            harmless(said.out + said.err)


@pytest.mark.slow
def test_at_a_terminal_a_message_must_be_named(home: Path, folder: Path) -> None:
    with Terminal(home, folder, "parse") as terminal:
        code, text = terminal.ended()
    assert code == 2
    assert "Name a file, or pipe one in." in text


# The outline.


def test_an_outline_shows_words_as_words_and_the_rest_as_json() -> None:
    value: dict[str, Any] = {
        "text": "plain words",
        "lines": "one\ntwo",
        "number": 1,
        "number in words": "1",
        "nothing": None,
        "nothing in words": "null",
        "empty": "",
        "spaced": " a ",
        "list": [1, "two", [3, 4], {"five": 5, "six": []}],
        "none": {},
    }
    assert unstyle(outline(value)) == (
        'text: plain words\nlines: |\n  one\n  two\nnumber: 1\nnumber in words: "1"\nnothing: null\n'
        'nothing in words: "null"\nempty: ""\nspaced: " a "\nlist:\n  - 1\n  - two\n  - - 3\n    - 4\n'
        "  - five: 5\n    six: []\nnone: {}"
    )


def test_a_text_cannot_forge_a_line_of_the_outline() -> None:
    assert unstyle(outline({"a": "x\nb: forged", "c\nd": 1})) == "a: |\n  x\n  b: forged\nc d: 1"
