"""A report as the files that people and programs read: one HTML page, JUnit XML, one JSON document.

How it looks on a terminal is the business of `cli/check`.
"""

from .html_page import as_html
from .violations import RequirementViolation, as_json, as_junit, counts, repeated_ids, violations_in

__all__ = ["RequirementViolation", "as_html", "as_json", "as_junit", "counts", "repeated_ids", "violations_in"]
