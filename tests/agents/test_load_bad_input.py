"""Bad input, put before every loader: each is an error with its place, and none is an exception or a wait."""

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load.kinds import Kind, load
from retinue.contract.sanitize import printable

FILES: dict[Kind, str] = {
    "markdown": ".claude/agents/x.md",
    "skill": ".claude/skills/x/SKILL.md",
    "command": ".claude/commands/x.md",
    "tool_use": "agents/x.json",
    "json": "agents/x.json",
    "agent_json": "agents/agent.json",
    "a2a": "agents/agent-card.json",
}
JSON_KINDS: list[Kind] = ["tool_use", "json", "agent_json", "a2a"]
TEXT_KINDS: list[Kind] = ["markdown", "skill", "command"]

NOT_TEXT = {
    "nothing": b"",
    "blanks": b" \n\n",
    "UTF-16": "---\nname: x\n---\n".encode("utf-16"),
    "Latin-1": b"---\nname: caf\xe9\n---\n",
    "NUL": b"---\nname: x\0\n---\n",
    "10 MB": b"[" * 10_000_000,
}
NOT_JSON = {
    "a fence": b'```json\n{"name": "x"}\n```',
    "prose": b'Here it is: {"name": "x"} - enjoy',
    "two objects": b'{"name": "x"}\n{"name": "y"}',
    "cut off": b'{"name": "x", "description": "y',
    "a key twice": b'{"name": "x", "name": "y"}',
    "NaN": b'{"name": NaN}',
    "too large a number": b'{"name": 1e999}',
    "half a surrogate pair": b'{"name": "\\ud800"}',
    "HTML": b"<!doctype html><html></html>",
    "deep": b"[" * 200_000 + b"]" * 200_000,
    "deep objects": b'{"a":' * 200_000 + b"1" + b"}" * 200_000,
}
NOT_YAML = {
    "a key twice": "name: x\nname: y",
    "an anchor": "name: &a x\ndescription: *a",
    "a tag": "name: !!python/object:os.system x",
    "deep": "a: " + "[" * 30_000,
    "a tab": "name:\n\t- x",
    "not finite": "name: .nan",
    "half a surrogate pair": 'name: "\\ud800"',
}


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("kind", FILES)
@pytest.mark.parametrize("what", NOT_TEXT)
def test_what_is_no_text_gives_an_error_with_a_place(kind: Kind, what: str) -> None:
    loaded = load(NOT_TEXT[what], file=FILES[kind], kind=kind)
    assert loaded.agents == ()
    assert all(error.line and error.fix for error in loaded.errors)
    assert loaded.errors


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("kind", JSON_KINDS)
@pytest.mark.parametrize("what", NOT_JSON)
def test_what_is_no_strict_json_gives_an_error_with_a_place(kind: Kind, what: str) -> None:
    loaded = load(NOT_JSON[what], file=FILES[kind], kind=kind)
    assert loaded.agents == ()
    (error,) = loaded.errors
    assert error.line
    assert error.fix


@pytest.mark.parametrize("kind", TEXT_KINDS)
@pytest.mark.parametrize("what", NOT_YAML)
def test_what_is_no_strict_yaml_gives_an_error_with_a_place(kind: Kind, what: str) -> None:
    loaded = load(f"---\n{NOT_YAML[what]}\n---\nDo it.\n".encode(), file=FILES[kind], kind=kind)
    assert loaded.agents == ()
    assert loaded.errors
    assert all(error.line for error in loaded.errors)


@pytest.mark.parametrize("kind", FILES)
def test_a_byte_order_mark_is_no_part_of_the_text(kind: Kind) -> None:
    texts = {"command": "Do it."}
    front = "---\nname: x\ndescription: y\n---\nDo it.\n"
    skill = {"name": "x", "description": "y", "input_schema": {"type": "object"}}
    card = '{"name": "x", "description": "y", "version": "1.0", '
    plain = {
        "tool_use": str(skill).replace("'", '"'),
        "json": str(skill).replace("'", '"'),
        "agent_json": card + '"endpoints": {"tasks": "/agents/a/x/tasks"}, "capabilities": []}',
        "a2a": card + '"supportedInterfaces": [], "capabilities": {}, "skills": []}',
    }
    text = {**texts, **plain}.get(kind, front)
    (agent,) = load(b"\xef\xbb\xbf" + text.encode(), file=FILES[kind], kind=kind).agents
    assert agent.definition.name in {"x", "command_x"}


@pytest.mark.parametrize("kind", JSON_KINDS)
def test_no_data_file_names_code(kind: Kind) -> None:
    text = (
        '{"name": "x", "description": "y", "version": "1.0", "input_schema": {"type": "object"}, "handler": "os.system",'
        ' "endpoints": {"tasks": "/agents/a/x/tasks"}, "skills": [], "capabilities": []}'
    )
    loaded = load(text.encode(), file=FILES[kind], kind=kind)
    assert loaded.agents == ()
    assert kind == "tool_use" or "load/names-code" in [error.rule for error in loaded.errors]


@given(
    st.sampled_from(JSON_KINDS),
    st.text(st.sampled_from(list('{}[]":,\\ntrue1.e-name')) | st.characters(), max_size=80) | st.binary(max_size=40),
)
def test_any_bytes_give_agents_or_errors(kind: Kind, text: str | bytes) -> None:
    data = text if isinstance(text, bytes) else text.encode("utf-8", "replace")
    loaded = load(data, file=FILES[kind], kind=kind)
    assert loaded.agents or loaded.errors


@pytest.mark.parametrize("kind", TEXT_KINDS)
def test_what_findings_quote_can_be_printed(kind: Kind) -> None:
    text = "---\nname: x\x1b[2Jy\ndescription: [\x9b31m\u202e\n---\nRun !`\u202els` now.\n"
    loaded = load(text.encode(), file=FILES[kind], kind=kind)
    for finding in loaded.findings:
        assert printable(printable(finding.message)) == printable(finding.message)
