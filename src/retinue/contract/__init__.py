"""The types that all packages share, and the rules over them.

`model`, `definition`, `task`, `result`, `fault`, `event`, `plan` and `finding` are nouns; `json`, `schema`, `lint`,
`sanitize`, `version` and `tokens` are rules over them. Nothing here does I/O.
"""

CONTRACT_VERSION = "1.0"
"""Version of the contract these nouns speak: what spec 003 calls `version` in its envelopes (C35)."""

__all__ = ["CONTRACT_VERSION"]
