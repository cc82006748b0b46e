"""The names that the code of a tree defines: facts, for telling whether a word of a request is one.

Python is read by patterns, a thousand files in a fifth of a second; what they take for a definition by mistake costs
nothing. Other languages are outlined, as long as there is time. All is kept between runs, by file.
"""

import re
import time
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final, NamedTuple

from retinue.catalogue._content_cache import ContentCache, content_key
from retinue.contract.facts import Facts
from retinue.errors import NotInstalled, RetinueError
from retinue.tools.search.passages import is_test
from retinue.tools.tree import list_files
from retinue.tools.workspace import Workspace

TYPESCRIPT_SUFFIXES: Final = (".ts", ".mts", ".cts", ".tsx")
OUTLINE_SUFFIXES: Final = (".py", ".pyi", ".js", ".mjs", ".cjs", ".jsx", *TYPESCRIPT_SUFFIXES, ".rs", ".go")
"""How the files end whose definitions are read."""
_VERSION: Final = 1
_TIMEOUT_S: Final = 1.0
_MAX_FILE: Final = 256 * 1024  # bytes; a larger file is made by a program
_MAX_SYMBOLS: Final = 5_000
_MAX_FIXTURES: Final = 2_000
_DEFINITION: Final = re.compile(r"^( {4}|\t)?(?:(class)|(?:async )?def) +(\w+)", re.MULTILINE)
_OPTIONS: Final = r"\((?P<options>[^()]{0,300}(?:\([^()]{0,300}\)[^()]{0,300}){0,2})\)"
_FIXTURE: Final = re.compile(
    rf"^[ \t]*@(?:\w+\.)*fixture\b(?:{_OPTIONS})?\s*\n(?:[ \t]*@[^\n]*\n){{0,8}}[ \t]*(?:async )?def (?P<name>\w+)",
    re.MULTILINE,
)
_NAME_ARGUMENT: Final = re.compile(r"\bname\s*=\s*[\"'](\w+)")
_TEST: Final = re.compile(r"^[ \t]*(?:async )?def test\w*\(([^)]{0,1000})\)", re.MULTILINE)
_IMPORT: Final = re.compile(r"^[ \t]*from +[\w.]+ +import +(?:\(([^)]{0,2000})\)|([^\n]+))", re.MULTILINE)
_PARAMETER: Final = re.compile(r"(\w+)[^,]*")
_WORD: Final = re.compile(r"\w+")


class FileNames(NamedTuple):
    """The names in one file.

    Attributes:
        members: Defined one level below the tops, with the name of what they are part of.
        fixtures: Of pytest.
        uses: Parameters of tests, and what is imported by name; once for each use.
    """

    tops: list[str]
    members: list[str]
    fixtures: list[str]
    uses: list[str]


def symbol_facts(workspace: Workspace, cache_dir: Path | None) -> Facts:
    """The names that the code here defines: the product's before its tests', the tops of files before the rest."""
    files, is_complete = read_names(workspace, cache_dir)
    order = [(is_beside, depth) for is_beside in (False, True) for depth in (0, 1)]
    groups = (
        one[depth] for beside, depth in order for path, one in files.items() if is_test_or_vendored(path) is beside
    )
    symbols = tuple(dict.fromkeys(name for names in groups for name in names))
    return Facts(names={"symbol": symbols[:_MAX_SYMBOLS]}, is_complete=is_complete and len(symbols) < _MAX_SYMBOLS)


def fixture_facts(workspace: Workspace, cache_dir: Path | None) -> Facts:
    """The names of fixtures, and of what tests may use of the product; those that are used most come first."""
    files, is_complete = read_names(workspace, cache_dir)
    uses = Counter(name for one in files.values() for name in one.uses)
    product = [one for path, one in files.items() if path.endswith(".py") and not is_test(path)]
    names = {
        "fixture": {name for one in files.values() for name in one.fixtures},
        "symbol": {name for one in product for name in one.tops if not name.startswith("_")},
    }
    first = {kind: sorted(every, key=lambda name: (-uses[name], name))[:_MAX_FIXTURES] for kind, every in names.items()}
    is_complete = is_complete and all(len(every) <= _MAX_FIXTURES for every in names.values())
    return Facts(names={kind: tuple(every) for kind, every in first.items()}, is_complete=is_complete)


def read_names(workspace: Workspace, cache_dir: Path | None) -> tuple[Mapping[str, FileNames], bool]:
    """The names in each file of code, and whether there was time for all."""
    end = time.monotonic() + _TIMEOUT_S
    cache = ContentCache(
        cache_dir, str(workspace.root), prefix="names", version=_VERSION, decode=lambda row: FileNames(*row)
    )
    new: dict[str, FileNames] = {}
    keys: list[str] = []
    names_by_path: dict[str, FileNames] = {}
    entries = [entry for entry in list_files(workspace).files if entry.path.endswith(OUTLINE_SUFFIXES)]
    for entry in entries:
        # Size and time stand for the content: reading every file would cost what the cache saves.
        key = content_key("names", repr((entry.path, entry.size, entry.mtime_ns)).encode())
        names = cache.get(key)
        if names is None and time.monotonic() <= end:
            try:
                if entry.path.endswith((".py", ".pyi")):
                    names = _names_of(workspace.read_text(entry.path, max_bytes=_MAX_FILE))
                else:
                    from retinue.tools.outline import outline_of  # noqa: PLC0415 - Python needs none

                    items = outline_of(workspace, entry.path).items
                    tops, members = ([one.qualified_name for one in items if one.depth == depth] for depth in (0, 1))
                    names = FileNames(tops, members, [], [])
            except NotInstalled:  # without a grammar nothing is known of it
                continue
            except RetinueError:
                names = FileNames([], [], [], [])
            new[key] = names
        if names is not None:
            keys.append(key)
            names_by_path[entry.path] = names
    cache.save(new, keys)
    return names_by_path, len(names_by_path) == len(entries)


def _names_of(text: str) -> FileNames:
    names = FileNames([], [], [], [])
    owner = ""
    for match in _DEFINITION.finditer(text):
        inside, is_class, name = match.groups()
        if not inside:
            names.tops.append(name)
            owner = name if is_class else ""
        elif owner:
            names.members.append(f"{owner}.{name}")
    if "fixture" in text:
        for match in _FIXTURE.finditer(text):
            explicit_name = _NAME_ARGUMENT.search(match["options"] or "")
            names.fixtures.append(explicit_name[1] if explicit_name else match["name"])
    names.uses.extend(name for match in _TEST.finditer(text) for name in _PARAMETER.findall(match[1]))
    names.uses.extend({name for match in _IMPORT.finditer(text) for name in _WORD.findall(match[1] or match[2])})
    return names


_TEST_OR_VENDORED: Final = re.compile(
    r"(?:^|/)(?:tests?|__tests__|testing|specs?|examples?|bench|benchmarks?|fixtures|vendor|third_party)/"
    r"|(?:^|/)(?:test_[^/]*|[^/]*_test|conftest)\.\w+\Z"
    r"|\.(?:test|spec)\.[cm]?[jt]sx?\Z",
    re.IGNORECASE,
)


def is_test_or_vendored(path: str) -> bool:
    """Whether a file (or, with a `/` at its end, a folder) only tests, shows or measures the product."""
    return _TEST_OR_VENDORED.search(path) is not None
