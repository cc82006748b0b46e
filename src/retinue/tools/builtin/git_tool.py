"""`git`: the history and state of the workspace's repository, as git itself prints it. It only reads.

Everything goes through the runner that a hostile repository can do nothing to, and every question is limited to the
workspace, so that a repository above it shows nothing from beside it. Patches leave out the files that it hides.
"""

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.errors import AccessDenied, InvalidInput, LimitReached
from retinue.tools.builtin.support import truncate
from retinue.tools.git.repository import Git
from retinue.tools.git.runner import GitRunner
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, run_in_thread, seconds_left, tool_spec
from retinue.tools.workspace import Workspace

_MOST_BYTES: Final = 16 * 1024 * 1024
_MOST_NAMED: Final = 2_000
_PATCH: Final = ("--no-ext-diff", "--no-textconv", "--no-color", "--find-renames", "--ignore-submodules=dirty")
_NAMES: Final = ("--name-only", "--relative", "--no-renames", "-z", "--no-ext-diff", "--ignore-submodules=dirty")
_LOG: Final = "--format=%h %ad %an: %s"

_SPEC: Final = tool_spec(
    "git",
    "Reads the history and state of the project's repository. Use it to see what changed, when and by whom. Returns "
    "what git prints; nothing is ever changed.",
    {
        "operation": {
            "enum": ["status", "log", "show", "diff", "blame"],
            "description": "`status` of the work tree, `log` of commits, `show` of one commit, `diff` of the work tree "
            "against `revision` or of a range such as `main..HEAD`, or `blame` of a file.",
        },
        "revision": {
            "type": "string",
            "minLength": 1,
            "maxLength": 250,
            "default": "HEAD",
            "description": "A branch, tag, commit, or for `log` and `diff` a range.",
        },
        "path": {"type": "string", "maxLength": 4096, "description": "Only this file or folder."},
        "limit": {"type": "integer", "minimum": 1, "maximum": 1000, "default": 30, "description": "Commits at most."},
        "first_line": {"type": "integer", "minimum": 1, "default": 1, "description": "For `blame`: where to begin."},
        "last_line": {"type": "integer", "minimum": 1, "description": "For `blame`: where to end, included."},
    },
    required=("operation",),
    effects=("read",),
    timeout_s=30.0,
)


class GitTool:
    """Reads a repository."""

    spec: ToolSpec = _SPEC

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Ask git."""
        workspace, seconds = require_workspace(context, _SPEC), seconds_left(_SPEC, context)
        text = await run_in_thread(_SPEC, context, _run, workspace, arguments, seconds)
        text, is_cut = truncate(text.removesuffix("\n") or "(Nothing.)", context.output_limit, notice="(And more.)")
        return ToolOutput(text, origin="git", truncated=is_cut)


def _run(workspace: Workspace, arguments: JsonMapping, timeout_s: float) -> str:
    path, revision = str(arguments.get("path", ".")), str(arguments.get("revision", "HEAD"))
    relative = workspace.relative(path)
    if not workspace.covers(() if relative == "." else tuple(relative.split("/"))):
        raise AccessDenied(f"{path!r} may not be read", hint="name a `path` that may be read", path="/path")
    root = str(workspace.root)
    git = Git(root, timeout_s=timeout_s, max_bytes=_MOST_BYTES)
    runner = GitRunner(root, timeout_s=timeout_s, max_bytes=_MOST_BYTES)
    git.head()  # says what is wrong with the repository, if anything is

    def text(*words: str, touches_files: bool = False) -> str:
        return runner.run(*words, touches_files=touches_files).stdout.decode("utf-8", "replace")

    match str(arguments["operation"]):
        case "status":
            git.status()  # refuses a bare repository in words
            words = ("status", "--short", "--branch", "--untracked-files=all", "--ignore-submodules=dirty", "--", path)
            return text(*words, touches_files=True)
        case "log":
            limit, ends = f"--max-count={int(arguments.get('limit', 30))}", _resolve_ends(git, revision)
            return text("log", _LOG, "--date=short", limit, "--no-patch", "--end-of-options", ends, "--", path)
        case "show":
            ends = ("--end-of-options", git.resolve(revision), "--")
            paths = _visible_paths(workspace, path, text("show", "--format=", *_NAMES, *ends, path))
            return text("show", "--stat", "--patch", "--relative", *_PATCH, *ends, *paths)
        case "diff":
            is_range = ".." in revision
            ends = ("--end-of-options", _resolve_ends(git, revision), "--")
            names = text("diff", *_NAMES, *ends, path, touches_files=not is_range)
            paths = _visible_paths(workspace, path, names)
            return text("diff", "--relative", *_PATCH, *ends, *paths, touches_files=not is_range)
        case _:
            if "path" not in arguments:
                raise InvalidInput("`blame` needs a file", hint="name one with `path`", path="/path")
            first, last = int(arguments.get("first_line", 1)), arguments.get("last_line")
            rows: list[str] = []
            for line in git.blame(path, start=first, end=last, revision=revision):
                day = datetime.fromtimestamp(line.time, UTC).date()
                rows.append(f"{line.sha[:10]} {day} {line.author} {line.line}: {line.text}")
            return "\n".join(rows)


def _visible_paths(workspace: Workspace, path: str, names: str) -> Sequence[str]:
    """What a patch is limited to: `path`, or where some changed files are hidden, the others by name."""
    changed = [name for name in names.split("\0") if name]
    visible = [name for name in changed if not workspace.why_hidden(tuple(name.split("/")))]
    if len(visible) == len(changed):
        return [path]
    if not visible:
        raise AccessDenied("what was changed there may not be read", hint="ask about other files", path="/path")
    if len(visible) > _MOST_NAMED:
        raise LimitReached(f"{len(visible):,} files were changed there", hint="name a `path`", path="/path")
    return visible


def _resolve_ends(git: Git, revision: str) -> str:
    """A revision or range with its ends resolved, so that nothing in it can be taken for an option."""
    between = "..." if "..." in revision else ".."
    first, dots, last = revision.partition(between)
    if not dots:
        return git.resolve(first)
    return f"{git.resolve(first or 'HEAD')}{between}{git.resolve(last or 'HEAD')}"
