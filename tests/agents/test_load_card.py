"""Agent cards: A2A 1.0 and 0.3, as agents that run elsewhere."""

import asyncio
import json
from typing import Any

import pytest
from hypothesis import given, strategies as st

from retinue.agents.load.a2a_card import load_a2a_card
from retinue.agents.load.kinds import kind_of
from retinue.agents.load.loaded_agents import RUNS_ELSEWHERE, LoadedAgents
from retinue.contract.definition import TASK_SCHEMA, Definition, Deprecation
from retinue.contract.json import JsonObject
from retinue.contract.task import Task
from retinue.dialects.a2a import EXTENSION
from retinue.dialects.a2a.card import card_version, upgrade_card
from tests.contract.nouns import json_values

CARD: dict[str, Any] = {
    "name": "Recipe Agent",
    "description": "Finds recipes. Use it when somebody is hungry.",
    "version": "1.2.0",
    "supportedInterfaces": [
        {"url": "https://cook.example/a2a", "protocolBinding": "JSONRPC", "protocolVersion": "1.0"}
    ],
    "capabilities": {"streaming": True},
    "defaultInputModes": ["text/plain"],
    "defaultOutputModes": ["text/plain", "application/json"],
    "provider": {"organization": "Cooks", "url": "https://cook.example"},
    "skills": [
        {
            "id": "find-recipe",
            "name": "Find a recipe",
            "description": "Finds a recipe by what is in the fridge.",
            "tags": ["food"],
            "examples": ["what can I do with eggs?"],
            "inputModes": ["text/plain"],
        },
        {"id": "rate", "name": "rate", "description": "Rates a recipe.", "tags": ["food", "rating"]},
    ],
}

OLD: dict[str, Any] = {
    **{key: value for key, value in CARD.items() if key != "supportedInterfaces"},
    "protocolVersion": "0.3.0",
    "url": "https://cook.example/a2a",
    "preferredTransport": "HTTP+JSON",
    "additionalInterfaces": [
        {"url": "https://cook.example/a2a", "transport": "HTTP+JSON"},
        {"url": "https://cook.example/grpc", "transport": "GRPC"},
    ],
    "supportsAuthenticatedExtendedCard": True,
    "securitySchemes": {
        "key": {"type": "apiKey", "in": "header", "name": "X-Key"},
        "token": {"type": "http", "scheme": "bearer"},
        "odd": {"type": "magic"},
    },
    "security": [{"key": []}, {"token": ["read"]}],
}


def load(card: object) -> LoadedAgents:
    return load_a2a_card(json.dumps(card).encode(), file="card.json")


def definition_of(loaded: LoadedAgents) -> Definition:
    (agent,) = loaded.agents
    return agent.definition


@pytest.mark.parametrize("protocol", ["0.3.0", "1.0"])
def test_a_card_for_clients_of_both_protocols_is_read_without_remarks(protocol: str) -> None:
    old = {key: OLD[key] for key in ("url", "preferredTransport", "additionalInterfaces")}
    loaded = load({**CARD, **old, "protocolVersion": protocol})
    assert (loaded.findings, definition_of(loaded).version) == ((), "1.2.0")


@pytest.mark.requirement("C28")
def test_a_card_of_today_becomes_an_agent_that_runs_elsewhere() -> None:
    loaded = load(CARD)
    assert loaded.findings == ()
    definition = definition_of(loaded)
    assert (definition.name, definition.aliases, definition.version) == ("recipe_agent", ("Recipe Agent",), "1.2.0")
    assert definition.tags == ("food", "rating")
    find, rate = definition.skills
    assert (find.name, find.examples) == ("find_recipe", ("what can I do with eggs?",))
    assert find.input_schema == rate.input_schema == TASK_SCHEMA
    assert {find.unavailable, rate.unavailable} == {RUNS_ELSEWHERE}
    assert definition.extras == {
        "/skills/0/id": "find-recipe",
        "/skills/0/name": "Find a recipe",
        "/skills/0/tags": ["food"],
        "/skills/0/inputModes": ["text/plain"],
        **{key: CARD[key] for key in ("supportedInterfaces", "capabilities", "provider")},
        **{key: CARD[key] for key in ("defaultInputModes", "defaultOutputModes")},
    }


@pytest.mark.requirement("C28")
def test_a_card_of_yesterday_is_read_in_the_words_of_today() -> None:
    definition = definition_of(load(OLD))
    assert definition.extras["supportedInterfaces"] == [
        {"url": "https://cook.example/a2a", "protocolBinding": "HTTP+JSON", "protocolVersion": "0.3"},
        {"url": "https://cook.example/grpc", "protocolBinding": "GRPC", "protocolVersion": "0.3"},
    ]
    assert definition.extras["capabilities"] == {"streaming": True, "extendedAgentCard": True}
    assert definition.extras["securitySchemes"] == {
        "key": {"apiKeySecurityScheme": {"location": "header", "name": "X-Key"}},
        "token": {"httpAuthSecurityScheme": {"scheme": "bearer"}},
        "odd": {"type": "magic"},
    }
    assert definition.extras["securityRequirements"] == [
        {"schemes": {"key": {"list": []}}},
        {"schemes": {"token": {"list": ["read"]}}},
    ]


@given(st.dictionaries(st.sampled_from([*OLD, "x"]), json_values))
def test_any_old_card_is_upgraded_and_left_as_it_was(card: JsonObject) -> None:
    before = json.dumps(card)
    new = upgrade_card(card)
    assert isinstance(new["supportedInterfaces"], list)
    assert json.dumps(card) == before


@pytest.mark.parametrize(
    ("card", "version"),
    [
        (CARD, "1.0"),
        (OLD, "0.3"),
        ({"skills": [], "url": "x", "capabilities": {}}, "0.3"),
        ({"skills": [], "url": "x"}, None),
        ({"capabilities": []}, None),
        ([CARD], None),
        (3, None),
    ],
)
def test_a_card_is_recognised_by_what_it_must_have(card: Any, version: str | None) -> None:
    assert card_version(card) == version
    assert kind_of("x.json", json.dumps(card).encode()) != "markdown"


def test_our_extension_says_what_a_card_cannot() -> None:
    takes = {"type": "object", "properties": {"eggs": {"type": "integer"}}, "required": ["eggs"]}
    more = {
        "aliases": ["cook"],
        "category": "kitchen",
        "model": "haiku",
        "composes": True,
        "deprecated": {"use": "chef"},
        "skills": {"find_recipe": {"input_schema": takes, "effects": ["read"], "odd": 1}, "gone": {}},
        "odd": 2,
    }
    extension = {"uri": EXTENSION, "params": more}
    other: dict[str, Any] = {"uri": "urn:other", "params": {}}
    loaded = load({**CARD, "capabilities": {"extensions": [other, extension]}})
    definition = definition_of(loaded)
    assert definition.aliases == ("cook", "Recipe Agent")
    assert (definition.category, definition.tier, definition.composes) == ("kitchen", "small", True)
    assert definition.deprecated == Deprecation(use="chef")
    assert (definition.skills[0].input_schema, definition.skills[0].effects) == (takes, ("read",))
    assert definition.extras["capabilities"] == {"extensions": [other]}
    assert definition.extras["/capabilities/extensions/1/params/odd"] == 2
    assert definition.extras["/capabilities/extensions/1/params/skills/find_recipe/odd"] == 1
    assert {finding.rule for finding in loaded.findings} == {"load/unknown-key"}


def test_what_a_card_must_have_and_can_do_without_is_a_warning() -> None:
    loaded = load({"name": "x", "description": "y", "skills": [{"name": "Do It", "description": "z"}]})
    assert definition_of(loaded).skills[0].name == "do_it"
    assert [finding.message for finding in loaded.findings if finding.severity == "warning"] == [
        "`version` is missing.",
        "`supportedInterfaces` is missing.",
        "`capabilities` is missing.",
        "`defaultInputModes` is missing.",
        "`defaultOutputModes` is missing.",
        "`id` is missing.",
        "`tags` is missing.",
    ]


def test_a_card_without_skills_takes_a_task() -> None:
    loaded = load({**CARD, "skills": []})
    assert [skill.name for skill in definition_of(loaded).skills] == ["recipe_agent"]
    assert [finding.rule for finding in loaded.findings] == ["load/no-skill"]


def test_a_skill_whose_id_is_no_name_is_called_by_its_name_or_place() -> None:
    skills: list[dict[str, Any]] = [
        {"id": "3f2a", "name": "find", "description": "x", "tags": []},
        {"id": "42", "name": "レシピ", "description": "x", "tags": []},
    ]
    definition = definition_of(load({**CARD, "skills": skills}))
    assert [skill.name for skill in definition.skills] == ["find", "skill_2"]
    assert (definition.extras["/skills/0/id"], definition.extras["/skills/1/id"]) == ("3f2a", "42")


CHANGES: list[tuple[dict[str, Any], str | None]] = [
    ({"name": None}, ""),
    ({"name": "!"}, "/name"),
    ({"description": ""}, ""),
    ({"skills": "x"}, "/skills"),
    ({"skills": [{"id": "a", "name": "a", "tags": []}]}, "/skills/0"),
    ({"skills": [{"id": "a", "name": "a", "description": "x", "tags": "y"}]}, None),
    ({"skills": [{"id": "a", "name": "a", "description": "x", "tags": [3]}]}, "/skills/0/tags"),
    ({"handler": "os.system"}, "/handler"),
]


@pytest.mark.parametrize(("change", "path"), CHANGES)
def test_a_broken_card_gives_no_agent(change: dict[str, Any], path: str | None) -> None:
    loaded = load({**CARD, **change})
    assert path is None or path in [finding.path for finding in loaded.errors]
    assert bool(loaded.agents) == (path is None)


@pytest.mark.parametrize("data", [b"", b"[]", b"3", b"{", b'{"a": NaN}', b'{"a": 1, "a": 2}', b"[" * 100_000])
def test_what_is_no_card_is_said_to_be_none(data: bytes) -> None:
    loaded = load_a2a_card(data, file="card.json")
    assert loaded.agents == ()
    assert loaded.errors


def test_an_agent_known_by_its_card_says_that_it_runs_elsewhere() -> None:
    (agent,) = load(CARD).agents

    async def ask() -> str | None:
        nobody: Any = None
        reply = await agent.run(Task(id="t", agent="recipe_agent"), nobody)
        assert reply.fault is not None
        return reply.fault.code

    assert asyncio.run(ask()) == "unavailable"


@given(st.dictionaries(st.sampled_from([*CARD, "url", "x"]), json_values))
def test_any_object_gives_an_agent_or_an_error(card: JsonObject) -> None:
    loaded = load({**CARD, **card})
    assert bool(loaded.agents) != bool(loaded.errors)
