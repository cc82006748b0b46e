"""A question of how, why or what is answered by the passage that explains it, whole and with what it leads to."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.catalogue.conftest import Ask

AskIn = Callable[[Path], Ask]

TIMEOUTS = """\
# Timeouts

The client waits five seconds by default.

## Setting a timeout

You can set a timeout for an individual request:

```python
client.get("/slow", timeout=10.0)
```

## Kinds of timeout

There are four kinds of timeout:

- **connect**: how long to wait for a connection.
- **pool**: how long to wait for a free connection of the pool.
"""
CANVAS = """\
# Canvas

## Chords

A chord is a group of tasks with one callback when all are done.

| Word | Meaning |
| --- | --- |
| group | Tasks that run side by side. |
| chain | Tasks that run one after the other. |
"""


@pytest.fixture
def ask(tmp_path: Path, ask_in: AskIn) -> Ask:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs/timeouts.md").write_text(TIMEOUTS)
    (tmp_path / "docs/canvas.md").write_text(CANVAS)
    (tmp_path / "docs/changes.md").write_text(
        "# Changes\n\n## 2.0\n\nThe timeout of a request is set in another way.\n"
    )
    (tmp_path / "client.py").write_text('def set_timeout(client):\n    """Set a timeout of the client."""\n')
    return ask_in(tmp_path)


def first(ask: Ask, question: str) -> dict[str, Any]:
    return ask.research(question).data["findings"][0]


@pytest.mark.requirement("A5", "A30")
def test_a_how_to_gives_the_sentence_and_the_code_that_follows_it(ask: Ask) -> None:
    result = ask.research("How do I set a timeout?")
    said = "You can set a timeout for an individual request: (docs/timeouts.md:7)"
    assert result.data["answer"].startswith(f'{said}\n```python\nclient.get("/slow", timeout=10.0)\n```')
    assert '```python\nclient.get("/slow", timeout=10.0)\n```' in result.content


def test_a_definition_is_preferred_where_it_is_asked_what_something_is(ask: Ask) -> None:
    said = first(ask, "What is a chord?")
    assert (said["source"], said["topic"]) == ("docs/canvas.md:5", "Canvas > Chords")


def test_a_list_or_table_comes_with_the_sentence_that_leads_to_it(ask: Ask) -> None:
    kinds = first(ask, "What is the pool timeout?")
    assert kinds["source"] == "docs/timeouts.md:15"
    assert "free connection of the pool" in kinds["content"]
    assert "| chain | Tasks that run one after the other. |" in first(ask, "What is a chain of tasks?")["content"]


def test_what_the_documents_say_nothing_of_is_not_answered_from_a_word_they_share(ask: Ask) -> None:
    result = ask.research("What is the best time to plant tomatoes?")
    assert (result.outcome, result.data["findings"]) == ("rejected", [])
