"""Gherkin in a ticket: scenarios with their lines, and what does not parse beside what does."""

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple, cast

from retinue.errors import NotInstalled

from .ticket import TicketScenario

GHERKIN_START: Final = re.compile(
    r"(?:Feature|Background|Rule|Scenario(?: Outline| Template)?|Example)\s*(?:[0-9]+\s*)?:"
)
"""What a block begins with, when nothing else says that it is Gherkin."""
GHERKIN_SCENARIO: Final = re.compile(r"Scenario(?: Outline| Template)?\s*(?:[0-9]+\s*)?:")
"""What a scenario outside of a block of code begins with; other words of Gherkin begin sentences of all kinds."""
GHERKIN_STEP: Final = re.compile(r"(?:Given|When|Then|And|But)\b")
_HEAD: Final = r"(?:Scenario(?: Outline| Template)?|Example)\s*(?:[0-9]+\s*)?:"
_SCENARIO: Final = re.compile(rf"\s*(?:@\S+\s+)*{_HEAD}\s*(?P<name>.*)")
_TITLE: Final = re.compile(r"\s*(?:#|@|$)")
_LANGUAGE: Final = re.compile(r"\s*#\s*language\s*:")


class GherkinBlock(NamedTuple):
    """Rows of Gherkin with their lines in the ticket."""

    rows: list[tuple[int, str]]
    is_fenced: bool  # they stand in a block of code

    def goes_on(self, line: int, text: str) -> bool:
        """Whether `text`, on `line`, is one more step of a scenario outside of a block of code."""
        return not self.is_fenced and line - self.rows[-1][0] <= 2 and GHERKIN_STEP.match(text) is not None


def read_scenarios(block: GherkinBlock) -> Iterator[TicketScenario]:
    """The scenarios of a block. One that does not parse has no steps, and does not keep others from being read.

    Raises:
        NotInstalled: gherkin-official is not there.
    """
    whole = _parse(block.rows)
    if isinstance(whole, list):
        yield from whole
        return
    starts = [at for at, (_, row) in enumerate(block.rows) if _SCENARIO.match(row)]
    for start, end in zip(starts, [*starts[1:], len(block.rows)], strict=True):
        rows = block.rows[start:end]
        parsed = _parse(rows)
        match = _SCENARIO.match(rows[0][1])
        if isinstance(parsed, list):
            yield from parsed
        else:
            yield TicketScenario(match["name"].strip() if match else "", parsed[0], (), parsed[1])
    if not starts:
        yield TicketScenario("", whole[0], (), whole[1])


def _parse(rows: Sequence[tuple[int, str]]) -> list[TicketScenario] | tuple[int, str]:
    """The scenarios; or the first line that is wrong, and why."""
    try:
        import gherkin.errors  # noqa: PLC0415 - an extra, and only tickets with scenarios need it
    except ImportError:
        message = "Scenarios were not read: gherkin-official is not installed."
        raise NotInstalled(message, hint="Install `retinue[tickets]`.") from None
    first = next((row.strip() for _, row in rows if not _TITLE.match(row)), "")
    # Gherkin asks for a feature around its scenarios, which a ticket is.
    has_feature = first.startswith("Feature") or any(_LANGUAGE.match(row) for _, row in rows[:3])
    lead = () if has_feature else ("Feature:",)
    lines = [line for line, _ in (*rows[: len(lead)], *rows)]
    try:
        document = gherkin.Parser().parse("\n".join([*lead, *(row for _, row in rows), ""]))
    except (gherkin.errors.CompositeParserException, gherkin.errors.ParserException) as error:
        wrong = error.errors[0] if isinstance(error, gherkin.errors.CompositeParserException) else error
        at = min(wrong.location["line"], len(lines)) - 1
        row = rows[max(at - len(lead), 0)][1].strip()
        return lines[at], f"{row[:80]!r} is no step" if row else "it ends early"
    children: list[Any] = cast("dict[str, Any]", document.get("feature") or {}).get("children", [])
    nested: list[Any] = [inner for child in children for inner in child.get("rule", {}).get("children", [])]
    scenarios: list[Any] = [child["scenario"] for child in (*children, *nested) if "scenario" in child]
    return [
        TicketScenario(
            one["name"], lines[one["location"]["line"] - 1], tuple(f"{s['keyword']}{s['text']}" for s in one["steps"])
        )
        for one in scenarios
    ]
