"""How many examples a property test that names a number searches: that many, and 25 times as many in the deep profile."""

from hypothesis import settings

__all__ = ["examples"]

_DEEPER = 25


def examples(number: int) -> int:
    """The number of examples in the profile that is loaded: `retinue-deep` searches longer, all others as long."""
    return number * _DEEPER if settings.get_current_profile_name() == "retinue-deep" else number
