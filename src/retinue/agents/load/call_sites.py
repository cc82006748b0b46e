"""Finds the places in a text where agents are called: input blocks, behaviour files, sub-agent types, slash commands.

Says what stands there and judges nothing: whether there is such an agent is for the linter to find out. What is a
placeholder (`{agent}`, `[agent-type]`, `$1`) names nobody and is passed over.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, Literal

from retinue.contract.definition import CallSite, Source

__all__ = ["call_sites"]

_MARGIN: Final = re.compile(r"[ \t>]*(?:[-*+][ \t]+)?(?=\*\*)")
_FIELD: Final = re.compile(r"\*\*(Agent|Operation|Target|Context)(?::\*\*|\*\*:)", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
_FOLLOW: Final = re.compile(r"\bread\b[^\n]{0,40}\bfollow\b", re.IGNORECASE)
_AGENT_FILE: Final = re.compile(r"\.claude/agents/(?:[A-Za-z0-9_.-]{1,100}/){0,8}([A-Za-z0-9_.-]{1,100})\.md\b")
_SUBAGENT: Final = re.compile(r"""\bsubagent_type["'`]?[ \t]{0,8}[:=][ \t]{0,8}["'`]?([^\s"'`,;)}]{1,100})""")
_COMMAND: Final = re.compile(
    r"(?:(?<=`)|^(?:[ \t]|[-*+>][ \t]|[0-9]{1,3}[.)][ \t]){0,8})"
    r"/([a-z][a-z0-9_-]{0,63}(?::[a-z][a-z0-9_-]{0,63}){0,4})(?=[ \t`]|$)"
)
_ANYBODY: Final = "general-purpose"
"""The sub-agent that is none in particular: what it is to do stands in its prompt (H1)."""
_FOLDERS: Final = frozenset(
    {"bin", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var"}
)
"""What a stroke may stand before without making it a command."""


def call_sites(text: str, *, file: str) -> tuple[CallSite, ...]:
    """Find every call in `text`, in order (K23, C27).

    Args:
        text: A Markdown text, front matter and all.
        file: What each call's `source` says of where it stands.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    return tuple(_calls(lines, file))


def _calls(lines: Sequence[str], file: str) -> Iterator[CallSite]:
    awaited = False
    for number, line in enumerate(lines):
        if call := _block(lines, number, file):
            yield call
        follows = bool(_FOLLOW.search(line))
        found = _AGENT_FILE.search(line) if awaited or follows else None
        if found:
            yield _call("file", found[1], file, number, found.start())
        # What is to be followed may stand on the next line that says anything.
        awaited = found is None and (follows or (awaited and not line.strip()))
        for found in _SUBAGENT.finditer(line):
            name = _name(found[1].rstrip(".\\"))
            if name and name != _ANYBODY:
                yield _call("subagent", name, file, number, found.start(1))
        for found in _COMMAND.finditer(line):
            if found[1] not in _FOLDERS:
                yield _call("command", f"/{found[1]}", file, number, found.start(1) - 1)


def _block(lines: Sequence[str], number: int, file: str) -> CallSite | None:
    """The input block that begins on this line, if one does and says whom it calls."""
    fields = _fields(lines[number])
    if next(iter(fields), None) != "agent" or not (agent := _name(fields["agent"])):
        return None
    for line in lines[number + 1 : number + 4]:
        more = _fields(line)
        if not more or "agent" in more:
            break
        fields = {**more, **fields}
    target = fields.get("target", "").strip("` ")
    return _call(
        "block",
        agent,
        file,
        number,
        lines[number].index("**"),
        skill=_name(fields.get("operation", "")),
        target=target if target and not _placeholder(target) else None,
    )


def _fields(line: str) -> Mapping[str, str]:
    """The fields of an input block that stand on one line, in order; none when it begins with something else."""
    margin = _MARGIN.match(line)
    found = list(_FIELD.finditer(line, margin.end())) if margin else []
    if not margin or not found or found[0].start() != margin.end():
        return {}
    ends = [each.start() for each in found[1:]] + [len(line)]
    return {each[1].lower(): line[each.end() : end].strip() for each, end in zip(found, ends, strict=True)}


def _name(said: str) -> str | None:
    """The name that `said` is; None when it is a placeholder or a sentence."""
    name = said.strip("`\"' ")
    return name if _NAME.fullmatch(name) else None


def _placeholder(said: str) -> bool:
    return said[0] + said[-1] in {"{}", "<>", "[]"} or said.startswith("$")


def _call(
    form: Literal["block", "file", "subagent", "command"],
    agent: str,
    file: str,
    number: int,
    offset: int,
    *,
    skill: str | None = None,
    target: str | None = None,
) -> CallSite:
    source = Source(file=file, line=number + 1, column=offset + 1)
    return CallSite(agent=agent, skill=skill, target=target, form=form, source=source)
