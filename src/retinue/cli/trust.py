"""`retinue trust`: the user's own yes to the code of a folder."""

from pathlib import Path

import click

from retinue.agents.code_files import Kind, code_files, digests
from retinue.agents.trust import TrustStore
from retinue.cli import user_paths
from retinue.cli.output import echo, echo_err, echo_json, plural, safe
from retinue.cli.screen import is_interactive
from retinue.cli.settings import find_root
from retinue.errors import NotTrusted, RetinueError


def trust_folder(
    *, folder: Path | None, yes: bool, list_only: bool, revoke: bool, is_tool_root: bool, as_json: bool
) -> None:
    """Allow the code of DIR's agents to run; DIR is the current repository by default."""
    if is_tool_root and folder is None and not list_only:
        raise click.UsageError("--tool-root needs a folder: `retinue trust --tool-root DIR`.")
    kind: Kind = "tool_root" if is_tool_root else "project"
    store = TrustStore(user_paths.state_dir())
    if list_only:
        kinds: tuple[Kind, ...] = ("project", "tool_root")
        folders = [(each, of, store.is_trusted(each, kind=of)) for of in kinds for each in store.folders(kind=of)]
        if as_json:
            echo_json([{"folder": str(each), "kind": of, "trusted": still} for each, of, still in folders])
            return
        for each, of, still in folders:
            what = "  (tool root)" * (of == "tool_root")
            echo(f"{safe(each)}{what}{'' if still else '  (changed since; not trusted any more)'}")
        if store.problem is not None:
            raise store.problem
        if not folders:
            echo_err("No trusted folders.")
        return
    # What is revoked need not exist any more.
    root = folder.resolve() if folder is not None and revoke else find_root(folder)
    if revoke:
        was_trusted = store.revoke(root, kind=kind)
        if as_json:
            echo_json({"folder": str(root), "trusted": False, "was_trusted": was_trusted})
        echo_err(f"{'No longer trusted' if was_trusted else 'Was not trusted'}: {safe(root)}")
        return
    digests_before = digests(root, kind=kind)
    _ask(store, root, kind=kind, yes=yes)
    if digests(root, kind=kind) != digests_before:
        raise NotTrusted("The files changed in the meantime.", hint="Run `retinue trust` again.")
    files = store.trust(root, kind=kind)
    if as_json:
        echo_json({"folder": str(root), "trusted": True, "files": list(files)})
    echo_err(f"{click.style('trusted', fg='green', bold=True)}: {safe(root)} ({plural(len(files), 'file')})")


def _ask(store: TrustStore, root: Path, *, kind: Kind, yes: bool) -> None:
    """Show what would be trusted, and ask."""
    files = code_files(root, kind=kind)
    news: frozenset[str] = frozenset()  # what changed since the folder was trusted; nothing when it never was
    if root in store.folders(kind=kind):
        try:
            store.check(root, kind=kind)
        except NotTrusted as error:
            news = frozenset(map(str, error.detail.get("files", ())))
        except RetinueError:
            pass
    echo_err(f"{safe(root)} names code in {plural(len(files), 'file')}{':' if files else '.'}")
    for file in files:
        name = file.relative_to(root).as_posix()
        size = plural(len(file.read_bytes().splitlines()), "line")
        echo_err(
            f"  {safe(name)}  {size}{click.style('  changed since you trusted them', fg='yellow') * (name in news)}"
        )
    if yes:
        return
    if not is_interactive():
        again = f"--tool-root {safe(root)} " if kind == "tool_root" else ""
        hint = f"Review the files, then run `retinue trust {again}--yes`."
        raise NotTrusted("Cannot ask for confirmation without a terminal.", hint=hint)
    if not click.confirm("Have you reviewed them, and may they run with your permissions?", err=True):
        raise NotTrusted("Not trusted.", hint="Nothing was changed. Run `retinue trust` again when you are sure.")
