"""`glob` and `grep`: which files there are, and which lines match. Ignored files are left out, as git would."""

from collections import Counter
from typing import Final

from retinue.contract.definition import ToolSpec
from retinue.contract.model import JsonMapping
from retinue.tools import tree
from retinue.tools.builtin.support import truncate
from retinue.tools.grep import grep
from retinue.tools.port import ToolContext, ToolOutput, require_workspace, run_in_thread, seconds_left, tool_spec

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

    spec: ToolSpec = _GLOB

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """List the files."""
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

    spec: ToolSpec = _GREP

    async def use(self, arguments: JsonMapping, context: ToolContext, /) -> ToolOutput:
        """Search the files."""
        workspace, seconds = require_workspace(context, _GREP), seconds_left(_GREP, context)
        files = arguments.get("files")
        result = await run_in_thread(
            _GREP,
            context,
            grep,
            workspace,
            str(arguments["pattern"]),
            syntax=arguments.get("syntax", "regex"),
            ignore_case=bool(arguments.get("ignore_case", False)),
            paths=() if files is None else (str(files),),
            context=int(arguments.get("context", 0)),
            max_matches=int(arguments.get("limit", 200)),
            timeout_s=0.9 * seconds,
        )
        give = str(arguments.get("give", "lines"))
        counts = Counter(match.path for match in result.matches)
        rows: list[str] = []
        if give == "files":
            rows += counts
        elif give == "counts":
            rows += [f"{path}: {count}" for path, count in counts.items()]
        else:
            for match in result.matches:
                before = enumerate(match.before, match.line - len(match.before))
                rows += [f"{match.path}-{number}- {text}" for number, text in before]
                rows.append(f"{match.path}:{match.line}: {match.text}")
                rows += [f"{match.path}-{number}- {text}" for number, text in enumerate(match.after, match.line + 1)]
                rows += ["--"] if match.before or match.after else []
        if not result.matches:
            rows.append(f"(Nothing matches in {result.files:,} files.)")
        if result.truncated_by == "matches":
            rows.append("(There are more; raise `limit`, or look for something rarer.)")
        if result.truncated_by == "time":
            rows.append("(Time was up before all files were searched.)")
        if result.skipped:
            first = result.skipped[0]
            rows.append(f"({len(result.skipped):,} files were not searched, such as {first.path!r}: {first.reason}.)")
        text = "\n".join(rows)
        text, is_cut = truncate(text, context.output_limit, notice="(And more.)")
        return ToolOutput(
            text,
            origin="lines of files",
            data={"matches": len(result.matches), "files_searched": result.files, "cut": result.truncated_by},
            truncated=is_cut or bool(result.truncated_by),
            files_read=tuple(dict.fromkeys(match.path for match in result.matches)),
        )
