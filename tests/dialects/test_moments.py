"""Moments on the wire: exact to the nanosecond, in UTC, and nothing that is none."""

import pytest
from hypothesis import given, strategies as st

from retinue.dialects.decoding import format_timestamp, parse_timestamp

SECOND = 1_000_000_000


@given(st.integers(0, 253_402_300_800 * SECOND - 1))
def test_a_moment_comes_back(ns: int):
    text = format_timestamp(ns)
    assert text is not None
    assert parse_timestamp(text) == ns


@given(st.text())
def test_any_text_is_a_moment_or_none(text: str):
    assert parse_timestamp(text) is None or text[:4].isdigit()


@pytest.mark.parametrize(
    ("text", "ns"),
    [
        ("1970-01-01T00:00:00Z", 0),
        ("2025-10-08T15:30:00Z", 1_759_937_400 * SECOND),
        ("2025-10-08t17:30:00.5+02:00", 1_759_937_400 * SECOND + SECOND // 2),
        ("2025-10-08 13:30:00-02:00", 1_759_937_400 * SECOND),
        ("1970-01-01T00:00:00+01:00", None),
        ("2025-02-30T00:00:00Z", None),
        ("2025-10-08T15:30:00", None),
        ("2025-10-08T15:30:00Z\n", None),
        ("\u0662025-10-08T15:30:00Z", None),
    ],
)
def test_moments_of_others_are_read(text: str, ns: int | None):
    assert parse_timestamp(text) == ns


def test_no_moment_beyond_four_digits_of_a_year_is_written():
    assert format_timestamp(253_402_300_800 * SECOND) is None
    assert format_timestamp(-1) is None
