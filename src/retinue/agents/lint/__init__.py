"""Lint over a tree of files: what each says by itself, what they owe each other, and what changed since.

Gathers and places; the rules themselves are in `contract.lint`. Nothing that is looked at is imported or run.
"""

from .revision import definitions_at_revision, definitions_in_folder
from .source_files import ENDINGS, File
from .tree import LintReport, apply_fixes, collect_files, lint_tree

__all__ = [
    "ENDINGS",
    "File",
    "LintReport",
    "apply_fixes",
    "collect_files",
    "definitions_at_revision",
    "definitions_in_folder",
    "lint_tree",
]
