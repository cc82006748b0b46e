"""A unified diff of two texts that `git apply` and `patch` read, both ways. Pure.

`difflib.unified_diff` says nothing of a missing line break at the end, and takes quadratic time on long texts that
differ much; here only what lies between the first and the last difference is compared, and no more than so much of it.
"""

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import Final, TypeAlias

_CONTEXT: Final = 3
_COMPARED: Final = 4000
_Block: TypeAlias = tuple[int, int, int, int]
"""Lines `i:j` of the old text became lines `k:l` of the new."""


def unified(path: str, before: str | None, after: str) -> str:
    """The change of the file `path`; with `before` None it is new. Empty when nothing changed."""
    if before == after:
        return ""
    old, new = _lines(before or ""), _lines(after)
    label = f"{path}\t" if " " in path else path  # a tab ends a name that has spaces, for `patch`
    rows = ["--- /dev/null\n" if before is None else f"--- a/{label}\n", f"+++ b/{label}\n"]
    for group in _groups(_changes(old, new)):
        rows += _hunk(old, new, group)
    return "".join(rows)


def _lines(text: str) -> list[str]:
    """Lines with their ends; `str.splitlines` would also split at form feeds and their like."""
    pieces = text.split("\n")
    return [f"{piece}\n" for piece in pieces[:-1]] + ([pieces[-1]] if pieces[-1] else [])


def _changes(old: Sequence[str], new: Sequence[str]) -> list[_Block]:
    start, most = 0, min(len(old), len(new))
    while start < most and old[start] == new[start]:
        start += 1
    tail = 0
    while tail < most - start and old[-1 - tail] == new[-1 - tail]:
        tail += 1
    inner_old, inner_new = old[start : len(old) - tail], new[start : len(new) - tail]
    if max(len(inner_old), len(inner_new)) > _COMPARED:
        return [(start, start + len(inner_old), start, start + len(inner_new))]
    codes = SequenceMatcher(None, inner_old, inner_new).get_opcodes()
    return [(start + i, start + j, start + k, start + m) for word, i, j, k, m in codes if word != "equal"]


def _groups(changes: Sequence[_Block]) -> Iterator[list[_Block]]:
    group: list[_Block] = []
    for change in changes:
        if group and change[0] - group[-1][1] > 2 * _CONTEXT:
            yield group
            group = []
        group.append(change)
    if group:
        yield group


def _hunk(old: Sequence[str], new: Sequence[str], group: Sequence[_Block]) -> Iterator[str]:
    first, last = group[0], group[-1]
    lead, trail = min(_CONTEXT, first[0]), min(_CONTEXT, len(old) - last[1])
    from_old, to_old = first[0] - lead, last[1] + trail
    from_new, to_new = first[2] - lead, last[3] + trail
    yield f"@@ -{_range(from_old, to_old)} +{_range(from_new, to_new)} @@\n"
    at = from_old
    for i, j, k, m in group:
        yield from _marked(" ", old[at:i])
        yield from _marked("-", old[i:j])
        yield from _marked("+", new[k:m])
        at = j
    yield from _marked(" ", old[at:to_old])


def _range(start: int, end: int) -> str:
    length = end - start
    return f"{start + 1 if length else start},{length}"


def _marked(mark: str, lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        yield f"{mark}{line}" if line.endswith("\n") else f"{mark}{line}\n\\ No newline at end of file\n"
