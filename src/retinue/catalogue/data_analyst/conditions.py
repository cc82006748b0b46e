"""The conditions in a question that no value or comparison makes: what is missing, what is an error; and negation."""

from typing import Final

from retinue.catalogue.data_analyst.asked import Asked
from retinue.catalogue.data_analyst.wanted import Condition, Operator

__all__ = ["NEGATED", "add_condition", "is_negated", "read_errors", "read_missing", "whole"]

NEGATED: Final[dict[Operator, Operator]] = {
    "=": "!=", "!=": "=", "in": "not_in", "not_in": "in", "<": ">=", "<=": ">", ">": "<=", ">=": "<",
    "is_null": "not_null", "not_null": "is_null", "contains": "not_contains", "not_contains": "contains",
}  # fmt: skip
"""The opposite of each comparison."""

_ERROR_LEVELS: Final = frozenset({"error", "err", "critical", "fatal", "severe", "emergency", "alert", "panic", "crit"})


def is_negated(asked: Asked, place: int) -> bool:
    """Whether a "not" or "except" stands before what begins at `place`; it is used up."""
    back = asked.before(place, "is", "from", "to", "column", "rows", "group")
    item = asked.at(back) if back >= 0 else None
    if item is not None and item.role == "not":
        item.used = True
        return True
    return False


def add_condition(asked: Asked, condition: Condition, *, negated: bool) -> None:
    """Add a condition, or its opposite. Opposite ranges leave out empty cells, as the range itself does."""
    if negated:
        condition = Condition(
            condition.column, NEGATED[condition.operator], condition.value, condition.part, condition.words
        )
    asked.conditions.append(condition)


def read_missing(asked: Asked) -> None:
    """Read "missing tail number", "air time is empty", "without an arrival time"."""
    for place in list(asked.places("null")):
        for beside in (asked.after(place), asked.before(place, "is", "not")):
            other = asked.at(beside)
            named = other.role == "column" or (other.role == "unit" and other.columns)
            if beside >= 0 and named and not other.used and (column := asked.pick(other)) is not None:
                asked.items[place].used = True
                negated = is_negated(asked, min(place, beside)) or is_negated(asked, place)
                add_condition(asked, Condition(column.name, "is_null", words=f"{other.text} missing"), negated=negated)
                break
    for place in list(asked.places("not")):
        other = asked.at(asked.after(place))
        followed = asked.at(asked.after(asked.after(place))).role in ("value", "number", "compare", "between")
        if other.role == "column" and not other.used and not followed and (column := asked.pick(other)) is not None:
            asked.items[place].used = True
            asked.conditions.append(Condition(column.name, "is_null", words=f"{asked.items[place].text} {other.text}"))


def read_errors(asked: Asked) -> None:
    """What "errors" are here: levels of a log, else answers of a web server from 400 on."""
    for place in list(asked.places("error")):
        item = asked.items[place]
        level = next(
            (name for name in asked.columns.names if name.casefold() in ("level", "severity", "loglevel")), None
        )
        status = asked.plain_number("status")
        negated = is_negated(asked, place)
        if level is not None and item.payload in ("4", "5"):
            found = tuple(text for text in asked.columns.values.get(level, ()) if text.casefold() in _ERROR_LEVELS)
            item.used = True
            condition = Condition(level, "in", found or ("ERROR",), words=item.text)
            asked.note(f"“{item.text}” means `{level}` {', '.join(found or ('ERROR',))}.")
            add_condition(asked, condition, negated=negated)
        elif status is not None:
            item.used = True
            low = {"4": 400, "client": 400, "5": 500, "ok": 0}[item.payload]
            operator: Operator = "<" if item.payload == "ok" else ">="
            bound = 400 if item.payload == "ok" else low
            span = "below 400" if operator == "<" else f"from {bound} {'to 499' if item.payload == 'client' else 'on'}"
            asked.note(f"“{item.text}” means `{status.name}` {span}.")
            add_condition(asked, Condition(status.name, operator, bound, words=item.text), negated=negated)
            if item.payload == "client" and not negated:
                asked.conditions.append(Condition(status.name, "<", 500, words=item.text))
        else:
            item.role = "word"


def whole(number: float) -> int | float:
    """`number`, as an integer where it is one."""
    return int(number) if float(number).is_integer() and abs(number) < 1e15 else number
