"""Finds lines by a literal or a regular expression: by ripgrep where it is installed, else by Python, with one result.

What is searched is always our own list of the workspace's files, and what is shown is always read through the
workspace; the two engines only say which lines match. It ranks nothing: `search` does.
"""

from retinue.tools.grep.find import GrepResult, Match, grep

__all__ = ["GrepResult", "Match", "grep"]
