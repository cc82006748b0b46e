"""The requirement rows of this folder, and the tests that carry their ids.

Rows are the TOML files beside this module. Tests name rows with `@pytest.mark.requirement("K17", "C15")`, on a function, on a
class, or for a whole module in `pytestmark`; a case file under `cases/` names them by `rows`. The ids are read from the
source, so a partial test run sees them all.
It is deliberately not part of the package: nothing in `src` knows the rows.
"""

import ast
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

__all__ = ["IDS", "INFORMATIVE", "STATUSES", "Row", "disagreements", "read_rows", "read_tests"]

FOLDER = Path(__file__).resolve().parent
TESTS = FOLDER.parent
STATUSES = ("built", "in part", "not built", "informative")


def _ids(letter: str, first: int, last: int) -> tuple[str, ...]:
    return tuple(f"{letter}{number}" for number in range(first, last + 1))


IDS: Mapping[str, tuple[str, ...]] = {
    "spec_000": _ids("A", 1, 31) + _ids("G", 17, 21),
    "spec_001": _ids("B", 1, 28) + _ids("G", 22, 24),
    "spec_002": _ids("H", 1, 31),
    "spec_003": _ids("K", 1, 36) + _ids("G", 1, 16),
    "spec_004": _ids("P", 1, 21) + _ids("G", 25, 25),
    "disagreements": _ids("C", 1, 47),
}
"""Which file holds which rows."""

INFORMATIVE = frozenset({"A1", "A26", "A29", "B18", "H10", "P16"})
"""Rows that are background: nobody can build them, and no test is owed."""


@dataclass(frozen=True, slots=True)
class Row:
    """One row: what is asked for, how much of it is there, and by which commands or public calls a user reaches it."""

    id: str
    file: str
    title: str
    status: str
    missing: str = ""
    by: tuple[str, ...] = ()


def read_rows(folder: Path = FOLDER) -> tuple[Row, ...]:
    """Read every row of every TOML file in `folder`."""
    return tuple(
        Row(
            id=row_id,
            file=path.stem,
            title=fields.pop("title", ""),
            status=fields.pop("status", ""),
            missing=fields.pop("missing", ""),
            by=(by,) if isinstance(by := fields.pop("by", ()), str) else tuple(by),
            **fields,
        )
        for path in sorted(folder.glob("*.toml"))
        for row_id, fields in tomllib.loads(path.read_text(encoding="utf-8")).items()
    )


def read_tests(folder: Path = TESTS) -> dict[str, tuple[str, ...]]:
    """Say for each row id which tests under `folder` carry it, as `path::name`; a case as `path: name`."""
    found: dict[str, list[str]] = defaultdict(list)
    for path in sorted(folder.rglob("test_*.py")):
        where = path.relative_to(folder).as_posix()
        for name, ids in _marked(ast.parse(path.read_text(encoding="utf-8"))):
            for row_id in ids:
                found[row_id].append(f"{where}::{name}")
    for path in sorted(folder.rglob("cases/*.json")):
        for case in json.loads(path.read_text(encoding="utf-8")):
            for row_id in case.get("rows", ()):
                found[row_id].append(f"{path.relative_to(folder).as_posix()}: {case['name']}")
    return {row_id: tuple(tests) for row_id, tests in sorted(found.items())}


def disagreements(rows: tuple[Row, ...], tests: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
    """List every row whose status and whose tests tell different stories, one sentence each."""
    known = {row.id for row in rows}
    findings = [f"{row_id}: no such row, named by {names[0]}" for row_id, names in tests.items() if row_id not in known]
    for row in rows:
        carried = tests.get(row.id, ())
        if row.status in {"built", "in part"} and not carried:
            findings.append(f"{row.id} ({row.title}): said to be {row.status}, but no test carries it")
        if row.status in {"not built", "informative"} and carried:
            findings.append(f"{row.id} ({row.title}): said to be {row.status}, but carried by {carried[0]}")
        if (row.status == "in part") != bool(row.missing):
            findings.append(f"{row.id} ({row.title}): `missing` belongs to rows that are in part, and to all of those")
        if (row.status in {"built", "in part"}) != bool(row.by):
            findings.append(f"{row.id} ({row.title}): `by` belongs to rows of which a user reaches something")
    return tuple(findings)


def _marked(module: ast.Module) -> Iterator[tuple[str, tuple[str, ...]]]:
    for node in module.body:
        if isinstance(node, ast.Assign) and any(isinstance(t, ast.Name) and t.id == "pytestmark" for t in node.targets):
            yield "pytestmark", _row_ids(node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, _decorated(node)
        elif isinstance(node, ast.ClassDef):
            yield node.name, _decorated(node)
            for member in node.body:
                if isinstance(member, ast.FunctionDef | ast.AsyncFunctionDef):
                    yield f"{node.name}::{member.name}", _decorated(member)


def _decorated(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef) -> tuple[str, ...]:
    return tuple(row_id for decorator in node.decorator_list for row_id in _row_ids(decorator))


def _row_ids(expression: ast.expr) -> tuple[str, ...]:
    """The ids in every `pytest.mark.requirement(...)` anywhere in `expression` (also inside a list, or a `pytest.param`)."""
    return tuple(
        ast.literal_eval(argument)
        for call in ast.walk(expression)
        if isinstance(call, ast.Call) and ast.unparse(call.func).endswith("mark.requirement")
        for argument in call.args
    )
