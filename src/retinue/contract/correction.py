"""Why an agent is asked again, and what would be right. Who decides that it is asked is the boundary."""

from typing import Any

from pydantic import Field

from retinue.contract.model import Count, JsonMapping, Model
from retinue.errors import FaultCode

__all__ = ["Correction"]


class Correction(Model):
    """A refused answer, or refused parameters, with all that is needed to do better (A12).

    Attributes:
        code: `output_invalid` for an answer; `invalid_input` for parameters that go back to the model that made them.
        hint: The fix, clear enough for a model to follow.
        findings: Every finding, as JSON data.
        retry_count: Which retry this is, from 1.
        max_retries: How many there are at most.
        previous: The data that was refused; None when there was none.
        said: The text that was refused, as the agent wrote it.
    """

    code: FaultCode = "output_invalid"
    message: str
    hint: str = ""
    findings: tuple[JsonMapping, ...] = ()
    retry_count: Count = Field(default=1, ge=1)
    max_retries: Count | None = None
    previous: Any = None
    said: str | None = None
