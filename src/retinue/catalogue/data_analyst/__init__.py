"""`data_analyst`: what files of rows and logs say, every figure with the SQL that gave it (G20).

Wholly deterministic: words of a question are matched to columns, values and measures; what cannot be matched is asked
back and never guessed. It states no number that no statement gave, and never writes.
"""

from retinue.catalogue.data_analyst.agent import DataAnalyst

__all__ = ["DataAnalyst"]
