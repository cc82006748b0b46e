"""What was renamed is still there by its old name for one minor version, and says what to write instead."""

import pytest

import retinue


def test_an_old_name_of_the_package_works_and_warns() -> None:
    with pytest.warns(DeprecationWarning, match=r"`retinue\.Purse` is now `retinue\.BudgetTracker`\."):
        assert getattr(retinue, "Purse") is retinue.BudgetTracker  # noqa: B009 - the type checkers know no old names


@pytest.mark.parametrize(
    ("thing", "old", "new"),
    [
        (retinue.Usage, "together", "total"),
        (retinue.BudgetTracker(tokens=5), "ledgers", "scopes"),
        (retinue.BudgetTracker(tokens=5), "hold", "reserve"),
        (retinue.Models(), "see", "check"),
        (retinue.LocalContext(), "memo", "checkpoint"),
    ],
)
def test_an_old_member_works_and_warns(thing: object, old: str, new: str) -> None:
    with pytest.warns(DeprecationWarning, match=rf"`\w+\.{old}` is now `\w+\.{new}`\."):
        assert getattr(thing, old) == getattr(thing, new)
