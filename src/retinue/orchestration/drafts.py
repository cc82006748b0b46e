"""A plan as a model drafts it: the form it is asked for, and the draft read into delegations.

What a model writes here is a proposal. Names and words in it choose among the agents at hand and fill their parameters;
whether that can be walked is judged by `check`, and who asks for a draft is `model_planner`.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, cast

from retinue.contract.definition import Definition, Skill
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Dropped
from retinue.contract.sanitize import printable
from retinue.orchestration.planning import MOVES
from retinue.orchestration.reader.bind import bind
from retinue.orchestration.reader.parameters import Surroundings

if TYPE_CHECKING:
    from retinue.contract.task import ContextLevel
    from retinue.llm.port import AnswerShape

__all__ = ["MOST_NODES", "Draft", "draft_shape", "parameters_shape"]

MOST_NODES: Final = 40
"""A model that plans more has not understood; a larger plan is made in parts, each by its own."""

_NODE_ID: Final = r"^[A-Za-z][A-Za-z0-9_-]{0,39}$"
_TEXT: Final = 4_000
_INSTRUCTION: Final = 2_000
_REASON: Final = 600


def draft_shape(skills: Iterable[tuple[str, str]], *, most: int = MOST_NODES) -> "AnswerShape":
    """The form of a draft for these agents and skills.

    Args:
        skills: Names of agents and of their skills.
        most: How many nodes it may have.
    """
    from retinue.llm.port import AnswerShape  # noqa: PLC0415 - the rules plan without it

    named = tuple(skills)
    node = _object(
        {
            "id": {"type": "string", "pattern": _NODE_ID, "description": "A short name, such as n1."},
            "agent": {"type": "string", "enum": list(dict.fromkeys(agent for agent, _ in named))},
            "skill": {"type": "string", "enum": list(dict.fromkeys(skill for _, skill in named))},
            "instruction": _text(
                _INSTRUCTION, "What this agent is asked, complete in itself, in the words of the goal where they fit."
            ),
            "needs": {
                "type": "array",
                "items": {"type": "string", "pattern": _NODE_ID},
                "maxItems": most,
                "description": "The nodes whose results it must see first. Nodes that need nothing run side by side.",
            },
            "context": {
                "type": "string",
                "enum": ["full", "summary", "metadata", "none"],
                "description": "How much of those results it is handed. Summary, unless it must read all of it.",
            },
            "optional": {"type": "boolean", "description": "The goal is reached without it too."},
            "parameters": {"type": "object", "description": "Only what you are sure of."},
        },
        required=("id", "agent", "skill", "instruction", "needs"),
    )
    left_out = _object({"clause": _text(_INSTRUCTION, "Its words."), "reason": _text(_REASON, "Why nobody does it.")})
    whole = _object(
        {
            "move": {
                "type": "string",
                "enum": list(MOVES),
                "description": "delegate: agents do it. respond_directly: it needs no agent. clarify: it cannot be "
                "understood without an answer. cannot_handle: no agent here does any part of it.",
            },
            "reason": _text(_REASON, "Why this move, in one sentence."),
            "text": _text(
                _TEXT, "The answer of respond_directly, or the one question of clarify; else empty.", least=0
            ),
            "nodes": {"type": "array", "items": node, "maxItems": most, "description": "For delegate; else empty."},
            "left_out": {
                "type": "array",
                "items": left_out,
                "maxItems": most,
                "description": "Parts of the goal that nobody here does.",
            },
        },
        required=("move", "reason"),
    )
    return AnswerShape(whole, name="plan", description="Who does what for the goal, in which order.")


def parameters_shape(nodes: Iterable[str]) -> "AnswerShape":
    """The form in which parameters of these nodes are given."""
    from retinue.llm.port import AnswerShape  # noqa: PLC0415 - as above

    each = _object(
        {"id": {"type": "string", "enum": list(nodes)}, "parameters": {"type": "object"}}, required=("id", "parameters")
    )
    shape = _object({"nodes": {"type": "array", "items": each, "maxItems": MOST_NODES}}, required=("nodes",))
    return AnswerShape(shape, name="parameters", description="The parameters of each node.")


def _object(properties: JsonMapping, *, required: Sequence[str] | None = None) -> JsonMapping:
    return {
        "type": "object",
        "properties": properties,
        "required": list(properties if required is None else required),
        "additionalProperties": False,
    }


def _text(most: int, about: str, *, least: int = 1) -> JsonMapping:
    return {"type": "string", "minLength": least, "maxLength": most, "description": about}


@dataclass(frozen=True, slots=True)
class Draft:
    """What a model proposed, in the form of `draft_shape`.

    Attributes:
        said: The answer, of the right form.
    """

    said: JsonMapping

    @property
    def move(self) -> Any:
        """One of `MOVES`."""
        return self.said["move"]

    @property
    def reason(self) -> str:
        """Why, in the model's words."""
        return _plain(self.said["reason"])

    @property
    def text(self) -> str:
        """The answer or the question."""
        return printable(str(self.said.get("text", ""))).strip()

    @property
    def dropped(self) -> tuple[Dropped, ...]:
        """What is left out of the plan."""
        listed = cast("list[JsonMapping]", self.said.get("left_out") or [])
        return tuple(Dropped(clause=_plain(one["clause"]), reason=_plain(one["reason"])) for one in listed)

    def nodes(
        self,
        definitions: Mapping[str, Definition],
        *,
        goal: str,
        around: Surroundings,
        given: Mapping[str, JsonMapping] | None = None,
    ) -> tuple[Delegation, ...]:
        """The delegations, their parameters filled by the binder where the draft says nothing.

        Args:
            definitions: Who there is.
            goal: Whose words may stand in for a short instruction.
            around: What may be known beside the words.
            given: Parameters for some nodes, by their ids, beside what the draft says.
        """
        drafted = cast("list[JsonMapping]", self.said.get("nodes") or [])
        return tuple(
            _delegation(one, definitions, goal=goal, around=around, given=(given or {}).get(str(one["id"]), {}))
            for one in drafted
        )


def _delegation(
    drafted: JsonMapping,
    definitions: Mapping[str, Definition],
    *,
    goal: str,
    around: Surroundings,
    given: JsonMapping,
) -> Delegation:
    needs = tuple(dict.fromkeys(cast("list[str]", drafted["needs"])))
    said = {**cast("JsonMapping", drafted.get("parameters") or {}), **given}
    node = Delegation(
        id=str(drafted["id"]),
        agent=str(drafted["agent"]),
        skill=str(drafted["skill"]),
        instruction=_plain(drafted["instruction"]),
        parameters=said,
        needs=needs,
        context=dict.fromkeys(needs, cast("ContextLevel", drafted.get("context", "summary"))),
        optional=bool(drafted.get("optional", False)),
    )
    skill = _skill_of(node, definitions)
    if skill is None:
        return node
    bound = bind(skill, node.instruction, agent=node.agent, goal=goal, given=said, around=around)
    questions = tuple(question for question in bound.questions if question.parameter is not None)
    return node.model_copy(update={"parameters": bound.parameters, "bindings": bound.bindings, "questions": questions})


def _skill_of(node: Delegation, definitions: Mapping[str, Definition]) -> Skill | None:
    definition = definitions.get(node.agent)
    return None if definition is None or node.skill is None else definition.skill(node.skill)


def _plain(text: object) -> str:
    return " ".join(printable(str(text)).split())
