"""Finds the passages of a tree of files that fit some words: one index over documents and code, in SQLite.

`Index` searches a workspace; `Bm25` ranks any small set of token lists in memory. Nothing here knows synonyms or
meanings, and nothing needs a model or a network.
"""

from retinue.tools.search.bm25 import Bm25, char_grams, terms
from retinue.tools.search.index import Index, PassageHit, RefreshResult
from retinue.tools.search.passages import Kind

__all__ = ["Bm25", "Index", "Kind", "PassageHit", "RefreshResult", "char_grams", "terms"]
