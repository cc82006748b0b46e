"""Who is called, by which operation, and whether agents, callers, documents and registries agree (C27).

Whoever knows nothing of an agent says nothing of its callers: without any agent nobody is unknown, and an agent whose
operations were not found may have any.
"""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from functools import cache
from typing import Final

from retinue.contract.definition import CallSite, Source
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import short_repr
from retinue.contract.names import fold, nearest

from .rules import make_finding

_BUILT_IN: Final = frozenset(
    {"claude", "claude_code_guide", "explore", "fork", "general_purpose", "output_style_setup", "plan",
     "statusline_setup"}
)  # fmt: skip
"""Agents that the programs bring along which run Markdown agents."""
_PLACEHOLDERS: Final = frozenset(
    {"a", "agent", "agent_name", "agent_type", "an", "any", "each", "example_agent", "my_agent", "name", "some_agent",
     "specialist_agent", "subagent", "subagent_name", "subagent_type", "that", "the", "the_agent", "this", "your",
     "your_agent", "your_agent_name"}
)  # fmt: skip
"""Names that stand for a name."""
_COMMANDS: Final = frozenset(
    {"/add-dir", "/agents", "/bug", "/clear", "/compact", "/config", "/context", "/cost", "/doctor", "/exit", "/export",
     "/feedback", "/help", "/hooks", "/ide", "/init", "/install-github-app", "/login", "/logout", "/loop", "/mcp",
     "/memory", "/model", "/output-style", "/permissions", "/plan", "/plugin", "/pr-comments", "/quit",
     "/release-notes", "/resume", "/review", "/rewind", "/sandbox", "/security-review", "/skills", "/stats", "/status",
     "/statusline", "/tasks", "/terminal-setup", "/todos", "/usage", "/vim"}
)  # fmt: skip
"""Commands that such programs bring along."""
_MAX_GUESSES: Final = 50
"""So many unknown agents get a "did you mean": comparing spellings takes longer than anything else here."""
_MIN_SLIP_LENGTH: Final = 6
_MAX_SLIPS: Final = 200
_SIMILARITY_THRESHOLD: Final = 0.85
"""How alike two names are of which one is a slip of the pen."""


@dataclass(frozen=True, slots=True)
class Operation:
    """The name of an operation, where it stands."""

    name: str
    source: Source


@dataclass(frozen=True, slots=True)
class KnownAgent:
    """An agent as its own file tells of it.

    Attributes:
        names: Whatever it answers to.
        operations: What it can be asked; empty when that is not known.
    """

    name: str
    names: tuple[str, ...]
    operations: tuple[Operation, ...]
    source: Source

    def has_operation(self, operation: str) -> bool:
        """Whether an operation is one of its own, however it is spelt."""
        return fold(operation) in {fold(each.name) for each in self.operations}


@dataclass(frozen=True, slots=True)
class OperationListing:
    """A place that says which operations an agent has.

    Attributes:
        agent: Whose, as it is written there.
        complete: It means to name all of them.
        registry: It means to name all agents, too.
    """

    agent: str
    operations: tuple[Operation, ...]
    source: Source
    complete: bool
    registry: bool = False


def check_calls(
    agents: Iterable[KnownAgent],
    calls: Iterable[CallSite],
    *,
    commands: Iterable[str] = (),
    certain_sources: Collection[Source] = (),
    documents: Collection[str] = (),
    ready_made: Iterable[KnownAgent] = (),
) -> Iterator[Finding]:
    """Every call of an agent, an operation or a command that there is not (K21).

    Args:
        agents: Those of the files; only where there is one can another be unknown.
        calls: Whatever calls one.
        commands: The slash commands there are, as they are typed.
        certain_sources: Where a word with a stroke is plainly a command. Elsewhere it may be a path or a route, so that
            only a
            slip of the pen is taken for a call.
        documents: Files that only tell of calls, often of made-up ones: there a stranger is for information.
        ready_made: Agents that are there without a file. One of the files hides those of its name.
    """
    by_name, others = _agents_by_name(agents), _agents_by_name(ready_made)
    guess = _guesser(by_name, others)
    by_name = {**others, **by_name} if by_name else {}
    command_index = _CommandIndex(commands)
    for call in calls:
        if call.form == "command":
            yield from command_index.check(call, is_certain=call.source in certain_sources)
            continue
        name = fold(call.agent.rpartition(":")[2])
        agent = by_name.get(name)
        if agent is not None and call.skill and agent.operations and not agent.has_operation(call.skill):
            message, fix, near = _describe_unknown(agent, call.skill)
            replace = (call.skill, near) if near else None
            yield _finding_at(call.source, "call/operation", message, fix, replace=replace)
        elif agent is None and by_name and len(name) > 2 and name not in _BUILT_IN | _PLACEHOLDERS:
            yield _unknown_agent(call.agent, call.source, guess(call.agent), document=call.source.file in documents)


def check_listings(
    agents: Iterable[KnownAgent], listings: Iterable[OperationListing], *, ready_made: Iterable[KnownAgent] = ()
) -> Iterator[Finding]:
    """Every place that lists an agent's operations otherwise than its own file does."""
    by_name, others = _agents_by_name(agents), _agents_by_name(ready_made)
    guess = _guesser(by_name, others)
    by_name = {**others, **by_name} if by_name else {}
    for listing in listings:
        agent = by_name.get(fold(listing.agent))
        if agent is None and by_name and listing.registry:
            yield _unknown_agent(listing.agent, listing.source, guess(listing.agent))
        if agent is None or not agent.operations:
            continue
        unknown_operations = [each for each in listing.operations if not agent.has_operation(each.name)]
        for each in unknown_operations:
            message, fix, _ = _describe_unknown(agent, each.name)
            yield _finding_at(each.source, "operation/differs", message, fix)
        listed_names = {fold(each.name) for each in listing.operations}
        missing = [each.name for each in agent.operations if fold(each.name) not in listed_names]
        if listing.complete and missing and (unknown_operations or listed_names):
            message = f"`{agent.name}` also has {_quote_all(missing)}: not listed here."
            fix = f"List what {agent.source.file} lists."
            yield _finding_at(listing.source, "operation/differs", message, fix, severity="warning")


def find_uncalled(agents: Iterable[KnownAgent], calls: Iterable[CallSite]) -> Iterator[Finding]:
    """Operations that nobody asks for, of agents whose other operations somebody does."""
    requests_by_agent: dict[str, set[str]] = {}
    for call in calls:
        if call.skill:
            requests_by_agent.setdefault(fold(call.agent.rpartition(":")[2]), set()).add(fold(call.skill))
    for agent in agents:
        requests = set[str]().union(*(requests_by_agent.get(fold(name), ()) for name in agent.names))
        if not any(fold(each.name) in requests for each in agent.operations):
            continue
        for each in agent.operations:
            if fold(each.name) not in requests:
                message = f"No caller asks `{agent.name}` for {short_repr(each.name)}."
                yield _finding_at(each.source, "call/uncalled", message, "Ask for it, or remove it.")


class _CommandIndex:
    """The slash commands there are. A folder or a plugin in front of a name may be left out."""

    def __init__(self, commands: Iterable[str]) -> None:
        self._typed = {_base_name(command): command for command in commands}
        self._slips: dict[str, str] = {}

    def check(self, call: CallSite, *, is_certain: bool) -> Iterator[Finding]:
        """What is wrong with a call of a command; nothing where there are no commands."""
        name = _base_name(call.agent)
        if not self._typed or name in self._typed or name in _COMMANDS:
            return
        if name not in self._slips and len(name) >= _MIN_SLIP_LENGTH and len(self._slips) < _MAX_SLIPS:
            matches = get_close_matches(name, self._typed, n=1, cutoff=_SIMILARITY_THRESHOLD)
            self._slips[name] = self._typed[matches[0]] if matches else ""
        near = self._slips.get(name, "")
        if near or is_certain:
            fix = f"Did you mean `{near}`?" if near else "Name a command that is here."
            message = f"There is no command {short_repr(call.agent)} here."
            yield _finding_at(call.source, "call/agent", message, fix, severity="warning")


def _base_name(command: str) -> str:
    """`/plan` of `/plan` and of `/team:plan`."""
    return "/" + command.removeprefix("/").rpartition(":")[2]


def _describe_unknown(agent: KnownAgent, name: str) -> tuple[str, str, str]:
    """What is wrong, what to do, and the operation that was meant, if one is near."""
    own = [each.name for each in agent.operations]
    near = next(iter(nearest(name, own, limit=1)), "")
    fix = f"Did you mean `{near}`?" if near else f"It has {_quote_all(own)}."
    return f"`{agent.name}` has no operation {short_repr(name)}.", fix, near


def _unknown_agent(name: str, source: Source, near: str, *, document: bool = False) -> Finding:
    # A stranger may live elsewhere, in the user's own folder or in a plugin; a slip of the pen does not: it is
    # mistyped, or lacks the name of its family in front.
    one, other = fold(name), fold(near)
    slip = bool(near) and (
        one.endswith(f"_{other}")
        or other.endswith(f"_{one}")
        or SequenceMatcher(None, one, other).ratio() >= _SIMILARITY_THRESHOLD
    )
    severity: Severity = "error" if slip else "info" if document else "warning"
    fix = f"Did you mean `{near}`?" if near else "Add its file, or call one that is here."
    message = f"There is no agent {short_repr(name)} here."
    return _finding_at(source, "call/agent", message, fix, severity=severity, replace=(name, near) if slip else None)


def _agents_by_name(agents: Iterable[KnownAgent]) -> Mapping[str, KnownAgent]:
    """The agents by each of their names; of several with one name, the one whose operations are known."""
    by_name: dict[str, KnownAgent] = {}
    for agent in agents:
        for name in agent.names:
            if fold(name) not in by_name or (agent.operations and not by_name[fold(name)].operations):
                by_name[fold(name)] = agent
    return by_name


def _guesser(*tables: Mapping[str, KnownAgent]) -> Callable[[str], str]:
    """What a name was meant to be, by the first table with one like it; asked too often, it no longer compares."""
    choices = [sorted({agent.name for agent in table.values()}) for table in tables]
    remaining = iter(range(_MAX_GUESSES))

    @cache
    def guess(name: str) -> str:
        if next(remaining, None) is None:
            return ""
        return next((near[0] for names in choices if (near := nearest(name, names, limit=1))), "")

    return guess


def _quote_all(names: Iterable[str]) -> str:
    return ", ".join(f"`{name}`" for name in names)


def _finding_at(
    source: Source,
    rule: str,
    message: str,
    fix: str,
    *,
    severity: Severity | None = None,
    replace: tuple[str, str] | None = None,
) -> Finding:
    line, column = source.line or 1, source.column or 1
    return make_finding(
        rule, "", message, fix, severity=severity, file=source.file, line=line, column=column, replace=replace
    )
