"""What agents may use here, as the settings say it in words. How words become rules is `agents.prompted`'s business.

The words of a project that ask or deny are merged with the user's own by `settings`; those that would allow something
never get here.
"""

from typing import TYPE_CHECKING

from retinue.agents.prompted.permissions import permitted

if TYPE_CHECKING:
    from retinue.agents.grants import Grants
    from retinue.cli.settings import Settings

__all__ = ["grants_of"]


def grants_of(settings: "Settings") -> "Grants":
    """What any agent here may use at most.

    Raises:
        InvalidInput: A word is no permission. Nothing is left out quietly: it might be what somebody wanted denied.
    """
    return permitted(
        {
            "allow": settings.get("permissions.allow"),
            "ask": settings.get("permissions.ask"),
            "deny": settings.get("permissions.deny"),
        },
        mode=settings.get("permissions.mode") or None,
    )
