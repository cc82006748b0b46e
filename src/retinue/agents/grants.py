"""What an agent may use: the tools and effects it was granted, and the rules that allow a call, ask first, or deny it.

A grant only ever narrows: an agent that works for another is bound by that one's grants as well as by its own. The
outermost grants are the user's: only their rules and their mode can allow what is otherwise asked. This is enforced by
code: text that a model read changes nothing.
"""

# ruff: noqa: SLF001
# grants ask those above them, which are grants too

import posixpath
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache
from pathlib import PurePath
from typing import Any, Final, Literal, TypeAlias
from urllib.parse import urlsplit

from retinue.contract.definition import Effect, ToolSpec
from retinue.contract.formatting import natural_list
from retinue.contract.names import fold, nearest
from retinue.contract.old_names import with_old_names
from retinue.errors import InvalidInput
from retinue.tools.paths import fold_name
from retinue.tools.workspace import HidingRule, Workspace

VerdictWord: TypeAlias = Literal["allow", "ask", "deny"]

Mode: TypeAlias = Literal["plan", "dont_ask", "default", "accept_edits", "bypass_permissions"]
"""What happens where no rule speaks. `plan` writes nothing; `dont_ask` denies what would be asked; `accept_edits` lets
files of the workspace be written; `bypass_permissions` asks for nothing but what a rule wants asked."""

MODES: Final[tuple[Mode, ...]] = ("plan", "dont_ask", "default", "accept_edits", "bypass_permissions")
"""From the narrowest to the widest."""

_STRICTER: Final[Mapping[VerdictWord, int]] = {"allow": 0, "ask": 1, "deny": 2}
_EDITS: Final = frozenset({"write", "edit"})
_WILD: Final = frozenset("*?[")
_MAX_CACHED: Final = 1 << 16
"""Files of which it is remembered whether a rule hides them."""

_SENSITIVE_FILES: Final = (
    "**/.claude/**", "**/.codex/**", "**/.cursor/**", "**/.gemini/**", "**/.mcp.json", "**/retinue.toml",
    "**/.circleci/**", "**/.github/actions/**", "**/.github/workflows/**", "**/.gitlab-ci.yml",
    "**/.devcontainer/**", "**/.devcontainer.json", "**/.idea/**", "**/.vscode/**",
    "**/.envrc", "**/.gitattributes", "**/.githooks/**", "**/.gitmodules", "**/.husky/**", "**/.npmrc",
    "**/.pre-commit-config.yaml", "**/.yarnrc.yml",
)  # fmt: skip
"""Files that say what others may do, or name programs that start without a question. `.git` and `.retinue` are not
here: no agent can write those."""


@dataclass(frozen=True, slots=True)
class PermissionVerdict:
    """Whether a call may be made, and by what rule."""

    word: VerdictWord
    reason: str


@dataclass(frozen=True, slots=True)
class PermissionSubject:
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
    def is_sensitive(self) -> bool:
        """Whether it is a file that says what others may do."""
        return bool(self.root) and any(
            path_matches(each, _fold_path(text)) for text in (self.real, *self.spellings) for each in _SENSITIVE_FILES
        )


@with_old_names(fits="applies_to")
@dataclass(frozen=True, slots=True)
class ToolRule:
    """One rule: `shell` with `git log:*` is asked.

    Attributes:
        tool: A tool's name, or a pattern (`mcp__github__*`). A rule that asks or denies is also about the tools that do
            the same by another way: one about `read` about `grep`, too.
        pattern: What the call's telling argument (a path, a command line, a URL) must match, as `matches` reads
            it; empty matches every call.
    """

    verdict: VerdictWord
    tool: str
    pattern: str = ""

    def applies_to(self, tool: str, subject: PermissionSubject) -> bool:
        """Whether the rule speaks of a call of the tool with this name."""
        widely = self.verdict != "allow"
        if not rule_covers(self.tool, tool, widely=widely):
            return False
        if not widely and subject.is_sensitive and not self._names_sensitive_file():
            return False  # `write(**)` was not meant for the files that say what may be written
        return not self.pattern or any(
            matches(self.pattern, text, tool=tool, widely=widely) for text in subject.texts(self.pattern, widely=widely)
        )

    def _names_sensitive_file(self) -> bool:
        """Whether the pattern says by name, before any wildcard, which file or folder that grants rights is meant."""
        parts = self.pattern.split("/")
        literal_count = next((at for at, part in enumerate(parts) if not _WILD.isdisjoint(part)), len(parts))
        return any(path_matches(each, _fold_path("/".join(parts[:literal_count]))) for each in _SENSITIVE_FILES)

    def __str__(self) -> str:
        return f"{self.tool}({self.pattern})" if self.pattern else self.tool


@with_old_names(fenced="restrict_workspace")
@dataclass(frozen=True, slots=True)
class Grants:
    """What one agent may use.

    Attributes:
        tools: Names of tools, or patterns; None means whatever there is.
        effects: What a tool may touch at all.
        rules: Of those that fit a call the strictest holds; when none fits, reading is allowed and all else is asked.
        only: Tools with a pattern that a call of them must match: one of the patterns, where there are several.
        mode: What happens where no rule speaks; that of `above` when absent.
        above: The grants of the agent it works for; they bind as well.
    """

    tools: frozenset[str] | None = None
    effects: frozenset[Effect] = frozenset({"read", "write", "network"})
    rules: tuple[ToolRule, ...] = ()
    only: tuple[tuple[str, str], ...] = ()
    mode: Mode | None = None
    above: "Grants | None" = None
    _offered_cache: dict[tuple[str, tuple[Effect, ...]], bool] = field(
        default_factory=dict[tuple[str, tuple[Effect, ...]], bool], init=False, repr=False, compare=False
    )

    def offers(self, spec: ToolSpec) -> bool:
        """Whether the tool is there at all for this agent."""
        # Asked for every tool of every call, and grants never change.
        key = spec.name, spec.effects
        is_offered = self._offered_cache.get(key)
        if is_offered is None:
            is_offered = self._offered_cache[key] = all(
                (each.tools is None or any(fnmatchcase(spec.name, name) for name in each.tools))
                and each._allows_effects(spec.effects)
                for each in self._chain()
            )
        return is_offered

    def covers(self, effects: Collection[Effect]) -> bool:
        """Whether an agent with these effects may be called on this agent's behalf."""
        return all(each._allows_effects(effects) for each in self._chain())

    def verdict(self, spec: ToolSpec, *subjects: PermissionSubject | str) -> PermissionVerdict:
        """Whether a call may be made: the strictest that can be said of anything it is about.

        Args:
            spec: The tool.
            subjects: What the call is about; a text is a subject by itself. A call about nothing has none.
        """
        if not self.offers(spec):
            return PermissionVerdict("deny", f"`{spec.name}` is not among the tools of this agent")
        targets = [
            each if isinstance(each, PermissionSubject) else PermissionSubject(each) for each in subjects or ("",)
        ]
        chain = tuple(self._chain())
        verdicts: list[PermissionVerdict | None] = []
        for target in targets:
            if target.incidental:
                verdicts += (each._prohibition(spec.name, target) for each in chain)
            else:
                verdicts += (
                    chain[-1]._base_verdict(spec, target),
                    *(each._restriction(spec, target) for each in chain),
                )
        worst = _strictest(verdicts)
        worst = worst or PermissionVerdict("allow", "no rule is against it")
        if worst.word == "ask" and any(each.mode == "dont_ask" for each in chain):
            return PermissionVerdict("deny", f"{worst.reason}, and this mode does not ask")
        return worst

    def hides(self, path: str, *, root: PurePath | None = None) -> PermissionVerdict | None:
        """The rule that keeps a file of the workspace from being read without further ado; None when none does.

        Args:
            path: The file, from the root.
            root: The workspace, for rules about paths of the whole machine; without it they are not asked.
        """
        subject = PermissionSubject(path, root="" if root is None else str(root))
        return _strictest(each._prohibition("read", subject) for each in self._chain())

    def restrict_workspace(self, workspace: Workspace) -> Workspace:
        """`workspace` without the files that a rule `hides`."""
        # Whether there can be a file that the rule keeps from being read.
        rules = [
            str(rule)
            for each in self._chain()
            for rule in each.rules
            if (rule.verdict != "allow" and rule_covers(rule.tool, "read", widely=True))
        ]
        if not rules:
            return workspace

        @lru_cache(maxsize=_MAX_CACHED)
        def hides(path: str) -> str:
            verdict = self.hides(path, root=workspace.root)
            return "" if verdict is None else verdict.reason

        return workspace.hiding(HidingRule(hides, ", ".join(sorted(set(rules)))))

    def within(self, above: "Grants | None") -> "Grants":
        """The same grants for an agent that works for the holder of `above`."""
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
        modes: list[Mode] = [each.mode or "default" for each in self._chain() if each.mode or each.above is None]
        return min(modes, key=MODES.index)

    def _chain(self) -> "Iterator[Grants]":
        """These grants and all above them, the user's last."""
        each: Grants | None = self
        while each is not None:
            yield each
            each = each.above

    def _allows_effects(self, effects: Collection[Effect]) -> bool:
        return self.effects.issuperset(effects) and not (self.mode == "plan" and "write" in effects)

    def _base_verdict(self, spec: ToolSpec, subject: PermissionSubject) -> PermissionVerdict:
        """What the outermost grants say: their strictest rule, or without one what the mode and the effects do."""
        rule_verdict = self._rule_verdict(spec.name, subject)
        if rule_verdict is not None:
            return rule_verdict
        if set(spec.effects) <= {"read"}:
            return PermissionVerdict("allow", "it only reads")
        if subject.is_sensitive and "write" in spec.effects:
            return PermissionVerdict(
                "ask", f"{subject.real!r} says what others may do or run, and no rule allows that file by name"
            )
        if self.mode == "bypass_permissions":
            return PermissionVerdict("allow", "nothing is asked in the mode `bypass_permissions`")
        if self.mode == "accept_edits" and spec.name in _EDITS:
            return PermissionVerdict("allow", "edits are allowed in the mode `accept_edits`")
        return PermissionVerdict("ask", f"it may {' and '.join(spec.effects)}, and no rule allows it")

    def _restriction(self, spec: ToolSpec, subject: PermissionSubject) -> PermissionVerdict | None:
        """What these grants forbid of a call that others may have allowed."""
        limits = [ToolRule("allow", name, pattern) for name, pattern in self.only if fnmatchcase(spec.name, name)]
        if limits and not any(
            matches(limit.pattern, text, tool=spec.name)
            for limit in limits
            for text in subject.texts(limit.pattern, widely=False)
        ):
            patterns = ", ".join(f"`{spec.name}({limit.pattern})`" for limit in limits)
            return PermissionVerdict("deny", f"this agent has only {patterns}")
        rule_verdict = self._rule_verdict(spec.name, subject)
        if rule_verdict is not None and rule_verdict.word != "allow":
            return rule_verdict
        mode_asks = self.above is not None and self.mode in {"plan", "dont_ask", "default"}
        if mode_asks and rule_verdict is None and not set(spec.effects) <= {"read"}:
            user_verdict = tuple(self._chain())[-1]._rule_verdict(spec.name, subject)
            if user_verdict is not None and user_verdict.word == "allow":
                return None  # a rule of the user's, and not only the mode, lets the call pass
            return PermissionVerdict("ask", f"it may {' and '.join(spec.effects)}, and no rule allows it")
        return None

    def _prohibition(self, tool: str, subject: PermissionSubject) -> PermissionVerdict | None:
        """What the strictest fitting rule says that asks or denies."""
        rule_verdict = self._rule_verdict(tool, subject)
        return None if rule_verdict is None or rule_verdict.word == "allow" else rule_verdict

    def _rule_verdict(self, tool: str, subject: PermissionSubject) -> PermissionVerdict | None:
        """What the strictest fitting rule says."""
        rule = max(
            (rule for rule in self.rules if rule.applies_to(tool, subject)),
            key=lambda rule: _STRICTER[rule.verdict],
            default=None,
        )
        return None if rule is None else PermissionVerdict(rule.verdict, f"the rule {rule.verdict} `{rule}`")


def mode_from(word: str) -> Mode:
    """The mode that a word means, in any spelling: `acceptEdits`, `accept-edits`.

    Raises:
        InvalidInput: It means none.
    """
    canonical = fold(word)
    if canonical in MODES:
        return canonical
    suggestions = nearest(word, MODES)
    suggestion_text = f"Did you mean `{suggestions[0]}`? " if suggestions else ""
    raise InvalidInput(
        f"{word[:80]!r} is not a valid permission mode.",
        hint=f"{suggestion_text}There is {natural_list([f'`{mode}`' for mode in MODES])}.",
        suggestions=suggestions or MODES,
    )


def _strictest(verdicts: Iterable[PermissionVerdict | None]) -> PermissionVerdict | None:
    return max(filter(None, verdicts), key=lambda verdict: _STRICTER[verdict.word], default=None)


def _fold_path(path: str) -> str:
    """`path` as the most forgiving file system would compare it."""
    return "/".join(map(fold_name, path.replace("\\", "/").split("/")))


ALL: Final = Grants()
"""Everything, by the default rules: reading is allowed, anything else is asked."""

READ_ONLY: Final = Grants(effects=frozenset({"read"}))
"""Nothing that could change or reach anything outside."""

_READERS: Final = frozenset({"read", "glob", "grep", "outline"})
_EDITORS: Final = frozenset({"write", "edit"})
TAKES_PATHS: Final = _READERS | _EDITORS | {"git", "lsp"}
"""Our tools whose calls are about paths."""

_NO_PATHS: Final = frozenset({"delegate", "forget", "recall", "remember", "shell", "skill", "web_fetch", "web_search"})
"""Our tools whose calls never are. What tools of others take is not known."""

_DOMAIN: Final = "domain:"
_AND_MORE: Final = ":*"

_FAMILIES: Final[Mapping[str, frozenset[str]]] = {"read": _READERS, "write": _EDITORS, "edit": _EDITORS}
"""What a rule about one tool says of others: who may not read a file may not search it either."""


def rule_covers(rule: str, tool: str, *, widely: bool) -> bool:
    """Whether a rule about `rule` (a name or a pattern of names) is about the tool called `tool`.

    Args:
        rule: What the rule names.
        tool: A tool's name.
        widely: Whether it is about tools that do the same by another way, too.
    """
    return fnmatchcase(tool, rule) or (widely and tool in _FAMILIES.get(rule, ()))


def matches(pattern: str, text: str, *, tool: str, widely: bool = False) -> bool:
    """Whether what a call is about fits the pattern of a rule.

    For files a pattern is a path of the workspace: `*` stops at a stroke, `**` does not, one without a stroke fits at
    any depth, and whatever lies below what fits, fits. For commands `git log:*` is `git log` with anything after it.
    For web addresses `domain:example.org` is that host and those below it. Everything else is a shell pattern for the
    whole text.

    Args:
        pattern: The pattern.
        text: What the call is about.
        tool: The tool's name.
        widely: Whether a text that may be a path is read as one too, as rules that ask or deny do.
    """
    if not text:
        return False
    if tool in TAKES_PATHS:
        # `docs\a` is not a file of `docs` here, so it counts as one only for rules that ask or deny.
        return path_matches(pattern, normal_path(text) if widely else posixpath.normpath(text))
    if pattern.startswith(_DOMAIN):
        domain = pattern.removeprefix(_DOMAIN)
        try:
            host = urlsplit(text).hostname or ""
        except ValueError:
            return False
        host_pattern = domain.lower().removeprefix("*.").strip(".")
        host = host.rstrip(".")
        return bool(host_pattern) and (fnmatchcase(host, host_pattern) or host.endswith(f".{host_pattern}"))
    if pattern.endswith(_AND_MORE):
        start = pattern.removesuffix(_AND_MORE)
        return text == start or text.startswith(f"{start} ")
    if fnmatchcase(text, pattern):
        return True
    return tool not in _NO_PATHS and (widely or pattern.startswith("//")) and path_matches(pattern, normal_path(text))


def normal_path(path: str) -> str:
    """`path` as it is compared: forward strokes, no `.`, every `..` resolved that can be."""
    return posixpath.normpath(path.replace("\\", "/")) if path else "."


def path_matches(pattern: str, path: str) -> bool:
    """Whether the path, or a folder above it, fits."""
    pattern = pattern.replace("\\", "/")
    anywhere = "/" not in pattern.rstrip("/")
    if pattern.startswith("//"):
        pattern = pattern[1:]  # a path of the whole machine
    elif pattern.startswith("/"):
        pattern = pattern[1:]  # a path of the workspace, written as if that were the root
    parts = normal_path(pattern).split("/")
    if parts == ["."]:
        parts = ["**"]
    if anywhere and parts != ["**"]:
        parts = ["**", *parts]
    there = path.split("/")
    return (there[0] == "..") == (parts[0] == "..") and _parts_match(parts, there)


def _parts_match(pattern: list[str], path: list[str]) -> bool:
    """Whether `pattern` fits the first parts of `path`."""
    # All places that can be reached are followed at once, in one pass: trying them one after the other takes many times
    # as long with every further `**`, and whoever writes a definition writes patterns.
    positions = _skip_wildcards({0}, pattern)
    for part in path:
        if len(pattern) in positions:
            return True
        stays = {place for place in positions if pattern[place] == "**"}
        on = {place + 1 for place in positions if pattern[place] != "**" and fnmatchcase(part, pattern[place])}
        positions = _skip_wildcards(stays | on, pattern)
    return len(pattern) in positions


def _skip_wildcards(places: set[int], pattern: list[str]) -> set[int]:
    """`places`, and those behind every `**` that stands there: it may be nothing."""
    reachable = set(places)
    for place in places:
        following = place
        while following < len(pattern) and pattern[following] == "**":
            following += 1
            reachable.add(following)
    return reachable
