"""`glob` and `grep`: which files there are, and which lines match. Ignored files are left out, as git would."""

from typing import Final, Literal, assert_never, cast

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.tools import grep as searching, tree
from retinue.tools.builtin.support import require_workspace, run_in_thread, seconds_left, tool_spec, truncate
from retinue.tools.port import ToolContext, ToolOutput
from retinue.tools.workspace import Workspace

_MOST_PATHS: Final = 1000
_PATTERN: Final = (
    "A pattern without `/` is tried on names at any depth (`*.md`); one with `/` on whole paths, `**` standing for any "
    "folders (`src/**/*.py`)."
)

_GLOB: Final = tool_spec(
    "glob",
    "Lists the files of the workspace that a pattern names. Use it to find files by name or place; to find them by "
    "what they say, use `grep`. Returns paths, one a line, sorted.",
    {"pattern": {"type": "string", "minLength": 1, "maxLength": 500, "description": _PATTERN}},
    required=("pattern",),
    effects=("read",),
    timeout_s=30.0,
)
_GREP: Final = tool_spec(
    "grep",
    "Finds the lines of the workspace's files that match. Use it to find where something is said, defined or used. "
    "Returns `path:line: text`, or with `give` only the files, or counts.",
    {
        "pattern": {"type": "string", "minLength": 1, "maxLength": 1000, "description": "What to look for."},
        "syntax": {
            "enum": ["regex", "literal"],
            "default": "regex",
            "description": "How to read the pattern: a regular expression, tried on each line alone, or as it stands.",
        },
        "files": {"type": "string", "minLength": 1, "maxLength": 500, "description": f"Only in these. {_PATTERN}"},
        "ignore_case": {"type": "boolean", "default": False, "description": "Whether `a` also finds `A`."},
        "context": {
            "type": "integer",
            "minimum": 0,
            "maximum": 20,
            "default": 0,
            "description": "How many lines to give before and after each match.",
        },
        "give": {
            "enum": ["lines", "files", "counts"],
            "default": "lines",
            "description": "Every line, or only which files have one, or how many each has.",
        },
        "limit": {"type": "integer", "minimum": 1, "maximum": 5000, "default": 200, "description": "Matches at most."},
    },
    required=("pattern",),
    effects=("read",),
    timeout_s=30.0,
)


class GlobTool:
    """Lists files by pattern."""

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _GLOB

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """List.

        Raises:
            InvalidInput: The pattern is none.
            AccessDenied: There is no workspace.
            DeadlineExceeded: It took too long.
        """
        workspace = require_workspace(context, _GLOB)
        paths = await run_in_thread(
            _GLOB, context, tree.glob, workspace, str(arguments["pattern"]), limit=_MOST_PATHS + 1
        )
        more = f"(There are more than {_MOST_PATHS:,}; ask for fewer.)"
        text = "\n".join(paths[:_MOST_PATHS]) or "(No file has such a name.)"
        is_long = len(paths) > _MOST_PATHS
        text, is_cut = truncate(f"{text}\n{more}" if is_long else text, context.output_limit, notice="(And more.)")
        return ToolOutput(
            text, origin="names of files", data={"paths": paths[:_MOST_PATHS]}, truncated=is_cut or is_long
        )


class GrepTool:
    """Finds lines."""

    @property
    def spec(self) -> ToolSpec:
        """What it says of itself."""
        return _GREP

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Search.

        Raises:
            InvalidInput: A pattern is none.
            AccessDenied: There is no workspace.
            DeadlineExceeded: It took too long.
        """
        workspace, seconds = require_workspace(context, _GREP), seconds_left(_GREP, context)
        result = await run_in_thread(_GREP, context, _search, workspace, arguments, 0.9 * seconds)
        text = _render(result, cast('Literal["lines", "files", "counts"]', arguments.get("give", "lines")))
        text, is_cut = truncate(text, context.output_limit, notice="(And more.)")
        return ToolOutput(
            text,
            origin="lines of files",
            data={"matches": len(result.matches), "files_searched": result.files, "cut": result.truncated_by},
            truncated=is_cut or bool(result.truncated_by),
            files_read=tuple(dict.fromkeys(match.path for match in result.matches)),
        )


def _search(workspace: Workspace, arguments: JsonMapping, timeout_s: float) -> searching.GrepResult:
    files = arguments.get("files")
    return searching.grep(
        workspace,
        str(arguments["pattern"]),
        syntax=arguments.get("syntax", "regex"),
        ignore_case=bool(arguments.get("ignore_case", False)),
        paths=() if files is None else (str(files),),
        context=int(arguments.get("context", 0)),
        max_matches=int(arguments.get("limit", 200)),
        timeout_s=timeout_s,
    )


def _render(result: searching.GrepResult, give: Literal["lines", "files", "counts"]) -> str:
    rows: list[str]
    match give:
        case "lines":
            rows = [row for match in result.matches for row in _rows(match)]
        case "files":
            rows = list(dict.fromkeys(match.path for match in result.matches))
        case "counts":
            counts: dict[str, int] = {}
            for match in result.matches:
                counts[match.path] = counts.get(match.path, 0) + 1
            rows = [f"{path}: {count}" for path, count in counts.items()]
        case _:
            assert_never(give)
    notes = {
        "": [],
        "matches": ["(There are more; raise `limit`, or look for something rarer.)"],
        "time": ["(Time was up before all files were searched.)"],
    }[result.truncated_by]
    if not result.matches:
        notes = [f"(Nothing matches in {result.files:,} files.)", *notes]
    if result.skipped:
        first = result.skipped[0]
        notes.append(f"({len(result.skipped):,} files were not searched, such as {first.path!r}: {first.reason}.)")
    return "\n".join([*rows, *notes])


def _rows(match: searching.Match) -> list[str]:
    start = match.line - len(match.before)
    before = [f"{match.path}-{number}- {text}" for number, text in enumerate(match.before, start)]
    after = [f"{match.path}-{number}- {text}" for number, text in enumerate(match.after, match.line + 1)]
    separator = ["--"] if before or after else []
    return [*before, f"{match.path}:{match.line}: {match.text}", *after, *separator]
