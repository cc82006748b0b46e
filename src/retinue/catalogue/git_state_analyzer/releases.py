"""Tags as releases: which commits lie between them, and what is told of them."""

from collections.abc import Sequence
from typing import Final

from retinue.catalogue._prose import Prose, code, listed, name, one_line
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
    bounds = [tag_named(one, tags) for one in query.tags]
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
    for wanted in query.tags:
        tag = tag_named(wanted, tags)
        if tag is None:
            _reject(report, wanted, tags)
            return
        _say_named(git, tag, tags, report)
    ordered = tags[::-1] if query.order == "oldest" else tags
    if not query.tags:
        _say_end(git, query, ordered, report)
    if len(tags) > 1:
        report.about([tag.name for tag in ordered])
        rows = [(tag.name, day_of(tag.date), short(tag.sha)) for tag in ordered]
        report.table("Releases", ("tag", "date", "commit"), rows, kinds={"date": "time", "commit": "source"})


def _say_named(git: Git, tag: Tag, tags: Sequence[Tag], report: Report) -> None:
    report.say("releases", "{} is of {}.", code(tag.name), day_of(tag.date), source=commit_source(tag.sha))
    _say_author(git, tag, report)
    for word, other in zip(("Before", "After"), neighbours(tag, tags), strict=True):
        if other is None:
            report.say("releases", f"{word} {{}} there is no release.", code(tag.name), source=_TAGS)
        else:
            pieces = code(tag.name), code(other.name), day_of(other.date)
            report.say("releases", f"{word} {{}} came {{}}, of {{}}.", *pieces, source=commit_source(other.sha))


def _say_end(git: Git, query: CommitQuery, ordered: Sequence[Tag], report: Report) -> None:
    """Tell of the newest tag, or the oldest, and of some that are next to it."""
    first, *others = ordered
    text = f"The {query.order} of {plural(len(ordered), 'tag')} is {{}}, of {{}}."
    report.say("releases", text, code(first.name), day_of(first.date), source=commit_source(first.sha))
    _say_author(git, first, report)
    most = _NEAR if query.limit == DEFAULT_LIMIT else query.limit - 1
    near = [Prose("{} ({})", (code(tag.name), day_of(tag.date))) for tag in others[:most]]
    if near:
        lead = "After it" if query.order == "oldest" else "Before it"
        report.say("releases", f"{lead}: {{}}.", listed(near, most), source=_TAGS)
    if query.order == "newest":
        since = git.count(f"refs/tags/{first.name}..HEAD")
        text = f"Since then there {'is' if since == 1 else 'are'} {plural(since, 'commit')}."
        report.say("releases", text, source=f"git rev-list {one_line(first.name)}..HEAD")


def _say_author(git: Git, tag: Tag, report: Report) -> None:
    """Tell who wrote the commit of a tag; nothing where it names none."""
    if commit := next(iter(git.log(f"refs/tags/{tag.name}", limit=1)), None):
        pieces = code(tag.name), name(commit.author)
        report.say("releases", "The commit of {} is by {}.", *pieces, source=commit_source(tag.sha))


def _reject(report: Report, wanted: str, tags: Sequence[Tag]) -> None:
    near = [one_line(tag.name) for tag in tags[:_NEAR]]
    report.reject(
        f"No tag is called {wanted!r}.",
        hint=f"Name a tag there is, such as {', '.join(near)}." if near else "The repository has no tags.",
        suggestions=near,
    )
