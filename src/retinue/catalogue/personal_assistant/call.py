"""One call of the assistant: router, domains side by side, synthesizer, and what it all came to as one reply."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date
from typing import Final

from retinue.agents.extensions import Extension, Extensions, light_schema
from retinue.agents.port import Reply, RunContext
from retinue.catalogue.personal_assistant.domain import Domain, broadcast, without_writing
from retinue.catalogue.personal_assistant.parameters import AssistantAnswer, AssistRequest, Target
from retinue.catalogue.personal_assistant.roles import Roles, Routed, merged_targets
from retinue.catalogue.personal_assistant.route import is_question, read_prompt
from retinue.contract.event import Decision, Progress
from retinue.contract.fault import Fault
from retinue.contract.question import Question
from retinue.contract.result import Outcome, Usage, Warned
from retinue.dialects.run_agent.config import ConfigRead
from retinue.errors import DeadlineExceeded, InvalidInput, RetinueError

__all__ = ["Call"]

_TIMEOUT_S: Final = 60.0
"""Seconds that all domains have together, unless somebody says otherwise (B24)."""
_LEAST_MARGIN_S: Final = 0.05
_MARGIN: Final = 0.1


@dataclass
class Call:
    """One prompt on its way.

    Attributes:
        roles: What thinks; None leaves it to the rules.
        notes: What the person should know beside the answer.
    """

    request: AssistRequest
    run: RunContext
    settings: ConfigRead
    extensions: Extensions
    roles: Roles | None
    notes: list[str] = field(default_factory=list[str])

    @property
    def prompt(self) -> str:
        """What the person says."""
        return self.request.prompt.strip()

    async def answer(self) -> Reply:
        """Do it all.

        Raises:
            InvalidInput: Nothing is asked, or a tool is named that nobody has.
            RetinueError: A model could not route the prompt.
        """
        if not self.prompt and not self.request.tool:
            raise InvalidInput("There is no prompt.", hint="Say what you want.", path="/parameters/prompt")
        self._note_settings()
        routed = await self._route()
        self.notes += routed.notes
        targets = ", ".join(target.extension for target in routed.targets)
        self.run.emit(Decision("route", targets or "the router answered itself, or nobody is for it"))
        domains = await broadcast(
            [Domain(self._extension(target.extension), target.intent, self.run) for target in routed.targets],
            self._work,
            in_threads=self.settings.config.execution_mode == "threads",
            timeout_s=self._seconds(),
        )
        self.run.emit(Progress("domains", "done", len(domains), len(domains)))
        return self._reply(routed, domains, routed.direct_text or await self._merged(domains))

    def _note_settings(self) -> None:
        self.notes += [f"The setting {path[1:]!r} is not known and was ignored." for path in self.settings.ignored]
        wrong = [finding for finding in self.settings.findings if finding.severity != "info"]
        self.notes += [f"`config{finding.path}`: {finding.message}" for finding in wrong]
        overrides = self.settings.config.model_overrides
        if self.roles is None and overrides is not None and overrides.model_dump(exclude_none=True):
            self.notes.append("`model_overrides` has no effect: no model is configured, so the rules answer.")
        self.notes += [f"{each.path}: {each.reason} {each.hint}".strip() for each in self.extensions.skipped]

    async def _route(self) -> Routed:
        if self.request.tool:
            for extension in self.extensions.found:
                if extension.tool(self.request.tool):
                    return Routed((Target(extension=extension.name, intent=self.prompt or self.request.tool),))
            there = ", ".join(tool.name for extension in self.extensions.found for tool in extension.tools)
            raise InvalidInput(
                f"There is no tool {self.request.tool[:80]!r}.", hint=f"Available: {there}.", path="/parameters/tool"
            )
        found = [self._extension(extension.name) for extension in self.extensions.found]
        if self.roles is not None:
            return await self.roles.route(self.prompt, light_schema(found), [extension.name for extension in found])
        today = date.today()  # noqa: DTZ011 - the person's own day is meant
        requests = await asyncio.to_thread(read_prompt, self.prompt, found, today=today)
        targets = [
            Target(extension=one.extension.name, intent=one.clause) for one in requests if one.extension is not None
        ]
        notes = tuple(f"No domain is for {one.clause[:200]!r}." for one in requests if one.extension is None)
        return Routed(merged_targets(targets), "", notes)

    def _extension(self, name: str) -> Extension:
        """The extension of that name; for a question, with those of its tools that write nothing."""
        extension = next(each for each in self.extensions.found if each.name == name)
        return without_writing(extension) if not self.request.tool and is_question(self.prompt) else extension

    async def _work(self, domain: Domain) -> None:
        if self.request.tool:
            await domain.use_directly(self.request.tool, dict(self.request.arguments))
        elif self.roles is None:
            await domain.work_by_rules()
        else:
            await self.roles.work(domain)

    def _seconds(self) -> float:
        """Seconds for the domains: a little less than is left of the call, so that their answers still get out."""
        timeout_s = self.settings.config.domain_timeout_secs or _TIMEOUT_S
        if self.run.deadline_ns is None:
            return timeout_s
        left = (self.run.deadline_ns - self.run.now()) / 1e9
        return max(0.0, min(timeout_s, left - max(_LEAST_MARGIN_S, left * _MARGIN)))

    async def _merged(self, domains: Sequence[Domain]) -> str:
        if len(domains) < 2:
            return domains[0].output if domains else "None of the domains is for that."
        merged = ""
        if self.roles is not None:
            try:
                merged = await self.roles.merge(self.prompt, domains)
            except RetinueError as error:
                self.notes.append(f"The results stand side by side, since nobody could merge them: {error.message}")
        return merged or "\n\n".join(f"**{one.extension.name}**: {one.output}" for one in domains)

    def _reply(self, routed: Routed, domains: Sequence[Domain], content: str) -> Reply:
        """Everything as one reply: useful as soon as one domain was, partial as soon as one was not (C3)."""
        results = tuple(one.result() for one in domains)
        answer = AssistantAnswer(
            content=content,
            direct_text=routed.direct_text or None,
            targets=routed.targets,
            results=results,
            timings={one.name: one.duration_secs for one in results},
            models=self.roles.names if self.roles else {},
        )
        data = answer.model_dump(mode="json", exclude_none=True)
        bad = [one for one in domains if one.status in {"failed", "timed out"}]
        useful = bool(routed.direct_text) or any(one.status == "done" for one in domains)
        outcome: Outcome | None = (
            ("partial" if bad else "success") if useful else "error" if bad else None if domains else "rejected"
        )
        return Reply(
            data=data,
            content=content,
            outcome=outcome,
            fault=self._not_mine() if outcome == "rejected" else _fault(domains) if outcome == "error" else None,
            warnings=(
                *map(_warning, bad),
                *(Warned(type="degraded_analysis", message=note[:500]) for note in self.notes),
            ),
            traces=tuple(trace for one in domains for trace in one.traces),
            usage=Usage.together(self.roles.used if self.roles else ()),
            questions=() if useful else tuple(question for one in domains for question in _questions(one)),
            extras={"run_agent": {key: data[key] for key in ("results", "timings", "models")}},
        )

    def _not_mine(self) -> Fault:
        """That none of the domains is for the prompt, and what they are for."""
        found = self.extensions.found
        examples = [tool.words.example_prompt for one in found for tool in one.tools[:1] if tool.words.example_prompt]
        return Fault.from_error(
            InvalidInput(
                "None of the assistant's domains is for that.",
                hint=f"It has: {', '.join(one.name for one in found) or 'none'}."
                + (f" Say for example: {'; '.join(examples[:6])}." if examples else "")
                + " `retinue assistant domains` shows what each does.",
                suggestions=tuple(one.name for one in found),
            )
        )


def _fault(domains: Sequence[Domain]) -> Fault | None:
    """Why there is no answer: a domain that was too slow, else the first that failed."""
    late = [one.extension.name for one in domains if one.status == "timed out"]
    if late:
        names = ", ".join(f"`{name}`" for name in late)
        return Fault.from_error(
            DeadlineExceeded(
                f"{names} did not answer in time.",
                hint="Raise `domain_timeout_secs`, or ask one domain at a time.",
                detail={"domains": late},
            )
        )
    return next((one.fault for one in domains if one.fault is not None), None)


def _warning(domain: Domain) -> Warned:
    happened = "timed out" if domain.status == "timed out" else "failed"
    return Warned(
        type="missing_data",
        message=f"`{domain.extension.name}` {happened}: {domain.output[:300]}",
        impact="Its part of the answer is missing.",
        recovery="Ask for it by itself, with more time.",
    )


def _questions(domain: Domain) -> list[Question]:
    name = domain.extension.name
    missing = domain.missing if domain.status == "asks" else ()
    return [Question(id=f"{name}_{one}", text=f"What is `{one}`, for {domain.intent!r}?") for one in missing]
