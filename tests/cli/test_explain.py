"""`retinue explain`."""

import pytest

from retinue.contract.lint import RULES
from tests.cli.conftest import Give


def test_a_rule_is_told_with_its_reason_its_rows_and_examples(retinue: Give) -> None:
    said = retinue("explain", "input/open")
    assert said.code == 0
    for part in (
        "input/open  error",
        RULES["input/open"].title,
        RULES["input/open"].why,
        "wrong:",
        "right:",
    ):
        assert part in said.out


def test_the_id_of_a_finding_finds_its_family(retinue: Give) -> None:
    assert retinue("explain", "schema/enum").out.startswith("schema  error")


def test_all_rules_are_listed_by_family(retinue: Give) -> None:
    said = retinue("explain")
    assert said.code == 0
    assert all(f"{each} " in said.out for each in RULES)
    assert "\n\n" in said.out


def test_rules_for_programs(retinue: Give) -> None:
    one = retinue("explain", "contract/line", "--json").data
    assert one["id"] == "contract/line"
    assert one["rows"] == ["K27"]
    assert {"severity", "title", "why", "wrong", "right"} <= one.keys()
    assert [each["id"] for each in retinue("explain", "--json").data] == list(RULES)


@pytest.mark.parametrize(
    ("name", "near"),
    [("input/opne", "input/open"), ("own-errors", "contract/own-errors"), ("definition/aliaz", "definition/alias")],
)
def test_a_rule_that_there_is_not_is_said_with_the_nearest(retinue: Give, name: str, near: str) -> None:
    said = retinue("explain", name)
    assert (said.code, said.out) == (2, "")
    assert f"No such rule: {name!r}." in said.err
    assert f"Did you mean `{near}`?" in said.err


def test_without_a_near_one_the_list_is_pointed_at(retinue: Give) -> None:
    assert "`retinue explain` lists all rules." in retinue("explain", "%%%").err
    assert retinue("explain", "").code == 2


@pytest.mark.parametrize(
    "rule", ["message/truncated", "message/invalid_input", "convert/cannot", "load/unquoted-colon"]
)
def test_rules_that_other_verbs_report_are_explained_too(retinue: Give, rule: str) -> None:
    said = retinue("explain", rule)
    assert (said.code, said.err) == (0, "")
    assert said.out.startswith((rule, rule.partition("/")[0]))
