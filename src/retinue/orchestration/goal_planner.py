"""A goal becomes a plan: by rules, or with a model where there is one and somebody wants it.

Here it is decided who plans, within which budget, and what the plan says of that. How it is done is the business of
the rules' planner and of `reader.model`; nothing is run here.
"""

from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from retinue.agents.grants import ALL, Grants
from retinue.agents.registry import Registry
from retinue.contract.definition import Definition
from retinue.contract.plan import Dropped, Plan
from retinue.contract.result import Usage
from retinue.contract.task import Answer, Budget, Question, Thinking
from retinue.engine.base import REAL
from retinue.errors import RetinueError, Unavailable
from retinue.llm.budget_tracker import BudgetTracker
from retinue.orchestration.budget_allocation import DEFAULT_SHARES, harder, thinking_in, with_thinking
from retinue.orchestration.planning import Planning, planning_of, with_planning
from retinue.orchestration.synthesise import RUN_AGENT

if TYPE_CHECKING:
    from retinue.llm.models import Models
    from retinue.orchestration.model_allocation import Allocator
    from retinue.orchestration.reader.model_reader import ModelReader
    from retinue.orchestration.reader.parameters import ReaderEnvironment
    from retinue.orchestration.reader.planner import Planner
    from retinue.orchestration.reader.router import Embedder
    from retinue.orchestration.structured_model import StructuredModel

PlannerChoice: TypeAlias = Literal["auto", "model", "rules"]
"""Who plans: a model when one is configured, a model whatever may be, or the rules."""

Answerer: TypeAlias = Callable[[Question], Awaitable[Answer | None]]
"""Puts a question to the person; None when nobody is there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GoalPlanner:
    """Plans goals for the agents of one registry. Attributes as those of `Orchestrator`.

    Attributes:
        environment: What may be known beside the words of a goal.
    """

    registry: Registry
    environment: "ReaderEnvironment"
    planner: "Planner | None" = None
    likeness: "Embedder | None" = None
    models: "Models | None" = None
    model: str | None = None
    thinking: Thinking | None = None
    grants: Grants = ALL
    allocate: "Allocator | None" = None

    def plan_by_rules(self, goal: str) -> Plan:
        """The rules' plan.

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        mode, words = thinking_in(goal)
        plan = self._with_models(self._rules().plan(words, environment=self.environment))
        return self._for_goal(plan, goal, words, harder(self.thinking, mode))

    async def plan(self, goal: str, *, budget: Budget, by: PlannerChoice, ask: Answerer | None) -> Plan:
        """As `Orchestrator.plan_goal`."""
        mode, words = thinking_in(goal)
        thinking = harder(self.thinking, mode)
        model = None if by == "rules" else self._planning_model(budget, thinking, insist=by == "model")
        if model is None:
            return self.plan_by_rules(goal)
        if isinstance(model, str):
            name = self.model or (self.models.default if self.models else "")
            reason = f"The rules made the plan, since `{name}` cannot be asked: {model}"
            return with_planning(self.plan_by_rules(goal), Planning(model=name, reason=reason))
        reader = self._reader()
        began_ns = REAL.clock()
        asked_ns = 0
        answers: list[tuple[str, str]] = []
        usage: list[Usage] = []
        while True:
            plan = await reader.plan(words, model, environment=self.environment, answers=answers)
            planning = planning_of(plan) or Planning()
            usage += [planning.usage] if planning.usage else []
            if planning.move != "clarify" or ask is None or answers:
                break
            since_ns = REAL.clock()
            answer = await ask(Question(id="clarify", text=planning.text, agent=RUN_AGENT))
            asked_ns = REAL.clock() - since_ns
            if model.deadline_ns is not None:
                model = replace(model, deadline_ns=model.deadline_ns + asked_ns)
            if answer is None or not str(answer.value or "").strip():
                break
            answers.append((planning.text, str(answer.value)))
        took = {"usage": Usage.total(usage), "duration_ns": max(0, REAL.clock() - began_ns - asked_ns)}
        plan = with_planning(plan, planning.model_copy(update=took))
        return self._for_goal(plan, goal, words, thinking)

    def _planning_model(
        self, budget: Budget, thinking: Thinking | None, *, insist: bool
    ) -> "StructuredModel | str | None":
        """Who plans, within the budget; None when nobody is configured, or why the one who is cannot.

        Raises:
            RetinueError: Somebody insists, and there is none.
        """
        from retinue.orchestration.structured_model import StructuredModel  # noqa: PLC0415 - the rules need none

        models = self.models
        if models is None or not (insist or self.model or models.configured):
            if insist:
                raise Unavailable("No model is configured to plan with.", hint="Name one, or plan by rules.")
            return None
        try:
            model = models.get(models.choose(model=self.model, source="user").name)
        except RetinueError as error:
            if insist:
                raise
            return f"{error.message} {error.hint}"
        tokens = None if budget.tokens is None else DEFAULT_SHARES.of_orchestrator(budget.tokens)
        purse = BudgetTracker(tokens=tokens, usd=budget.cost_usd, name="orchestrator")
        deadline_ns = None if budget.timeout_s is None else REAL.clock() + int(budget.timeout_s * 1_000_000_000)
        return StructuredModel(model, purse, deadline_ns, thinking)

    def _rules(self) -> "Planner":
        from retinue.orchestration.reader.planner import Planner  # noqa: PLC0415 - a plan made by hand needs none

        return self.planner or Planner(self.registry.selectable(), likeness=self.likeness)

    def _reader(self) -> "ModelReader":
        from retinue.orchestration.reader.model_reader import ModelReader  # noqa: PLC0415 - only with a model

        return ModelReader(self.registry.selectable(), self._rules(), self.grants, self._with_models)

    def _with_models(self, plan: Plan) -> Plan:
        """`plan` with the model that each node gets."""
        if self.allocate is None and (self.models is None or not self.models.configured):
            return plan
        from retinue.orchestration.model_allocation import allocate_models, default_allocator  # noqa: PLC0415 - only with models

        return allocate_models(
            plan, by_name(self.registry.definitions()), self.allocate or default_allocator(self.models)
        )

    def _for_goal(self, plan: Plan, goal: str, words: str, thinking: Thinking | None) -> Plan:
        """`plan` for the goal as it was said, with how hard its agents are to think, and examples beside refusals."""
        dropped = tuple(one if one.examples else self._with_examples(one) for one in plan.dropped)
        update: dict[str, object] = {"dropped": dropped} if plan.dropped else {}
        return with_thinking(
            plan.model_copy(update=update | ({} if words == goal else {"goal": goal.strip()})), thinking
        )

    def _with_examples(self, dropped: Dropped) -> Dropped:
        """`dropped` with an example of each skill that came near, of those that name no file that is not here."""
        definitions = by_name(self.registry.selectable())
        requests: list[str] = []
        for near in dropped.nearest if dropped.wanted else ():
            skill = definitions[near.agent].skill(near.skill) if near.agent in definitions else None
            examples = () if skill is None else skill.examples
            requests += [example for example in examples if self._is_possible(example)][:1]
        return dropped.model_copy(update={"examples": tuple(requests)})

    def _is_possible(self, example: str) -> bool:
        exists = self.environment.exists
        words = (word.strip("`'\"?,.:;()") for word in example.split())
        return exists is None or all(exists(word) for word in words if "/" in word or "." in word)


def judge_model_name(models: "Models | None", model: str | None) -> str | None:
    """The name of the model that thinks along in a run; None when none is configured, or none of that name."""
    if models is None or not (model or models.configured):
        return None
    try:
        return models.choose(model=model, source="user").name
    except RetinueError:
        return None


def by_name(definitions: Iterable[Definition]) -> dict[str, Definition]:
    """Of two majors the oldest: it answers to the bare name."""
    oldest: dict[str, Definition] = {}
    for definition in definitions:
        oldest.setdefault(definition.name, definition)
    return oldest
