"""Dialects by their names, and messages of a kind that is only known at run time."""

import pytest

from retinue.contract.model import DialectName
from retinue.contract.task import Correction
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.messages import forms, parse, readable_kinds, render, to_json, writable_kinds
from retinue.errors import InvalidInput, UnknownName
from tests.dialects.samples import ANSWERS, CORRECTION, REQUESTS


def test_an_unknown_dialect_is_refused_with_those_there_are() -> None:
    with pytest.raises(UnknownName, match="Unknown dialect 'tool_sue'") as caught:
        dialect("tool_sue")
    assert caught.value.hint == f"Did you mean `tool_use`? Available: {', '.join(DIALECTS)}."
    assert caught.value.suggestions == DIALECTS
    with pytest.raises(UnknownName) as caught:
        dialect("esperanto")
    assert caught.value.hint == f"Available: {', '.join(DIALECTS)}."


@pytest.mark.parametrize("name", DIALECTS)
def test_requests_and_answers_every_dialect_has(name: DialectName) -> None:
    speaks = dialect(name)
    assert readable_kinds(speaks)[:2] == writable_kinds(speaks)[:2] == ("task", "result")
    assert forms(speaks, "task") == speaks.TASK_FORMS
    assert forms(speaks, "result") == speaks.RESULT_FORMS


@pytest.mark.parametrize("name", DIALECTS)
def test_a_form_that_is_not_there_is_refused(name: DialectName) -> None:
    for kind, noun in (("task", REQUESTS["bare"]), ("result", ANSWERS["success"])):
        with pytest.raises(InvalidInput, match="letter"):
            render(dialect(name), kind, noun, form="letter")  # type: ignore[arg-type]


def test_a_kind_that_a_dialect_has_not_is_refused_with_what_it_has() -> None:
    speaks = dialect("run_agent")
    with pytest.raises(InvalidInput, match="`run_agent` reads no event") as caught:
        parse(speaks, "event", "PROGRESS: x - y")
    assert caught.value.suggestions == readable_kinds(speaks)
    with pytest.raises(InvalidInput, match="`run_agent` writes no correction"):
        render(speaks, "correction", CORRECTION)


def test_a_correction_is_written_with_its_request_where_the_form_has_room() -> None:
    speaks = dialect("markdown_json")
    again = render(speaks, "task", REQUESTS["bare"], correction=CORRECTION)
    assert parse(speaks, "task", again.text).correction is not None
    alone = [
        rendered
        for name in DIALECTS
        for form in dialect(name).TASK_FORMS
        if not _says_why(
            rendered := render(dialect(name), "task", REQUESTS["bare"], form=form, correction=CORRECTION), name
        )
    ]
    for rendered in alone:
        assert "/correction" in {loss.field for loss in rendered.losses}


def _says_why(rendered: object, name: DialectName) -> bool:
    from retinue.dialects.port import ParseContext, RenderedMessage

    assert isinstance(rendered, RenderedMessage)
    return parse(dialect(name), "task", rendered.text, context=ParseContext(skill="story_deep")).correction is not None


def test_nouns_are_shown_as_json() -> None:
    assert to_json(Correction(message="No.")) == {
        "code": "output_invalid", "message": "No.", "hint": "", "findings": [], "retry_count": 1,
    }  # fmt: skip
