"""The boundary: the one place where every call to any agent is checked on both sides.

`call` is the way through it, from a task to a result. What it asks on the way stands beside it: who is meant
(`prepared`), whether the request fits (`parameters`, `untyped`), how long and for how much (`bounds`),
what the agent did (`attempt`), whether the answer is one (`checks`, `reading`, `sound`, `claims`), and whether
to ask again (`policy`).
"""

from .call import Boundary

__all__ = ["Boundary"]
