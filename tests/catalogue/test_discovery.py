"""Discovery over real tickets: whom it asks, and what it makes of what agents of these names answer (G16)."""

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest

from retinue.agents.port import Agent, Reply
from retinue.agents.python import agent, skill
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.result import Result, Warned
from retinue.contract.task import Task
from retinue.engine.inprocess import InProcessEngine
from retinue.errors import MissingFile
from retinue.orchestration.orchestrator import Orchestrator, workflows
from retinue.tools.workspace import Workspace

TICKETS = {
    "INIT-0001": "Ship", "EPIC-0001.1": "Sign in", "EPIC-0001.2": "Reports", "STORY-0001.1.1": "Fixtures for users",
    "TASK-0001.1.1.1": "Write the fixtures",
}  # fmt: skip
PATTERNS = ["focused_domain", "full_survey"]
SKILLS = {
    "ticket_analyzer": ["story_deep", "ticket_completeness", "hierarchy_gaps", "task_readiness"],
    "design_guardian": ["story_review", "task_review", "epic_review"],
    "specification_quality_checker": ["full_ticket", "acceptance_criteria", "technical_design", "task_steps"],
    "pattern_discovery": PATTERNS,
}

Answers = Mapping[str, Any]
"""What agents answer: their data, a reply or an error, by `AGENT.SKILL`; an empty object otherwise."""


def stand_in(name: str, skills: list[str], answers: Answers, asked: list[tuple[str, str]]) -> Agent:
    """An agent of this name that answers what it is told to."""

    def answering(one: str) -> Callable[..., Any]:
        async def answer(self: object, target: str = "", context: str = "") -> Reply:
            """Look at a ticket."""
            del self
            assert not (target and context), "patterns are looked for in the whole project"
            asked.append((f"{name}.{one}", target or context))
            said = answers.get(f"{name}.{one}", {})
            if isinstance(said, Exception):
                raise said
            return said if isinstance(said, Reply) else Reply(data=said)

        return skill(name=one, description="Looks at a ticket.", output=dict[str, Any], target_field="target")(answer)

    made = type("StandIn", (), {one: answering(one) for one in skills})
    return agent(name=name, description="Looks at tickets.")(made).bind()


@pytest.fixture
def tickets(tmp_path: Path) -> Path:
    for key, title in TICKETS.items():
        path = tmp_path / "docs" / "tickets" / f"{key}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# {key}: {title}\n\n**Status**: 🔵 Not Started\n", encoding="utf-8")
    return tmp_path


def discover(root: Path, name: str, answers: Answers | None = None, **parameters: Any) -> tuple[Result, list[Any]]:
    """What `name` answers in the folder, and what was asked of whom."""
    asked: list[tuple[str, str]] = []
    (own,) = [one for one in agents() if one.definition.name == "discovery_orchestrator"]
    registry = Registry([own, *(stand_in(one, skills, answers or {}, asked) for one, skills in SKILLS.items())])

    async def main() -> Result:
        async with InProcessEngine(workflows(registry, workspace=Workspace(root))) as engine:
            orchestrator = Orchestrator(registry, engine, workspace=Workspace(root))
            task = Task(id="t", agent="discovery_orchestrator", skill=name, parameters=parameters)
            return await engine.result(await orchestrator.start_task(task))

    return asyncio.run(main()), asked


@pytest.mark.requirement("G16")
@pytest.mark.parametrize(
    ("level", "target", "expected"),
    [
        (
            "initiative",
            "INIT-0001",
            ["design_guardian.epic_review EPIC-0001.1", "design_guardian.epic_review EPIC-0001.2",
             "ticket_analyzer.hierarchy_gaps INIT-0001"],
        ),
        (
            "epic",
            "EPIC-0001.1",
            ["design_guardian.epic_review EPIC-0001.1", "pattern_discovery.focused_domain Sign in",
             "specification_quality_checker.full_ticket EPIC-0001.1", "ticket_analyzer.hierarchy_gaps EPIC-0001.1"],
        ),
        (
            "story",
            "docs/tickets/STORY-0001.1.1.md",
            ["design_guardian.story_review STORY-0001.1.1", "specification_quality_checker.full_ticket STORY-0001.1.1",
             "ticket_analyzer.hierarchy_gaps STORY-0001.1.1", "ticket_analyzer.story_deep STORY-0001.1.1"],
        ),
        (
            "task",
            "TASK-0001.1.1.1",
            ["ticket_analyzer.task_readiness TASK-0001.1.1.1", "ticket_analyzer.ticket_completeness TASK-0001.1.1.1"],
        ),
    ],
)  # fmt: skip
def test_each_level_asks_its_own_agents_and_nothing_found_is_a_whole_answer(
    tickets: Path, level: str, target: str, expected: list[str]
) -> None:
    result, asked = discover(tickets, f"{level}_gaps", target=target)
    assert sorted(" ".join(one) for one in asked) == expected
    assert (result.outcome, result.warnings) == ("success", ())
    assert result.data["summary"] == {"total_gaps": 0, "ready_to_write": 0, "blocked": 0, "overengineering_flags": 0}
    invoked = {one.partition(".")[0] for one in expected}
    assert set(result.data["metadata"]["agents_invoked"]) == invoked
    assert result.data["metadata"]["agents_failed"] == []


ANSWERS: Answers = {
    "ticket_analyzer.hierarchy_gaps": {
        "gaps": [
            {"gap_id": "g1", "type": "missing_ticket", "missing_tickets": ["TASK-0001.1.1.2"], "priority": "P2",
             "ready": False, "blocked_by": ["TASK-0001.1.1.1"], "effort_hours": 4},
            {"gap_id": "g2", "type": "incomplete_detail", "ticket_id": "STORY-0001.1.1", "priority": "P1",
             "ready": True, "missing": ["scenarios"], "completeness": "much"},
            "no object",
        ]
    },
    "ticket_analyzer.story_deep": {
        "story": {"id": "STORY-0001.1.1", "issues": [{"type": "vague", "priority": "P1", "problem": "Says “fast”."}]},
        "tasks": [{"id": "TASK-0001.1.1.1", "issues": [{"type": "no_estimate", "problem": "No hours."}]}],
    },
    "design_guardian.story_review": {
        "target": "STORY-0001.1.1",
        "overall_assessment": "overengineered",
        "issues": [{"category": "premature_optimization", "severity": "high", "problem": "A cache for 3 users."}],
        "pattern_reuse": {"violations": [{"evidence": "`user`", "problem": "It is there already."}, "no object"]},
    },
    "specification_quality_checker.full_ticket": {
        "ticket_id": "STORY-0001.1.1",
        "agent_ready": False,
        "quality_level": "needs_improvement",
        "issues": [{"category": "weasel", "term": "fast", "fix": {"old": "fast", "new": "within 200 ms"}}],
    },
}  # fmt: skip


@pytest.mark.requirement("G16")
def test_what_agents_found_becomes_one_result_with_each_gap_once(tickets: Path) -> None:
    result, _ = discover(tickets, "story_gaps", ANSWERS, target="STORY-0001.1.1")
    data = result.data
    assert result.outcome == "success"
    assert data["summary"] == {"total_gaps": 2, "ready_to_write": 1, "blocked": 1, "overengineering_flags": 1}
    first, second = data["gaps"]
    assert (first["ticket_id"], first["missing"], first["ready"]) == ("STORY-0001.1.1", ["scenarios"], True)
    assert first["agents"] == ["ticket_analyzer", "specification_quality_checker"]
    assert "completeness" not in first
    assert first["description"] == "Its text is `needs_improvement`."
    assert (second["missing_tickets"], second["effort_hours"]) == (["TASK-0001.1.1.2"], 4)
    assert [one["problem"] for one in data["complexity_flags"]] == ["A cache for 3 users."]
    assert [(one["ticket_id"], one["category"]) for one in data["quality_issues"]] == [
        ("STORY-0001.1.1", "vague"), ("TASK-0001.1.1.1", "no_estimate"), ("STORY-0001.1.1", "weasel"),
    ]  # fmt: skip
    assert data["quality_issues"][2]["fix"] == {"old": "fast", "new": "within 200 ms"}
    assert [one["reason"] for one in data["pattern_suggestions"]] == ["It is there already."]
    assert "2 gaps, 1 sign of overengineering, 3 issues of quality, 1 pattern to use." in result.content


@pytest.mark.requirement("G16")
def test_a_task_says_what_keeps_it_from_being_started(tickets: Path) -> None:
    blocker = {"type": "prerequisite", "description": "STORY-0001.1.2 is open.", "current_status": "open"}
    answers = {
        "ticket_analyzer.task_readiness": {"task_id": "TASK-0001.1.1.1", "blocking_issues": [blocker]},
        "ticket_analyzer.ticket_completeness": {
            "ticket_id": "TASK-0001.1.1.1",
            "completeness_score": 60,
            "missing_criteria": [{"criterion": "estimate", "fix": "State hours."}],
        },
    }
    result, _ = discover(tickets, "task_gaps", answers, target="TASK-0001.1.1.1")
    blocked, incomplete = result.data["gaps"]
    assert (blocked["type"], blocked["ready"]) == ("prerequisite", False)
    assert (incomplete["missing"], incomplete["completeness"], incomplete["fix"]) == (["estimate"], 60, "State hours.")
    assert (result.data["summary"]["ready_to_write"], result.data["summary"]["blocked"]) == (0, 1)


@pytest.mark.requirement("G16")
def test_an_agent_that_fails_makes_it_partial_and_says_what_is_not_known(tickets: Path) -> None:
    answers = {**ANSWERS, "design_guardian.story_review": MissingFile("It is gone.", hint="Write it again.")}
    result, _ = discover(tickets, "story_gaps", answers, target="STORY-0001.1.1")
    assert result.outcome == "partial"
    assert result.data["metadata"]["agents_failed"] == ["design_guardian"]
    (warning,) = result.warnings
    assert "`design_guardian.story_review` failed: It is gone." in warning.message
    assert warning.impact == "Whether something is built too large is not known."
    assert warning.recovery == "Write it again."
    assert result.data["summary"]["total_gaps"] == 2


@pytest.mark.requirement("G16")
def test_what_one_agent_could_do_only_in_part_is_a_warning_once(tickets: Path) -> None:
    warning = Warned(type="missing_data", message="One ticket is binary.", impact="Not read.", recovery="Mend it.")
    answers = {
        "ticket_analyzer.task_readiness": Reply(data={}, outcome="partial", warnings=(warning,)),
        "ticket_analyzer.ticket_completeness": Reply(data={}, outcome="partial", warnings=(warning,)),
    }
    result, _ = discover(tickets, "task_gaps", answers, target="TASK-0001.1.1.1")
    assert (result.outcome, result.warnings) == ("partial", (warning,))
    assert result.data["metadata"]["agents_failed"] == []


@pytest.mark.requirement("G16")
def test_it_is_an_error_when_all_agents_fail(tickets: Path) -> None:
    answers = {f"{name}.{one}": MissingFile("It is gone.") for name, skills in SKILLS.items() for one in skills}
    result, _ = discover(tickets, "epic_gaps", answers, target="EPIC-0001.1")
    assert result.outcome == "error"
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert "None of `ticket_analyzer`, `pattern_discovery`" in result.fault.message


@pytest.mark.requirement("G16", "K17")
@pytest.mark.parametrize(
    ("name", "target", "said"),
    [
        ("epic_gaps", "STORY-0001.1.1", ("is a ticket of kind `story`", "EPIC-####.*")),
        ("story_gaps", "STORY-0001.9.9", ("There is no ticket STORY-0001.9.9", "STORY-0001.1.1")),
        ("task_gaps", "TASK-1\n", ("TASK", "TASK")),
    ],
)
def test_a_target_of_the_wrong_kind_is_refused_with_a_hint(
    tickets: Path, name: str, target: str, said: tuple[str, str]
) -> None:
    result, asked = discover(tickets, name, target=target)
    assert (result.useful, asked) == (False, [])
    assert result.fault is not None
    assert said[0] in result.fault.message
    assert said[1] in result.fault.hint


@pytest.mark.requirement("G16")
def test_without_tickets_nobody_is_asked_and_the_way_to_begin_is_said(tmp_path: Path) -> None:
    result, asked = discover(tmp_path, "initiative_gaps", target="")
    assert (result.useful, asked) == (False, [])
    assert result.fault is not None
    assert result.fault.code == "missing_file"
    assert "retinue tickets init" in result.fault.hint


@pytest.mark.requirement("G16")
def test_the_only_initiative_need_not_be_named(tickets: Path) -> None:
    _, asked = discover(tickets, "initiative_gaps")
    assert ("ticket_analyzer.hierarchy_gaps", "INIT-0001") in asked
    (tickets / "docs" / "tickets" / "INIT-0002.md").write_text("# INIT-0002: Two\n", encoding="utf-8")
    result, nobody = discover(tickets, "initiative_gaps")
    assert nobody == []
    assert result.fault is not None
    assert result.fault.hint == "Name one of INIT-0001, INIT-0002."


@pytest.mark.requirement("G16")
def test_of_many_epics_the_first_are_looked_at_and_the_others_named(tickets: Path) -> None:
    for number in range(3, 16):
        (tickets / "docs" / "tickets" / f"EPIC-0001.{number}.md").write_text(f"# EPIC-0001.{number}: E\n")
    result, asked = discover(tickets, "initiative_gaps", target="INIT-0001")
    assert len(asked) == 13
    assert result.outcome == "partial"
    assert "not about EPIC-0001.13, EPIC-0001.14, EPIC-0001.15" in result.warnings[0].message
