"""Agents, callers, documents and registries agree, or what differs is found (C27)."""

from typing import Literal

import pytest

from retinue.contract.definition import CallSite, Source
from retinue.contract.finding import Finding
from retinue.contract.lint import KnownAgent, Operation, OperationListing, check_calls, check_listings, find_uncalled

pytestmark = pytest.mark.requirement("C27")


def at(line: int = 1) -> Source:
    return Source(file="doc.md", line=line, column=3)


def agent(name: str, *operations: str) -> KnownAgent:
    return KnownAgent(name, (name, f"{name}-file"), tuple(Operation(each, at()) for each in operations), at())


TICKETS = agent("ticket-analyzer", "story-deep", "task-readiness")
SILENT = agent("writer")


def call(
    name: str, skill: str | None = None, form: Literal["block", "file", "subagent", "command"] = "block", line: int = 7
) -> CallSite:
    return CallSite(agent=name, skill=skill, form=form, source=at(line))


def listing(name: str, *operations: str, complete: bool = True, registry: bool = False) -> OperationListing:
    return OperationListing(
        name, tuple(Operation(each, at(9)) for each in operations), at(9), complete=complete, registry=registry
    )


def said(findings: list[Finding]) -> list[tuple[str, str, str]]:
    assert all(each.file == "doc.md" and each.line and each.column for each in findings)
    return [(each.rule, each.severity, each.fix) for each in findings]


@pytest.mark.parametrize(
    "name", ["ticket-analyzer", "ticket_analyzer", "Ticket Analyzer", "team:ticket-analyzer", "ticket-analyzer-file",
             "general-purpose", "Explore", "agent-name", "the", "writer"],
)  # fmt: skip
def test_whoever_is_here_comes_along_or_is_a_stand_in_is_no_stranger(name: str) -> None:
    assert list(check_calls([TICKETS, SILENT], [call(name)])) == []


def test_a_misspelt_agent_is_an_error_and_a_stranger_a_warning() -> None:
    found = list(check_calls([TICKETS, SILENT], [call("ticket-analyser"), call("plumber", form="subagent")]))
    assert said(found) == [
        ("call/agent", "error", "Did you mean `ticket-analyzer`?"),
        ("call/agent", "warning", "Add its file, or call one that is here."),
    ]
    assert "'ticket-analyser'" in found[0].message


def test_a_name_without_its_familys_name_is_an_error_too() -> None:
    found = list(check_calls([TICKETS], [call("analyzer"), call("git-ticket-analyzer")]))
    assert {each.severity for each in found if each.fix.startswith("Did")} == {"error"}


def test_without_any_agent_nobody_is_unknown() -> None:
    assert list(check_calls([], [call("anybody", "anything")])) == []
    assert list(check_listings([], [listing("anybody", "x", registry=True)])) == []


@pytest.mark.requirement("K21")
def test_an_operation_that_the_agent_has_not_is_an_error_with_the_nearest() -> None:
    found = list(
        check_calls([TICKETS, SILENT], [
            call("ticket-analyzer", "story_deep"), call("ticket-analyzer", "story-depp"),
            call("ticket-analyzer", "qqq"), call("writer", "anything"),
        ])
    )  # fmt: skip
    assert said(found) == [
        ("call/operation", "error", "Did you mean `story-deep`?"),
        ("call/operation", "error", "It has `story-deep`, `task-readiness`."),
    ]


def test_of_two_agents_with_one_name_the_one_that_tells_its_operations_counts() -> None:
    calls = [call("ticket-analyzer", "qqq")]
    assert len(list(check_calls([agent("ticket-analyzer"), TICKETS], calls))) == 1
    assert len(list(check_calls([TICKETS, agent("ticket-analyzer")], calls))) == 1


def test_a_command_is_unknown_only_where_it_plainly_is_one() -> None:
    commands = ["/team:plan-story", "/review"]
    strangers = [
        call(name, form="command") for name in ("/plan-story", "/team:plan-story", "/compact", "/health", "/pl")
    ]
    assert list(check_calls([], strangers, commands=commands)) == []
    many = [call(f"/stranger-{number}", form="command") for number in range(210)]
    assert list(check_calls([], many, commands=commands)) == []
    slip = list(check_calls([], [call("/plan-stroy", form="command")] * 2, commands=commands))
    assert len(slip) == 2
    slip = list(check_calls([], [call("/plan-stroy", form="command")], commands=commands))
    assert said(slip) == [("call/agent", "warning", "Did you mean `/team:plan-story`?")]
    sure = list(check_calls([], [call("/write-next", form="command")], commands=commands, certain_sources=[at(7)]))
    assert said(sure) == [("call/agent", "warning", "Name a command that is here.")]
    assert list(check_calls([], [call("/write-next", form="command")], certain_sources=[at(7)])) == []


def test_after_fifty_strangers_no_more_guesses_are_made() -> None:
    calls = [call(f"ticket-analyzer{number}") for number in range(60)]
    found = list(check_calls([TICKETS], calls))
    assert [each.severity for each in found] == ["error"] * 50 + ["warning"] * 10


def test_a_stranger_in_a_document_is_for_information_and_a_slip_is_not() -> None:
    calls = [call("plumber"), call("ticket-analysis"), call("ticket-analyser"), call("x")]
    found = list(check_calls([TICKETS], calls, documents=["doc.md"]))
    assert [(each.severity, each.fix) for each in found] == [
        ("info", "Add its file, or call one that is here."),
        ("info", "Did you mean `ticket-analyzer`?"),
        ("error", "Did you mean `ticket-analyzer`?"),
    ]


def test_a_list_that_differs_says_what_is_strange_and_what_is_missing() -> None:
    found = list(check_listings([TICKETS, SILENT], [
        listing("ticket-analyzer", "story-deep", "task-readiness"), listing("Ticket_Analyzer", "story-deep", "ready"),
        listing("ticket-analyzer", "story-deep", complete=False), listing("writer", "x"), listing("stranger", "x"),
    ]))  # fmt: skip
    assert [(each.rule, each.severity) for each in found] == [
        ("operation/differs", "error"), ("operation/differs", "warning"),
    ]  # fmt: skip
    assert "'ready'" in found[0].message
    assert "`task-readiness`" in found[1].message


def test_a_registry_of_agents_names_only_those_there_are() -> None:
    found = list(check_listings([TICKETS], [listing("ticket-analyser", "x", registry=True)]))
    assert said(found) == [("call/agent", "error", "Did you mean `ticket-analyzer`?")]


def test_an_operation_that_nobody_asks_for_is_told_when_others_are_asked_for() -> None:
    assert list(find_uncalled([TICKETS], [call("ticket-analyzer")])) == []
    found = list(find_uncalled([TICKETS, SILENT], [call("x:ticket_analyzer", "story_deep")]))
    assert said(found) == [("call/uncalled", "info", "Ask for it, or remove it.")]
    assert "'task-readiness'" in found[0].message
