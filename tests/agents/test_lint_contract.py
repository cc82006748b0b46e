"""A family of agents with one contract: who says so, shows it, repeats it, and in which version (K27, K28)."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from tests.agents.trees import lint, markdown, put, said
from tests.examples import examples

LINE = "**Contract:** This agent follows [AGENT_CONTRACT.md](AGENT_CONTRACT.md)"
CONTRACT = "# Agent Contract Specification\n\n**Version:** {version}\n\nEverybody keeps it.\n"


def envelope(status: str, agent: str = "scanner", version: str = "1.0", **more: Any) -> dict[str, Any]:
    base: dict[str, Any] = {"status": status, "agent": agent, "version": version}
    if status == "error":
        base |= {
            "error_type": "missing_file",
            "message": "There is no file src/a.py.",
            "context": {"operation": "scan", "target": "src/a.py", "failed_at": "reading"},
            "partial_results": {},
            "recovery_suggestions": ["Check the path src/a.py."],
            "metadata": {"execution_time_ms": 5, "error_timestamp": "2025-10-08T15:30:00Z"},
        }
    else:
        base |= {"operation": "scan", "result": {"found": 3}, "metadata": {"execution_time_ms": 5}}
    if status == "partial":
        base["warnings"] = [
            {"type": "missing_data", "message": "src/b.py is gone.", "impact": "It was not scanned.",
             "recovery": "Bring src/b.py back."}
        ]  # fmt: skip
        base["metadata"]["completeness"] = 50
    return base | more


def block(value: object) -> str:
    text = value if isinstance(value, str) else json.dumps(value, indent=2)
    return f"```json\n{text}\n```\n"


ALL = "".join(block(envelope(status)) for status in ("success", "partial", "error"))


def body(*parts: str, line: str = LINE) -> str:
    return "\n".join(["# Scanner", "", line, "", "## Examples", "", *parts])


@pytest.mark.requirement("K27")
def test_an_agent_that_keeps_the_rules_is_clean(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL)))
    put(tmp_path / "agents" / "AGENT_CONTRACT.md", CONTRACT.format(version="1.0"))
    assert lint(tmp_path, only=["contract", "operation", "call"]) == []


@pytest.mark.requirement("K27")
def test_a_file_that_cites_the_contract_must_say_so_in_its_header(tmp_path: Path) -> None:
    text = body(ALL, "Wrap it as [AGENT_CONTRACT.md](AGENT_CONTRACT.md) says.", line="")
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", text))
    (found,) = lint(file, only=["contract"])
    assert said([found], tmp_path) == [("agents/scanner.md", 5, 1, "error", "contract/line")]
    assert "cites it" in found.message


@pytest.mark.requirement("K27")
def test_one_among_many_that_follow_the_contract_is_asked_whether_it_does(tmp_path: Path) -> None:
    for name in ("a", "b"):
        put(tmp_path / "agents" / f"{name}.md", markdown(name, body(ALL.replace('"scanner"', f'"{name}"'))))
    put(tmp_path / "agents" / "c.md", markdown("c"))
    put(tmp_path / "elsewhere" / "d.md", markdown("d"))
    assert said(lint(tmp_path, only=["contract"]), tmp_path) == [("agents/c.md", 5, 1, "warning", "contract/line")]


def test_nothing_is_asked_of_agents_without_a_contract(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "a.md", markdown("a", body(block(envelope("success", "a")), line="")))
    put(
        tmp_path / "agents" / "b.md", markdown("b", "## Error handling\n\nDo this.\n\nAnd that.\n\nAnd more.\n\nStill.")
    )
    assert lint(tmp_path, only=["contract"]) == []


@pytest.mark.requirement("K27")
def test_three_examples_are_asked_for_and_those_that_are_missing_named(tmp_path: Path) -> None:
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(block(envelope("success")))))
    (found,) = lint(file, only=["contract"])
    assert (found.rule, found.line, found.severity) == ("contract/examples", 8, "error")
    assert "`partial` and `error`" in found.message


@pytest.mark.requirement("K27", "K9", "K10")
@pytest.mark.parametrize(
    ("changes", "path"),
    [({"agent": "another"}, "/agent"), ({"result": None}, "/result"), ({"metadata": {"execution_time_ms": "5"}}, "/metadata/execution_time_ms")],
)  # fmt: skip
def test_an_example_that_breaks_the_contract_is_found_at_its_key(
    tmp_path: Path, changes: dict[str, Any], path: str
) -> None:
    wrong = envelope("success", **changes)
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, block(wrong))))
    found = lint(file, only=["contract"])
    lines = file.read_text(encoding="utf-8").split("\n")
    assert found
    for each in found:
        assert (each.rule, each.severity, each.path) == ("contract/example", "error", path)
        key = path.rpartition("/")[2]
        assert lines[(each.line or 0) - 1][(each.column or 0) - 1 :].startswith(f'"{key}"')


@pytest.mark.requirement("K12", "K27")
def test_an_example_that_is_cut_short_counts_as_shown_and_is_a_warning_at_the_cut(tmp_path: Path) -> None:
    short = json.dumps(envelope("success"), indent=2).replace('"found": 3', '"found": 3, ...')
    text = body(short_block := block(short), *(block(envelope(each)) for each in ("partial", "error")))
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", text))
    (found,) = lint(file, only=["contract"])
    assert (found.rule, found.severity) == ("contract/example", "warning")
    assert file.read_text(encoding="utf-8").split("\n")[(found.line or 0) - 1].strip() == '"found": 3, ...'
    assert "..." in short_block


@pytest.mark.requirement("K27")
def test_error_handling_of_its_own_is_found_and_a_reference_is_not(tmp_path: Path) -> None:
    own = "## Error Handling\n\nWhen a file is gone:\n\n- say so\n- stop\n- wait\n"
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, own)))
    (found,) = lint(file, only=["contract"])
    assert (found.rule, found.severity) == ("contract/own-errors", "warning")
    assert file.read_text(encoding="utf-8").split("\n")[(found.line or 0) - 1] == "## Error Handling"
    for fine in ("## Error Handling\n\nAs in [AGENT_CONTRACT.md](x.md).\n\n- a\n- b\n- c\n", "## Errors\n\nNone.\n",
                 "## Error handling vagueness\n\n- a\n- b\n- c\n- d\n"):  # fmt: skip
        put(file, markdown("scanner", body(ALL, fine)))
        assert lint(file, only=["contract"]) == []


@pytest.mark.requirement("K27")
def test_what_an_example_says_beside_its_result_is_told(tmp_path: Path) -> None:
    text = body(ALL, block(envelope("success", findings=["one"])))
    (found,) = lint(put(tmp_path / "agents" / "scanner.md", markdown("scanner", text)), only=["contract"])
    assert (found.rule, found.severity, found.path) == ("contract/example", "info", "/findings")
    assert found.fix == "Put what is the agent's own into `result`."


@pytest.mark.requirement("K28", "C35")
def test_a_new_version_of_the_contract_must_reach_every_agent_and_caller(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "AGENT_CONTRACT.md", CONTRACT.format(version="1.1"))
    put(tmp_path / "agents" / "old.md", markdown("old", body(ALL.replace('"scanner"', '"old"'), line=f"{LINE}, v1.0")))
    put(
        tmp_path / "agents" / "new.md", markdown("new", body(ALL.replace('"scanner"', '"new"').replace("1.0", "1.1.0")))
    )
    put(tmp_path / "commands" / "go.md", f"Ask it, and read:\n\n{block(envelope('success'))}")
    found = lint(tmp_path, only=["contract/version"])
    assert {(Path(each.file or "").name, each.severity) for each in found} == {("old.md", "error"), ("go.md", "error")}
    assert len(found) == 5
    lines = {
        name: (tmp_path / name).read_text(encoding="utf-8").split("\n") for name in ("agents/old.md", "commands/go.md")
    }
    for each in found:
        line = lines[(each.file or "").removeprefix(f"{tmp_path.as_posix()}/")][(each.line or 0) - 1]
        assert line[(each.column or 0) - 1 :].startswith("1.0")
        assert "AGENT_CONTRACT.md says 1.1" in each.message


@pytest.mark.requirement("K28")
def test_without_the_contract_the_version_of_most_is_the_right_one(tmp_path: Path) -> None:
    for name, version in (("a", "1.1"), ("b", "1.1"), ("c", "1.0")):
        text = body(ALL.replace('"scanner"', f'"{name}"').replace('"1.0"', f'"{version}"'))
        put(tmp_path / "agents" / f"{name}.md", markdown(name, text))
    found = lint(tmp_path, only=["contract"])
    assert {Path(each.file or "").name for each in found} == {"c.md"}
    assert "most of the tree says 1.1" in found[0].message


@pytest.mark.requirement("K28")
def test_each_of_two_families_keeps_to_its_own_contract(tmp_path: Path) -> None:
    for family, version in (("one", "1.0"), ("two", "2.0")):
        put(tmp_path / family / "agents" / "AGENT_CONTRACT.md", CONTRACT.format(version=version))
        text = body(ALL.replace('"scanner"', f'"{family}"').replace('"1.0"', f'"{version}"'))
        put(tmp_path / family / "agents" / f"{family}.md", markdown(family, text))
    assert lint(tmp_path, only=["contract/version"]) == []


@pytest.mark.requirement("K28")
@pytest.mark.parametrize(
    ("version", "text", "found"),
    [
        ("2.0", "", True),
        ("3.1", "## Breaking changes\n\n2.0: `result` may be absent.\n", True),
        ("2.0", "## Overview\n\nThis is 2.0.\n", True),
        ("2.0", "## Breaking changes\n\n2.0: `result` may be absent.\n", False),
        ("2.1.3", "## Changes in version 2\n\nMuch.\n", False),
        ("3.0", "## History\n\n### 3.0\n\nMuch.\n", False),
        ("1.4", "", False),
    ],
)
def test_a_major_version_of_the_contract_says_what_it_breaks(
    tmp_path: Path, version: str, text: str, *, found: bool
) -> None:
    put(tmp_path / "agents" / "AGENT_CONTRACT.md", CONTRACT.format(version=version) + text)
    put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL.replace('"1.0"', f'"{version}"'))))
    expected = [("agents/AGENT_CONTRACT.md", 3, 14, "warning", "contract/break")] if found else []
    assert said(lint(tmp_path, only=["contract"]), tmp_path) == expected


PIECES = st.sampled_from(
    ["# A", "## Error handling", LINE, "**Version:** 1.1", "```json", "```", '"status": "success",', '{"status": "error"',
     '  "version": "9",', "AGENT_CONTRACT v2.0", "text", "**Agent:** x", "**Operation:** {a | b}", "| agent | operations |",
     "| x | a |", "## Operations", "### `a`", "- `b`", "AGENT_OPERATIONS = {'x': ['a']}", "```python"]
)  # fmt: skip


@settings(max_examples=examples(60), deadline=None)
@given(st.lists(st.lists(PIECES, max_size=12), min_size=1, max_size=4))
def test_any_tree_is_judged_without_a_word(tmp_path_factory: pytest.TempPathFactory, texts: list[list[str]]) -> None:
    folder = tmp_path_factory.mktemp("tree")
    for number, lines in enumerate(texts):
        put(
            folder / ("agents" if number % 2 else "commands") / f"x{number}.md",
            markdown(f"x{number}", "\n".join(lines)),
        )
    lint(folder)


@pytest.mark.requirement("K27")
@pytest.mark.parametrize(
    "changes", [{"metadata": 3}, {"warnings": 5}, {"metadata": {"execution_time_ms": {"deep": 1}}}]
)
def test_what_is_wrong_deep_inside_stands_at_the_nearest_key(tmp_path: Path, changes: dict[str, Any]) -> None:
    file = put(
        tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, block(envelope("partial", **changes))))
    )
    found = lint(file, only=["contract/example"])
    lines = file.read_text(encoding="utf-8").split("\n")
    (key,) = changes
    assert found
    assert any(
        f'"{key}"' in lines[(each.line or 0) - 1] or "execution" in lines[(each.line or 0) - 1] for each in found
    )


@pytest.mark.parametrize(
    "example", ['{"status": "success"}', '{"status": "pending", "agent": "a"}', "[]", '{"x": 1}', "status: success", '"status"']
)  # fmt: skip
def test_json_of_another_kind_is_no_example(tmp_path: Path, example: str) -> None:
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, block(example))))
    assert lint(file, only=["contract"]) == []


def test_a_version_that_is_none_is_cited_by_nobody(tmp_path: Path) -> None:
    put(tmp_path / "agents" / "AGENT_CONTRACT.md", CONTRACT.format(version="01.1"))
    put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL.replace('"1.0"', '"01.0"'))))
    assert lint(tmp_path, only=["contract/version"]) == []


@pytest.mark.requirement("K27", "K9")
def test_a_key_that_is_missing_is_found_at_the_example(tmp_path: Path) -> None:
    wrong = {key: value for key, value in envelope("success").items() if key not in {"operation", "result"}}
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, block(wrong))))
    found = lint(file, only=["contract/example"])
    lines = file.read_text(encoding="utf-8").split("\n")
    assert {each.severity for each in found if each.path == "/result"} == {"error"}
    assert {lines[(each.line or 0) - 1] for each in found} == {"{"}


def test_what_the_specs_disagree_about_is_a_warning_and_more_than_is_asked_for_is_fine(tmp_path: Path) -> None:
    wrong = envelope("success", metadata={"execution_time_ms": 5, "git_commands_run": ["git log"]})
    del wrong["operation"]
    file = put(tmp_path / "agents" / "scanner.md", markdown("scanner", body(ALL, block(wrong))))
    found = lint(file, only=["contract"])
    assert [(each.rule, each.severity, each.path) for each in found] == [("contract/example", "warning", "/operation")]
