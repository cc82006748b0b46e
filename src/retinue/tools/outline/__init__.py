"""Outlines of source files by tree-sitter: Python, JavaScript, TypeScript, Rust and Go.

Names, signatures, documentation, line ranges and complexity of what one file defines, also when it is broken. Nothing
is resolved across files: that is what `tools.lsp` is for.
"""

from .builder import FileOutline, OutlineItem, OutlineTool, outline, outline_of
from .grammars import ItemKind, Language, language_for

__all__ = ["FileOutline", "ItemKind", "Language", "OutlineItem", "OutlineTool", "language_for", "outline", "outline_of"]
