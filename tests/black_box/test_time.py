"""Everything that reads a stranger's text takes time in proportion to it: no text keeps a command busy for ever.

Measured is the time of the processor, and only a text that takes long is measured again at twice its length: linear
work then takes twice as long, and square work four times.
"""

import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import settings

from retinue.agents.lint import File, lint_tree
from retinue.agents.load import load_command, load_json, load_markdown, load_skill, read_behaviour
from retinue.agents.load.markdown import find_call_sites
from retinue.agents.load.operations import with_operations
from retinue.catalogue.pattern_discovery.file_facts import rules_of
from retinue.contract import json, names, sanitize
from retinue.contract.definition import Definition, Skill
from retinue.contract.facts import ColumnFacts, TableFacts
from retinue.contract.tokens import get_counter
from retinue.contract.version import split_versioned_name
from retinue.dialects import DIALECTS, dialect
from retinue.errors import RetinueError
from retinue.orchestration.expected_files import report_shortfalls
from retinue.orchestration.present.blocks import as_code, as_line, as_prose, sanitize_markdown
from retinue.orchestration.present.html_markup import markdown_to_html
from retinue.orchestration.reader.tables import read_table_question
from retinue.orchestration.reader.text_tokens import split_clause, split_sentences, strip_courtesy
from retinue.orchestration.reader.values import time_spans
from retinue.tools.data.csv import layout_of
from retinue.tools.search.passages import split_passages
from retinue.tools.web.page import read_html
from retinue.tools.web.url import parse_url

pytestmark = pytest.mark.slow

SALES: Final = TableFacts(
    path="sales.csv",
    row_count=3,
    columns=(
        ColumnFacts(name="city", kind="text", values=("Bern", "Rome")),
        ColumnFacts(name="price", kind="number", least=1, most=9),
        ColumnFacts(name="day", kind="time", least="2024-01-01", most="2024-03-01"),
    ),
)
TOKENS: Final = (
    *"abA1_ \t\n.,:;!?-+*/\\|()[]{}<>\"'`~@#$%^&=é\u200b\u2019",
    *(
        "](",
        "![",
        "[a](",
        "a ",
        "aA",
        "Aa",
        "**",
        "__",
        "``",
        "```\n",
        "\n\n",
        "  \n",
        "\r\n",
        "# ",
        "#  #",
        "- ",
        "--",
    ),
    *(
        "| ",
        "|-",
        "<!--",
        "<a ",
        "</",
        "\\\\",
        '\\"',
        '"a"',
        "'a",
        "1.",
        "1,",
        "1 ",
        "\\u0041",
        "a/",
        "../",
        "a=",
        "a: ",
    ),
    *(
        "&amp;",
        "ab\n",
        " \n",
        "a\t",
        "STEP 1 ",
        "x-",
        "A-",
        "AB",
        "a_b_",
        "CREATED: ",
        "STATUS:",
        "Q1",
        "a(",
        "(a",
        "{{",
    ),
)
DEEP: Final = settings.get_current_profile_name() == "retinue-deep"
LEADS: Final = ("", "# ", "| a |\n|") if DEEP else ("",)
SIZES: Final = (1_000, 8_000) if DEEP else (4_000,)
LONG_S: Final = 0.1
"""What takes less is not judged: at twice the length it would be too little to measure."""


def every_reader() -> dict[str, Callable[[str], Any]]:
    """Whatever in the package is handed a text that an agent, a file, a page or a peer has written."""
    readers: dict[str, Callable[[str], Any]] = {
        "fold": names.fold,
        "to_kebab": names.to_kebab,
        "nearest": lambda text: names.nearest(text, ("year_end", "churn")),
        "split_versioned_name": split_versioned_name,
        "workspace_path": sanitize.check_workspace_path,
        "content": lambda text: sanitize.clean_content(text, max_length=10**6),
        "printable": sanitize.printable,
        "hidden": sanitize.hidden_character,
        "escape_markdown": sanitize.escape_markdown,
        "loads": json.loads,
        "tokens": get_counter("words").count,
        "read_behaviour": read_behaviour,
        "call_sites": lambda text: find_call_sites(text, file="a.md"),
        "load_markdown": lambda text: load_markdown(
            f"---\nname: a\ndescription: b\n---\n{text}".encode(), file=".claude/agents/a.md"
        ),
        "operations": lambda text: with_operations(
            Definition(
                name="a",
                description="b",
                instructions=f"## Operations\n{text}",
                skills=(Skill(name="a", description="b", input_schema={}),),
            )
        ),
        "load_front_matter": lambda text: load_markdown(f"---\n{text}\n---\n".encode(), file=".claude/agents/a.md"),
        "load_skill": lambda text: load_skill(f"---\nname: a\n---\n{text}".encode(), file="skills/a/SKILL.md"),
        "load_command": lambda text: load_command(text.encode(), file=".claude/commands/a.md"),
        "load_json": lambda text: load_json(text.encode(), file="a.json"),
        "lint": lambda text: lint_tree(
            [File(Path("a.md"), "a.md", "agent", f"---\nname: a\ndescription: b\n---\n{text}".encode())]
        ),
        "tame": sanitize_markdown,
        "as_prose": as_prose,
        "as_line": as_line,
        "as_code": as_code,
        "html": markdown_to_html,
        "objections": report_shortfalls,
        "sentences": lambda text: [list(split_clause(one)) for one in split_sentences(text)],
        "strip_courtesy": strip_courtesy,
        "days": lambda text: list(time_spans(text, today=None)),
        "data_question": lambda text: read_table_question(text, SALES),
        "rules_of": lambda text: list(rules_of(text)),
        "csv": layout_of,
        "passages": lambda text: [
            *split_passages("a.md", "docs", text),
            *split_passages("a.py", "code", text),
            *split_passages("a.js", "code", text),
        ],
        "page": lambda text: read_html(text, url=parse_url("https://example.org/")),
    }
    for name in DIALECTS:
        speaks = dialect(name)
        readers |= {f"{name}_task": speaks.parse_task, f"{name}_result": speaks.parse_result}
        readers |= {f"{name}_recognise": speaks.recognise}
    return readers


READERS: Final = every_reader()


def taken(read: Callable[[str], Any], text: str) -> float:
    """Seconds of this thread that reading `text` takes; that it is refused is as good as read."""
    began = time.thread_time()
    with suppress(RetinueError):
        read(text)
    return time.thread_time() - began


@pytest.mark.parametrize("name", READERS)
def test_time_grows_with_the_text_and_no_faster(name: str) -> None:
    read = READERS[name]
    taken(read, "a")  # what is imported at the first call is not counted
    for size in SIZES:
        for lead in LEADS:
            for token in TOKENS:
                for end in ("", "\0 x"):
                    text = lead + token * (size // len(token)) + end
                    once = taken(read, text)
                    if once < LONG_S / 3:
                        continue
                    double = lead + token * (2 * size // len(token)) + end
                    twice = min(taken(read, double) for _ in range(3))  # a busy machine only ever adds
                    assert twice < LONG_S or twice < 3 * min(once, taken(read, text)), (lead, token, end, once, twice)
