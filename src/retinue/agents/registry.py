"""Agents by name, alias, wire name and version, and the list of them for a model. `discover` finds them."""

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Final
from weakref import WeakKeyDictionary

from retinue.agents.port import Agent, Reply, RunContext
from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.old_names import with_old_names
from retinue.contract.sanitize import printable
from retinue.contract.task import Task
from retinue.contract.version import split_versioned_name
from retinue.errors import InvalidDefinition, RetinueError, UnknownName

LIVE_MAJORS: Final = 2
"""How many majors of one agent may live side by side before the registry warns (C11, A28)."""

_BUILT_IN: Final = "retinue:"
"""Before the name of a built-in agent: this one is meant, even if another agent has that name."""

_MAX_SHOWN: Final = 20
_AT_MAJOR = re.compile(r"(.+)@([0-9]{1,9})")


@dataclass(frozen=True, slots=True)
class Skipped:
    """A file that was looked at and gave no agent, or not all it holds.

    Attributes:
        path: The file, relative to the folder that was searched.
        reason: Why, in one sentence.
        line: Where in the file, from 1.
        hint: What to do about it.
    """

    path: str
    reason: str
    line: int | None = None
    hint: str = ""


@with_old_names(contest="mark_ambiguous", offered="selectable")
class Registry:
    """Agents by every name they answer to.

    A name without a version means the oldest live major: a call of `x` from before there was an `x_v2` still gets
    the same agent (A28). A newer one is asked for: `x_v2`, `x@2`, or `major=2`.

    Attributes:
        skipped: The files that were passed over, with reasons.
        findings: What else there is to say about the agents and their files.
        built_in: The agents that `add_built_in` was given.
        hidden: The names of built-in agents whose own name belongs to another agent.
        unrouted: The names of agents that are asked only where they are named.
    """

    def __init__(self, agents: Iterable[Agent] = ()) -> None:
        self._majors: dict[str, dict[int, Agent]] = {}
        self._owners: dict[str, _NameOwner] = {}
        self._ambiguous: dict[str, RetinueError] = {}
        self.built_in: tuple[Agent, ...] = ()
        self.hidden: frozenset[str] = frozenset()
        self.unrouted: frozenset[str] = frozenset()
        self.skipped: tuple[Skipped, ...] = ()
        self.findings: tuple[Finding, ...] = ()
        for agent in agents:
            self.add(agent)

    def add(self, agent: Agent) -> None:
        """Add an agent under all its names; nothing is added when one of them is taken.

        Raises:
            InvalidDefinition: The same name and major are there already, or a name belongs to another agent (C10); or
                the name carries a version, which belongs into `version`.
        """
        if self.built_in:
            # Add an agent that comes late, as if it had been there before the built-in ones.
            own = [each for majors in self._majors.values() for each in majors.values() if not self.is_built_in(each)]
            registry = Registry([*own, agent])
            registry._ambiguous = self._ambiguous
            registry.add_built_in(self.built_in)
            self._majors, self._owners, self.hidden = registry._majors, registry._owners, registry.hidden
        else:
            self._add(agent)

    def _add(self, agent: Agent) -> None:
        definition = agent.definition
        base_name, major = split_versioned_name(definition.name)
        if major is not None:
            raise InvalidDefinition(
                f"The name `{definition.name}` carries a version.",
                hint=f"Call it `{base_name}`, with `version` '{major}.0'; it then answers to `{definition.name}` too.",
            )
        majors = self._majors.get(definition.name, {})
        present = majors.get(definition.major)
        if present is agent:
            return
        if present is not None:
            raise InvalidDefinition(
                f"Two agents are called `{definition.name}` with major {definition.major}: "
                f"{_origin(present.definition)} and {_origin(definition)}.",
                hint="Rename one, or give it another major version.",
            )
        keys = {key: name for name in _names(definition) if (key := _key(name))}
        claims = {key: self._owners[key].agent for key in keys if key in self._owners}
        conflicts = {key: owner for key, owner in claims.items() if owner != definition.name}
        if conflicts:
            clashes = "; ".join(
                f"{keys[key]!r} is a name of `{owner}` ({_origin(next(iter(self._majors[owner].values())).definition)})"
                for key, owner in conflicts.items()
            )
            raise InvalidDefinition(
                f"`{definition.name}` ({_origin(definition)}) cannot have all its names: {clashes}.",
                hint="Rename one of the two, or remove the alias.",
                suggestions=tuple(conflicts.values()),
            )
        for key in keys:
            known_majors = self._owners[key].majors if key in self._owners else ()
            self._owners[key] = _NameOwner(definition.name, tuple(sorted({*known_majors, definition.major})))
        self._majors[definition.name] = {**majors, definition.major: agent}
        live = sorted(self._majors[definition.name])
        if len(live) > LIVE_MAJORS:
            message = f"`{definition.name}` has {len(live)} live majors: {', '.join(map(str, live))}."
            fix = f"Retire the oldest; {LIVE_MAJORS} may live side by side."
            self.findings += (Finding(rule="registry/too-many-majors", message=message, severity="warning", fix=fix),)

    def is_built_in(self, agent: Agent) -> bool:
        """Whether an agent came with the installation."""
        return isinstance(agent, _BuiltIn) or any(each is agent for each in self.built_in)

    def add_built_in(self, agents: Iterable[Agent]) -> None:
        """Add the agents that come with the installation, after all others: a name that is taken stays taken.

        Each answers to `retinue:name` as well. One whose own name is taken answers to nothing else and is not offered
        for goals; what another built-in agent plans for it still reaches it.

        Raises:
            InvalidDefinition: Two of them have the same name.
        """
        built_in = Registry(agents)
        taken_names = {*self._owners, *self._ambiguous}
        new_names = {name: names.fold(_BUILT_IN + name) for name in built_in._majors if _key(name) in taken_names}
        for agent in built_in.agents():
            original = agent.definition
            aliases = tuple(name for name in original.aliases if _key(name) not in taken_names)
            wire_names = {
                dialect: name for dialect, name in original.wire_names.items() if _key(name) not in taken_names
            }
            if original.name in new_names:
                aliases, wire_names = (_BUILT_IN + original.name,), {}
            name = new_names.get(original.name, original.name)
            definition = original.model_copy(update={"name": name, "aliases": aliases, "wire_names": wire_names})
            changed = definition != original or (new_names and original.composes)
            self._add(_BuiltIn(agent, definition, new_names) if changed else agent)
            for name in _names(original):
                self._owners.setdefault(_key(_BUILT_IN + name), _NameOwner(definition.name, (definition.major,)))
        self.built_in, self.hidden = built_in.agents(), frozenset(new_names.values())

    def mark_ambiguous(self, definition: Definition, error: RetinueError) -> None:
        """Let no agent have the names that `definition` shares with one that is there (C10).

        Asking for one of them raises `error`; which of the two was read first decides nothing.
        """
        shared = (key for name in _names(definition) if (key := _key(name)) in self._owners)
        self._ambiguous.update(dict.fromkeys(shared, error))

    def get(self, name: str, *, major: int | None = None) -> Agent:
        """The agent called `name`: canonical name, alias, wire name, any spelling of them, `x_v2` or `x@2`.

        Raises:
            UnknownName: There is no such agent, or not in that major; `suggestions` says what there is, nearest first.
            InvalidDefinition: Two agents have that name.
        """
        claim, stated_major = self._resolve(name)
        if claim is None:
            raise self._unknown_name(name)
        if stated_major is not None and major is not None and stated_major != major:
            raise UnknownName(
                f"{name!r} says major {stated_major}, and major {major} is asked for.", hint="Ask for one."
            )
        majors = self._majors[claim.agent]
        chosen_major = next((each for each in (stated_major, major) if each is not None), claim.majors[0])
        if chosen_major not in majors:
            available = tuple(f"{claim.agent}@{each}" for each in sorted(majors))
            raise UnknownName(
                f"`{claim.agent}` has no major {chosen_major}.",
                hint=f"Available: {', '.join(available)}.",
                suggestions=available,
            )
        return majors[chosen_major]

    def agents(self) -> tuple[Agent, ...]:
        """Every agent, by name and then by major; none whose name belongs to two."""
        return tuple(
            majors[major]
            for name, majors in sorted(self._majors.items())
            if _key(name) not in self._ambiguous
            for major in sorted(majors)
        )

    def definitions(self) -> tuple[Definition, ...]:
        """What every agent says of itself, by name and then by major."""
        return tuple(agent.definition for agent in self.agents())

    def selectable(self) -> tuple[Definition, ...]:
        """The definitions among which a goal's agents are chosen: all but the hidden and the unrouted ones."""
        left_out = self.hidden | self.unrouted
        return tuple(each for each in self.definitions() if each.name not in left_out)

    def majors(self, name: str) -> tuple[int, ...]:
        """The live majors of the agent called `name`, oldest first; empty when there is no such agent."""
        claim, _ = self._resolve(name)
        return tuple(sorted(self._majors[claim.agent])) if claim else ()

    def __len__(self) -> int:
        return sum(map(len, self._majors.values()))

    def __iter__(self) -> Iterator[Agent]:
        return iter(self.agents())

    def _resolve(self, name: str) -> tuple["_NameOwner | None", int | None]:
        """Who answers to `name`, and the major it says.

        Raises:
            InvalidDefinition: Two agents do.
        """
        if name in self._owners:  # written as we write it: nothing to fold
            return self._owner(name), None
        at = _AT_MAJOR.fullmatch(name)
        if at:
            return self._owner(_key(at[1])), int(at[2])
        key = _key(name)
        if key in self._owners:
            return self._owner(key), None
        base_name, major = split_versioned_name(key)
        return self._owner(base_name), major

    def _owner(self, key: str) -> "_NameOwner | None":
        if key in self._ambiguous:
            raise self._ambiguous[key]
        return self._owners.get(key)

    def _unknown_name(self, name: str) -> UnknownName:
        available = sorted(self._majors)
        matches = names.nearest(name, [*available, *sorted(self._owners)])
        owners = (self._owners[each].agent if each in self._owners else each for each in matches)
        suggestions = tuple(dict.fromkeys((*owners, *available)))
        more = f" and {len(suggestions) - _MAX_SHOWN} more" if len(suggestions) > _MAX_SHOWN else ""
        hint = f"Available: {', '.join(suggestions[:_MAX_SHOWN])}{more}." if suggestions else "No agent is registered."
        message = f"Unknown agent {name[:200]!r}."
        untrusted = sorted({each.file or "" for each in self.findings if each.rule == "discovery/not-trusted"})
        if untrusted:
            files = ", ".join(map(repr, untrusted[:_MAX_SHOWN]))
            message = f"{message} {files} may define it, but this folder is not trusted to bring code."
            hint = f"Review it, then run `retinue trust`. {hint}"
        return UnknownName(message, hint=hint, suggestions=suggestions[:_MAX_SHOWN])


@dataclass(frozen=True, slots=True)
class _NameOwner:
    """Whose a name is, and which majors of that agent say so, oldest first."""

    agent: str
    majors: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _BuiltIn:
    """A built-in agent under the names that are left for it.

    Attributes:
        new_names: The names of built-in agents that belong to others, and what those answer to instead.
    """

    agent: Agent
    definition: Definition
    new_names: Mapping[str, str]

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Have the agent run; a plan of its own is for the agents that it came with."""
        reply = await self.agent.run(task, run)
        if reply.plan is None:
            return reply
        nodes = tuple(
            node.model_copy(update={"agent": self.new_names.get(node.agent, node.agent)}) for node in reply.plan.nodes
        )
        return replace(reply, plan=reply.plan.model_copy(update={"nodes": nodes}))


def _names(definition: Definition) -> tuple[str, ...]:
    """Every name of an agent, but those that only add the major to its name: any major has these."""
    others = (*definition.aliases, *definition.wire_names.values())
    return (definition.name, *(name for name in others if split_versioned_name(_key(name))[0] != definition.name))


@lru_cache(maxsize=8_192)
def _key(name: str) -> str:
    """The form in which names are compared. Folding would lose letters of other scripts and invisible characters."""
    if name.isascii() and name.isprintable():
        return names.fold(name)
    normal = unicodedata.normalize("NFKD", name)
    is_lossy = any(not each.isprintable() or not (each.isascii() or unicodedata.combining(each)) for each in normal)
    return " ".join(normal.casefold().split()) if is_lossy else names.fold(name)


def _origin(definition: Definition) -> str:
    """Where a definition was written."""
    source = definition.source
    if source is None:
        return f"`{definition.name}` without a source"
    return f"{source.file}:{source.line}" if source.line else source.file


_LONGEST: Final = 200
_CACHE: Final[WeakKeyDictionary[Registry, tuple[int, str]]] = WeakKeyDictionary()


def light_schema(definitions: Iterable[Definition]) -> str:
    """One paragraph for each agent: its name and first sentence, then a line for each skill that can be called.

        weather_reporter — Tells the weather of a city
        - forecast: Says what the weather will be EX: "will it rain in Vienna tomorrow"

    An agent with several live majors stands there once, as the oldest: it answers to the bare name. Every text is one
    line, whatever its author wrote.
    """
    oldest: dict[str, Definition] = {}
    for definition in definitions:
        current = oldest.get(definition.name)
        if current is None or definition.major < current.major:
            oldest[definition.name] = definition
    paragraphs: list[str] = []
    for definition in oldest.values():
        lines = [f"{definition.name} — {_first_sentence(definition.description)}"]
        for skill in definition.skills:
            if not skill.unavailable:
                line = f"- {skill.name}: {_first_sentence(skill.description)}"
                example = next((sentence for text in skill.examples if (sentence := one_line(text))), "")
                lines.append(f'{line} EX: "{example}"' if example else line)
        if len(lines) > 1:
            paragraphs.append("\n".join(lines))
    return "\n\n".join(paragraphs)


def light_schema_of(registry: Registry) -> str:
    """The light schema of all agents in `registry`, made once and anew when an agent has been added."""
    cached = _CACHE.get(registry)
    if cached is None or cached[0] != len(registry):
        cached = _CACHE[registry] = (len(registry), light_schema(registry.selectable()))
    return cached[1]


def _first_sentence(text: str) -> str:
    line = one_line(text)
    return line.partition(". ")[0].removesuffix(".")


def one_line(text: str, limit: int = _LONGEST) -> str:
    """`text` as one line without invisible characters, cut after `limit` characters."""
    line = " ".join(printable(text[: limit * 4]).split())
    return line if len(line) <= limit else f"{line[: limit - 1].rstrip()}…"
