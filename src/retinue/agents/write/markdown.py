"""Agents as Markdown (`.claude/agents/<name>.md`): front matter for what they are, the body for how they behave."""

from functools import partial
from typing import Final

from retinue.agents.load.fields import split_list
from retinue.agents.load.markdown import load_markdown
from retinue.contract.definition import Definition, Tier
from retinue.contract.json import JsonValue

from .keys import file_stem, keys_of
from .round_trip import WrittenDefinition, check_round_trip
from .yaml import write_yaml

TIER_WORDS: Final[dict[Tier, str]] = {"small": "haiku", "medium": "sonnet", "large": "opus"}
"""What other readers of these files call our tiers."""

_SPELLED: Final = {"max_turns": "maxTurns", "permission_mode": "permissionMode"}
"""How the format spells keys of two words."""


def write_markdown(definition: Definition) -> WrittenDefinition:
    """Write an agent as a Markdown file.

    Raises:
        InvalidInput: No such file can hold it: a blank description, an input schema that is none.
    """
    keys = keys_of(definition, schema_required=False)
    if "model" not in keys and definition.tier:
        keys = {("model" if key == "tier" else key): value for key, value in keys.items()}
        keys["model"] = TIER_WORDS[definition.tier]
    front = {_SPELLED.get(key, key): _tools(value) if key == "tools" else value for key, value in keys.items()}
    text = f"---\n{write_yaml(front)}\n---\n"
    if definition.instructions:
        text += f"\n{definition.instructions.strip().replace(chr(0), '')}\n"
    file = f"{file_stem(definition)}.md"
    return check_round_trip(definition, text, file=file, load=partial(load_markdown, file=file))


def _tools(tools: JsonValue) -> JsonValue:
    """Tools between commas, as everybody writes them; a list where that would say something else."""
    text = ", ".join(map(str, tools)) if isinstance(tools, list) else ""
    return text if text and [part.strip() for part in split_list(text)] == tools else tools
