"""Which fixture a name means where it is asked for: pytest's own rules of nearness, from paths and imports alone.

Class before module, module before the `conftest.py` of its folder, that before those above it, then plugins.
A fixture that asks for its own name gets the next one further out. What pytest's settings may change is not known here.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Final

from retinue.catalogue.pattern_discovery.facts import Case, FileFacts, Fixture
from retinue.catalogue.pattern_discovery.modules import Modules

__all__ = ["BUILT_IN", "Known", "Scopes", "connect"]

BUILT_IN: Final = frozenset(
    {
        "cache", "capfd", "capfdbinary", "caplog", "capsys", "capsysbinary", "capteesys", "doctest_namespace",
        "monkeypatch", "pytestconfig", "pytester", "record_property", "record_testsuite_property",
        "record_xml_attribute", "recwarn", "request", "subtests", "testdir", "tmp_path", "tmp_path_factory", "tmpdir",
        "tmpdir_factory",
    }
)  # fmt: skip
"""The fixtures that pytest itself has."""


@dataclass(slots=True, eq=False)
class Known:
    """A fixture, where it stands, and who asks for it.

    Attributes:
        asked_by: Tests and fixtures that name it, as `path`, name and line.
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
        facts: Of all files.
        modules: For fixtures that are imported, and for plugins.
    """

    def __init__(self, facts: Mapping[str, FileFacts], modules: Modules) -> None:
        self.fixtures = [Known(one, path) for path, file in facts.items() for one in file.fixtures]
        self._seen: dict[str, dict[str, Known]] = {}
        self._memo: dict[tuple[str, str, str], tuple[Known, ...]] = {}
        self._autouse: dict[tuple[str, str], list[Known]] = {}
        top = {(one.path, one.fixture.name): one for one in self.fixtures if not one.fixture.owner}
        for one in self.fixtures:
            self._see(_scope_of(one.path, one.fixture.owner), one)
        for path, file in facts.items():
            for name, one in _imported(path, file, top, modules):
                self._seen.setdefault(_scope_of(path, ""), {}).setdefault(name, one)
            for plugin in file.plugins:
                source = modules.module(plugin, path)
                self._everywhere(facts, source)
        for one in self.fixtures:
            # A module that is neither test nor conftest gives its fixtures to those who install it as a plugin.
            if not one.fixture.owner and not one.path.endswith("conftest.py") and not facts[one.path].tests:
                self._seen.setdefault("**", {}).setdefault(one.fixture.name, one)

    def resolve(self, name: str, path: str, owner: str) -> tuple[Known, ...]:
        """What `name` means in a class (or none) of a file: the nearest first, then those it hides."""
        key = (name, path, owner)
        if key not in self._memo:
            found = (self._seen.get(scope, {}).get(name) for scope in _view(path, owner))
            self._memo[key] = tuple(dict.fromkeys(one for one in found if one is not None))
        return self._memo[key]

    def settled(self, path: str, owner: str) -> tuple[str, str]:
        """The widest place from which the same is seen: most classes and files have no fixtures of their own."""
        while owner and f"{path}::{owner}" not in self._seen:
            owner = owner.rpartition("::")[0]
        if not owner and path not in self._seen:
            path = f"{path.rpartition('/')[0]}/"
        return path, owner

    def autouse(self, path: str, owner: str) -> list[Known]:
        """The fixtures that every test there gets without asking."""
        key = (path, owner)
        if key not in self._autouse:
            inner = [*_view(path, owner)][:-1]
            self._autouse[key] = [
                one for scope in inner for one in self._seen.get(scope, {}).values() if one.fixture.autouse
            ]
        return self._autouse[key]

    def _everywhere(self, facts: Mapping[str, FileFacts], source: str | None) -> None:
        if source is not None and source in facts:
            for one in self.fixtures:
                if one.path == source and not one.fixture.owner:
                    self._see("*", one)

    def _see(self, scope: str, one: Known) -> None:
        # The last definition of a name in a module is the one that counts, as in Python.
        self._seen.setdefault(scope, {})[one.fixture.name] = one


def connect(
    facts: Mapping[str, FileFacts], scopes: Scopes, *, check: Callable[[], None] = lambda: None
) -> dict[str, list[tuple[str, Case]]]:
    """Note on every fixture who asks for it; gives the names that nothing in the project defines, with who asks.

    A fixture that asks for another is followed from each test that gets it, because a test module may put its own in
    place of what a `conftest.py` would give; and from where it stands, for those that no test gets.
    """
    unknown: dict[str, list[tuple[str, Case]]] = {}
    followed: set[tuple[int, str, str]] = set()
    for path, file in facts.items():
        for case in file.tests:
            check()
            place = scopes.settled(path, case.owner)
            for name in case.requests:
                found = scopes.resolve(name, *place)
                if found:
                    found[0].asked_by[path, _qualified(case)] = case.line
                    _follow(found[0], place, scopes, followed)
                elif name not in BUILT_IN:
                    unknown.setdefault(name, []).append((path, case))
            for one in scopes.autouse(*place):
                _follow(one, place, scopes, followed)
    for one in scopes.fixtures:
        _follow(one, scopes.settled(one.path, one.fixture.owner), scopes, followed)
    return unknown


def _follow(start: Known, place: tuple[str, str], scopes: Scopes, followed: set[tuple[int, str, str]]) -> None:
    """Note what a fixture asks for when a test of that place gets it, and what those ask for."""
    waiting = [start]
    while waiting:
        one = waiting.pop()
        key = (id(one), *place)
        if key in followed:
            continue
        followed.add(key)
        for name in one.fixture.depends_on:
            found = scopes.resolve(name, *place)
            if name == one.fixture.name:
                found = found[found.index(one) + 1 :] if one in found else tuple(x for x in found if x is not one)
            if found:
                found[0].asked_by[one.path, one.fixture.name] = one.fixture.line
                waiting.append(found[0])


def _qualified(case: Case) -> str:
    return f"{case.owner}::{case.name}" if case.owner else case.name


def _scope_of(path: str, owner: str) -> str:
    """The place from which a definition can be seen: a class, a file, or the folder of a `conftest.py`."""
    if owner:
        return f"{path}::{owner}"
    folder, _, name = path.rpartition("/")
    return f"{folder}/" if name == "conftest.py" else path


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
    yield "/"
    yield "*"
    yield "**"


def _imported(
    path: str, file: FileFacts, top: Mapping[tuple[str, str], Known], modules: Modules
) -> Iterable[tuple[str, Known]]:
    """The fixtures that a file imports from another: they can be seen from it as if it defined them."""
    for one in file.imports:
        if one.bound == "*":
            source = modules.module(one.target.removesuffix("*").rstrip(".") or one.target.removesuffix("*"), path)
            yield from ((name, found) for (where, name), found in top.items() if where == source)
        elif (place := modules.symbol(one.target, path)) is not None and place in top:
            yield one.bound, top[place]
