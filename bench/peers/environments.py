"""The subjects and the environments they run in."""

import os
import subprocess
import sys
import venv
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Final

__all__ = [
    "DBOS",
    "JOURNALED",
    "KEEPING_PEERS",
    "PEERS",
    "RETINUE",
    "THINKER",
    "THINKING_PEERS",
    "Subject",
    "python_of",
    "variables",
]

_ROOT: Final = Path(__file__).resolve().parents[2]
_ENVIRONMENTS: Final = _ROOT / "bench" / "out" / "peers"


@dataclass(frozen=True, slots=True)
class Subject:
    """Whatever is measured.

    Attributes:
        name: As its package is called.
        module: The name of its scripts, in `peers/subjects/` and `behaviour/subjects/`.
        lock: The lock of its environment in `requirements/`; empty for the environment that runs the benchmark.
        arguments: What its script is told.
    """

    name: str
    module: str
    lock: str = ""
    arguments: tuple[str, ...] = ()


RETINUE: Final = Subject("retinue", "retinue_agents")
JOURNALED: Final = Subject("retinue, with its journal", "retinue_agents", arguments=("--journal",))
DBOS: Final = Subject("dbos", "dbos_workflow", "peers-dbos")
KEEPING_PEERS: Final = (
    Subject("langgraph, with its SQLite checkpointer", "langgraph_graph", "peers-langgraph", ("--journal",)),
    Subject("pydantic-ai on DBOS", "pydantic_ai_dbos", "peers-pydantic-ai", ("--wal",)),
    Subject("dbos, in WAL mode", "dbos_workflow", "peers-dbos", ("--wal",)),
)
"""Those that keep a history, on SQLite."""
PEERS: Final = (
    Subject("agent-framework-core", "agent_framework_graph", "peers-agent-framework"),
    Subject("agno", "agno_workflow", "peers-agno"),
    Subject("langgraph", "langgraph_graph", "peers-langgraph"),
)

THINKER: Final = Subject("retinue", "retinue_prompted")
THINKING_PEERS: Final = (
    Subject("agent-framework-core", "agent_framework_agents", "peers-agent-framework"),
    Subject("agno", "agno_agents", "peers-agno"),
    Subject("pydantic-ai", "pydantic_ai_agents", "peers-pydantic-ai"),
    Subject("pydantic-ai's graph", "pydantic_ai_graph", "peers-pydantic-ai"),
)
"""The same fan-outs, with an agent on a scripted model in each branch."""


def python_of(subject: Subject) -> Path:
    """The interpreter of the subject's environment, which is made when it is missing or its lock has changed."""
    if not subject.lock:
        return Path(sys.executable)
    lock = _ROOT / "requirements" / f"{subject.lock}.txt"
    folder = _ENVIRONMENTS / subject.lock
    python, made_from = folder / "bin" / "python", folder / "made-from"
    state = sha256(lock.read_bytes()).hexdigest()
    if made_from.exists() and made_from.read_text() == state:
        return python
    print(f"making the environment of {subject.name} …", file=sys.stderr, flush=True)
    venv.create(folder, clear=True, with_pip=False)
    install = [sys.executable, "-m", "uv", "pip", "install", "--quiet", "--compile-bytecode", "--require-hashes"]
    # Not from here, where uv would hold the peers to the constraints of our own locks.
    subprocess.run([*install, "--python", python, "--requirement", lock], check=True, cwd=lock.anchor)
    made_from.write_text(state)
    return python


def variables() -> dict[str, str]:
    """The environment variables of every subject: no telemetry, byte code kept, nothing of ours leaking in."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "VIRTUAL_ENV"))}
    quiet = {"AGNO_TELEMETRY": "false", "LANGSMITH_TRACING": "false", "ENABLE_INSTRUMENTATION": "false"}
    return {**kept, **quiet, "PYTHONWARNINGS": "ignore"}
