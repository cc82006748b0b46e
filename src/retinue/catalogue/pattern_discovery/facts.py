"""What one file holds that could be used again: tuples of text and numbers, for other processes and for a cache.

What they mean in a project (who uses what) is worked out elsewhere, because it changes when another file does.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple

VERSION: Final = 4
"""Of the extraction: raised whenever the same file would give other facts, so that no old ones are believed."""


class Fixture(NamedTuple):
    """A pytest fixture. Lines count from 1, the decorators included, as `pytest --fixtures -v` shows them.

    Attributes:
        owner: The class it is defined in (`A::B` when nested); empty in a module.
        scope: `function` unless it says otherwise; `dynamic` when a function decides.
        yields: What a test gets: its annotation, else the constructor or expression it yields or returns.
        depends_on: The fixtures it asks for by name.
    """

    name: str
    owner: str
    line_start: int
    line_end: int
    doc: str
    scope: str
    autouse: bool
    params: Sequence[str]
    yields: str
    depends_on: Sequence[str]


class CaseFacts(NamedTuple):
    """A test function or method.

    Attributes:
        name: With its class's before it.
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


class StepSentence(NamedTuple):
    """A step as code, with how its text is read (`exact`, `parse` or `re`), or a line of a `.feature` file."""

    kind: str
    text: str
    line: int
    form: str = "exact"


class PublicSymbol(NamedTuple):
    """A public function or class of a module."""

    symbol: str
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
        phrases: The lines of a `.feature` file.
        dotted: What is used through imported modules, as `module.name`.
    """

    error: str = ""
    error_line: int = 0
    fixtures: Sequence[Fixture] = ()
    tests: Sequence[CaseFacts] = ()
    steps: Sequence[StepSentence] = ()
    phrases: Sequence[StepSentence] = ()
    symbols: Sequence[PublicSymbol] = ()
    imports: Sequence[ImportBinding] = ()
    dotted: Sequence[str] = ()
    rules: Sequence[RuleSentence] = ()
