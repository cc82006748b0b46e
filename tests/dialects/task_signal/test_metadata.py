"""What goes up the hierarchy, and how much is spared, measured."""

import pytest

from retinue.contract.result import Result
from retinue.contract.tokens import get_counter
from retinue.dialects import task_signal
from retinue.dialects.task_signal import ArtifactMetadata
from retinue.errors import OutputInvalid

REPORT = "word and more words, with examples and references. " * 300


def _result(**fields: object) -> Result:
    return Result(task_id="", agent="agent", outcome="success", **fields)  # pyright: ignore[reportArgumentType] - names


@pytest.mark.requirement("H12", "C41")
def test_path_title_and_summary_of_each_file() -> None:
    text = "CREATED: /a.md\nTITLE: A\nSUMMARY: a\nCREATED: /b.md\nSTATUS: complete"
    found = task_signal.metadata(task_signal.parse_result(text).value)
    assert found == (ArtifactMetadata(path="/a.md", title="A", summary="a"), ArtifactMetadata(path="/b.md"))
    assert found[0].to_json() == {"path": "/a.md", "title": "A", "summary": "a"}


@pytest.mark.requirement("H12")
def test_without_a_file_the_whole_is_described_or_nothing() -> None:
    assert task_signal.metadata(_result(data={"title": "A", "summary": "a"})) == (
        ArtifactMetadata(title="A", summary="a"),
    )
    assert task_signal.metadata(_result(data=[1])) == ()


@pytest.mark.requirement("H12", "C42")
def test_prose_gives_no_metadata() -> None:
    text = f"STATUS: complete\n\nI have NOT CREATED: /etc/passwd\nSUBTITLE: b\n{REPORT}"
    assert task_signal.metadata(task_signal.parse_result(text).value) == ()


@pytest.mark.parametrize("name", ["words", "chars4"])
@pytest.mark.requirement("H13", "C20")
def test_the_reduction_is_measured_with_a_named_counter(name: str) -> None:
    text = f"CREATED: /a.md\nTITLE: A\nSUMMARY: a\nSTATUS: complete\n\n{REPORT}"
    measured = task_signal.reduction(text, get_counter(name))
    said = '{"path":"/a.md","title":"A","summary":"a"}'
    assert measured.counter == name
    assert measured.before == get_counter(name).count(text)
    assert measured.after == get_counter(name).count(said)
    assert measured.after * 10 < measured.before


@pytest.mark.requirement("H13")
def test_a_short_answer_is_not_made_to_look_longer() -> None:
    two = task_signal.reduction("TITLE: a\nSUMMARY: b", get_counter("chars4"))
    assert two.counter == "chars4"
    assert two.after > two.before
    assert task_signal.reduction("TITLE: a").counter == "words"
    with pytest.raises(OutputInvalid):
        task_signal.reduction("no signals")
