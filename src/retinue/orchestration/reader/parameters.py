"""One parameter of a skill as the binder sees it: its name in words, its plain schema, what it accepts.

And what may be known beside the words of a person: what skills say that their parameters can be in a workspace, each
source asked once, and where its files are. The tree is listed only when a file is named that is not in the root.
"""

import logging
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import chain, zip_longest
from pathlib import PurePosixPath
from typing import Final, cast

from retinue.agents.grants import Grants
from retinue.agents.registry import Registry
from retinue.contract.definition import Skill
from retinue.contract.facts import FACTS_KEYWORD, Facts
from retinue.contract.json import as_list, as_mapping, as_mappings
from retinue.contract.model import JsonMapping
from retinue.contract.schema import Validator, compile as compiled
from retinue.errors import InvalidDefinition, RetinueError
from retinue.orchestration.reader.text_tokens import correct_spelling, word_tokens
from retinue.tools.search.passages import is_test, kind_of
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

_LOGGER: Final = logging.getLogger(__name__)
_WORD: Final = re.compile(r"[A-Z]?[a-z]+|[A-Z]+|\d+|[^\W_]+")
_MAX_REFERENCES: Final = 8
_PATH_NAMES: Final = frozenset(
    ["path", "paths", "file", "files", "filename", "dir", "directory", "directories", "folder", "folders"]
)
_DAY_NAMES: Final = frozenset(["since", "until", "date", "day"])
_RESTRICTING_KEYWORDS: Final = frozenset(["const", "enum", "format", "pattern", FACTS_KEYWORD])


@dataclass(frozen=True, slots=True)
class ReaderEnvironment:
    """What the binder may know beside the clause.

    Attributes:
        today: Without it, "yesterday" and "March" are not read.
        exists: Whether the workspace has that path. Without it, whatever looks like a path is one.
        find: Where the workspace has files that are called so, or nearly so; best first. Without it, a bare name is no
            path unless it stands in the root.
        facts: What the parameters of an agent's skill can be here; None when nobody knows.
    """

    today: date | None = None
    exists: Callable[[str], bool] | None = None
    find: Callable[[str], Sequence[str]] | None = None
    facts: Callable[[str, str], Facts | None] | None = None

    def facts_of(self, agent: str, skill: str) -> Facts | None:
        """What the parameters of a skill can be here, as far as it is known."""
        return None if self.facts is None else self.facts(agent, skill)


EMPTY_ENVIRONMENT: Final = ReaderEnvironment()
"""Nothing is known but the clause itself."""


@dataclass(frozen=True)
class Parameter:
    """One property of an input schema.

    Attributes:
        schema: Its own schema; references and "or null" are resolved.
        root_schema: The schema it stands in, for what it refers to.
    """

    name: str
    schema: JsonMapping
    root_schema: JsonMapping
    required: bool

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The words of its name, lower case."""
        return tuple(word.lower() for word in _WORD.findall(self.name))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The words of its name and description without endings."""
        return frozenset(word_tokens(f"{' '.join(self.words)} {self.description}"))

    @property
    def description(self) -> str:
        """What the schema says it is."""
        return str(self.schema.get("description") or self.schema.get("title") or "")

    @property
    def type(self) -> str:
        """Its JSON type; empty when it takes several."""
        name = self.schema.get("type")
        return name if isinstance(name, str) else ""

    @cached_property
    def items(self) -> "Parameter | None":
        """What a list of it holds."""
        inside = self.schema.get("items")
        if self.type != "array" or not isinstance(inside, dict):
            return None
        return Parameter(
            self.name, _resolve_schema(cast("JsonMapping", inside), self.root_schema), self.root_schema, required=False
        )

    @cached_property
    def choices(self) -> tuple[str, ...]:
        """The texts it accepts, when they are a fixed set."""
        return tuple(self.meanings)

    @cached_property
    def meanings(self) -> Mapping[str, str]:
        """What each of the texts it accepts means; empty where nobody says."""
        options = as_list(self.schema.get("enum"))
        if not options:
            branches = as_mappings(self.schema.get("anyOf") or self.schema.get("oneOf"))
            options = [branch.get("const") for branch in branches]
        texts = as_list(self.schema.get("enumDescriptions"))
        return {
            option: str(text or "")
            for option, text in zip_longest(options, texts)
            if isinstance(option, str) and option
        }

    @property
    def facts(self) -> str:
        """Which names among the facts are its values; `path` also when its name says so, empty for none."""
        kind = self.schema.get(FACTS_KEYWORD) or (self.items and self.items.schema.get(FACTS_KEYWORD))
        if isinstance(kind, str):
            return kind
        is_text = "string" in {self.type, self.items.type if self.items else ""} and not self.choices
        return "path" if is_text and self.name_has(*_PATH_NAMES) else ""

    @property
    def accepts_dates(self) -> bool:
        """Whether a day is a value for it."""
        if self.type != "string" or self.facts:
            return False
        return self.schema.get("format") in {"date", "date-time"} or self.name_has(*_DAY_NAMES) or "day" in self.stems

    @property
    def is_free_text(self) -> bool:
        """Whether it takes any text."""
        return self.type == "string" and not (
            self.choices or self.facts or self.accepts_dates or _RESTRICTING_KEYWORDS & set(self.schema)
        )

    def name_has(self, *words: str) -> bool:
        """Whether its name has one of `words`."""
        return not set(words).isdisjoint(self.words)

    @property
    def standalone_schema(self) -> JsonMapping:
        """Its schema, with the definitions of the whole where it refers to any."""
        shared = ("$schema", "$defs", "definitions") if _has_reference(self.schema) else ("$schema",)
        return {**{key: self.root_schema[key] for key in shared if key in self.root_schema}, **self.schema}

    def accepts(self, value: object) -> bool:
        """Whether `value` passes its schema; nothing passes one that cannot be used."""
        return self._validator is not None and self._validator.is_valid(value)

    @cached_property
    def _validator(self) -> Validator | None:
        try:
            return compiled(self.standalone_schema)
        except InvalidDefinition:
            return None


def accepts_free_text(skill: Skill) -> bool:
    """Whether some of the words of a request may be any: a search text, or what one free text must be."""
    parameters = parameters_of(skill.input_schema)
    if not parameters:
        return bool(skill.instruction_field)
    return any(
        not (one.type or one.choices or one.facts)
        or (one.required and one.is_free_text and "default" not in one.schema)
        for one in parameters
    )


def parameters_of(input_schema: Mapping[str, object]) -> tuple[Parameter, ...]:
    """The parameters of a skill, in the order of its schema."""
    properties, required = as_mapping(input_schema.get("properties")), as_list(input_schema.get("required"))
    return tuple(
        Parameter(name, _resolve_schema(properties[name], input_schema), dict(input_schema), name in required)
        for name in properties
        if isinstance(properties[name], dict)  # `true` is a schema too
    )


def _has_reference(part: object) -> bool:
    """Whether anything in `part` refers to another schema."""
    if isinstance(part, dict):
        members = cast("JsonMapping", part)
        return not _REFERENCE_KEYWORDS.isdisjoint(members) or any(map(_has_reference, members.values()))
    return isinstance(part, list) and any(map(_has_reference, cast("list[object]", part)))


_REFERENCE_KEYWORDS: Final = frozenset({"$ref", "$dynamicRef", "$recursiveRef"})


def _resolve_schema(schema: JsonMapping, root: Mapping[str, object]) -> JsonMapping:
    """`schema` with its reference followed and an "or null" left out."""
    resolved = dict(schema)
    for _ in range(_MAX_REFERENCES):
        if isinstance(reference := resolved.get("$ref"), str):
            target: object = root
            for part in reference.removeprefix("#/").split("/"):  # one that points elsewhere says nothing
                target = as_mapping(target).get(part)
            resolved = {**as_mapping(target), **{key: value for key, value in resolved.items() if key != "$ref"}}
            continue
        branches = as_list(resolved.get("anyOf"))
        rest = [branch for branch in branches if branch != {"type": "null"}]
        if len(rest) != 1 or len(branches) == 1:
            break
        resolved = {**as_mapping(rest[0]), **{key: value for key, value in resolved.items() if key != "anyOf"}}
    return resolved


class FactsReader:
    """The facts of one workspace, by agent and skill. Skills that share their source of facts share what it says.

    Args:
        registry: Whose skills.
        workspace: Where.
    """

    def __init__(self, registry: Registry, workspace: Workspace) -> None:
        self._registry = registry
        self._workspace = workspace
        self._cache: dict[object, Facts | None] = {}

    def __call__(self, agent: str, skill: str) -> Facts | None:
        """The facts of a skill; None when it says none, or they cannot be read."""
        try:
            source_of: Callable[[str], Callable[[Workspace], Facts] | None] | None
            source_of = getattr(self._registry.get(agent), "facts", None)
            source = None if source_of is None else source_of(skill)
            if source is None:
                return None
            if source not in self._cache:
                self._cache[source] = None  # stays when it fails: what failed once is not asked for every skill
                self._cache[source] = source(self._workspace)
            return self._cache[source]
        except Exception as error:  # noqa: BLE001 - what facts there are is said by anybody's code
            _LOGGER.warning("the facts of %s.%s cannot be read: %s: %s", agent, skill, type(error).__name__, error)
            return None


def reader_environment(
    registry: Registry, workspace: Workspace | None, today: date | None = None, *, grants: Grants
) -> ReaderEnvironment:
    """What may be known beside the words of a request to agents of `registry`: nothing of files that `grants` hide."""
    workspace = None if workspace is None else grants.restrict_workspace(workspace)
    facts = None if workspace is None else FactsReader(registry, workspace)
    return ReaderEnvironment(today=today, exists=exists_in(workspace), find=find_in(workspace), facts=facts)


_MAX_PATHS: Final = 9
"""More files of one name than a person can choose from are not offered."""


def exists_in(workspace: Workspace | None) -> Callable[[str], bool] | None:
    """Whether something may be read at a path of `workspace`; None when there is none to look into."""
    if workspace is None:
        return None

    def exists(path: str) -> bool:
        try:
            return workspace.resolve(path).exists()
        except (RetinueError, OSError, ValueError):
            return False

    return exists


def find_in(workspace: Workspace | None) -> Callable[[str], Sequence[str]] | None:
    """Where `workspace` has files or folders that are called so, or files of the one name that it misspells."""
    return None if workspace is None else _FileFinder(workspace)


class _FileFinder:
    """The names of a workspace's files and folders; listed once somebody names one."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    def __call__(self, name: str) -> Sequence[str]:
        path = PurePosixPath(name.lower().removeprefix("./"))
        if not path.suffix and len(path.parts) == 1:
            paths = self._by_stem.get(" ".join(word_tokens(name)), [])
            ending = max((PurePosixPath(one).suffix for one in paths), key=self._endings.__getitem__, default="")
            same = [one for one in paths if PurePosixPath(one).suffix == ending]
            # The code of the product before its documents and tests; what lies higher before what lies below.
            return sorted(same, key=lambda one: (one not in self._code, one.count("/"), one))[:_MAX_PATHS]
        paths = self._by_name.get(path.name)
        if paths is None:
            correction = correct_spelling(
                path.name, [one for one in self._by_name if PurePosixPath(one).suffix == path.suffix]
            )
            paths = self._by_name[correction] if correction is not None else []
        within = [one for one in paths if f"/{one.lower()}".endswith(f"/{path}")] if len(path.parts) > 1 else paths
        return sorted(within, key=lambda one: (one.count("/"), one))[:_MAX_PATHS]

    @cached_property
    def _code(self) -> set[str]:
        """The files of code that are no tests, and the folders they lie in."""
        paths = (path for same in self._by_name.values() for path in same if kind_of(path) == "code")
        files = [PurePosixPath(path) for path in paths if not is_test(path)]
        return {str(one) for path in files for one in (path, *path.parents)}

    @cached_property
    def _by_name(self) -> dict[str, list[str]]:
        paths_by_name: dict[str, list[str]] = {}
        with suppress(RetinueError, OSError, ValueError):
            for entry in list_files(self._workspace).files:
                paths_by_name.setdefault(PurePosixPath(entry.path).name.lower(), []).append(entry.path)
        return paths_by_name

    @cached_property
    def _by_stem(self) -> dict[str, list[str]]:
        """Files and folders by the words of their names without endings."""
        paths_by_stem: dict[str, list[str]] = {}
        paths = [PurePosixPath(path) for same in self._by_name.values() for path in same]
        for path in dict.fromkeys(chain(paths, *(path.parents for path in paths))):
            if path.name:
                paths_by_stem.setdefault(" ".join(word_tokens(path.stem)), []).append(str(path))
        return paths_by_stem

    @cached_property
    def _endings(self) -> Counter[str]:
        """How many files have each ending."""
        return Counter(PurePosixPath(path).suffix for same in self._by_name.values() for path in same)
