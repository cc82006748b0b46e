"""Finds the places in a text where agents are called: input blocks, behaviour files, sub-agent types, slash commands.

Says what stands there and judges nothing: whether there is such an agent is for the linter to find out. What is a
placeholder (`{agent}`, `[agent-type]`, `$1`) names nobody and is passed over.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Final, Literal

from retinue.contract.definition import CallSite, Source

_MARKS_BLOCK: Final = re.compile(r"\*\*agent\b", re.IGNORECASE)
_NAME: Final = re.compile(r"[A-Za-z][A-Za-z0-9_.:-]{0,99}")
_FOLLOW: Final = re.compile(r"\bread\b[^\n]{0,40}\bfollow\b", re.IGNORECASE)
_AGENT_FILE: Final = re.compile(r"\.claude/agents/(?:[A-Za-z0-9_.-]{1,100}/){0,8}([A-Za-z0-9_.-]{1,100})\.md\b")
_SUBAGENT: Final = re.compile(r"""\bsubagent_type["'`]?[ \t]{0,8}[:=][ \t]{0,8}["'`]?([^\s"'`,;)}]{1,100})""")
_COMMAND: Final = re.compile(
    r"(?:(?<=`)|^(?:[ \t]|[-*+>][ \t]|[0-9]{1,3}[.)][ \t]){0,8})"
    r"/([a-z][a-z0-9_-]{0,63}(?::[a-z][a-z0-9_-]{0,63}){0,4})(?=[ \t`]|$)"
)
_STILL_TO_DO: Final = re.compile(r"[ \t]*[-*+][ \t]\[ \][ \t]")
"""An item of a list of plans: what it names need not be there yet."""
_ANYBODY: Final = "general-purpose"
"""The sub-agent that is none in particular: what it is to do stands in its prompt (H1)."""
_FOLDERS: Final = frozenset(
    {"bin", "dev", "etc", "home", "lib", "mnt", "opt", "proc", "root", "run", "srv", "sys", "tmp", "usr", "var"}
)
"""What a stroke may stand before without making it a command."""


def find_call_sites(text: str, *, file: str) -> tuple[CallSite, ...]:
    """Find every call in `text`, in order (K23, C27).

    Args:
        text: A Markdown text, front matter and all.
        file: What each call's `source` says of where it stands.
    """
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    calls = [*(_block_calls(lines, file) if _MARKS_BLOCK.search(text) else ()), *_other_calls(lines, file)]
    return tuple(sorted(calls, key=lambda call: (call.source.line or 0, call.source.column or 0)))


def _block_calls(lines: Sequence[str], file: str) -> Iterator[CallSite]:
    from retinue.dialects.markdown_json.block import find_blocks  # noqa: PLC0415 - few files hold a block

    for block in find_blocks("\n".join(lines)):
        if agent := _name(block.get("Agent") or ""):
            number = block.line_of("Agent") - 1
            target = (block.get("Target") or "").strip("` ")
            is_placeholder = target.startswith("$") or target[:1] + target[-1:] in {"{}", "<>", "[]"}
            yield _call(
                "block",
                agent,
                file,
                (number, lines[number].index("**")),
                skill=_name(block.get("Operation") or ""),
                target=target if target and not is_placeholder else None,
            )


def _other_calls(lines: Sequence[str], file: str) -> Iterator[CallSite]:
    is_file_expected = False
    for number, line in enumerate(lines):
        follows = bool(_FOLLOW.search(line))
        followed = _AGENT_FILE.search(line) if is_file_expected or follows else None
        if followed:
            yield _call("file", followed[1], file, (number, followed.start()))
        # What is to be followed may stand on the next line that says anything.
        is_file_expected = followed is None and (follows or (is_file_expected and not line.strip()))
        for match in _SUBAGENT.finditer(line):
            name = _name(match[1].rstrip(".\\"))
            if name and name != _ANYBODY:
                yield _call("subagent", name, file, (number, match.start(1)))
        for match in () if _STILL_TO_DO.match(line) else _COMMAND.finditer(line):
            if match[1] not in _FOLDERS:
                yield _call("command", f"/{match[1]}", file, (number, match.start(1) - 1))


def _name(text: str) -> str | None:
    """The name that `text` is; None when it is a placeholder or a sentence."""
    name = text.strip("`\"' ")
    return name if _NAME.fullmatch(name) else None


def _call(
    form: Literal["block", "file", "subagent", "command"],
    agent: str,
    file: str,
    place: tuple[int, int],
    *,
    skill: str | None = None,
    target: str | None = None,
) -> CallSite:
    """A call at this line and column, both counted from 0."""
    line, column = place
    source = Source(file=file, line=line + 1, column=column + 1)
    return CallSite(agent=agent, skill=skill, target=target, form=form, source=source)
