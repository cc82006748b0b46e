"""Lint over a tree of files: what each says by itself, what they owe each other, and what changed since.

Gathers and places; the rules themselves are in `contract.lint`. Nothing that is looked at is imported or run.
"""

from .earlier import at_revision, in_folder
from .files import ENDINGS, File
from .mend import mend
from .tree import Linted, gather, lint_tree

__all__ = ["ENDINGS", "File", "Linted", "at_revision", "gather", "in_folder", "lint_tree", "mend"]
