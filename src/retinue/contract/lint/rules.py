"""Every rule that `contract.lint` knows: its id, how much it matters, what it asks for and why.

Ids are stable: a finding carries one, and people silence or look up by it. What is exact and a must of the
specification is an error; what is advice, or judged by a phrase, is a warning; what is a matter of taste is for
information.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from retinue.contract.finding import Finding, Severity

__all__ = ["RULES", "Rule", "found", "rule"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule.

    Attributes:
        title: What it asks for, one sentence.
        why: What goes wrong otherwise.
        rows: The requirement rows it comes from.
    """

    id: str
    severity: Severity
    title: str
    why: str
    rows: tuple[str, ...] = ()


_DEFINITION = (
    Rule(
        "definition/object",
        "error",
        "A definition is one JSON object.",
        "Nothing else can be read as an agent.",
        ("A4",),
    ),
    Rule(
        "definition/missing",
        "error",
        "A tool definition has `name`, `description` and `input_schema`.",
        "Whoever chooses an agent has only these to go by.",
        ("A4", "A6"),
    ),
    Rule(
        "definition/unknown-key",
        "error",
        "A tool definition has no other keys.",
        "A key that nobody reads is usually a misspelling of one that matters.",
        ("A4", "C7"),
    ),
    Rule(
        "definition/name",
        "error",
        "Names are snake_case: small letters, digits and single underscores, at most 64.",
        "Every dialect folds names its own way, and only this form comes back unchanged from all of them.",
        ("A6", "C10", "C46"),
    ),
    Rule(
        "definition/name-version",
        "warning",
        "A canonical name carries no version: `x_v2` is version 2 of `x`.",
        "Two ways to say the same version can disagree.",
        ("A28", "C11"),
    ),
    Rule(
        "definition/alias",
        "warning",
        "An alias is another name, and stands once.",
        "An alias that folds into the name itself, or into another alias, does nothing.",
        ("C10", "C46"),
    ),
    Rule(
        "definition/skill-twice",
        "error",
        "Each skill of an agent has a name of its own.",
        "A call would reach whichever comes first.",
        ("C10",),
    ),
    Rule(
        "definition/description",
        "error",
        "An agent and each of its skills is described.",
        "A description is the prompt by which it is chosen.",
        ("A6",),
    ),
    Rule(
        "definition/description-what",
        "warning",
        "The description begins with what the agent does.",
        "A name alone is read differently by everybody.",
        ("A6",),
    ),
    Rule(
        "definition/description-when",
        "warning",
        "The description says when to use the agent: “Use when …”.",
        "Without triggers, agents with similar skills are mistaken for each other.",
        ("A6",),
    ),
    Rule(
        "definition/description-returns",
        "warning",
        "The description says what comes back: “Returns: …”.",
        "A planner must know what the next step can work with.",
        ("A6",),
    ),
    Rule(
        "definition/deprecated",
        "warning",
        "What is deprecated says `deprecated: true` in its description and has the keyword.",
        "Models read the text, programs the keyword.",
        ("A27", "C34"),
    ),
    Rule(
        "definition/extras",
        "info",
        "Everything in a definition has a meaning here.",
        "What a format says and we have no word for is kept but has no effect.",
        ("C7",),
    ),
)

_INPUT = (
    Rule(
        "input/type-object",
        "error",
        "The input schema has `type: object`.",
        "Parameters are passed by name.",
        ("A6",),
    ),
    Rule(
        "input/properties", "error", "The input schema lists `properties`.", "What is not listed is guessed.", ("A6",)
    ),
    Rule(
        "input/required",
        "error",
        "The input schema says which fields are `required`, even if none is.",
        "Left out, nobody knows whether it was meant.",
        ("A6",),
    ),
    Rule(
        "input/open",
        "error",
        "The input schema has `additionalProperties: false`.",
        "Otherwise invented and misspelt parameters pass without a word.",
        ("A6", "A20"),
    ),
    Rule(
        "input/open-inside",
        "warning",
        "Objects inside the input are closed too.",
        "Otherwise invented and misspelt members pass without a word.",
        ("A20",),
    ),
    Rule(
        "input/required-unknown",
        "error",
        "Every name in `required` is one of `properties`.",
        "In a closed object such a field is asked for and refused at once.",
        ("A6",),
    ),
    Rule(
        "input/all-optional",
        "warning",
        "Something is required.",
        "With everything optional, a model guesses what is meant.",
        ("A21",),
    ),
    Rule(
        "input/optional",
        "warning",
        "A field is required, or has a `default`.",
        "Explicit is better. Fields added in a later version are excused.",
        ("A20", "C33"),
    ),
    Rule("input/description", "warning", "Every field is described.", "The description is the prompt.", ("A20",)),
    Rule(
        "input/description-name",
        "warning",
        "A description says more than the name of the field.",
        "“The task” tells nobody what to write.",
        ("A20",),
    ),
    Rule(
        "input/default-in-words",
        "warning",
        "A default stands in `default`, not only in the description.",
        "Words are not filled in by anybody.",
        ("A21",),
    ),
    Rule(
        "input/choices-in-words",
        "warning",
        "Choices stand in `enum`, not only in the description.",
        "Free text where there are options lets everything through.",
        ("A20", "A21"),
    ),
    Rule(
        "input/constraint",
        "info",
        "Texts and numbers have bounds, such as `minLength`, `maximum` or `pattern`.",
        "A bound catches an empty or absurd value before the agent sees it.",
        ("A20",),
    ),
    Rule(
        "input/loose",
        "warning",
        "Every field and every list says what it holds.",
        "`items: {}` and fields without a type take anything.",
        ("A21",),
    ),
    Rule(
        "input/default",
        "error",
        "A `default` passes its own schema.",
        "It is filled in and then refused.",
        ("A20",),
    ),
    Rule(
        "input/keyword",
        "warning",
        "Schema keywords are spelt as the draft spells them.",
        "An unknown keyword is ignored, and the constraint with it.",
        ("C7",),
    ),
)

_SKILL = (
    Rule(
        "skill/field",
        "error",
        "`instruction_field` and `target_field` are text fields of the input.",
        "The binder would write into nothing.",
        ("C45",),
    ),
    Rule(
        "skill/default",
        "error",
        "A skill's `defaults` are fields of its input and pass the schema.",
        "The binder would make every call fail.",
        ("C45",),
    ),
    Rule(
        "skill/sample",
        "error",
        "Samples pass the schemas of their skill.",
        "Readers copy samples.",
        ("A22", "C27"),
    ),
    Rule(
        "skill/output",
        "info",
        "A skill has an output schema.",
        "Without one, no answer can be found wrong.",
        ("A11",),
    ),
    Rule(
        "skill/examples",
        "info",
        "A skill has a few utterances as `examples`.",
        "Nothing improves routing as much.",
    ),
)

_COMPATIBILITY = (
    Rule(
        "compatibility/subject",
        "error",
        "Two versions of one agent are compared.",
        "A new name is a new agent; the old one must stay.",
        ("A28",),
    ),
    Rule(
        "compatibility/version",
        "error",
        "Versions only go up, and a change raises them.",
        "Callers negotiate by version.",
        ("A28", "C11"),
    ),
    Rule(
        "compatibility/skill-removed",
        "error",
        "Within a major version no skill goes away.",
        "Its callers fail.",
        ("A27", "A28"),
    ),
    Rule(
        "compatibility/name-removed",
        "error",
        "Within a major version no alias and no wire name goes away.",
        "Whoever calls by it fails.",
        ("A27", "C10"),
    ),
    Rule(
        "compatibility/field-removed",
        "error",
        "Within a major version no input field goes away.",
        "Callers that send it are refused, or worse, ignored.",
        ("A27",),
    ),
    Rule(
        "compatibility/field-required",
        "error",
        "Within a major version new fields are optional, and optional ones stay so.",
        "Callers that do not send it are refused.",
        ("A27", "C33"),
    ),
    Rule(
        "compatibility/narrowed",
        "error",
        "Within a major version an input takes whatever it took.",
        "Values that were right are refused.",
        ("A27",),
    ),
    Rule(
        "compatibility/answer-removed",
        "error",
        "Within a major version everything an answer promised stays promised.",
        "Whoever reads it finds nothing.",
        ("A27",),
    ),
    Rule(
        "compatibility/answer-widened",
        "warning",
        "Within a major version an answer holds no kinds of values it did not hold before.",
        "Readers that know the old ones may not cope.",
        ("A27",),
    ),
    Rule(
        "compatibility/undecided",
        "warning",
        "A change can be seen to be compatible.",
        "Alternatives, conditions and patterns can be compared by a person only.",
        ("A27",),
    ),
    Rule(
        "compatibility/effects",
        "warning",
        "Within a major version a skill touches nothing that it did not touch before.",
        "Somebody allowed it because it only read.",
        ("A27",),
    ),
)

_SCHEMA = Rule(
    "schema",
    "error",
    "A value passes its JSON Schema, and a schema is one. The word after the slash is the keyword.",
    "What does not pass is refused at the boundary.",
    ("A5", "A22", "C7"),
)

RULES: Final[Mapping[str, Rule]] = {
    rule.id: rule for rule in (*_DEFINITION, *_INPUT, *_SKILL, *_COMPATIBILITY, _SCHEMA)
}
"""All rules by id. `schema` stands for every `schema/<keyword>`."""


def rule(finding: str) -> Rule | None:
    """The rule behind the rule id of a finding, or None."""
    return RULES.get(finding) or RULES.get(finding.partition("/")[0])


def found(
    rule_id: str, path: str, message: str, fix: str, *, severity: Severity | None = None, file: str | None = None
) -> Finding:
    """A finding of a rule in this table, as severe as the table says unless told otherwise."""
    return Finding(
        rule=rule_id,
        message=message,
        severity=severity or RULES[rule_id].severity,
        path=path,
        file=file,
        fix=fix,
    )
