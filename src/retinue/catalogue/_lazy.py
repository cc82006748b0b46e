"""Ready-made agents that are imported when they are first called: every command lists them, and few ask more than two.

What they say of themselves is derived from their types, and kept on disk for as long as nothing that it is derived from
changes.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

from pydantic import VERSION, TypeAdapter, ValidationError

from retinue.agents.port import Agent, Reply, RunContext
from retinue.contract.definition import Definition, Sample
from retinue.contract.facts import Facts
from retinue.contract.task import Task
from retinue.tools.cache_file import code_fingerprint, read_cache_file, write_cache_file
from retinue.tools.workspace import Workspace

_SOURCES: Final = ("catalogue", "contract", "agents/python")
"""The folders of the package that definitions are derived from."""

_MAX_BYTES: Final = 16 * 1024 * 1024


@dataclass
class LazyAgent:
    """An agent whose module is imported at its first call.

    Attributes:
        load: Imports and makes it.
        cached_definition: What it says of itself, when that is known without it.
    """

    load: Callable[[], Agent]
    cached_definition: Definition | None = None

    @cached_property
    def agent(self) -> Agent:
        """The agent itself."""
        return self.load()

    @property
    def definition(self) -> Definition:
        """What it says of itself; the path of its source is not part of it."""
        return self.cached_definition or self.agent.definition.model_copy(update={"source": None})

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """As the agent does."""
        return await self.agent.run(task, run)

    def facts(self, skill: str) -> Callable[[Workspace], Facts] | None:
        """As the agent does; None when it says none of any skill."""
        source_of: Callable[[str], Callable[[Workspace], Facts] | None] | None = getattr(self.agent, "facts", None)
        return None if source_of is None else source_of(skill)


def read_skills(module: str) -> dict[str, dict[str, Any]]:
    """What `skills.json` beside an agent's module has of each of its skills: example requests, and samples."""
    skills: dict[str, dict[str, list[Any]]] = json.loads(Path(module).with_name("skills.json").read_bytes())
    return {
        name: {"examples": one["examples"], "samples": [Sample.model_validate(each) for each in one.get("samples", ())]}
        for name, one in skills.items()
    }


def lazy_agents(
    loaders: Sequence[Callable[[], Agent]], *, cache_dir: Path | None, settings: Mapping[str, object]
) -> tuple[LazyAgent, ...]:
    """An agent for each of `loaders`.

    Args:
        loaders: Import and make them.
        cache_dir: Where their definitions are kept; None keeps none, and all are imported at once.
        settings: Whatever else decides what their definitions say.
    """
    agents = tuple(LazyAgent(load) for load in loaders)
    if cache_dir is None:
        return agents
    # They are known by the code that they are derived from, and by what is installed.
    parts = {**settings, "pydantic": VERSION, "duckdb": find_spec("duckdb") is not None}
    fingerprint = repr(sorted(parts.items())).encode() + code_fingerprint(*_SOURCES)
    path, key = cache_dir / "definitions", sha256(fingerprint).hexdigest().encode()
    head, _, body = read_cache_file(path, max_bytes=_MAX_BYTES).partition(b"\n")
    definitions: tuple[Definition, ...] = ()
    if head == key:
        with suppress(ValidationError):
            definitions = TypeAdapter(tuple[Definition, ...]).validate_json(body)
    # Nothing is cached, or the cache is damaged: all agents are imported once.
    if len(definitions) != len(agents):
        definitions = tuple(agent.definition for agent in agents)
        data = [definition.to_json() for definition in definitions]
        write_cache_file(path, [key, b"\n", json.dumps(data, separators=(",", ":")).encode()])
    for agent, definition in zip(agents, definitions, strict=True):
        agent.cached_definition = definition
    return agents
