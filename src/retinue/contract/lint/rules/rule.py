"""What there is to say about one rule."""

from dataclasses import dataclass

from retinue.contract.finding import Severity


@dataclass(frozen=True, slots=True)
class LintRule:
    """One rule.

    Attributes:
        id: Stable: findings carry it, and people look up and silence by it. One without a slash stands for all whose
            id begins with it, as `schema` for `schema/type`.
        title: What it asks for, one sentence.
        why: What goes wrong otherwise.
        rows: The requirement rows it comes from.
        wrong: An example that breaks it.
        right: The same, mended.
    """

    id: str
    severity: Severity
    title: str
    why: str
    rows: tuple[str, ...] = ()
    wrong: str = ""
    right: str = ""
