"""The boundary: the one place where every call to any agent is checked on both sides.

`call` is the way through it, from a task to a result, with limits and attempts. `prepare` finds the skill and checks
the request (`decode_parameters` where it came as text); `validate_reply` checks the answer (`parse_reply` where it is
text, `check_files` where it claims files); `policy` decides whether to ask again, and `faults` says what went wrong.
"""

from .call import Boundary

__all__ = ["Boundary"]
