"""The assistant as an agent: which extensions it has, and where it keeps things. One call of it is for `call`.

What a call needs is imported when there is one: every command makes this agent, and few ask it.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from retinue.agents.port import Reply, RunContext
from retinue.catalogue._definitions import load_definition
from retinue.contract.definition import Definition
from retinue.contract.task import Task
from retinue.errors import AccessDenied, MissingFile, NotTrusted

if TYPE_CHECKING:
    from retinue.agents.extensions import Extension, Extensions
    from retinue.llm.models import Models

    from .settings import Settings

__all__ = ["PersonalAssistant", "shipped_domains"]

_SHIPPED: Final = Path(__file__).parent / "domains"


def shipped_domains() -> "tuple[Extension, ...]":
    """The domains that come with the assistant."""
    from retinue.agents.extensions import discover  # noqa: PLC0415 - see above; so below

    return discover(_SHIPPED, trusted=True).found


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
        models: "Models | None" = None,
        tool_root: Path | None = None,
        trusted: Callable[[Path], bool] = lambda _: False,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._store = store
        self._models = models
        self._tool_root = tool_root
        self._trusted = trusted
        self._environment = environment
        self._known: dict[Path, tuple[tuple[tuple[str, int], ...], Extensions]] = {}

    @property
    def definition(self) -> Definition:
        """What it says of itself."""
        return load_definition(__package__ or "")

    async def run(self, task: Task, run: RunContext, /) -> Reply:
        """Answer one prompt."""
        import asyncio  # noqa: PLC0415
        import tempfile  # noqa: PLC0415

        from .call import Call  # noqa: PLC0415
        from .settings import settings_of  # noqa: PLC0415
        from .store import stored_in  # noqa: PLC0415
        from .thinking import Mind  # noqa: PLC0415

        settings = settings_of(task, self._environment)
        extensions = await asyncio.to_thread(self._extensions, settings, run)
        models = self._models if self._models is not None and self._models.configured else None
        mind = None if models is None else Mind(models, settings, run, task, self.definition)
        call = Call(task, run, settings, extensions, mind)
        if self._store is not None:
            with stored_in(self._store):
                return await call.answer()
        with tempfile.TemporaryDirectory(prefix="retinue-assistant-") as folder, stored_in(Path(folder) / "store.db"):
            return await call.answer()

    # Whom it has

    def _extensions(self, settings: "Settings", run: RunContext) -> "Extensions":
        """The shipped extensions and those of the tool roots, as far as the call wants them.

        Raises:
            AccessDenied: The tool root that the settings name is not inside the workspace.
            MissingFile: It is not there.
            NotTrusted: Its code may not run.
        """
        from retinue.agents.extensions import Extensions  # noqa: PLC0415

        shipped = self._read(_SHIPPED)
        named = _inside(run.workspace.root, settings.tool_root) if settings.tool_root else None
        found, skipped = list(shipped.found), list(shipped.skipped)
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
            names = {extension.name.casefold() for extension in found}
            found += [extension for extension in more.found if extension.name.casefold() not in names]
            skipped += more.skipped
        together = Extensions(tuple(found), tuple(skipped))
        return together if settings.only_domains is None else together.only(settings.only_domains)

    def _read(self, root: Path) -> "Extensions":
        """Read a trusted folder once; again when a file has changed (B19)."""
        from retinue.agents.extensions import discover  # noqa: PLC0415

        state = tuple((str(path), path.stat().st_mtime_ns) for path in sorted(root.rglob("*_tool.py")))
        known = self._known.get(root)
        if known is None or known[0] != state:
            known = self._known[root] = (state, discover(root, trusted=True))
        return known[1]


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
