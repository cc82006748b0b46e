"""The menu of ways to do a plan, as a value: which models, what each way will take, two reasons each (A17, A18).

Choosing is for whoever asks; here stands what there is to choose from, which way is recommended, and whether the matter
is so small that nobody need be asked. What was chosen rides in the plan, so that what the run really took can be put
beside the estimate.
"""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from retinue.contract.definition import Definition, Skill, ThinkingBounds, Tier
from retinue.contract.json import as_list, as_mapping
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.result import Result, Usage
from retinue.contract.tokens import get_counter
from retinue.errors import UnknownName
from retinue.llm.allocation import TARGET, Allocation, allocate
from retinue.llm.estimate import Estimate, PastCall, PriceOf, combine, estimate, unknown_estimate
from retinue.orchestration.planning import allocations_of, planning_of

AUTO: Final = "auto"
"""Takes the recommended option: "decide for me"."""

By: TypeAlias = Literal["person", "flag", "routine", "only", "nobody"]
"""Who chose: a person, an option of the command, or nobody: it is routine, the only way, or nobody was there."""

_DECIDE: Final = frozenset({AUTO, "decide for me", "decide", ""})
_KEY: Final = "option"
_ROUNDED_OFF: Final = 1e-12
_READING: Final = frozenset({"read", "glob", "grep", "ls", "outline", "lsp", "recall"})


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Up to where a single delegation counts as routine: the most that it can take, corrections and all."""

    usd: float = 0.20
    tokens: int = 100_000


ROUTINE: Final = Thresholds()


@dataclass(frozen=True, slots=True)
class ModelCatalogue:
    """What is known around a plan.

    Attributes:
        model_of: The model's name for a tier or for a name; None when none is configured for it.
        price_of: What calls of a model cost; None when its price is not known.
        max_output: The most tokens a model can answer with, as far as known.
        past_of: Earlier calls of a skill.
        default: The user's own model or tier.
        tiers: Which model each tier means.
    """

    model_of: Callable[[str], str | None] = str
    price_of: Callable[[str], PriceOf | None] = lambda _: None
    max_output: Callable[[str], int | None] = lambda _: None
    past_of: Callable[[str, str], Sequence[PastCall]] = lambda _agent, _skill: ()
    default: str = ""
    tiers: Mapping[Tier, str] = field(default_factory=dict[Tier, str])


@dataclass(frozen=True, slots=True)
class Option:
    """One way to do it.

    Attributes:
        letter: What it is chosen by.
        model_by_node: By the id of a delegation, the tier or model it is done with; without those that ask no model,
            and without those whose plan's agents go by their own rules.
        models: Their names, as far as they are known.
        reasons: Two, for it or against it.
    """

    letter: str
    title: str
    model_by_node: Mapping[str, str]
    models: tuple[str, ...]
    estimate: Estimate
    reasons: tuple[str, str]
    recommended: bool = False

    def to_json(self) -> JsonMapping:
        """As data."""
        facts: JsonMapping = {"letter": self.letter, "title": self.title, "wanted": dict(self.model_by_node)}
        facts |= {"models": list(self.models), "reasons": list(self.reasons), "recommended": self.recommended}
        return facts | {"estimate": self.estimate.to_json()}


@dataclass(frozen=True, slots=True)
class Menu:
    """What there is to choose from.

    Attributes:
        routine: Nobody need be asked (A18).
        why: Why it is routine, or why it is not.
    """

    options: tuple[Option, ...]
    routine: bool
    why: str

    @property
    def recommended(self) -> Option:
        """The way the rules allocate."""
        return next((option for option in self.options if option.recommended), self.options[0])

    def pick(self, word: str) -> Option:
        """The option that `word` names: its letter, or `auto` for the recommended one.

        Raises:
            UnknownName: There is none; the letters are listed.
        """
        choice = word.strip().lower()
        if choice in _DECIDE:
            return self.recommended
        for option in self.options:
            if option.letter.lower() == choice:
                return option
        letters = [option.letter for option in self.options]
        hint = f"There is {', '.join(letters)}, and `auto` for the recommended one."
        raise UnknownName(f"No option is called {word[:40]!r}.", hint=hint, suggestions=(*letters, AUTO))

    def to_json(self) -> JsonMapping:
        """As data."""
        return {"options": [each.to_json() for each in self.options], "routine": self.routine, "why": self.why}


def menu_of(
    plan: Plan, definitions: Mapping[str, Definition], catalogue: ModelCatalogue, *, routine: Thresholds = ROUTINE
) -> Menu:
    """The ways to do `plan`: all with the smallest models, as the rules allocate, all with the largest (A16, A17).

    Ways that come to the same are one. Where nobody asks a model there is one way, and it is routine. A model is taken
    to be configured: who can think then thinks.

    Args:
        plan: What is to be done.
        definitions: Who is there, by name.
        catalogue: Models, prices and past calls.
        routine: Up to where nobody need be asked.
    """
    model_nodes = [
        node for node in plan.nodes if node.agent in definitions and definitions[node.agent].uses_model(node.skill)
    ]
    allocation_notes = allocations_of(plan)
    requested_models: dict[str, str | None] = {}
    allocations: dict[str, Allocation] = {}
    for node in model_nodes:
        facts, definition = allocation_notes.get(node.id, {}), definitions[node.agent]
        # The rules gave it its model, and nobody has edited the plan since.
        by_rules = "score" in facts and node.model == facts.get("model", facts.get("tier"))
        requested = requested_models[node.id] = None if by_rules else node.model
        skill = definition.skill_for(node.skill)
        if requested is not None or skill is None or skill.thinks != "by_others":
            allocations[node.id] = allocate(
                definition,
                instruction=node.instruction,
                context_tokens=_request_tokens(node, definition),
                choice=requested,
                default=catalogue.default,
                tiers=catalogue.tiers,
            )
    rule_models = {name: each.model or each.tier or "small" for name, each in allocations.items()}
    ways: list[tuple[str, Mapping[str, str], bool]] = [
        ("the smallest models", dict.fromkeys(requested_models, "small"), False),
        ("models by the rules", rule_models, True),
        ("the largest models", dict.fromkeys(requested_models, "large"), False),
    ]
    # By the names of the models, not the words for them: two tiers may be the same model.
    unique_ways: dict[tuple[str, ...], tuple[str, Mapping[str, str], bool]] = {}
    for title, words, recommended in ways:
        names = tuple(_name(words.get(one), catalogue) or "" for one in requested_models)
        # Of two ways that come to the same the title of the plainer one stays, and what the rules say of each.
        earlier = unique_ways.get(names)
        if earlier is None:
            unique_ways[names] = title, words, recommended
        elif recommended:
            unique_ways[names] = earlier[0], words, True
    known_nodes = [(node, definitions[node.agent]) for node in plan.nodes if node.agent in definitions]
    whole = [
        combine([_node_estimate(node, definition, words.get(node.id), catalogue) for node, definition in known_nodes])
        for _, words, _ in unique_ways.values()
    ]
    best = next(place for place, (_, _, recommended) in enumerate(unique_ways.values()) if recommended)
    options = tuple(
        Option(
            letter="ABC"[place],
            title=title if model_nodes else "no model is asked",
            model_by_node=words,
            models=tuple(dict.fromkeys(filter(None, names))),
            estimate=whole[place],
            reasons=_reasons(
                place, best, whole, allocations, [one for one in requested_models if one not in allocations]
            ),
            recommended=place == best,
        )
        for place, (names, (title, words, _)) in enumerate(unique_ways.items())
    )
    if not model_nodes:
        return Menu(options, routine=True, why="No model is asked.")
    first = model_nodes[0]
    definition = definitions[first.agent]
    if why_not := _not_routine(plan, definition, allocations.get(first.id), options[best].estimate, routine):
        return Menu(options, routine=False, why=why_not)
    reads = _reads_only(definition, definition.skill_for(first.skill))
    why = f"It is one small delegation that {'only reads' if reads else 'could do without a model'}."
    return Menu(options, routine=True, why=why)


def _name(word: str | None, catalogue: ModelCatalogue) -> str | None:
    return (catalogue.model_of(word) or word) if word else None


def _request_tokens(node: Delegation, definition: Definition) -> int:
    count = get_counter().count
    parameters = json.dumps(node.parameters, default=str) if node.parameters else ""
    return sum(map(count, (definition.instructions or "", node.instruction, node.target or "", parameters)))


def _node_estimate(node: Delegation, definition: Definition, word: str | None, catalogue: ModelCatalogue) -> Estimate:
    skill = definition.skill_for(node.skill)
    if skill is not None and skill.thinks == "by_others":
        return unknown_estimate(f"What `{node.id}` takes is not known: it answers with a plan, and others do it.")
    name = _name(word, catalogue)
    # What a model is asked is the request itself, where no code of the agent's own decides it.
    is_data = definition.source is not None and not definition.source.file.endswith(".py")
    asks_itself = is_data and skill is not None and skill.thinks == "must" and skill.thinks_within is None
    is_prompted = definition.instructions is not None or asks_itself
    return estimate(
        model=name,
        request_tokens=_request_tokens(node, definition),
        answer_schema=skill.output_schema if skill else None,
        max_output=catalogue.max_output(name) if name else None,
        max_requests=1 if definition.tools == () else definition.runner.max_turns,
        price=catalogue.price_of(name) if name else None,
        past=catalogue.past_of(node.agent, node.skill or ""),
        limits=None if is_prompted else (skill and skill.thinks_within) or ThinkingBounds(),
        is_optional=skill is not None and skill.thinks == "can",
    )


def _reasons(
    place: int, best: int, whole: Sequence[Estimate], allocations: Mapping[str, Allocation], others: Sequence[str]
) -> tuple[str, str]:
    if not allocations and not others:
        return "No agent of this plan asks a model.", "So it costs nothing but time."
    demanding = {name: each.score for name, each in allocations.items() if each.score > 1}
    if place == best:
        lines = [f"{name} gets {each.tier or each.model}: {each.why}" for name, each in allocations.items()]
        lines += [f"{name} has others think, each by its own rules" for name in others]
        sample, more = lines[:3], f", and {len(lines) - 3} more" if len(lines) > 3 else ""
        against_target = "Which models these are shows when it has made its plan."
        if allocations:
            tiers = [each.tier for each in allocations.values()]
            percentages = "/".join(f"{tiers.count(tier) / len(tiers):.0%}" for tier in TARGET)
            against_target = (
                f"By delegations that is {percentages} small/medium/large; over many runs 70/25/5 is aimed at."
            )
        return f"{'; '.join(sample)}{more}.", against_target
    if place < best:
        against = ", ".join(f"{name} has {score} points" for name, score in list(demanding.items())[:3])
        return _cost_comparison(whole[place], whole[best]), f"But {against or 'the rules give more'}."
    first = "The most capable model does every delegation."
    return first, _cost_comparison(whole[place], whole[best])


def _cost_comparison(one: Estimate, other: Estimate) -> str:
    if one.usd is None or other.usd is None:
        return "What it costs beside the recommended way is not known."
    less = "less" if one.usd.high <= other.usd.high else "more"
    return f"It costs {less}: at most ${one.usd.high:.4f}, and the recommended way ${other.usd.high:.4f}."


def _not_routine(
    plan: Plan, definition: Definition, allocation: Allocation | None, expected: Estimate, routine: Thresholds
) -> str:
    """Why somebody should be asked, in one sentence; empty when it is routine (A18).

    A skill that does its work without a model too, and would ask a small one, is routine whatever it touches: which
    model helps it changes nothing of that, and what it may touch is asked by the rules for its tools.
    """
    tokens, usd = expected.tokens, expected.usd
    skill = definition.skill_for(plan.nodes[0].skill)
    must = skill is None or skill.thinks != "can"
    reasons = (
        (len(plan.nodes) > 1, f"It has {len(plan.nodes)} delegations."),
        (allocation is None, f"`{definition.name}` has other agents do the work."),
        (
            allocation and allocation.tier != "small",
            f"Its model is {(allocation and allocation.tier) or 'of no known tier'}, not small.",
        ),
        (must and not _reads_only(definition, skill), f"`{definition.name}` may do more than read."),
        (must and tokens is None, "What it takes is not known."),
        (tokens and tokens.high > routine.tokens, f"It may take more than {routine.tokens:,} tokens."),
        (usd and usd.high > routine.usd, f"It may cost more than ${routine.usd:.2f}."),
    )
    return next((why for holds, why in reasons if holds), "")


def _reads_only(definition: Definition, skill: Skill | None) -> bool:
    if skill is None or not set(skill.possible_effects) <= {"read"}:
        return False
    # Instructions touch what their tools do; what an agent's own code touches, its effects say.
    tools = {tool.partition("(")[0].strip().lower() for tool in definition.tools or ("*",)}
    return definition.instructions is None or definition.tools == () or tools <= _READING


def with_option(plan: Plan, option: Option, *, by: By) -> Plan:
    """`plan` done the way of `option`, and with that in it."""
    nodes = tuple(
        node.model_copy(update={"model": option.model_by_node[node.id]}) if node.id in option.model_by_node else node
        for node in plan.nodes
    )
    choice = option.to_json() | {"by": by}
    return plan.model_copy(update={"nodes": nodes, "extras": {**plan.extras, _KEY: choice}})


def actuals(plan: Plan, result: Result) -> JsonMapping | None:
    """What was estimated when the way was chosen, beside what it really took (C19); None when nothing was chosen.

    A figure is there with its estimate, its actual value, or both; `within` says whether the one lies in the other.
    What making the plan took is not in either: it was spent before there was anything to choose.
    """
    choice = as_mapping(plan.extras.get(_KEY))
    if not choice:
        return None
    expected = as_mapping(choice.get("estimate"))
    planning = planning_of(plan)
    tokens, usd = _spent(result.usage)
    planned_tokens, planned_usd = _spent(planning.usage if planning else None)
    actual: dict[str, float | None] = {
        "tokens": _subtract(tokens, planned_tokens),
        "cost_usd": _subtract(usd, planned_usd),
        "seconds": None if result.duration_ns is None else result.duration_ns / 1e9,
    }
    figures: dict[str, JsonMapping] = {}
    for name, value in actual.items():
        figure: JsonMapping = {} if value is None else {"actual": value}
        bounds = as_list(expected.get(name))
        low, high = bounds if len(bounds) == 2 else (None, None)
        if isinstance(low, int | float) and isinstance(high, int | float):
            figure["estimate"] = [low, high]
            if value is not None:
                figure["within"] = low <= value <= high
        if figure:
            figures[name] = figure
    return {"option": choice.get("letter"), "by": choice.get("by"), "figures": figures}


def _spent(usage: Usage | None) -> tuple[int | None, float | None]:
    if usage is None:
        return None, None
    return usage.tokens, usage.cost.usd if usage.cost else None


def _subtract(whole: float | None, part: float | None) -> float | None:
    """What is left of `whole` without `part`; None when that is nothing, since then nothing else was measured."""
    if whole is None or not part:
        return whole
    remainder = whole - part
    return remainder if remainder > _ROUNDED_OFF else None
