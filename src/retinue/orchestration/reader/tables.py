"""One grammar for questions about tables: words become a `TableQuery`, or it is said which of them do not.

It knows the facts of the table and the words of `table_lexer`, and nothing else. `table_lexer` makes each word an item
with a letter: `C` a column, `v` a value, `n` a number, `D` a day or month, `R` the rows, `f` a figure such as the mean,
`c` how many, `d` different, `%` a share, `b` by, `u` a unit of time, `<` more than, `>` or more, `B` since or before,
`~` between, `s` the largest, `m` the most common, `t` top, `p` a percentile, `M` missing, `h` contains, `!` not, `a`
and, `o` or, `V` versus, `K` compare, `O` sorted by, `A` ascending, `T` a trend, `w` which, `l` list, `i` is, `x` what
names nothing. The rules are patterns over these letters, tried in order; what one has used becomes a dot. Every word
must be used or mean nothing: a figure that leaves one out would be of something else. `table_parameters` puts a query
to the skills that take one.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final, cast

from retinue.contract.definition import Skill
from retinue.contract.facts import ColumnFacts, Facts, TableFacts
from retinue.contract.formatting import truncate
from retinue.contract.json import as_list, as_mappings
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.contract.table_query import Function, GroupCondition, Grouping, Measure, Ordering, TableQuery
from retinue.orchestration.reader.table_conditions import (
    Ambiguity,
    AmbiguityError,
    ConditionParser,
    default_unit,
    flag_value,
    is_flag,
)
from retinue.orchestration.reader.table_lexer import DIMENSIONS, Lexeme, Lexer, name_words

_MAX_QUESTION: Final = 2_000
"""Characters of the longest question."""
_DAY: Final = len("2024-01-01")
_FIGURES: Final = ("mean", "sum", "max", "min")
_STEM: Final = 4
_LINK_WORDS: Final = frozenset(
    ["the", "a", "an", "of", "in", "on", "at", "for", "from", "to", "by", "with", "their", "all"]
)
"""Filling words that part nothing."""
_IGNORABLE: Final = frozenset("iwlK,A")
"""Kinds that change no figure when no rule uses them."""


@dataclass(frozen=True, slots=True)
class TableReading:
    """What a question came to.

    Attributes:
        query: None unless every word went into it.
        unread: Words that name nothing here, or that could not be put into the query.
        ambiguity: What must be known first.
        is_about: Some word names a column or a value of the table, or its rows.
        is_open: The words ask only what the table holds.
        compares: They ask for two sides of it.
    """

    query: TableQuery | None
    unread: tuple[str, ...] = ()
    ambiguity: Ambiguity | None = None
    notes: tuple[str, ...] = ()
    is_about: bool = False
    is_open: bool = False
    compares: bool = False


def read_table_question(question: str, table: TableFacts, *, meanings: Mapping[str, str] | None = None) -> TableReading:
    """Read `question` as a query to `table`.

    Args:
        question: In English, as people ask.
        table: What there is.
        meanings: Which column, or which figure, an ambiguous word means; by the word.
    """
    if len(question) > _MAX_QUESTION:
        return TableReading(None, tuple(question[:_MAX_QUESTION].split(maxsplit=1)[:1]))
    column_meanings = {word.casefold(): name for word, name in (meanings or {}).items()}
    lexer = Lexer(table, column_meanings)
    parser = _Parser(table, column_meanings, lexer.items(question), lexer.notes, lexer.whole_columns)
    try:
        parser.parse()
    except AmbiguityError as error:
        unknown = tuple(item.text for item in parser.items if item.code == "x")
        return TableReading(None, unknown, None if unknown else error.ambiguity, is_about=True)
    unread = tuple(
        item.text for item, code in zip(parser.items, parser.codes, strict=True) if code not in _IGNORABLE | {"."}
    )
    unread = unread or parser.contradictions()
    is_about = any(item.columns or item.values or item.code == "R" for item in parser.items)
    is_open = not unread and "." not in parser.codes
    query = None if unread or is_open else parser.query()
    compares = any(item.code in "KV" for item in parser.items)
    return TableReading(query, unread, notes=tuple(parser.notes), is_about=is_about, is_open=is_open, compares=compares)


def example_questions(table: TableFacts) -> tuple[str, ...]:
    """Two questions that work on `table`."""
    numbers = [one.name for one in table.columns if one.kind == "number" and not one.is_unique]
    texts = [one for one in table.columns if one.kind == "text" and not one.is_unique]
    examples: list[str] = []
    if numbers and texts:
        examples.append(f"average `{numbers[-1]}` by `{texts[0].name}`")
    if texts and texts[0].values:
        examples.append(f'how many rows where `{texts[0].name}` is "{texts[0].values[0]}"')
    if numbers and len(examples) < 2:
        examples.append(f"the highest `{numbers[-1]}`")
    return tuple([*examples, "how many rows are there"][:2])


@dataclass(slots=True)
class _Parser(ConditionParser):
    """Uses up the items of a question, rule by rule."""

    def parse(self) -> None:
        """Use the items; what is left over is not understood.

        Raises:
            Unclear: A word may mean several things.
        """
        for place, item in enumerate(self.items):  # "the order total", but "total price"
            after = self.items[place + 1].code if place + 1 < len(self.items) else ""
            if item.text == "mean" and not after and {"do", "does"} & {one.text for one in self.items}:
                item.code = "x"  # "what does it mean"
            if item.code in "fc" and after not in tuple("CRc") and self.whole_columns(item.text):
                item.code, item.columns = "C", self.whole_columns(item.text)
        for place, (low, link, high) in enumerate(zip(self.items, self.items[1:], self.items[2:], strict=False)):
            if low.code == high.code == "s" and link.code == "a" and {low.detail, high.detail} == {"min", "max"}:
                low.code = high.code = "f"  # "lowest and highest"
            if "(" in high.lead and high.code in "vC":  # "the Dutch players (Netherlands)"
                self.items = [one for one in self.items if one.code != "x" or one not in self.items[place : place + 2]]
        self.join_columns()
        self._name_rows()
        self.codes = "".join(item.code for item in self.items)
        # The order is the grammar: each rule uses up its words, so what binds them tighter comes first. A number in a
        # condition is no count, and a group is known before the superlative that orders it.
        for rule in (
            self.read_contains, self.read_first, self.read_percentiles, self.read_limits, self.read_having,
            self.read_between, self.read_comparisons, self.read_dates, self.read_values, self.read_missing,
            self.read_shares, self.read_orders, self.read_counted_column, self.read_groups, self.read_averages,
            self.read_functions, self.read_most_common, self.read_superlatives, self.read_counts,
            self.read_equal_numbers, self.read_remaining_columns, self.split_share, self.read_rest,
        ):  # fmt: skip
            rule()
        if self.conditions and self._lists_rows() and {one.code for one in self.items}.isdisjoint("lR"):
            for match in self.find("wi"):  # "what does it …": what of these rows?
                self.codes = f"{self.codes[: match.start()]}x{self.codes[match.end() - 1 :]}"

    def _name_rows(self) -> None:
        """Take a noun that names nothing for the rows where it is counted, ranked or listed: "how many firms".

        Only beside a value or a column: "how many cars were sold in 1970" is no question about whatever has a year.
        """
        unknown = [place for place, one in enumerate(self.items) if one.code == "x"]
        codes = {one.code for one in self.items}
        if len(unknown) != 1 or "R" in codes or codes.isdisjoint("vC"):
            return
        (place,) = unknown
        item, before = self.items[place], self.items[place - 1] if place else Lexeme("", "")
        is_plural = name_words(item.text) != (item.text.casefold(),)
        is_asked = before.code in "cnlwt" if place else is_plural
        is_of = bool({"of", "of the", "the"} & {item.lead}) or before.code == "v"
        noun = item.text.casefold()
        for name in (one.name.casefold() for one in self.table.columns):
            letters = iter(noun)
            # A column may be named after the noun in few letters, as `ctryname` after "countries".
            if name[:1] == noun[:1] and all(letter in letters for letter in name[:_STEM]):
                return
        if item.text.isalpha() and (is_asked or (is_plural and (is_of or before.code == "s"))):
            self.notes.append(f"“{item.text}” is taken for the rows of `{self.table.path}`.")
            item.code = "R"

    def read_first(self) -> None:
        """Read "wettest month first", "best first"."""
        for match in self.find(r",?(?P<s>s)?[CuR]?t$"):
            if self.items[-1].text.casefold() == "first":
                end = self.items[match.start("s")].detail if match["s"] else "max"
                self.order = Ordering(descending=end not in ("min", "least"))
                self.use_all(match)

    def read_limits(self) -> None:
        """Read "top 5", "the 3 largest", "which 2 months"; "top" alone is the largest."""
        for match in self.find(r"t(?P<n>n)|(?P<m>n)(?=[sm]|[CRu].*[sm])"):
            place = match.start("n") if match["n"] else match.start("m")
            is_led = place == 0 or self.codes[place - 1] in "wl" or "the" in self.items[place].lead.split()
            if match["n"] or is_led or self.codes[place + 1] in "sm":
                self.limit = int(self.items[place].number)
                self.use_all(match)
        for place, item in enumerate(self.items):
            if self.codes[place] == "t":
                item.code = "s"
                self.codes = f"{self.codes[:place]}s{self.codes[place + 1 :]}"

    def read_having(self) -> None:
        """Read "cities with more than 3 sales", "carriers with an average delay above 43"."""
        if "c" in self.codes:
            return
        pattern = (
            r"(?P<g>C)[^C%]*?(?P<f>f)(?P<c>C)i*(?P<op><)(?P<n>n)|(?P<h>C)i*(?:(?P<op2><)(?P<n2>n)|(?P<n3>n)(?P<op3>>))R"
        )
        for match in self.find(pattern):
            of_rows = not match["f"]
            subject = match.start("h" if of_rows else "g")
            column = None if of_rows else self.column(self.item(match, "c"), "number")
            if not self.may_be_kind(self.items[subject], "text") or (column is None and not of_rows):
                continue
            op = next(one for one in map(match.start, ("op", "op2", "op3")) if one >= 0)
            number = next(one for one in map(match.start, ("n", "n2", "n3")) if one >= 0)
            function = "count" if of_rows else self.items[match.start("f")].detail
            having = GroupCondition(
                function=cast("Function", function),
                column=column.name if column else "",
                op=cast("Any", self.items[op].detail),
                value=self.items[number].number,
            )
            self.having.append(having)
            self.measures += [] if of_rows else [having.measure]
            self.group_by(subject)
            self.use_all(match)

    def read_percentiles(self) -> None:
        """Read "p95 of the delay", "the 25th and 75th percentile of price", "quartiles of price"."""
        numbers = [one for one in self.table.columns if one.kind == "number"]
        for match in self.find(r"(?P<d>C)?(?P<p>p(?:[,a]*p)*)i*(?P<c>C)?"):
            items = [one for one in self.items[slice(*match.span("p"))] if one.code == "p"]
            points = [one.number for one in items if one.detail == "point"] or list(map(float, items[0].detail.split()))
            name = next((one for one in ("c", "d") if self.may_be_kind(self.item(match, one), "number")), "")
            column = (
                self.column(self.item(match, name), "number") if name else numbers[0] if len(numbers) == 1 else None
            )
            if column is not None:
                self.use_all(match, *(one for one in ("c", "d") if one != name))
                self.measures += [Measure(function="percentile", column=column.name, percentile=one) for one in points]

    def read_shares(self) -> None:
        """Read "what share of sales were coffee", "share of total distance by carrier"."""
        for match in self.find(r"%(?P<t>f?)(?P<c>C?)"):
            item = self.item(match, "c")
            is_sum = bool(match["t"]) and self.items[match.start("t")].detail == "sum"
            column = self.column(item, "number") if is_sum or "R" not in self.codes else None
            self.share_at = match.start()
            self.use_all(match, *([] if column is not None else ["c"]), *([] if is_sum else ["t"]))
            self.measure("share", column)
            return

    def read_orders(self) -> None:
        for match in self.find(r"Ob?(?P<c>C?)"):
            column, way = self.column(self.item(match, "c")), self.codes.find("A")
            self.use_all(match)
            descending = self.items[way].detail == "desc" if way >= 0 else column is None or column.kind == "number"
            self.order = Ordering(by=column.name if column else "", descending=descending)

    def read_groups(self) -> None:
        for match in self.find(r"(?P<x>x?)b(?=\.)"):
            if [one.code for one in self.items[match.end() : match.end() + 1]] == ["v"]:
                self.use_all(match)  # "flown by UA"
        for match in self.find(r"b(?P<c>c?d?f?)(?P<g>[CuR])"):
            if self._read_ranking(match) or match["c"].endswith("f") or not self.group_by(match.start("g")):
                continue
            self.use_all(match)
            at = match.end()
            while (more := re.compile(r"[,a]+b?(?P<g>[Cu])(?!i*[<v])").match(self.codes, at)) and self.group_by(
                more.start("g")
            ):
                self.use_all(more)
                at = more.end()
        for match in self.find("u"):
            if self.items[match.start()].text.casefold().endswith("ly"):
                self.group_by(match.start())
        for match in self.find(r"x?T"):
            is_change = self.items[match.start()].text.casefold() in ("change", "develop", "evolve")
            if self.main_time is not None:
                self.use(match.end() - 1, *([match.start()] if is_change else []))
                self.groups = [Grouping(column=self.main_time.name, unit=default_unit(self.main_time))]

    def read_counted_column(self) -> None:
        """Read "medals per country": what names no number is counted."""
        for match in self.find(r"^(?P<c>C)(?=b[Cu])"):
            if not self.may_be_kind(self.item(match, "c"), "number", "boolean"):
                self.use_all(match)
                self.measure("count")

    def _read_ranking(self, match: re.Match[str]) -> bool:
        """Read "top 5 cities by total sales", "the 3 largest orders by price": what comes first, and no group."""
        at = match.start("g")
        subject_place = next((one.start() for one in self.find("[CR]") if one.start() < match.start()), None)
        if not self.limit or subject_place is None or not (match["c"] or self.may_be_kind(self.items[at], "number")):
            return False
        top = next((one for one in self.items if one.code == "s"), None)
        descending = top is None or top.detail not in ("min", "least")
        self.use(match.start(), *(place for place, one in enumerate(self.items) if one is top))
        subject = self.column(self.items[subject_place])
        figure = self.column(self.items[at], "number")
        if match["c"] or (subject is not None and not subject.is_unique):
            if not match["c"] and figure is not None:  # of several rows each: which figure?
                meaning = self.meanings.get(self.items[at].text.casefold(), "")
                if meaning not in _FIGURES:
                    raise AmbiguityError(self.items[at].text, _FIGURES)
                self.use(at)
                self.measure(meaning, figure)
            self.order = Ordering(descending=descending)
            return self.codes[subject_place] == "R" or self.group_by(subject_place)
        self.use(at, subject_place)
        self.columns = ["*"] if subject is None else [subject.name, *([figure.name] if figure else [])]
        self.order = Ordering(by=figure.name if figure else "", descending=descending)
        return True

    def read_averages(self) -> None:
        """Read "average number of flights per day": the mean over the groups; "which is slowest on average"."""
        for match in self.find(r"fc?R"):
            if self.items[match.start()].detail == "mean" and self.groups:
                self.use_all(match)
                self.averaged = True
                self.measure("count")
        for match in self.find(r"sf(?![cCR])"):
            column, end = self.dimension_column(self.items[match.start()].text.casefold())
            if column is not None:
                function = self.items[match.start() + 1].detail
                self.measure(function, column)
                self.use_all(match)
                self._order_groups(match.start(), end)

    def read_functions(self) -> None:
        """Read "average delay", "min, max and mean of air time", "departure delay on average"."""
        for pattern in (r"(?P<f>f(?:[,a]+f)*)[cR]?(?P<c>C)(?P<more>(?:[,a]+C)*)", r"(?P<c>C)i*(?P<f>f)(?P<more>)"):
            for match in self.find(pattern):
                functions = [one.detail for one in self.items[slice(*match.span("f"))] if one.code == "f"]
                kinds = ("number", "time") if set(functions) <= {"min", "max"} else ("number",)
                if not self.may_be_kind(self.item(match, "c"), *kinds):
                    continue
                self.use_all(match, "more")
                at = match.start("c")
                while True:
                    column = self.column(self.items[at], *kinds)
                    for function in functions:
                        self.measure(function, column)
                    more = re.compile(r"[,a]+(?P<c>C)").match(self.codes, at + 1)
                    if more is None or not self.may_be_kind(self.item(more, "c"), *kinds):
                        break
                    self.use_all(more)
                    at = more.start("c")

    def read_most_common(self) -> None:
        """Read "the most common species", "which day is most frequent"."""
        for match in self.find(r"m(?P<c>[Cu])|(?P<d>[Cu])i*m"):
            if self.group_by(match.start("c") if match["c"] else match.start("d")):
                self.use_all(match)
                self.measure("count")
                self.order = Ordering()

    def read_superlatives(self) -> None:
        """Read "which city has the most sales", "the heaviest penguin", "the price was highest"."""
        for match in self.find(r"(?P<before>C(?=i*s))?(?P<i>i*)s(?P<used>\.*)(?P<after>c?[CR])?"):
            place = match.start("used") - 1
            item, after = self.items[place], match.end("after") - 1 if match["after"] else -1
            other = self.items[after] if after >= 0 else None
            counts, end = item.detail in ("most", "least"), item.detail
            adjective = item.text.casefold() if item.text.casefold() in DIMENSIONS else ""
            if self.measures and match["used"] and self.items[place + 1].code in "Cfc":
                self._order_groups(place, end)  # "the highest average price", whose figure is known already
            elif counts and other is not None and (other.code == "R" or not self.may_be_kind(other, "number", "time")):
                column = None if other.code == "R" else self.column(other)
                function = "count" if column is None else "count_distinct"
                self.use(place, *range(match.start("after"), after + 1))
                self.measure(function, column)
                self._order_groups(place, end)
            else:
                column = None
                for name in ("after", "before"):
                    if column is None and match[name] and match[name] != "R":
                        beside = self.items[match.end(name) - 1]
                        if self.may_be_kind(beside, "number", "time"):
                            self.narrow(beside, adjective)
                            column = self.column(beside, "number", "time")
                            self.use(*range(*match.span(name)))
                if column is None and adjective:
                    column, end = self.dimension_column(adjective)
                if column is not None:
                    self.use(place)
                    self._add_extreme(
                        column, "max" if end in ("most", "max") else "min", place, summed=counts and not adjective
                    )

    def _order_groups(self, place: int, end: str) -> None:
        """Order groups by the figure just read; who leads is asked for."""
        subject = self._subject_place(place)
        if subject is not None:
            self.group_by(subject)
        if self.groups:
            self.use(place)
            self.order = Ordering(descending=end in ("most", "max"))

    def _subject_place(self, place: int) -> int | None:
        """What is asked for beside a superlative: the column before it, else a column of texts behind it."""
        before = [one.start() for one in self.find("[Cu]") if one.start() < place]
        behind = (one.start() for one in self.find("C") if self.may_be_kind(self.items[one.start()], "text"))
        return before[0] if before else next(behind, None)

    def _add_extreme(self, column: ColumnFacts, end: str, place: int, *, summed: bool) -> None:
        """The rows at one end of a column, the groups at one end, or that end itself."""
        subject = self._subject_place(place)
        name = self.column(self.items[subject]) if subject is not None and self.items[subject].columns else None
        if subject is not None and self.items[subject].code == "u":
            name = self.times[0] if len(self.times) == 1 else None
        words = {one.text.casefold() for one in self.items if one.code == "w"}
        is_first = not words.isdisjoint({"when", "who"})
        if subject is None and name is None and is_first:
            name = next(iter(self.times), None)
        if summed and subject is not None and not (name and name.is_unique):
            self.measure("sum", column)
            self.group_by(subject)
            self.order = Ordering(descending=end == "max")
        elif (
            subject is not None
            or is_first
            or "R" in self.codes
            or self.limit
            or (words and (column.kind != "number" or "which" in words))
        ):
            self.use(*([] if subject is None else [subject]), *(one.start() for one in self.find("R")))
            self.columns = [name.name, column.name] if name else ["*"]
            self.order = Ordering(by=column.name, descending=end == "max")
            self.limit = self.limit or 1
        else:
            self.measure(end, column)

    def read_counts(self) -> None:
        """Read "how many flights", "how many different cities and countries", "how many seats"."""
        for match in self.find(r"cu"):  # "how many days", where each time is a day
            column = self.times[0] if len(self.times) == 1 else None
            if self.items[match.start() + 1].detail == "day" and column and len(str(column.least)) == _DAY:
                self.measure("count_distinct", column)
                self.use_all(match)
        for match in self.find(r"c(?P<d>d?)(?P<c>C?)"):
            column = self.column(self.item(match, "c"))
            if column is None and self.having:
                continue  # "how many cities have more than 3 sales": groups are not counted
            if column is None:
                self.measure("count")
            elif match["d"] or not (is_flag(column) or column.kind == "number"):
                self.measure("count_distinct", column)
                while match["d"] and (more := re.compile("aC").match(self.codes, match.end())):
                    other = self.column(self.items[more.end() - 1])
                    self.measure("count_distinct", other)
                    self.use_all(more)
            elif is_flag(column):
                self.add(match.start("c"), column.name, "=", flag_value(column, truth=True))
                self.measure("count")
            else:
                self.measure("sum", column)
            self.use_all(match)
        for match in self.find("d(?P<c>C)"):
            self.group_by(match.start("c"))
            self.use_all(match)
        self.use(*(one.start() for one in self.find("R")))

    def read_remaining_columns(self) -> None:
        """Columns that are left: a truth is a condition, a text puts rows together, a number wants its row."""
        unique = {one.name for one in self.table.columns if one.is_unique}
        one_row = any(one.column in unique and one.op == "=" for _, one in self.conditions)
        lists = "l" in self.codes
        for match in self.find("(?P<neg>!?)(?P<c>C)"):
            column = self.column(self.item(match, "c"))
            if column is None:
                continue
            if is_flag(column):
                self.add(match.start("c"), column.name, "=", flag_value(column, truth=not match["neg"]))
            elif match["neg"]:
                continue
            elif any(one.column == column.name and one.op == "=" for _, one in self.conditions):
                pass  # "Same Day shipments", of a `Ship Mode`
            elif one_row or self.columns:
                columns = self.columns or [one.column for _, one in self.conditions]
                self.columns = list(dict.fromkeys([*columns, column.name]))
            elif lists and not self.measures and any(self.may_be_kind(one, "number") for one in self.items):
                self.columns.append(column.name)
            elif column.kind == "number" and not self.measures and not self.order:
                self.measure("mean", column)
                self.measure("sum", column)
                self.notes.append(f"No figure of `{column.name}` is named: mean and total are given.")
            elif column.kind in ("text", "boolean") and not self.groups:
                self.groups.append(Grouping(column=column.name))
            else:
                continue
            self.use_all(match)

    def read_rest(self) -> None:
        """What is left may join what was read; a figure of nothing is ambiguous."""
        self.use(*(one.start() for one in self.find(r"(?<=\.)a(?=[.a]|$)|(?<=\.),(?=\.)")))
        for match in self.find("f"):  # "what is the average": of what?
            numbers = [one.name for one in self.table.columns if one.kind == "number" and not one.is_unique]
            if len(numbers) > 1 and set(self.codes) <= {"f", ".", *"iwl"}:
                raise AmbiguityError(self.items[match.start()].text, tuple(numbers))
        if any(one.part != "none" for _, one in self.conditions):
            self.use(*(one.start() for one in self.find("u")))  # "in March of that year"

    def split_share(self) -> None:
        """Put the conditions behind the verb into the share; those before say of which rows it is one."""
        if self.share_at is None:
            return
        verbs = [at for at, one in enumerate(self.items) if one.code == "i"]  # or "survived", which is a column
        verbs += [
            at - 1 for at, one in enumerate(self.items) if set(one.lead.split()) - _LINK_WORDS
        ]  # or "went to the"
        flags = {one.name for one in self.table.columns if is_flag(one)}
        verbs += [at - 1 for at, one in self.conditions if one.column in flags]
        verb = min((at for at in verbs if at > self.share_at), default=self.share_at)
        inner = [] if self.groups and verb == self.share_at else [one for at, one in self.conditions if at > verb]
        if not inner and not self.groups:
            inner = [one for _, one in self.conditions]
        self.conditions = [(at, one) for at, one in self.conditions if one not in inner]
        self.measures = [
            one.model_copy(update={"where": tuple(inner)}) if one.function == "share" else one for one in self.measures
        ]

    def contradictions(self) -> tuple[str, ...]:
        """Values of a column that is to have another one too, or that all rows of a group would have."""
        shares = (one for measure in self.measures for one in measure.where)
        equal = [one for one in (*(one for _, one in self.conditions), *shares) if one.op == "="]
        places = [(one.column, one.part) for one in dict.fromkeys(equal)]
        grouped = {(one.column, "none") for one in self.groups if one.unit == "none"}
        return tuple(str(one.value) for one in equal if places.count(at := (one.column, one.part)) > 1 or at in grouped)

    def _lists_rows(self) -> bool:
        """Whether rows are asked for, and not figures."""
        codes = {one.code for one in self.items}
        is_sorted = self.order is not None and bool(self.order.by)
        is_asked = is_sorted or not codes.isdisjoint("lw")
        return is_asked and not (self.measures or self.groups or self.columns or "c" in codes)

    def query(self) -> TableQuery:
        """What was read."""
        columns = ["*"] if self._lists_rows() else self.columns
        return TableQuery(
            measures=() if columns else (tuple(dict.fromkeys(self.measures)) or (Measure(function="count"),)),
            group_by=() if columns else tuple(self.groups),
            where=tuple(dict.fromkeys(one for _, one in self.conditions)),
            having=tuple(self.having),
            order=self.order,
            limit=self.limit,
            select=tuple(columns),
            averaged=self.averaged,
        )


QUERY_PARTS: Final = frozenset(TableQuery.model_fields) - {"limit"}
"""Parameters that only a query fills in; of a limit people speak beside it."""

_FILE: Final = re.compile(r"(?i)[\w/-]\.(?:csv|tsv|json|jsonl|ndjson|parquet|log|txt|xlsx?)\b")
_DATA: Final = (".csv", ".tsv", ".jsonl", ".ndjson", ".parquet", ".log")
_COLUMNS: Final = 60
_VALUES: Final = 8
_VALUE: Final = 40


def accepts_query(skill: Skill) -> bool:
    """Whether the parameters of `skill` hold a `TableQuery` and the files it is about."""
    properties = cast("JsonMapping", skill.input_schema.get("properties") or {})
    return {"files", "measures", "where"} <= set(properties)


def table_parameters(skill: Skill, clause: str, facts: Facts, preset: Mapping[str, object]) -> JsonMapping | None:
    """The file and the query that `clause` asks for; None when it cannot be read with just one of the tables.

    Args:
        skill: Whose parameters they are.
        clause: What a person wrote.
        facts: The tables that there are.
        preset: Parameters that are settled; a query that is given is not read from words.
    """
    properties = cast("JsonMapping", skill.input_schema.get("properties") or {})
    if preset.get("measures") or preset.get("select"):
        return None
    # The tables that are meant by name, else all; and the clause without those names.
    files = cast("list[str]", preset.get("files") or [])
    matches = [table for table in facts.tables if table.path in files]
    rest = clause
    for is_whole in (True, False):
        names = {table.path: table.path if is_whole else table.path.rpartition("/")[2] for table in facts.tables}
        mentions = [table for table in facts.tables if names[table.path] in rest]
        for name in sorted((names[table.path] for table in mentions), key=len, reverse=True):
            rest = re.sub(rf"(?:\baccording to )?{re.escape(name)}", " ", rest)
        matches += mentions
    mentions = list({table.path: table for table in matches}.values())
    tables = mentions or [table for table in facts.tables if not table.is_aside]
    if _FILE.search(rest):  # of which nothing is known
        return None
    meanings = cast("Mapping[str, str]", preset.get("meanings") or {})
    readings = [(table, read_table_question(rest, table, meanings=meanings)) for table in tables]
    if "key" in properties:  # a skill that compares
        readings = [(table, one) for table, one in readings if one.compares]
    complete = [(table, one.query) for table, one in readings if one.query is not None and one.is_about]
    unclear = [table.path for table, one in readings if one.ambiguity is not None]
    if len(complete) != 1:
        is_unclear = not complete and len(unclear) == 1 and not {"key", "percentiles"} & properties.keys()
        return {"files": unclear} if is_unclear else None  # the skill asks what is meant
    table, query = complete[0]
    if "percentiles" in properties and all(one.function != "percentile" for one in query.measures):
        return None  # a skill that computes nothing else
    parts = query.model_dump(mode="json", exclude_defaults=True)
    return {"files": [table.path], **parts} if parts.keys() <= properties.keys() else None


def is_data_file(path: str) -> bool:
    """Whether a file holds nothing but rows, by its name."""
    return path.endswith(_DATA)


def facts_text(facts: Facts) -> str:
    """What there is, in a line for each column, for somebody who fills in a query. It is text from outside."""
    lines: list[str] = []
    for table in facts.tables:
        lines.append(f"{table.path}: {table.row_count} rows")
        for column in table.columns[:_COLUMNS]:
            values = [truncate(" ".join(value.split()), _VALUE) for value in column.values[:_VALUES]]
            content = "" if column.least is None else f": {column.least} to {column.most}"
            if values and column.kind == "text":
                content = f": {', '.join(values)}{', …' if len(column.values) > _VALUES else ''}"
            lines.append(f"  {truncate(' '.join(column.name.split()), 2 * _VALUE)} ({column.kind}){content}")
        if len(table.columns) > _COLUMNS:
            lines.append(f"  and {len(table.columns) - _COLUMNS} more columns")
    return "\n".join(lines)


def unknown_names(parameters: Mapping[str, object], facts: Facts) -> list[str]:
    """What a query names that is not there: files, and columns of the files that it names."""
    by_path = {table.path: table for table in facts.tables}
    files = [str(one) for one in cast("list[object]", parameters.get("files") or [])]
    problems = [
        f"There is no table `{path}`. Available: {', '.join(list(by_path)[:_VALUES])}."
        for path in files
        if path not in by_path and facts.is_complete
    ]
    tables = [by_path[path] for path in files if path in by_path] or (list(by_path.values()) if not files else [])
    columns = dict.fromkeys(column.name for table in tables for column in table.columns)
    names: list[object] = []
    for part in ("measures", "group_by", "where", "having"):
        for one in as_mappings(parameters.get(part)):
            names += [one.get("column"), *(inner.get("column") for inner in as_mappings(one.get("where")))]
    names += [name for name in as_list(parameters.get("select")) if name != "*"]
    for name in dict.fromkeys(map(str, filter(None, names))):
        if columns and name not in columns:
            near = nearest(name, columns) or tuple(columns)[:_VALUES]
            problems.append(f"There is no column `{truncate(name, _VALUE)}`. The nearest: {', '.join(near)}.")
    return problems
