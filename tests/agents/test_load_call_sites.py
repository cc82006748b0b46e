"""Call sites: who calls whom in a text, and where it says so."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load.markdown import find_call_sites
from retinue.contract.definition import CallSite

COMMAND = """---
description: Checks a story.
---

Use Task tool with agent specification:

**Agent:** ticket-analyzer
**Operation:** story-deep
**Target:** STORY-0001.2.3
**Context:** Before the work

```
**Agent:** git-state-analyzer
**Operation:** {operation}
**Target:** <branch>
```

Task {
  subagent_type: "general-purpose"
  prompt: |
    Read and follow ALL behavioral guidelines from:

    ${PROJECT}/.claude/agents/research/deep-diver.md
}

Task(subagent_type="code-reviewer", prompt="x")
Afterwards run `/git:sync`.
/deploy staging
"""


def said(text: str) -> list[tuple[str, str]]:
    return [(call.form, call.agent) for call in find_call_sites(text, file="x.md")]


@pytest.mark.requirement("K23", "C27", "H9")
def test_every_way_to_call_is_found_where_it_stands() -> None:
    calls = find_call_sites(COMMAND, file="check.md")
    found = [(c.form, c.agent, c.skill, c.target, c.source.line, c.source.column) for c in calls]
    assert found == [
        ("block", "ticket-analyzer", "story-deep", "STORY-0001.2.3", 7, 1),
        ("block", "git-state-analyzer", None, None, 13, 1),
        ("file", "deep-diver", None, None, 23, 16),
        ("subagent", "code-reviewer", None, None, 26, 21),
        ("command", "/git:sync", None, None, 27, 17),
        ("command", "/deploy", None, None, 28, 1),
    ]
    assert {call.source.file for call in calls} == {"check.md"}


@pytest.mark.parametrize(
    "text",
    [
        "**Agent:** {agent-name}\n**Operation:** x",
        "**Agent:** [agent-type]",
        "**Agent:** The agent to call",
        "the **Agent:** field",
        "**Agent:**",
        "Read and follow: .claude/agents/[agent-type].md",
        "See .claude/agents/reviewer.md",
        "Read and follow this:\n\nFirst, think.\n.claude/agents/reviewer.md",
        'subagent_type: "general-purpose"',
        "subagent_type: {agent}",
        "subagent_type: $1",
        "look into `/tmp` and `/etc`",
        "`/api/v1/users` and `/Users`",
        "either/or",
        "https://example.org/review",
    ],
)
def test_placeholders_prose_and_paths_call_nobody(text: str) -> None:
    assert said(text) == []


def test_what_is_still_to_be_done_is_no_call() -> None:
    text = "- [ ] `/review` comes later\n- [x] `/deploy` is there\n"
    assert [call.agent for call in find_call_sites(text, file="ROADMAP.md")] == ["/deploy"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Read and follow: .claude/agents/x.md", ("file", "x")),
        ("read, understand and follow `.claude/agents/team/x.y.md`", ("file", "x.y")),
        ('"subagent_type": "explorer",', ("subagent", "explorer")),
        ("subagent_type = explorer.", ("subagent", "explorer")),
        ("- /review src", ("command", "/review")),
        ("1. /review", ("command", "/review")),
        ("type `/a:b-c:d_e 1`", ("command", "/a:b-c:d_e")),
        ("**Agent:** `ticket-analyzer`", ("block", "ticket-analyzer")),
    ],
)
def test_spellings_of_a_call(text: str, expected: tuple[str, str]) -> None:
    assert said(text) == [expected]


@given(st.text(st.sampled_from(list("*Agent: Oprtin`/\n\r{}<>-abc.md")) | st.characters(), max_size=200))
def test_any_text_is_read_and_every_call_has_its_place(text: str) -> None:
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for call in find_call_sites(text, file="x.md"):
        assert isinstance(call, CallSite)
        assert call.source.line is not None
        assert call.source.column is not None
        assert call.source.column <= len(lines[call.source.line - 1])


@pytest.mark.parametrize(
    "piece", ["**Agent:** ", "**Agent:**\n", "read ", "`/a:", "- ", ".claude/agents/a/", "subagent_type "]
)
def test_no_text_takes_longer_than_its_length(piece: str) -> None:
    assert len(find_call_sites(piece * 20_000, file="x.md")) <= 20_000
