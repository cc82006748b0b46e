"""Finds the agents of a project and says of every file it passed over why, on which line, and what to do.

Looked at, and nothing else: Markdown in `.claude/agents` and below, JSON in `agents`, and JSON, Markdown and, when the
folder is trusted, Python in `.retinue/agents`. Links that lead out of the project are not followed.
"""

import inspect
import os
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeAlias

from retinue.agents.code_files import AGENTS_FOLDER
from retinue.agents.importing import import_file
from retinue.agents.load import Loaded, load_json, load_markdown
from retinue.agents.load.document import read_bytes
from retinue.agents.port import Agent
from retinue.agents.registry import Registry, Skipped
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding, Severity
from retinue.errors import RetinueError

__all__ = ["discover", "load_file"]

_LOADERS: Final[Mapping[str, Callable[..., Loaded]]] = {".json": load_json, ".md": load_markdown}
_MAX_FILES: Final = 5_000
_MAX_DEPTH: Final = 8
_NOT_TRUSTED: Final = "It names code to run, and this folder is not trusted."


@dataclass(frozen=True, slots=True)
class _Place:
    """A folder where agents are looked for.

    Attributes:
        silent: Files of other kinds are not ours to mention: the folder's name is anybody's.
    """

    folder: str
    endings: tuple[str, ...]
    deep: bool = False
    silent: bool = False


_PLACES: Final = (
    _Place(AGENTS_FOLDER, (".json", ".md", ".py")),
    _Place("agents", (".json",), silent=True),
    _Place(".claude/agents", (".md",), deep=True),
)


def discover(root: Path, *, trusted: bool, catalogue: Iterable[Agent] = ()) -> Registry:
    """Find the agents of the project at `root` and register them after those of the catalogue.

    Nothing about a file is an exception: what is wrong with it stands in `Registry.skipped` and `Registry.findings`.
    When a file's agent has the name of one that is there already, the file is passed over with an error finding.

    Args:
        root: The project's folder.
        trusted: Whether its Python files may be imported: what `TrustStore.is_trusted` said.
        catalogue: Agents that come with the installation.

    Raises:
        InvalidDefinition: Two agents of the catalogue have the same name.
    """
    registry = Registry(catalogue)
    for place in _PLACES:
        for path, problem in _files(root, place):
            file = _shown(path, root)
            loaded = problem or _load(path, root, file=file, trusted=trusted)
            _register(registry, loaded, file=file)
    return registry


def load_file(path: Path, *, file: str | None = None) -> Loaded:
    """Read one definition file that is data: `.json` or `.md`. What is wrong becomes findings.

    Args:
        path: The file.
        file: What findings call it; the path when absent.
    """
    name = file or str(path)
    load = _LOADERS.get(path.suffix.lower())
    if load is None:
        return _failed(
            "unknown-kind", f"Files that end with {path.suffix!r} are no definitions.", name, "Use .json or .md."
        )
    try:
        return load(read_bytes(path), file=name)
    except RetinueError as error:
        return _failed(error.code.replace("_", "-"), error.message, name, error.hint, line=error.detail.get("line"))


def _load(path: Path, root: Path, *, file: str, trusted: bool) -> Loaded:
    if not _lies_inside(path, root):
        message, fix = _LEADS_OUT
        return _failed("leads-out", message, file, fix)
    if path.suffix.lower() != ".py":
        return load_file(path, file=file)
    if not trusted:
        fix = "Look at it, then run `retinue trust` in the folder."
        return _failed("not-trusted", _NOT_TRUSTED, file, fix, severity="warning")
    return _load_python(path, file=file)


def _load_python(path: Path, *, file: str) -> Loaded:
    from retinue.agents.module import module_agent  # noqa: PLC0415 - most projects have no Python agents

    try:
        module = import_file(path)
        agents = tuple(_agents_in(vars(module)))
        if not agents and "run_agent" in vars(module):
            agents = (module_agent(module, file=file),)
        wrong = [agent for agent in agents if not isinstance(agent.definition, Definition)]  # pyright: ignore[reportUnnecessaryIsInstance] - somebody else's code
    except RetinueError as error:
        return _failed("bad-module", error.message, file, error.hint, line=error.detail.get("line"))
    except (Exception, SystemExit) as error:  # noqa: BLE001 - the project's own code speaks of itself here
        message = f"An agent in it cannot say what it is: `{type(error).__name__}`: {error}."
        return _failed("bad-module", message, file, "Mend its `definition`.")
    if wrong or not agents:
        message = "The `definition` of an agent in it is none." if wrong else "There is no agent in it."
        return _failed("no-agent", message, file, "Put `@agent` on a function or class.", severity="warning")
    return Loaded(agents=agents)


def _agents_in(values: Mapping[str, object]) -> Iterator[Agent]:
    """The agents among the names of a module, each once."""
    seen: set[int] = set()
    for value in values.values():
        if id(value) not in seen and _is_agent(value):
            seen.add(id(value))
            yield value  # pyright: ignore[reportReturnType] - seen to have the port's two members


def _is_agent(value: object) -> bool:
    """Whether the class of `value` has what the port asks for; looked up without running any of its code."""
    return not isinstance(value, type) and all(
        inspect.getattr_static(type(value), name, None) is not None for name in ("definition", "run")
    )


# Registering


def _register(registry: Registry, loaded: Loaded, *, file: str) -> None:
    passed_over = [each for each in loaded.findings if each.severity == "error" or each.rule.startswith("discovery/")]
    registry.findings += loaded.findings
    for agent in loaded.agents:
        try:
            registry.add(agent)
        except RetinueError as error:
            finding = _finding("name-taken", error.message, file, error.hint, line=_line(agent.definition))
            registry.findings += (finding,)
            passed_over.append(finding)
    registry.skipped += tuple(
        Skipped(path=file, reason=error.message, line=error.line, hint=error.fix) for error in passed_over
    )


def _line(definition: Definition) -> int | None:
    return definition.source.line if definition.source else None


def _failed(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> Loaded:
    return Loaded(findings=(_finding(rule, message, file, fix, line=line, severity=severity),))


def _finding(
    rule: str, message: str, file: str, fix: str, *, line: int | None = None, severity: Severity = "error"
) -> Finding:
    return Finding(rule=f"discovery/{rule}", message=message, severity=severity, file=file, line=line, fix=fix)


# Files


def _files(root: Path, place: _Place) -> Iterator[tuple[Path, Loaded | None]]:
    """The files of one place in a stable order, each with what is already known to be wrong with it."""
    count = 0
    for path, problem in _walk(root / place.folder, place, root=root):
        file, ending = _shown(path, root), path.suffix.lower()
        if problem:
            message, fix = problem
            yield path, _failed("unreadable", message, file, fix)
        elif ending in place.endings:
            count += 1
            if count > _MAX_FILES:
                message = f"There are more than {_MAX_FILES} definitions here; this one and the rest are passed over."
                yield path, _failed("too-many", message, file, "Keep fewer.")
                return
            yield path, None
        elif not place.silent:
            message = f"Files that end with {ending!r} are no agents here."
            fix = f"Use {' or '.join(place.endings)}, or move it elsewhere."
            yield path, _failed("unknown-kind", message, file, fix, severity="warning")


_Problem: TypeAlias = tuple[str, str]
"""What is wrong with a place, and what to do about it."""

_LEADS_OUT: Final = ("The link leads out of the project, or in a circle.", "Copy what it leads to into the project.")
_LINKED: Final = ("A link to a folder is not followed.", "Put the files here, or link each one.")
_SHALLOW: Final = ("Folders are not searched here.", "Move its files one folder up.")
_TOO_DEEP: Final = ("The folder is too deep to be searched.", "Move its files further up.")


def _walk(folder: Path, place: _Place, *, root: Path, depth: int = 1) -> Iterator[tuple[Path, _Problem | None]]:
    """The files in `folder` and as far below as the place asks, sorted, each with what is wrong with it."""
    try:
        if not _lies_inside(folder, root):
            yield folder, _LEADS_OUT
            return
        with os.scandir(folder) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except (FileNotFoundError, NotADirectoryError):
        return
    except OSError as error:
        yield folder, (f"The folder cannot be read: {error.strerror}.", "Make it readable, or move it elsewhere.")
        return
    for entry in entries:
        path = Path(entry.path)
        if not _is_folder(entry):
            yield path, None
        elif entry.is_symlink():
            yield path, _LINKED
        elif place.deep and depth < _MAX_DEPTH:
            yield from _walk(path, place, root=root, depth=depth + 1)
        elif not place.silent and entry.name != "__pycache__":
            yield path, _SHALLOW if depth == 1 else _TOO_DEEP


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself; whoever opens it will be told
        return False


def _lies_inside(path: Path, root: Path) -> bool:
    try:
        return path.resolve().is_relative_to(root.resolve())
    except (OSError, RuntimeError):  # a link that leads to itself
        return False


def _shown(path: Path, root: Path) -> str:
    """The path from `root`, fit to be shown: what is not UTF-8 in it is escaped."""
    name = path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)
    return name.encode("utf-8", "surrogateescape").decode("utf-8", "backslashreplace")
