"""What an agent may use: the tools and effects it was granted, and the rules that allow a call, ask first, or deny it.

A grant only ever narrows: whoever works for somebody is bound by that one's grants as well as by its own, so nobody's
tools are wider than its parent's. The guard is here, not in anybody's good will: text that a model read changes
nothing.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any, Final, Literal, TypeAlias

from retinue.contract.definition import Effect
from retinue.contract.tool import ToolSpec

__all__ = ["ALL", "READ_ONLY", "Grants", "ToolRule", "Verdict", "VerdictWord"]

VerdictWord: TypeAlias = Literal["allow", "ask", "deny"]

_STRICTER: Final[Mapping[VerdictWord, int]] = {"allow": 0, "ask": 1, "deny": 2}


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may be made, and by what rule."""

    word: VerdictWord
    reason: str


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One rule: `shell` with `git log*` is asked.

    Attributes:
        tool: A tool's name, or a pattern (`mcp__github__*`).
        pattern: What the call's telling argument (a path, a command line, a URL) must match, as a shell pattern; empty
            matches every call.
    """

    verdict: VerdictWord
    tool: str
    pattern: str = ""

    def fits(self, spec: ToolSpec, telling: str) -> bool:
        """Whether the rule speaks of this call."""
        return fnmatchcase(spec.name, self.tool) and (not self.pattern or fnmatchcase(telling, self.pattern))


@dataclass(frozen=True, slots=True)
class Grants:
    """What one agent may use.

    Attributes:
        tools: Names of tools, or patterns; None means whatever there is.
        effects: What a tool may touch at all.
        rules: Of those that fit a call the strictest holds; when none fits, reading is allowed and all else is asked.
        above: The grants of whoever it works for; they bind as well.
    """

    tools: frozenset[str] | None = None
    effects: frozenset[Effect] = frozenset({"read", "write", "network"})
    rules: tuple[ToolRule, ...] = ()
    above: "Grants | None" = None

    def offers(self, spec: ToolSpec) -> bool:
        """Whether the tool is there at all for this agent."""
        mine = self.tools is None or any(fnmatchcase(spec.name, name) for name in self.tools)
        return mine and self.effects.issuperset(spec.effects) and (self.above is None or self.above.offers(spec))

    def covers(self, effects: Collection[Effect]) -> bool:
        """Whether somebody with these effects may be called on this agent's behalf."""
        return self.effects.issuperset(effects) and (self.above is None or self.above.covers(effects))

    def verdict(self, spec: ToolSpec, telling: str = "") -> Verdict:
        """Whether a call may be made.

        Args:
            spec: The tool.
            telling: The argument that says what the call is about: a path, a command line, a URL.
        """
        if not self.offers(spec):
            return Verdict("deny", f"`{spec.name}` is not among the tools of this agent")
        mine = self._own(spec, telling)
        above = self.above.verdict(spec, telling) if self.above else mine
        return max(mine, above, key=lambda verdict: _STRICTER[verdict.word])

    def within(self, above: "Grants | None") -> "Grants":
        """The same grants for somebody who works for the holder of `above`."""
        if above is None:
            return self
        own = self.above.within(above) if self.above else above
        return Grants(self.tools, self.effects, self.rules, own)

    def to_json(self) -> dict[str, Any]:
        """These grants as data, for a journal or a person."""
        facts: dict[str, Any] = {"effects": sorted(self.effects)}
        if self.tools is not None:
            facts["tools"] = sorted(self.tools)
        if self.rules:
            facts["rules"] = [[rule.verdict, rule.tool, rule.pattern] for rule in self.rules]
        if self.above:
            facts["above"] = self.above.to_json()
        return facts

    def _own(self, spec: ToolSpec, telling: str) -> Verdict:
        fitting = [rule for rule in self.rules if rule.fits(spec, telling)]
        if fitting:
            rule = max(fitting, key=lambda rule: _STRICTER[rule.verdict])
            said = f"`{rule.tool}({rule.pattern})`" if rule.pattern else f"`{rule.tool}`"
            return Verdict(rule.verdict, f"the rule {rule.verdict} {said}")
        if set(spec.effects) <= {"read"}:
            return Verdict("allow", "it only reads")
        return Verdict("ask", f"it may {' and '.join(spec.effects)}, and no rule speaks of it")


ALL: Final = Grants()
"""Everything there is, by the usual rules: reading is allowed, anything else is asked."""

READ_ONLY: Final = Grants(effects=frozenset({"read"}))
