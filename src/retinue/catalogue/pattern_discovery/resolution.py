"""What a name leads to: an import to its file and symbol, and a fixture's name to the fixture that a test gets.

It goes by paths and imports alone and imports nothing. Fixtures follow pytest's own rules of nearness: class before
module, module before the `conftest.py` of its folder, that before those above it, then plugins. A fixture that asks for
its own name gets the next one further out. What pytest's settings may change is not known here.
"""

from collections.abc import Container, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Final

from retinue.catalogue.pattern_discovery.facts import FileFacts, Fixture
from retinue.tools.structure import python_names

__all__ = ["BUILT_IN", "FixtureUse", "Modules", "Scopes", "connect"]

BUILT_IN: Final = frozenset(
    {
        "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys", "doctest_namespace",
        "monkeypatch", "pytestconfig", "pytester", "record_property", "record_testsuite_property",
        "record_xml_attribute", "recwarn", "request", "subtests", "testdir", "tmp_path", "tmp_path_factory", "tmpdir",
        "tmpdir_factory",
    }
)  # fmt: skip
"""The fixtures that pytest itself has."""

_HOPS: Final = 8


class Modules:
    """The modules of one project. Where two files could be meant, the one nearer to the importer is.

    Args:
        files: The facts of all files, by path.
    """

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._files = files
        self._paths = {path for path in files if path.endswith(".py")}
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._paths):
            for name in python_names(path, self._paths):
                self._by_name.setdefault(name, []).append(path)
        self._bound: dict[str, dict[str, str]] = {}
        self._own: dict[str, set[str]] = {}

    def module(self, dotted: str, importer: str) -> str | None:
        """The file that is the module `dotted` when `importer` imports it."""
        if dotted.startswith("."):
            return self._relative(dotted, importer)
        paths = self._by_name.get(dotted, ())
        if len(paths) < 2:
            return next(iter(paths), None)
        return max(paths, key=lambda path: (_shared_folders(path, importer), -len(path)))

    def symbol(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The file and name of what `dotted` stands for, re-exports followed; None when it is not of this project."""
        for _ in range(_HOPS):
            place = self._split(dotted, importer)
            if place is None:
                return None
            path, name = place
            following = None if name in self._defines(path) else self._imports(path).get(name)
            if following is None:
                return place
            dotted, importer = following, path
        return None

    def _split(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The longest beginning of `dotted` that is a module, and the name after it."""
        lead = len(dotted) - len(dotted.lstrip("."))
        parts = dotted[lead:].split(".")
        for end in range(len(parts) - 1, -1 if lead else 0, -1):
            path = self.module(dotted[:lead] + ".".join(parts[:end]), importer)
            if path is not None:
                return path, parts[end]
        return None

    def _relative(self, dotted: str, importer: str) -> str | None:
        name = dotted.lstrip(".")
        folders = importer.split("/")[:-1]
        above = len(dotted) - len(name) - 1
        if above > len(folders):
            return None
        place = "/".join([*folders[: len(folders) - above], *(name.split(".") if name else [])])
        paths = (f"{place}.py", f"{place}/__init__.py".removeprefix("/"))
        return next((path for path in paths if path in self._paths), None)

    def _defines(self, path: str) -> set[str]:
        if path not in self._own:
            file = self._files[path]
            self._own[path] = {one.name for one in file.symbols} | {one.name for one in file.fixtures if not one.owner}
        return self._own[path]

    def _imports(self, path: str) -> dict[str, str]:
        if path not in self._bound:
            imports = self._files[path].imports
            bound = {one.bound: one.target for one in imports if one.bound != "*"}
            for one in imports:
                source = self.starred(one.target, path) if one.bound == "*" else None
                if source is not None and source != path:
                    bound = {name: f"{one.target.removesuffix('*')}{name}" for name in self._defines(source)} | bound
            self._bound[path] = bound
        return self._bound[path]

    def starred(self, target: str, importer: str) -> str | None:
        """The file that `from … import *` takes everything from."""
        stem = target.removesuffix("*")
        return self.module(stem.rstrip(".") or stem, importer)


def _shared_folders(one: str, other: str) -> int:
    pairs = zip(one.split("/")[:-1], other.split("/")[:-1], strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


@dataclass(slots=True, eq=False)
class FixtureUse:
    """A fixture, where it stands, and who asks for it.

    Attributes:
        asked_by: Tests and fixtures that name it, as path and name, with the line.
    """

    fixture: Fixture
    path: str
    asked_by: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    @property
    def place(self) -> str:
        """Its path and line."""
        return f"{self.path}:{self.fixture.line}"

    @property
    def files(self) -> list[str]:
        """The files from which it is asked for, sorted."""
        return sorted({path for path, _ in self.asked_by})


class Scopes:
    """Every fixture of a project by the place from which it can be seen.

    Args:
        files: The facts of all files, by path.
        modules: For fixtures that are imported, and for plugins.
    """

    def __init__(self, files: Mapping[str, FileFacts], modules: Modules) -> None:
        self.fixtures = [FixtureUse(one, path) for path, file in files.items() for one in file.fixtures]
        self._seen: dict[str, dict[str, FixtureUse]] = {}
        self._memo: dict[tuple[str, str, str], tuple[FixtureUse, ...]] = {}
        top = {(one.path, one.fixture.name): one for one in self.fixtures if not one.fixture.owner}
        names = {name for _, name in top}
        for one in self.fixtures:
            # The last definition of a name in a module is the one that counts, as in Python.
            self._names_seen(_scope_of(one.path, one.fixture.owner))[one.fixture.name] = one
        for path, file in files.items():
            for name, one in _imported(path, file, top, names, modules):
                self._names_seen(_scope_of(path, "")).setdefault(name, one)
            for source in {modules.module(plugin, path) for plugin in file.plugins}:
                self._names_seen("*").update({name: one for (where, name), one in top.items() if where == source})
        for (path, name), one in top.items():
            # A module that is neither test nor conftest gives its fixtures to those who install it as a plugin.
            if not path.endswith("conftest.py") and not files[path].tests:
                self._names_seen("**").setdefault(name, one)

    def resolve(self, name: str, path: str, owner: str) -> tuple[FixtureUse, ...]:
        """What `name` means in a class (or none) of a file: the nearest first, then those it hides."""
        key = (name, path, owner)
        if key not in self._memo:
            seen = (self._seen.get(scope, {}).get(name) for scope in _view(path, owner))
            self._memo[key] = tuple(dict.fromkeys(one for one in seen if one is not None))
        return self._memo[key]

    def below(self, one: FixtureUse) -> list[FixtureUse]:
        """The fixtures that a fixture asks for, as they are seen from where it stands."""
        seen = (self.resolve(name, one.path, one.fixture.owner) for name in one.fixture.depends_on)
        return [first for each in seen if (first := next((other for other in each if other is not one), None))]

    def _names_seen(self, scope: str) -> dict[str, FixtureUse]:
        return self._seen.setdefault(scope, {})


def connect(files: Mapping[str, FileFacts], scopes: Scopes) -> None:
    """Note on every fixture who asks for it.

    A test module may put its own fixture in place of the one that a `conftest.py` would give to another: it is asked
    for by that one, too.
    """
    for path, file in files.items():
        for case in file.tests:
            for one in [seen[0] for name in case.requests if (seen := scopes.resolve(name, path, case.owner))]:
                one.asked_by[path, case.qualified_name] = case.line
    hiding: dict[int, list[FixtureUse]] = {}
    for one in scopes.fixtures:
        for outer in scopes.resolve(one.fixture.name, one.path, one.fixture.owner)[1:2]:
            hiding.setdefault(id(outer), []).append(one)
    for one in scopes.fixtures:
        for below in scopes.below(one):
            instead = [
                inner
                for inner in hiding.get(id(below), ())
                if inner is not one and scopes.resolve(one.fixture.name, inner.path, inner.fixture.owner)[:1] == (one,)
            ]
            for each in (below, *instead):
                each.asked_by[one.path, one.fixture.name] = one.fixture.line


def _scope_of(path: str, owner: str) -> str:
    """The place from which a definition can be seen: a class, a file, or the folder of a `conftest.py`."""
    folder, _, name = path.rpartition("/")
    return f"{path}::{owner}" if owner else f"{folder}/" if name == "conftest.py" else path


def _view(path: str, owner: str) -> Iterator[str]:
    """The places that can be seen from one, nearest first."""
    while owner:
        yield f"{path}::{owner}"
        owner = owner.rpartition("::")[0]
    yield path
    folder = path.rpartition("/")[0]
    while folder:
        yield f"{folder}/"
        folder = folder.rpartition("/")[0]
    yield from ("/", "*", "**")


def _imported(
    path: str, file: FileFacts, top: Mapping[tuple[str, str], FixtureUse], names: Container[str], modules: Modules
) -> Iterable[tuple[str, FixtureUse]]:
    """The fixtures that a file imports from another: they can be seen from it as if it defined them."""
    for one in file.imports:
        if one.bound == "*":
            source = modules.starred(one.target, path)
            yield from ((name, each) for (where, name), each in top.items() if where == source)
        elif one.target.rpartition(".")[2] in names:  # most imports are of something else
            place = modules.symbol(one.target, path) or ("", "")
            yield from [(one.bound, top[place])] if place in top else []
