"""What the definition files of a project hold, as agents. What is wrong with one becomes a finding, never an exception.

Python, in `.retinue/agents`, is imported only when the folder is trusted. The same holds for JSON there that names the
program that answers, `"command": ["./my-agent", "--json"]`, since naming a program is naming code. `code_files` lists
these files too, so that a change of one is a change of trust.
"""

import inspect
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import replace
from functools import partial
from hashlib import blake2b, sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, cast

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticSerializationError

from retinue.agents.code_files import AGENTS_FOLDER
from retinue.agents.definition_folders import (
    LEADS_OUT,
    DefinitionFolder,
    Problem,
    display_path,
    files_beside,
    is_inside,
)
from retinue.agents.importing import import_file
from retinue.agents.load import NEEDS_MODEL, InstructionsAgent, LoadedAgents
from retinue.agents.load.document import read_bytes
from retinue.agents.load.fields import BUILT_IN
from retinue.agents.load.kinds import ENDINGS, Kind, kind_of, load
from retinue.agents.load.loaded_agents import CardAgent
from retinue.agents.port import Agent
from retinue.agents.registry import Registry, Skipped
from retinue.contract.definition import CallSite, Definition
from retinue.contract.finding import Finding, Severity
from retinue.contract.model import JsonMapping, Model
from retinue.errors import InvalidInput, RetinueError
from retinue.tools.cache_file import code_fingerprint, read_cache_file, write_cache_file

if TYPE_CHECKING:
    from retinue.agents.prompted import Toolbox
    from retinue.agents.prompted.loop import Loops
    from retinue.llm.models import Models

_NOT_TRUSTED: Final = "It names {} to run, and this folder is not trusted."
_REVIEW: Final = "Review it, then run `retinue trust` in the folder."
_COMMAND: Final = "command"
_ENVIRONMENT: Final = "environment"


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
    """Register what the files hold: each with its place, and what is already known to be wrong with it.

    The other arguments are those of `discover`. Of two agents with the same name neither has it; a skill gives way.
    """
    with_models = None
    if models is not None and models.configured:
        with_models = partial(_with_models, models=models, toolbox=toolbox, loops=loops)
    cache = DefinitionCache(cache_dir, root)
    for place, path, known_problem in files:
        file = display_path(path, root)
        # Its folder was seen to lie inside.
        leads_out = path.is_symlink() and not is_inside(path, root)
        problem = known_problem or (LEADS_OUT if leads_out else None)
        if problem is not None:
            severity: Severity = "warning" if problem.harmless else "error"
            loaded = _failed_load(problem.rule, problem.message, file, problem.fix, severity=severity)
        elif path.suffix.lower() != ".py":
            loaded = _load_data(path, file=file, cache=cache, operations=not place.skills)
            loaded = with_commands(loaded, file=file, trusted=trusted)
            if trusted and any(isinstance(agent, CardAgent) for agent in loaded.agents):
                loaded = _with_connections(loaded, path, file=file)
        elif trusted:
            loaded = _load_python(path, file=file, trusted=root / AGENTS_FOLDER)
        else:
            loaded = _failed_load("not-trusted", _NOT_TRUSTED.format("code"), file, _REVIEW, severity="warning")
        loaded = with_models(loaded, file=file) if with_models else loaded
        skipped = [each for each in loaded.findings if each.severity == "error" or each.rule.startswith("discovery/")]
        registry.findings += loaded.findings
        for agent in loaded.agents:
            if BUILT_IN in agent.definition.extras:  # else it would hide the agent that it asks
                continue
            try:
                registry.add(agent)
                if agent.definition.is_remote:
                    registry.unrouted |= {agent.definition.name}
            except RetinueError as error:
                finding = _finding("name-taken", error.message, file, error.hint, line=_line(agent.definition))
                registry.findings += (finding,)
                if not place.skills:
                    registry.mark_ambiguous(agent.definition, error)
                skipped.append(finding)
        registry.skipped += tuple(
            Skipped(path=file, reason=each.message, line=each.line, hint=each.fix) for each in skipped
        )
    cache.save()


def load_file(path: Path, *, file: str | None = None, kind: Kind | None = None) -> LoadedAgents:
    """Read one definition file that is data. What is wrong becomes findings.

    Args:
        path: The file.
        file: What findings call it; the path when absent.
        kind: Its kind; found out from its name and content when absent.
    """
    return _load_data(path, file=file or str(path), kind=kind, cache=DefinitionCache(None, path.parent))


# The cache of what definition files hold, by content. Whether a folder may bring code is never cached: trust is
# checked at each start.

_SOURCES: Final = ("agents/load", "contract")
"""The folders of the package whose code decides what a file comes to."""

_MOST_BYTES: Final = 64 * 1024 * 1024


class _Entry(Model):
    definitions: tuple[Definition, ...]
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSite, ...] = ()


_ENTRIES: Final = TypeAdapter(dict[str, _Entry])


class DefinitionCache:
    """The definition files of one project.

    Args:
        folder: Where it is kept, made when first written; None keeps nothing.
        root: The project's folder.
    """

    def __init__(self, folder: Path | None, root: Path) -> None:
        project = blake2b(os.fsencode(root), digest_size=16).hexdigest()
        self._path = None if folder is None else folder / f"project-definitions-{project}"
        self._state = b"" if folder is None else code_fingerprint(*_SOURCES)
        self._used: dict[str, _Entry] = {}
        self._entries: dict[str, _Entry] = {}
        if self._path is not None:
            head, _, body = read_cache_file(self._path, max_bytes=2 * _MOST_BYTES).partition(b"\n")
            if head == self._state:
                with suppress(ValidationError):
                    self._entries = _ENTRIES.validate_json(body)

    def load(self, load: Callable[[], LoadedAgents], *key: object, data: bytes) -> LoadedAgents:
        """What `load` makes of `data`, or made of it before, by `data` and `key`. Only prompted agents are cached."""
        if self._path is None:
            return load()
        name = sha256(repr(key).encode() + b"\0" + data).hexdigest()
        entry = self._entries.get(name)
        if entry is not None:
            self._used[name] = entry
            return LoadedAgents(tuple(map(InstructionsAgent, entry.definitions)), entry.findings, entry.calls)
        loaded = load()
        if all(type(agent) is InstructionsAgent for agent in loaded.agents):
            definitions = tuple(agent.definition for agent in loaded.agents)
            self._used[name] = _Entry(definitions=definitions, findings=loaded.findings, calls=loaded.calls)
        return loaded

    def save(self) -> None:
        """Write what was used; the rest belongs to files that are gone."""
        if self._path is None or self._used.keys() == self._entries.keys():
            return
        try:
            body = _ENTRIES.dump_json(self._used, exclude_defaults=True)
        except PydanticSerializationError:  # a text that is not Unicode: such a project is not cached
            return
        if len(body) <= _MOST_BYTES:
            write_cache_file(self._path, [self._state, b"\n", body])


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
        if not operations:
            return loaded
        from retinue.agents.load.operations import with_operations  # noqa: PLC0415 - only changed files need it

        agents = (
            InstructionsAgent(with_operations(each.definition)) if isinstance(each, InstructionsAgent) else each
            for each in loaded.agents
        )
        return replace(loaded, agents=tuple(agents))

    try:
        data = read_bytes(path)
        beside = files_beside(path) if (kind or kind_of(file)) == "skill" else ()
        return cache.load(read, file, beside, operations, data=data)
    except RetinueError as error:
        rule = error.code.replace("_", "-")
        return _failed_load(rule, error.message, file, error.hint, line=error.detail.get("line"))


def with_commands(loaded: LoadedAgents, *, file: str, trusted: bool) -> LoadedAgents:
    """`loaded`, with the program in place of each agent whose definition names one.

    `environment` beside `command` lists the variables that the program may see. Relative paths are from the workspace.
    """
    if not file.startswith(f"{AGENTS_FOLDER}/") or not file.endswith(".json"):
        return loaded
    agents = list[Agent]()
    ours = ("/" + _COMMAND, "/" + _ENVIRONMENT)
    findings = [each for each in loaded.findings if not (each.rule == _UNKNOWN_KEY and each.path.endswith(ours))]
    for agent in loaded.agents:
        definition = agent.definition
        if _COMMAND not in definition.extras:
            agents.append(agent)
            continue
        line = _line(definition)
        if not trusted:
            message = _NOT_TRUSTED.format("a program")
            findings.append(_finding("not-trusted", message, file, _REVIEW, line=line, severity="warning"))
            continue
        from retinue.agents.wrapped import CommandAgent  # noqa: PLC0415 - most projects name no program

        extras: JsonMapping = dict(definition.extras)
        argv, environment = extras.pop(_COMMAND), extras.pop(_ENVIRONMENT, [])
        skills = tuple(
            skill.model_copy(update={"unavailable": ""}) if skill.unavailable == NEEDS_MODEL else skill
            for skill in definition.skills
        )
        definition = definition.model_copy(update={"extras": extras, "skills": skills})
        try:
            words, variables = _string_list(argv, _COMMAND), _string_list(environment, _ENVIRONMENT)
            agents.append(CommandAgent(words, definition=definition, environment=variables))
        except RetinueError as error:
            message = f"`{definition.name}` names no program: {error.message}"
            findings.append(_finding("bad-command", message, file, error.hint, line=line))
    return replace(loaded, agents=tuple(agents), findings=tuple(findings))


def _with_connections(loaded: LoadedAgents, path: Path, *, file: str) -> LoadedAgents:
    """`loaded`, with the agent that answers at the address on a card of A2A in place of the card alone."""
    from retinue.agents.remote.discovery import agent_of_card  # noqa: PLC0415 - few projects have cards

    try:
        agent = agent_of_card(read_bytes(path), file=file, name=loaded.agents[0].definition.name)
    except RetinueError as error:
        finding = _finding("bad-card", error.message, file, error.hint, severity="warning")
        return replace(loaded, findings=(*loaded.findings, finding))
    return replace(loaded, agents=(agent,))


_UNKNOWN_KEY: Final = "load/unknown-key"


def _string_list(value: object, key: str) -> tuple[str, ...]:
    items: list[Any] = cast("list[Any]", value) if isinstance(value, list) else [None]
    if not all(isinstance(item, str) for item in items):
        raise InvalidInput(f"`{key}` is not a list of texts.", hint=f'Write "{key}": ["one", "two"].')
    return tuple(items)


def _with_models(
    loaded: LoadedAgents, *, file: str, models: "Models", toolbox: "Toolbox | None", loops: "Loops | None"
) -> LoadedAgents:
    """`loaded`, with an agent that a model drives in place of each that is instructions only."""
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
        # What the port asks for is looked up without running any code; each agent counts once.
        candidates: list[Any] = [
            value
            for value in vars(module).values()
            if not isinstance(value, type)
            and all(
                inspect.getattr_static(cast("type[object]", type(value)), name, None) is not None
                for name in ("definition", "run")
            )
        ]
        agents: tuple[Agent, ...] = tuple({id(value): value for value in candidates}.values())
        if not agents and "run_agent" in vars(module):
            from retinue.agents.module import module_agent  # noqa: PLC0415 - most Python agents say what they are

            agents = (module_agent(module, file=file),)
        invalid = [agent for agent in agents if not isinstance(agent.definition, Definition)]  # pyright: ignore[reportUnnecessaryIsInstance] - foreign code
    except RetinueError as error:
        return _failed_load("bad-module", error.message, file, error.hint, line=error.detail.get("line"))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - it runs the project's own code
        message = f"An agent in it has no usable definition: `{type(error).__name__}`: {error}."
        return _failed_load("bad-module", message, file, "Fix its `definition`.")
    if invalid or not agents:
        message = "The `definition` of an agent in it is not a `Definition`." if invalid else "There is no agent in it."
        return _failed_load("no-agent", message, file, "Put `@agent` on a function or class.", severity="warning")
    return LoadedAgents(agents=agents)


def _line(definition: Definition) -> int | None:
    return definition.source.line if definition.source else None


def _failed_load(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> LoadedAgents:
    return LoadedAgents(findings=(_finding(rule, message, file, fix, line=line, severity=severity),))


def _finding(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> Finding:
    return Finding(rule=f"discovery/{rule}", message=message, severity=severity, file=file, line=line, fix=fix)
