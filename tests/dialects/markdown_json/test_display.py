"""What a person sees of a failure, and what a hostile agent cannot make them see (K26, C25, C36)."""

import pytest

from retinue.contract.fault import Fault
from retinue.contract.result import Result
from retinue.dialects import markdown_json

FAULT = Fault(code="missing_file", message="The story is gone.", hint="Look for it.", suggestions=("Ask.", "Wait."))


@pytest.mark.requirement("K26", "C25")
def test_an_agent_without_an_answer_failed_to_respond():
    said = markdown_json.display(None, agent="ticket_analyzer")
    assert said == "⚠️ ticket\\-analyzer failed to respond\n**Action:** Retry the operation, or go on by hand"
    assert markdown_json.display(None).startswith("⚠️ The agent failed")


@pytest.mark.requirement("K26", "C25")
def test_a_failure_shows_message_recovery_and_what_there_is():
    failed = Result(task_id="", agent="a", outcome="error", fault=FAULT, data={"found": ["x"]})
    said = markdown_json.display(failed)
    assert said == (
        "❌ a Error: The story is gone\\.\n\n**Recovery Options:**\n- Look for it\\.\n- Ask\\.\n- Wait\\.\n\n"
        '**Partial Results Available:**\n\n```json\n{\n  "found": [\n    "x"\n  ]\n}\n```'
    )
    read = markdown_json.parse_result(markdown_json.render_result(failed).text)
    assert markdown_json.display(read) == said


@pytest.mark.requirement("K26")
def test_a_failure_that_says_little_shows_little():
    bare = Result(task_id="", agent="a", outcome="error", fault=Fault(code="timeout", message=""), data={})
    assert markdown_json.display(bare) == "❌ a Error: Unknown error"
    assert markdown_json.display(Result(task_id="", agent="a", outcome="success")) == ""


@pytest.mark.requirement("K26", "C36")
def test_nothing_of_an_agent_renders_or_moves_the_cursor():
    hostile = "<b>x</b> [link](http://x) `code`\n# heading\n```\n\x1b[2J\u202e| table |"
    fault = Fault(code="timeout", message=hostile, hint=hostile, suggestions=(hostile,))
    failed = Result(task_id="", agent=f"a{hostile}", outcome="error", fault=fault, data={hostile: hostile})
    said = markdown_json.display(failed)
    head, _, data = said.partition("```json\n")
    assert "\x1b" not in said
    assert "\u202e" not in said
    assert "\\<b\\>" in head
    assert "\n#" not in head
    assert all(not line.lstrip().startswith("```") for line in data.splitlines()[:-1])
