"""The assistant as an agent: which extensions it has, and where it keeps things. One call of it is for `call`."""

import asyncio
import os
import tempfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final, cast

import retinue
from retinue.agents.extensions import Extension, Extensions, discover
from retinue.agents.port import Reply, RunContext
from retinue.catalogue.personal_assistant.call import Call
from retinue.catalogue.personal_assistant.parameters import AssistantAnswer, AssistRequest
from retinue.catalogue.personal_assistant.roles import Roles
from retinue.catalogue.personal_assistant.store import stored_in
from retinue.contract.definition import Sample
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.dialects.run_agent import read_config
from retinue.dialects.run_agent.config import ConfigRead
from retinue.errors import AccessDenied, MissingFile, NotTrusted
from retinue.llm.models import Models

__all__ = ["PersonalAssistant", "shipped_domains"]

_SHIPPED: Final = Path(__file__).parent / "domains"
_ADDED: Final = "Added task 4: call Ada, due 2026-05-05."
_RESULT: Final[dict[str, Any]] = {
    "name": "TASKS",
    "intent": "remind me to call Ada tomorrow",
    "output": _ADDED,
    "status": "done",
    "traces": [
        {
            "tool": "TASKS_ACTION_add",
            "args": {"title": "call Ada", "due": "2026-05-05"},
            "output": _ADDED,
            "duration_secs": 0.002,
        }
    ],
    "duration_secs": 0.004,
}


def shipped_domains() -> tuple[Extension, ...]:
    """The domains that come with the assistant."""
    return discover(_SHIPPED, trusted=True).found


@retinue.agent(
    name="personal_assistant",
    version="1.0",
    category="assistant",
    tags=("assistant", "tasks", "notes", "workouts"),
    aliases=("assistant",),
    tier="small",
    description="Keeps a person's tasks, notes and training log, and answers from them. Use it to be reminded of"
    " something, to write or find a personal note, or to log and look up workouts. Returns an answer with what each of"
    " its domains did.",
)
class PersonalAssistant:
    """Answers a person from the domains that it has.

    Args:
        store: The file in which the shipped domains keep things; a throw-away one when absent.
        models: What the roles think with; without a model the rules do it.
        tool_root: Where more extensions are.
        trusted: Whether the code of a tool root may run. A `config` names a tool root inside the workspace, never its
            trust.
        environment: Where settings are looked up; the process's own when absent.
    """

    def __init__(
        self,
        *,
        store: Path | None = None,
        models: Models | None = None,
        tool_root: Path | None = None,
        trusted: Callable[[Path], bool] = lambda _: False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._models = models if models is not None and models.configured else None
        self._tool_root = tool_root
        self._trusted = trusted
        self._environment = environment
        self._known: dict[Path, tuple[tuple[tuple[str, int], ...], Extensions]] = {}

    @retinue.skill(
        output=AssistantAnswer,
        instruction_field="prompt",
        effects=("read", "write"),
        thinks="can",
        examples=(
            "remind me to water the plants on Sunday",
            "remind me at 6 pm to pick up the children",
            "do not let me forget to lock the bike",
            "what is on my to-do list",
            "show my to-do list",
            "my todo list",
            "what are my open tasks",
            "are any of my tasks due tomorrow",
            "put stamps on my list",
            "my task about the rent is done",
            "postpone my haircut to next week",
            "take a note: the spare key is at Ada's",
            "write down that the car is parked on level 3",
            "note to self: bring the charger",
            "save an idea: a lamp that wakes me up",
            "find my note about the wifi password",
            "search my notes for the pancake recipe",
            "log 30 minutes of running",
            "I cycled 20 km today",
            "what did I train this week",
            "how far did I cycle last month",
            "when was I last at the gym",
            "what do I still have to do this week",
            "cancel my reminder about the rent",
            "remember that my bike lock has the number 77",
        ),
        samples=(
            Sample(
                title="A reminder",
                parameters={"prompt": "remind me to call Ada tomorrow"},
                answer={
                    "content": _ADDED,
                    "targets": [{"extension": "TASKS", "intent": "remind me to call Ada tomorrow"}],
                    "results": [_RESULT],
                    "timings": {"TASKS": 0.004},
                    "models": {},
                },
            ),
        ),
    )
    async def assist(self, request: AssistRequest, task: Task, run: RunContext) -> Reply:
        """Keeps and finds a person's tasks and reminders, notes and workouts.

        Use it for what somebody wants to be reminded of, has to do, wants noted down, or has trained. Returns the
        answer, and what each of its domains brought to it.
        """
        parameters = {
            "only_domains": list(request.only_domains),
            "execution_mode": request.execution_mode if request.execution_mode != "usual" else "",
            "domain_timeout_secs": request.domain_timeout_secs,
        }
        environment = os.environ if self._environment is None else self._environment
        settings = read_config({**_config(task), **{name: one for name, one in parameters.items() if one}}, environment)
        extensions = await asyncio.to_thread(self._extensions, settings, run)
        overrides = settings.config.model_overrides
        definition = PersonalAssistant.definition
        roles = None if self._models is None else Roles(self._models, overrides, definition, task, run)
        call = Call(request, run, settings, extensions, roles)
        if self._store is not None:
            with stored_in(self._store):
                return await call.answer()
        with tempfile.TemporaryDirectory(prefix="retinue-assistant-") as folder, stored_in(Path(folder) / "store.db"):
            return await call.answer()

    def _extensions(self, settings: ConfigRead, run: RunContext) -> Extensions:
        """The shipped extensions and those of the tool roots, as far as the call wants them.

        Raises:
            AccessDenied: The tool root that the settings name is not inside the workspace.
            MissingFile: It is not there.
            NotTrusted: Its code may not run.
        """
        shipped, config = self._read(_SHIPPED), settings.config
        named = _inside(run.workspace.root, config.tool_root) if config.tool_root else None
        found, skipped = {one.name.casefold(): one for one in shipped.found}, list(shipped.skipped)
        for root in dict.fromkeys(root for root in (self._tool_root, named) if root):
            # Asked before the folder is looked into: a stranger's tool root may be as large as the disk.
            if not root.is_dir():
                raise MissingFile(f"There is no tool root {str(root)!r}.", hint="Name a folder with `*_tool.py` files.")
            if not self._trusted(root):
                raise NotTrusted(
                    f"The tool root {str(root)!r} is not trusted to run its code.",
                    hint=f"Look at its Python files, then run `retinue trust --tool-root {root}`.",
                )
            more = self._read(root)
            for extension in more.found:
                found.setdefault(extension.name.casefold(), extension)
            skipped += more.skipped
        together = Extensions(tuple(found.values()), tuple(skipped))
        return together if config.only_domains is None else together.only(config.only_domains)

    def _read(self, root: Path) -> Extensions:
        """Read a trusted folder once; again when a file has changed (B19)."""
        state = tuple((str(path), path.stat().st_mtime_ns) for path in sorted(root.rglob("*_tool.py")))
        known = self._known.get(root)
        if known is None or known[0] != state:
            known = self._known[root] = (state, discover(root, trusted=True))
        return known[1]


def _config(task: Task) -> JsonMapping:
    """The `config` of a `run_agent` call."""
    own: Any = task.extras.get("run_agent")
    config: Any = cast("JsonMapping", own).get("config") if isinstance(own, dict) else None
    return cast("JsonMapping", config) if isinstance(config, dict) else {}


def _inside(root: Path, tool_root: str) -> Path:
    """The tool root that a `config` or the environment names, relative to the workspace at `root`.

    Raises:
        AccessDenied: It leads out of the workspace.
    """
    try:
        real = (root / tool_root).resolve()
    except (OSError, RuntimeError, ValueError):  # a circle of links, a NUL
        real = None
    if real is None or not real.is_relative_to(root):
        raise AccessDenied(
            f"The tool root {tool_root[:200]!r} is not inside the workspace.",
            hint="Name a folder of the workspace, relative to its root.",
        )
    return real
