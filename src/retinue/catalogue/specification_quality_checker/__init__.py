"""`specification_quality_checker`: how exactly a ticket says what is to be done, by a rubric and a formula (G14)."""

from .agent import SpecificationQualityChecker

__all__ = ["SpecificationQualityChecker"]
