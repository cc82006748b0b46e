"""Versions that a question names, read by the tags there are: "since 2.0", "the last two releases".

Pure words and names; what order tags have among each other is told by their numbers, since a mended old version is
often tagged after a new one.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Final

from retinue.tools.git import Tag

__all__ = [
    "Read",
    "before",
    "counts_releases",
    "following",
    "names_versions",
    "read_versions",
    "releases_of",
    "resolved_range",
    "tag_named",
]

_VERSION: Final = re.compile(
    r"(?<![\w./-])v?\d+(?:\.\d+)+(?:[-.]?(?:a|b|rc|alpha|beta|dev|post)\.?\d+)?(?![\w/-])(?!\.\w)"
)
_RELEASE: Final = re.compile(
    r"(?:\D*[^\d.])?(?P<numbers>\d+(?:\.\d+)+)(?:[-._]?(?P<stage>a|b|c|rc|alpha|beta|dev|pre)[-._]?(?P<turn>\d*))?",
    re.IGNORECASE,
)
_SINCE_RELEASE: Final = re.compile(
    r"\b(?:since|after)\s+(?:the\s+)?(?:last|latest|(?:most\s+)?recent|previous|newest)\s+(?:release|tag|version)\b",
    re.IGNORECASE,
)
_COUNTS: Final = {"two": 2, "three": 3, "four": 4, "five": 5}
_LAST_FEW: Final = re.compile(
    rf"\b(?P<between>between\s+|from\s+|compare\s+)?(?:the\s+)?(?:last|latest|(?:most\s+)?recent|newest)\s+"
    rf"(?P<count>{'|'.join(_COUNTS)}|[2-9])\s+(?:releases|tags|versions)\b",
    re.IGNORECASE,
)
_SINCE: Final = re.compile(r"\b(?:since|after)\s+(?:version\s+|release\s+|tag\s+)?\Z", re.IGNORECASE)
_SURE: Final = re.compile(
    r"\b(?:since|after|before|between|from|until|in|version|release|tag|was)\s+(?:the\s+)?"
    r"(?:version\s+|release\s+|tag\s+)?\Z",
    re.IGNORECASE,
)
"""After these a number with points is a version of the project, and not of something it uses ("Python 3.8")."""


@dataclass(frozen=True, slots=True)
class Read:
    """What a question says of versions.

    Attributes:
        words: The words it was read from.
        named: The tags it names, in the order said.
        revision: The commits they stand for; empty when none is named.
        is_told: Whether the revision has to be said, because it does not stand in the question as it is.
        missing: A version it names that no tag is called.
    """

    words: tuple[str, ...] = ()
    named: tuple[Tag, ...] = ()
    revision: str = ""
    is_told: bool = True
    missing: str = ""


def names_versions(text: str) -> bool:
    """Whether `text` speaks of versions at all, so that it is worth asking which tags there are."""
    return any(pattern.search(text) for pattern in (_VERSION, _SINCE_RELEASE, _LAST_FEW))


def read_versions(question: str, tags: Sequence[Tag]) -> Read:
    """Read what `question` says of versions, with the tags there are, newest first."""
    if few := _LAST_FEW.search(question):
        return _last_few(few, tags)
    if last := _SINCE_RELEASE.search(question):
        newest = releases_of(tags)[:1]
        return Read((last.group(),), tuple(newest), f"{newest[0].name}..HEAD") if newest else Read()
    return _named(question, tags)


def _named(question: str, tags: Sequence[Tag]) -> Read:
    """The versions that are named by their numbers."""
    found = list(_VERSION.finditer(question))
    known = [(match, tag) for match in found if (tag := tag_named(match.group(), tags))]
    words, named = tuple(match.group() for match, _ in known), tuple(tag for _, tag in known)
    unknown = [
        match for match in found if match.group() not in words and (known or _SURE.search(question[: match.start()]))
    ]
    if unknown:
        return Read(words, named, missing=unknown[0].group())
    if not known:
        return Read()
    if len(known) > 1:
        older, newer = sorted(named[:2], key=lambda tag: _place(tag, tags))
        return Read(words, named, f"{older.name}..{newer.name}")
    if _SINCE.search(question[: known[0][0].start()]):
        return Read(words, named, f"{named[0].name}..HEAD", is_told=False)
    previous = before(named[0], tags)
    return Read(words, named, f"{previous.name}..{named[0].name}" if previous else named[0].name)


def counts_releases(question: str) -> bool:
    """Whether a number in `question` counts releases, so that it limits nothing else."""
    return _LAST_FEW.search(question) is not None


def _last_few(found: re.Match[str], tags: Sequence[Tag]) -> Read:
    """The last few releases: what lies between the first and the last of them, or all that is in them."""
    count = _COUNTS.get(found["count"].lower()) or int(found["count"])
    releases = releases_of(tags)
    if len(releases) < count:
        return Read()
    start = releases[count - 1] if found["between"] else next(iter(releases[count : count + 1]), None)
    newest = releases[0]
    return Read((found.group(),), tuple(releases[:count]), f"{start.name}..{newest.name}" if start else newest.name)


def tag_named(version: str, tags: Iterable[Tag]) -> Tag | None:
    """The tag that a version is called, with or without a `v`, or a last `.0` that nobody says."""
    names = {tag.name: tag for tag in tags}
    bare = version.removeprefix("v")
    choices = (version, bare, f"v{bare}", f"{bare}.0", f"v{bare}.0", f"release-{bare}")
    return next((names[choice] for choice in choices if choice in names), None)


def resolved_range(revisions: str, tags: Sequence[Tag]) -> str:
    """`revisions` with versions spelled as their tags are, the older one first."""
    one, dots, other = revisions.partition("..")
    first, second = tag_named(one, tags), tag_named(other, tags)
    if not dots or first is None or (other and second is None):
        return revisions
    if second is None:
        return f"{first.name}.."
    older, newer = sorted((first, second), key=lambda tag: _place(tag, tags))
    return f"{older.name}..{newer.name}"


def releases_of(tags: Sequence[Tag]) -> list[Tag]:
    """The tags that are versions and no trial of one, in the order given; all tags when none is."""
    finished = [tag for tag in tags if (key := _key(tag)) is not None and key[1]]
    return finished or list(tags)


def before(tag: Tag, tags: Sequence[Tag]) -> Tag | None:
    """The release before `tag`: the next lower version, or for what is no version the tag made before."""
    ordered = _in_order(tag, tags)
    place = ordered.index(tag)
    return ordered[place - 1] if place else None


def following(tag: Tag, tags: Sequence[Tag]) -> Tag | None:
    """The release after `tag`."""
    ordered = _in_order(tag, tags)
    return next(iter(ordered[ordered.index(tag) + 1 :]), None)


def _in_order(tag: Tag, tags: Sequence[Tag]) -> list[Tag]:
    key = _key(tag)
    if key is None:
        return list(reversed(tags))
    versions = [one for one in tags if (own := _key(one)) is not None and (own[1] or one is tag or not key[1])]
    return sorted(versions, key=lambda one: (_key(one) or ((), False, "", 0), -tags.index(one)))


def _place(tag: Tag, tags: Sequence[Tag]) -> tuple[int, tuple[int, ...], bool, str, int]:
    """Where a tag stands: versions by their numbers, before them what is none, by when it was made."""
    key = _key(tag)
    return (1, *key) if key else (0, (-tags.index(tag),), False, "", 0)


def _key(tag: Tag) -> tuple[tuple[int, ...], bool, str, int] | None:
    """The numbers of a version, whether it is finished, and which trial it is; None for what is no version."""
    found = _RELEASE.fullmatch(tag.name)
    if found is None:
        return None
    numbers = tuple(int(part[:9]) for part in found["numbers"].split("."))
    while numbers and not numbers[-1]:
        numbers = numbers[:-1]
    return numbers, not found["stage"], (found["stage"] or "").lower(), int((found["turn"] or "0")[:9])
