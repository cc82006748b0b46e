"""How many examples a property test that names a number searches: at most 20; three in the quick profile; 25 times its
number in the deep one.
"""

from hypothesis import settings

__all__ = ["examples"]

_MOST = 20
_DEEPER = 25


def examples(number: int) -> int:
    """The number of examples in the profile that is loaded."""
    profile = settings.get_current_profile_name()
    if profile == "retinue-quick":
        return min(number, 3)
    return number * _DEEPER if profile == "retinue-deep" else min(number, _MOST)
