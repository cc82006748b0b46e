"""Spec 000, the first hour: the document's own definition, its hand-off, and three specialists under an orchestrator."""

import asyncio
import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import retinue as package
from tests.cli.shell import Terminal
from tests.llm.wire.script import Reply
from tests.llm.wire.server import WireServer
from tests.scenarios.conftest import Retinue, Write

GOAL = "Find latest Haiku 4.5 pricing, then calculate cost savings"

# Section 2.1, as it is printed.
RESEARCHER_ANALYST = """{
  "name": "researcher_analyst",
  "description": "Research and analyze information from web, docs, and memory. Use when user needs: data collection, fact verification, literature review, competitive analysis. Returns: structured findings with citations.",
  "input_schema": {
    "type": "object",
    "properties": {
      "task": {
        "type": "string",
        "description": "The research question or analysis objective. Be specific about what information is needed and why."
      },
      "sources": {
        "type": "array",
        "items": {
          "type": "string",
          "enum": ["web", "docs", "memory", "code"]
        },
        "description": "Which sources to search. Default: all available."
      },
      "depth": {
        "type": "string",
        "enum": ["quick_scan", "deep_dive", "comprehensive"],
        "description": "Research rigor level. quick_scan=5 min, deep_dive=15 min, comprehensive=30 min."
      },
      "output_format": {
        "type": "string",
        "enum": ["summary", "detailed_report", "bullet_points"],
        "description": "How to structure findings. Default: summary."
      }
    },
    "required": ["task", "depth"],
    "additionalProperties": false
  }
}
"""

# Section 3.1, as it is printed.
HANDOFF = """{
  "source_agent": "orchestrator",
  "target_agent": "researcher_analyst",
  "message_type": "task_delegation",
  "payload": {
    "task_id": "r_001",
    "instruction": "Find latest Haiku 4.5 pricing",
    "context_summary": "User asked about cost optimization. We need current API pricing to calculate savings.",
    "constraints": ["verified_sources_only", "max_2_minutes"],
    "required_output_format": "json_table"
  }
}
"""

# Section 3.2: what stands in it for a person (comments, `...`) is filled in.
ENVELOPE = """{
  "status": "success",
  "result": {"findings": [{"model": "Haiku 4.5", "usd": 1.0}], "citations": ["docs/pricing.md"]},
  "metadata": {
    "execution_time_ms": 1250,
    "tokens_used": 3200,
    "confidence": 0.95,
    "model_used": "claude-haiku-4-5"
  },
  "reasoning_log": "looked it up"
}
"""

PRICING = (
    "# Pricing\n\nHaiku 4.5 costs $1.00 per million input tokens.\n\n| Haiku 4.5 | $1.00 |\n| Sonnet 4.5 | $3.00 |\n"
)

# Section 1: Researcher, Engineer and Analyst of the author's own, which need no model.
TEAM = '''
from typing import Any, Literal

from pydantic import BaseModel

import retinue


class Findings(BaseModel):
    findings: list[dict[str, Any]]
    citations: list[str]


class Savings(BaseModel):
    cheapest: str
    saved_usd_per_million: float


@retinue.agent
async def researcher(task: str, run: retinue.RunContext, depth: Literal["quick_scan", "deep_dive"] = "quick_scan") -> Findings:
    """Finds the current pricing of models in the documents. Use when a price is wanted. Returns findings with citations."""
    text = run.workspace.read_text("docs/pricing.md")
    rows = [line.split("|") for line in text.splitlines() if line.startswith("|")]
    found = [{"model": row[1].strip(), "usd": float(row[2].strip().lstrip("$"))} for row in rows]
    return Findings(findings=found, citations=["docs/pricing.md"])


@retinue.agent
async def analyst(question: str, request: retinue.Task) -> Savings:
    """Calculates cost savings. Use when prices are to be compared. Returns the cheapest model and what it saves."""
    prices = [one for handed in request.context.inputs.values() for one in handed["data"]["findings"]]
    low, high = min(prices, key=lambda one: one["usd"]), max(prices, key=lambda one: one["usd"])
    return Savings(cheapest=low["model"], saved_usd_per_million=high["usd"] - low["usd"])


@retinue.agent
async def engineer(task: str) -> str:
    """Implements features and fixes bugs in source code. Use when code is to be written. Returns the change."""
    return task


@retinue.agent
async def greet(name: str, times: int = 1) -> dict[str, str]:
    """Greets somebody by name. Use when a greeting is due. Returns the greeting."""
    return {"greeting": " ".join([f"Hello, {name}!"] * times)}
'''


@pytest.fixture
def team(retinue: Retinue, write: Write) -> Retinue:
    """The author's repository, with the three specialists in it and trusted."""
    write(".retinue/agents/team.py", TEAM)
    write("docs/pricing.md", PRICING)
    assert retinue("trust", "--yes").code == 0
    return retinue


# The document's definition.


@pytest.mark.requirement("A4", "A5", "C10")
def test_the_printed_definition_loads_under_its_own_name_and_the_built_in_agent_steps_aside(
    retinue: Retinue, write: Write
) -> None:
    write(".retinue/agents/researcher_analyst.json", RESEARCHER_ANALYST)
    write("docs/pricing.md", PRICING)
    listed = retinue("agents", "--json").data
    mine = {agent["name"]: agent.get("source", {}).get("file") for agent in listed["agents"]}
    assert mine["researcher_analyst"] == ".retinue/agents/researcher_analyst.json"
    assert listed["skipped"] == []
    shown = retinue("agents", "researcher_analyst", "--json").data
    assert shown["skills"][0]["input_schema"] == json.loads(RESEARCHER_ANALYST)["input_schema"]
    asked = retinue("ask", "researcher_analyst", "Find latest Haiku 4.5 pricing", "--json")
    assert asked.code == 4
    assert "model" in asked.error["hint"]
    built_in = retinue("ask", "retinue:researcher_analyst", "What does Haiku 4.5 cost?", "--json")
    assert built_in.code == 0
    assert "$1.00" in built_in.data["content"]
    assert retinue("ask", "retinue:researcher", "What does Haiku 4.5 cost?").code == 0
    assert "retinue:researcher_analyst" in retinue("agents").out
    assert retinue("lint", ".retinue").code == 0


@pytest.mark.requirement("C10")
def test_two_definitions_with_one_name_collide_loudly(retinue: Retinue, write: Write) -> None:
    write(".retinue/agents/one.json", RESEARCHER_ANALYST)
    write("agents/two.json", RESEARCHER_ANALYST)
    asked = retinue("ask", "researcher_analyst", "Find latest Haiku 4.5 pricing", "--json")
    assert asked.code == 6
    message = json.loads(asked.err.splitlines()[-1])["error"]["message"]
    assert ".retinue/agents/one.json" in message
    assert "agents/two.json" in message
    assert "Two agents are called `researcher_analyst`" in retinue("run", "what is here?").err
    assert retinue("ask", "retinue:researcher_analyst", "what is here?", "--json").code in {0, 5}


@pytest.mark.requirement("A6", "A20")
def test_lint_finds_what_section_7_forbids(retinue: Retinue, write: Write) -> None:
    loose = json.loads(RESEARCHER_ANALYST)
    del loose["input_schema"]["additionalProperties"]
    loose["input_schema"]["properties"]["sources"]["items"] = {}
    write(".retinue/agents/loose.json", json.dumps(loose))
    ended = retinue("lint", ".retinue", "--json", "--strict")
    assert ended.code == 6
    assert {"/input_schema", "/input_schema/properties/sources/items"} & {
        finding["path"] for finding in ended.data["findings"]
    }


# Hand-off and envelope.


@pytest.mark.requirement("A7", "A11")
def test_the_printed_hand_off_and_envelope_are_read(retinue: Retinue, write: Write) -> None:
    write("handoff.json", HANDOFF)
    task = retinue("parse", "handoff.json", "--json").data
    assert (task["dialect"], task["kind"]) == ("tool_use", "task")
    assert task["noun"]["agent"] == "researcher_analyst"
    assert task["noun"]["id"] == "r_001"
    assert task["noun"]["limits"] == {"timeout_s": 120.0}
    assert task["noun"]["context"]["why"] == "We need current API pricing to calculate savings."
    write("envelope.json", ENVELOPE)
    result = retinue("parse", "envelope.json", "--json").data
    assert result["noun"]["outcome"] == "success"
    assert result["noun"]["data"]["citations"] == ["docs/pricing.md"]
    assert result["noun"]["confidence"] == 0.95
    as_written = ENVELOPE.replace('"success",', '"success",  // or "error", "partial"')
    write("as-written.json", as_written)
    assert retinue("parse", "as-written.json", "--dialect", "tool_use", "--json").code == 6


@pytest.mark.requirement("A12", "A13")
def test_a_source_that_is_not_allowed_is_refused_with_the_list(retinue: Retinue, write: Write) -> None:
    write("docs/pricing.md", PRICING)
    ended = retinue("ask", "researcher_analyst", "Find latest Haiku 4.5 pricing", "-p", 'sources=["reddit"]', "--json")
    assert ended.code != 0
    fault = ended.data["fault"]
    assert (fault["code"], fault["path"]) == ("invalid_input", "/parameters/sources/0")
    assert "'reddit' is not allowed" in fault["message"]
    assert fault["hint"].endswith("Use one of 'web', 'docs', 'memory', 'code'.")
    allowed = retinue("ask", "researcher_analyst", "What does Haiku 4.5 cost?", "-p", 'sources=["docs"]', "--json")
    assert allowed.code == 0
    assert allowed.data["files_read"] == ["docs/pricing.md"]


# The goal.


@pytest.mark.requirement("A2", "A24", "G17")
def test_the_goal_is_done_by_specialists_of_ones_own_with_files_and_no_model(team: Retinue) -> None:
    plan = team("plan", GOAL, "--json").data
    assert [(node["agent"], node.get("needs", [])) for node in plan["nodes"]] == [
        ("researcher", []),
        ("analyst", [plan["nodes"][0]["id"]]),
    ]
    ended = team("run", GOAL, "--context", "full", "--json")
    assert ended.code == 0
    assert ended.data["outcome"] == "success"
    assert "Haiku 4.5" in ended.data["content"]
    assert "saved_usd_per_million: 2" in ended.data["content"].replace("\\", "")
    assert "usage" not in ended.data
    asked = team("ask", "engineer", "implement the parser", "--json")
    assert asked.data["content"] == "implement the parser"
    assert asked.data["agent"] == "engineer"


@pytest.mark.requirement("C45")
def test_the_only_open_text_of_a_schema_is_filled_from_the_words(team: Retinue) -> None:
    assert "Hello, Ada" in team("run", "greet Ada").out
    assert team("ask", "greet", "Ada Lovelace", "--json").data["data"] == {"greeting": "Hello, Ada Lovelace!"}
    open_still = team("run", "greet", "--json")
    assert open_still.code == 9
    assert open_still.data["questions"][0]["parameter"] == "name"


def test_the_goal_is_done_with_a_scripted_model_in_python(folder: Path, write: Write) -> None:
    write("docs/pricing.md", PRICING)
    definition = json.loads(RESEARCHER_ANALYST)
    (mine,) = json.loads("[" + json.dumps(definition) + "]")
    model = package.ScriptedModel(
        [{"findings": [{"model": "Haiku 4.5", "usd": 1.0}], "citations": ["docs/pricing.md"]}, "Haiku saves 2 USD."]
    )

    def prompted(name: str, does: str, schema: dict[str, Any] | None) -> Any:
        skill = {
            "name": name,
            "description": does,
            "input_schema": schema or {
                "type": "object", "properties": {"task": {"type": "string"}}, "required": ["task"],
                "additionalProperties": False,
            },
            "instruction_field": "task",
            "thinks": "must",
            **({"defaults": {"depth": "quick_scan"}} if schema else {}),
        }  # fmt: skip
        whole = package.Definition.model_validate(
            {"name": name, "version": "1.0", "description": does, "skills": [skill], "instructions": does, "tools": []},
            strict=False,
        )
        return package.PromptedAgent(whole, models=package.Models.only(model), toolbox=package.default_toolbox())

    async def go() -> tuple[Any, Any]:
        registry = package.Registry(
            [
                prompted("researcher_analyst", mine["description"], mine["input_schema"]),
                prompted(
                    "analyst", "Calculates cost savings. Use when prices are compared. Returns the savings.", None
                ),
            ]
        )
        workspace = package.Workspace(folder)
        async with package.InProcessEngine(package.workflows(registry, workspace=workspace)) as engine:
            orchestrator = package.Orchestrator(registry, engine, workspace)
            plan = package.Plan(
                goal=GOAL,
                nodes=(
                    package.Delegation(
                        id="find",
                        agent="researcher_analyst",
                        instruction="Find latest Haiku 4.5 pricing",
                        parameters={"task": "Find latest Haiku 4.5 pricing", "depth": "quick_scan"},
                    ),
                    package.Delegation(
                        id="save",
                        agent="analyst",
                        instruction="calculate cost savings",
                        parameters={"task": "calculate cost savings"},
                        needs=("find",),
                    ),
                ),
            )
            whole = await orchestrator.run_plan(plan)
            stopped = await orchestrator.run_plan(plan, budget=package.Budget(tokens=1))
            return whole, stopped

    whole, stopped = asyncio.run(go())
    assert whole.outcome == "success"
    assert "Haiku saves 2 USD." in whole.content
    assert stopped.outcome != "success"
    assert stopped.fault.code == "budget_exceeded"


# Models from the shell: menu, options and budget.


@pytest.fixture
def served(tmp_path: Path, write: Write) -> Iterator[WireServer]:
    """A provider on loopback, and the environment in which commands ask it."""
    write(".retinue/agents/researcher_analyst.json", RESEARCHER_ANALYST)
    write("docs/pricing.md", PRICING)
    with WireServer(lambda _body: Reply(json.dumps({"findings": ["Haiku 4.5: $1.00"]}))) as server:
        place = tmp_path / "config" / "config.toml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(f'[models.base_url]\nanthropic = "{server.url}"\n', encoding="utf-8")
        yield server


# The provider's package warns of models that it calls old; that is not what is looked at here.
KEYS: dict[str, Any] = {
    "PYTHONWARNINGS": "default",
    "ANTHROPIC_API_KEY": "x",
    "RETINUE_MODELS_DEFAULT": "anthropic:claude-sonnet-4-6",
}
ASKED = ("ask", "researcher_analyst", "Find latest Haiku 4.5 pricing", "-p", "depth=quick_scan")


@pytest.mark.requirement("A15", "A18")
def test_the_printed_definition_answers_with_a_model_and_the_menu_has_options(
    served: WireServer, retinue: Retinue, tmp_path: Path, folder: Path
) -> None:
    ended = retinue(*ASKED, "--json", **KEYS)
    assert ended.code == 0
    assert "Haiku 4.5: $1.00" in ended.data["content"]
    assert ended.data["extras"]["option"]["option"] in {"A", "B", "C"}
    smallest = retinue(*ASKED, "--choose", "a", "--json", **KEYS)
    assert smallest.data["usage"]["model"] == "anthropic:claude-haiku-4-5"
    largest = retinue(*ASKED, "--choose", "c", "--json", **KEYS)
    assert "opus" in largest.data["usage"]["model"]
    with Terminal(tmp_path, folder, *ASKED, "--choose", "ask", **KEYS) as terminal:
        terminal.expect("How should it be done?", "the smallest models", "tokens", "models by the rules", "tokens", ">")
        assert "not known" not in terminal.seen
        terminal.type("1")
        code, _ = terminal.ended()
    assert code == 0
    assert served.asked


@pytest.mark.requirement("A16")
def test_a_budget_stops_before_the_model_is_asked(served: WireServer, retinue: Retinue) -> None:
    ended = retinue(*ASKED, "--max-tokens", "5", "--json", **KEYS)
    assert ended.code == 7
    assert ended.data["fault"]["code"] == "budget_exceeded"
    assert served.asked == []


@pytest.mark.requirement("A2")
def test_the_goal_runs_in_a_repository_with_history(team: Retinue, folder: Path) -> None:
    commit = ["git", "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "Start"]
    subprocess.run(commit, cwd=folder, check=True)
    (kept,) = (team("run", GOAL, "--context", "full", "--json").data,)
    run = kept["task_id"].partition(":")[0]
    assert team("runs", "show", run).code == 0


@pytest.mark.requirement("G6")
@pytest.mark.parametrize("relation", ["dependents", "dependencies", "users"])
def test_a_fixture_that_is_not_there_is_said_to_be_missing(retinue: Retinue, write: Write, relation: str) -> None:
    fixture = "@pytest.fixture\ndef {name}:\n    return 1\n\n"
    text = "import pytest\n\n" + fixture.format(name="db()") + fixture.format(name="client(db)")
    write("conftest.py", text)
    words = ("ask", "pattern_discovery", "fixture_lookup", "what is with it", "--json", "--params")
    ended = retinue(*words, json.dumps({"name": "app", "relation": relation}))
    assert ended.code == 5
    assert ended.data["outcome"] == "rejected"
    assert "no fixture called `app`" in ended.data["fault"]["message"]
    there = retinue(*words, json.dumps({"name": "db", "relation": relation}))
    assert there.data["outcome"] == "success"
