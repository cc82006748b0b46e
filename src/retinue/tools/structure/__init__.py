"""The structure of a project: what its files import and how their functions branch, which files that leads to, circles.

Python is read by its syntax tree, others by tree-sitter; imports are followed by the names of files alone, so that
nothing is run.
"""

from retinue.tools.structure.cycles import circles, tangles
from retinue.tools.structure.extract import is_source, structure_of
from retinue.tools.structure.graph import Component, Dependency, Graph, component_names, connect, grouped
from retinue.tools.structure.python import parse_python, unreadable
from retinue.tools.structure.records import Function, Import, Structure, When
from retinue.tools.structure.resolve import Resolver, absolute_name, python_names

__all__ = [
    "Component",
    "Dependency",
    "Function",
    "Graph",
    "Import",
    "Resolver",
    "Structure",
    "When",
    "absolute_name",
    "circles",
    "component_names",
    "connect",
    "grouped",
    "is_source",
    "parse_python",
    "python_names",
    "structure_of",
    "tangles",
    "unreadable",
]
