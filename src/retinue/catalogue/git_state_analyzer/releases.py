"""Tags as releases: which commits lie between them, and what is told of them."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import code, one_line
from retinue.catalogue._report import Report, plural
from retinue.catalogue.git_state_analyzer.parameters import DEFAULT_LIMIT, CommitQuery
from retinue.catalogue.git_state_analyzer.repository import commit_source, day_of, short
from retinue.tools.git import Git, Tag
from retinue.tools.git.tags import comes_before, neighbours, tag_named

__all__ = ["revision_of", "say_releases"]

_TAGS: Final = "git for-each-ref refs/tags"
_NEAR: Final = 3


def revision_of(git: Git, query: CommitQuery, report: Report) -> str | None:
    """The commits that the range or the tags of `query` bound; None when there is no such tag, which is then said."""
    if query.range:
        return query.range
    if not query.tags or query.show == "release_dates":
        return "HEAD"
    tags = git.tags()
    bounds = [tag_named(name, tags) for name in query.tags]
    named = [tag for tag in bounds if tag is not None]
    if len(named) < len(bounds):
        _reject(report, query.tags[bounds.index(None)], tags)
        return None
    if len(named) > 1:
        older, newer = named if comes_before(named[0], named[1], tags) else named[::-1]
        return f"refs/tags/{older.name}..refs/tags/{newer.name}"
    tag = named[0]
    if query.tag_scope == "since":
        return f"refs/tags/{tag.name}..HEAD"
    older = neighbours(tag, tags)[0] if query.tag_scope == "within" else None
    return f"refs/tags/{older.name}..refs/tags/{tag.name}" if older else f"refs/tags/{tag.name}"


def say_releases(git: Git, query: CommitQuery, report: Report) -> None:
    """Tell of the releases that are named, else of the newest or the oldest."""
    tags = git.tags()
    if not tags:
        report.say("releases", "The repository has no tags, so no release can be told.", source=_TAGS)
        return
    for name in query.tags:
        tag = tag_named(name, tags)
        if tag is None:
            _reject(report, name, tags)
            return
        _say_named(tag, tags, report)
    if not query.tags:
        _say_end(git, query, tags, report)
    if len(tags) > 1:
        ordered = tags[::-1] if query.order == "oldest" else tags
        report.about([tag.name for tag in ordered])
        rows = [(tag.name, day_of(tag.date), short(tag.sha)) for tag in ordered]
        report.table("Releases", ("tag", "date", "commit"), rows, kinds={"date": "time", "commit": "source"})


def _say_named(tag: Tag, tags: Sequence[Tag], report: Report) -> None:
    report.say("releases", "{} is of {}.", code(tag.name), day_of(tag.date), source=commit_source(tag.sha))
    for word, other in zip(("Before", "After"), neighbours(tag, tags), strict=True):
        if other is None:
            report.say("releases", f"{word} {{}} there is no release.", code(tag.name), source=_TAGS)
        else:
            report.say(
                "releases", f"{word} {{}} came {{}}, of {{}}.", code(tag.name), code(other.name), day_of(other.date),
                source=commit_source(other.sha),
            )  # fmt: skip


def _say_end(git: Git, query: CommitQuery, tags: Sequence[Tag], report: Report) -> None:
    """Tell of the newest tag, or the oldest, and of some that are next to it."""
    is_oldest = query.order == "oldest"
    first, *others = reversed(tags) if is_oldest else tags
    word, lead = ("oldest", "After it") if is_oldest else ("newest", "Before it")
    report.say(
        "releases", f"The {word} of {{}} is {{}}, of {{}}.", plural(len(tags), "tag"), code(first.name),
        day_of(first.date), source=commit_source(first.sha),
    )  # fmt: skip
    near = others[: _NEAR if query.limit == DEFAULT_LIMIT else query.limit - 1]
    if near:
        pieces = [piece for tag in near for piece in (code(tag.name), day_of(tag.date))]
        report.say("releases", f"{lead}: {', '.join(['{} ({})'] * len(near))}.", *pieces, source=_TAGS)
    if not is_oldest:
        since = git.count(f"refs/tags/{first.name}..HEAD")
        text = f"Since then there {'is' if since == 1 else 'are'} {plural(since, 'commit')}."
        report.say("releases", text, source=f"git rev-list {one_line(first.name)}..HEAD")


def _reject(report: Report, name: str, tags: Sequence[Tag]) -> None:
    near = [one_line(tag.name) for tag in tags[:_NEAR]]
    report.reject(
        f"No tag is called {name!r}.",
        hint=f"Name a tag there is, such as {', '.join(near)}." if near else "The repository has no tags.",
        suggestions=near,
    )
