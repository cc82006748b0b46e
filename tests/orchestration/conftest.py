"""What tests of orchestration share: attempts that do not wait for each other."""

from collections.abc import Iterator

import pytest

from retinue.agents.boundary.policy import POLICY


@pytest.fixture
def no_backoff() -> Iterator[None]:
    """The next attempt comes at once: how long one waits is decided and tested in `agents/boundary`."""
    before = POLICY.first_wait_s
    object.__setattr__(POLICY, "first_wait_s", 0.01)
    yield
    object.__setattr__(POLICY, "first_wait_s", before)
