"""Markdown definitions: front matter as strict YAML 1.2, the body as the behaviour (H8), reference and context (H9)."""

import asyncio
import json
from typing import cast

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load import LoadedAgents, load_markdown, read_behaviour
from retinue.agents.load.operations import with_operations
from retinue.agents.load.yaml import MAX_LENGTH, read_yaml
from retinue.agents.port import Reply, RunContext
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.task import Task
from retinue.errors import ParseError

BODY = """You are a research specialist.

## Process

STEP 1: Read the topic.
STEP 2: Search the code.

```
STEP 3: part of a code block
## Quality criteria
```

## Output format

One JSON object.

## Quality criteria

- Every claim has a source.
"""


def load(front: str, body: str = BODY, *, file: str = ".claude/agents/research-specialist.md") -> LoadedAgents:
    return load_markdown(f"---\n{front}\n---\n{body}".encode(), file=file)


def only_error(loaded: LoadedAgents) -> Finding:
    assert loaded.agents == ()
    (error,) = loaded.errors
    return error


def definition_of(loaded: LoadedAgents) -> Definition:
    (agent,) = loaded.agents
    return agent.definition


@pytest.mark.requirement("H8", "C46")
def test_front_matter_and_body_become_an_agent_with_one_skill_that_takes_a_task() -> None:
    loaded = load(
        "name: research-specialist\n"
        "description: Finds things out. Use it for questions. Returns a report.\n"
        "tools: Read, Grep, Bash(make:*, pytest:*)\n"
        "model: sonnet\n"
        "permissionMode: plan\n"
        "maxTurns: 12\n"
        "skills: pdf, csv\n"
        "memory: project\n"
        "effort: high"
    )
    assert loaded.findings == ()
    definition = definition_of(loaded)
    assert definition.name == "research_specialist"
    assert definition.aliases == ("research-specialist",)
    assert definition.tools == ("Read", "Grep", "Bash(make:*, pytest:*)")
    assert (definition.tier, definition.model) == ("medium", None)
    runner = definition.runner
    assert (runner.permission_mode, runner.max_turns, runner.skills) == ("plan", 12, ("pdf", "csv"))
    assert (runner.memory, runner.effort) == ("project", "high")
    assert definition.instructions == BODY.strip()
    assert [(skill.name, skill.instruction_field) for skill in definition.skills] == [("research_specialist", "task")]
    assert definition.skills[0].input_schema["required"] == ["task"]


@pytest.mark.parametrize(
    ("model", "tier", "kept"),
    [
        ("haiku", "small", None),
        ("opus", "large", None),
        ("inherit", None, None),
        ("vendor-model-1", None, "vendor-model-1"),
    ],
)
def test_a_model_is_a_tier_a_full_id_or_inherited(model: str, tier: str | None, kept: str | None) -> None:
    definition = definition_of(load(f"name: x\ndescription: y\nmodel: {model}"))
    assert (definition.tier, definition.model) == (tier, kept)


def test_tools_may_be_a_list_or_left_to_the_parent() -> None:
    assert definition_of(load("name: x\ndescription: y\ntools: [Read, Edit]")).tools == ("Read", "Edit")
    assert definition_of(load("name: x\ndescription: y\ntools:")).tools is None
    assert definition_of(load("name: x\ndescription: y")).tools is None


def test_words_of_other_runtimes_are_kept_in_extras_and_reported() -> None:
    loaded = load("name: x\ndescription: y\ncolor: red\nhooks:\n  PreToolUse: []\nmoddel: 3")
    assert definition_of(loaded).extras == {"color": "red", "hooks": {"PreToolUse": []}, "moddel": 3}
    unknown = [finding for finding in loaded.findings if finding.rule == "load/unknown-key"]
    assert [(finding.line, finding.column) for finding in unknown] == [(4, 1), (5, 1), (7, 1)]
    assert unknown[2].fix == "Did you mean 'model'?"


@pytest.mark.parametrize(
    ("front", "rule"),
    [
        ("maxTurn: 3", "load/unknown-limit"),
        ("blockedTools: Bash", "load/unknown-limit"),
        ("readOnly: true", "load/unknown-limit"),
        ("maxTurns: 0", "load/value"),
        ("permissionMode: yolo", "load/value"),
        ("disallowedTools: Raed(.env)", "load/denies-nothing"),
        ("disallowedTools: Read(~/.env)", "load/denies-nothing"),
        ("disallowedTools: 'Read(\".env\")'", "load/denies-nothing"),
    ],
)
def test_a_limit_that_would_not_hold_is_an_error(front: str, rule: str) -> None:
    loaded = load(f"name: x\ndescription: y\n{front}")
    assert loaded.agents == ()
    assert [finding.rule for finding in loaded.errors] == [rule]


@pytest.mark.parametrize("key", ["tool", "allowedTools", "allowed-tools"])
def test_other_programs_keys_for_tools_limit_them_here_too(key: str) -> None:
    loaded = load(f"name: x\ndescription: y\n{key}: Read")
    assert definition_of(loaded).tools == ("Read",)
    assert [finding.rule for finding in loaded.findings if finding.severity == "warning"] == ["load/other-key"]


def test_skills_declared_as_objects_replace_the_generic_one() -> None:
    front = "name: x\ndescription: y\nskills:\n- name: a-b\n  description: z\n  inputSchema: {type: object}"
    assert [skill.name for skill in definition_of(load(front)).skills] == ["a_b"]


def skills_used(body: str) -> dict[str, str]:
    """The skills of an agent with this body when it is used, with their descriptions."""
    used = with_operations(definition_of(load("name: x\ndescription: y", BODY + body)))
    assert (used.default_skill, used.skills[0].name) == (used.skills[0], "x")
    return {skill.name: skill.description for skill in used.skills[1:]}


@pytest.mark.parametrize(
    ("body", "skills"),
    [
        ("## Operations\n\n### `full-survey`\n\nSurveys all. Slow.\n\n### lookup-one\n- finds one",
         {"full_survey": "Surveys all", "lookup_one": "finds one"}),
        ("## Operations\n\n### `full-survey`\n\nSurveys all. Slow.\n", {"full_survey": "Surveys all"}),
        ("## Supported operations\n\n- **`full-survey`**: surveys all\n", {"full_survey": "surveys all"}),
        ("**Operation:** {full-survey | lookup}\n", {"full_survey": "Operation `full-survey`.",
                                                     "lookup": "Operation `lookup`."}),
        ("**Agent:** other\n**Operation:** {full-survey | lookup}\n", {}),
        ("**Agent:** x\n**Operation:** {full-survey | look}\n", {"full_survey": "Operation `full-survey`.",
                                                                "look": "Operation `look`."}),
        ("## Error types\n\n### `missing_data`\n\nA file is gone.\n", {}),
        ("## Operations\n\n1. analyze_everything\n2. frobnicate\n", {}),
        ("## Operations\n\n### `x`\n\n### `X`\n\n### `1st`\n", {}),
    ],
)  # fmt: skip
def test_operations_that_the_body_lists_are_skills_when_the_agent_is_used(body: str, skills: dict[str, str]) -> None:
    assert skills_used(f"\n{body}") == skills


def test_an_operation_needs_no_words_and_the_file_itself_keeps_its_one_skill() -> None:
    definition = definition_of(load("name: x\ndescription: y", BODY + "\n## Operations\n\n### `full-survey`\n"))
    assert [skill.name for skill in definition.skills] == ["x"]
    used = with_operations(definition)
    assert used.skills[0] == definition.skills[0]
    assert "required" not in used.skills[1].input_schema
    assert with_operations(used) == used


def test_no_more_than_a_hundred_operations_are_skills() -> None:
    body = "\n## Operations\n\n" + "".join(f"### `do-{number}`\n" for number in range(200))
    assert len(skills_used(body)) == 100


def test_the_file_name_is_a_name_of_the_agent_too() -> None:
    definition = definition_of(load("name: scholar\ndescription: y", file=".claude/agents/research-specialist.md"))
    assert definition.wire_names == {"task_signal": "research-specialist"}
    definition = definition_of(load("name: scholar_v2\ndescription: y", file=".claude/agents/scholar-v2.md"))
    assert definition.wire_names == {}


@pytest.mark.parametrize(
    ("front", "line", "column", "part"),
    [
        ("name: x\nname: y", 3, 1, "twice"),
        ("name: x\ndescription: Use it so: always\nuser: hi", 3, 23, "`description` holds a colon"),
        ("name: x\n  description: y", 3, 14, "mapping values"),
        ("name: &a x\ndescription: *a", 2, 7, "anchor"),
        ("name: x\ndescription: *a", 3, 14, "alias"),
        ("name: !!python/object/apply:os.system [ls]", 2, 7, "tag"),
        ("name: ! x", 2, 7, "tag"),
        ("%YAML 1.1", 2, 10, "breaks off"),
        ("? [a]\n: 1", 2, 3, "where a key belongs"),
        ("name: {{NAME}}", 2, 8, "where a key belongs"),
        ("1: x", 2, 1, "key is not text"),
        ("a: .nan", 2, 4, "not a finite number"),
        ("a: 1e999", 2, 4, "too large"),
        ('a: "\\ud800"', 2, 4, "surrogate"),
        ("a: " + "[" * 21 + "]" * 21, 2, 23, "levels"),
        ("a: [", 2, 5, "breaks off"),
        ("a: \x07", 2, 4, "U+0007"),
        ("", 2, 1, "empty"),
        ("  \n", 2, 1, "empty"),
    ],
)
def test_what_strict_yaml_refuses_is_found_with_its_place(front: str, line: int, column: int, part: str) -> None:
    error = only_error(load(front))
    assert part in error.message
    assert (error.line, error.column) == (line, column)
    assert error.fix


def test_a_colon_in_a_description_gets_the_hint_that_helps() -> None:
    front = "name: x\ndescription: Examples: <example>\nuser: hi\n</example>"
    assert "`description: |`" in only_error(load(front)).fix


def test_a_front_matter_that_is_no_object_is_refused() -> None:
    assert "object" in only_error(load("- a\n- b")).message
    assert "object" in only_error(load("# only a comment")).message


@pytest.mark.parametrize("key", ["handler", "module", "entrypoint", "import", "python"])
def test_front_matter_never_names_code(key: str) -> None:
    error = only_error(load(f"name: x\ndescription: y\n{key}: os.system"))
    assert (error.rule, error.line) == ("load/names-code", 4)


@pytest.mark.parametrize("key", ["name", "description"])
def test_name_and_description_are_owed(key: str) -> None:
    front = "\n".join(line for line in ("name: x", "description: y") if not line.startswith(key))
    assert f"`{key}` is missing" in only_error(load(front)).message


def test_a_version_that_yaml_reads_as_a_number_gets_the_hint() -> None:
    assert "quotes" in only_error(load("name: x\ndescription: y\nversion: 1.0")).fix


@pytest.mark.parametrize(
    ("data", "part"),
    [
        (b"", "empty"),
        (b"   \n\n", "empty"),
        (b"Just prose.\n", "no front matter"),
        (b"\n---\nname: x\n---\n", "no front matter"),
        (b"---\nname: x\n", "has no end"),
        (b"---", "has no end"),
        (b"---\nname: caf\xe9\n---\n", "0xe9 is not UTF-8 on line 2, column 10"),
        (b"---\nname: a\0b\n---\n", "NUL stands on line 2, column 8"),
        ("---\nname: x\n---\n".encode("utf-16"), "UTF-16"),
        (b"---\n" + b"a: b\n" * 2_000_000, "are allowed"),
        (b"---\ndescription: " + b"x" * (MAX_LENGTH + 1) + b"\n---\n", "are allowed"),
    ],
)
def test_a_broken_file_is_one_finding(data: bytes, part: str) -> None:
    error = only_error(load_markdown(data, file="x.md"))
    assert part in error.message
    assert error.line is not None
    assert error.fix


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
def test_a_byte_order_mark_and_any_line_ends_do_no_harm(end: str) -> None:
    text = end.join(["---", "name: x", "description: y", "flavour: z", "---  ", "You are x.", ""])
    loaded = load_markdown(b"\xef\xbb\xbf" + text.encode(), file="x.md")
    assert definition_of(loaded).instructions == "You are x."
    assert loaded.findings[0].line == 4


def test_an_empty_body_is_warned_about() -> None:
    loaded = load("name: x\ndescription: y", "")
    assert definition_of(loaded).instructions is None
    assert [(finding.rule, finding.severity) for finding in loaded.findings] == [("load/no-instructions", "warning")]


def test_a_prompted_agent_without_a_model_answers_with_a_fault_and_never_pretends() -> None:
    (agent,) = load("name: x\ndescription: y").agents

    async def answer() -> Reply:
        return await agent.run(
            Task(id="t", agent="x", skill="x", parameters={"task": "do it"}), cast("RunContext", None)
        )

    reply = asyncio.run(answer())
    assert reply.outcome == "error"
    assert reply.fault is not None
    assert (reply.fault.code, reply.fault.retryable) == ("unavailable", False)
    assert "models.default" in reply.fault.hint


# YAML


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("NO", "NO"), ("yes", "yes"), ("on", "on"), ("true", True), ("False", False), ("~", None), ("null", None),
        ("1", 1), ("-3", -3), ("017", 17), ("0o17", 15), ("0x1F", 31), ("1_000", "1_000"), ("12:30:45", "12:30:45"),
        ("2024-01-01", "2024-01-01"), ("1e3", 1000.0), (".5", 0.5), ("1.", 1.0), ("'1'", "1"), ("=", "="), ("<<", "<<"),
        ("|\n a\n b", "a\nb"), ("[a, 1]", ["a", 1]), ("{a: {b: null}}", {"a": {"b": None}}), ("9" * 400, "9" * 400),
        ('"\\u00e9"', "é"),
    ],
)  # fmt: skip
def test_scalars_are_read_by_the_core_schema_of_yaml_1_2(text: str, value: object) -> None:
    assert read_yaml(text)[0] == value


def test_a_directive_is_refused_and_does_not_outlive_its_text() -> None:
    with pytest.raises(ParseError, match="directive"):
        read_yaml("%YAML 1.1\n---\na: NO")
    with pytest.raises(ParseError, match="directive"):
        read_yaml("%TAG ! tag:x,2000:\n---\na: 1")
    assert read_yaml("a: NO")[0] == {"a": "NO"}


def test_a_second_document_is_refused() -> None:
    with pytest.raises(ParseError, match="second document"):
        read_yaml("a\n---\nb")


def test_an_empty_text_is_null() -> None:
    assert read_yaml("")[0] is None
    assert read_yaml("# nothing")[0] is None


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(min_value=-(10**300), max_value=10**300)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff\ufffe\uffff")),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abcXYZ_-", max_size=6), inner, max_size=4),
    max_leaves=12,
)


@given(JSON)
def test_yaml_reads_back_what_json_writes(value: object) -> None:
    """JSON is YAML 1.2."""
    read, places = read_yaml(json.dumps(value), first_line=7)
    assert read == value
    assert all(line >= 7 and column >= 1 for line, column in places.values())


TEXT = st.text(st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufeff"), min_size=1).filter(
    str.strip
)


@given(
    description=TEXT,
    tools=st.lists(st.from_regex(r"[A-Za-z]{1,8}", fullmatch=True)),
    turns=st.integers(min_value=1, max_value=10**6),
    extra=JSON,
)
def test_what_a_definition_says_survives_the_front_matter(
    description: str, tools: list[str], turns: int, extra: object
) -> None:
    facts = {"name": "an-agent", "description": description, "tools": tools, "maxTurns": turns, "myOwn": extra}
    definition = definition_of(load("\n".join(f"{key}: {json.dumps(value)}" for key, value in facts.items())))
    assert definition.description == description.strip()
    assert definition.tools == tuple(tools)
    assert definition.runner.max_turns == turns
    assert definition.extras == ({} if extra is None else {"myOwn": extra})


def refusal_of(text: str) -> ParseError | None:
    try:
        read_yaml(text)
    except ParseError as error:
        return error
    return None


@given(st.text(max_size=300))
def test_arbitrary_yaml_is_read_or_refused_with_a_place(text: str) -> None:
    refused = refusal_of(text)
    assert refused is None or (refused.detail["line"] >= 1 and refused.detail["column"] >= 1)


@given(st.text("abc:-[]{}?!&*|>'\"%@` \n\t#,\\xuU0123", max_size=60))
def test_arbitrary_punctuation_is_read_or_refused(text: str) -> None:
    refused = refusal_of(text)
    assert refused is None or refused.hint


@given(st.binary(max_size=200) | st.binary(max_size=200).map(lambda data: b"---\n" + data + b"\n---\n" + data))
def test_arbitrary_bytes_are_findings_never_an_exception(data: bytes) -> None:
    loaded = load_markdown(data, file="x.md")
    assert bool(loaded.agents) != bool(loaded.errors)


# Behaviours


@pytest.mark.requirement("H8")
def test_a_behaviour_has_role_steps_output_format_and_quality() -> None:
    behaviour = read_behaviour(BODY)
    assert behaviour.role == "You are a research specialist."
    assert behaviour.steps == ("STEP 1: Read the topic.", "STEP 2: Search the code.")
    assert behaviour.output_format == "One JSON object."
    assert behaviour.quality == "- Every claim has a source."
    assert behaviour.missing == ()


@pytest.mark.requirement("H8")
def test_numbered_lines_of_a_process_are_steps_and_a_role_may_have_a_heading() -> None:
    behaviour = read_behaviour("# Role\n\nLibrarian.\n\n# Workflow\n\n1. Look.\n2) Tell.\n\n# Returns\n")
    assert behaviour.role == "Librarian."
    assert behaviour.steps == ("Look.", "Tell.")
    assert behaviour.output_format == "Returns"
    assert behaviour.missing == ("quality",)


@pytest.mark.requirement("H8")
def test_a_line_with_a_colon_or_all_bold_heads_a_section() -> None:
    text = "You are a reviewer.\n\nWhen invoked:\n1. Read.\n2. Judge.\n\n**Output**\nA list.\n\nReview checklist:\n- Kind.\n"
    behaviour = read_behaviour(text)
    assert behaviour.missing == ()
    assert behaviour.steps == ("Read.", "Judge.")
    assert (behaviour.output_format, behaviour.quality) == ("A list.", "- Kind.")


def test_a_sentence_that_ends_with_a_colon_heads_nothing() -> None:
    text = "You are a reviewer. Think of quality, always:\n- Kind.\n\n1. Alone."
    assert read_behaviour(text).missing == ("steps", "output format", "quality")


@pytest.mark.requirement("H8")
def test_what_a_behaviour_leaves_out_is_told() -> None:
    loaded = load("name: x\ndescription: y", "Do it well.")
    (finding,) = loaded.findings
    assert (finding.rule, finding.severity) == ("load/thin-behaviour", "info")
    assert "about role, steps, output format or quality" in finding.message


@given(st.text(max_size=300))
def test_any_text_has_an_outline(text: str) -> None:
    behaviour = read_behaviour(text)
    assert set(behaviour.missing) <= {"role", "steps", "output format", "quality"}
