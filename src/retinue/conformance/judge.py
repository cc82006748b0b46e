"""Puts a dialect's probes to a subject, and judges what came back requirement by requirement.

Nothing a subject does gets past here as an exception. Nothing is skipped either: a requirement whose probe brought no
answer has failed.
"""

import asyncio
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib import import_module
from importlib.resources import files
from typing import Any, Final

from retinue.conformance.port import (
    HOSTILE,
    KITS,
    PROTOCOLS,
    Check,
    CheckReport,
    CheckSubject,
    Kit,
    OnExchange,
    Probe,
    ProbeExchange,
    ProbeFactory,
    RequestTemplate,
    Requirement,
    RequirementVerdict,
)
from retinue.conformance.probe_session import ProbeSession
from retinue.contract.model import JsonMapping
from retinue.contract.names import nearest
from retinue.dialects import dialect as dialect_of
from retinue.dialects.port import Dialect
from retinue.errors import RetinueError, UnknownName

DEFAULT_TIMEOUT_S: Final = 30.0
"""How long a subject may take for one request, in seconds, by default."""

_AT_ONCE: Final = 4
_HUNG: Final = 2
"""A subject that has hung so often is asked nothing more: the rest would only take its time."""
_SENTENCES: Final = 20
_LETTERS: Final = 600


async def judge(
    subject: CheckSubject,
    dialect: str,
    *,
    template: RequestTemplate,
    timeout_s: float = DEFAULT_TIMEOUT_S,
    facts: JsonMapping | None = None,
    on_exchange: OnExchange | None = None,
) -> CheckReport:
    """Judge `subject` by everything its dialect asks of an agent.

    Args:
        subject: Who is judged. It is not closed.
        dialect: What it claims to speak.
        template: How it is asked validly.
        timeout_s: How long it may take for one request.
        facts: What else the report should say.
        on_exchange: Hears of each exchange as it ends.

    Raises:
        UnknownName: There is no such dialect.
    """
    dialect_kit = kit(dialect)
    probes = [ask(template) for ask in dialect_kit.probes.values()]
    runner = _ProbeRunner(subject, dialect_of(dialect), timeout_s, on_exchange)
    exchanges = await runner.run(probes)
    verdicts = tuple(_verdict(each, dialect_kit.checks[each.id], exchanges) for each in dialect_kit.requirements)
    in_order = tuple(exchanges[probe.name] for probe in probes)
    return CheckReport(subject.name, dialect_kit.dialect, dialect_kit.version, verdicts, in_order, dict(facts or {}))


async def judge_server(session: ProbeSession, protocol: str, *, facts: JsonMapping | None = None) -> CheckReport:
    """Judge a server by everything that a protocol asks in the edition of the session, in which it is asked here.

    Args:
        session: With the server; nothing has been asked in it.
        protocol: What it speaks.
        facts: What else the report should say.
    """
    protocol_kit = kit(protocol, session.edition)
    await import_module(f"{__package__}.kits.{protocol}").converse(session)
    verdicts: list[RequirementVerdict] = []
    excluded: dict[str, list[str]] = {}
    for requirement in protocol_kit.requirements:
        applicable = tuple(each for each in requirement.probes if each not in session.inapplicable)
        if (why := session.inapplicable.get(requirement.probes[0])) is not None:
            excluded.setdefault(why, []).append(requirement.id.partition("/")[2])
            continue
        exchanges = dict(session.exchanges)
        for name in () if applicable == ALL else applicable:
            exchanges.setdefault(name, ProbeExchange(session.probe(name), "", error=_UNASKED))
        check = protocol_kit.checks[requirement.id]
        verdicts.append(_verdict(replace(requirement, probes=applicable), check, exchanges))
    details = dict(facts or {})
    if excluded:
        details["not judged"] = "; ".join(f"{', '.join(names)}: {why}" for why, names in excluded.items())
    in_order = tuple(session.exchanges.values())
    return CheckReport(session.server.name, protocol, protocol_kit.version, tuple(verdicts), in_order, details)


_UNASKED: Final = "It was not asked, since an answer that it needs did not come."


class _ProbeRunner:
    """Puts the probes: those of a group at once, the others so too where each has a process of its own."""

    def __init__(
        self, subject: CheckSubject, dialect: Dialect, timeout_s: float, on_exchange: OnExchange | None
    ) -> None:
        self._subject = subject
        self._dialect = dialect
        self._timeout_s = timeout_s
        self._on_exchange = on_exchange
        self._hung = 0

    async def run(self, probes: Sequence[Probe]) -> dict[str, ProbeExchange]:
        """Every exchange, by the name of its probe."""
        alone = [probe for probe in probes if not probe.group]
        grouped = [probe for probe in probes if probe.group]
        exchanges = await self._run_group(alone, at_once=_AT_ONCE if self._subject.is_isolated else 1)
        for group in dict.fromkeys(probe.group for probe in grouped):
            members = [probe for probe in grouped if probe.group == group]
            exchanges |= await self._run_group(members, at_once=len(members))
        return exchanges

    async def _run_group(self, probes: Iterable[Probe], *, at_once: int) -> dict[str, ProbeExchange]:
        gate = asyncio.Semaphore(at_once)

        async def run_one(probe: Probe) -> ProbeExchange:
            async with gate:
                return await self._run_one(probe)

        async with asyncio.TaskGroup() as tasks:
            started = {probe.name: tasks.create_task(run_one(probe)) for probe in probes}
        return {name: task.result() for name, task in started.items()}

    async def _run_one(self, probe: Probe) -> ProbeExchange:
        if self._hung >= _HUNG:
            exchange = ProbeExchange(probe, "", error=f"It was not asked: it had let {_HUNG} requests hang before.")
        else:
            try:
                if probe.text is not None:
                    text = probe.text
                elif probe.correction is not None:
                    text = self._dialect.render_retry(probe.task, probe.correction).text
                else:
                    text = self._dialect.render_task(probe.task).text
            except RetinueError as error:
                why = f"The request cannot be written: {error.message} {error.hint}".strip()
                exchange = ProbeExchange(probe, "", error=why)
            else:
                exchange = await self._subject.send(probe, text, timeout_s=self._timeout_s)
        self._hung += exchange.late
        if self._on_exchange is not None:
            self._on_exchange(probe, exchange)
        return exchange


def _verdict(requirement: Requirement, check: Check, exchanges: Mapping[str, ProbeExchange]) -> RequirementVerdict:
    names = tuple(exchanges) if requirement.probes == ALL else requirement.probes
    unanswered = tuple(f"{name}: {exchanges[name].error}" for name in names if exchanges[name].text is None)
    if unanswered:
        return RequirementVerdict(requirement, _readable(unanswered))
    try:
        return RequirementVerdict(requirement, _readable(check({name: exchanges[name] for name in names})))
    except Exception as error:  # noqa: BLE001 - a check of ours that breaks must not be laid at the subject's door
        return RequirementVerdict(requirement, mistake=f"`{type(error).__name__}`: {error}"[:_LETTERS])


def _readable(wrong: Iterable[str]) -> tuple[str, ...]:
    """The sentences, each once, neither too many nor too long."""
    sentences = tuple(dict.fromkeys(f"{each[:_LETTERS]}…" if len(each) > _LETTERS else each for each in wrong))
    more = len(sentences) - _SENTENCES
    return (*sentences[:_SENTENCES], f"and {more} more of the kind") if more > 0 else sentences


ALL: Final = ("*",)
"""In place of probes: each of the dialect's."""


@cache
def kit(name: str, edition: str = "") -> Kit:
    """All that the dialect or protocol called `name` is judged by, loaded when first used.

    Args:
        name: Of the dialect or protocol.
        edition: Of a protocol, as `2025-11-25`.

    Raises:
        UnknownName: There is no such dialect; `suggestions` says what there is.
    """
    if name not in (*KITS, *PROTOCOLS, HOSTILE):
        there = (*KITS, *PROTOCOLS)
        suggestions = tuple(dict.fromkeys((*nearest(name, KITS), *there)))
        hint = f"Available: {', '.join(there)}."
        raise UnknownName(f"Unknown dialect {name[:100]!r}.", hint=hint, suggestions=suggestions)
    version, required = requirements(name, edition)
    module = import_module(f"{__package__}.kits.{name}")
    probes: dict[str, ProbeFactory] = getattr(module, "PROBES", {})
    by_name: dict[str, Check] = module.CHECKS
    # A kit enters its checks where their code stands; here they follow the requirements.
    order = [each.id for each in required]
    ids = sorted(
        (f"{name}/{each}" for each in by_name), key=lambda id_: order.index(id_) if id_ in order else len(order)
    )
    checks = {each: by_name[each.partition("/")[2]] for each in ids}
    return Kit(name, version, required, probes, checks)


def requirements(name: str, edition: str = "") -> tuple[str, tuple[Requirement, ...]]:
    """The version of a dialect's or protocol's requirements, and the requirements, in the order of their file.

    Those of a protocol name a clause for each edition that has them, as `"1.0"`, or as `"1.0 JSON-RPC"` when only one
    binding of it does.

    Args:
        name: Of the dialect or protocol.
        edition: Only what it asks; everything that any edition asks when absent.
    """
    text = files(f"{__package__}.kits").joinpath(f"{name}.toml").read_text(encoding="utf-8")
    document = tomllib.loads(text)
    tables: list[dict[str, Any]] = document["requirement"]
    short = edition.partition(" ")[0]
    required: list[Requirement] = []
    for table in tables:
        clauses: dict[str, str] = table.get("clauses", {})
        clause = table.get("clause") or clauses.get(edition) or clauses.get(short)
        if clause is None and edition:
            continue
        required.append(
            Requirement(
                id=f"{name}/{table['id']}",
                force="SHOULD" if short in table.get("should", ()) else table["force"],
                clause=clause or "; ".join(f"{key}: {value}" for key, value in clauses.items()),
                text=table["text"],
                rows=tuple(table.get("rows", ())),
                probes=tuple(table["probes"]),
                fix=table["fix"],
            )
        )
    return document["version"], tuple(required)
