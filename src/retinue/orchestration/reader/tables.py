"""One grammar for questions about tables: words become a `TableQuery`, or it is said which of them do not.

It knows the facts of the table and the words of `table_words`, and nothing else. Every word must go into the query or
mean nothing: one that is left over makes the whole unread, since a figure that leaves it out would be of something
else. Nothing here opens a file.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, cast

from retinue.contract.facts import ColumnFacts, TableFacts
from retinue.contract.table_query import Function, Grouping, Measure, Ordering, TableQuery
from retinue.orchestration.reader.table_conditions import (
    Ambiguity,
    Conditions,
    Unclear,
    flag_value,
    is_flag,
    usual_unit,
)
from retinue.orchestration.reader.table_items import Item, ItemIndex, tokens_of, words_of
from retinue.orchestration.reader.table_words import DIMENSIONS

__all__ = ["Ambiguity", "TableReading", "example_questions", "read_table_question"]

_TOKENS: Final = 300
"""Words and marks of the longest question about a table."""
_FIGURES: Final = ("mean", "sum", "max", "min")


@dataclass(frozen=True, slots=True)
class TableReading:
    """What a question came to.

    Attributes:
        query: None unless every word went into it.
        unread: Words that name nothing here, or that could not be put into the query.
        ambiguity: What must be known first.
        is_about: Some word names a column or a value of the table, or its rows.
        is_open: The words ask only what the table holds.
    """

    query: TableQuery | None
    unread: tuple[str, ...] = ()
    ambiguity: Ambiguity | None = None
    notes: tuple[str, ...] = ()
    is_about: bool = False
    is_open: bool = False


def read_table_question(question: str, table: TableFacts, *, meanings: Mapping[str, str] | None = None) -> TableReading:
    """Read `question` as a query to `table`.

    Args:
        question: In English, as people ask.
        table: What there is.
        meanings: Which column, or which figure, an ambiguous word means; by the word.
    """
    tokens = tokens_of(question)
    if len(tokens) > _TOKENS:
        return TableReading(None, tuple(tokens[:3]))
    parser = _Parser(table, {word.casefold(): name for word, name in (meanings or {}).items()})
    parser.label(tokens)
    try:
        parser.parse()
    except Unclear as error:
        unknown = tuple(item.text for item in parser.items if item.kind == "unknown" and not item.is_used)
        if unknown:
            return TableReading(None, unknown, is_about=True)
        return TableReading(None, ambiguity=error.ambiguity, is_about=True)
    unread = tuple(item.text for item in parser.items if item.is_open)
    is_about = any(item.columns or item.values or item.kind == "rows" for item in parser.items)
    is_open = not unread and not any(item.is_used for item in parser.items)
    query = None if unread or is_open else parser.query()
    return TableReading(query, unread, notes=tuple(parser.notes), is_about=is_about, is_open=is_open)


def example_questions(table: TableFacts) -> tuple[str, ...]:
    """Two questions that work on `table`."""
    numbers = [one.name for one in table.columns if one.kind == "number" and not one.is_unique]
    texts = [one for one in table.columns if one.kind == "text" and not one.is_unique]
    found: list[str] = []
    if numbers and texts:
        found.append(f"average `{numbers[-1]}` by `{texts[0].name}`")
    if texts and texts[0].values:
        found.append(f'how many rows where `{texts[0].name}` is "{texts[0].values[0]}"')
    if numbers and len(found) < 2:
        found.append(f"the highest `{numbers[-1]}`")
    return tuple([*found, "how many rows are there"][:2])


@dataclass(slots=True)
class _Parser(Conditions):
    """Takes the items together, pass by pass."""

    def label(self, tokens: list[str]) -> None:
        """Make the items of a question."""
        index = ItemIndex(self.table, self.meanings)
        at = 0
        while at < len(tokens):
            item, width = index.item(tokens, at)
            if index.note:
                self.notes.append(index.note)
            self.items.append(item)
            at += width
        for place, item in enumerate(self.items):  # "max temperature" is `temp_max`
            after = self.at(place + 1)
            self.narrow(after, item.text.casefold())  # "the widest petals"
            own = tuple(name for name in after.columns if item.text.casefold() in words_of(name))
            if item.kind == "function" and len(after.columns) > 1 and len(own) == 1:
                after.columns = own
                if self.at(self.near(place, -1)).kind in ("function", "superlative"):
                    item.kind = "stop"
        for place, item in enumerate(self.items):  # "the order total", but "total price"
            name = index.whole(item.text)
            if (
                name
                and item.kind in ("function", "count")
                and self.at(self.near(place, 1)).kind not in ("column", "rows")
            ):
                item.kind, item.columns = "column", name
        self._narrow()

    def _narrow(self) -> None:
        """Join neighbouring words that may each be several columns, and together are fewer: "bill … length"."""
        before: Item | None = None
        for item in self.items:
            if item.kind == "stop" and item.text.casefold() in {"of", "the", "in", "a"}:
                continue
            if item.kind == "column" and before is not None and (len(before.columns) > 1 or len(item.columns) > 1):
                both = tuple(name for name in before.columns if name in item.columns)
                if both:
                    item.columns, before.kind = both, "stop"
                    item.text = f"{before.text} {item.text}"
            before = item if item.kind == "column" else None

    def parse(self) -> None:
        """Take the items together; what is left over is not understood."""
        for one in (
            self._percentiles, self._limits, self._between, self._comparisons, self._dates, self._values,
            self._missing, self._shares, self._orders, self._groups, self._trends, self._averages, self._functions,
            self._common, self._superlatives, self._counts, self._equal_numbers, self._rest,
        ):  # fmt: skip
            one()

    def _percentiles(self) -> None:
        """Read "p95 of the delay", "the 25th and 75th percentile of price", "quartiles of price"."""
        places = list(self.open("percentile"))
        if not places:
            return
        exact = [self.items[place].number for place in places if not self.items[place].payload]
        points = exact or [float(one) for one in self.items[places[0]].payload.split()]
        after, before = range(places[-1], len(self.items)), range(places[0], -1, -1)
        at = next((place for place in (*after, *before) if self.is_number(self.items[place])), None)
        numbers = [one for one in self.table.columns if one.kind == "number"]
        column = self.column(self.items[at], "number") if at is not None else numbers[0] if len(numbers) == 1 else None
        if column is not None:
            self.use(*places, *([] if at is None else [at]))
            self.measures += [Measure(function="percentile", column=column.name, percentile=point) for point in points]
        for place in places[:-1]:
            if self.at(place + 1).kind == "and":
                self.use(place + 1)

    def _limits(self) -> None:
        """Read "top 5", "the 3 largest", "which 2 months"; "top" alone is a superlative."""
        for place in self.open("top"):
            following = self.at(place + 1)
            if following.kind == "number":
                self.limit = int(following.number)
                self.use(place, place + 1)
        for place in self.open("number"):
            after = self.near(place, 1)
            is_end = self.at(place + 1).kind in ("superlative", "common") or self.at(place + 1).text in DIMENSIONS
            counts = self.at(after).kind in ("rows", "column") and (
                self.at(self.near(place, -1)).kind in ("which", "list") or self.at(place - 1).text.casefold() == "the"
            )
            if not self.limit and (is_end or (counts and self.has("superlative", "common"))):
                self.limit = int(self.items[place].number)
                self.use(place)

    def _shares(self) -> None:
        """Read "what share of sales were coffee", "share of total distance by carrier"."""
        place = next(self.open("share"), None)
        if place is None:
            return
        self.use(place)
        self.share_at = place
        total = next((at for at in self.open("function") if at > place and self.at(at).payload == "sum"), None)
        of = self.near(place, 1, "function")
        column = ""
        if self.is_number(self.at(of)) and (total is not None or not self.has("rows")):
            found = self.column(self.at(of), "number")
            column = found.name if found else ""
            self.use(of, *([total] if total is not None else []))
        self.measures.append(Measure(function="share", column=column))

    def _split_share(self) -> None:
        """Put the conditions behind the verb into the share; those before say of which rows it is one."""
        if self.share_at is None:
            return
        verb = next(
            (place for place in range(self.share_at, len(self.items)) if self.items[place].kind == "verb"),
            self.share_at,
        )
        inner = [one for one in self.conditions if one.at > verb] or self.conditions
        if self.groups and verb == self.share_at:
            inner = []
        self.conditions = [one for one in self.conditions if one not in inner]
        self.measures = [
            one.model_copy(update={"where": tuple(each.condition for each in inner)})
            if one.function == "share"
            else one
            for one in self.measures
        ]

    def _orders(self) -> None:
        for place in self.open("order"):
            at = self.near(place, 1, "by")
            if self.at(place + 1).kind == "by":
                self.use(place + 1)
            way = next((one for one in self.open("direction")), None)
            column = self.column(self.at(at)) if self.at(at).kind == "column" else None
            self.use(place, *([way] if way is not None else []))
            if column is not None:
                self.at(at).is_used = True
                descending = column.kind == "number" if way is None else self.at(way).payload == "desc"
                self.order = Ordering(by=column.name, descending=descending)
            else:
                self.order = Ordering(descending=way is None or self.at(way).payload == "desc")

    def _groups(self) -> None:
        for place in self.open("by"):
            at = self.near(place, 1, "distinct")
            if self.at(at).kind == "value" and self.at(at).is_used:
                self.use(place, *([place - 1] if self.at(place - 1).kind == "unknown" else []))  # "flown by UA"
                continue
            if self._is_ranking(place, at):
                continue
            if self.at(at).kind not in ("column", "unit", "rows") or not self._group(at):
                continue
            self.use(place)
            while self.at(self.near(at, 1)).kind == "and" or self.at(at + 1).text == ",":
                joint = self.near(at, 1)
                other = self.near(joint, 1, "by") if self.at(joint).kind == "and" else joint
                follows_figure = self.at(self.near(other, -1)).kind == "function"
                if self.at(other).kind not in ("column", "unit") or follows_figure or not self._group(other):
                    break
                self.use(*range(joint, other + 1))
                at = other
        for place in self.open("unit"):
            if self.at(place).text.casefold().endswith("ly"):
                self._group(place)

    def _is_ranking(self, place: int, at: int) -> bool:
        """Read "top 5 cities by total sales", "the 3 largest orders by price": what comes first, and no group."""
        ranked = next((one for one in self.open("column", "rows") if one < place), None)
        if (
            not self.limit
            or ranked is None
            or not (self.is_number(self.at(at)) or self.at(at).kind in ("function", "count"))
        ):
            return False
        self.use(place)
        top = next((one for one in self.items if one.kind in ("top", "superlative")), None)
        self.order = Ordering(descending=top is None or top.payload not in ("min", "least"))
        if top is not None:
            top.is_used = True
        named = self.column(self.items[ranked]) if self.items[ranked].kind == "column" else None
        if self.items[ranked].kind == "column" and not (named and named.is_unique and self.is_number(self.at(at))):
            if self.is_number(self.at(at)):
                self.measures.append(self._figure(at))
            return self._group(ranked)
        column = self.column(self.at(at), "number")
        self.use(at, ranked)
        self.columns = ["*"] if named is None else [named.name, *([] if column is None else [column.name])]
        self.order = Ordering(by=column.name if column else "", descending=self.order.descending)
        return True

    def _figure(self, place: int) -> Measure:
        """The figure of the column at `place` that was said to be meant; it is asked for when nobody said."""
        meaning = self.meanings.get(self.at(place).text.casefold(), "")
        if meaning not in _FIGURES:
            raise Unclear(Ambiguity(self.at(place).text, _FIGURES))
        self.use(place)
        name = next(name for name in self.at(place).columns)
        return Measure(function=cast("Function", meaning), column=name)

    def _trends(self) -> None:
        for place in self.open("trend"):
            times = [one for one in self.table.columns if one.kind == "time"]
            column = next((one for one in times if one.is_derived), times[0] if len(times) == 1 else None)
            if column is not None:
                self.use(place)
                self.groups = [Grouping(column=column.name, unit=usual_unit(column))]

    def _averages(self) -> None:
        """Read "average number of flights per day", "average sales per city": the mean over the groups."""
        for place in self.open("function"):
            at = self.near(place, 1)
            counted = self.at(at).kind == "count"
            rows = self.near(at, 1) if counted else at
            if self.items[place].payload == "mean" and self.at(rows).kind == "rows" and self.groups:
                self.use(place, at, rows)
                self.averaged = True
                self.measures.append(Measure(function="count"))

    def _functions(self) -> None:
        """Read "average delay", "min, max and mean of air time", "departure delay on average"."""
        functions: list[int] = []
        for place in list(self.open("function")):
            if self.at(place).is_used:
                continue
            functions.append(place)
            at = self._operand(place)
            if self.at(at).kind == "function":
                continue
            is_measured = False
            while self._measure(functions, at):
                is_measured = True
                joint = self.near(at, 1)
                other = self.near(joint, 1) if self.at(joint).kind == "and" else joint
                listed = self.at(joint).kind == "and" or self.at(at + 1).text == ","
                if not (listed and self.is_number(self.at(other)) and not self.at(other).is_used):
                    break
                self.use(*([joint] if joint != other else []))
                at = other
            if not is_measured:
                self._measure(functions, self.near(functions[0], -1, "verb"))
            functions = []
        for place in self.open("and"):  # what joined two figures
            if self.at(self.near(place, 1)).is_used and self.at(self.near(place, -1)).is_used:
                self.use(place)

    def _operand(self, place: int) -> int:
        """What the function at `place` is of; another function, where several are of the same."""
        at = self.near(place, 1, "and", "verb") if self.at(place + 1).text == "," else self.near(place, 1)
        is_counted = self.at(at).kind in ("count", "rows") and self.is_number(self.at(self.near(at, 1)))
        joins = self.at(at).kind == "and" and self.at(self.near(at, 1)).kind in ("function", "percentile")
        if is_counted or joins:
            self.use(at)  # "the average number of seats", "the average order total", "min and max"
            at = self.near(at, 1)
        return at

    def _measure(self, functions: list[int], at: int) -> bool:
        item = self.at(at)
        if item.kind != "column" or item.is_used:
            return False
        extremes = all(self.at(place).payload in ("min", "max") for place in functions)
        column = self.column(item, "number", *(("time",) if extremes else ()))
        if column is None:
            return False
        self.use(*functions, at)
        self.measures += [
            Measure(function=cast("Function", self.at(place).payload), column=column.name) for place in functions
        ]
        return True

    def _common(self) -> None:
        """Read "the most common species", "which day is most frequent"."""
        for place in self.open("common"):
            at = self.near(place, 1)
            if self.at(at).kind != "column":
                at = self.near(place, -1, "verb")
            if self.at(at).kind in ("column", "unit") and not self.at(at).is_used and self._group(at):
                self.use(place)
                self.measures.append(Measure(function="count"))
                self.order = Ordering()

    def _superlatives(self) -> None:
        for place in list(self.open("superlative", "unknown")):
            item = self.items[place]
            if item.kind == "unknown" and item.text.casefold() not in DIMENSIONS:
                continue
            self._superlative(place)

    def _superlative(self, place: int) -> None:
        """Read "which city has the most sales", "the heaviest penguin", "the highest price"."""
        item = self.items[place]
        at = self.near(place, 1, "distinct")
        counts = item.kind == "superlative" and item.payload in ("most", "least")
        if self.measures and self.at(at).is_used and self.at(at).kind in ("column", "function"):
            # "the highest average price", whose figure is known already
            end = DIMENSIONS[item.text.casefold()][0][1] if item.kind == "unknown" else item.payload
            self._lead_by(place, end)
        elif counts and self.at(at).kind in ("rows", "count"):
            self._lead_by_count(place, at, item.payload)
        elif counts and self._is_group(at):
            found = self.column(self.at(at), "text")
            self.use(place, at)
            self.measures.append(Measure(function="count_distinct", column=found.name if found else ""))
            self._lead_by(place, item.payload)
        else:
            column, end, is_dimension = self._end(place, at)
            if column is not None:
                self.use(place)
                self._extreme(place, column, end, summed=counts and not is_dimension)

    def _end(self, place: int, at: int) -> tuple[ColumnFacts | None, str, bool]:
        """Which column the superlative at `place` is about, which end of it, and whether the adjective tells."""
        item, word = self.items[place], self.at(at).text.casefold()
        if item.payload == "most" and word in DIMENSIONS:  # "most expensive"
            self.use(at)
            return *self._of_dimension(word), True
        if item.kind == "unknown" and not self.is_number(self.at(at)):
            return *self._of_dimension(item.text.casefold()), True
        if item.kind == "unknown":
            self.narrow(self.at(at), item.text.casefold())
        column = self.column(self.at(at), "number", "time") if self.at(at).kind == "column" else None
        if column is not None:
            self.use(at)
        if item.kind == "unknown":  # "the longest flipper length"
            return column, DIMENSIONS[item.text.casefold()][0][1], True
        return column, "max" if item.payload in ("most", "max") else "min", False

    def _lead_by_count(self, place: int, at: int, way: str) -> None:
        if self.at(at).kind == "count":
            self.use(self.near(at, 1))
        self.use(place, at)
        self.measures.append(Measure(function="count"))
        self._lead_by(place, way)

    def _lead_by(self, place: int, way: str) -> None:
        """Order groups by the figure just read; who leads is asked for."""
        subject = self._subject(place)
        if subject is not None:
            self._group(subject)
        if self.groups:
            self.use(place)
            self.order = Ordering(descending=way in ("most", "max"))

    def _subject(self, place: int) -> int | None:
        """What is asked for beside a superlative: the column before it, else a column of texts behind it."""
        before = [at for at in self.open("column", "unit") if at < place]
        return before[0] if before else next((at for at in self.open("column") if self._is_group(at)), None)

    def _extreme(self, place: int, column: ColumnFacts, end: str, *, summed: bool) -> None:
        """The rows at one end of a column, the groups at one end, or that end itself."""
        subject = self._subject(place)
        subject_column = self.column(self.at(subject)) if subject is not None and self.at(subject).columns else None
        asks_rows = self.has("rows") and any(not self.at(at).is_used for at in self.open("rows"))
        if summed and subject is not None and not (subject_column and subject_column.is_unique):
            self.measures.append(Measure(function="sum", column=column.name))
            self._group(subject)
            self.order = Ordering(descending=end == "max")
        elif subject is not None or asks_rows or self.limit or (self.has("which") and column.kind != "number"):
            names = [] if subject_column is None else [subject_column]
            self.use(*([] if subject is None else [subject]))
            self.use(*self.open("rows"))
            self.columns = [*(one.name for one in names), column.name] if names else ["*"]
            self.order = Ordering(by=column.name, descending=end == "max")
            self.limit = self.limit or 1
        else:
            function: Function = "max" if end == "max" else "min"
            self.measures.append(Measure(function=function, column=column.name))

    def _counts(self) -> None:
        for place in self.open("count"):
            at = self.near(place, 1)
            is_distinct = self.at(at).kind == "distinct"
            if is_distinct:
                self.use(at)
                at = self.near(at, 1)
            item = self.at(at)
            if item.kind == "column" and not item.is_used and (column := self.column(item)) is not None:
                if is_flag(column) and not is_distinct:
                    self._add(at, column.name, "=", flag_value(column, truth=True))
                    self.measures.append(Measure(function="count"))
                elif column.kind == "number" and not is_distinct:
                    self.measures.append(Measure(function="sum", column=column.name))
                else:
                    self.measures.append(Measure(function="count_distinct", column=column.name))
                self.use(at)
                self._more_distinct(at, is_distinct=is_distinct)
            elif not self.having:
                self.measures.append(Measure(function="count"))
            else:
                continue  # "how many cities have more than 3 sales": groups are not counted
            self.use(place)
        for place in self.open("distinct"):
            at = self.near(place, 1)
            column = self.column(self.at(at)) if self.at(at).kind == "column" and not self.at(at).is_used else None
            if column is not None:
                self.use(place, at)
                self.groups.append(Grouping(column=column.name))
        self.use(*self.open("rows"))

    def _more_distinct(self, at: int, *, is_distinct: bool) -> None:
        while is_distinct and self.at(self.near(at, 1)).kind == "and":
            joint, other = self.near(at, 1), self.near(self.near(at, 1), 1)
            column = self.column(self.at(other)) if self.at(other).kind == "column" else None
            if column is None or self.at(other).is_used:
                return
            self.measures.append(Measure(function="count_distinct", column=column.name))
            self.use(joint, other)
            at = other

    def _rest(self) -> None:
        """Columns that are left: a truth is a condition, a text puts rows together, a number wants its row."""
        self._split_share()
        one_row = any(
            (column := self.table.column(one.condition.column)) and column.is_unique and one.condition.op == "="
            for one in self.conditions
        )
        for place in list(self.open("column")):
            column = self.column(self.items[place])
            if column is not None and self._take(place, column, one_row=one_row):
                self.use(place)
        for place in self.open("and"):
            after = self.at(self.near(place, 1))
            if self.at(self.near(place, -1)).is_used and (after.is_used or not after.text):
                self.use(place)
        self.use(*(place for place in self.open("unit") if self._only_repeats(place)))

    def _take(self, place: int, column: ColumnFacts, *, one_row: bool) -> bool:
        """Give a column that is left its part; False when it has none."""
        if is_flag(column):
            self._add(place, column.name, "=", flag_value(column, truth=not self.is_negated(place)))
        elif one_row or self.columns:
            names = self.columns or [one.condition.column for one in self.conditions]
            self.columns = list(dict.fromkeys([*names, column.name]))
        elif (
            self.has("list") and not self.measures and (column.kind == "number" or any(map(self.is_number, self.items)))
        ):
            self.columns.append(column.name)
        elif column.kind == "number" and not self.measures and not self.order:
            figures: tuple[Function, ...] = ("mean", "sum")
            self.measures += [Measure(function=one, column=column.name) for one in figures]
            self.notes.append(f"No figure of `{column.name}` is named: mean and total are given.")
        elif column.kind in ("text", "boolean") and not self.groups:
            self.groups.append(Grouping(column=column.name))
        else:
            return False
        return True

    def _only_repeats(self, place: int) -> bool:
        """Read "in March of that year", "per day of the month": a unit beside a time that was read."""
        return any(one.condition.part != "none" or one.at in (place - 1, place + 1) for one in self.conditions)

    def query(self) -> TableQuery:
        """What was read."""
        lists = not (self.measures or self.groups or self.columns) and not self.has("count")
        columns = ["*"] if lists and (self.has("list") or self.has("which")) else self.columns
        return TableQuery(
            measures=() if columns else (tuple(dict.fromkeys(self.measures)) or (Measure(function="count"),)),
            group_by=() if columns else tuple(self.groups),
            where=tuple(dict.fromkeys(one.condition for one in self.conditions)),
            having=tuple(self.having),
            order=self.order,
            limit=self.limit,
            select=tuple(columns),
            averaged=self.averaged,
        )
