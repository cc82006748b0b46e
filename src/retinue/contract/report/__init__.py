"""Findings and verdicts as the files that other programs read: JUnit XML for build servers, SARIF for code scanning.

Text made of values; writing it to a file is the business of `cli/`. How people are shown a finding is there too.
"""

from .sarif import ReportCase, render_junit, render_sarif

__all__ = ["ReportCase", "render_junit", "render_sarif"]
