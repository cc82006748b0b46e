"""Who is meant by a task, and everything about that agent and skill that need not be found out twice."""

from dataclasses import dataclass
from typing import Protocol

from retinue.agents.boundary.policy import POLICY, Policy
from retinue.agents.port import Agent
from retinue.contract import CONTRACT_VERSION, names, schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.contract.result import Versions
from retinue.contract.schema import Validator
from retinue.errors import NotInstalled, UnknownName


class Agents(Protocol):
    """Where agents are looked up: a `Registry`, or anything like it."""

    def get(self, name: str, /, *, major: int | None = None) -> Agent:
        """The agent that answers to `name`.

        Raises:
            UnknownName: Nobody does; `suggestions` says what there is, nearest first.
        """
        ...


@dataclass(frozen=True, slots=True)
class PreparedSkill:
    """One skill of one agent, ready to be called.

    Attributes:
        input_validator: Checks parameters.
        output_validator: Checks the answer; None when the skill says nothing about it.
        override: Where the agent's policy departs from the usual one; shown in its results (K33).
    """

    agent: Agent
    definition: Definition
    skill: Skill
    input_validator: Validator
    output_validator: Validator | None
    policy: Policy
    override: JsonMapping
    versions: Versions


def prepare_skill(agent: Agent, skill_name: str | None, policy: Policy) -> PreparedSkill:
    """Get a skill ready: find it, and compile its schemas.

    Raises:
        UnknownName: The agent has no such skill, or several and none is named; all of them are listed.
        NotInstalled: The skill says that it cannot be called here; the hint says the way out.
        InvalidDefinition: A schema of the skill cannot be used.
    """
    definition = agent.definition
    skill = _skill(definition, skill_name)
    if skill.unavailable:
        raise NotInstalled(
            f"`{definition.name}.{skill.name}` cannot be called here: {skill.unavailable}",
            hint=skill.unavailable,
            suggestions=tuple(each.name for each in definition.skills if not each.unavailable) or (skill.unavailable,),
        )
    return PreparedSkill(
        agent=agent,
        definition=definition,
        skill=skill,
        input_validator=schema.compile(skill.input_schema),
        output_validator=None if skill.output_schema is None else schema.compile(skill.output_schema),
        policy=policy,
        override={} if policy is POLICY else policy.differences(),
        versions=Versions(agent=definition.version, contract=CONTRACT_VERSION),
    )


def _skill(definition: Definition, name: str | None) -> Skill:
    # Formats that owe the name of a skill say the agent's own where none is meant.
    if name in {None, definition.name} and definition.default_skill is not None:
        return definition.default_skill
    match = None if name is None else definition.skill(name)
    if match is not None:
        return match
    available = [skill.name for skill in definition.skills]
    suggestions = tuple(dict.fromkeys((*names.nearest(name, available), *available))) if name else tuple(available)
    clause = f"has no skill {name!r}" if name else f"has {len(available)} skills, and none is named"
    raise UnknownName(
        f"`{definition.name}` {clause}.",
        hint=f"Available: {', '.join(suggestions)}.",
        path="/skill",
        suggestions=suggestions,
    )
