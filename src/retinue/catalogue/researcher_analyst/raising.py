"""Which exceptions a definition raises: what its docstring says of them, and what stands after its `raise`."""

import re
from collections.abc import Iterator, Sequence
from typing import Final

__all__ = ["asks_for_errors", "raised_in"]

_ASKS: Final = re.compile(r"\b(?:rais(?:e|es|ed|ing)|throws?|exceptions?|fails?)\b", re.IGNORECASE)
_SECTION: Final = re.compile(r"(\s*)(?:Raises|Exceptions):?\s*\Z")
_FIELD: Final = re.compile(r"\s*:raises?\s+(?P<name>[\w.]+)\s*:\s*(?P<text>.+)")
_RAISE: Final = re.compile(r"\s*raise\s+(?P<name>[A-Za-z_][\w.]*)\s*(?:\(|from\b|\Z)")
_UNDERLINE: Final = re.compile(r"\s*-{3,}\s*\Z")
_MOST: Final = 6
_LONGEST: Final = 400


def asks_for_errors(question: str) -> bool:
    """Whether a question asks what is raised."""
    return _ASKS.search(question) is not None


def raised_in(lines: Sequence[str], first: int) -> str:
    """What the definition at line `first` says of what it raises, as sentences; empty when it says nothing."""
    body = list(_body(lines[first - 1 :]))
    said = list(dict.fromkeys((*_section(body), *_fields(body))))[:_MOST]
    names = dict.fromkeys(found["name"] for line in body if (found := _RAISE.match(line)))
    names = [name for name in names if not any(one.startswith(name) for one in said)][:_MOST]
    parts = [f"Raises: {'; '.join(one.rstrip('.') for one in said)}."] if said else []
    parts += [f"It raises {', '.join(f'`{name}`' for name in names)}."] if names else []
    return " ".join(parts)


def _body(lines: Sequence[str]) -> Iterator[str]:
    """The lines of a definition, nested ones included: until something stands as far left as it does."""
    depth = len(lines[0]) - len(lines[0].lstrip())
    yield lines[0]
    for line in lines[1:_LONGEST]:
        bare = line.lstrip()
        if bare and len(line) - len(bare) <= depth and bare[0] not in ")]}\"'#":
            return
        yield line


def _section(lines: Sequence[str]) -> Iterator[str]:
    """The entries below `Raises:` in a docstring, each on one line."""
    for number, line in enumerate(lines):
        if not (head := _SECTION.match(line)):
            continue
        depth, entry = len(head[1]), ""
        own = -1
        for row in lines[number + 1 :]:
            indent = len(row) - len(row.lstrip())
            if _UNDERLINE.match(row):
                depth -= 1
                continue
            if not row.strip() or indent <= depth or row.strip().startswith(('"""', "'''")):
                break
            own = indent if own < 0 else own
            if indent <= own and entry:
                yield entry
                entry = ""
            entry = f"{entry} {row.strip()}".strip()
        if entry:
            yield entry
        return


def _fields(lines: Sequence[str]) -> Iterator[str]:
    for line in lines:
        if found := _FIELD.match(line):
            yield f"{found['name']}: {found['text'].strip()}"
