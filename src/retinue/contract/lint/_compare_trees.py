"""Two versions of a whole tree: which agent is an earlier one now, and what its callers would notice (A27, A28)."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from retinue.contract.definition import Definition
from retinue.contract.finding import Finding, Severity
from retinue.contract.names import fold

from ._compare import compare
from .rules import make_finding


@dataclass(frozen=True, slots=True)
class EarlierDefinition:
    """A definition as it was.

    Attributes:
        file: Where it stood, as the file is called today.
    """

    definition: Definition
    file: str


@dataclass(frozen=True, slots=True)
class ContractChange:
    """Something that a caller notices.

    Attributes:
        definition: The agent as it is now; None when there is none any more.
    """

    definition: Definition | None
    finding: Finding


def compare_trees(earlier: Iterable[EarlierDefinition], now: Sequence[Definition]) -> Iterator[ContractChange]:
    """Say what in a tree would break callers of what was there before.

    An earlier agent is the one of its name and major version today, first the one in the same file; else the one that
    took its name as an alias. A new major version beside the old one breaks nobody.
    """
    by_name: dict[str, list[Definition]] = {}
    for definition in now:
        for name in dict.fromkeys((definition.name, *map(fold, definition.aliases))):
            by_name.setdefault(name, []).append(definition)
    for each in earlier:
        old = each.definition
        heirs = by_name.get(old.name, [])
        new = min(heirs, key=lambda heir: _distance(each, heir), default=None)
        if new is None:
            yield ContractChange(None, _removed(each))
            continue
        if new.major > old.major:
            yield ContractChange(new, _superseded(old, new))
        for finding in compare(old, new):
            yield ContractChange(new, finding)


def _distance(earlier: EarlierDefinition, heir: Definition) -> tuple[bool, bool, bool, int]:
    """How far an agent of today is from what an earlier one was."""
    old = earlier.definition
    is_moved = heir.source is None or heir.source.file != earlier.file
    return heir.major != old.major, heir.name != old.name, is_moved, -heir.major


def _removed(earlier: EarlierDefinition) -> Finding:
    old = earlier.definition
    # Who was told to go elsewhere had time to.
    severity: Severity = "warning" if old.deprecated else "error"
    message = f"The agent `{old.name}` is gone, and nobody answers to its name."
    fix = "Keep it and mark it deprecated, or make its name an alias of the one that takes over."
    return make_finding(
        "compatibility/agent-removed", "", message, fix, severity=severity, file=earlier.file, line=1, column=1
    )


def _superseded(old: Definition, new: Definition) -> Finding:
    message = f"Version {new.version} of `{new.name}` took the place of {old.version}, which is gone."
    fix = f"Keep {old.version} beside it, as `{old.name}_v{old.major}`, for as long as it has callers."
    return make_finding("compatibility/agent-removed", "/version", message, fix, severity="warning")
