"""One call of the assistant: router, domains side by side, synthesizer."""

import asyncio
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Final

from retinue.agents.extensions import Extension, Extensions, light_schema
from retinue.agents.port import Reply, RunContext
from retinue.contract.event import Decision, Progress
from retinue.contract.task import Task
from retinue.errors import InvalidInput, RetinueError

from .broadcast import Work, broadcast
from .domain import Desk, DomainResult, by_model, by_rules, directly, only_reading, timed
from .merge import merge_by_model, merge_by_template
from .reply import reply_of
from .route import Routed, is_question, route_by_model, route_by_rules
from .settings import Settings
from .sight import DomainSight, RouterSight, SynthesizerSight, Target, Told
from .thinking import Mind

__all__ = ["Call"]

_LEAST_MARGIN_S: Final = 0.05
_MARGIN: Final = 0.1


@dataclass
class Call:
    """One prompt on its way.

    Attributes:
        mind: What the roles think with; None leaves it to the rules.
        notes: What the person should know beside the answer.
    """

    task: Task
    run: RunContext
    settings: Settings
    extensions: Extensions
    mind: Mind | None
    notes: list[str] = field(default_factory=list[str])

    async def answer(self) -> Reply:
        """Do it all.

        Raises:
            InvalidInput: Nothing is asked, or a tool is named that nobody has.
            RetinueError: A model could not route the prompt.
        """
        if not self.prompt and self._named is None:
            raise InvalidInput("There is no prompt.", hint="Say what you want.", path="/parameters/prompt")
        self.notes += self.settings.notes
        if self.mind is None and self.settings.models:
            self.notes.append("`model_overrides` has no effect: no model is configured, so the rules answer.")
        self.notes += [f"{each.path}: {each.reason} {each.hint}".strip() for each in self.extensions.skipped]
        routed = await self._route()
        self.notes += routed.notes
        asked = ", ".join(target.extension for target in routed.targets)
        self.run.emit(Decision("route", asked or "the router answered itself, or nobody is for it"))
        works = [self._work(target) for target in routed.targets]
        results = await broadcast(works, mode=self.settings.mode, timeout_s=self._seconds())
        self.run.emit(Progress("domains", "done", len(results), len(results)))
        content = routed.direct_text or await self._merged(results)
        there = [extension.name for extension in self.extensions.found]
        return reply_of(content, routed, results, self.notes, self.mind, domains=there)

    @cached_property
    def prompt(self) -> str:
        """What the person says."""
        return str(self.task.parameters.get("prompt") or self.task.instruction).strip()

    @cached_property
    def _named(self) -> tuple[Extension, str] | None:
        """The tool that the caller named, with its extension."""
        name = self.task.parameters.get("tool")
        if not name:
            return None
        for extension in self.extensions.found:
            if extension.tool(str(name)):
                return extension, str(name)
        there = ", ".join(tool.name for extension in self.extensions.found for tool in extension.tools)
        raise InvalidInput(
            f"There is no tool {str(name)[:80]!r}.", hint=f"Available: {there}.", path="/parameters/tool"
        )

    async def _route(self) -> Routed:
        if self._named is not None:
            return Routed((Target(self._named[0].name, self.prompt or self._named[1]),))
        found, context = self.extensions.found, self.task.context
        if is_question(self.prompt):
            found = tuple(map(only_reading, found))
        sight = RouterSight(light_schema(found), self.prompt, context.history, context.memory)
        if self.mind is None:
            return await asyncio.to_thread(route_by_rules, sight, found)
        return await route_by_model(sight, [extension.name for extension in found], self.mind)

    def _work(self, target: Target) -> tuple[DomainResult, Work]:
        """One domain as something to be done."""
        extension = next(each for each in self.extensions.found if each.name == target.extension)
        result = DomainResult(target.extension, target.intent)
        desk, sight = Desk(extension, result, self.run), DomainSight(extension, target.intent)
        if self._named is None and is_question(self.prompt):
            extension = only_reading(extension)
            desk, sight = Desk(extension, result, self.run), DomainSight(extension, target.intent)
        if self._named is not None:
            do = partial(directly, desk, result, self._named[1], self.task.parameters.get("arguments") or {})
        elif self.mind is None:
            do = partial(by_rules, sight, desk, result)
        else:
            do = partial(by_model, sight, desk, result, self.mind)
        return result, partial(timed, do, result)

    def _seconds(self) -> float:
        """Seconds for the domains: a little less than is left of the call, so that their answers still get out."""
        if self.run.deadline_ns is None:
            return self.settings.timeout_s
        left = (self.run.deadline_ns - self.run.now()) / 1e9
        return max(0.0, min(self.settings.timeout_s, left - max(_LEAST_MARGIN_S, left * _MARGIN)))

    async def _merged(self, results: list[DomainResult]) -> str:
        told = tuple(Told(result.name, result.intent, result.output) for result in results)
        if not told:
            return "None of the domains is for that."
        if self.mind is None or len(told) == 1:
            return merge_by_template(told)
        context = self.task.context
        sight = SynthesizerSight(told, self.prompt, context.history, context.memory)
        try:
            return await merge_by_model(sight, self.mind) or merge_by_template(told)
        except RetinueError as error:
            self.notes.append(f"The results stand side by side, since nobody could merge them: {error.message}")
            return merge_by_template(told)
