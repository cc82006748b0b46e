"""Puts a dialect's probes to a subject, and judges what came back requirement by requirement.

Nothing a subject does gets past here as an exception. Nothing is skipped either: a requirement whose probe brought no
answer has failed.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from retinue.conformance.kit import ALL, kit
from retinue.conformance.port import Asking, Check, Exchange, Probe, Report, Requirement, Subject, Verdict
from retinue.contract.model import JsonMapping
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import Dialect
from retinue.errors import RetinueError

__all__ = ["PATIENCE_S", "Hears", "judge"]

PATIENCE_S: Final = 30.0
"""How long a subject may take for one request, in seconds, when nobody says otherwise."""

_AT_ONCE: Final = 4
_HUNG: Final = 2
"""A subject that has hung so often is asked nothing more: the rest would only take its time."""
_SENTENCES: Final = 20
_LETTERS: Final = 600

Hears: TypeAlias = Callable[[Probe, Exchange], None]
"""Is told of each exchange as it ends."""


async def judge(
    subject: Subject,
    dialect: str,
    *,
    asking: Asking,
    timeout_s: float = PATIENCE_S,
    facts: JsonMapping | None = None,
    told: Hears | None = None,
) -> Report:
    """Judge `subject` by everything its dialect asks of an agent.

    Args:
        subject: Who is judged. It is not closed.
        dialect: What it claims to speak.
        asking: How it is asked validly.
        timeout_s: How long it may take for one request.
        facts: What else the report should say.
        told: Hears of each exchange as it ends.

    Raises:
        UnknownName: There is no such dialect.
    """
    by = kit(dialect)
    probes = [ask(asking) for ask in by.probes.values()]
    putting = _Putting(subject, dialect_of(dialect), timeout_s, told)
    exchanges = await putting.all(probes)
    verdicts = tuple(_verdict(each, by.checks[each.id], exchanges) for each in by.requirements)
    in_order = tuple(exchanges[probe.name] for probe in probes)
    return Report(subject.name, by.dialect, by.version, verdicts, in_order, dict(facts or {}))


class _Putting:
    """Puts the probes: those of a group at once, the others so too where each has a process of its own."""

    def __init__(self, subject: Subject, dialect: Dialect, timeout_s: float, told: Hears | None) -> None:
        self._subject = subject
        self._dialect = dialect
        self._timeout_s = timeout_s
        self._told = told
        self._hung = 0

    async def all(self, probes: Sequence[Probe]) -> dict[str, Exchange]:
        """Every exchange, by the name of its probe."""
        alone = [probe for probe in probes if not probe.group]
        grouped = [probe for probe in probes if probe.group]
        exchanges = await self._put(alone, at_once=_AT_ONCE if self._subject.apart else 1)
        for group in dict.fromkeys(probe.group for probe in grouped):
            members = [probe for probe in grouped if probe.group == group]
            exchanges |= await self._put(members, at_once=len(members))
        return exchanges

    async def _put(self, probes: Iterable[Probe], *, at_once: int) -> dict[str, Exchange]:
        gate = asyncio.Semaphore(at_once)

        async def put(probe: Probe) -> Exchange:
            async with gate:
                return await self._one(probe)

        async with asyncio.TaskGroup() as tasks:
            started = {probe.name: tasks.create_task(put(probe)) for probe in probes}
        return {name: task.result() for name, task in started.items()}

    async def _one(self, probe: Probe) -> Exchange:
        if self._hung >= _HUNG:
            exchange = Exchange(probe, "", error=f"It was not asked: it had let {_HUNG} requests hang before.")
        else:
            exchange = await self._asked(probe)
        self._hung += exchange.late
        if self._told is not None:
            self._told(probe, exchange)
        return exchange

    async def _asked(self, probe: Probe) -> Exchange:
        try:
            sent = _written(probe, self._dialect)
        except RetinueError as error:
            return Exchange(probe, "", error=f"The request cannot be written: {error.message} {error.hint}".strip())
        return await self._subject.put(probe, sent, timeout_s=self._timeout_s)


def _written(probe: Probe, dialect: Dialect) -> str:
    if probe.text is not None:
        return probe.text
    if probe.correction is not None:
        return dialect.render_retry(probe.task, probe.correction).text
    return dialect.render_task(probe.task).text


def _verdict(requirement: Requirement, check: Check, exchanges: Mapping[str, Exchange]) -> Verdict:
    names = tuple(exchanges) if requirement.probes == ALL else requirement.probes
    unanswered = tuple(f"{name}: {exchanges[name].error}" for name in names if exchanges[name].text is None)
    if unanswered:
        return Verdict(requirement, _readable(unanswered))
    try:
        return Verdict(requirement, _readable(check({name: exchanges[name] for name in names})))
    except Exception as error:  # noqa: BLE001 - a check of ours that breaks must not be laid at the subject's door
        return Verdict(requirement, mistake=f"`{type(error).__name__}`: {error}"[:_LETTERS])


def _readable(wrong: Iterable[str]) -> tuple[str, ...]:
    """The sentences, each once, neither too many nor too long."""
    said = tuple(dict.fromkeys(f"{each[:_LETTERS]}…" if len(each) > _LETTERS else each for each in wrong))
    more = len(said) - _SENTENCES
    return (*said[:_SENTENCES], f"and {more} more of the kind") if more > 0 else said
