"""What can be set, of what kind, and who may say it. Reading and merging what was said is for `settings`."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

Kind: TypeAlias = Literal["text", "seconds", "number", "count", "switch", "words", "table"]


@dataclass(frozen=True, slots=True)
class Key:
    """One thing that can be set.

    Attributes:
        choices: The only words allowed, when they are few; the narrowest first where the key narrows.
        for_projects: A project file may set it at all.
        narrows: It bounds what a run may do; a project file may make the user's own bound tighter, never wider.
        adds: Words of every source are kept together: no source can take back what another forbade.
        names_model: It says which model is paid for; the file of an untrusted project names only what its user has set.
        members: What each text of a table must look like, as a regular expression. What does not may be a secret that
            stands in the wrong place, and is never shown.
        example: What such a text may be.
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
    example: str = "…"
    secret: bool = False


RUNNERS: Final = ("own", "claude")
"""What can drive the model of an agent that is instructions."""

_NO_TABLE: Final[Mapping[str, str]] = {}
_VARIABLE: Final = r"[A-Za-z_][A-Za-z0-9_]{0,127}"
_ADDRESS: Final = r"https?://[^\s@]+"
_DIGEST: Final = r"[0-9a-f]{64}"
_RATE: Final = r"[1-9][0-9]{0,5}/(s|min|h)"
_PRICE: Final = r"[0-9]{1,6}(\.[0-9]{1,6})?/[0-9]{1,6}(\.[0-9]{1,6})? [0-9]{4}-[0-9]{2}-[0-9]{2}"


def _model(about: str) -> Key:
    return Key("text", "", about, names_model=True)


def _user_key(kind: Kind, default: object, about: str, choices: tuple[str, ...] = ()) -> Key:
    return Key(kind, default, about, choices, for_projects=False)


def _table(about: str, members: str, example: str = "…") -> Key:
    return Key("table", _NO_TABLE, about, for_projects=False, members=members, example=example)


KEYS: Final[Mapping[str, Key]] = {
    "run.timeout_s": Key("seconds", None, "time limit of a run, in seconds", narrows=True),
    "run.max_tokens": Key("count", None, "token limit of a run", narrows=True),
    "run.max_cost_usd": Key("number", None, "cost limit of a run, in US dollars", narrows=True),
    "run.context": Key(
        "text",
        "summary",
        "how much of each result is passed on to the next agent",
        choices=("full", "summary", "metadata", "none"),
    ),
    "run.fail_on": Key("text", "failure", "when a run exits with status 1", choices=("failure", "partial")),
    "run.agents": Key("words", (), "agents that a run may use; empty means all", narrows=True),
    "run.journal": _user_key("switch", True, "save runs in the history"),
    "run.store": Key(
        "text", "", "where the history is, if not on this computer: a URL or a file", for_projects=False, secret=True
    ),
    "run.broker": Key(
        "text", "", "RabbitMQ for `retinue worker`, if there is one: a URL", for_projects=False, secret=True
    ),
    "run.fault_log": _user_key("switch", True, "write the faults of saved runs to a log as they happen"),
    "run.environment": _user_key(
        "text", "production", "whose log of faults: that of production, or that of tests", ("production", "test")
    ),
    "run.level": Key(
        "text",
        "standard",
        "how strictly answers are validated",
        choices=("strict", "standard", "lenient"),
        narrows=True,
    ),
    "run.on_unexpected": Key(
        "text",
        "ask",
        "when an agent's answer is refused after every attempt: ask whether to retry, skip or abort, or what to do",
        choices=("ask", "skip", "abort"),
    ),
    "run.policy": _user_key(
        "text", "usual", "when failed attempts are retried, and how long one may take", ("usual", "worker", "research")
    ),
    "run.timeout_of": _table("seconds for one attempt of an agent, by agent", r"[0-9]{1,6}(\.[0-9]{1,3})?"),
    "run.planner": _user_key(
        "text",
        "auto",
        "how to make the plan: with a model if one is configured (auto), always with a model, or by rules",
        ("auto", "model", "rules"),
    ),
    "run.choose": _user_key(
        "text",
        "ask",
        "which option to take: a letter, the recommended one (auto), or ask",
        ("ask", "auto", "A", "B", "C"),
    ),
    "models.default": _model("default model or tier"),
    "models.small": _model("model of the tier small; Claude Haiku when empty"),
    "models.medium": _model("model of the tier medium; Claude Sonnet when empty"),
    "models.large": _model("model of the tier large; Claude Opus when empty"),
    "models.allow": _user_key(
        "words", (), "other models that tasks and plans may name, as names or patterns such as `anthropic:*`"
    ),
    "models.base_url": _table("base URL by provider", _ADDRESS),
    "models.key_variable": _table("environment variable of the API key by provider", _VARIABLE),
    "models.record": _user_key("text", "", "folder to record every model exchange in, for `replay:FOLDER`"),
    "models.embed": _user_key(
        "text",
        "",
        "sentence-embedding model that ranks skills by meaning: a folder, or a name that fastembed has on disk",
    ),
    "models.runner": _user_key(
        "text", "own", "how to run agents defined by a prompt: with Retinue's own loop, or with Claude Code", RUNNERS
    ),
    "models.runner_of": _table("runner by agent", "|".join(RUNNERS)),
    "models.prices": _table("price by model, `in/out date`, in USD per million tokens", _PRICE),
    "rate_limits.providers": _table("most requests of models, by provider: `60/min`, `5/s`, `100/h`", _RATE, "60/min"),
    "rate_limits.agents": _table("most calls of an agent, by agent: `5/min`", _RATE, "5/min"),
    "permissions.mode": _user_key("text", "", "what happens to tool calls that no rule matches"),
    "permissions.allow": _user_key("words", (), "tool calls that are allowed without asking"),
    "permissions.ask": Key("words", (), "tool calls that always ask", adds=True),
    "permissions.deny": Key("words", (), "tool calls that are denied", adds=True),
    "search.provider": _user_key("text", "", "web search provider; the first with an API key when empty"),
    "lsp.command": _user_key("words", (), "language server command; `ty server` when empty"),
    "mcp.file": _user_key("text", "", "JSON file with your own `mcpServers`"),
    "remote.urls": _table("agents at a URL, by the name that you give them: of A2A, agent.json or MCP", _ADDRESS),
    "remote.key_variable": _table("environment variable of the key, by agent", _VARIABLE),
    "remote.route": _user_key("words", (), "remote agents that goals are routed to without being named"),
    "remote.pin": _table("SHA-256 of the only card that is accepted, by agent", _DIGEST),
    "shell.allow": _user_key("words", (), "programs that an agent may run"),
    "architecture.layers": Key("words", (), "layers of the code, top down, for the system architect"),
    "lint.ignore": Key("words", (), "rules that lint ignores, by the start of their id"),
    "serve.anonymous": _user_key(
        "text", "read", "what callers without a key may do on this machine: read, or nothing", ("read", "none")
    ),
    "serve.timeout_s": _user_key("seconds", 3600.0, "time limit of a task of a caller, in seconds"),
    "serve.question_timeout_s": _user_key("seconds", 3600.0, "how long a question waits for its caller, in seconds"),
    "serve.approval_timeout_s": _user_key("seconds", 600.0, "how long an approval waits for an operator, in seconds"),
    "serve.card_key": _user_key("text", "", "PEM file of the private key that signs the cards of A2A"),
    "index.cache": _user_key("switch", True, "keep search indexes, and what definition files say, between runs"),
}
"""Every setting there is, in the order in which it is shown."""
