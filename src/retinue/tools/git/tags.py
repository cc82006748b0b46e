"""How tags follow on each other as releases. Pure; the tags are given, the newest first.

What order they have is told by their numbers, since a mended old version is often tagged after a new one; what is no
version is ordered by when it was tagged.
"""

from collections.abc import Sequence

from retinue.tools.git.records import Tag


def find_tag(name: str, tags: Sequence[Tag]) -> Tag | None:
    """The tag that a version is called, with or without a `v`, or a last `.0` that nobody says."""
    by_name = {tag.name: tag for tag in tags}
    bare = name.removeprefix("v")
    choices = (name, bare, f"v{bare}", f"{bare}.0", f"v{bare}.0")
    return next((by_name[choice] for choice in choices if choice in by_name), None)


def _version(tag: Tag) -> tuple[str, tuple[int, ...]]:
    """What stands before the numbers at the end of a tag's name, and those numbers: `v1.10` is `v` and 1, 10."""
    kind = tag.name.rstrip("0123456789.")
    return kind, tuple(int(part[:9]) for part in tag.name[len(kind) :].split(".") if part)


def is_older(first: Tag, second: Tag, tags: Sequence[Tag]) -> bool:
    """Whether the first of two tags is the older release."""
    (kind, numbers), (other_kind, other_numbers) = _version(first), _version(second)
    if kind == other_kind and numbers != other_numbers:
        return numbers < other_numbers
    return tags.index(first) > tags.index(second)


def adjacent_tags(tag: Tag, tags: Sequence[Tag]) -> tuple[Tag | None, Tag | None]:
    """The release before a tag, and the one after it: among versions of its kind, else among all tags."""
    kind, numbers = _version(tag)
    alike = [one for one in tags if numbers and _version(one)[0] == kind and _version(one)[1]] or list(tags)
    ordered = sorted(alike, key=lambda one: (_version(one)[1] if numbers else (), -tags.index(one)))
    place = ordered.index(tag)
    return ordered[place - 1] if place else None, next(iter(ordered[place + 1 :]), None)
