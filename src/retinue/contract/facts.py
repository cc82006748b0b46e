"""What the parameters of a skill can be in one workspace: tables with their columns and values, and names of things.

Facts are text from outside. They choose among values and never name code; whoever shows them to a model fences them.
"""

from collections.abc import Mapping
from typing import Literal, TypeAlias

from pydantic import Field

from retinue.contract.model import Count, Many, Model

FACTS_KEYWORD = "x-facts"
"""The keyword in a parameter's schema that says which of `Facts.names` are its values: `"x-facts": "author"`."""

ColumnKind: TypeAlias = Literal["text", "number", "time", "boolean", "other"]


class ColumnFacts(Model):
    """What is known of one column.

    Attributes:
        other_names: What people call it who do not know its name, such as `response time` for `seconds`.
        values: All texts in it, where there are not too many; of whole numbers, where there are few.
        least: Its smallest number, or its first time as ISO 8601.
        most: Its largest number, or its last time.
        is_unique: Each row has a value of its own.
        unit: What its numbers count, when its name says so.
        is_derived: It is no column of the file; several make it up.
    """

    name: str
    kind: ColumnKind
    other_names: Many[str] = ()
    values: Many[str] = ()
    least: float | str | None = None
    most: float | str | None = None
    is_whole: bool = False
    is_unique: bool = False
    unit: str = ""
    is_derived: bool = False


class TableFacts(Model):
    """What is known of one table: what a query to it may name.

    Attributes:
        row_nouns: What a row is called, in the singular, beside the name of the file.
        is_aside: It is meant only where it is named; git is told to ignore it.
    """

    path: str
    row_count: Count = 0
    row_nouns: Many[str] = ()
    is_aside: bool = False
    columns: Many[ColumnFacts] = ()

    def column(self, name: str) -> ColumnFacts | None:
        """The column called `name`."""
        return next((one for one in self.columns if one.name == name), None)


class Facts(Model):
    """What there is for one skill.

    Attributes:
        names: Names of things by what they are, such as `author`, `branch`, `fixture` or `symbol`; the commonest first.
        is_complete: Nothing was left out for want of time or space.
    """

    tables: Many[TableFacts] = ()
    names: Mapping[str, Many[str]] = Field(default_factory=dict[str, Many[str]])
    is_complete: bool = True
