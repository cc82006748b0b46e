"""`docs`: which public names say nothing of themselves, and a table of all signatures. Texts are not invented."""

from typing import Final

from retinue.catalogue._prose import code
from retinue.contract.table import Column, Table
from retinue.errors import InvalidInput
from retinue.tools.outline import Item

from .analyze import TYPED, outlines
from .work import Work

__all__ = ["document"]

_SHOWN: Final = 20
_ROWS: Final = 500


async def document(work: Work) -> None:
    """List signatures and what is missing."""
    read = await outlines(work)
    found = [(path, item) for path, each in read.items() for item in each.items if _is_public(path, item)]
    report = work.report
    if not report.files:
        raise InvalidInput("No source file is there to document.", hint="Name a file or folder.")
    missing = [(path, item) for path, item in found if not item.doc]
    said = len(found) - len(missing)
    share = f", {100 * said / len(found):.0f} %" if found else ""
    where = work.asked.path or "."
    report.say("coverage", f"{said} of {len(found)} public names are documented{share}.", source=where)
    for path, item in missing[:_SHOWN]:
        report.say(
            "missing", f"{item.kind} {{}} has no documentation.", code(_whole(item)), source=f"{path}:{item.line}"
        )
    if len(missing) > _SHOWN:
        report.note(f"{len(missing) - _SHOWN} more without documentation stand in the data.")
    report.figures["documentation"] = {
        "public": len(found),
        "documented": said,
        "missing": [
            {"file": path, "line": item.line, "name": _whole(item), "kind": item.kind} for path, item in missing[:_ROWS]
        ],
        "signatures": [
            {"file": path, "line": item.line, "name": _whole(item), "signature": item.signature, "doc": item.doc}
            for path, item in found[:_ROWS]
        ],
    }
    report.symbols += [_whole(item) for _, item in missing[:_SHOWN]]
    rows = tuple((item.signature, item.doc, f"{path}:{item.line}") for path, item in found[:_ROWS])
    columns = (Column(name="signature"), Column(name="says"), Column(name="place", kind="source"))
    if rows:
        report.tables.append(Table(title="Signatures", columns=columns, rows=rows, total_rows=len(found)))


def _is_public(path: str, item: Item) -> bool:
    """Whether others are meant to use it: by the rules of its language, as far as names and heads tell them."""
    if path.endswith(".rs"):
        return item.signature.startswith("pub ") or item.kind == "trait"
    if path.endswith(".go"):
        return item.name[:1].isupper()
    if item.signature.startswith(("private ", "protected ")) and path.endswith(TYPED):
        return False
    hidden = any(part.startswith(("_", "#")) for part in (*item.container.split("."), item.name))
    return not hidden and item.depth <= 1 and not (item.depth == 1 and item.kind == "function")


def _whole(item: Item) -> str:
    return f"{item.container}.{item.name}".lstrip(".")
