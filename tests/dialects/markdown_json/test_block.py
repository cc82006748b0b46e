"""Where input blocks stand in a text, and as what a text is recognised."""

import json

import pytest

from retinue.dialects import markdown_json
from retinue.dialects.markdown_json.block import BlockField, find_blocks
from retinue.errors import ParseError

COMMAND = """\
---
description: Start a story
---

First read the story. **Note:** it may be long.

```markdown
**Agent:** ticket-analyzer
**Operation:** story-deep
**Target:** $ARGUMENTS

**Optional Parameters:**
- Mode: pre-work
```

Then ask the other one:

**Agent:** git-state-analyzer
**Operation:** branch-status
**Target:** the branch,
and what it came from

**Action:** compare both.
~~~
**Agent:** design-guardian
~~~
"""


@pytest.mark.requirement("K23", "C27")
def test_every_block_of_a_command_is_found_with_its_place():
    one, two, three = find_blocks(COMMAND)
    assert (one.get("Agent"), one.get("Operation"), one.line, one.is_fenced) == (
        "ticket-analyzer",
        "story-deep",
        8,
        True,
    )
    assert (one.line_of("Target"), one.line_of("Optional Parameters"), one.line_of("Context")) == (10, 12, 8)
    assert one.parameters == [BlockField("Mode", "pre-work", 13)]
    assert one.before.endswith("**Note:** it may be long.")
    assert one.after == "Then ask the other one:"
    assert (two.get("Target"), two.line) == ("the branch,\nand what it came from", 18)
    assert [(each.key, each.value) for each in two.fields][-1] == ("Action", "compare both.")
    assert (three.get("Agent"), three.get("Operation"), three.is_fenced) == ("design-guardian", None, True)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("", 0),
        ("The **Agent:** is inside a sentence.", 0),
        ("**Target:** 95 %", 0),
        ("**Agent:** a", 1),
        ("  **agent**: a", 1),
        ("**Operation:** a\n**Agent:** b", 1),
        ("**Agent:** a\n**Agent:** b", 2),
        ("**Agent:** a\nprose\n\nprose\n**Operation:** b\n**Agent:** c", 2),
    ],
)
def test_a_block_starts_where_an_agent_is_named(text: str, found: int):
    assert len(find_blocks(text)) == found


def test_a_fence_inside_the_prose_is_part_of_it():
    (block,) = find_blocks("**Agent:** a\n\nRun:\n```\nls\n```\nDone.")
    assert block.after == "Run:\n```\nls\n```\nDone."
    assert markdown_json.parse_task("**Agent:** a\n**Operation:** b\n```\nls\n```").value.instruction == "```\nls\n```"


def test_bytes_that_are_no_text_are_refused_with_their_place():
    with pytest.raises(ParseError) as caught:
        markdown_json.parse_task(b"**Agent:** a\n\xff")
    assert (caught.value.detail["line"], caught.value.detail["column"]) == (2, 1)
    assert markdown_json.parse_task("**Agent:** ä\n".encode()).value.agent == "a"


ENVELOPE: dict[str, object] = {"status": "success", "agent": "a", "version": "1.0", "operation": "b", "result": {}}


@pytest.mark.parametrize(
    ("text", "signs"),
    [
        ("**Agent:** a\n**Operation:** b", [("task", "block", "certain")]),
        ("**Agent:** a\n**Operation:** b\n\nExecute per AGENT_CONTRACT.md.", [("task", "invocation", "certain")]),
        ("**Agent:** a", [("task", "block", "likely")]),
        ("**Agent:** a\n\n**Correction:**\n- Message: x", [("task", "block", "likely")]),
        ("**Agent:** a\n\n**Agent:** b", []),
        (json.dumps(ENVELOPE), [("result", "envelope", "certain")]),
        (f"Here:\n```json\n{json.dumps(ENVELOPE)}\n```", [("result", "envelope", "certain")]),
        ('{"status": "error", "error_type": "timeout", "context": {}}', [("result", "envelope", "likely")]),
        ('{"status": "partial", "result": {}, "warnings": []}', [("result", "envelope", "likely")]),
        ('{"status": "success", "result": {}}', [("result", "envelope", "possible")]),
        ('{"status": "success"}', []),
        ('{"status": ["success"]}', []),
        ('{"status": "done", "result": {}}', []),
        ('"status"', []),
        ('"status" {', []),
        ("prose", []),
    ],
)
def test_a_text_is_recognised_by_its_marks(text: str, signs: list[tuple[str, str, str]]):
    found = markdown_json.recognise(text)
    assert [(sign.kind, sign.form, sign.certainty) for sign in found] == signs
    assert all(sign.why for sign in found)
