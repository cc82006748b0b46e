"""Reports that other programs read: well-formed whatever stands in them."""

import json
import re
from typing import Any
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract.finding import Finding
from retinue.contract.lint import RULES
from retinue.contract.report import ReportCase, render_junit, render_sarif
from tests.examples import examples

TEXTS = st.text(st.characters(codec=None), max_size=40)


def test_counts_times_and_kinds_of_cases() -> None:
    root = ET.fromstring(
        render_junit("kit", [
            ReportCase("passes", "g", seconds=0.25),
            ReportCase("fails", "g", file="a b.md", line=3, failure='not "so" <good>', detail="two\nlines & more", seconds=0.5),
            ReportCase("warns", "h", detail="look here"),
        ])
    )  # fmt: skip
    suite = root[0]
    assert root.tag == "testsuites"
    assert suite.attrib == {
        "name": "kit", "tests": "3", "failures": "1", "errors": "0", "skipped": "0", "time": "0.750000",
    }  # fmt: skip
    passes, fails, warns = suite
    assert passes.attrib == {"classname": "g", "name": "passes", "time": "0.250000"}
    assert list(passes) == []
    assert fails.attrib["file"] == "a b.md"
    assert fails.attrib["line"] == "3"
    assert fails[0].tag == "failure"
    assert fails[0].attrib["message"] == 'not "so" <good>'
    assert fails[0].text == "two\nlines & more"
    assert (warns[0].tag, warns[0].text) == ("system-out", "look here")


def test_times_nobody_measured_are_absent() -> None:
    assert "time=" not in render_junit("kit", [ReportCase("a", "b")])


def test_line_breaks_and_tabs_in_attributes_come_back() -> None:
    root = ET.fromstring(render_junit("s", [ReportCase("a\tb\nc", "g")]))
    assert root[0][0].attrib["name"] == "a\tb\nc"


@settings(max_examples=examples(150))
@given(TEXTS, TEXTS, TEXTS, TEXTS)
def test_any_text_makes_well_formed_xml(name: str, group: str, failure: str, detail: str) -> None:
    text = render_junit(
        name, [ReportCase(name, group, failure=failure, detail=detail), ReportCase(name, group, detail=detail)]
    )
    root = ET.fromstring(text.encode())
    assert len(root[0]) == 2
    assert re.search("[\x00-\x08\x0b-\x1f\ufffe\uffff]", text) is None


def log(*findings: Finding) -> Any:
    return json.loads(render_sarif(findings, version="0.1.0"))


def test_a_log_has_what_the_schema_demands() -> None:
    finding = Finding(rule="schema/enum", message="No.", severity="warning", path="/type", file="agents/ä b:c.json",
                      line=4, column=20, fix="Yes.")  # fmt: skip
    whole = log(finding, finding.model_copy(update={"rule": "input/open", "severity": "info", "line": None}))
    assert whole["version"] == "2.1.0"
    assert whole["$schema"].endswith("sarif-2.1.0.json")
    (run,) = whole["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "retinue"
    assert [each["id"] for each in driver["rules"]] == ["schema", "input/open"]
    assert {each["defaultConfiguration"]["level"] for each in driver["rules"]} == {"error"}
    assert all(each["shortDescription"]["text"] and each["fullDescription"]["text"] for each in driver["rules"])
    first, second = run["results"]
    assert (first["ruleId"], first["ruleIndex"], first["level"]) == ("schema/enum", 0, "warning")
    assert first["message"] == {"text": "No. Yes."}
    (place,) = first["locations"]
    assert place["physicalLocation"] == {
        "artifactLocation": {"uri": "agents/%C3%A4%20b%3Ac.json"}, "region": {"startLine": 4, "startColumn": 20},
    }  # fmt: skip
    assert place["logicalLocations"] == [{"fullyQualifiedName": "/type"}]
    assert (second["ruleIndex"], second["level"]) == (1, "note")
    assert "region" not in second["locations"][0]["physicalLocation"]


def test_a_rule_nobody_knows_has_no_description_and_a_finding_without_place_no_location() -> None:
    (result,) = log(Finding(rule="strange/one", message="m"))["runs"][0]["results"]
    assert "ruleIndex" not in result
    assert "locations" not in result


def test_an_absolute_file_is_a_uri_and_a_line_without_column_a_region() -> None:
    (result,) = log(Finding(rule="input/open", message="m", file="/srv/a.json", line=2))["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "file:///srv/a.json"}, "region": {"startLine": 2},
    }  # fmt: skip


@pytest.mark.parametrize(
    ("said", "shown"),
    [("a {0} b {x}", "a {{0}} b {x}"), ("see [here](https://x.example)", r"see \[here\](https://x.example)"),
     ("a [b] c", "a [b] c"), ("\x1b[2Jgone\u202e", r"\u{1b}[2Jgone\u{202e}")],
)  # fmt: skip
def test_nothing_in_a_message_is_an_argument_a_link_or_hidden(said: str, shown: str) -> None:
    (result,) = log(Finding(rule="input/open", message=said))["runs"][0]["results"]
    assert result["message"]["text"] == shown


@settings(max_examples=examples(100))
@given(
    st.lists(
        st.builds(
            Finding,
            rule=st.sampled_from([*RULES, "odd/one"]),
            message=st.text(max_size=40),
            path=st.text(max_size=20),
            file=st.none() | st.text(max_size=20),
            line=st.none() | st.integers(0, 10**6),
            column=st.none() | st.integers(0, 10**6),
            fix=st.text(max_size=20),
        ),
        max_size=5,
    )
)
def test_any_findings_make_a_log(findings: list[Finding]) -> None:
    whole = log(*findings)
    run = whole["runs"][0]
    assert len(run["results"]) == len(findings)
    for result in run["results"]:
        for place in result.get("locations", ()):
            region = place.get("physicalLocation", {}).get("region", {"startLine": 1})
            assert all(number >= 1 for number in region.values())
            assert re.fullmatch(
                r"[\w.~%/:-]*", place.get("physicalLocation", {}).get("artifactLocation", {}).get("uri", ""), re.ASCII
            )
        if "ruleIndex" in result:
            known = run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"]
            assert result["ruleId"].startswith(known)
