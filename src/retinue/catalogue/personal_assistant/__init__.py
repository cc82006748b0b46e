"""The personal assistant of spec 001: a router, domain agents side by side, and a synthesizer (B18 to B28).

With a model they think; without one the rules route and fill in arguments, and the answers stand side by side. The
domains are extensions; three small ones over a SQLite file come with it.
"""

from .agent import PersonalAssistant, shipped_domains

__all__ = ["PersonalAssistant", "shipped_domains"]
