"""What the definition files of a project hold, as agents. What is wrong with one becomes a finding, never an exception.

Python, in `.retinue/agents`, is imported only when the folder is trusted.
"""

import inspect
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.agents.code_files import AGENTS_FOLDER
from retinue.agents.command_definitions import with_commands
from retinue.agents.definition_cache import DefinitionCache
from retinue.agents.definition_folders import (
    LEADS_OUT,
    DefinitionFolder,
    Problem,
    display_path,
    files_beside,
    is_inside,
)
from retinue.agents.importing import import_file
from retinue.agents.load import InstructionsAgent, LoadedAgents
from retinue.agents.load.document import read_bytes
from retinue.agents.load.kinds import ENDINGS, Kind, kind_of, load
from retinue.agents.port import Agent
from retinue.agents.registry import Registry, Skipped
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding, Severity
from retinue.errors import RetinueError

if TYPE_CHECKING:
    from retinue.agents.prompted import Toolbox
    from retinue.agents.prompted.loop import Loops
    from retinue.llm.models import Models

_NOT_TRUSTED: Final = "It names code to run, and this folder is not trusted."


def register_files(
    registry: Registry,
    files: Iterable[tuple[DefinitionFolder, Path, Problem | None]],
    *,
    root: Path,
    trusted: bool,
    models: "Models | None",
    toolbox: "Toolbox | None",
    loops: "Loops | None",
    cache_dir: Path | None,
) -> None:
    """Register what the files hold.

    Args:
        registry: Takes the agents, and the findings about files.
        files: Each file with its place, and what is already known to be wrong with it.
        root: As for `discover`, and so the others.
        trusted: See there.
        models: See there.
        toolbox: See there.
        loops: See there.
        cache_dir: See there.
    """
    with_models = None
    if models is not None and models.configured:
        with_models = partial(_with_models, models=models, toolbox=toolbox, loops=loops)
    cache = DefinitionCache(cache_dir, root)
    for place, path, problem in files:
        file = display_path(path, root)
        if problem:
            loaded = _problem_load(problem, file)
        else:
            loaded = _load(path, file=file, root=root, trusted=trusted, place=place, cache=cache)
        loaded = with_models(loaded, file=file) if with_models else loaded
        _register(registry, loaded, file=file, contests=not place.skills)
    cache.save()


def load_file(path: Path, *, file: str | None = None, kind: Kind | None = None) -> LoadedAgents:
    """Read one definition file that is data, of whatever kind its name and content say. What is wrong becomes findings.

    Args:
        path: The file.
        file: What findings call it; the path when absent.
        kind: What it is, when it is not for its name and content to say.
    """
    return _load_data(path, file=file or str(path), kind=kind, cache=DefinitionCache(None, path.parent))


def _load_data(
    path: Path, *, file: str, cache: DefinitionCache, kind: Kind | None = None, operations: bool = False
) -> LoadedAgents:
    """What a definition file says, with the operations that its instructions list as skills if that is asked for."""
    if kind is None and path.suffix.lower() not in ENDINGS:
        return _failed_load(
            "unknown-kind", f"Files that end with {path.suffix!r} are not definitions.", file, "Use .json or .md."
        )

    def read() -> LoadedAgents:
        loaded = load(data, file=file, kind=kind or kind_of(file, data) or "json", files=beside)
        return _with_operations(loaded) if operations else loaded

    try:
        data = read_bytes(path)
        beside = files_beside(path) if (kind or kind_of(file)) == "skill" else ()
        return cache.load(read, file, beside, operations, data=data)
    except RetinueError as error:
        return _failed_load(
            error.code.replace("_", "-"), error.message, file, error.hint, line=error.detail.get("line")
        )


def _load(
    path: Path, *, file: str, root: Path, trusted: bool, place: DefinitionFolder, cache: DefinitionCache
) -> LoadedAgents:
    if path.is_symlink() and not is_inside(path, root):  # its folder was seen to lie inside
        return _problem_load(LEADS_OUT, file)
    if path.suffix.lower() != ".py":
        loaded = _load_data(path, file=file, cache=cache, operations=not place.skills)
        return with_commands(loaded, file=file, trusted=trusted)
    if not trusted:
        fix = "Review it, then run `retinue trust` in the folder."
        return _failed_load("not-trusted", _NOT_TRUSTED, file, fix, severity="warning")
    return _load_python(path, file=file, trusted=root / AGENTS_FOLDER)


def _with_operations(loaded: LoadedAgents) -> LoadedAgents:
    """`loaded`, its prompted agents with the operations that their instructions list."""
    from retinue.agents.load.operations import with_operations  # noqa: PLC0415 - files that changed need it, no others

    agents = (
        InstructionsAgent(with_operations(each.definition)) if isinstance(each, InstructionsAgent) else each
        for each in loaded.agents
    )
    return replace(loaded, agents=tuple(agents))


def _with_models(
    loaded: LoadedAgents, *, file: str, models: "Models", toolbox: "Toolbox | None", loops: "Loops | None"
) -> LoadedAgents:
    """`loaded`, with an agent that a model moves in place of each that is instructions only."""
    if not any(isinstance(agent, InstructionsAgent) for agent in loaded.agents):
        return loaded
    from retinue.agents.prompted import EMPTY, PromptedAgent, findings_about  # noqa: PLC0415 - as most projects have none
    from retinue.agents.prompted.loop import BUILTIN_LOOP  # noqa: PLC0415 - likewise

    tools = EMPTY if toolbox is None else toolbox
    agents, findings = list[Agent](), list(loaded.findings)
    for agent in loaded.agents:
        if isinstance(agent, InstructionsAgent):
            findings += findings_about(agent.definition, tools, file=file)
            loop = BUILTIN_LOOP if loops is None else loops(agent.definition.name)
            agents.append(PromptedAgent(agent.definition, models=models, toolbox=tools, loop=loop))
        else:
            agents.append(agent)
    return replace(loaded, agents=tuple(agents), findings=tuple(findings))


def _load_python(path: Path, *, file: str, trusted: Path) -> LoadedAgents:
    try:
        module = import_file(path, trusted=trusted)
        agents = tuple(_agents_in(vars(module)))
        if not agents and "run_agent" in vars(module):
            from retinue.agents.module import module_agent  # noqa: PLC0415 - most Python agents say what they are

            agents = (module_agent(module, file=file),)
        invalid = [agent for agent in agents if not isinstance(agent.definition, Definition)]  # pyright: ignore[reportUnnecessaryIsInstance] - somebody else's code
    except RetinueError as error:
        return _failed_load("bad-module", error.message, file, error.hint, line=error.detail.get("line"))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the project's own code speaks of itself here
        message = f"An agent in it cannot say what it is: `{type(error).__name__}`: {error}."
        return _failed_load("bad-module", message, file, "Fix its `definition`.")
    if invalid or not agents:
        message = "The `definition` of an agent in it is none." if invalid else "There is no agent in it."
        return _failed_load("no-agent", message, file, "Put `@agent` on a function or class.", severity="warning")
    return LoadedAgents(agents=agents)


def _agents_in(values: Mapping[str, object]) -> Iterator[Agent]:
    """The agents among the names of a module, each once."""
    seen_ids: set[int] = set()
    for value in values.values():
        if id(value) not in seen_ids and _is_agent(value):
            seen_ids.add(id(value))
            yield value  # pyright: ignore[reportReturnType] - seen to have the port's two members


def _is_agent(value: object) -> bool:
    """Whether the class of `value` has what the port asks for; looked up without running any of its code."""
    return not isinstance(value, type) and all(
        inspect.getattr_static(type(value), name, None) is not None for name in ("definition", "run")
    )


# Registering


def _register(registry: Registry, loaded: LoadedAgents, *, file: str, contests: bool) -> None:
    """Add what a file holds. A skill whose name is taken gives way; of two agents, neither has it."""
    passed_over = [each for each in loaded.findings if each.severity == "error" or each.rule.startswith("discovery/")]
    registry.findings += loaded.findings
    for agent in loaded.agents:
        try:
            registry.add(agent)
        except RetinueError as error:
            finding = _finding("name-taken", error.message, file, error.hint, line=_line(agent.definition))
            registry.findings += (finding,)
            if contests:
                registry.mark_ambiguous(agent.definition, error)
            passed_over.append(finding)
    registry.skipped += tuple(
        Skipped(path=file, reason=error.message, line=error.line, hint=error.fix) for error in passed_over
    )


def _line(definition: Definition) -> int | None:
    return definition.source.line if definition.source else None


def _problem_load(problem: Problem, file: str) -> LoadedAgents:
    severity: Severity = "warning" if problem.harmless else "error"
    return _failed_load(problem.rule, problem.message, file, problem.fix, severity=severity)


def _failed_load(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> LoadedAgents:
    return LoadedAgents(findings=(_finding(rule, message, file, fix, line=line, severity=severity),))


def _finding(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> Finding:
    return Finding(rule=f"discovery/{rule}", message=message, severity=severity, file=file, line=line, fix=fix)
