"""Folding, rendering and finding names."""

import re

import pytest
from hypothesis import given, strategies as st

from retinue.contract.names import canonical_name, fold, nearest, to_kebab


@pytest.mark.requirement("C10", "C46")
@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("researcher_analyst", "researcher_analyst"),
        ("git-state-analyzer", "git_state_analyzer"),
        ("FILE_NOT_FOUND", "file_not_found"),
        ("Code-Engineer-Executor", "code_engineer_executor"),
        ("Focus areas", "focus_areas"),
        ("permissionMode", "permission_mode"),
        ("getHTTPResponse", "get_http_response"),
        ("HTML2Text", "html2_text"),
        ("CHURN_Q2Q3", "churn_q2q3"),
        ("/agents/business/metrics/year-to-end-sales", "year_to_end_sales"),
        ("/agents/business/metrics/", "metrics"),
        ("calculate-churn-q2-q3", "calculate_churn_q2_q3"),
        ("researcher_analyst_v2", "researcher_analyst_v2"),
        ("the user's name", "the_users_name"),
        ("Größe (mm)", "große_mm".replace("ß", "_")),
        ("  a -- b  ", "a_b"),
        ("2fa", "2fa"),
        ("???", ""),
        ("", ""),
    ],
)
def test_every_spelling_folds_into_one(written: str, canonical: str) -> None:
    assert fold(written) == canonical


@given(st.text(max_size=30))
def test_folding_gives_ascii_words_and_folds_no_further(text: str) -> None:
    folded = fold(text)
    assert re.fullmatch(r"(?:[a-z0-9]+(?:_[a-z0-9]+)*)?", folded)
    assert fold(folded) == folded
    assert fold(to_kebab(text)) == folded


@pytest.mark.requirement("C10")
@pytest.mark.parametrize(
    "name",
    [
        "\u0430dmin",
        "ad\u200bmin",
        "\u200badmin",
        "admin\0",
        "ad\nmin",
        "admin\r",
        "ad\tmin",
        "admin\u202e",
        "a&b",
        "a" * 257,
    ],
)
def test_what_looks_like_a_name_and_is_none_names_nobody(name: str) -> None:
    assert canonical_name(name) == ""


@pytest.mark.parametrize(
    "name", ["researcher_analyst", "git-state-analyzer", "Code Engineer", "year.end", "/a/b", "ádmin", "\uff41dmin"]
)
def test_what_is_a_name_is_folded(name: str) -> None:
    assert canonical_name(name) == fold(name) != ""


@pytest.mark.requirement("C46")
@given(st.from_regex(r"[a-z][a-z0-9]*(?:_[a-z0-9]+)*", fullmatch=True))
def test_a_canonical_name_comes_back_from_every_convention(name: str) -> None:
    assert fold(name) == name
    assert fold(to_kebab(name)) == name
    assert fold(name.upper()) == name
    assert fold(name.replace("_", " ")) == name


def test_kebab_case() -> None:
    assert to_kebab("GIT_STATE_ANALYZER") == "git-state-analyzer"


@pytest.mark.requirement("C7")
@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("sources", ("source",)),
        ("Source", ("source",)),
        ("output-format", ("output_format",)),
        ("ouput_fromat", ("output_format",)),
        ("depht", ("depth",)),
        ("xyzzy", ()),
        ("", ()),
        ("depth", ()),
    ],
)
def test_the_nearest_name_is_found(name: str, found: tuple[str, ...]) -> None:
    assert nearest(name, ["source", "depth", "output_format"]) == found


def test_spelling_comes_before_misspelling_and_no_more_than_asked_for() -> None:
    names = ["status_a", "status_b", "STATUS", "status_c"]
    assert nearest("status", names)[0] == "STATUS"
    assert len(nearest("status", names)) == 3
    assert nearest("status", names, limit=1) == ("STATUS",)


def test_a_hostile_name_costs_little() -> None:
    assert nearest("a" * 1_000_000, ["a" * 1_000_000 + "b", "c"]) == ("a" * 1_000_000 + "b",)
