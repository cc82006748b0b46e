"""Rate limits as a user sets them: of agents and of providers, in one command and in several workers."""

import json
import os
import time
from pathlib import Path

import pytest

from retinue.agents.trust import TrustStore
from retinue.llm.scripted import Line
from tests.cli.conftest import Give
from tests.cli.test_worker import wait_for, worker
from tests.cli.thinking import POET, use_models

AGENT = '''"""An agent that notes when it is called, and in which process."""

import os
import time
from pathlib import Path

import retinue


@retinue.agent
async def mason(task: str) -> str:
    """Lays bricks. Use when bricks must be laid. Returns the wall."""
    with Path("calls.txt").open("a") as file:
        file.write(f"{os.getpid()} {time.time_ns()}\\n")
    return "a wall of forty bricks"
'''


@pytest.fixture
def site(folder: Path) -> Path:
    """A trusted project, and a plan for three walls at once."""
    file = folder / ".retinue" / "agents" / "site.py"
    file.parent.mkdir(parents=True)
    file.write_text(AGENT, encoding="utf-8")
    TrustStore(Path(os.environ["RETINUE_STATE_DIR"])).trust(folder)
    walls = [{"id": f"n{n}", "agent": "mason", "instruction": f"wall {n}"} for n in range(3)]
    (folder / "walls.json").write_text(json.dumps({"goal": "three walls", "nodes": walls}), encoding="utf-8")
    return folder


def calls(folder: Path) -> list[tuple[str, int]]:
    file = folder / "calls.txt"
    words = [line.split() for line in file.read_text().splitlines()] if file.exists() else []
    return sorted(((process, int(at_ns)) for process, at_ns in words), key=lambda call: call[1])


def limit(text: str) -> None:
    file = Path(os.environ["RETINUE_CONFIG_DIR"]) / "config.toml"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")


@pytest.mark.parametrize("options", [(), ("--no-journal",)])
def test_an_agent_is_called_no_more_often_than_its_user_says_and_who_waits_is_told(
    site: Path, retinue: Give, options: tuple[str, ...]
) -> None:
    limit('[rate_limits.agents]\nMason = "1/s"\n')
    since_ns = time.time_ns()
    done = retinue("run", "--plan", "walls.json", "--jsonl", *options)
    assert done.code == 0
    assert calls(site)[-1][1] - since_ns >= 2e9
    told = {(line["node"], line["text"]) for line in done.lines if line["kind"] == "message"}
    assert {text for _, text in told} == {"Waiting: the limit of agent `mason` is 1/s."}
    assert {node for node, _ in told} < {"n0", "n1", "n2"}


def test_the_time_of_a_run_goes_on_while_it_waits_for_a_limit(site: Path, retinue: Give) -> None:
    limit('[rate_limits.agents]\nmason = "1/h"\n')
    done = retinue("run", "--plan", "walls.json", "--timeout", "2s", "--json")
    assert len(calls(site)) == 1
    assert done.data["outcome"] == "partial"
    assert "its time was up before (`--timeout`)" in done.err


def test_a_provider_is_asked_no_more_often_than_its_user_says(
    folder: Path, retinue: Give, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder / ".claude/agents").mkdir(parents=True)
    (folder / ".claude/agents/poet.md").write_text(POET, encoding="utf-8")
    asked_s: list[float] = []

    def answer(request: object) -> Line:
        del request
        asked_s.append(time.monotonic())
        return "A poem."

    use_models(monkeypatch, answer, default="scripted:small")
    limit('[rate_limits.providers]\nscripted = "1/s"\n[models.base_url]\nscripted = "http://localhost/"\n')
    since_s = time.monotonic()
    for _ in range(3):
        assert retinue("ask", "poet", "Sing.").code == 0
    assert len(asked_s) == 3
    assert asked_s[-1] - since_s >= 2


def test_workers_keep_a_limit_together(site: Path, retinue: Give) -> None:
    limit('[rate_limits.agents]\nmason = "1/s"\n')
    for _ in range(2):
        assert retinue("run", "--detach", "--plan", "walls.json").code == 0
    since_ns = time.time_ns()
    with worker(site, "--at-once", "1"), worker(site, "--at-once", "1"):
        wait_for(lambda: len(calls(site)) == 6)
    assert len({process for process, _ in calls(site)}) == 2
    assert calls(site)[-1][1] - since_ns >= 5e9


@pytest.mark.parametrize("text", ["fast", "0/min", "60", "60 / min", "5/day"])
def test_a_limit_that_is_none_is_refused_and_the_error_says_what_to_write(site: Path, retinue: Give, text: str) -> None:
    limit(f'[rate_limits.agents]\nmason = "{text}"\n')
    refused = retinue("run", "--plan", "walls.json")
    assert refused.code == 2
    assert "`rate_limits.agents` cannot be" in refused.err
    assert '"5/min"' in refused.err
    assert calls(site) == []


def test_a_limit_of_a_provider_that_there_is_not_is_an_error_which_names_the_nearest(site: Path, retinue: Give) -> None:
    limit('[rate_limits.providers]\nantropic = "1/s"\n')
    refused = retinue("run", "--plan", "walls.json")
    assert refused.code == 2
    assert "`rate_limits.providers` bounds `antropic`, and no provider is called that" in refused.err
    assert "Did you mean `anthropic`?" in refused.err
    assert calls(site) == []
    assert "settings/unknown-provider" in retinue("config", "show").err
    assert "antropic" in retinue("doctor").out


def test_a_limit_of_an_agent_that_is_called_otherwise_is_told_and_of_one_elsewhere_is_not(
    site: Path, retinue: Give
) -> None:
    limit('[rate_limits.agents]\nmasson = "1/h"\ncosmonaut = "1/h"\n')
    for told in (retinue("run", "--plan", "walls.json").err, retinue("doctor").out):
        assert "`rate_limits.agents` bounds `masson`, and no agent is called that" in told
        assert "did you mean `mason`?" in told
        assert "cosmonaut" not in told
    assert len(calls(site)) == 3


def test_a_project_cannot_set_limits_that_its_users_other_projects_share(site: Path, retinue: Give) -> None:
    (site / "retinue.toml").write_text('[rate_limits.agents]\nmason = "1/h"\n', encoding="utf-8")
    assert "a project may not set `rate_limits.agents`" in retinue("config", "show").err
    assert "1/h" not in retinue("config", "show").out
