"""What the skills take, as types."""

from typing import Annotated, Any, Final, Literal, TypeAlias

from pydantic import Field

from retinue.contract.model import Many, Model

__all__ = [
    "NOTHING",
    "NO_QUERY",
    "Author",
    "Base",
    "Branch",
    "CommitQuery",
    "Limit",
    "Paths",
    "Query",
    "QuestionText",
    "Range",
    "Show",
    "Since",
    "Target",
    "Until",
]

NOTHING: Final[list[Any]] = []

Show: TypeAlias = Literal[
    "state", "largest", "files", "form", "releases", "count", "people", "last", "first", "changes", "overview"
]
"""What leads an answer about commits."""


class CommitQuery(Model):
    """What is wanted of the commits, instead of a question in words."""

    show: Annotated[
        Show,
        Field(
            description="What leads the answer: the newest commit (`last`), the oldest, a list (`changes`), a number,"
            " who wrote them, the files changed most, the largest, the form of their messages, releases, the work tree"
            " (`state`), or an `overview`."
        ),
    ] = "overview"
    text: Annotated[str, Field(max_length=200, description="Only commits that add or remove this text in a file.")] = ""
    task: Annotated[
        str, Field(max_length=200, description="Only commits whose message names this ticket or issue.")
    ] = ""
    subject: Annotated[Many[str], Field(max_length=20, description="Only commits whose subject has these words.")] = ()
    merges: Annotated[bool, Field(description="Whether merges count.")] = True
    not_by: Annotated[Many[str], Field(max_length=20, description="Whose commits do not count.")] = ()


NO_QUERY: Final = CommitQuery()

QuestionText = Annotated[
    str,
    Field(
        max_length=10_000,
        json_schema_extra={"default": ""},
        description="The question in plain words; it decides which facts lead the answer.",
    ),
]
Branch = Annotated[
    str, Field(max_length=250, description="Which branch to look at; empty means the one that is checked out.")
]
Base = Annotated[
    str,
    Field(
        max_length=250,
        description="What to compare the branch with: a branch, tag or commit; empty means the remote's main branch, or"
        " what the branch tracks.",
    ),
]
Paths = Annotated[
    list[Annotated[str, Field(min_length=1, max_length=1000)]],
    Field(
        max_length=100,
        json_schema_extra={"uniqueItems": True},
        description="Only commits that touch any of these files or folders; an empty list means all.",
    ),
]
Since = Annotated[
    str,
    Field(
        max_length=40,
        description="Only commits of this date or later, as an ISO day or moment in UTC; empty means from the first"
        " one.",
    ),
]
Until = Annotated[
    str,
    Field(
        max_length=40,
        description="Only commits of this date or earlier, as an ISO day or moment in UTC; empty means to the last"
        " one.",
    ),
]
Author = Annotated[
    str,
    Field(
        max_length=200,
        description="Only commits whose author's name or address holds this text; empty means everybody.",
    ),
]
Range = Annotated[
    str,
    Field(
        max_length=500,
        description="Only commits in this range of revisions, such as main..HEAD; empty means everything HEAD reaches.",
    ),
]
Limit = Annotated[int, Field(ge=1, le=100, description="How many of the newest commits to describe one by one.")]
Target = Annotated[
    str, Field(min_length=1, max_length=200, description="The ticket whose tasks are compared with the commits.")
]
Query = Annotated[CommitQuery, Field(description="What is wanted, typed; with it the question is not read.")]
