"""What the documentation says of the dialects is what they do."""

import re

import pytest

from retinue.dialects import DIALECTS, dialect
from retinue.dialects.detect import detect
from retinue.dialects.messages import parse
from retinue.dialects.port import Dialect
from tests.dialects.page import PAGE, page
from tests.repository.tree import ROOT

_CONCEPT = (ROOT / "docs" / "concepts" / "dialects.md").read_text(encoding="utf-8")


@pytest.mark.requirement("C1", "C2")
def test_the_page_of_words_is_fresh() -> None:
    """When it is not: `python -m tests.dialects.page`."""
    assert PAGE.read_text(encoding="utf-8") == page()


@pytest.mark.parametrize("name", DIALECTS)
def test_the_message_shown_is_one(name: str) -> None:
    section = _CONCEPT.partition(f"\n### {name}\n")[2]
    shown = re.search(r"```(?:json|text|markdown)\n(.*?)```", section, re.DOTALL)
    assert shown
    text = shown[1]
    (sign, *_) = detect(text)
    assert (sign.dialect, sign.certainty) == (name, "certain")
    read = parse(dialect(name), sign.kind, text, level="strict")
    assert not [finding for finding in read.findings if finding.severity != "info"]


@pytest.mark.parametrize("name", DIALECTS)
def test_a_dialect_opens_with_a_real_message(name: str) -> None:
    """The docstring of the package shows one, indented, that the dialect recognises."""
    speaks = dialect(name)
    document = speaks.__doc__ or ""
    blocks = re.findall(r"(?:^ {4}.*\n)+", f"{document}\n", re.MULTILINE)
    texts = [re.sub(r"^ {4}", "", block, flags=re.MULTILINE) for block in blocks]
    assert any(sign.certainty != "possible" for text in texts for sign in speaks.recognise(text)), texts


@pytest.mark.parametrize("name", DIALECTS)
def test_all_dialects_have_one_shape(name: str) -> None:
    speaks = dialect(name)
    members = [member for member in dir(Dialect) if not member.startswith("_")]
    assert [member for member in members if not hasattr(speaks, member)] == []
    assert name == speaks.NAME
    assert speaks.TASK_FORMS
    assert speaks.RESULT_FORMS
