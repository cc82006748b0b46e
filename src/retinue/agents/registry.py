"""Who there is: agents by name, alias, wire name and version. Where they come from is the business of `discover`."""

import re
import unicodedata
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from retinue.agents.port import Agent
from retinue.contract import names
from retinue.contract.definition import Definition
from retinue.contract.finding import Finding
from retinue.contract.version import split_versioned_name
from retinue.errors import InvalidDefinition, UnknownName

__all__ = ["LIVE_MAJORS", "Registry", "Skipped"]

LIVE_MAJORS: Final = 2
"""How many majors of one agent may live side by side before the registry warns (C11, A28)."""

_SHOWN: Final = 20
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


class Registry:
    """Agents by every name they answer to.

    A name without a version means the oldest live major: whoever called `x` before there was an `x_v2` still gets
    what they called (A28). A newer one is asked for: `x_v2`, `x@2`, or `major=2`.

    Attributes:
        skipped: The files that were passed over, with reasons.
        findings: What else there is to say about the agents and their files.
    """

    def __init__(self, agents: Iterable[Agent] = ()) -> None:
        self._majors: dict[str, dict[int, Agent]] = {}
        self._claims: dict[str, _Claim] = {}
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
        definition = agent.definition
        self._see_no_version_in(definition)
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
        self._see_free(keys, definition)
        for key in keys:
            others = self._claims[key].majors if key in self._claims else ()
            self._claims[key] = _Claim(definition.name, tuple(sorted({*others, definition.major})))
        self._majors[definition.name] = {**majors, definition.major: agent}
        self._see_window(definition)

    def get(self, name: str, *, major: int | None = None) -> Agent:
        """The agent called `name`: canonical name, alias, wire name, any spelling of them, `x_v2` or `x@2`.

        Raises:
            UnknownName: Nobody is called that, or not in that major; `suggestions` says what there is, nearest first.
        """
        claim, said = self._resolve(name)
        if claim is None:
            raise self._unknown(name)
        if said is not None and major is not None and said != major:
            raise UnknownName(f"{name!r} says major {said}, and major {major} is asked for.", hint="Ask for one.")
        majors = self._majors[claim.agent]
        wanted = next((each for each in (said, major) if each is not None), claim.majors[0])
        if wanted not in majors:
            there = tuple(f"{claim.agent}@{each}" for each in sorted(majors))
            raise UnknownName(
                f"`{claim.agent}` has no major {wanted}.", hint=f"There is: {', '.join(there)}.", suggestions=there
            )
        return majors[wanted]

    def agents(self) -> tuple[Agent, ...]:
        """Every agent, by name and then by major."""
        return tuple(majors[major] for _, majors in sorted(self._majors.items()) for major in sorted(majors))

    def definitions(self) -> tuple[Definition, ...]:
        """What every agent says of itself, by name and then by major."""
        return tuple(agent.definition for agent in self.agents())

    def majors(self, name: str) -> tuple[int, ...]:
        """The live majors of the agent called `name`, oldest first; none when nobody is called that."""
        claim, _ = self._resolve(name)
        return tuple(sorted(self._majors[claim.agent])) if claim else ()

    def __len__(self) -> int:
        return sum(map(len, self._majors.values()))

    def __iter__(self) -> Iterator[Agent]:
        return iter(self.agents())

    def _resolve(self, name: str) -> tuple["_Claim | None", int | None]:
        """Who answers to `name`, and the major it says."""
        if name in self._claims:  # written as we write it: nothing to fold
            return self._claims[name], None
        at = _AT_MAJOR.fullmatch(name)
        if at:
            return self._claims.get(_key(at[1])), int(at[2])
        key = _key(name)
        if key in self._claims:
            return self._claims[key], None
        bare, major = split_versioned_name(key)
        return self._claims.get(bare), major

    def _unknown(self, name: str) -> UnknownName:
        there = sorted(self._majors)
        near = names.nearest(name, [*there, *sorted(self._claims)])
        owners = (self._claims[each].agent if each in self._claims else each for each in near)
        said = tuple(dict.fromkeys((*owners, *there)))
        more = f" and {len(said) - _SHOWN} more" if len(said) > _SHOWN else ""
        hint = f"There is: {', '.join(said[:_SHOWN])}{more}." if said else "No agent is registered."
        message = f"No agent is called {name[:200]!r}."
        left_out = sorted({each.file or "" for each in self.findings if each.rule == "discovery/not-trusted"})
        if left_out:
            shown = ", ".join(map(repr, left_out[:_SHOWN]))
            message = f"{message} {shown} may define it, but this folder is not trusted to bring code."
            hint = f"Look at it, then run `retinue trust`. {hint}"
        return UnknownName(message, hint=hint, suggestions=said[:_SHOWN])

    def _see_no_version_in(self, definition: Definition) -> None:
        bare, major = split_versioned_name(definition.name)
        if major is not None:
            raise InvalidDefinition(
                f"The name `{definition.name}` carries a version.",
                hint=f"Call it `{bare}`, with `version` {f'{major}.0'!r}; it then answers to `{definition.name}` too.",
            )

    def _see_free(self, keys: dict[str, str], definition: Definition) -> None:
        claims = {key: self._claims[key].agent for key in keys if key in self._claims}
        taken = {key: owner for key, owner in claims.items() if owner != definition.name}
        if not taken:
            return
        said = "; ".join(
            f"{keys[key]!r} is a name of `{owner}` ({_origin(next(iter(self._majors[owner].values())).definition)})"
            for key, owner in taken.items()
        )
        raise InvalidDefinition(
            f"`{definition.name}` ({_origin(definition)}) cannot have all its names: {said}.",
            hint="Rename one of the two, or remove the alias.",
            suggestions=tuple(taken.values()),
        )

    def _see_window(self, definition: Definition) -> None:
        live = sorted(self._majors[definition.name])
        if len(live) > LIVE_MAJORS:
            message = f"`{definition.name}` has {len(live)} live majors: {', '.join(map(str, live))}."
            fix = f"Retire the oldest; {LIVE_MAJORS} may live side by side."
            self.findings += (Finding(rule="registry/too-many-majors", message=message, severity="warning", fix=fix),)


@dataclass(frozen=True, slots=True)
class _Claim:
    """Whose a name is, and which majors of that agent say so, oldest first."""

    agent: str
    majors: tuple[int, ...]


def _names(definition: Definition) -> tuple[str, ...]:
    """Every name of an agent, but those that only add the major to its name: any major has these."""
    said = (*definition.aliases, *definition.wire_names.values())
    return (definition.name, *(name for name in said if split_versioned_name(_key(name))[0] != definition.name))


def _key(name: str) -> str:
    """The form in which names are compared. Folding would lose letters of other scripts, so those stay as they are."""
    plain = unicodedata.normalize("NFKD", name)
    lost = any(character.isalnum() and not character.isascii() for character in plain)
    return " ".join(plain.casefold().split()) if lost else names.fold(name)


def _origin(definition: Definition) -> str:
    """Where a definition was written."""
    source = definition.source
    if source is None:
        return f"`{definition.name}` without a source"
    return f"{source.file}:{source.line}" if source.line else source.file
