"""What source files import and how their functions branch: Python by its syntax tree, others by tree-sitter.

One file at a time and nothing resolved: which file an import leads to is for whoever knows them all.
"""

from retinue.tools.structure.extract import is_source, structure_of
from retinue.tools.structure.records import Function, Import, Structure, When

__all__ = ["Function", "Import", "Structure", "When", "is_source", "structure_of"]
