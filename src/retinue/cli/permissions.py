"""What agents may use here, as the settings say it in words. How words become rules is `agents.prompted`'s business.

The words of a project that ask or deny are merged with the user's own by `settings`; those that would allow something
never get here.
"""

from typing import TYPE_CHECKING

from retinue.agents.grants import ALL, Grants

if TYPE_CHECKING:
    from retinue.agents.grants import VerdictWord
    from retinue.cli.settings import Settings
    from retinue.contract.finding import Finding

__all__ = ["grants_of", "rules_at_odds"]


def grants_of(settings: "Settings") -> Grants:
    """What any agent here may use at most.

    Raises:
        InvalidInput: A word is no permission. Nothing is left out quietly: it might be what somebody wanted denied.
    """
    words, mode = _words(settings), settings.get("permissions.mode") or None
    if not any(words.values()) and mode is None:
        return ALL
    from retinue.agents.prompted.permissions import permitted

    return permitted(words, mode=mode)


def rules_at_odds(settings: "Settings") -> "list[Finding]":
    """What is odd about the rules in force: they fit nothing, or they allow more than they seem to."""
    there: dict[VerdictWord, tuple[str, ...]] = {verdict: words for verdict, words in _words(settings).items() if words}
    if not there:
        return []
    from retinue.agents.prompted.permissions import rule_findings

    return [
        finding.model_copy(update={"file": settings.values[f"permissions.{verdict}"].origin})
        for verdict, words in there.items()
        for finding in rule_findings({verdict: words})
    ]


def _words(settings: "Settings") -> "dict[VerdictWord, tuple[str, ...]]":
    return {
        "allow": settings.get("permissions.allow"),
        "ask": settings.get("permissions.ask"),
        "deny": settings.get("permissions.deny"),
    }
