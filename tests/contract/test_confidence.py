"""Confidence in one word, by fixed thresholds."""

import pytest

from retinue.contract.result import Label, label_of


@pytest.mark.requirement("C31")
@pytest.mark.parametrize(
    ("confidence", "label"),
    [
        (1.0, "high"),
        (0.8, "high"),
        (0.79, "medium"),
        (0.5, "medium"),
        (0.49, "low"),
        (0.0, "low"),
        (None, None),
    ],
)
def test_a_number_has_one_label_and_no_number_has_none(confidence: float | None, label: Label | None) -> None:
    assert label_of(confidence) == label
