"""The items of a question about a table, and the rules that find out which rows it is about."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
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
from retinue.orchestration.reader.table_lexer import (
    DIMENSIONS,
    SYNONYM_GROUPS,
    UNIT_SIZES,
    WEEKDAYS,
    Lexeme,
    name_words,
)

# Columns that hold the same kind of places: which one is meant, only the "from" or "to" before a value says.
_ORIGIN_WORDS: Final = frozenset({"from", "origin", "source", "start", "departure", "dep", "sender"})
_DESTINATION_WORDS: Final = frozenset(
    {"to", "dest", "destination", "target", "end", "arrival", "arr", "receiver", "recipient"}
)
_NO_WORDS: Final = frozenset[str]()
_BOOLEAN_WORDS: Final = ({"yes", "no"}, {"y", "n"}, {"true", "false"}, {"t", "f"})
_OPPOSITES: Final[dict[str, Operator]] = {">": "<=", ">=": "<", "<": ">=", "<=": ">", "=": "!=", "!=": "="}


@dataclass(frozen=True, slots=True)
class Ambiguity:
    """Words that may mean several columns, or a column of which several figures may be meant."""

    words: str
    options: tuple[str, ...]


class AmbiguityError(Exception):
    """Something must be known first."""

    def __init__(self, words: str, options: tuple[str, ...]) -> None:
        super().__init__(words)
        self.ambiguity = Ambiguity(words, options)


@dataclass(slots=True)
class ConditionParser:
    """The items of a question and what was read of them. A rule that uses an item makes its code a dot."""

    table: TableFacts
    meanings: Mapping[str, str]
    items: list[Lexeme]
    notes: list[str]
    whole_columns: Callable[[str], tuple[str, ...]]
    codes: str = ""
    measures: list[Measure] = field(default_factory=list[Measure])
    groups: list[Grouping] = field(default_factory=list[Grouping])
    conditions: list[tuple[int, Condition]] = field(default_factory=list[tuple[int, Condition]])
    having: list[GroupCondition] = field(default_factory=list[GroupCondition])
    order: Ordering | None = None
    limit: int = 0
    columns: list[str] = field(default_factory=list[str])
    averaged: bool = False
    share_at: int | None = None

    def join_columns(self) -> None:
        """Join neighbours that may each be several columns, and together are fewer: "bill … length"."""
        merged: list[Lexeme] = []
        for item in self.items:
            last = merged[-1] if merged else None
            if last is not None and self._merge(merged, last, item):
                continue
            if last is not None and item.lead in ("", "of", "of the", "the", "in") and item.columns:
                adjective = last.text.casefold()
                common = tuple(name for name in last.columns if name in item.columns)
                if last.code == item.code == "C" and common and (len(last.columns) > 1 or len(item.columns) > 1):
                    last.columns, last.text, last.detail = common, f"{last.text} {item.text}", ""
                    matches = tuple(name for name in common if len(name_words(name)) == len(last.text.split()))
                    last.columns = matches if len(matches) == 1 else common  # "departure time", where one is scheduled
                    continue
                self.narrow(item, adjective)
                own = tuple(name for name in item.columns if adjective in name_words(name))
                if last.code == "f" and len(item.columns) > 1 and len(own) == 1:  # "max temperature" is `temp_max`
                    item.columns, item.detail = own, ""
                    if len(merged) > 1 and merged[-2].code in "fs":
                        merged.pop()
            merged.append(item)
        self.items = merged
        for place, item in enumerate(merged):
            beside = [name for one in merged[max(0, place - 1) : place] for name, _ in one.values]
            if item.detail == "part" and not set(beside) & set(item.columns):  # "Same Day shipments", of a `Ship Mode`
                merged[place] = replace(item, code="x", columns=())

    @staticmethod
    def _merge(merged: list[Lexeme], last: Lexeme, item: Lexeme) -> bool:
        """Whether an item only says more of the last, and is joined with it: "wind speed", "density in 2021"."""
        if item.lead == "" and item.code == "x" and last.code == "C":
            return any(item.text.casefold() in group for group in SYNONYM_GROUPS)
        if item.lead == "" and last.code == "R" and item.code == "C":
            merged[-1] = item
            return True
        column, number = (item, last) if item.code == "C" else (last, item)
        if column.code != "C" or len(column.columns) < 2 or not number.text.isdecimal():
            return False
        names = tuple(name for name in column.columns if number.text in name_words(name))
        if len(names) == 1:
            merged[-1] = replace(column, columns=names, detail="", lead=last.lead)
        return len(names) == 1

    def find(self, pattern: str) -> Iterator[re.Match[str]]:
        """The matches of `pattern` among the items that are not used yet."""
        start = 0
        while (match := re.compile(pattern).search(self.codes, start)) is not None:
            yield match
            start = match.start() + 1

    def use(self, *places: int) -> None:
        """Mark items as used."""
        self.codes = "".join("." if place in places else code for place, code in enumerate(self.codes))

    def use_all(self, match: re.Match[str], *excluded: str) -> None:
        """Mark all that a pattern matched as used, but for these groups."""
        excluded_places = {place for name in excluded for place in range(*match.span(name))}
        self.use(*(place for place in range(*match.span()) if place not in excluded_places))

    def item(self, match: re.Match[str], name: str) -> Lexeme | None:
        """The first item of a group; None when it matched nothing."""
        return self.items[match.start(name)] if match[name] else None

    def column(self, item: Lexeme | None, *kinds: str) -> ColumnFacts | None:
        """The one column that `item` means, of these kinds.

        Raises:
            Unclear: It may be several.
        """
        if item is None:
            return None
        meaning = self.table.column(self.meanings.get(item.text.casefold(), ""))
        columns = [one for one in map(self.table.column, item.columns) if one and (not kinds or one.kind in kinds)]
        if len(columns) > 1 and meaning is None:
            raise AmbiguityError(item.text, tuple(one.name for one in columns))
        return meaning or (columns[0] if columns else None)

    def may_be_kind(self, item: Lexeme | None, *kinds: str) -> bool:
        """Whether `item` may be a column of one of these kinds."""
        names = () if item is None else item.columns
        return any((column := self.table.column(name)) and column.kind in kinds for name in names)

    def narrow(self, item: Lexeme, adjective: str) -> None:
        """Of several columns that `item` may mean, keep the one that `adjective` is about: "the widest petals"."""
        dimensions = {dimension for dimension, _ in DIMENSIONS.get(adjective, ())}
        names = tuple(name for name in item.columns if dimensions.intersection(name_words(name)))
        item.columns = names if len(names) == 1 else item.columns

    def dimension_column(self, adjective: str) -> tuple[ColumnFacts | None, str]:
        """The one column of numbers or times that an adjective is about, and which end of it."""
        ends_by_name: dict[str, str] = {}
        for dimension, end in DIMENSIONS.get(adjective, ()):
            for column in self.table.columns:
                words = name_words(column.name)
                is_short = any(len(word) > 2 and dimension.startswith(word) for word in words)
                if column.kind in ("number", "time") and not column.is_derived and is_short:
                    ends_by_name.setdefault(column.name, end)
        ends = {name: end for name, end in ends_by_name.items() if end in name_words(name)}
        ends_by_name = ends if len(ends) == 1 else ends_by_name  # the hottest is the highest of `temp_max`
        meaning = self.meanings.get(adjective, "")
        if len(ends_by_name) > 1 and meaning not in ends_by_name:
            raise AmbiguityError(adjective, tuple(ends_by_name))
        name = meaning or next(iter(ends_by_name), "")
        return self.table.column(name), ends_by_name.get(name, "max")

    @property
    def times(self) -> list[ColumnFacts]:
        """The columns of days and times."""
        return [one for one in self.table.columns if one.kind == "time"]

    @property
    def main_time(self) -> ColumnFacts | None:
        """The column that a bare "month" is about: the one made of several, else the only one."""
        times = self.times
        return next((one for one in times if one.is_derived), times[0] if len(times) == 1 else None)

    def measure(self, function: str, column: ColumnFacts | None = None) -> None:
        """Add a figure, of a column or of whole rows."""
        self.measures.append(Measure(function=cast("Function", function), column=column.name if column else ""))

    def add(self, place: int, column: str, op: str, value: Any = "", *, part: Any = "none") -> None:
        """Add a condition whose words stand at `place`."""
        self.conditions.append((place, Condition(column=column, op=cast("Operator", op), value=value, part=part)))

    def add_values(
        self, place: int, column: str, values: Sequence[Value], *, negated: bool, part: str = "none"
    ) -> None:
        """Add a condition on one or several values."""
        facts = self.table.column(column)
        if facts is not None and facts.kind == "number":
            values = [int(one) if isinstance(one, str) else one for one in values]
        if len(values) > 1:
            self.add(place, column, "not_in" if negated else "in", tuple(values), part=part)
        else:
            self.add(place, column, "!=" if negated else "=", values[0], part=part)

    def group_by(self, place: int) -> bool:
        """Put rows together by what stands at `place`."""
        item = self.items[place]
        if item.code == "u":
            chosen = self.main_time
            if chosen is None and self.times:
                raise AmbiguityError(item.text, tuple(one.name for one in self.times))
            if chosen is None:
                return False
            if self.codes[place + 1 : place + 2] == "C" and chosen.name in self.items[place + 1].columns:
                self.use(place + 1)  # "by month of purchase date"
            grouping = Grouping(column=chosen.name, unit=cast("TimeUnit", item.detail))
        else:
            column = self.column(item)
            if column is None:
                return False
            grouping = Grouping(column=column.name, unit=default_unit(column) if column.kind == "time" else "none")
        if all(one.column != grouping.column for one in self.groups):
            self.groups.append(grouping)
        self.use(place)
        return True

    def read_contains(self) -> None:
        """Read "whose genre contains Comedy", "names that include PIZZA": part of a text."""
        for match in self.find(r"(?P<c>C)i*(?P<neg>!?)h(?P<v>[vx])"):
            column = self.column(self.item(match, "c"), "text")
            if column is not None and column.kind == "text":
                op = "not_contains" if match["neg"] else "contains"
                self.add(match.start("c"), column.name, op, self.items[match.start("v")].text)
                self.use_all(match)

    def read_between(self) -> None:
        """Read "price between 5 and 20"."""
        for match in self.find(r"(?P<c>C)?i*~(?P<low>n)a(?P<high>n)(?P<d>C)?"):
            if (column := self._compared_column(match)) is not None:
                for op, name in ((">=", "low"), ("<=", "high")):
                    self.add(match.start(), column.name, op, self._amount(self.items[match.start(name)], column))

    def read_comparisons(self) -> None:
        """Read "more than 5", "5 or more", "a bill longer than 50 mm", "above 25 but below 31"."""
        tail = r"(?P<d>C(?![i!]*[<v]))?"
        for pattern in (
            rf"(?P<c>C)?i*(?P<neg>!?)(?P<op>[<B])(?P<n>n){tail}",
            rf"(?P<c>C)?i*(?P<neg>!?)(?P<n>n)(?P<op>>){tail}",
        ):
            for match in self.find(pattern):
                sign = self.items[match.start("op")]
                before = match.start() - 1
                column = self._compared_column(match, sign.text.casefold().split()[0])
                if column is None and self.conditions and self.codes[before : before + 1] == "a":
                    column = self.table.column(self.conditions[-1][1].column)
                    self.use(before, *range(*match.span()))
                if column is not None:
                    ends = dict(DIMENSIONS.get(sign.text.casefold().split()[0], ()))
                    end = next((ends[word] for word in name_words(column.name) if word in ends), "")
                    op = {"max": ">", "min": "<"}.get(end, sign.detail)  # older than 60, older than 1990
                    op = _OPPOSITES[op] if match["neg"] else op
                    self.add(match.start("n"), column.name, op, self._amount(self.items[match.start("n")], column))

    def _compared_column(self, match: re.Match[str], adjective: str = "") -> ColumnFacts | None:
        """The column whose values are compared: before or behind the number, or the one that an adjective is about."""
        for name, other in (("c", "d"), ("d", "c")):
            item = self.item(match, name)
            if item is not None and self.may_be_kind(item, "number"):
                self.narrow(item, adjective)
                self.use_all(match, other)
                return self.column(item, "number")
        column = self.dimension_column(adjective)[0] if adjective else None
        if column is not None:
            self.use_all(match, "c", "d")
        return column

    def _amount(self, item: Lexeme, column: ColumnFacts) -> Value:
        """The number of `item` in the unit of its column; a unit that does not fit makes it unread."""
        value, unit = item.number, UNIT_SIZES.get(item.unit.casefold())
        if unit is not None and unit[0] not in ("money", "share"):
            own = UNIT_SIZES.get(column.unit.casefold()) or next(
                (UNIT_SIZES[word] for word in name_words(column.name) if word in UNIT_SIZES and len(word) > 1), None
            )
            if own is None or own[0] != unit[0]:
                self.items.append(Lexeme(item.unit, "x"))
                self.codes += "x"
                return value
            value = value * unit[1] / own[1]
        return int(value) if float(value).is_integer() else value

    def read_equal_numbers(self) -> None:
        """Read "month 3 or 4", "with 4 cylinders", "an hour of 7": a number beside a column is compared with it."""
        for match in self.find(r"(?P<no>!?)(?P<c>C)?i*(?P<neg>!?)(?P<n>n)(?P<more>(?:[ao]n)*)(?P<d>C)?"):
            if (column := self._compared_column(match)) is not None:
                places = [
                    place for place in range(match.start("n"), match.end("more")) if self.items[place].code == "n"
                ]
                values = tuple(self._amount(self.items[place], column) for place in places)
                self.add_values(match.start("n"), column.name, values, negated=bool(match["no"] or match["neg"]))
        for match in self.find("n"):  # "the 503 responses": a code before the rows that have it
            number = f"{self.items[match.start()].number:g}"
            code_columns = [one.name for one in self.table.columns if one.kind == "number" and number in one.values]
            if len(code_columns) == 1 and [one.code for one in self.items[match.end() : match.end() + 1]] == ["R"]:
                self.add(match.start(), code_columns[0], "=", int(number))
                self.use_all(match)

    def read_dates(self) -> None:
        """Read "in March", "since 2013-07-01", "between May and July", "in 2013", "on weekends"."""
        for match in self.find(r"(?P<c>[Cu])?i*(?P<neg>!?)(?P<lead>[B<~])?(?P<first>D)(?P<more>(?:[aoVB,]?D)*)"):
            places = [place for place in range(match.start("first"), match.end()) if self.items[place].code == "D"]
            several = [self.items[place] for place in places]
            before = self.item(match, "c")
            column, is_column_named = self._time_column(several[0], before)
            if column is None:
                continue
            lead = self.item(match, "lead")
            through = len(several) == 2 and (
                "B" in match["more"]
                or several[1].lead in ("to", "through")
                or (match["lead"] == "~" and "K" not in self.codes)
            )
            negated = bool(match["neg"])
            if through:
                first, last = several
                if first.days is None and last.days is not None and first.months:  # "from January to March 2014"
                    first.days = (date(last.days[0].year, first.months[0], 1), last.days[1])
                if first.months and first.days is None:  # of any year; "November to February" goes over its end
                    low, high = first.months[0], last.months[-1]
                    months = tuple(range(low, high + 1)) if low <= high else (*range(low, 13), *range(1, high + 1))
                    part = "none" if column.kind == "number" else "month"
                    self.add(places[0], column.name, "in", months, part=part)
                    is_read = True
                else:
                    bounds = (first, ">="), (last, "<=")
                    is_read = all(self._add_bound(places[0], column, item, op) for item, op in bounds)
            elif lead is not None and lead.code in "B<" and len(several) == 1:
                op = _OPPOSITES[lead.detail] if negated else lead.detail
                is_read = self._add_bound(places[0], column, several[0], op)
            else:
                is_read = self._add_dates(places[0], column, several, negated=negated)
            if is_read:
                self.use_all(match, *([] if is_column_named else ["c"]))

    def _time_column(self, item: Lexeme, before: Lexeme | None) -> tuple[ColumnFacts | None, bool]:
        """The column of times that `item` is about, and whether `before` names it."""
        times = self.times
        if before is not None:
            own = [one for one in map(self.table.column, before.columns) if one in times or (one and one.is_whole)]
            if len(own) == 1 and own[0] and (own[0].kind == "time" or "year" in name_words(own[0].name)):
                return own[0], True
        is_unit = before is not None and before.code == "u"
        derived = next((one for one in times if one.is_derived), None)
        unit_name = "year" if item.number else "month" if item.months and item.days is None else ""
        whole = [one for one in self.table.columns if unit_name and one.is_whole and unit_name in name_words(one.name)]
        if item.number and whole and whole[0].name.casefold() == "year":
            return whole[0], is_unit
        if len(times) > 1 and derived is None:
            raise AmbiguityError(item.text, tuple(one.name for one in times))
        return derived or next(iter(times or whole), None), is_unit

    def _add_bound(self, place: int, column: ColumnFacts, item: Lexeme, op: str) -> bool:
        if item.days is None or column.kind == "number":
            part = "none" if column.kind == "number" else "month"
            numbers = item.months or (int(item.number),)
            self.add(place, column.name, op, numbers[-1 if op in (">", "<=") else 0], part=part)
        elif op in (">", "<="):
            after = item.days[1] + timedelta(days=1)
            self.add(place, column.name, ">=" if op == ">" else "<", after.isoformat())
        else:
            self.add(place, column.name, op, item.days[0].isoformat())
        return item.text.casefold() not in WEEKDAYS

    def _add_dates(self, place: int, column: ColumnFacts, several: list[Lexeme], *, negated: bool) -> bool:
        is_number = column.kind == "number"
        if several[0].text.casefold() in WEEKDAYS:
            days = tuple(sorted({day for item in several for day in WEEKDAYS[item.text.casefold()]}))
            self.add(place, column.name, "not_in" if negated else "in", days, part="weekday")
            return len(several) == 1 or not re.search("[VK]", self.codes)  # groups of several days each are no groups
        if len(several) > 1 and re.search("[VK]", self.codes):
            unit = "none" if is_number else "month" if several[0].months else "year"
            self.groups.append(Grouping(column=column.name, unit=cast("TimeUnit", unit)))
        if several[0].detail and len(several) == 1 and not (negated or is_number):
            self.add(place, column.name, "=", several[0].months[0], part="month")
            self.add(place, column.name, "=", int(several[0].detail), part="day")
        elif is_number or several[0].days is None:
            numbers = tuple(number for one in several for number in one.months or (int(one.number),))
            self.add_values(place, column.name, numbers, negated=negated, part="none" if is_number else "month")
        elif all(one.number for one in several) and (len(several) > 1 or negated):
            years = tuple(int(one.number) for one in several)
            self.add(place, column.name, "not_in" if negated else "in", years, part="year")
        elif len(several) == 1 and not negated:
            return self._add_bound(place, column, several[0], ">=") and self._add_bound(place, column, several[0], "<=")
        else:
            return False
        return True

    def read_values(self) -> None:
        """Read values that stand in the table, alone or in a list; a column named beside them says of which."""
        prefix = r"(?P<no>!?)(?P<c>(?<![bsmdw])C)?(?P<i>i*)(?P<op><?)i*(?P<neg>!?)"
        pattern = rf"{prefix}(?P<v>v)(?P<more>(?:[aoV,]+!?v)*)(?P<d>C(?!i*!?[v<n~]))?"
        for match in self.find(pattern):
            item = self.items[match.start("v")]
            beside = {name: self.item(match, name) for name in ("c", "d")}
            column, value, name = self._column_of_value(item, beside)
            sign = self.item(match, "op")
            if sign is not None and (sign.detail not in ("=", "!=") or name != "c"):
                continue
            values, last = [value], match.start("v")
            for place in range(match.start("more"), match.end("more")):
                more = [text for one, text in self.items[place].values if one == column]
                if self.items[place].code == "v" and not more:
                    break
                values += more
                last = place if more else last
            negated = bool(match["neg"] or match["no"]) != (sign is not None and sign.detail == "!=")
            starts = match.start("c") if name == "c" else match.start("neg") if match["neg"] else match.start("v")
            starts = match.start() if match["no"] and (name == "c" or not match["c"]) else starts
            is_last = last + 1 == match.end("more") or (last == match.start("v") and not match["more"])
            self.use(*range(starts, last + 1), *([match.start("d")] if name == "d" and is_last else []))
            place = match.start("v")
            facts = self.table.column(column)
            lists = [one.split(", ") for one in (facts.values if facts else ()) if ", " in one]
            # What stands in lists of several, too, is looked for inside: `Comedy`, where there is `Comedy, Drama`.
            if item.detail == "contains" or (len(values) == 1 and any(value in several for several in lists)):
                self.add(place, column, "not_contains" if negated else "contains", value)
            else:
                self.add_values(place, column, tuple(values), negated=negated)
            is_apart = any(one.detail in ("mean", "median", "min", "max") for one in self.items if one.code == "f")
            if len(values) > 1 and (re.search("[VK]", "".join(one.code for one in self.items)) or (
                is_apart and "o" not in match["more"])):  # fmt: skip
                self.groups.append(Grouping(column=column))  # "the mean of A and B" are two

    def _column_of_value(self, item: Lexeme, beside: Mapping[str, Lexeme | None]) -> tuple[str, str, str]:
        """The column of a value, the value as it is written there, and where the column is named."""
        for name, other in beside.items():
            common = [pair for pair in item.values if other is not None and pair[0] in other.columns]
            if len(common) == 1:
                return *common[0], name
        direction = item.lead.split()[-1:]
        own, others = (
            (_ORIGIN_WORDS, _DESTINATION_WORDS)
            if direction == ["from"]
            else (_DESTINATION_WORDS, _ORIGIN_WORDS)
            if direction == ["to"]
            else (_NO_WORDS, _NO_WORDS)
        )
        pairs = [pair for pair in item.values if not others.intersection(name_words(pair[0]))]
        if not pairs:  # "to JFK", which is only an origin
            ends = [
                one.name for one in self.table.columns if one.kind == "text" and own.intersection(name_words(one.name))
            ]
            pairs = [(name, item.values[0][1]) for name in ends[:1]] or list(item.values)
        columns = {name for name, _ in pairs}
        meaning = self.meanings.get(item.text.casefold())
        if len(columns) > 1 and meaning not in columns:
            raise AmbiguityError(item.text, tuple(sorted(columns)))
        return *next(pair for pair in pairs if meaning in (None, pair[0])), ""

    def read_missing(self) -> None:
        """Read "a missing tail number", "the delay is not missing", "without a note", "no precipitation"."""
        for match in self.find(r"(?P<neg>!?)M(?P<c>C)|(?P<d>C)i*(?P<not>!?)M"):
            column = self.column(self.item(match, "c") or self.item(match, "d"))
            if column is not None:
                self.add(match.start(), column.name, "not_null" if match["neg"] or match["not"] else "is_null")
                self.use_all(match)
        for match in self.find(r"!(?P<c>C)(?![nv<>])"):
            item = self.items[match.start("c")]
            column = None if "in" in item.lead.split() else self.column(item)
            if column is not None:
                if is_flag(column):
                    self.add(match.start(), column.name, "=", flag_value(column, truth=False))
                elif column.kind == "number" and column.least == 0:
                    self.add(match.start(), column.name, "=", 0)
                else:
                    self.add(match.start(), column.name, "is_null")
                self.use_all(match)


def is_flag(column: ColumnFacts) -> bool:
    """Whether it says yes or no of each row."""
    is_bit = column.is_whole and column.least == 0 and column.most == 1
    return column.kind == "boolean" or is_bit or {one.casefold() for one in column.values} in _BOOLEAN_WORDS


def flag_value(column: ColumnFacts, *, truth: bool) -> Value:
    """Yes or no as the column writes it."""
    if column.kind == "text":
        return next(one for one in column.values if (one[0].casefold() in "yt") == truth)
    return truth if column.kind == "boolean" else int(truth)


def default_unit(column: ColumnFacts) -> TimeUnit:
    """The stretch of time that makes a few dozen groups of what the column holds."""
    try:
        days = (date.fromisoformat(str(column.most)[:10]) - date.fromisoformat(str(column.least)[:10])).days
    except ValueError:
        return "day"
    return (
        "hour" if days < 3 else "day" if days <= 62 else "week" if days <= 190 else "month" if days <= 2_200 else "year"
    )
