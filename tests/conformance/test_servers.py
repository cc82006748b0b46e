"""Servers behind a URL: each requirement of a protocol is known to be able to fail, and a good server passes them all."""

from collections.abc import Iterable
from typing import Any

import pytest

from retinue.conformance.judge import kit
from retinue.conformance.kits.a2a_conversation import BINDINGS, JSON_RPC
from retinue.conformance.kits.mcp import EDITIONS
from retinue.conformance.port import CheckReport
from tests.conformance.mutants import a2a, a2a_faults, agent_json, hostile, mcp
from tests.conformance.mutants.web import Fault, Limits, broken, judged_server


def cases(protocol: str, editions: Iterable[str]) -> list[Any]:
    """Each requirement in each edition that has it; those of a further edition are `deep`, when the first has them."""
    params: list[Any] = []
    seen: set[str] = set()
    for edition in editions:
        for each in kit(protocol, edition).requirements:
            marks = (pytest.mark.deep,) if each.id in seen else ()
            params.append(pytest.param(edition, each.id.partition("/")[2], marks=marks))
            seen.add(each.id)
    return params


def wrong(report: CheckReport) -> dict[str, tuple[str, ...]]:
    return {
        each.requirement.id.partition("/")[2]: each.wrong or (each.mistake,)
        for each in report.verdicts
        if each.outcome != "passed"
    }


def judged_a2a(
    edition: str, fault: Fault | None = None, *, streaming: bool = True, secured: bool = False
) -> CheckReport:
    server = a2a.good_server(edition, streaming=streaming, secured=secured)
    return judged_server(broken(server, fault), "a2a", edition, path=a2a.PATH, card=a2a.CARD)


@pytest.mark.parametrize("edition", BINDINGS.values())
def test_a_good_server_of_a2a_passes_everything(edition: str) -> None:
    assert wrong(judged_a2a(edition)) == {}
    assert wrong(judged_a2a(edition, streaming=False)) == {}


@pytest.mark.parametrize(("edition", "requirement"), cases("a2a", BINDINGS.values()))
def test_every_broken_server_of_a2a_is_caught(edition: str, requirement: str) -> None:
    report = judged_a2a(
        edition,
        a2a_faults.faults(edition)[requirement],
        streaming=requirement != "streaming-unclaimed",
        secured=requirement == "authenticates",
    )
    failed = wrong(report)
    assert requirement in failed
    assert failed.keys() - {requirement} <= a2a_faults.COMPANIONS.get(requirement, set()), failed


def judged_mcp(edition: str, fault: Fault | None = None, operation: str = "") -> CheckReport:
    server = broken(mcp.good_server(edition), fault)
    return judged_server(
        server, "mcp", edition, path=mcp.PATH, operation=operation, parameters={"a": 1} if operation else {}
    )


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_good_server_of_mcp_passes_everything(edition: str) -> None:
    assert wrong(judged_mcp(edition)) == {}
    assert wrong(judged_mcp(edition, operation="add")) == {}


@pytest.mark.parametrize(("edition", "requirement"), cases("mcp", EDITIONS))
def test_every_broken_server_of_mcp_is_caught(edition: str, requirement: str) -> None:
    operation = "add" if requirement == "structured-content" else ""
    failed = wrong(judged_mcp(edition, mcp.FAULTS[requirement], operation))
    assert requirement in failed
    assert failed.keys() - {requirement} <= mcp.COMPANIONS.get(requirement, set()), failed


def judged_agent_json(fault: Fault | None = None) -> CheckReport:
    return judged_server(
        broken(agent_json.good_server, fault), "agent_json", path=agent_json.TASKS, card=agent_json.CARD
    )


def test_a_good_server_of_spec_004_passes_everything() -> None:
    assert wrong(judged_agent_json()) == {}


@pytest.mark.parametrize("requirement", agent_json.FAULTS)
def test_every_broken_server_of_spec_004_is_caught(requirement: str) -> None:
    failed = wrong(judged_agent_json(agent_json.FAULTS[requirement]))
    assert requirement in failed
    assert failed.keys() - {requirement} <= agent_json.COMPANIONS.get(requirement, set()), failed


def judged_hostile(fault: Fault | None = None, limits: Limits | None = None) -> CheckReport:
    server = broken(hostile.good_server, fault)
    return judged_server(server, "hostile", JSON_RPC, path=hostile.PATH, limits=limits, timeout_s=4)


def test_a_good_server_passes_everything_hostile() -> None:
    assert wrong(judged_hostile()) == {}


@pytest.mark.slow
@pytest.mark.parametrize("requirement", hostile.FAULTS)
def test_every_server_that_gives_in_is_caught(requirement: str) -> None:
    failed = wrong(judged_hostile(*hostile.FAULTS[requirement]))
    assert requirement in failed
    assert failed.keys() - {requirement} <= hostile.COMPANIONS.get(requirement, set()), failed
