"""Which rows a question is about: comparisons, stretches of time, values, missing ones."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, timedelta
from typing import Any, Final, cast

from retinue.contract.facts import ColumnFacts, TableFacts
from retinue.contract.table_query import (
    Condition,
    Function,
    GroupCondition,
    Grouping,
    Measure,
    Operator,
    Ordering,
    TimeUnit,
    Value,
)
from retinue.orchestration.reader.table_items import YEARS, Item, words_of
from retinue.orchestration.reader.table_words import DIMENSIONS, UNIT_SIZES, WEEKDAYS, Kind

__all__ = ["Ambiguity", "Conditions", "PlacedCondition", "Unclear", "flag_value", "is_flag", "usual_unit"]

_CURRENCIES: Final = frozenset({"$", "€", "£", "dollar", "dollars", "euro", "euros", "usd", "eur", "%", "percent"})
_FROM: Final = frozenset({"from", "origin", "source", "start", "departure", "dep", "sender"})
_TO: Final = frozenset({"to", "dest", "destination", "target", "end", "arrival", "arr", "receiver", "recipient"})
_THROUGH: Final = frozenset({"to", "through", "until", "till", "-", "\u2013"})
_OPPOSITES: Final[dict[Operator, Operator]] = {
    ">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "!=", "!=": "=",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Words that may mean several columns, or a column of which several figures may be meant."""

    words: str
    options: tuple[str, ...]


class Unclear(Exception):
    """Something must be known first."""

    def __init__(self, ambiguity: Ambiguity) -> None:
        super().__init__(ambiguity.words)
        self.ambiguity = ambiguity


@dataclass(slots=True)
class PlacedCondition:
    """A condition, and where its words stand."""

    at: int
    condition: Condition


@dataclass(slots=True)
class Conditions:
    """The items of a question, and what has been taken out of them so far; every pass marks the items it has used."""

    table: TableFacts
    meanings: Mapping[str, str]
    items: list[Item] = field(default_factory=list[Item])
    notes: list[str] = field(default_factory=list[str])
    measures: list[Measure] = field(default_factory=list[Measure])
    groups: list[Grouping] = field(default_factory=list[Grouping])
    conditions: list[PlacedCondition] = field(default_factory=list[PlacedCondition])
    having: list[GroupCondition] = field(default_factory=list[GroupCondition])
    order: Ordering | None = None
    limit: int = 0
    columns: list[str] = field(default_factory=list[str])
    averaged: bool = False
    share_at: int | None = None

    def at(self, place: int) -> Item:
        """The item at `place`; one without text beyond the ends."""
        return self.items[place] if 0 <= place < len(self.items) else Item("", "mark")

    def near(self, place: int, step: int, *over: Kind) -> int:
        """The next place in one direction whose item says something."""
        place += step
        while self.at(place).text and (self.at(place).kind == "stop" or self.at(place).kind in over):
            place += step
        return place

    def _texts(self, start: int, end: int) -> list[str]:
        return [item.text.casefold() for item in self.items[start + 1 : end]]

    def open(self, *kinds: Kind) -> Iterator[int]:
        """Where items of these kinds stand that are not used yet."""
        for place, item in enumerate(self.items):
            if not item.is_used and item.kind in kinds:
                yield place

    def has(self, *kinds: Kind) -> bool:
        """Whether there is an item of these kinds."""
        return any(item.kind in kinds for item in self.items)

    def column(self, item: Item, *kinds: str) -> ColumnFacts | None:
        """The one column that `item` means, of these kinds; it is asked when it may be several."""
        meaning = self.table.column(self.meanings.get(item.text.casefold(), ""))
        fitting = [one for one in map(self.table.column, item.columns) if one and (not kinds or one.kind in kinds)]
        if len(fitting) > 1 and meaning is None:
            raise Unclear(Ambiguity(item.text, tuple(one.name for one in fitting)))
        return meaning or (fitting[0] if fitting else None)

    def is_number(self, item: Item) -> bool:
        """Whether `item` is a column that may hold numbers."""
        return item.kind == "column" and any((found := self.table.column(name)) and found.kind == "number"
                                             for name in item.columns)  # fmt: skip

    def use(self, *places: int) -> None:
        """Mark the items at `places` as used."""
        for place in places:
            if place < len(self.items):
                self.items[place].is_used = True

    def is_negated(self, place: int) -> bool:
        """Whether a "not" belongs to what stands at `place`; it is used up."""
        before = self.near(place, -1, "verb", "which")
        if self.at(before).kind == "column" and self.at(before).is_used:
            before = self.near(before, -1, "verb")  # "not in month 6"
        if self.at(before).kind == "not":
            self.use(before)
            return True
        return False

    def _is_group(self, place: int) -> bool:
        """Whether a column of texts stands at `place` that rows may be put together by."""
        item = self.at(place)
        facts = [self.table.column(name) for name in item.columns]
        return (
            item.kind == "column" and not item.is_used and any(one is not None and one.kind == "text" for one in facts)
        )

    def _group(self, place: int) -> bool:
        """Put rows together by what stands at `place`."""
        item = self.at(place)
        if item.kind == "unit":
            times = [one for one in self.table.columns if one.kind == "time"]
            chosen = next((one for one in times if one.is_derived), times[0] if len(times) == 1 else None)
            if chosen is None:
                if len(times) > 1:
                    raise Unclear(Ambiguity(item.text, tuple(one.name for one in times)))
                return False
            after = self.near(place, 1)
            self.groups.append(Grouping(column=chosen.name, unit=cast("TimeUnit", item.payload)))
            if self.at(after).kind == "column" and chosen.name in self.at(after).columns:
                self.use(after)  # "by month of purchase date"
        else:
            column = self.column(item)
            if column is None:
                return False
            unit = usual_unit(column) if column.kind == "time" else "none"
            if all(one.column != column.name for one in self.groups):
                self.groups.append(Grouping(column=column.name, unit=unit))
        self.use(place)
        return True

    def _between(self) -> None:
        """Read "price between 5 and 20", "from 5 to 20"."""
        for place in self.open("between"):
            low = self.near(place, 1)
            joint, high = self.near(low, 1), self.near(self.near(low, 1), 1)
            if self.at(low).kind != "number" or self.at(joint).kind != "and" or self.at(high).kind != "number":
                continue
            if self._is_year(low) and self._is_year(high) and not self.is_number(self.at(self.near(place, -1, "verb"))):
                continue  # a stretch of time
            column = self._compared_column(place, high)
            if column is not None and not self.is_negated(place):
                self.use(place, low, joint, high)
                for op, at in ((">=", low), ("<=", high)):
                    self._add(place, column.name, cast("Operator", op), self._amount(at, column))

    def _is_year(self, place: int) -> bool:
        item = self.at(place)
        return item.kind == "number" and item.number in YEARS and item.text.isdecimal() and not item.payload

    def _comparisons(self) -> None:
        for place in self.open("compare", "post", "boundary"):
            item = self.items[place]
            step = -1 if item.kind == "post" else 1
            at = self.near(place, step)
            if self.at(at).kind != "number" or self.at(at).is_used:
                continue
            start, end = min(at, place), max(at, place)
            if self._is_having(start, end, item.payload):
                continue
            if item.kind == "boundary" and self._is_year(at):
                continue
            column = self._compared_column(start, end)
            if column is None:
                continue
            op = cast("Operator", item.payload)
            if self.is_negated(start):
                op = _OPPOSITES[op]
            self.use(start, end)
            self._add(place, column.name, op, self._amount(at, column))

    def _is_having(self, start: int, end: int, op: str) -> bool:
        """Read "cities with more than 3 sales", "carriers with an average delay above 43"."""
        subject = next((place for place in range(start) if self._is_group(place)), None)
        after, before = self.near(end, 1), self.near(start, -1, "verb")
        function = self.near(before, -1)
        if subject is None or self.has("count"):
            return False
        if self.at(after).kind == "rows":
            having = GroupCondition(function="count", op=cast("Any", op), value=self.at(end).number)
            self.use(after)
        elif self.is_number(self.at(before)) and self.at(function).kind == "function" and function > subject:
            column = self.column(self.at(before), "number")
            having = GroupCondition(
                function=cast("Function", self.at(function).payload),
                column=column.name if column else "",
                op=cast("Any", op),
                value=self.at(end).number,
            )
            self.measures.append(Measure(function=having.function, column=having.column))
            self.use(before, function)
        else:
            return False
        self.having.append(having)
        self._group(subject)
        self.use(start, end)
        return True

    def _compared_column(self, start: int, end: int) -> ColumnFacts | None:
        """The column whose values are compared: right before, or right behind the number."""
        left, right = self.near(start, -1, "verb", "not"), self.near(end, 1)
        if self.at(right).kind == "column" and not self.is_number(self.at(left)):
            left = right
        adjective = self.items[start].payload and DIMENSIONS.get(self.items[start].text.casefold().split()[0])
        if self.at(left).kind == "and" and self.conditions and start > left > self.conditions[-1].at:
            self.use(left)  # "above 25 but below 31"
            return self.table.column(self.conditions[-1].condition.column)
        if self.is_number(self.at(left)) and not self.at(left).is_used:
            self.narrow(self.at(left), self.items[start].text.casefold().split()[0])
            self.use(left)
            return self.column(self.at(left), "number")
        if adjective and self.items[start].kind == "compare":
            return self._of_dimension(self.items[start].text.split()[0].casefold())[0]
        return None

    def narrow(self, item: Item, adjective: str) -> None:
        """Of several columns that `item` may mean, keep the one that `adjective` is about: "a bill longer than 50"."""
        dimensions = {dimension for dimension, _ in DIMENSIONS.get(adjective, ())}
        fitting = tuple(name for name in item.columns if dimensions.intersection(words_of(name)))
        item.columns = fitting if len(fitting) == 1 else item.columns

    def _of_dimension(self, adjective: str) -> tuple[ColumnFacts | None, str]:
        """The one column of numbers or times that an adjective is about, and which end of it."""
        fitting: dict[str, str] = {}
        for dimension, direction in DIMENSIONS.get(adjective, ()):
            for column in self.table.columns:
                if column.kind in ("number", "time") and not column.is_derived and dimension in words_of(column.name):
                    fitting.setdefault(column.name, direction)
        ends = {
            name: end for name, end in fitting.items() if end in words_of(name)
        }  # the hottest is the highest of `temp_max`
        fitting = ends if len(ends) == 1 else fitting
        meaning = self.meanings.get(adjective, "")
        if len(fitting) > 1 and meaning not in fitting:
            raise Unclear(Ambiguity(adjective, tuple(fitting)))
        name = meaning or next(iter(fitting), "")
        return self.table.column(name), fitting.get(name, "max")

    def _amount(self, place: int, column: ColumnFacts) -> Value:
        """The number at `place` in the unit of its column; a unit that does not fit is left unread."""
        item = self.at(place)
        value = item.number
        after = self.at(place + 1)
        unit, own = UNIT_SIZES.get(after.text.casefold()), UNIT_SIZES.get(column.unit.casefold())
        is_own = after.text.casefold() in words_of(column.name) or after.text.casefold() == column.unit.casefold()
        if unit is not None and after.kind in ("unknown", "stop", "unit") and not is_own:
            if own is None or own[0] != unit[0]:
                after.kind = "unknown"
                return value
            value = value * unit[1] / own[1]
        if unit is not None or is_own or after.text.casefold() in _CURRENCIES:
            self.use(place + 1)
        return int(value) if float(value).is_integer() else value

    def _equal_numbers(self) -> None:
        """Read "month 3 or 4", "with 4 cylinders", "an hour of 7": a number beside a column is compared with it."""
        for place in self.open("number"):
            column = self._compared_column(place, place)
            if column is None:
                continue
            listed = [self._amount(place, column)]
            self.use(place)
            at = place
            while (
                self.at(self.near(at, 1)).kind in ("and", "or")
                and self.at(other := self.near(self.near(at, 1), 1)).kind == "number"
            ):
                self.use(self.near(at, 1), other)
                listed.append(self._amount(other, column))
                at = other
            negated = self.is_negated(place)
            op: Operator = ("not_in" if negated else "in") if len(listed) > 1 else "!=" if negated else "="
            self._add(place, column.name, op, tuple(listed) if len(listed) > 1 else listed[0])

    def _add(self, place: int, column: str, op: Operator, value: Any = "", *, part: Any = "none") -> None:
        self.conditions.append(PlacedCondition(place, Condition(column=column, op=op, value=value, part=part)))

    def _dates(self) -> None:
        """Read "in March", "since 2013-07-01", "between May and July", "in 2013", "on weekends"."""
        for place in self.open("weekday", "month", "date", "number"):
            item = self.items[place]
            if item.is_used or (item.kind == "number" and not self._is_dated_year(place)):
                continue
            column = self._time_column(item, place)
            if column is not None:
                self._time_condition(place, column)

    def _is_dated_year(self, place: int) -> bool:
        before = self.at(place - 1)
        return self._is_year(place) and (
            before.kind in ("boundary", "between", "and", "unit", "or", "versus")
            or before.text.casefold() in {"in", "of", "for", "during", "from", "to", "year", "the"}
        )

    def _time_column(self, item: Item, place: int) -> ColumnFacts | None:
        named = self.at(self.near(place, -1, "verb", "boundary", "between"))
        times = [one for one in self.table.columns if one.kind == "time"]
        if named.kind == "column" and not named.is_used:
            own = [one for one in map(self.table.column, named.columns) if one and (one in times or one.is_whole)]
            if len(own) == 1 and (own[0].kind == "time" or "year" in words_of(own[0].name)):
                named.is_used = True
                return own[0]
        derived = [one for one in times if one.is_derived]
        if item.kind == "number" and (year := self.table.column("year")) is not None and year.is_whole:
            return year
        if len(times) == 1 or derived:
            return (derived or times)[0]
        wanted = "year" if item.kind == "number" else "month" if item.kind == "month" else ""
        numbers = [one for one in self.table.columns if one.is_whole and wanted in words_of(one.name) and wanted]
        if len(times) > 1:
            raise Unclear(Ambiguity(item.text, tuple(one.name for one in times)))
        return numbers[0] if len(numbers) == 1 else None

    def _time_condition(self, place: int, column: ColumnFacts) -> None:
        item, before = self.items[place], self.near(place, -1)
        lead, joint = self.at(before), self.near(place, 1)
        leads_on = self.at(place + 1).text.casefold() in _THROUGH
        other = joint if leads_on and self.at(joint).kind == item.kind else self.near(joint, 1)
        if (
            self.at(other).kind == item.kind
            and ((lead.kind == "between" and not self.has("comparison")) or leads_on)
            and (leads_on or self.at(joint).kind == "and")
        ):
            self.use(place, other, *([before] if lead.kind == "between" else []), *range(place + 1, other))
            self._stretch(place, column, item, self.items[other])
            return
        several = [item]
        self.use(place)
        while self.at(joint).kind in ("and", "or", "versus") and self.at(other).kind == item.kind:
            self.use(joint, other)
            several.append(self.at(other))
            joint, other = self.near(other, 1), self.near(self.near(other, 1), 1)
        is_bound = lead.kind == "boundary" or (lead.kind == "compare" and lead.payload in _OPPOSITES)
        if is_bound and len(several) == 1:
            self.use(before)
            self._bound(place, column, item, lead.payload, negated=self.is_negated(before))
        else:
            self._within(place, column, several, negated=self.is_negated(place))

    def _bound(self, place: int, column: ColumnFacts, item: Item, op: str, *, negated: bool) -> None:
        op = _OPPOSITES[cast("Operator", op)] if negated else op
        if item.days is None or column.kind == "number":
            months = item.months or (int(item.number),)
            part = "none" if column.kind == "number" else "month"
            self._add(place, column.name, cast("Operator", op), months[-1 if op in (">", "<=") else 0], part=part)
        elif op in (">", "<="):
            after = item.days[1] + timedelta(days=1)
            self._add(place, column.name, ">=" if op == ">" else "<", after.isoformat())
        else:
            self._add(place, column.name, cast("Operator", op), item.days[0].isoformat())

    def _stretch(self, place: int, column: ColumnFacts, first: Item, last: Item) -> None:
        if first.days is None and last.days is not None and first.kind == "month":  # "from January to March 2014"
            first.days = (date(last.days[0].year, first.months[0], 1), last.days[1])
        if first.days is not None and last.days is not None and column.kind == "time":
            self._bound(place, column, first, ">=", negated=False)
            self._bound(place, column, last, "<=", negated=False)
        elif first.kind == "month":
            low, high = first.months[0], last.months[-1]
            months = range(low, high + 1) if low <= high else (*range(low, 13), *range(1, high + 1))
            part = "none" if column.kind == "number" else "month"
            self._add(place, column.name, "in", tuple(months), part=part)
        else:
            for op, item in ((">=", first), ("<=", last)):
                self._add(place, column.name, cast("Operator", op), int(item.number))

    def _within(self, place: int, column: ColumnFacts, several: list[Item], *, negated: bool) -> None:
        if len(several) > 1 and self.has("versus", "comparison"):
            before = self.near(place, -1)
            self.use(*([before] if self.at(before).kind == "between" else []))
            unit: TimeUnit = "none" if column.kind == "number" else "month" if several[0].kind == "month" else "year"
            self.groups.append(Grouping(column=column.name, unit=unit))
            if several[0].kind == "weekday":
                several[0].kind = "unknown"  # groups of several days each are no groups
                self.items[place].is_used = False
                return
        if several[0].kind == "weekday":
            days = tuple(sorted({day for item in several for day in WEEKDAYS[item.text.casefold()]}))
            self._add(place, column.name, "not_in" if negated else "in", days, part="weekday")
        elif column.kind == "number" or several[0].days is None:
            numbers = tuple(number for one in several for number in one.months or (int(one.number),))
            part = "none" if column.kind == "number" else "month"
            op: Operator = ("not_in" if negated else "in") if len(numbers) > 1 else "!=" if negated else "="
            self._add(place, column.name, op, numbers if len(numbers) > 1 else next(iter(numbers)), part=part)
        elif all(one.kind == "number" for one in several) and (len(several) > 1 or negated):
            years = tuple(int(one.number) for one in several)
            self._add(place, column.name, "not_in" if negated else "in", years, part="year")
        elif len(several) == 1 and not negated:
            self._bound(place, column, several[0], ">=", negated=False)
            self._bound(place, column, several[0], "<=", negated=False)
        else:
            self.items[place].is_used = False

    def _values(self) -> None:
        """Values that stand in the table, alone or in a list; a column named beside them says of which."""
        for place in self.open("value"):
            item = self.items[place]
            if item.is_used:
                continue
            chosen = self._column_of_value(place)
            if chosen is None:
                continue
            column, value = chosen
            listed, last = [value], place
            while self.at(self.near(last, 1)).kind in ("and", "or", "versus") or self.at(last + 1).text == ",":
                joint = self.near(last, 1)
                other = self.near(joint, 1, "not") if self.at(joint).kind in ("and", "or", "versus") else joint
                more = [text for name, text in self.at(other).values if name == column]
                if self.at(other).is_used or not more:
                    break
                self.use(*([joint] if joint != other else []), other)
                listed.append(more[0])
                last = other
            negated = self.is_negated(place)
            self.use(place)
            op: Operator = ("not_in" if negated else "in") if len(listed) > 1 else "!=" if negated else "="
            if item.payload == "contains":
                op = "not_contains" if negated else "contains"
            self._add(place, column, op, tuple(listed) if len(listed) > 1 else listed[0])
            figures = {"mean", "median", "min", "max"}.intersection(one.payload for one in self.items)
            apart = self.at(self.near(place, 1)).kind == "and" and figures  # "the mean of A and B" are two
            if op == "in" and (apart or self.has("versus", "comparison")):
                self.groups.append(Grouping(column=column))

    def _column_of_value(self, place: int) -> tuple[str, str] | None:
        item = self.items[place]
        beside = (self.near(place, -1, "verb", "not", "compare"), self.near(place, 1))
        for at in beside:
            both = [pair for pair in item.values if pair[0] in self.at(at).columns]
            if self.at(at).kind == "column" and len(both) == 1 and not self._leads(at):
                self.use(at)
                if at == beside[0] and self.at(at + 1).kind == "compare" and self.at(at + 1).payload == "=":
                    self.use(at + 1)
                return both[0]
        pairs = [pair for pair in item.values if not self._is_other_end(place, pair[0])]
        if not pairs:
            return self._same_end(place)
        columns = {name for name, _ in pairs}
        meaning = self.meanings.get(item.text.casefold())
        if len(columns) > 1 and meaning not in columns:
            raise Unclear(Ambiguity(item.text, tuple(sorted(columns))))
        return next(pair for pair in pairs if meaning in (None, pair[0]))

    def _is_other_end(self, place: int, column: str) -> bool:
        """Whether "to X" stands before a value of the column where things come from, or the other way round."""
        ends = {"from": _TO, "to": _FROM}.get(self.at(place - 1).text.casefold(), frozenset[str]())
        return bool(ends.intersection(words_of(column)))

    def _same_end(self, place: int) -> tuple[str, str] | None:
        """The one column of the end that "from" or "to" names, for a value that only the other has."""
        ends = _FROM if self.at(place - 1).text.casefold() == "from" else _TO
        named = [one.name for one in self.table.columns if one.kind == "text" and ends.intersection(words_of(one.name))]
        return (named[0], self.items[place].values[0][1]) if len(named) == 1 else None

    def _leads(self, place: int) -> bool:
        """Whether the column at `place` is asked for and no part of a condition: "which species …", "by …"."""
        asking = self.at(self.near(place, -1)).kind in ("by", "superlative", "common", "count", "distinct")
        return asking or self.at(place - 1).kind == "which"

    def _missing(self) -> None:
        for place in self.open("missing"):
            left, right = self.near(place, -1, "verb", "not"), self.near(place, 1)
            at = right if self.at(right).kind == "column" and not self.at(right).is_used else left
            column = self.column(self.at(at)) if self.at(at).kind == "column" and not self.at(at).is_used else None
            if column is not None:
                negated = self.is_negated(place)
                self.use(place, at)
                self._add(place, column.name, "not_null" if negated else "is_null")
        for place in self.open("not"):  # "without a note", "have no note"
            at = self.near(place, 1)
            column = self.at(at)
            is_compared = self.at(self.near(at, 1)).kind in ("number", "value", "compare")
            if column.kind != "column" or column.is_used or is_compared or "in" in self._texts(place, at):
                continue
            if (found := self.column(column)) is not None:
                self.use(place, at)
                if is_flag(found):
                    self._add(place, found.name, "=", flag_value(found, truth=False))
                elif found.kind == "number" and found.least == 0:
                    self._add(place, found.name, "=", 0)  # "no precipitation"
                else:
                    self._add(place, found.name, "is_null")


def is_flag(column: ColumnFacts) -> bool:
    """Whether it says yes or no of each row."""
    return column.kind == "boolean" or (column.is_whole and column.least == 0 and column.most == 1)


def flag_value(column: ColumnFacts, *, truth: bool) -> Value:
    """Yes or no as the column writes it."""
    return truth if column.kind == "boolean" else int(truth)


def usual_unit(column: ColumnFacts) -> TimeUnit:
    """The stretch of time that makes a few dozen groups of what the column holds."""
    try:
        days = (date.fromisoformat(str(column.most)[:10]) - date.fromisoformat(str(column.least)[:10])).days
    except ValueError:
        return "day"
    return (
        "hour" if days < 3 else "day" if days <= 62 else "week" if days <= 190 else "month" if days <= 2_200 else "year"
    )
