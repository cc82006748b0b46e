"""Finds the passages of a tree of files that answer a question, by words alone.

`Index` searches a workspace, `Sections` its documents by what stands under one heading; `Bm25` ranks any small set of
token lists in memory. Nothing here knows synonyms, languages or meanings, and nothing needs a model or a network.
"""

from retinue.tools.search.bm25 import Bm25
from retinue.tools.search.index import Index, Refreshed
from retinue.tools.search.kinds import Kind
from retinue.tools.search.ranking import Parts, Passage
from retinue.tools.search.sections import Section, Sections
from retinue.tools.search.words import char_grams, terms

__all__ = ["Bm25", "Index", "Kind", "Parts", "Passage", "Refreshed", "Section", "Sections", "char_grams", "terms"]
