"""Definitions as files: each format says what it can, reads back as it was, and names what it cannot say."""

import json
from typing import Any

import pytest
from hypothesis import given, note, settings, strategies as st

from retinue import catalogue
from retinue.agents.grants import MODES
from retinue.agents.load.kinds import kind_of, load
from retinue.agents.load.loaded_agents import NEEDS_MODEL
from retinue.agents.load.yaml import read_yaml
from retinue.agents.write import FORMATS, Format, WrittenDefinition, format_of_file, write
from retinue.agents.write.yaml import write_yaml
from retinue.contract.definition import TASK_SCHEMA, Definition, Deprecation, Runner, Skill, ThinkingBounds
from retinue.contract.json import JsonObject
from retinue.errors import InvalidInput
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses
from tests.examples import examples

SCHEMAS: list[JsonObject] = [
    TASK_SCHEMA,
    {"type": "object"},
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]},
    {"type": "object", "properties": {"query": {"type": "string", "default": None}}},
]
said = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Any definition whose description says something and whose schemas are some."""
    drawn: Any = draw(values_of(Definition))
    named = {skill.name: skill for skill in drawn.skills}
    skills = tuple(
        Skill.model_validate(
            {
                **dict(skill),
                "description": draw(said),
                "input_schema": draw(st.sampled_from(SCHEMAS)),
                "output_schema": draw(st.none() | st.sampled_from(SCHEMAS)),
            }
        )
        for skill in named.values()
    )
    runner = drawn.runner.model_copy(
        update={
            "permission_mode": draw(st.none() | st.sampled_from(MODES)),
            "max_turns": draw(st.none() | st.integers(min_value=1, max_value=1_000)),
        }
    )
    whole = {**dict(drawn), "description": draw(said), "skills": skills, "runner": runner}
    return Definition.model_validate(whole)


def read(written: WrittenDefinition, form: Format) -> Definition:
    loaded = load(written.text.encode(), file=written.file, kind=form)
    (agent,) = loaded.agents
    return agent.definition


def placeless(definition: Definition) -> Definition:
    """The definition without the places where it was said."""
    value = definition.model_dump(exclude={"source": True})
    for skill in value["skills"]:
        for sample in skill["samples"]:
            sample["source"] = None
    return Definition.model_validate(value)


@pytest.mark.slow
@pytest.mark.requirement("C46")
@settings(max_examples=examples(40))
@given(definition=definitions())
def test_what_is_written_reads_back_but_for_what_the_report_names(definition: Definition) -> None:
    for form in FORMATS:
        note(form)
        written = write(definition, form)
        once = read(written, form)
        assert_exact_losses(placeless(definition), placeless(once), written.losses)
        assert all(loss.why for loss in written.losses)
        again = write(once, form)
        assert [loss.field for loss in again.losses] == []
        assert placeless(read(again, form)) == placeless(once)


AGENT = Definition(
    name="research_specialist",
    version="2.1",
    description="Finds things out.\nUse it for questions: any of them. # not a comment",
    aliases=("finder", "research-specialist"),
    category="analysis",
    tags=("web", "code"),
    tier="medium",
    tools=("Read", "Grep", "Bash(git log:*, git diff:*)"),
    instructions="You are a specialist.\n\n---\n\nSTEP 1: Read.",
    runner=Runner(max_turns=12, permission_mode="plan", skills=("pdf",), memory="project"),
    deprecated=Deprecation(since="2.0", use="deep_finder"),
    extras={"color": "blue", "hooks": {"stop": [1, 2.5, None, True]}},
    skills=(
        Skill(
            name="research_specialist",
            description="Finds things out.\nUse it for questions: any of them. # not a comment",
            input_schema=TASK_SCHEMA,
            instruction_field="task",
            unavailable=NEEDS_MODEL,
            thinks="must",
        ),
    ),
)


@pytest.mark.requirement("H8")
def test_an_agent_as_markdown_is_what_people_write() -> None:
    written = write(AGENT, "markdown")
    assert written.file == "research-specialist-v2.md"
    assert written.losses == ()
    assert written.text == (
        "---\n"
        "name: research-specialist\n"
        "description: |-\n"
        "  Finds things out.\n"
        "  Use it for questions: any of them. # not a comment\n"
        'version: "2.1"\n'
        "aliases:\n"
        "  - finder\n"
        "category: analysis\n"
        "tags:\n"
        "  - web\n"
        "  - code\n"
        "model: sonnet\n"
        "tools: Read, Grep, Bash(git log:*, git diff:*)\n"
        "deprecated:\n"
        '  since: "2.0"\n'
        "  use: deep_finder\n"
        "maxTurns: 12\n"
        "permissionMode: plan\n"
        "skills:\n"
        "  - pdf\n"
        "memory: project\n"
        "color: blue\n"
        "hooks:\n"
        "  stop:\n"
        "    - 1\n"
        "    - 2.5\n"
        "    - null\n"
        "    - true\n"
        "---\n"
        "\n"
        "You are a specialist.\n\n---\n\nSTEP 1: Read.\n"
    )


def test_our_own_json_loses_nothing() -> None:
    written = write(AGENT, "json")
    assert (written.file, written.losses) == ("research-specialist-v2.json", ())
    assert json.loads(written.text)["instructions"] == AGENT.instructions


@pytest.mark.requirement("C46")
def test_a_skill_has_six_keys_and_no_more() -> None:
    written = write(AGENT, "skill")
    assert written.file == "research-specialist/SKILL.md"
    front, _ = read_yaml(written.text.split("---\n")[1])
    assert front == {
        "name": "research-specialist",
        "description": AGENT.description,
        "allowed-tools": "Read Grep Bash(git log:*, git diff:*)",
        "metadata": {
            "version": "2.1",
            "category": "analysis",
            "tags": "web, code",
            "aliases": "finder, research-specialist",
            "tier": "medium",
        },
    }
    assert [loss.field for loss in written.losses] == [
        "/runner/max_turns",
        "/runner/permission_mode",
        "/runner/skills",
        "/runner/memory",
        "/deprecated",
        "/extras/color",
        "/extras/hooks",
    ]


@pytest.mark.requirement("A4", "C11", "C34")
def test_a_tool_has_exactly_three_keys() -> None:
    written = write(AGENT, "tool_use")
    tool = json.loads(written.text)
    assert list(tool) == ["name", "description", "input_schema"]
    assert tool["name"] == "research_specialist_v2"
    assert "/instructions" in [loss.field for loss in written.losses]


@pytest.mark.requirement("C28", "P5")
def test_a_card_of_spec_004_advertises_every_skill() -> None:
    written = write(AGENT, "agent_json", url="https://agents.example/")
    (capability,) = json.loads(written.text)["capabilities"]
    assert capability["endpoint"].startswith("https://agents.example/agents/analysis/research-specialist/")
    assert written.file == "research-specialist-v2.agent.json"


@pytest.mark.requirement("C28")
def test_an_a2a_card_has_what_the_protocol_wants_and_nothing_private() -> None:
    written = write(AGENT, "a2a", url="https://agents.example/a2a")
    card = json.loads(written.text)
    assert written.file == "research-specialist-v2.agent-card.json"
    assert card["supportedInterfaces"] == [
        {"url": "https://agents.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ]
    assert {"name", "description", "version", "capabilities", "defaultInputModes", "defaultOutputModes"} <= set(card)
    assert card["skills"] == [
        {
            "id": "research_specialist",
            "name": "research_specialist",
            "description": AGENT.description,
            "tags": ["web", "code"],
        }
    ]
    assert "STEP 1" not in written.text
    assert "Grep" not in written.text
    lost = {loss.field: loss.why for loss in written.losses}
    assert {"/instructions", "/tools", "/runner/memory", "/extras/color"} <= set(lost)
    assert "for everybody" in lost["/instructions"]


def test_a_card_that_was_read_is_written_with_all_it_said() -> None:
    card = {
        "name": "Recipe Agent",
        "description": "Finds recipes.",
        "version": "1.2.0",
        "supportedInterfaces": [{"url": "https://x.example", "protocolBinding": "GRPC", "protocolVersion": "1.0"}],
        "capabilities": {"streaming": True, "extensions": [{"uri": "urn:x"}]},
        "defaultInputModes": ["text/plain"],
        "defaultOutputModes": ["text/plain"],
        "skills": [
            {"id": "find-recipe", "name": "Find", "description": "x", "tags": ["a"], "examples": ["pie"]},
            {"id": "rate", "name": "rate", "description": "y", "tags": ["b"], "inputModes": ["text/plain"]},
        ],
        "provider": {"organization": "Cooks", "url": "https://x.example"},
    }
    (agent,) = load(json.dumps(card).encode(), file="card.json", kind="a2a").agents
    written = write(agent.definition, "a2a")
    assert json.loads(written.text) == card
    assert written.losses == ()


def test_what_a_format_had_no_word_for_goes_back_to_its_place() -> None:
    text = (
        '{"name": "sky", "description": "Knows.", "runner": {"skills": ["pdf"], "mood": 1}, "color": "blue", "skills": ['
        '{"name": "now", "description": "x", "input_schema": {"type": "object"}, "icon": "sun"}]}'
    )
    (agent,) = load(text.encode(), file="sky.json", kind="json").agents
    assert agent.definition.extras == {"/runner/mood": 1, "/skills/0/icon": "sun", "color": "blue"}
    written = write(agent.definition, "json")
    assert written.losses == ()
    assert json.loads(written.text)["skills"][0]["icon"] == "sun"
    assert json.loads(written.text)["runner"] == {"skills": ["pdf"], "mood": 1}


def test_an_extra_that_would_be_read_as_something_else_is_a_loss() -> None:
    extras = {"Max-Turns": 3, "handler": "x", "a b": 1, "a-b": 2, "nothing": None, "/tags/0/x": 1, "/": 2}
    definition = AGENT.model_copy(update={"extras": extras})
    written = write(definition, "json")
    assert [loss.field for loss in written.losses] == [
        "/extras/Max-Turns",
        "/extras/handler",
        "/extras/a-b",
        "/extras/nothing",
    ]


def test_a_signature_of_a_card_is_not_kept() -> None:
    card = json.loads(write(AGENT, "a2a").text) | {"signatures": [{"protected": "x", "signature": "y"}]}
    (agent,) = load(json.dumps(card).encode(), file="card.json", kind="a2a").agents
    (loss,) = write(agent.definition, "a2a").losses
    assert (loss.field, "holds for the card" in loss.why) == ("/extras/signatures", True)


@pytest.mark.parametrize("form", ["markdown", "json"])
def test_the_ready_made_agents_lose_only_that_they_can_be_called(form: Format) -> None:
    for agent in catalogue.agents():
        written = write(agent.definition, form)
        assert all(loss.field.endswith("/unavailable") for loss in written.losses)


@pytest.mark.parametrize("form", ["markdown", "skill", "json", "a2a"])
def test_what_no_file_can_hold_is_refused_with_reasons(form: Format) -> None:
    skill = Skill(name="x", description="", input_schema={"type": "object"})
    blank = Definition(name="x", description=" ", skills=(skill,))
    with pytest.raises(InvalidInput, match="No text of this format can hold `x`") as caught:
        write(blank, form)
    assert caught.value.detail["findings"]


def test_half_of_a_surrogate_pair_is_refused() -> None:
    broken = AGENT.model_copy(update={"instructions": "\ud800"})
    with pytest.raises(InvalidInput, match="surrogate"):
        write(broken, "markdown")


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("SKILL.md", "skill"),
        ("x.md", "markdown"),
        ("x.json", "json"),
        ("agent.json", "agent_json"),
        ("x.agent-card.json", "a2a"),
        ("x.toml", None),
    ],
)
def test_the_name_of_a_file_says_its_format(name: str, form: Format | None) -> None:
    assert format_of_file(name) == form


@pytest.mark.parametrize("form", FORMATS)
def test_what_is_written_is_found_to_be_what_it_is(form: Format) -> None:
    written = write(AGENT, form)
    expected = "json" if form == "tool_use" else form
    assert kind_of(written.file, written.text.encode()) == expected


# YAML.


@given(st.dictionaries(st.text(st.characters(exclude_categories=["Cs"]), max_size=20), json_values, max_size=4))
def test_any_json_is_written_as_yaml_that_reads_back(value: JsonObject) -> None:
    read_back, _ = read_yaml(write_yaml(value)) if value else ({}, {})
    assert json.dumps(read_back) == json.dumps(value)


@pytest.mark.parametrize(
    "text",
    ["no", "Yes", "off", "null", "~", "1", "1e3", "0x10", "017", "1:30", "2024-01-01", "- x", "? x", "a: b", "a #b", "&x",
     "*x", "!x", "%x", "@x", "`x", "{x}", "[x]", "x:", " x", "x ", "", "'x'", '"x"', "a\tb", "\u2028", "\x85", "\ufeff"],
)  # fmt: skip
def test_what_yaml_could_misread_is_quoted(text: str) -> None:
    assert write_yaml({"key": text}).startswith('key: "')


@pytest.mark.parametrize("text", ["plain words, and more", "Bash(git log:*)", "it's (fine)", "a-b_c/d.e", "x?"])
def test_what_nobody_could_misread_stands_as_it_is(text: str) -> None:
    assert write_yaml({"key": text}) == f"key: {text}"


@pytest.mark.requirement("A17")
def test_whether_a_skill_thinks_is_kept_where_the_format_can_say_it_and_else_reported() -> None:
    skill = AGENT.skills[0].model_copy(
        update={"thinks": "can", "thinks_within": ThinkingBounds(requests=3, tokens_in=400)}
    )
    definition = AGENT.model_copy(update={"skills": (skill,)})
    for form in FORMATS:
        written = write(definition, form)
        lost = [loss.field for loss in written.losses if "thinks" in loss.field]
        back = read(written, form).skills[0]
        if form in {"json", "markdown", "a2a"}:
            assert (lost, back.thinks, back.thinks_within) == ([], "can", skill.thinks_within)
        else:
            assert lost == ["/skills/0/thinks", "/skills/0/thinks_within"], form
            assert back.thinks == ("never" if form == "agent_json" else "must")
