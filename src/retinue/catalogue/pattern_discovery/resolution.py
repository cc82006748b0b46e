"""What a name leads to: an import to its file and symbol, and a fixture's name to the fixture that a test gets.

It goes by paths and imports alone and imports nothing. Fixtures follow pytest's own rules of nearness: class before
module, module before the `conftest.py` of its folder, that before those above it; what is imported counts as defined.
A module that is neither test nor `conftest.py` gives its fixtures to all, as a plugin does, and where several could be
meant the nearest. A fixture that asks for its own name gets the next one further out. Pytest's settings are not read.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from posixpath import commonpath

from retinue.tools.structure import absolute_name, python_names

from .facts import FileFacts, Fixture, ImportBinding


class Modules:
    """The modules of one project, given by path. Where two files could be meant, the one nearer to the importer is."""

    def __init__(self, files: Mapping[str, FileFacts]) -> None:
        self._symbols = {
            path: {one.symbol for one in file.symbols} for path, file in files.items() if path.endswith(".py")
        }
        self._by_name: dict[str, list[str]] = {}
        for path in sorted(self._symbols):
            for name in python_names(path, self._symbols):
                self._by_name.setdefault(name, []).append(path)
        self._bound = {path: self._imports(path, files[path].imports) for path in self._symbols}

    def symbol(self, dotted: str, importer: str) -> tuple[str, str] | None:
        """The file and name of what `dotted` stands for, re-exports followed; None when it is not of this project."""
        for _ in range(8):  # so that circles end
            parts = absolute_name(dotted, importer).split(".")
            ends = range(len(parts) - 1, 0, -1)  # the longest beginning that is a module, and the name after it
            splits = ((self._module(".".join(parts[:end]), importer), parts[end]) for end in ends)
            path, name = next((one for one in splits if one[0] is not None), (None, ""))
            if path is None:
                return None
            target = None if name in self._symbols[path] else self._bound[path].get(name)
            if target is None:
                return path, name
            dotted, importer = target, path
        return None

    def _module(self, dotted: str, importer: str) -> str | None:
        paths = self._by_name.get(dotted, ())
        return max(paths, key=lambda path: (len(commonpath((path, importer))), -len(path)), default=None)

    def _imports(self, path: str, imports: Sequence[ImportBinding]) -> dict[str, str]:
        """What the names that a file imports stand for."""
        stars = [absolute_name(one.target, path).removesuffix(".*") for one in imports if one.bound == "*"]
        sources = [(star, self._module(star, path)) for star in stars]
        names = {name: f"{star}.{name}" for star, source in sources for name in self._symbols.get(source or "", ())}
        return names | {one.bound: one.target for one in imports}


@dataclass(slots=True, eq=False)
class FixtureUse:
    """A fixture, where it stands, and who asks for it.

    Attributes:
        requested_by: Tests and fixtures that name it, as path and name, with the line.
    """

    fixture: Fixture
    path: str
    requested_by: dict[tuple[str, str], int] = field(default_factory=dict[tuple[str, str], int])

    @property
    def files(self) -> list[str]:
        """The files from which it is asked for, sorted."""
        return sorted({path for path, _ in self.requested_by})


def _start(path: str, file: FileFacts) -> str:
    """How the places begin from which a module's fixtures can be seen."""
    if path.rpartition("/")[2] == "conftest.py":
        return f"/{path.removesuffix('conftest.py')}"
    return node_of(path, "") if file.tests else ""


def node_of(path: str, owner: str) -> str:
    """A file or a class in it as one text, which begins with that of whatever is around it."""
    return f"/{path}::{owner}::" if owner else f"/{path}::"


class Scopes:
    """Every fixture of a project by the place from which it can be seen, and who asks for it."""

    def __init__(self, files: Mapping[str, FileFacts], modules: Modules) -> None:
        self.fixtures = [FixtureUse(one, path) for path, file in files.items() for one in file.fixtures]
        self._by_name: dict[str, dict[tuple[str, str], FixtureUse]] = {}
        self._cache: dict[tuple[str, str], list[FixtureUse]] = {}
        top = {(one.path, one.fixture.name): one for one in self.fixtures if not one.fixture.owner}
        for one in self.fixtures:
            start = node_of(one.path, one.fixture.owner) if one.fixture.owner else _start(one.path, files[one.path])
            # The last definition of a name in a module is the one that counts, as in Python.
            self._by_name.setdefault(one.fixture.name, {})[start, one.path] = one
        names = {*self._by_name}
        for path, file in files.items():
            for one in file.imports:  # most are of something else
                place = modules.symbol(one.target, path) if one.target.rpartition(".")[2] in names else None
                if place in top:
                    self._by_name.setdefault(one.bound, {})[_start(path, file), path] = top[place]
        self._connect(files)

    def resolve(self, name: str, node: str) -> list[FixtureUse]:
        """What `name` means at a place: the nearest first, then those it hides."""
        if (name, node) not in self._cache:
            matches = [
                (len(start), len(commonpath((f"/{path}", node))), one)
                for (start, path), one in self._by_name.get(name, {}).items()
                if node.startswith(start)
            ]
            self._cache[name, node] = [one for *_, one in sorted(matches, key=lambda each: each[:2], reverse=True)]
        return self._cache[name, node]

    def dependencies_of(self, one: FixtureUse, node: str = "") -> list[FixtureUse]:
        """The fixtures that a fixture asks for, as they are seen from a place, or from where it stands."""
        fixtures: list[FixtureUse] = []
        for name in one.fixture.depends_on:
            candidates = self.resolve(name, node or node_of(one.path, one.fixture.owner))
            fixtures += candidates[candidates.index(one) + 1 :][:1] if one in candidates else candidates[:1]
        return fixtures

    def _connect(self, files: Mapping[str, FileFacts]) -> None:
        """Note on every fixture who asks for it.

        What a fixture asks for is looked up from each test that gets it, as pytest does: a module may put its own
        fixture in place of the one that a `conftest.py` would give to another.
        """
        waiting = [(one, node_of(one.path, one.fixture.owner)) for one in self.fixtures]
        for path, file in files.items():
            for case in file.tests:
                node = node_of(path, case.owner)
                for one in [each for name in case.requests for each in self.resolve(name, node)[:1]]:
                    one.requested_by[path, case.name] = case.line
                    waiting.append((one, node))
        visited: set[tuple[FixtureUse, str]] = set()
        while waiting:
            one, node = waiting.pop()
            if (one, node) not in visited:
                visited.add((one, node))
                for dependency in self.dependencies_of(one, node):
                    dependency.requested_by[one.path, one.fixture.name] = one.fixture.line_start
                    waiting.append((dependency, node))
