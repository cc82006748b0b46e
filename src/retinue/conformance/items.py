"""Requirements as pytest tests. A broken MUST fails its test, a broken SHOULD warns.

The subject is judged once, by the first test that runs; the others only look up what their requirement came to.
"""

import asyncio
import warnings
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.conformance.kit import kit
from retinue.conformance.order import Order, Ready, prepare
from retinue.conformance.port import Report, Requirement
from retinue.conformance.report import Told, told
from retinue.errors import RetinueError

__all__ = ["Judging", "NotKept", "RequirementItem"]


class NotKept(UserWarning):
    """A SHOULD that the subject does not keep."""


class Judging:
    """Adds the tests, and holds the report they share.

    Args:
        config: Where the options are.
    """

    def __init__(self, config: pytest.Config) -> None:
        self._order = _order(config)
        self._ready: Ready | None = None
        self._report: Report | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add a test for each requirement: first, so that `-k` and its like choose among them too."""
        try:
            self._ready = asyncio.run(prepare(self._order))
            requirements = kit(self._ready.dialect).requirements
        except RetinueError as error:
            raise pytest.UsageError(f"--retinue-subject: {error.message} {error.hint}".strip()) from None
        for required in requirements:
            item = RequirementItem.from_parent(  # pyright: ignore[reportUnknownMemberType] - pytest gives it no types
                session, name=required.id, nodeid=f"retinue::{required.id}", judging=self, required=required
            )
            items.append(item)

    def pytest_unconfigure(self) -> None:
        """Let go of the subject."""
        if self._ready is not None:
            self._ready.close()

    @property
    def subject(self) -> str:
        """Who is judged, as the option names it."""
        return self._order.words

    def broken(self, required: Requirement) -> Told | None:
        """What there is to say of a requirement that is not kept; None when it is."""
        if self._report is None:
            ready = cast("Ready", self._ready)
            self._report = asyncio.run(ready.judged())
        return next((each for each in told(self._report) if each.verdict.requirement.id == required.id), None)


class RequirementItem(pytest.Item):
    """One requirement, as a test.

    Args:
        judging: Knows what it came to.
        required: The requirement.
    """

    def __init__(self, *, judging: Judging, required: Requirement, **facts: Any) -> None:
        super().__init__(**facts)  # pyright: ignore[reportUnknownMemberType] - pytest gives it no types
        self._judging = judging
        self._required = required

    def runtest(self) -> None:
        """Look up what the requirement came to."""
        broken = self._judging.broken(self._required)
        if broken is None:
            return
        text = "\n".join(broken.lines())
        if broken.verdict.outcome == "failed":
            pytest.fail(text, pytrace=False)
        warning = NotKept(f"{self._required.id}\n{text}")
        # No file by its name: the line there has nothing to do with it, and would be shown.
        warnings.warn_explicit(warning, None, filename=f"<{self._judging.subject}>", lineno=1)

    def reportinfo(self) -> tuple[Path, None, str]:
        """How pytest heads a failure."""
        return self.path, None, self._required.id


def _order(config: pytest.Config) -> Order:
    def said(name: str) -> Any:
        return config.getoption(f"--retinue-{name}")

    definition, timeout_s = said("definition"), said("timeout")
    return Order(
        words=said("subject"),
        is_command=said("command"),
        dialect=said("dialect"),
        definition=Path(definition) if definition else None,
        agent=said("agent"),
        operation=said("operation"),
        target=said("target"),
        partial_target=said("partial-target"),
        instruction=said("instruction"),
        environment=tuple(said("env")),
        **({} if timeout_s is None else {"timeout_s": timeout_s}),
    )
