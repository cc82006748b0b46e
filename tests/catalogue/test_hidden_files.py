"""What a rule keeps from being read is told by no ready-made agent, in whatever way it is asked (B23, K17)."""

import asyncio
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.grants import ALL, Grants, ToolRule
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result
from retinue.engine.inprocess import InProcessEngine
from retinue.engine.journal import Journal
from retinue.engine.offload import Pool
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace
from tests.tools.conftest import Repository

SIGNS = ("zanzibar", "123456789")
"""Stand in hidden files only, in their texts, names and figures."""

HIDDEN = {
    ".env": "API_KEY=zanzibar-env\n",
    "private/__init__.py": "",
    "private/keys.py": (
        '"""Keeps the zanzibar."""\n\nMASTER_KEY = "zanzibar-master"\n\n\ndef zanzibar_opens(door):\n    # TODO zanzibar\n'
        '    """Open with zanzibar."""\n    from shop.cart import total\n    return total(door) == eval("zanzibar")\n'
    ),
    "private/notes.md": "# Zanzibar\n\nThe master key of the shop is zanzibar-note. The master key opens the shop.\n",
    "private/STORY-0001.1.1.md": (
        "# STORY-0001.1.1: Open the zanzibar-door\n\n**Status**: Done\n\n## Acceptance Criteria\n\n"
        "- [ ] the zanzibar-door is fast\n"
    ),
    "private/sales.csv": "zanzibar,price\nzanzibar-a,123456789\nzanzibar-b,123456789\n",
    "private/app.log": "2024-03-01T00:00:00Z ERROR zanzibar-log failed\n" * 3,
    "private/test_keys.py": (
        "import pytest\n\n\n@pytest.fixture\ndef zanzibar_door():\n    return 1\n\n\n"
        "def test_zanzibar(zanzibar_door):\n    assert zanzibar_door\n"
    ),
}
SEEN = {
    "README.md": "# Shop\n\nThe shop sells apples. Its keys lie elsewhere.\n",
    "plan/EPIC-0001.1.md": "# EPIC-0001.1: Doors\n\n**Status**: In Progress\n\n## Stories\n\n- STORY-0001.1.1\n",
    "plan/TASK-0001.1.1.1.md": "# TASK-0001.1.1.1: Draw a door\n\n**Parent**: STORY-0001.1.1\n**Status**: Not Started\n",
    "src/shop/__init__.py": "",
    "src/shop/cart.py": (
        "from private.keys import MASTER_KEY, zanzibar_opens as opens  # noqa\n\nKEY = MASTER_KEY\n\n\n"
        'def total(cart):\n    """What a cart costs."""\n    return len(cart) + len(KEY) + opens(cart)\n'
    ).replace("zanzibar_opens as opens", "opens"),
    "data/sales.csv": "fruit,price\napple,3\npear,4\n",
    ".retinue/metrics.toml": (
        '[source]\nfile = "private/sales.csv"\ndate = "day"\n'
        '[metrics.sales]\ndefinition = "Sum of prices"\nsql = "sum(price)"\n'
    ),
    "tests/test_cart.py": "from shop.cart import total\n\n\ndef test_total():\n    assert total([]) == 0\n",
}
RULES = Grants(rules=(ToolRule("deny", "read", ".env"), ToolRule("ask", "read", "private/**")))

_PLACE: Mapping[str, Any] = {"entry_point": {"file_path": "private/keys.py"}, "scope": "file"}
_KEYS = "What do private/keys.py and .env and private/notes.md say of the master key?"
CASES: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]] = {
    ("code_engineer_executor", "navigate_only"): [
        {"task": "go to the definition", "entry_point": {"file_path": "src/shop/cart.py", "line": 3, "character": 8}},
        {"task": "hover over this", "entry_point": {"file_path": "src/shop/cart.py", "line": 3, "character": 1}},
        {"task": "hover over this", "entry_point": {"file_path": "src/shop/cart.py", "line": 3, "character": 8}},
        {"task": "which symbols does private/keys.py define?", "entry_point": {"file_path": "private/keys.py"}},
        {"task": "which symbols does private/keys.py define?", "path": "private/keys.py"},
        {"task": "who calls this?", "show": "callers", "entry_point": {"file_path": "src/shop/cart.py", "symbol_name": "total"}},
        {"task": "find references", "show": "references", "entry_point": {"file_path": "src/shop/cart.py", "symbol_name": "total"}},
        {"task": "where is `MASTER_KEY` defined?", "symbol": "MASTER_KEY"},
        {"task": "go to the definition", "entry_point": {"file_path": "private/keys.py", "symbol_name": "MASTER_KEY"}},
    ],
    ("code_engineer_executor", "analyze"): [
        {"task": "analyze the whole project", "scope": "project"}, {"task": "analyze this file", **_PLACE},
    ],
    ("code_engineer_executor", "review"): [
        {"task": "review the whole project", "scope": "project"}, {"task": "review this file", **_PLACE},
    ],
    ("code_engineer_executor", "docs"): [
        {"task": "document the project", "scope": "project"}, {"task": "document this file", **_PLACE},
    ],
    ("code_engineer_executor", "refactor"): [
        {"task": "rename total to whole", "kind": "rename", "new_name": "whole",
         "entry_point": {"file_path": "src/shop/cart.py", "symbol_name": "total"}},
        {"task": "extract a function", "kind": "extract", "first_line": 8, "last_line": 8, "new_name": "part", **_PLACE},
        {"task": "move it elsewhere", "kind": "move", "target_file": "src/shop/new.py",
         "entry_point": {"file_path": "private/keys.py", "symbol_name": "MASTER_KEY"}},
    ],
    ("code_engineer_executor", "fix_bug"): [
        {"task": _KEYS, **_PLACE}, {"task": _KEYS},
        {"task": _KEYS, "entry_point": {"file_path": "src/shop/cart.py", "symbol_name": "total"}},
    ],
    ("code_engineer_executor", "add_feature"): [{"task": _KEYS, "scope": "project"}],
    ("data_analyst", "profile"): [
        {"question": "profile private/sales.csv"}, {"question": "profile it", "files": ["private/sales.csv"]},
    ],
    ("data_analyst", "aggregate"): [
        {"question": "sum of price in private/sales.csv"}, {"question": "sum of price in sales.csv"},
    ],
    ("data_analyst", "percentiles"): [{"question": "median price", "files": ["private/sales.csv"]}],
    ("data_analyst", "log_parse"): [{"question": "errors in private/app.log"}, {"question": "errors in app.log"}],
    ("data_analyst", "compare"): [{"question": "compare", "files": ["data/sales.csv", "private/sales.csv"]}],
    ("git_state_analyzer", "branch_status"): [{"question": "what changed in private/keys.py?"}],
    ("git_state_analyzer", "commit_analysis"): [
        {"question": "what changed in private/keys.py?"}, {"question": "history", "paths": ["private/keys.py"]},
    ],
    ("git_state_analyzer", "task_validation"): [{"target": "private/keys.py"}],
    ("git_state_analyzer", "drift_detection"): [{"target": "private/keys.py"}],
    ("metrics", "get_year_to_end_sales"): [{"year": 2024}],
    ("metrics", "calculate_churn_q2_q3"): [{"year": 2024}],
    ("metrics", "get_metric"): [{"metric": "sales", "since": "2024-01-01", "until": "2024-12-31"}],
    ("metrics", "compare_periods"): [
        {"metric": "sales", "since": "2024-01-01", "until": "2024-01-31",
         "baseline_first_day": "2024-02-01", "baseline_last_day": "2024-02-28"},
    ],
    ("metrics", "list_metrics"): [{}],
    ("pattern_discovery", "full_survey"): [{"show": "fixtures"}, {"show": "tests", "target": "private/keys.py"}],
    ("pattern_discovery", "focused_domain"): [{"context": "keys", "domain": "source-code", "target": "private"}],
    ("pattern_discovery", "fixture_lookup"): [{"query": "a door"}, {"query": "fixtures", "name": "door"}],
    ("pattern_discovery", "test_pattern_search"): [{"query": "keys"}, {"query": "keys", "target": "private"}],
    ("design_guardian", "story_review"): [{"target": "private/STORY-0001.1.1.md"}, {"target": "STORY-0001.1.1"}],
    ("design_guardian", "task_review"): [{"target": "TASK-0001.1.1.1"}],
    ("design_guardian", "epic_review"): [{"target": "EPIC-0001.1"}],
    ("discovery_orchestrator", "initiative_gaps"): [{"target": ""}],
    ("discovery_orchestrator", "epic_gaps"): [{"target": "EPIC-0001.1"}],
    ("discovery_orchestrator", "story_gaps"): [{"target": "STORY-0001.1.1"}],
    ("discovery_orchestrator", "task_gaps"): [{"target": "TASK-0001.1.1.1"}],
    ("ticket_analyzer", "story_deep"): [{"target": "STORY-0001.1.1"}],
    ("ticket_analyzer", "ticket_completeness"): [{"target": "private/STORY-0001.1.1.md"}, {"target": "TASK-0001.1.1.1"}],
    ("ticket_analyzer", "hierarchy_gaps"): [{"target": ""}],
    ("ticket_analyzer", "task_readiness"): [{"target": "TASK-0001.1.1.1"}],
    ("personal_assistant", "assist"): [{"prompt": _KEYS}],
    ("requirements_interviewer", "initiative"): [{"target": "private/keys.py"}],
    ("requirements_interviewer", "epic"): [{"target": "private/keys.py"}],
    ("requirements_interviewer", "story"): [{"target": "private/keys.py"}],
    ("requirements_interviewer", "task"): [{"target": "private/keys.py"}],
    ("researcher_analyst", "research"): [
        {"task": _KEYS, "depth": "deep_dive"},
        {"task": "where is `MASTER_KEY` used?", "depth": "deep_dive"},
        {"task": "which master key opens the shop?", "depth": "quick_scan"},
    ],
    ("research_supervisor", "research_each"): [{"subjects": ["master key", "shop"], "question": "what is it?"}],
    ("specification_quality_checker", "full_ticket"): [{"target": "private/keys.py"}, {"target": "STORY-0001.1.1"}],
    ("specification_quality_checker", "acceptance_criteria"): [{"target": "private/keys.py"}],
    ("specification_quality_checker", "technical_design"): [{"target": "private/keys.py"}],
    ("specification_quality_checker", "task_steps"): [{"target": "private/keys.py"}],
    ("system_architect", "dependencies"): [{"question": "dependencies", "detail": "files"}],
    ("system_architect", "cycles"): [{"question": "cycles", "detail": "files"}],
    ("system_architect", "layers"): [{"question": "layers", "layers": ["src", "private"]}],
    ("system_architect", "hotspots"): [{"question": "hotspots"}],
    ("system_architect", "overview"): [{"question": "overview"}],
    ("system_architect", "options"): [{"question": "How could private/keys.py be split?"}],
    ("system_architect", "assess"): [{"question": _KEYS}],
}  # fmt: skip


@pytest.fixture
def house(tmp_path: Path) -> Repository:
    repository = Repository(tmp_path / "house")
    for name, text in {**SEEN, **HIDDEN, "private/old.md": "zanzibar-old\n"}.items():
        repository.write(name, text)
    repository.commit("Begin")
    (repository.root / "private/old.md").unlink()
    repository.write("private/keys.py", HIDDEN["private/keys.py"] + "\n\nLAST = 'zanzibar-last'\n")
    repository.commit("Change the keys")
    repository.write(".env", HIDDEN[".env"] + "MORE=zanzibar-more\n")
    (repository.root / "link.md").symlink_to("private/notes.md")
    return repository


def nodes(cases: Mapping[tuple[str, str], Sequence[Mapping[str, Any]]]) -> Iterator[Delegation]:
    for (name, skill), asked in cases.items():
        for number, parameters in enumerate(asked):
            yield Delegation(id=f"{name}_{skill}_{number}", agent=name, skill=skill, parameters=dict(parameters))


def told(root: Path, kept: Path, cases: Mapping[tuple[str, str], Any], grants: Grants) -> tuple[Result, str]:
    """The answer to all of `cases`, and everything that was said, recorded or asked of a model on the way."""
    model = ScriptedModel(lambda _: "I do not know.")
    models = Models.only(model)

    async def main() -> Result:
        registry = Registry(agents(models=models, state_dir=kept / "state", cache_dir=kept / "cache"))
        async with Pool(workers=1) as pool:
            surroundings: dict[str, Any] = {"workspace": Workspace(root), "grants": grants, "offload": pool}
            with Journal(kept / "journal.db") as journal:
                async with InProcessEngine(workflows(registry, **surroundings), journal=journal) as engine:
                    run = await Orchestrator(registry, engine).start(
                        Plan(nodes=tuple(nodes(cases))), answer="collected"
                    )
                    return await engine.result(run)

    result = asyncio.run(main())
    recorded = [
        path.read_bytes().decode("utf-8", "replace") for path in sorted(kept.glob("journal.db*")) if path.is_file()
    ]
    assert "researcher_analyst" in "".join(recorded) or "research" not in repr(list(cases))
    asked = [repr(request) for request in model.requests]
    cached = [path.read_bytes().decode("utf-8", "replace") for path in kept.rglob("cache/*") if path.is_file()]
    return result, "\n".join([result.model_dump_json(), *recorded, *asked, *cached]).casefold()


def test_every_skill_of_every_ready_made_agent_is_asked() -> None:
    there = {(each.definition.name, skill.name) for each in agents() for skill in each.definition.skills}
    assert set(CASES) == there


@pytest.mark.slow
def test_no_agent_tells_what_stands_in_a_hidden_file(house: Repository, tmp_path: Path) -> None:
    result, said = told(house.root, tmp_path, CASES, RULES)
    places = [said[max(0, at - 200) : at + 80] for sign in SIGNS if (at := said.find(sign)) >= 0]
    assert places == []
    assert json.loads(result.model_dump_json())["data"]  # they were asked, and most had something to say


READERS = ("code_engineer_executor", "data_analyst", "pattern_discovery", "researcher_analyst")


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
def test_without_the_rule_it_would_be_told(house: Repository, tmp_path: Path, name: str) -> None:
    mine = {case: asked for case, asked in CASES.items() if case[0] == name}
    _, said = told(house.root, tmp_path, mine, ALL)
    assert any(sign in said for sign in SIGNS)
