"""Tool-use definitions in JSON (A4 to A6): what is read, what is refused and where."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load import NEEDS_MODEL, LoadedAgents, load_json
from retinue.agents.load.document import read_json
from retinue.contract import schema
from retinue.contract.finding import Finding

RESEARCHER: dict[str, Any] = {
    "name": "researcher_analyst",
    "description": "Research and analyze information. Use when facts are asked for. Returns: findings with citations.",
    "input_schema": {
        "type": "object",
        "properties": {
            "task": {"type": "string", "description": "The research question."},
            "sources": {"type": "array", "items": {"type": "string", "enum": ["web", "docs", "memory", "code"]}},
            "depth": {"type": "string", "enum": ["quick_scan", "deep_dive", "comprehensive"]},
        },
        "required": ["task", "depth"],
        "additionalProperties": False,
    },
}


def load(value: object, *, indent: int | None = 1) -> LoadedAgents:
    return load_json(json.dumps(value, indent=indent).encode(), file="agents/x.json")


def only_error(loaded: LoadedAgents) -> Finding:
    (error,) = loaded.errors
    return error


@pytest.mark.requirement("A4")
def test_a_tool_use_definition_becomes_an_agent_with_one_skill_of_its_name() -> None:
    loaded = load(RESEARCHER)
    assert loaded.findings == ()
    (agent,) = loaded.agents
    definition = agent.definition
    assert definition.name == "researcher_analyst"
    assert definition.version == "1.0"
    assert [skill.name for skill in definition.skills] == ["researcher_analyst"]
    assert definition.skills[0].input_schema == RESEARCHER["input_schema"]
    assert definition.skills[0].instruction_field == "task"
    assert definition.source is not None
    assert (definition.source.file, definition.source.line) == ("agents/x.json", 1)


@pytest.mark.requirement("A5", "C7")
def test_the_schema_of_a_definition_is_kept_as_it_is_and_refuses_what_it_refuses() -> None:
    (agent,) = load(RESEARCHER).agents
    validator = schema.compile(agent.definition.skills[0].input_schema)
    assert validator.findings({"task": "why", "depth": "deep_dive", "sources": ["docs"]}) == []
    for wrong in ({"sources": ["reddit"]}, {"depth": "shallow"}, {"colour": 1}, {"task": None}):
        assert validator.findings({"task": "why", "depth": "deep_dive", **wrong})


def test_an_array_holds_several_definitions_and_a_bad_one_spoils_only_itself() -> None:
    loaded = load([RESEARCHER, {**RESEARCHER, "name": 7}, {**RESEARCHER, "name": "other"}])
    assert [agent.definition.name for agent in loaded.agents] == ["researcher_analyst", "other"]
    error = only_error(loaded) if len(loaded.errors) == 1 else loaded.errors[0]
    assert error.path.startswith("/1")


def test_an_empty_array_is_said_to_be_empty() -> None:
    assert only_error(load([])).rule == "load/none"


@pytest.mark.parametrize("value", [7, "text", None, True, [1]])
def test_something_else_than_an_object_is_refused(value: object) -> None:
    assert "must be an object" in only_error(load(value)).message


@pytest.mark.requirement("A4", "C7")
def test_an_unknown_key_is_kept_and_reported_with_the_near_miss() -> None:
    loaded = load({**RESEARCHER, "verzion": "2.0", "colour": "red"})
    (agent,) = loaded.agents
    assert agent.definition.extras == {"verzion": "2.0", "colour": "red"}
    said = {finding.path: finding for finding in loaded.findings}
    assert {finding.severity for finding in loaded.findings} == {"info"}
    assert said["/verzion"].fix == "Did you mean 'version'?"
    assert said["/colour"].fix == ""


@pytest.mark.requirement("A4")
@pytest.mark.parametrize("key", ["name", "description", "input_schema"])
def test_each_of_the_three_keys_of_a_definition_is_owed(key: str) -> None:
    loaded = load({name: value for name, value in RESEARCHER.items() if name != key})
    assert loaded.agents == ()
    assert f"`{key}` is missing" in only_error(loaded).message


def test_a_misspelt_key_is_named_where_the_right_one_is_missed() -> None:
    value = {**RESEARCHER, "input_shema": RESEARCHER["input_schema"]}
    del value["input_schema"]
    assert "'input_shema'" in only_error(load(value)).fix


@pytest.mark.parametrize(
    ("key", "value", "line"),
    [("name", 7, 2), ("description", ["x"], 3), ("tags", 1, 4), ("tools", [1], 4), ("timeout_s", "soon", 4),
     ("timeout_s", True, 4), ("composes", "yes", 4), ("runner", None, None), ("defaults", [], 4), ("samples", [1], 4),
     ("max_turns", 1.5, 4), ("instructions", 3, 4), ("skills", 3, 4), ("samples", {"a": 1}, 4)],
)  # fmt: skip
def test_a_value_of_the_wrong_type_is_found_with_its_line(key: str, value: object, line: int | None) -> None:
    loaded = load({"name": "x", "description": "y", key: value, "input_schema": RESEARCHER["input_schema"]})
    if line is None:  # null stands for absent
        assert loaded.errors == ()
        return
    assert loaded.agents == ()
    error = only_error(loaded)
    assert (error.path, error.line, error.column) == (f"/{key}", line, 2)


def test_every_finding_is_reported_not_the_first() -> None:
    loaded = load(
        {"name": "x", "version": "one", "tier": "huge", "effects": ["fly"], "dialect": "klingon", "timeout_s": -1}
    )
    said = {finding.path for finding in loaded.errors}
    assert {"", "/version", "/tier", "/effects/0", "/dialect", "/timeout_s"} <= said


@pytest.mark.parametrize(
    "key", ["handler", "module", "entrypoint", "entry-point", "entryPoint", "import", "python", "Handler"]
)
def test_data_never_names_code(key: str) -> None:
    loaded = load({**RESEARCHER, key: "os:system"})
    assert loaded.agents == ()
    error = only_error(loaded)
    assert error.rule == "load/names-code"
    assert "`@agent`" in error.fix


def test_a_skill_never_names_code_either_but_a_schema_may_have_such_a_property() -> None:
    inner = {"name": "a", "description": "b", "input_schema": {"type": "object"}, "handler": "os:system"}
    assert only_error(load({"name": "x", "description": "y", "skills": [inner]})).path == "/skills/0/handler"
    takes = {"type": "object", "properties": {"module": {"type": "string"}}}
    assert load({**RESEARCHER, "input_schema": takes}).errors == ()


def test_several_skills_can_be_declared() -> None:
    one = {"name": "branch-status", "description": "Says.", "inputSchema": {"type": "object"}, "effects": "read"}
    two = {"name": "commitAnalysis", "description": "Says.", "input_schema": {"type": "object"}, "hue": 1}
    (agent,) = load({"name": "git", "description": "Git.", "skills": [one, two]}).agents
    assert [skill.name for skill in agent.definition.skills] == ["branch_status", "commit_analysis"]
    assert agent.definition.skills[0].effects == ("read",)
    assert agent.definition.extras == {"/skills/1/hue": 1}


@pytest.mark.requirement("A6")
@pytest.mark.parametrize("takes", [{"type": "array"}, {}, {"type": "object", "properties": {"a": {"type": "txt"}}}])
def test_an_input_schema_must_be_a_schema_of_an_object(takes: object) -> None:
    loaded = load({**RESEARCHER, "input_schema": takes})
    assert loaded.agents == ()
    assert all(error.path.startswith("/input_schema") for error in loaded.errors)


@pytest.mark.requirement("C11", "C46")
def test_a_versioned_name_is_a_major_and_other_spellings_are_aliases() -> None:
    (agent,) = load({**RESEARCHER, "name": "Researcher-Analyst-v2"}).agents
    assert (agent.definition.name, agent.definition.version) == ("researcher_analyst", "2.0")
    assert agent.definition.aliases == ("Researcher-Analyst-v2",)
    (agent,) = load({**RESEARCHER, "name": "x_v2", "version": "2.3.1"}).agents
    assert (agent.definition.name, agent.definition.version) == ("x", "2.3.1")
    assert only_error(load({**RESEARCHER, "name": "x_v2", "version": "1.0"})).path == "/version"


@pytest.mark.requirement("C10")
@pytest.mark.parametrize("name", ["!!!", "9lives", "x" * 65])
def test_a_name_that_folds_to_none_is_refused(name: str) -> None:
    loaded = load({**RESEARCHER, "name": name})
    assert loaded.agents == ()
    assert "/name" in {error.path for error in loaded.errors}


def test_every_word_of_a_definition_can_be_said() -> None:
    value = {
        **RESEARCHER,
        "version": "1.2",
        "aliases": ["scholar"],
        "wire_names": {"agent_http": "research"},
        "category": "research",
        "tags": "a, b",
        "tier": "haiku",
        "model": "some-model-1",
        "tools": ["Read"],
        "instructions": "Be exact.",
        "dialect": "tool_use",
        "composes": True,
        "maxTurns": 3,
        "permission-mode": "plan",
        "effort": "high",
        "skills": ["pdf"],
        "memory": "project",
        "deprecated": {"since": "1.1", "use": "y", "note": "old"},
        "output_schema": {"type": "object"},
        "target_field": "depth",
        "defaults": {"depth": "quick_scan"},
        "timeout_s": 3,
        "examples": ["find out"],
        "samples": [{"title": "t", "parameters": {"task": "x"}, "answer": {}}],
        "method": "POST",
        "path": "/x",
        "unavailable": "not yet",
    }
    loaded = load(value)
    assert loaded.findings == ()
    definition = loaded.agents[0].definition
    skill = definition.skills[0]
    assert (definition.tier, definition.model, definition.tools) == ("small", "some-model-1", ("Read",))
    assert (definition.runner.max_turns, definition.runner.permission_mode) == (3, "plan")
    assert definition.runner.skills == ("pdf",)
    assert definition.deprecated is not None
    assert definition.deprecated.use == "y"
    assert (skill.timeout_s, skill.method, skill.path, skill.unavailable) == (3.0, "POST", "/x", "not yet")
    assert skill.samples[0].source is not None
    assert definition.extras == {}


def test_deprecated_may_be_a_plain_yes() -> None:
    assert load({**RESEARCHER, "deprecated": True}).agents[0].definition.deprecated is not None
    assert load({**RESEARCHER, "deprecated": False}).agents[0].definition.deprecated is None


@pytest.mark.parametrize(
    ("data", "line", "column"),
    [
        (b'{"name": "x",}', 1, 13),
        (b'{\n "a": 1,\n "a": 2}', 3, 2),
        (b"", 1, 1),
        (b" \n ", 1, 1),
        (b"{\n\xe9}", 2, 1),
        (b"\xff\xfe{\0}\0", 1, 1),
        (b'{"a":\n "\0"}', 2, 3),
        (b"[" * 100_000, 1, 65),
        (b'{"name": NaN}', 1, 10),
    ],
)
def test_broken_text_is_one_finding_with_its_place(data: bytes, line: int, column: int) -> None:
    loaded = load_json(data, file="x.json")
    assert loaded.agents == ()
    error = only_error(loaded)
    assert (error.rule, error.line, error.column, error.file) == ("load/parse-error", line, column, "x.json")
    assert error.fix


def test_a_byte_order_mark_and_windows_line_ends_do_no_harm() -> None:
    data = b"\xef\xbb\xbf" + json.dumps(RESEARCHER, indent=1).replace("\n", "\r\n").encode()
    loaded = load_json(data, file="x.json")
    assert len(loaded.agents) == 1


def test_ten_megabytes_are_too_much() -> None:
    assert "are allowed" in only_error(load_json(b" " * 10_000_000, file="x.json")).message


def test_a_loaded_agent_says_that_it_needs_a_model() -> None:
    (agent,) = load(RESEARCHER).agents
    assert agent.definition.skills[0].unavailable == NEEDS_MODEL


@pytest.mark.requirement("A17")
def test_who_follows_instructions_asks_a_model_unless_the_file_says_otherwise() -> None:
    def thinks(**said: object) -> str:
        (agent,) = load({**RESEARCHER, **said}).agents
        return agent.definition.skills[0].thinks

    assert thinks() == "must"
    assert thinks(command=["./program"]) == "never"
    assert thinks(command=["./program"], thinks="can") == "can"
    assert thinks(thinks="by_others") == "by_others"
    listed = {"name": "one", "description": "Does one.", "input_schema": {"type": "object"}}
    value = {**RESEARCHER, "skills": [listed, {**listed, "name": "two", "thinks": "never"}]}
    (agent,) = load(value).agents
    assert [agent.definition.uses_model(name) for name in ("one", "two", "three", None)] == [True, False, False, True]
    error = only_error(load({**RESEARCHER, "thinks": "perhaps"}))
    assert (error.rule, error.path) == ("load/value", "/thinks")


@pytest.mark.requirement("A17", "C19")
def test_what_is_asked_at_most_is_read_and_what_is_wrong_with_it_said() -> None:
    (agent,) = load({**RESEARCHER, "thinks_within": {"requests": 3, "tokens_out": 500}}).agents
    within = agent.definition.skills[0].thinks_within
    assert within is not None
    assert (within.requests, within.tokens_in, within.tokens_out) == (3, None, 500)
    assert only_error(load({**RESEARCHER, "thinks_within": {"requests": 0}})).path == "/thinks_within/requests"
    assert only_error(load({**RESEARCHER, "thinks_within": "little"})).path == "/thinks_within"
    (kept,) = load({**RESEARCHER, "thinks_within": {"request": 3}}).findings
    assert "requests" in kept.fix


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)
KEYS = st.sampled_from(
    ["name", "description", "input_schema", "skills", "version", "tier", "model", "tools", "tags", "aliases",
     "wire_names", "deprecated", "samples", "effects", "defaults", "timeout_s", "maxTurns", "examples", "dialect"]
)  # fmt: skip


@given(st.binary(max_size=200))
def test_arbitrary_bytes_are_findings_never_an_exception(data: bytes) -> None:
    loaded = load_json(data, file="x.json")
    assert loaded.agents or loaded.errors


@given(st.dictionaries(KEYS, JSON))
def test_arbitrary_values_are_findings_never_an_exception(value: dict[str, object]) -> None:
    loaded = load({**RESEARCHER, **value})
    assert bool(loaded.agents) != bool(loaded.errors)
    for finding in loaded.findings:
        assert finding.line is not None
        assert finding.column is not None


@given(JSON)
def test_every_part_of_a_document_has_the_place_where_it_stands(value: object) -> None:
    text = json.dumps({"": [value]}, indent=1)
    places = read_json(text.encode(), file="x.json").positions
    assert places["/"] == (2, 2)
    assert places["//0"][0] == 3
    lines = text.split("\n")
    for line, column in places.values():
        assert lines[line - 1][column - 1] not in " \n:,"


def test_a_flood_of_entries_or_keys_is_told_in_few_words() -> None:
    error = only_error(load([RESEARCHER] * 1_001))
    assert error.rule == "load/too-many"
    loaded = load({**RESEARCHER, **{f"key{number}": number for number in range(80)}})
    assert len(loaded.findings) == 51
    assert "30 more" in loaded.findings[-1].message or "30 more" in loaded.findings[0].message
    assert len(loaded.agents[0].definition.extras) == 80


def test_two_spellings_of_one_key_are_refused() -> None:
    assert only_error(load({**RESEARCHER, "maxTurns": 1, "max_turns": 2})).rule == "load/key-twice"


@pytest.mark.parametrize(
    ("text", "key"),
    [
        ('[{"type": "function", "function": {"name": "x", "description": "y", "parameters": {}}}]', "function"),
        ('{"tools": [{"name": "x", "description": "y", "inputSchema": {"type": "object"}}]}', "tools"),
    ],
)
def test_definitions_as_other_programs_wrap_them_are_said_to_stand_inside(text: str, key: str) -> None:
    (error,) = load_json(text.encode(), file="tools.json").findings
    assert (error.rule, error.severity) == ("load/missing-key", "error")
    assert f"in `{key}`" in error.message
    assert f"`{key}` holds by itself" in error.fix


@pytest.mark.requirement("A6", "C46")
def test_a_name_in_another_convention_is_read_and_told() -> None:
    tool = {"name": "Weather-Reporter", "description": "Says the weather.", "input_schema": {"type": "object"}}
    loaded = load_json(json.dumps(tool).encode(), file="x.json")
    [told] = [each for each in loaded.findings if each.rule == "load/name-folded"]
    assert (told.severity, told.path, told.line) == ("warning", "/name", 1)
    assert "weather_reporter" in told.fix
    assert loaded.agents[0].definition.name == "weather_reporter"
