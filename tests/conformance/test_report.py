"""A report says the same in every form, and no text in it gets out of its place."""

import json
import shutil
import subprocess
from pathlib import Path
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given, strategies as st

from retinue.conformance.port import (
    CheckReport,
    Force,
    Probe,
    ProbeExchange,
    RequestTemplate,
    Requirement,
    RequirementVerdict,
)
from retinue.conformance.report import as_html, as_json, as_junit, counts, repeated_ids, violations_in
from retinue.contract import json as strict_json
from tests.orchestration.present.pages import read
from tests.orchestration.present.test_html import HOSTILE

TEXTS = st.sampled_from(HOSTILE) | st.text(max_size=60) | st.text("<>&\"'\0\x1b\u202e\ud800 ab:\n", max_size=60)
TAGS = {
    "b", "body", "code", "dd", "details", "div", "dl", "dt", "footer", "h1", "h2", "h3", "head", "header", "html", "i", "li",
    "main", "meta", "p", "pre", "section", "style", "summary", "table", "tbody", "td", "th", "thead", "title", "tr", "ul",
}  # fmt: skip


def requirement(name: str, force: Force = "MUST") -> Requirement:
    return Requirement(
        id=f"markdown_json/{name}",
        force=force,
        clause="Validation: JSON Structure",
        text=f"The {name} is right.",
        rows=("K8", "C17"),
        probes=("valid",),
        fix=f"Fix the {name}.",
    )


def exchange(name: str, sent: str = "asked", text: str | None = "said", **facts: object) -> ProbeExchange:
    probe = Probe(name, RequestTemplate().task(name), "A request as it should be.")
    return ProbeExchange(probe, sent, text=text, duration_ns=1_500_000, **facts)  # pyright: ignore[reportArgumentType] - facts are its own fields


def report(text: str = "said", wrong: str = "it is not JSON") -> CheckReport:
    return CheckReport(
        subject=f"agent.py {text}"[:200],
        dialect="markdown_json",
        version="1.0",
        verdicts=(
            RequirementVerdict(requirement("status")),
            RequirementVerdict(requirement("completeness", "SHOULD"), ("valid: `completeness` is missing",)),
            RequirementVerdict(requirement("json"), (f"valid: {wrong}", "hung: There was no answer within 1 s.")),
            RequirementVerdict(requirement("agent"), mistake="`KeyError`: 'x'"),
        ),
        exchanges=(
            exchange("valid", text, text),
            exchange("hung", text, None, error="There was no answer within 1 s.", late=True, status=1, stderr=text),
        ),
        facts={"asked": f"agent {text}"},
    )


def test_counts_and_ending() -> None:
    assert counts(report()) == {"passed": 1, "failed": 2, "warned": 1}
    assert not report().passed
    kept = CheckReport("a", "markdown_json", "1.0", report().verdicts[:2], ())
    assert kept.passed


def test_what_is_told_begins_with_the_worst() -> None:
    found = violations_in(report())
    assert [each.verdict.requirement.id.partition("/")[2] for each in found] == ["json", "agent", "completeness"]
    assert list(found[0].lines()) == [
        "MUST: The json is right.",
        "clause: Validation: JSON Structure (K8, C17)",
        "- valid: it is not JSON",
        "- hung: There was no answer within 1 s.",
        "valid: A request as it should be.",
        "  sent:     said",
        "  answered: said",
        "hung: A request as it should be.",
        "  sent:     said",
        "  answered: There was no answer within 1 s.",
        "fix: Fix the json.",
    ]
    assert "- Our own check broke, so it is not known whether this holds: `KeyError`: 'x'" in found[1].lines()


def test_what_is_wrong_everywhere_is_said_once() -> None:
    exchanges = tuple(exchange(name, name) for name in ("a", "b", "c", "d", "e"))
    wrong = (*(f"{name}: it is not JSON" for name in "abcde"), "a: and `x: y`", "and 3 more of the kind")
    found = violations_in(
        CheckReport("s", "markdown_json", "1.0", (RequirementVerdict(requirement("json"), wrong),), exchanges)
    )
    assert found[0].wrong == ("a, b, c and 2 more: it is not JSON", "a: and `x: y`", "and 3 more of the kind")
    assert [each.probe.name for each in found[0].exchanges] == ["a", "b"]


def test_what_shows_nothing_new_is_not_shown_again() -> None:
    exchanges = (exchange("valid"), exchange("again"), exchange("odd", "asked oddly"))
    wrong = tuple(f"{each.probe.name}: it is not JSON" for each in exchanges)
    found = violations_in(
        CheckReport("s", "markdown_json", "1.0", (RequirementVerdict(requirement("json"), wrong),), exchanges)
    )
    assert [each.probe.name for each in found[0].exchanges] == ["valid", "odd"]


def test_what_breaks_only_with_another_follows_it() -> None:
    silent = ("valid: nothing came", "odd: nothing came")
    verdicts = (
        RequirementVerdict(requirement("answers"), silent),
        RequirementVerdict(requirement("json"), silent[:1]),
        RequirementVerdict(requirement("status"), (*silent, "odd: `status` is missing")),
        RequirementVerdict(requirement("odd"), ("valid: `status` is missing",)),
        RequirementVerdict(requirement("agent"), mistake="`KeyError`: 'x'"),
        RequirementVerdict(requirement("completeness", "SHOULD"), silent),
    )
    broken = violations_in(CheckReport("s", "markdown_json", "1.0", verdicts, ()))
    assert repeated_ids(broken) == {"markdown_json/json", "markdown_json/completeness"}
    page = as_html(CheckReport("s", "markdown_json", "1.0", verdicts, ()))
    assert "<b>For the same reasons</b>: json, completeness" in page
    assert page.count("<section") == 4


def test_names_in_a_sentence_are_code_on_the_page() -> None:
    page = as_html(report(wrong="`status` is `<b>`"))
    assert "<code>status</code> is <code>&lt;b&gt;</code>" in page


def test_a_long_text_is_cut_and_says_how_long_it_was() -> None:
    lines = list(violations_in(report("x" * 5_000))[0].lines())
    assert lines[5] == f"  sent:     {'x' * 300} … (5,000 characters)"
    facts = as_json(report("x" * 30_000))
    assert facts["exchanges"][0]["sent"] == {"text": "x" * 20_000, "characters": 30_000}


def test_as_json() -> None:
    facts = as_json(report())
    assert facts["counts"] == {"passed": 1, "failed": 2, "warned": 1}
    assert facts["passed"] is False
    status, _, broken, mistaken = facts["requirements"]
    assert "wrong" not in status
    assert broken["wrong"][0] == "valid: it is not JSON"
    assert broken["fix"] == "Fix the json."
    assert mistaken["mistake"] == "`KeyError`: 'x'"
    assert facts["exchanges"][0] == {
        "probe": "valid",
        "about": "A request as it should be.",
        "sent": {"text": "said"},
        "answer": {"text": "said"},
        "duration_ms": 2,
    }
    assert facts["exchanges"][1]["error"] == "There was no answer within 1 s."


@given(TEXTS)
def test_the_json_document_can_always_be_read(text: str) -> None:
    assert strict_json.loads(json.dumps(as_json(report(text, text))))


def test_as_junit() -> None:
    suite = ET.fromstring(as_junit(report()))[0]
    assert suite.attrib["tests"] == "4"
    assert suite.attrib["failures"] == "2"
    status, warned, failed, mistaken = suite
    assert (status.attrib["classname"], status.attrib["name"]) == ("markdown_json", "status")
    assert not list(status)
    assert "completeness" in (warned.findtext("system-out") or "")
    found = failed.find("failure")
    assert found is not None
    assert found.attrib["message"] == "valid: it is not JSON"
    assert "fix: Fix the json." in (found.text or "")
    assert "Our own check broke" in (mistaken.findtext("failure") or "")


@given(TEXTS)
def test_junit_is_well_formed_whatever_stands_in_it(text: str) -> None:
    assert ET.fromstring(as_junit(report(text, text))).tag == "testsuites"


def test_the_page_says_all_of_it() -> None:
    html = as_html(report(), created="2026-11-21 13:40")
    page = read(html)
    assert html.startswith('<!DOCTYPE html>\n<html lang="en">')
    assert page.unbalanced == []
    assert page.tags <= TAGS
    for words in ("does not conform", "1 passed, 2 failed, 1 warned", "it is not JSON", "Fix the json.", "2026-11-21"):
        assert words in page.text
    assert "conforms to markdown_json" in read(as_html(CheckReport("a", "markdown_json", "1.0", (), ()))).text


@given(TEXTS, TEXTS)
def test_no_text_becomes_part_of_the_page(text: str, wrong: str) -> None:
    page = read(as_html(report(text, wrong)))
    assert page.unbalanced == []
    assert page.tags <= TAGS
    assert {name for _, name in page.attributes} <= {
        "aria-label", "charset", "class", "content", "http-equiv", "lang", "name", "role", "scope", "style",
    }  # fmt: skip
    assert not [address for address in page.addresses if not address.startswith("meta.content=")]
    assert not any(mark in page.text for mark in "\x1b\u202e\0")


CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")


@pytest.mark.slow
@pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium here")
def test_a_real_browser_shows_the_page_and_runs_nothing(tmp_path: Path) -> None:
    hostile = "<script>document.title='owned'</script><img src=x onerror=\"document.title='owned'\">"
    (tmp_path / "report.html").write_text(as_html(report(hostile, hostile)), encoding="utf-8")
    done = subprocess.run(
        [
            str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}",
            "--dump-dom", (tmp_path / "report.html").as_uri(),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )  # fmt: skip
    assert "does not conform" in done.stdout
    assert "<title>agent.py &lt;script&gt;" in done.stdout
    assert "<script>" not in done.stdout
    assert "<img" not in done.stdout
