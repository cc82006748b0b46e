"""What is said of releases: the newest, the first, the ones a question names, and what stands before and after them."""

import re
from typing import Final

from retinue.catalogue._prose import code
from retinue.catalogue.git_state_analyzer.found import Found
from retinue.catalogue.git_state_analyzer.moments import day_of
from retinue.catalogue.git_state_analyzer.report import commit_source, plural
from retinue.catalogue.git_state_analyzer.versions import before, following, releases_of, tag_named
from retinue.tools.git import Tag

__all__ = ["is_of_first", "say_absent", "say_releases"]

_FIRST: Final = re.compile(r"\b(?:first|oldest|earliest)\b", re.IGNORECASE)
_NEWEST: Final = re.compile(r"\b(?:last|latest|newest|current|recent)\b", re.IGNORECASE)
_BEFORE: Final = re.compile(r"\b(?:before|preced\w+|prior|previous)\b", re.IGNORECASE)
_AFTER: Final = re.compile(r"\b(?:after|follow\w*|next|since)\b", re.IGNORECASE)
_TAGS: Final = "git for-each-ref refs/tags"
_SHOWN: Final = 3


def is_of_first(question: str) -> bool:
    """Whether a question asks for the first release and not for the last."""
    return _FIRST.search(question) is not None and _NEWEST.search(question) is None


def say_releases(found: Found) -> None:
    """The releases that are asked for; the newest when none is singled out."""
    tags = found.git.tags()
    if not tags:
        found.report.say("releases", "The repository has no tags, so no release can be told.", source=_TAGS)
        return
    named = [tag for name in found.scope.releases if (tag := tag_named(name, tags)) is not None]
    for tag in named:
        _say_named(found, tag, tags)
    if named:
        return
    if _FIRST.search(found.question):
        _say_oldest(found, tags)
    if not is_of_first(found.question):
        _say_newest(found, tags)


def say_absent(found: Found) -> None:
    """That a version is named which no tag is called, and which are nearest."""
    names = found.scope.releases
    listed = f" The newest are {', '.join(['{}'] * len(names))}." if names else " The repository has no tags."
    found.report.say(
        "not found", f"No tag is called {{}}.{listed}", code(found.scope.absent), *map(code, names), source=_TAGS
    )


def _say_named(found: Found, tag: Tag, tags: list[Tag]) -> None:
    """When a release was made, and its neighbour that is asked for first."""
    for pattern, word, other in (
        (_BEFORE, "Before", before(tag, tags)),
        (_AFTER, "After", following(tag, tags)),
    ):
        if not pattern.search(found.question):
            continue
        if other is None:
            found.report.say("releases", f"{word} {{}} there is no release.", code(tag.name), source=_TAGS)
            continue
        found.report.say(
            "releases",
            f"{word} {{}} came {{}}, of {{}}.",
            code(tag.name), code(other.name), day_of(other.date),
            source=commit_source(other.sha),
        )  # fmt: skip
    found.report.say("releases", "{} is of {}.", code(tag.name), day_of(tag.date), source=commit_source(tag.sha))


def _say_oldest(found: Found, tags: list[Tag]) -> None:
    oldest = tags[-1]
    found.report.say(
        "releases",
        "The oldest of {} is {}, of {}.",
        plural(len(tags), "tag"), code(oldest.name), day_of(oldest.date),
        source=commit_source(oldest.sha),
    )  # fmt: skip
    if is_of_first(found.question):
        _list_tags(found, "After it", tags[-2 : -2 - _SHOWN : -1])


def _say_newest(found: Found, tags: list[Tag]) -> None:
    newest = tags[0]
    found.report.say(
        "releases",
        "The newest of {} is {}, of {}.",
        plural(len(tags), "tag"), code(newest.name), day_of(newest.date),
        source=commit_source(newest.sha),
    )  # fmt: skip
    _list_tags(found, "Before it", [tag for tag in releases_of(tags) if tag is not newest][:_SHOWN])
    since = found.git.count(f"refs/tags/{newest.name}..HEAD")
    found.report.say(
        "releases",
        f"Since then there {'is' if since == 1 else 'are'} {plural(since, 'commit')}.",
        source=f"git rev-list {newest.name}..HEAD",
    )


def _list_tags(found: Found, lead: str, tags: list[Tag]) -> None:
    if tags:
        pieces = [piece for tag in tags for piece in (code(tag.name), day_of(tag.date))]
        found.report.say("releases", f"{lead}: {', '.join(['{} ({})'] * len(tags))}.", *pieces, source=_TAGS)
