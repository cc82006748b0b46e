"""The table of rules: complete, explained, and told alike by the page that is made of it."""

import re
from pathlib import Path

import pytest

import retinue
from retinue.contract.lint import RULES, LintRule, find_rule
from tests.contract.rules_page import PAGE, page

PACKAGE = Path(retinue.__file__).parent
ID = re.compile(
    r'"((?:load|definition|input|skill|contract|behaviour|call|operation|sample|python|compatibility|ticket)/[a-z]+(?:-[a-z]+)*)"'
)


@pytest.mark.parametrize("known", RULES.values(), ids=lambda known: known.id)
def test_every_rule_says_what_why_and_shows_wrong_and_right(known: LintRule) -> None:
    assert known.title.endswith((".", "”."))
    assert known.why.endswith((".", "”."))
    assert known.wrong
    assert known.right
    assert known.wrong != known.right
    assert all(re.fullmatch(r"[ABHKPGC][0-9]+", row) for row in known.rows)


def test_no_rule_is_found_that_is_not_in_the_table() -> None:
    folders = ("contract/lint", "agents/load", "agents/lint", "catalogue/tickets")
    texts = [path.read_text(encoding="utf-8") for folder in folders for path in (PACKAGE / folder).glob("*.py")]
    found = {each for text in texts for each in ID.findall(text)}
    assert len(found) > 50
    assert found - RULES.keys() == set()


def test_no_rule_is_in_the_table_that_nothing_finds() -> None:
    made_up_there = {
        "load/parse-error",
        "input/default",
        "input/example",
        "load/skill-description",
        "load/skill-compatibility",
    }  # ids put together from parts
    texts = [path.read_text(encoding="utf-8") for path in PACKAGE.rglob("*.py") if "rules" not in path.parts]
    found = {each for text in texts for each in ID.findall(text)} | made_up_there
    assert {each for each in RULES if "/" in each} - found == set()


def test_a_family_stands_for_its_members() -> None:
    assert find_rule("schema/enum") is RULES["schema"]
    assert find_rule("markdown_json/agent") is RULES["markdown_json"]
    assert find_rule("load/access-denied") is RULES["load"]
    assert find_rule("input/open") is RULES["input/open"]
    assert find_rule("nonsense") is None
    assert find_rule("") is None


def test_the_page_of_rules_is_fresh() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run `python -m tests.contract.rules_page`"
