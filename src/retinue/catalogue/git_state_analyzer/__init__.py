"""`git_state_analyzer`: what a repository's history and state say, with commits as sources (G9, G12).

Wholly deterministic: it reads git and counts. It judges no code and never writes.
"""

from .agent import GitStateAnalyzer

__all__ = ["GitStateAnalyzer"]
