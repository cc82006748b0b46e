"""Lint over a tree of files: what each says by itself, what they owe each other, and what changed since.

Gathers and places; the rules themselves are in `contract.lint`. Nothing that is looked at is imported or run.
"""

from .earlier import definitions_at_revision, definitions_in_folder
from .files import ENDINGS, File
from .mend import apply_fixes
from .tree import LintReport, collect_files, lint_tree

__all__ = ["ENDINGS", "File", "LintReport", "definitions_at_revision", "collect_files", "definitions_in_folder", "lint_tree", "apply_fixes"]
