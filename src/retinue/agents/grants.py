"""What an agent may use: the tools and effects it was granted, and the rules that allow a call, ask first, or deny it.

A grant only ever narrows: whoever works for somebody is bound by that one's grants as well as by its own, so nobody's
tools are wider than its parent's. The outermost grants are the user's: only their rules and their mode can allow what
is otherwise asked. The guard is here, not in anybody's good will: text that a model read changes nothing.
"""

# ruff: noqa: SLF001
# grants ask those above them, which are grants too

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias

from retinue.agents.patterns import fits_path, matches, speaks_of
from retinue.contract.definition import Effect, ToolSpec
from retinue.contract.names import fold, nearest
from retinue.contract.text import listed
from retinue.errors import InvalidInput
from retinue.tools.paths import folded

if TYPE_CHECKING:
    from retinue.tools.workspace import Workspace

__all__ = ["ALL", "MODES", "READ_ONLY", "Grants", "Mode", "Subject", "ToolRule", "Verdict", "VerdictWord", "mode_from"]

VerdictWord: TypeAlias = Literal["allow", "ask", "deny"]

Mode: TypeAlias = Literal["plan", "dont_ask", "default", "accept_edits", "bypass_permissions"]
"""What happens where no rule speaks. `plan` writes nothing; `dont_ask` denies what would be asked; `accept_edits` lets
files of the workspace be written; `bypass_permissions` asks for nothing but what a rule wants asked."""

MODES: Final[tuple[Mode, ...]] = ("plan", "dont_ask", "default", "accept_edits", "bypass_permissions")
"""From the narrowest to the widest."""

_STRICTER: Final[Mapping[VerdictWord, int]] = {"allow": 0, "ask": 1, "deny": 2}
_EDITS: Final = frozenset({"write", "edit"})
_WILD: Final = frozenset("*?[")
_MOST_KNOWN: Final = 1 << 16
"""Files of which it is remembered whether a rule hides them."""

_GRANT_RIGHTS: Final = (
    "**/.claude/**", "**/.codex/**", "**/.cursor/**", "**/.gemini/**", "**/.mcp.json", "**/retinue.toml",
    "**/.circleci/**", "**/.github/actions/**", "**/.github/workflows/**", "**/.gitlab-ci.yml",
    "**/.devcontainer/**", "**/.devcontainer.json", "**/.idea/**", "**/.vscode/**",
    "**/.envrc", "**/.gitattributes", "**/.githooks/**", "**/.gitmodules", "**/.husky/**", "**/.npmrc",
    "**/.pre-commit-config.yaml", "**/.yarnrc.yml",
)  # fmt: skip
"""Files that say what others may do, or name programs that start without a question. `.git` and `.retinue` are not
here: nobody writes those."""


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether a call may be made, and by what rule."""

    word: VerdictWord
    reason: str


@dataclass(frozen=True, slots=True)
class Subject:
    """One thing that a call is about: a path, a command line, an address.

    Attributes:
        real: What it comes to; of a path, where it leads. A rule that allows must fit this.
        spellings: How else it is written. A rule that asks or denies may fit any of these as well.
        root: The workspace, of a path; rules about `//absolute` paths need it.
        incidental: It may be about nothing, so that only rules that ask or deny are held against it.
    """

    real: str
    spellings: tuple[str, ...] = ()
    root: str = ""
    incidental: bool = False

    def texts(self, pattern: str, *, widely: bool) -> Iterator[str]:
        """What `pattern` is held against.

        Args:
            pattern: The pattern of a rule.
            widely: Whether the rule asks or denies.
        """
        for text in (self.real, *self.spellings) if widely else (self.real,):
            if self.root and pattern.startswith("//") and not text.startswith("/"):
                yield posixpath.normpath(f"{self.root}/{text}")
            else:
                yield text

    @property
    def grants_rights(self) -> bool:
        """Whether it is a file that says what others may do."""
        return bool(self.root) and any(
            fits_path(each, _folded_path(text)) for text in (self.real, *self.spellings) for each in _GRANT_RIGHTS
        )


@dataclass(frozen=True, slots=True)
class ToolRule:
    """One rule: `shell` with `git log:*` is asked.

    Attributes:
        tool: A tool's name, or a pattern (`mcp__github__*`). A rule that asks or denies is also about the tools that do
            the same by another way: one about `read` about `grep`, too.
        pattern: What the call's telling argument (a path, a command line, a URL) must match, as `agents.patterns` reads
            it; empty matches every call.
    """

    verdict: VerdictWord
    tool: str
    pattern: str = ""

    def fits(self, tool: str, subject: Subject) -> bool:
        """Whether the rule speaks of a call of the tool with this name."""
        widely = self.verdict != "allow"
        if not speaks_of(self.tool, tool, widely=widely):
            return False
        if not widely and subject.grants_rights and not self._names_rights():
            return False  # `write(**)` was not meant for the files that say what may be written
        return not self.pattern or any(
            matches(self.pattern, text, tool=tool, widely=widely) for text in subject.texts(self.pattern, widely=widely)
        )

    def _names_rights(self) -> bool:
        """Whether the pattern says by name, before any wildcard, which file or folder that grants rights is meant."""
        parts = self.pattern.split("/")
        plain = next((at for at, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
        return any(fits_path(each, _folded_path("/".join(parts[:plain]))) for each in _GRANT_RIGHTS)

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


@dataclass(frozen=True, slots=True)
class Grants:
    """What one agent may use.

    Attributes:
        tools: Names of tools, or patterns; None means whatever there is.
        effects: What a tool may touch at all.
        rules: Of those that fit a call the strictest holds; when none fits, reading is allowed and all else is asked.
        only: Tools with a pattern that a call of them must match: one of the patterns, where there are several.
        mode: What happens where no rule speaks; that of `above` when absent.
        above: The grants of whoever it works for; they bind as well.
    """

    tools: frozenset[str] | None = None
    effects: frozenset[Effect] = frozenset({"read", "write", "network"})
    rules: tuple[ToolRule, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    mode: Mode | None = None
    above: "Grants | None" = None
    _offered: dict[tuple[str, tuple[Effect, ...]], bool] = field(
        default_factory=dict[tuple[str, tuple[Effect, ...]], bool], init=False, repr=False, compare=False
    )

    def offers(self, spec: ToolSpec) -> bool:
        """Whether the tool is there at all for this agent."""
        key = spec.name, spec.effects
        offered = self._offered.get(key)
        if offered is None:
            offered = self._offered[key] = all(each._has(spec) for each in self._chain())
        return offered

    def covers(self, effects: Collection[Effect]) -> bool:
        """Whether somebody with these effects may be called on this agent's behalf."""
        return all(each._touches(effects) for each in self._chain())

    def verdict(self, spec: ToolSpec, *subjects: Subject | str) -> Verdict:
        """Whether a call may be made: the strictest that can be said of anything it is about.

        Args:
            spec: The tool.
            subjects: What the call is about; a text is a subject by itself. A call about nothing has none.
        """
        if not self.offers(spec):
            return Verdict("deny", f"`{spec.name}` is not among the tools of this agent")
        abouts = [each if isinstance(each, Subject) else Subject(each) for each in subjects or ("",)]
        worst = _strictest(verdict for about in abouts for verdict in self._verdicts(spec, about))
        worst = worst or Verdict("allow", "no rule is against it")
        if worst.word == "ask" and any(each.mode == "dont_ask" for each in self._chain()):
            return Verdict("deny", f"{worst.reason}, and nobody is to be asked")
        return worst

    def hides(self, path: str, *, root: PurePath | None = None) -> Verdict | None:
        """The rule that keeps a file of the workspace from being read without further ado; None when none does.

        Args:
            path: The file, from the root.
            root: The workspace, for rules about paths of the whole machine; without it they are not asked.
        """
        about = Subject(path, root="" if root is None else str(root))
        return _strictest(each._forbidden("read", about) for each in self._chain())

    def fenced(self, workspace: "Workspace") -> "Workspace":
        """`workspace` without the files that a rule `hides`: whoever reads by it reads none of them."""
        rules = [str(rule) for each in self._chain() for rule in each.rules if _may_hide(rule)]
        if not rules:
            return workspace

        from retinue.tools.workspace import Hiding  # noqa: PLC0415 - seldom needed

        @lru_cache(maxsize=_MOST_KNOWN)
        def hides(path: str) -> str:
            verdict = self.hides(path, root=workspace.root)
            return "" if verdict is None else verdict.reason

        return workspace.hiding(Hiding(hides, ", ".join(sorted(set(rules)))))

    def within(self, above: "Grants | None") -> "Grants":
        """The same grants for somebody who works for the holder of `above`."""
        if above is None or any(each is above for each in self._chain()):
            return self
        own = self.above.within(above) if self.above else above
        return Grants(self.tools, self.effects, self.rules, self.only, self.mode, own)

    def to_json(self) -> dict[str, Any]:
        """These grants as data, for a journal or a person."""
        facts: dict[str, Any] = {"effects": sorted(self.effects)}
        if self.tools is not None:
            facts["tools"] = sorted(self.tools)
        if self.rules:
            facts["rules"] = [[rule.verdict, rule.tool, rule.pattern] for rule in self.rules]
        if self.only:
            facts["only"] = [list(each) for each in self.only]
        if self.mode:
            facts["mode"] = self.mode
        if self.above:
            facts["above"] = self.above.to_json()
        return facts

    @property
    def widest_mode(self) -> Mode:
        """The mode that holds when the agent asks for none: that of the user, or what stands nearer and is narrower."""
        said: list[Mode] = [each.mode or "default" for each in self._chain() if each.mode or each.above is None]
        return min(said, key=MODES.index)

    def _chain(self) -> "Iterator[Grants]":
        """These grants and all above them, the user's last."""
        each: Grants | None = self
        while each is not None:
            yield each
            each = each.above

    def _has(self, spec: ToolSpec) -> bool:
        named = self.tools is None or any(fnmatchcase(spec.name, name) for name in self.tools)
        return named and self._touches(spec.effects)

    def _touches(self, effects: Collection[Effect]) -> bool:
        return self.effects.issuperset(effects) and not (self.mode == "plan" and "write" in effects)

    def _verdicts(self, spec: ToolSpec, about: Subject) -> Iterator[Verdict | None]:
        """What these grants and all above them say of one thing that a call is about."""
        chain = tuple(self._chain())
        if about.incidental:
            yield from (each._forbidden(spec.name, about) for each in chain)
            return
        yield chain[-1]._first(spec, about)
        yield from (each._narrowed(spec, about) for each in chain)

    def _first(self, spec: ToolSpec, about: Subject) -> Verdict:
        """What the outermost grants say: their strictest rule, or without one what the mode and the effects do."""
        ruled = self._ruled(spec.name, about)
        if ruled is not None:
            return ruled
        if set(spec.effects) <= {"read"}:
            return Verdict("allow", "it only reads")
        if about.grants_rights and "write" in spec.effects:
            return Verdict(
                "ask", f"{about.real!r} says what others may do or run, and no rule allows that file by name"
            )
        if self.mode == "bypass_permissions":
            return Verdict("allow", "nothing is asked in the mode `bypass_permissions`")
        if self.mode == "accept_edits" and spec.name in _EDITS:
            return Verdict("allow", "edits are allowed in the mode `accept_edits`")
        return Verdict("ask", f"it may {' and '.join(spec.effects)}, and no rule allows it")

    def _narrowed(self, spec: ToolSpec, about: Subject) -> Verdict | None:
        """What these grants have against a call that others may have allowed."""
        limits = [ToolRule("allow", name, pattern) for name, pattern in self.only if fnmatchcase(spec.name, name)]
        if limits and not any(_within(limit, spec.name, about) for limit in limits):
            shown = ", ".join(f"`{spec.name}({limit.pattern})`" for limit in limits)
            return Verdict("deny", f"this agent has only {shown}")
        ruled = self._ruled(spec.name, about)
        if ruled is not None and ruled.word != "allow":
            return ruled
        mode_asks = self.above is not None and self.mode in {"plan", "dont_ask", "default"}
        if mode_asks and ruled is None and not set(spec.effects) <= {"read"} and not self._user_allows(spec, about):
            return Verdict("ask", f"it may {' and '.join(spec.effects)}, and no rule allows it")
        return None

    def _user_allows(self, spec: ToolSpec, about: Subject) -> bool:
        """Whether a rule of the user's, and not only the mode, lets the call pass."""
        user = tuple(self._chain())[-1]
        ruled = user._ruled(spec.name, about)
        return ruled is not None and ruled.word == "allow"

    def _forbidden(self, tool: str, about: Subject) -> Verdict | None:
        """What the strictest fitting rule says that asks or denies."""
        ruled = self._ruled(tool, about)
        return None if ruled is None or ruled.word == "allow" else ruled

    def _ruled(self, tool: str, about: Subject) -> Verdict | None:
        """What the strictest fitting rule says."""
        rule = max(
            (rule for rule in self.rules if rule.fits(tool, about)),
            key=lambda rule: _STRICTER[rule.verdict],
            default=None,
        )
        return None if rule is None else Verdict(rule.verdict, f"the rule {rule.verdict} `{rule}`")


def mode_from(word: str) -> Mode:
    """The mode that a word means, in any spelling: `acceptEdits`, `accept-edits`.

    Raises:
        InvalidInput: It means none.
    """
    folded = fold(word)
    if folded in MODES:
        return folded
    near = nearest(word, MODES)
    meant = f"Did you mean `{near[0]}`? " if near else ""
    raise InvalidInput(
        f"{word[:80]!r} is not a valid permission mode.",
        hint=f"{meant}There is {listed([f'`{mode}`' for mode in MODES])}.",
        suggestions=near or MODES,
    )


def _strictest(verdicts: Iterable[Verdict | None]) -> Verdict | None:
    return max(filter(None, verdicts), key=lambda verdict: _STRICTER[verdict.word], default=None)


def _within(limit: ToolRule, tool: str, about: Subject) -> bool:
    return any(matches(limit.pattern, text, tool=tool) for text in about.texts(limit.pattern, widely=False))


def _folded_path(path: str) -> str:
    """`path` as the most forgiving file system would compare it."""
    return "/".join(map(folded, path.replace("\\", "/").split("/")))


def _may_hide(rule: ToolRule) -> bool:
    """Whether there can be a file that the rule keeps from being read."""
    return rule.verdict != "allow" and speaks_of(rule.tool, "read", widely=True)


ALL: Final = Grants()
"""Everything there is, by the usual rules: reading is allowed, anything else is asked."""

READ_ONLY: Final = Grants(effects=frozenset({"read"}))
"""Nothing that could change or reach anything outside."""
