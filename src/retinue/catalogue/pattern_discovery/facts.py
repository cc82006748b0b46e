"""What one file holds that could be used again, as small plain facts.

They travel between processes and lie in a cache, so they are tuples of text and numbers: nothing of a syntax tree is
kept. What they mean in a project (who uses what) is worked out elsewhere, because it changes when another file does.
"""

from collections.abc import Sequence
from typing import Any, Final, NamedTuple

__all__ = [
    "VERSION", "CaseFacts", "FileFacts", "Fixture", "ImportBinding", "Phrase", "PublicSymbol", "RuleSentence",
    "StepDefinition",
]  # fmt: skip

VERSION: Final = 3
"""Of the extraction: raised whenever the same file would give other facts, so that no old ones are believed."""


class Fixture(NamedTuple):
    """A pytest fixture. Lines count from 1, the decorators included, as `pytest --fixtures -v` shows them.

    Attributes:
        owner: The class it is defined in (`A::B` when nested); empty in a module.
        scope: `function` unless it says otherwise; `dynamic` when a function decides.
        gives: What a test gets: its annotation, else the constructor or expression it yields or returns.
        depends_on: The fixtures it asks for by name.
    """

    name: str
    owner: str
    line: int
    end: int
    doc: str
    scope: str
    autouse: bool
    params: Sequence[str]
    gives: str
    tears_down: bool
    depends_on: Sequence[str]


class CaseFacts(NamedTuple):
    """A test function or method.

    Attributes:
        requests: Its parameters, and the fixtures that `usefixtures` names for it, its class or its module. Some are
            filled otherwise (`parametrize`, mocks, Hypothesis), and lead to no fixture.
        patterns: How it is written: `parametrize`, `mock`, `aaa`, `class`, `unittest`, `raises`, `property`.
        mocks: By what it replaces things: `monkeypatch`, `patch`, `MagicMock`, …
        words: The names it uses.
    """

    name: str
    owner: str
    line: int
    end: int
    doc: str
    requests: Sequence[str]
    patterns: Sequence[str]
    mocks: Sequence[str]
    asserts: int
    words: Sequence[str]

    @property
    def qualified_name(self) -> str:
        """Its name, with its class's before it."""
        return f"{self.owner}::{self.name}" if self.owner else self.name


class StepDefinition(NamedTuple):
    """A step of behaviour-driven tests, as code. `form` says how its text is read: `exact`, `parse` or `re`."""

    kind: str
    text: str
    form: str
    line: int


class Phrase(NamedTuple):
    """A line of a `.feature` file that wants a step."""

    kind: str
    text: str
    line: int


class PublicSymbol(NamedTuple):
    """A public function or class of a module."""

    name: str
    signature: str
    doc: str
    line: int


class ImportBinding(NamedTuple):
    """A name bound by an import.

    Attributes:
        bound: The name; `*` binds all.
        target: What it stands for, with leading dots when relative.
        used: Whether the file itself uses the name, and does not only hand it on.
    """

    bound: str
    target: str
    used: bool = True


class RuleSentence(NamedTuple):
    """A sentence of a document that says what must not be done."""

    text: str
    line: int


class FileFacts(NamedTuple):
    """All of one file.

    Attributes:
        error: Why it could not be read, with its line (0 when it has none); empty when it could.
        dotted: What is used through imported modules, as `module.name`.
        plugins: The modules that `pytest_plugins` names.
    """

    error: str = ""
    error_line: int = 0
    fixtures: Sequence[Fixture] = ()
    tests: Sequence[CaseFacts] = ()
    steps: Sequence[StepDefinition] = ()
    phrases: Sequence[Phrase] = ()
    symbols: Sequence[PublicSymbol] = ()
    imports: Sequence[ImportBinding] = ()
    dotted: Sequence[str] = ()
    plugins: Sequence[str] = ()
    rules: Sequence[RuleSentence] = ()

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "FileFacts":
        """Facts as they were written to JSON, where every tuple is a list.

        Raises:
            TypeError: It is no such row.
            ValueError: The same.
        """
        kinds = (
            None,
            None,
            Fixture,
            CaseFacts,
            StepDefinition,
            Phrase,
            PublicSymbol,
            ImportBinding,
            None,
            None,
            RuleSentence,
        )
        values: list[Any] = [
            value if kind is None else [kind(*one) for one in value] for kind, value in zip(kinds, row, strict=True)
        ]
        return cls(*values)
