"""A whole tree of files, judged: each file by itself, then what they owe each other."""

import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from retinue.agents.load.command import command_name
from retinue.agents.load.operations import listings_in, registries_in
from retinue.contract.definition import CallSite, Definition, Source
from retinue.contract.finding import Finding
from retinue.contract.lint import (
    Earlier,
    KnownAgent,
    Listing,
    Operation,
    Passage,
    copies,
    evolve,
    inline_behaviours,
    judge_calls,
    judge_listings,
    uncalled,
)
from retinue.contract.names import fold

from .definitions import Judged, judge
from .files import File, files_at
from .samples import judge_samples
from .shared_contract import Envelope, envelopes_in, judge_contract
from .texts import Text, known_agents
from .twice import names_twice

__all__ = ["Linted", "gather", "lint_tree"]

_USED_BY: Final = re.compile(r"\*\*Used by(?::\*\*|\*\*:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Linted:
    """What lint came to.

    Attributes:
        names: The definition files, as findings call them.
        findings: Everything found, by file and place.
    """

    names: tuple[str, ...]
    findings: tuple[Finding, ...]


def gather(paths: Iterable[Path]) -> tuple[File, ...]:
    """Every file at `paths` that counts, each once.

    Raises:
        MissingFile: There is nothing at a path.
        InvalidInput: A path is no definition, or holds more than anybody will look at.
    """
    files: dict[Path, File] = {}
    for path in paths:
        for file in files_at(path):
            files.setdefault(_real(file.path), file)  # a link to a file that is here too says nothing new
    return tuple(files.values())


def _real(path: Path) -> Path:
    return Path(os.path.realpath(path))


def lint_tree(
    files: Iterable[File], *, earlier: Sequence[Earlier] = (), catalogue: Iterable[Definition] = ()
) -> Linted:
    """Judge files, then what they owe each other, and put everything found in order.

    Args:
        files: What `gather` found.
        earlier: The definitions as they were; what would break their callers is found too.
        catalogue: Agents that are there without a file here, so that they may be called.
    """
    previous = {each.definition.name: each.definition for each in earlier}
    judged = [judge(file, previous=previous) for file in files]
    texts = {each.file.name: text for each in judged if (text := Text.of(each))}
    agents = [known for each in judged for known in known_agents(each, texts.get(each.file.name))]
    ready_made = [_ready_made(definition) for definition in catalogue]
    findings = [finding for each in judged for finding in each.findings]
    findings += _about_calls(tuple(texts.values()), agents, ready_made, judged)
    findings += judge_contract(tuple(texts.values()))
    findings += [finding for text in texts.values() for finding in judge_samples(text)]
    callers = tuple(_callers(texts.values()))
    findings += [*copies(_behaviours(texts.values()), callers), *inline_behaviours(callers)]
    findings += names_twice(judged)
    findings += _changes(judged, earlier)
    names = tuple(each.file.name for each in judged if each.file.kind != "text")
    return Linted(names, tuple(sorted(findings, key=_place)))


def _changes(judged: Iterable[Judged], earlier: Sequence[Earlier]) -> Iterator[Finding]:
    """What callers of the earlier agents would notice, each at the place of the agent as it is now."""
    ours = [each for each in judged if each.file.kind != "command"]
    homes = {id(definition): each for each in ours for definition in each.definitions}
    for change in evolve(earlier, [definition for each in ours for definition in each.definitions]):
        home = homes.get(id(change.definition))
        if home is None or change.definition is None:
            yield change.finding
        elif home.whole:
            yield home.places.placed(change.finding, file=home.file.name, source=change.definition.source)


def _place(finding: Finding) -> tuple[str, int, int, str]:
    return finding.file or "", finding.line or 0, finding.column or 0, finding.rule


def _ready_made(definition: Definition) -> KnownAgent:
    source = Source(file=definition.name)
    operations = tuple(Operation(skill.name, source) for skill in definition.skills)
    return KnownAgent(definition.name, (definition.name, *definition.aliases), operations, source)


# Calls and lists of operations.


def _about_calls(
    texts: Sequence[Text], agents: Sequence[KnownAgent], ready_made: Sequence[KnownAgent], judged: Sequence[Judged]
) -> Iterator[Finding]:
    calls: list[CallSite] = []
    listings: list[Listing] = []
    names = frozenset(fold(name) for agent in agents for name in agent.names)
    for text in texts:
        calls += text.calls
        listings += listings_in(text.outline, file=text.name, agents=names, own=text.agent)
        listings += _shown(text)
        for fence in text.outline.fences:
            if fence.kind in {"python", "py"}:
                listings += registries_in(fence.text, file=text.name, fence=fence)
    for each in judged:
        if each.file.path.suffix.lower() == ".py":
            listings += registries_in(each.file.text, file=each.file.name)
    commands = [command_name(each.file.name) for each in judged if each.file.kind == "command"]
    sure = frozenset(call.source for text in texts for call in text.calls if _says_who_uses_it(text, call))
    documents = frozenset(text.name for text in texts if text.file.kind == "text")
    yield from judge_calls(agents, calls, commands=commands, sure=sure, documents=documents, ready_made=ready_made)
    yield from judge_listings(agents, listings, ready_made=ready_made)
    yield from uncalled(agents, calls)


def _says_who_uses_it(text: Text, call: CallSite) -> bool:
    """Whether a command stands in the line of an agent's header that lists its callers."""
    return call.form == "command" and _USED_BY.match(text.outline.lines[(call.source.line or 1) - 1]) is not None


def _shown(text: Text) -> Iterator[Listing]:
    """The operations that the example answers of an agent's own file speak of."""
    for envelope in envelopes_in(text) if text.agent else ():
        operation = _operation(envelope, text)
        if operation:
            yield Listing(text.agent or "", (operation,), operation.source, complete=False)


def _operation(envelope: Envelope, text: Text) -> Operation | None:
    found = envelope.operation
    if found is None:
        return None
    line, column = envelope.fence.place(found.start(1))
    return Operation(found[1], Source(file=text.name, line=line, column=column))


# Behaviours and who may have copied them.


def _behaviours(texts: Iterable[Text]) -> Iterator[Passage]:
    for text in texts:
        if text.agent is not None:
            yield _passage(text, text.agent)


def _callers(texts: Iterable[Text]) -> Iterator[Passage]:
    """Commands, skills and prompts. A document may well say what an agent does."""
    for text in texts:
        if text.file.kind in {"command", "skill"} or "prompts" in text.folder.split("/"):
            yield _passage(text, text.name)


def _passage(text: Text, name: str) -> Passage:
    """The body of a text: what its front matter says is nobody's behaviour."""
    body = text.outline.body
    return Passage(name, text.name, "\n".join(text.outline.lines[body - 1 :]), body)
