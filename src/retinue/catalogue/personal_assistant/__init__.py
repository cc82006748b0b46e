"""The personal assistant of spec 001: a router, domain agents side by side, and a synthesizer (B18 to B28).

`sight` says what each of them sees, and nobody sees more. With a model they think; without one the rules planner routes
and fills in what was said, and templates put the answers together. The domains are extensions; three small ones over a
SQLite file come with it.
"""

from .agent import PersonalAssistant, shipped_domains

__all__ = ["PersonalAssistant", "shipped_domains"]
