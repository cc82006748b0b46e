"""What is wrong with a value is said of JSON, each with what to do about it."""

from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from retinue.contract.finding import findings_of
from retinue.contract.json import JsonValue


class _Text(BaseModel):
    type: Literal["text"]


class _Data(BaseModel):
    type: Literal["data"]


class _Message(BaseModel):
    model_config = ConfigDict(strict=True, extra="forbid")

    name: str = ""
    count: Annotated[int, Field(ge=0, lt=10)] = 0
    share: Annotated[float, Field(gt=0, le=1)] = 1
    sure: bool = True
    tags: Annotated[tuple[str, ...], Field(min_length=1, strict=False)] = ("a",)
    facts: dict[str, int] = Field(default_factory=dict[str, int])
    inner: _Text | None = None
    status: Literal["good", "bad"] = "good"
    part: Annotated[_Text | _Data, Field(discriminator="type")] = _Text(type="text")

    @field_validator("name")
    @classmethod
    def _is_named(cls, name: str) -> str:
        if name == "x":
            raise ValueError("x is nobody")
        return name


@pytest.mark.parametrize(
    ("value", "message", "fix"),
    [
        ({"name": 1}, "Input should be a valid string.", "Send text, in double quotes."),
        ({"name": "x"}, "x is nobody.", ""),
        ({"count": "1"}, "Input should be a valid integer.", "Send a whole number, without quotes."),
        ({"count": -1}, "Input should be greater than or equal to 0.", "Send 0 or more."),
        ({"count": 10}, "Input should be less than 10.", "Send less than 10."),
        ({"share": True}, "Input should be a valid number.", "Send a number, without quotes."),
        ({"share": 0}, "Input should be greater than 0.", "Send more than 0.0."),
        ({"share": 2}, "Input should be less than or equal to 1.", "Send 1.0 or less."),
        ({"sure": "true"}, "Input should be a valid boolean.", "Send `true` or `false`, without quotes."),
        ({"tags": None}, "Input should be an array.", "Send an array; `[]` when it is empty."),
        ({"tags": []}, "There should be at least 1 here, not 0.", "Give at least 1."),
        ({"facts": []}, "Input should be an object.", "Send an object."),
        ({"inner": "a"}, "Input should be an object.", "Send an object."),
        ({"inner": {}}, "Field required.", "Add `type`."),
        ({"status": "ok"}, "Input should be 'good' or 'bad'.", "Send 'good' or 'bad'."),
        ({"part": {}}, "'type' is missing.", "Add 'type'."),
        ({"part": {"type": "image"}}, "'type' is 'image' and should be one of: 'text', 'data'.", "Use one of them."),
        ({"more{}": 1}, "Extra inputs are not permitted.", "Leave `more{}` out."),
    ],
)
def test_what_is_wrong_is_said_of_json_with_what_to_do(value: JsonValue, message: str, fix: str):
    with pytest.raises(ValidationError) as caught:
        _Message.model_validate(value)
    (finding,) = findings_of(caught.value, rule="test/shape")
    assert (finding.message, finding.fix) == (message, fix)
