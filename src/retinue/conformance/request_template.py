"""How a subject is asked validly, read off its definition where it has one."""

from dataclasses import replace

from retinue.conformance.port import RequestTemplate
from retinue.contract.definition import Definition, Skill
from retinue.contract.names import fold, nearest
from retinue.errors import UnknownName


def template_of(definition: Definition, *, skill: str | None = None) -> RequestTemplate:
    """A valid request for the agent that `definition` describes, made of its first sample.

    What the sample says in its instruction and target is said twice, as such and as parameters: formats have words for
    the one or the other.

    Args:
        definition: What the agent says of itself.
        skill: What is asked of it; absent means the first of its skills that can be called.

    Raises:
        UnknownName: It has no such skill.
    """
    chosen = _skill(definition, skill)
    samples = [each.parameters for each in chosen.samples if each.parameters]
    parameters = {**chosen.defaults, **(samples[0] if samples else {})}
    template = RequestTemplate(agent=definition.name, skill=chosen.name, parameters=parameters)
    target = parameters.get(chosen.target_field or "")
    if isinstance(target, str) and target:
        template = replace(template, target=target)
    value = parameters.get(chosen.instruction_field or "")
    instruction = value if isinstance(value, str) else next(iter(chosen.examples), "")
    return replace(template, instruction=instruction)


def _skill(definition: Definition, name: str | None) -> Skill:
    if name is None:
        return next((each for each in definition.skills if not each.unavailable), definition.skills[0])
    skill = definition.skill(fold(name))
    if skill is None:
        names = [each.name for each in definition.skills]
        raise UnknownName(
            f"`{definition.name}` has no skill {name[:80]!r}.",
            hint=f"It has: {', '.join(names)}.",
            suggestions=nearest(name, names) or tuple(names),
        )
    return skill
