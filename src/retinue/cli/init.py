"""`retinue init`: files for other programs, by which they ask the agents of Retinue."""

from pathlib import Path
from typing import Literal, TypeAlias

from retinue import catalogue
from retinue.agents.write import claude_files, is_as_written
from retinue.cli.app import Exit
from retinue.cli.output import echo, echo_err, echo_json, label, path_text, plural
from retinue.cli.settings import find_root
from retinue.errors import MissingFile
from retinue.tools.workspace import Workspace

_State: TypeAlias = Literal["created", "updated", "unchanged", "kept"]
"""What becomes of a file: it is `kept` when somebody has changed it."""


def init_claude(*, claude: bool, check_only: bool, force: bool, workspace: Path | None, as_json: bool) -> int:
    """Write what Claude Code needs to ask the agents of spec 003, or see whether that is up to date."""
    del claude  # there is nothing else to write yet
    root = find_root(workspace)
    fence = Workspace(root, write=(".",))
    definitions = [agent.definition for agent in catalogue.agents()]
    texts = {f".claude/{path}": text for path, text in claude_files(definitions).items()}
    states: dict[str, _State] = {}
    for path, text in texts.items():
        try:
            present = fence.read_bytes(path).decode(errors="replace").replace("\r\n", "\n")
        except MissingFile:
            states[path] = "created"
            continue
        differs: _State = "updated" if force or is_as_written(present) else "kept"
        states[path] = "unchanged" if present == text else differs
    stale = [path for path, state in states.items() if state in {"created", "updated"}]
    if not check_only:
        for path in stale:
            fence.write_bytes(path, texts[path].encode())
    if as_json:
        order: tuple[_State, ...] = ("created", "updated", "unchanged", "kept")
        echo_json({state: [path for path, one in states.items() if one == state] for state in order})
    else:
        words = {"created": "missing", "updated": "out of date"} if check_only else {}
        for path, state in states.items():
            echo(f"{words.get(state, state):<12} {path_text(path)}")
    if check_only and stale:
        echo_err(f"{label('error', 'red')}: {plural(len(stale), 'file')} to write: run `retinue init --claude`")
    elif "kept" in states.values():
        echo_err(f"{label('next')}: compare what was kept with `--force` in a clean work tree: it overwrites it")
    return Exit.INVALID if check_only and stale else Exit.OK
