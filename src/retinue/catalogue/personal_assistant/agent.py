"""The assistant as an agent: which extensions it has, and where it keeps things. One call of it is for `call`."""

import asyncio
import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from functools import lru_cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, cast

import retinue
from retinue.agents.extensions import Extension, Extensions, discover
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._prose import phrases
from retinue.contract.definition import Sample
from retinue.contract.model import JsonMapping
from retinue.contract.task import Task
from retinue.dialects.run_agent import ParsedConfig, ToolTraceMinimal, read_config
from retinue.errors import AccessDenied, InvalidInput, NotTrusted
from retinue.llm.models import Models

from .call import AssistantCall
from .domains import use_store
from .parameters import AssistantAnswer, AssistRequest, DomainResult, Target

_SHIPPED: Final = Path(__file__).parent / "domains"
_ADDED: Final = "Added task 4: call Ada, due 2026-05-05."
_EXAMPLE: Final = "remind me to call Ada tomorrow"
_ARGUMENTS: Final[JsonMapping] = {"title": "call Ada", "due": "2026-05-05"}
_TRACE: Final = ToolTraceMinimal(tool="TASKS_ACTION_add", output=_ADDED, args=_ARGUMENTS, duration_secs=0.002)
_RESULT: Final = DomainResult(
    name="TASKS", intent=_EXAMPLE, output=_ADDED, status="done", traces=(_TRACE,), duration_secs=0.004
)
_TARGETS: Final = (Target(extension="TASKS", intent=_EXAMPLE),)
_ANSWER: Final = AssistantAnswer(
    content=_ADDED, targets=_TARGETS, results=(_RESULT,), timings={"TASKS": 0.004}, models={}
)


def shipped_domains() -> tuple[Extension, ...]:
    """The domains that come with the assistant."""
    return _discover(_SHIPPED).extensions


_EXAMPLES: Final = phrases("""
    remind me to water the plants on Sunday; remind me at 6 pm to pick up the children; do not let me forget to lock
    the bike; what is on my to-do list; show my to-do list; my todo list; what are my open tasks; are any of my tasks
    due tomorrow; put stamps on my list; my task about the rent is done; postpone my haircut to next week; take a
    note: the spare key is at Ada's; write down that the car is parked on level 3; note to self: bring the charger;
    save an idea: a lamp that wakes me up; find my note about the wifi password; search my notes for the pancake
    recipe; log 30 minutes of running; I cycled 20 km today; what did I train this week; how far did I cycle last
    month; when was I last at the gym; what do I still have to do this week; cancel my reminder about the rent;
    remember that my bike lock has the number 77
""")


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
        self._models = models or Models()
        self._tool_root = tool_root
        self._trusted = trusted
        self._environment = os.environ if environment is None else environment

    @retinue.skill(
        output=AssistantAnswer,
        instruction_field="prompt",
        effects=("read", "write"),
        thinks="can",
        examples=_EXAMPLES,
        samples=(Sample(title="A reminder", parameters={"prompt": _EXAMPLE}, answer=_ANSWER.to_data()),),
    )
    async def assist(self, request: AssistRequest, task: Task, run: RunContext) -> Reply:
        """Keeps and finds a person's tasks and reminders, notes and workouts.

        Use it for what somebody wants to be reminded of, has to do, wants noted down, or has trained. Returns the
        answer, and what each of its domains brought to it.
        """
        request = request.model_copy(update={"prompt": request.prompt.strip() or request.tool})
        if not request.prompt:
            raise InvalidInput("There is no prompt.", hint="Say what you want.", path="/parameters/prompt")
        keys = {"only_domains", "execution_mode", "domain_timeout_secs"}
        overrides = request.model_dump(mode="json", include=keys, exclude_defaults=True)
        own: Any = task.extras.get("run_agent")
        config: Any = cast("JsonMapping", own).get("config") if isinstance(own, dict) else None
        config = cast("JsonMapping", config) if isinstance(config, dict) else {}
        settings = read_config({**config, **overrides}, self._environment)
        extensions = await asyncio.to_thread(self._extensions, settings, run)
        definition = PersonalAssistant.definition
        with ExitStack() as stack:
            file = self._store or Path(stack.enter_context(TemporaryDirectory(prefix="retinue-assistant-")), "store.db")
            stack.enter_context(use_store(file))
            return await AssistantCall(definition, request, task, run, settings, extensions, self._models).answer()

    def _extensions(self, settings: ParsedConfig, run: RunContext) -> Extensions:
        """The shipped extensions and those of the tool roots that may be read, as far as the call wants them."""
        config, config_root = settings.config, None
        if config.tool_root:
            try:
                config_root = run.workspace.resolve(config.tool_root)
            except (AccessDenied, InvalidInput) as error:
                message = f"The tool root {config.tool_root[:200]!r} is not inside the workspace."
                raise AccessDenied(message, hint="Name a folder of the workspace, relative to its root.") from error
        together = Extensions()
        for root in dict.fromkeys(root for root in (_SHIPPED, self._tool_root, config_root) if root):
            # Asked before the folder is looked into: a stranger's tool root may be as large as the disk.
            if root != _SHIPPED and root.is_dir() and not self._trusted(root):
                hint = f"Look at its Python files, then run `retinue trust --tool-root {root}`."
                raise NotTrusted(f"The tool root {str(root)!r} is not trusted to run its code.", hint=hint)
            more, names = _discover(root), {one.name.casefold() for one in together.extensions}
            new = (one for one in more.extensions if one.name.casefold() not in names)
            together = Extensions((*together.extensions, *new), (*together.skipped, *more.skipped))
        return together if config.only_domains is None else together.only(config.only_domains)


def _discover(root: Path) -> Extensions:
    """What a trusted folder holds, read once; again when a file has changed (B19)."""
    return _discover_cached(
        root, tuple((str(path), path.stat().st_mtime_ns) for path in sorted(root.rglob("*_tool.py")))
    )


@lru_cache(maxsize=16)
def _discover_cached(root: Path, _: tuple[tuple[str, int], ...]) -> Extensions:
    return discover(root, trusted=True)
