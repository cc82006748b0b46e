"""What there is to say of a requirement that is not kept: what is wrong, the requests it showed on, and the way out."""

from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from retinue.conformance.port import Exchange, Report, Verdict
from retinue.contract.sanitize import printable

__all__ = ["Told", "counts", "excerpt", "followers", "told"]

_EXCHANGES: Final = 2
_NAMES: Final = 3
_MISTAKE: Final = "Our own check broke, so it is not known whether this holds"


@dataclass(frozen=True, slots=True)
class Told:
    """One broken requirement, ready to be shown. All text is foreign in part: whoever shows it escapes it.

    Attributes:
        wrong: A sentence for everything that is wrong, with the probes it showed on.
        exchanges: The first requests on which it showed.
    """

    verdict: Verdict
    wrong: tuple[str, ...]
    exchanges: tuple[Exchange, ...]

    def lines(self, *, known: Collection[str] = ()) -> Iterator[str]:
        """All of it as lines of text without control characters.

        Args:
            known: Names of probes that the reader has been shown.
        """
        required = self.verdict.requirement
        yield f"{required.force}: {required.text}"
        yield f"clause: {required.clause} ({', '.join(required.rows)})"
        yield from (f"- {_line(wrong)}" for wrong in self.wrong)
        for exchange in self.exchanges:
            if exchange.probe.name in known:
                continue
            yield f"{exchange.probe.name}: {exchange.probe.about}"
            yield f"  sent:     {excerpt(exchange.sent)}"
            yield f"  answered: {excerpt(exchange.text) if exchange.text is not None else _line(exchange.error)}"
        if required.fix:
            yield f"fix: {required.fix}"


def told(report: Report) -> tuple[Told, ...]:
    """The broken requirements, MUST before SHOULD."""
    broken = [verdict for verdict in report.verdicts if verdict.outcome != "passed"]
    broken.sort(key=lambda verdict: verdict.outcome)  # `failed` stands before `warned`
    return tuple(_told(verdict, report) for verdict in broken)


def followers(broken: Iterable[Told]) -> frozenset[str]:
    """The requirements that break on nothing but what broke one before them, by id.

    An agent that answers nothing breaks them all: what is to be mended stands at the first.
    """
    before: set[str] = set()
    following: set[str] = set()
    for each in broken:
        wrong = set(each.verdict.wrong)
        if wrong and wrong <= before:
            following.add(each.verdict.requirement.id)
        before |= wrong
    return frozenset(following)


def counts(report: Report) -> dict[str, int]:
    """How many requirements passed, failed and warned."""
    counted = Counter(verdict.outcome for verdict in report.verdicts)
    return {outcome: counted[outcome] for outcome in ("passed", "failed", "warned")}


def excerpt(text: str, *, most: int = 300) -> str:
    """The beginning of a foreign text on one line, and how long it is when that is not all."""
    line = _line(text[: 4 * most])
    cut = line[:most].rstrip() if len(line) > most or len(text) > 4 * most else line
    return f"{cut or '(nothing)'}{f' … ({len(text):,} characters)' if cut != line or len(text) > 4 * most else ''}"


def _told(verdict: Verdict, report: Report) -> Told:
    wrong = (f"{_MISTAKE}: {verdict.mistake}",) if verdict.mistake else verdict.wrong
    named = {each.partition(": ")[0] for each in wrong}
    shown = _unlike(each for each in report.exchanges if each.probe.name in named)
    probes = {exchange.probe.name for exchange in report.exchanges}
    return Told(verdict, tuple(_gathered(wrong, probes)), tuple(shown[:_EXCHANGES]))


def _unlike(exchanges: Iterable[Exchange]) -> list[Exchange]:
    """Those that show something the ones before do not."""
    unlike: dict[tuple[str, str | None, str], Exchange] = {}
    for each in exchanges:
        unlike.setdefault((each.sent, each.text, each.error), each)
    return list(unlike.values())


def _gathered(wrong: tuple[str, ...], probes: Collection[str]) -> Iterator[str]:
    """The sentences, each once: `valid, again and 3 more: it is no JSON`."""
    names: dict[str, list[str]] = {}
    for each in wrong:
        name, _, sentence = each.partition(": ")
        if name in probes:
            names.setdefault(sentence, []).append(name)
        else:
            names[each] = []
    for sentence, told_by in names.items():
        more = f" and {len(told_by) - _NAMES} more" if len(told_by) > _NAMES else ""
        yield f"{', '.join(told_by[:_NAMES])}{more}: {sentence}" if told_by else sentence


def _line(text: str) -> str:
    return " ".join(printable(text).split())
