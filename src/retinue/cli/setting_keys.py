"""What can be set, of what kind, and who may say it. Reading and merging what was said is for `settings`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

__all__ = ["KEYS", "RUNNERS", "Key", "Kind"]

Kind: TypeAlias = Literal["text", "seconds", "number", "count", "switch", "words", "table"]


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set.

    Attributes:
        choices: The only words allowed, when they are few; the narrowest first where the key narrows.
        for_projects: A project file may set it at all.
        narrows: It bounds what a run may do; a project file may make the user's own bound tighter, never wider.
        adds: Words of every source are kept together: nobody can take back what somebody else forbade.
        names_model: It says which model is paid for; the file of an untrusted project names only what its user has set.
        members: What each text of a table must look like, as a regular expression. What does not may be a secret that
            stands in the wrong place, and is never shown.
        secret: Shown as `***`.
    """

    kind: Kind
    default: object
    about: str
    choices: tuple[str, ...] = ()
    for_projects: bool = True
    narrows: bool = False
    adds: bool = False
    names_model: bool = False
    members: str = ""
    secret: bool = False


RUNNERS: Final = ("own", "claude")
"""What can drive the model of an agent that is instructions."""

_NO_TABLE: Final[Mapping[str, str]] = {}
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_ADDRESS: Final = r"https?://[^\s@]+"
_PRICE: Final = r"[0-9]{1,6}(\.[0-9]{1,6})?/[0-9]{1,6}(\.[0-9]{1,6})? [0-9]{4}-[0-9]{2}-[0-9]{2}"


def _model(about: str) -> Key:
    return Key("text", "", about, names_model=True)


def _table(about: str, members: str) -> Key:
    return Key("table", _NO_TABLE, about, for_projects=False, members=members)


KEYS: Final[Mapping[str, Key]] = {
    "run.timeout_s": Key("seconds", None, "seconds that a run may take", narrows=True),
    "run.max_tokens": Key("count", None, "tokens that a run may spend", narrows=True),
    "run.max_cost_usd": Key("number", None, "US dollars that a run may spend", narrows=True),
    "run.context": Key(
        "text",
        "summary",
        "how much of a result the next agent is handed",
        choices=("full", "summary", "metadata", "none"),
    ),
    "run.fail_on": Key("text", "failure", "what makes a run exit 1", choices=("failure", "partial")),
    "run.agents": Key("words", (), "the only agents a run may use; none means all", narrows=True),
    "run.journal": Key("switch", default=True, about="keep a history of runs", for_projects=False),
    "run.level": Key(
        "text",
        "standard",
        "how strictly the answer of an agent is read and judged",
        choices=("strict", "standard", "lenient"),
        narrows=True,
    ),
    "run.policy": Key(
        "text",
        "usual",
        "when an attempt that failed is made again, and how long one may take",
        choices=("usual", "worker", "research"),
        for_projects=False,
    ),
    "run.planner": Key(
        "text",
        "auto",
        "who makes the plan: a model where one is configured, a model whatever may be, or the rules",
        choices=("auto", "model", "rules"),
        for_projects=False,
    ),
    "run.choose": Key(
        "text",
        "ask",
        "which option is taken: one, the recommended one, or whichever you say",
        choices=("ask", "auto", "A", "B", "C"),
        for_projects=False,
    ),
    "models.default": _model("the model, or the tier, of whoever names none"),
    "models.small": _model("the model of the tier small; Claude Haiku when empty"),
    "models.medium": _model("the model of the tier medium; Claude Sonnet when empty"),
    "models.large": _model("the model of the tier large; Claude Opus when empty"),
    "models.allow": Key(
        "words",
        (),
        "models that tasks and plans may name beside those above, as names or patterns such as `anthropic:*`",
        for_projects=False,
    ),
    "models.base_url": _table("by provider, the address to use instead of its own", _ADDRESS),
    "models.key_variable": _table("by provider, the variable that holds its key", _VARIABLE),
    "models.record": Key(
        "text", "", "a folder that keeps every exchange with a model, for `replay:FOLDER`", for_projects=False
    ),
    "models.runner": Key(
        "text",
        "own",
        "what drives the models of agents that are instructions: our own loop, or Claude Code's",
        choices=RUNNERS,
        for_projects=False,
    ),
    "models.runner_of": _table("by agent, the runner it has instead of that", "|".join(RUNNERS)),
    "models.prices": _table("by model, your own price, `in/out date`: USD per million tokens", _PRICE),
    "permissions.mode": Key("text", "", "what happens to uses of tools that no rule speaks of", for_projects=False),
    "permissions.allow": Key("words", (), "uses of tools that need no question", for_projects=False),
    "permissions.ask": Key("words", (), "uses of tools that are always asked", adds=True),
    "permissions.deny": Key("words", (), "uses of tools that never happen", adds=True),
    "search.provider": Key("text", "", "who answers web searches; the first with a key when empty", for_projects=False),
    "lsp.command": Key("words", (), "the language server to run; `ty server` when empty", for_projects=False),
    "mcp.file": Key("text", "", "a JSON file with the `mcpServers` of your own", for_projects=False),
    "shell.allow": Key("words", (), "programs that an agent may run", for_projects=False),
    "architecture.layers": Key("words", (), "layers of the code from the top down, for the system architect"),
    "lint.ignore": Key("words", (), "rules that lint passes over, by the beginning of their id"),
    "index.cache": Key("switch", default=True, about="keep search indexes between runs", for_projects=False),
}
"""Every setting there is, in the order in which it is shown."""
