"""`pattern_discovery`: what a project already has that new tests and code can build on (G5, G6, G7, G8).

It reads Python by its syntax tree, feature files and documents by their lines, and counts who uses what. It runs
nothing of the project, and judges no quality.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .agent import PatternDiscovery

__all__ = ["PatternDiscovery"]


def __getattr__(name: str) -> object:
    # Late, because a worker process imports `extract` from here and needs none of what an agent needs.
    if name == "PatternDiscovery":
        from .agent import PatternDiscovery  # noqa: PLC0415 - see above

        return PatternDiscovery
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
