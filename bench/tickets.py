"""Eight operations on a tree of tickets and its commits, cold: in a process that has read nothing before."""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from bench.table import Row
from retinue.agents.boundary import Boundary
from retinue.agents.local import LocalContext
from retinue.agents.registry import Registry
from retinue.catalogue import agents
from retinue.contract.task import Task
from retinue.tools.workspace import Workspace

EPICS, STORIES, TASKS, COMMITS = 4, 4, 6, 300
"""An initiative of so many epics of so many stories of so many tasks each: 117 tickets of about 10 kB."""
GOAL_S = 2.0
OPERATIONS = {
    "git_state_analyzer": {"branch_status": "", "commit_analysis": "", "task_validation": "", "drift_detection": ""},
    "ticket_analyzer": {
        "story_deep": "STORY-0001.2.2", "ticket_completeness": "STORY-0001.2.2", "hierarchy_gaps": "",
        "task_readiness": "TASK-0001.2.2.3",
    },
}  # fmt: skip
RUNS = 5


def measure() -> Iterator[Row]:
    """The median of several processes."""
    with tempfile.TemporaryDirectory() as folder:
        count = make_repository(Path(folder))
        runs = [
            json.loads(subprocess.check_output([sys.executable, "-m", "bench.tickets", folder])) for _ in range(RUNS)
        ]
    note = f"{count} tickets, {COMMITS} commits, the median of {RUNS} processes"
    for agent in OPERATIONS:
        seconds = sorted(sum(run[agent].values()) for run in runs)[RUNS // 2]
        yield Row(f"tickets: the four operations of {agent}, cold", seconds, "s", note=note)
    whole = sorted(sum(sum(operations.values()) for operations in run.values()) for run in runs)[RUNS // 2]
    yield Row("tickets: all eight together, cold", whole, "s", GOAL_S, note=note)


def make_repository(root: Path) -> int:
    """Write the tree and its history; gives how many tickets it has."""
    git = ("git", "-C", str(root), "-c", "user.name=Ada", "-c", "user.email=ada@example.org")
    tickets = {"INIT-0001": ticket("INIT-0001", "initiative", [f"EPIC-0001.{e + 1}" for e in range(EPICS)])}
    for epic in (f"0001.{e + 1}" for e in range(EPICS)):
        stories = [f"{epic}.{s + 1}" for s in range(STORIES)]
        tickets[f"EPIC-{epic}"] = ticket(f"EPIC-{epic}", "epic", [f"STORY-{story}" for story in stories])
        for story in stories:
            tasks = [f"TASK-{story}.{t + 1}" for t in range(TASKS)]
            tickets[f"STORY-{story}"] = ticket(f"STORY-{story}", "story", tasks)
            tickets |= {task: ticket(task, "task", []) for task in tasks}
    (root / "docs/tickets").mkdir(parents=True)
    (root / "src").mkdir()
    for name, text in tickets.items():
        (root / f"docs/tickets/{name}.md").write_text(text, encoding="utf-8")
    subprocess.check_call((*git, "init", "-q", "-b", "main"))
    tasks = [name for name in tickets if name.startswith("TASK")]
    for number in range(COMMITS):
        (root / f"src/module_{number % 40}.py").write_text(f"VALUE = {number}\n", encoding="utf-8")
        subprocess.check_call((*git, "add", "-A"))
        subprocess.check_call((*git, "commit", "-qm", f"feat({tasks[number % len(tasks)]}): step {number}"))
    return len(tickets)


def ticket(name: str, kind: str, children: list[str]) -> str:
    """A ticket of about 10 kB with everything that one of its kind has."""
    parts = [
        f"# {name}: The {kind} of {name}",
        "**Status**: 🟡 In Progress\n**Progress**: ███░░░░░░░ 30%\n**Story Points**: 5",
    ]
    rows = "\n".join(f"| [{child}]({child}.md) | Part | 🔵 Not Started | 3 |" for child in children)
    parts += ["## Tasks", f"| ID | Title | Status | Points |\n| --- | --- | --- | --- |\n{rows}"] if rows else []
    parts += [
        "## Acceptance Criteria",
        "\n".join(f"- [ ] `src/module_{n}.py` answers {n} within 200 ms" for n in range(20)),
    ]
    for number in range(20):
        parts.append(
            f"## Part {number}\n\nIt reads `src/module_{number}.py` and writes what was asked for. "
            + "More of it. " * 10
        )
        steps = f"    Given a value {number}\n    When it is asked for\n    Then it is {number}"
        if number % 4:
            continue
        parts.append(f"```gherkin\nFeature: Values\n\n  Scenario: The value {number}\n{steps}\n```")
    return "\n\n".join(parts) + "\n"


def run_operations(root: str) -> dict[str, dict[str, float]]:
    """How many seconds each operation takes, in turn, in this process."""
    boundary = Boundary(Registry(agents()))
    seconds: dict[str, dict[str, float]] = {}
    for agent, operations in OPERATIONS.items():
        for skill, target in operations.items():
            task = Task(id="t", agent=agent, skill=skill, parameters={"target": target} if target else {})
            begin = time.perf_counter()
            result = asyncio.run(boundary.call(task, LocalContext(workspace=Workspace(root))))
            seconds.setdefault(agent, {})[skill] = time.perf_counter() - begin
            if not result.useful:
                raise SystemExit(f"{agent}.{skill}: {result.fault}")
    return seconds


if __name__ == "__main__":
    print(json.dumps(run_operations(sys.argv[1])))
