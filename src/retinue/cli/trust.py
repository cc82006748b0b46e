"""`retinue trust`: the user's own yes to the code of a folder."""

from pathlib import Path

import click

from retinue.cli.options import json_option
from retinue.cli.output import echo_json, safe, tell

__all__ = ["command"]


@click.command("trust")
@click.argument("folder", required=False, type=click.Path(path_type=Path))
@click.option("--yes", is_flag=True, help="Say yes without being asked.")
@click.option("--list", "listed", is_flag=True, help="List the folders you have trusted.")
@click.option("--revoke", is_flag=True, help="Take your yes back.")
@json_option
def command(*, folder: Path | None, yes: bool, listed: bool, revoke: bool, as_json: bool) -> None:
    """Allow FOLDER's own Python agents and settings to be used.

    Shows the files that name code, then asks. When one of them changes, you are asked again.
    """
    from retinue.agents.trust import TrustStore
    from retinue.cli import places
    from retinue.cli.project import find_root

    store = TrustStore(places.state_dir())
    if listed:
        _list(store.folders(), trusted=[store.is_trusted(each) for each in store.folders()], as_json=as_json)
        return
    root = (folder or find_root(None)).resolve()
    if revoke:
        gone = store.revoke(root)
        tell(f"{'No longer trusted' if gone else 'Was not trusted'}: {safe(root)}")
        return
    _grant(root, yes=yes)
    files = store.trust(root)
    if as_json:
        echo_json({"folder": str(root), "files": list(files)})
        return
    tell(f"Trusted: {safe(root)} ({len(files)} file{'' if len(files) == 1 else 's'})")


def _list(folders: tuple[Path, ...], *, trusted: list[bool], as_json: bool) -> None:
    if as_json:
        echo_json([{"folder": str(each), "trusted": still} for each, still in zip(folders, trusted, strict=True)])
        return
    for each, still in zip(folders, trusted, strict=True):
        click.echo(f"{safe(each)}{'' if still else '  (changed since; not trusted any more)'}")
    if not folders:
        tell("You have trusted no folder.")


def _grant(root: Path, *, yes: bool) -> None:
    """Show what would be trusted, and ask.

    Raises:
        NotTrusted: The answer is no, or nobody is there to ask.
    """
    from retinue.agents.code_files import code_files
    from retinue.cli.screen import somebody_is_there
    from retinue.errors import NotTrusted

    files = code_files(root)
    tell(f"{safe(root)} names code in {len(files)} file{'' if len(files) == 1 else 's'}:")
    for file in files:
        tell(f"  {safe(file.relative_to(root))}")
    if yes:
        return
    if not somebody_is_there():
        raise NotTrusted("Nobody is there to say yes.", hint="Look at the files, then run `retinue trust --yes`.")
    if not click.confirm("Have you looked at them, and may they run as you?", err=True):
        raise NotTrusted("You said no.", hint="Nothing was changed.")
