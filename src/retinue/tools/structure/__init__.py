"""The structure of a project: what its files import and how their functions branch, which files that leads to, circles.

Python is read by its syntax tree, others by tree-sitter; imports are followed by the names of files alone, so that
nothing is run.
"""

from retinue.tools.structure.graph import (
    Component,
    Dependency,
    DependencyGraph,
    Function,
    ModuleImport,
    Resolver,
    Structure,
    When,
    absolute_name,
    component_names,
    connect,
    find_cycles,
    group_by_component,
    python_names,
    strongly_connected,
)
from retinue.tools.structure.python import is_source, parse_failure, parse_python, structure_of

__all__ = [
    "Component",
    "Dependency",
    "DependencyGraph",
    "Function",
    "ModuleImport",
    "Resolver",
    "Structure",
    "When",
    "absolute_name",
    "component_names",
    "connect",
    "find_cycles",
    "group_by_component",
    "is_source",
    "parse_failure",
    "parse_python",
    "python_names",
    "strongly_connected",
    "structure_of",
]
