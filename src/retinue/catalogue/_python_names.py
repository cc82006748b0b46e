"""What a Python file of a project may be imported as: `tools.structure` knows."""

from retinue.tools.structure import python_names

__all__ = ["python_names"]
