"""`data_analyst`: what files of rows and logs say, every figure with the SQL that gave it (G20).

Its skills take a typed query. A question in words goes to the reader of `orchestration`, which refuses what it cannot
read. The agent states no number that no statement gave, and never writes.
"""

from .agent import DataAnalyst

__all__ = ["DataAnalyst"]
