"""Requirements as pytest tests. A broken MUST fails its test, a broken SHOULD warns.

The subject is judged once, by the first test that runs; the others only look up what their requirement came to.
"""

import asyncio
import warnings
from pathlib import Path
from typing import Any, cast

import pytest

from retinue.conformance.check_request import CheckRequest, PreparedCheck, prepare
from retinue.conformance.judge import kit
from retinue.conformance.port import CheckReport, Requirement
from retinue.conformance.report import RequirementViolation, violations_in
from retinue.errors import RetinueError


class RequirementWarning(UserWarning):
    """A SHOULD that the subject does not keep."""


class JudgePlugin:
    """Adds the tests, and holds the report they share.

    Args:
        config: Where the options are.
    """

    def __init__(self, config: pytest.Config) -> None:
        def option(name: str) -> Any:
            return config.getoption(f"--retinue-{name}")

        definition, timeout_s = option("definition"), option("timeout")
        self._request = CheckRequest(
            words=option("subject"),
            is_command=option("command"),
            dialect=option("dialect"),
            definition=Path(definition) if definition else None,
            agent=option("agent"),
            operation=option("operation"),
            target=option("target"),
            partial_target=option("partial-target"),
            instruction=option("instruction"),
            environment=tuple(option("env")),
            **({} if timeout_s is None else {"timeout_s": timeout_s}),
        )
        self._check: PreparedCheck | None = None
        self._report: CheckReport | None = None

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(self, session: pytest.Session, items: list[pytest.Item]) -> None:
        """Add a test for each requirement: first, so that `-k` and its like choose among them too."""
        try:
            self._check = asyncio.run(prepare(self._request))
            requirements = kit(self._check.dialect).requirements
        except RetinueError as error:
            raise pytest.UsageError(f"--retinue-subject: {error.message} {error.hint}".strip()) from None
        for required in requirements:
            item = RequirementItem.from_parent(  # pyright: ignore[reportUnknownMemberType] - pytest gives it no types
                session, name=required.id, nodeid=f"retinue::{required.id}", judging=self, required=required
            )
            items.append(item)

    def pytest_unconfigure(self) -> None:
        """Let go of the subject."""
        if self._check is not None:
            self._check.close()

    @property
    def subject(self) -> str:
        """Who is judged, as the option names it."""
        return self._request.words

    def violation(self, required: Requirement) -> RequirementViolation | None:
        """What there is to say of a requirement that is not kept; None when it is."""
        if self._report is None:
            check = cast("PreparedCheck", self._check)
            self._report = asyncio.run(check.judge())
        return next((each for each in violations_in(self._report) if each.verdict.requirement.id == required.id), None)


class RequirementItem(pytest.Item):
    """One requirement, as a test.

    Args:
        judging: Knows what it came to.
        required: The requirement.
    """

    def __init__(self, *, judging: JudgePlugin, required: Requirement, **facts: Any) -> None:
        super().__init__(**facts)  # pyright: ignore[reportUnknownMemberType] - pytest gives it no types
        self._judging = judging
        self._required = required

    def runtest(self) -> None:
        """Look up what the requirement came to."""
        violation = self._judging.violation(self._required)
        if violation is None:
            return
        text = "\n".join(violation.lines())
        if violation.verdict.outcome == "failed":
            pytest.fail(text, pytrace=False)
        warning = RequirementWarning(f"{self._required.id}\n{text}")
        # No file by its name: the line there has nothing to do with it, and would be shown.
        warnings.warn_explicit(warning, None, filename=f"<{self._judging.subject}>", lineno=1)

    def reportinfo(self) -> tuple[Path, None, str]:
        """How pytest heads a failure."""
        return self.path, None, self._required.id
