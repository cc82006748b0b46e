"""Versions and versioned names."""

import pytest
from hypothesis import given, strategies as st

from retinue.contract.version import Version, is_compatible, is_version, split_versioned_name
from retinue.errors import InvalidInput

parts = st.integers(0, 999_999_999)
versions = st.builds(Version, parts, parts, st.none() | parts)


@pytest.mark.requirement("C35")
@given(versions)
def test_a_version_renders_as_it_was_written(version: Version):
    again = Version.parse(str(version))
    assert again == version
    assert is_version(str(version))
    assert (again.patch is None) == (version.patch is None)


@pytest.mark.requirement("C35")
@pytest.mark.parametrize(
    "text",
    ["", "1", "1.", ".1", "1.0.", "1.0.0.0", "v1.0", "1.0-beta", "01.0", "1.00", " 1.0", "1.0\n", "1.-1", "\u0661.\u0660", "1.0000000000", "9" * 5000 + ".0"],
)  # fmt: skip
def test_anything_else_is_no_version(text: str):
    with pytest.raises(InvalidInput) as caught:
        Version.parse(text)
    assert "MAJOR.MINOR" in caught.value.hint
    assert len(caught.value.message) < 200
    assert not is_version(text)


@given(st.text(st.sampled_from("0123456789.v-\n\u0663")))
def test_the_grammar_is_read_whole(text: str):
    try:
        version = Version.parse(text)
    except InvalidInput:
        return
    assert str(version) == text


def test_a_missing_patch_counts_as_zero_but_is_not_written():
    assert Version(1, 0) == Version(1, 0, 0)
    assert hash(Version(1, 0)) == hash(Version(1, 0, 0))
    assert str(Version(1, 0)) == "1.0"
    assert Version(1, 0) != "1.0"


@given(versions, versions)
def test_versions_sort_by_their_numbers(one: Version, other: Version):
    keys = [(version.major, version.minor, version.patch or 0) for version in (one, other)]
    assert (one < other) == (keys[0] < keys[1])
    assert (one <= other) == (keys[0] <= keys[1])
    assert (one > other) == (keys[0] > keys[1])
    assert (one >= other) == (keys[0] >= keys[1])


@pytest.mark.requirement("K34")
def test_the_same_major_is_compatible_and_a_missing_version_too():
    assert is_compatible(Version(1, 0), Version(1, 9, 3))
    assert not is_compatible(Version(1, 0), Version(2, 0))
    assert is_compatible(None, Version(2, 0))
    assert is_compatible(Version(2, 0), None)


@pytest.mark.requirement("C11")
@pytest.mark.parametrize(
    ("name", "parted"),
    [
        ("researcher_analyst_v2", ("researcher_analyst", 2)),
        ("researcher_analyst", ("researcher_analyst", None)),
        ("a_v1_v3", ("a_v1", 3)),
        ("a_v0", ("a", 0)),
        ("a_v02", ("a_v02", None)),
        ("_v2", ("_v2", None)),
        ("a_v", ("a_v", None)),
        ("a_v2\n", ("a_v2\n", None)),
        ("a_v\u0663", ("a_v\u0663", None)),
        ("nav2", ("nav2", None)),
        ("", ("", None)),
    ],
)
def test_a_name_is_parted_from_its_major(name: str, parted: tuple[str, int | None]):
    assert split_versioned_name(name) == parted


@given(st.text(), st.integers(0, 999_999_999))
def test_every_suffixed_name_parts_again(name: str, major: int):
    assert split_versioned_name(f"x{name}_v{major}") == (f"x{name}", major)
