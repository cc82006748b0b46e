"""What is known of one source file's structure, as values that go into JSON and back."""

from collections.abc import Sequence
from typing import Any, Literal, NamedTuple, TypeAlias, cast

When: TypeAlias = Literal["always", "deferred", "typing"]
"""`deferred`: when a function runs; `typing`: for a type checker only, never when the program runs."""


class ModuleImport(NamedTuple):
    """One thing that a file asks for, as it is written there.

    Attributes:
        target: A dotted name with its leading dots, a module specifier, a path with `::`, or an import path.
        names: What is taken out of it; it may be modules of their own (Python).
        line: From 1.
    """

    target: str
    names: tuple[str, ...]
    line: int
    when: When = "always"


class Function(NamedTuple):
    """One function or method, with the number of paths through it (McCabe); what is nested counts for itself."""

    name: str
    line: int
    complexity: int


class Structure(NamedTuple):
    """What was read of one file.

    Attributes:
        loose: Decisions outside of any function.
        lines: How many are not blank.
        error: Why it could not be read; empty when it could.
        error_line: Where, from 1; 0 when that is not known.
    """

    imports: tuple[ModuleImport, ...] = ()
    functions: tuple[Function, ...] = ()
    loose: int = 0
    lines: int = 0
    error: str = ""
    error_line: int = 0

    @property
    def complexity(self) -> int:
        """Of the whole file: of its functions, and the decisions outside of them."""
        return self.loose + sum(one.complexity for one in self.functions)

    @classmethod
    def from_row(cls, row: Sequence[Any]) -> "Structure":
        """The structure whose JSON form is `row`.

        Raises:
            TypeError: It is not one.
            ValueError: It is not one.
        """
        imports, functions, loose, lines, error, error_line = row
        return cls(
            tuple(
                ModuleImport(target, tuple(names), line, cast("When", when)) for target, names, line, when in imports
            ),
            tuple(Function(*one) for one in functions),
            int(loose),
            int(lines),
            str(error),
            int(error_line),
        )
