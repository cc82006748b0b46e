"""Every format a definition can be written in, by name."""

from typing import Final, Literal, TypeAlias, assert_never, get_args

from retinue.contract.definition import Definition

from .a2a_card import write_a2a_card
from .by_dialect import write_agent_json, write_tool_use
from .json_definition import write_json
from .markdown import write_markdown
from .round_trip import WrittenDefinition
from .skill import write_skill

Format: TypeAlias = Literal["markdown", "skill", "tool_use", "json", "agent_json", "a2a"]

FORMATS: Final[tuple[Format, ...]] = get_args(Format)


def write(definition: Definition, form: Format, *, url: str | None = None) -> WrittenDefinition:
    """Write `definition` in one format.

    Args:
        definition: What to write.
        form: The format.
        url: Where the agent answers, for the cards; absent, a card says nothing of it or what it was read with.

    Raises:
        InvalidInput: No text of that format can hold it.
    """
    match form:
        case "markdown":
            return write_markdown(definition)
        case "skill":
            return write_skill(definition)
        case "tool_use":
            return write_tool_use(definition)
        case "json":
            return write_json(definition)
        case "agent_json":
            return write_agent_json(definition, url=url)
        case "a2a":
            return write_a2a_card(definition, url=url)
    assert_never(form)


def format_of_file(name: str) -> Format | None:
    """The format that a file of this name usually has; None when the name says nothing."""
    lower = name.lower()
    if lower == "skill.md":
        return "skill"
    if lower.endswith("agent-card.json"):
        return "a2a"
    if lower.endswith("agent.json"):
        return "agent_json"
    return "markdown" if lower.endswith(".md") else "json" if lower.endswith(".json") else None
