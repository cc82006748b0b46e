"""Everything that can be wrong with a message, against every dialect: a finding with its place, or the one repair."""

from itertools import product
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given, settings, strategies as st

from retinue.contract import json
from retinue.contract.finding import Level
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, Model
from retinue.dialects import DIALECTS, dialect
from retinue.dialects.messages import MessageValue, parse, render, to_json
from retinue.dialects.port import Kind, Parsed
from retinue.errors import RetinueError
from tests.dialects.hostile import NONSENSE, SPOILERS, UNSAFE, swaps
from tests.dialects.laws import assert_exact_losses
from tests.dialects.samples import ANSWERS, REQUESTS, SAMPLES, Sample, with_text
from tests.dialects.test_laws import LEVELS, UNITS_NS, see_it_is_typed
from tests.examples import examples

if TYPE_CHECKING:
    from retinue.contract.result import Result
    from retinue.contract.task import Task

IN_JSON = tuple(sample for sample in SAMPLES if sample.is_json)
IN_TEXT = tuple(sample for sample in SAMPLES if not sample.is_json)


ALWAYS_JSON = {(sample.dialect, sample.kind) for sample in IN_JSON}.difference(
    (sample.dialect, sample.kind) for sample in IN_TEXT
)
"""Where no message is anything but JSON."""


def reading(sample: Sample, text: str | bytes, level: Level) -> Parsed[MessageValue] | RetinueError:
    """What becomes of `text` as a message of the sample's kind."""
    try:
        return parse(dialect(sample.dialect), sample.kind, text, level=level)
    except RetinueError as error:
        return error


def findings_of(read: Parsed[MessageValue] | RetinueError) -> list[dict[str, Any]]:
    if isinstance(read, Parsed):
        return [finding.to_json() for finding in read.findings]
    return read.detail.get("findings") or [{"path": read.path, "message": read.message, **read.detail}]


@pytest.mark.requirement("C17")
@pytest.mark.parametrize("nonsense", NONSENSE)
def test_nonsense_of_any_size_is_read_or_refused(nonsense: str) -> None:
    for name in DIALECTS:
        see_it_is_typed(name, NONSENSE[nonsense]())


# JSON that is spoiled.


@pytest.mark.requirement("C17", "K8")
@pytest.mark.parametrize("spoiler", [name for name, spoil in SPOILERS.items() if spoil('{"a":1}').repaired])
def test_a_wrapped_message_is_unwrapped_and_that_is_said(spoiler: str) -> None:
    for sample in IN_JSON:
        text = SPOILERS[spoiler](sample.rendered.text).text
        strict = reading(sample, text, "strict")
        assert isinstance(strict, RetinueError), sample
        assert findings_of(strict), sample
        if (sample.dialect, sample.kind) in ALWAYS_JSON:
            assert strict.detail["line"] >= 1, sample
            assert strict.detail["column"] >= 1, sample
        for level in ("standard", "lenient"):
            read = reading(sample, text, level)
            assert isinstance(read, Parsed), (sample, read)
            assert read.value == parse(dialect(sample.dialect), sample.kind, sample.rendered.text).value, sample
            assert f"{sample.dialect}/repaired" in {finding.rule for finding in read.findings}, sample


@pytest.mark.requirement("C17", "K8")
@pytest.mark.parametrize("spoiler", [name for name, spoil in SPOILERS.items() if not spoil('{"a":1}').repaired])
def test_a_broken_message_is_refused_with_the_place(spoiler: str) -> None:
    for sample, level in product(IN_JSON, LEVELS):
        spoiled = SPOILERS[spoiler](sample.rendered.text)
        read = reading(sample, spoiled.text, level)
        assert findings_of(read), (sample, level)
        if (sample.dialect, sample.kind) not in ALWAYS_JSON:  # it may be read as text, and then that is said
            assert isinstance(read, RetinueError) or level != "strict", sample
            continue
        if spoiler in {"in an array", "as a string"} and level != "strict":  # JSON of another shape may be an answer
            continue
        assert isinstance(read, RetinueError), (sample, level)
        if spoiled.reason not in (None, "two_objects"):
            assert read.detail["reason"] == spoiled.reason, (sample, level)
            assert read.detail["line"] >= 1, (sample, level)
            assert read.detail["column"] >= 1, (sample, level)


def related(path: str, other: str) -> bool:
    """Whether one of two places is the other, or inside it."""
    return f"{path}/".startswith(f"{other}/") or f"{other}/".startswith(f"{path}/")


@pytest.mark.requirement("C3", "C5", "C16", "K10")
@pytest.mark.parametrize("sample", IN_JSON, ids=str)
def test_what_is_of_another_kind_is_never_taken_silently(sample: Sample) -> None:
    """What the format itself types is refused, or borne with a finding; what is the agent's own data stays as it is."""
    good = json.dumps(to_json(parse(dialect(sample.dialect), sample.kind, sample.rendered.text).value))
    levels = LEVELS if isinstance(reading(sample, sample.rendered.text, "strict"), Parsed) else LEVELS[1:]
    for swap in swaps(sample.rendered.text):
        place = pointer(swap.path)
        strictest = reading(sample, swap.text, levels[0])
        for level in levels:
            read = reading(sample, swap.text, level)
            if isinstance(read, Parsed) and isinstance(strictest, Parsed):
                assert read.findings or json.dumps(to_json(read.value)) != good, (level, swap)
            else:
                paths = [each.get("path", "") for each in findings_of(read)]
                assert any(related(place, path) for path in paths), (level, swap, findings_of(read))


# Text that is spoiled.


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32"])
def test_text_in_another_encoding_is_refused(encoding: str) -> None:
    for sample, level in product(IN_TEXT, LEVELS):
        read = reading(sample, sample.rendered.text.encode(encoding), level)
        if encoding == "utf-16-le" and level == "lenient":  # without a mark it is only odd text
            assert findings_of(read), sample
        else:
            assert isinstance(read, RetinueError), (sample, level)
            assert "UTF" in read.message + read.hint or encoding == "utf-16-le", (sample, level)


def test_a_byte_order_mark_is_refused_or_said() -> None:
    for sample, level in product(IN_TEXT, LEVELS):
        for text in (f"\ufeff{sample.rendered.text}", b"\xef\xbb\xbf" + sample.rendered.text.encode()):
            assert findings_of(reading(sample, text, level)), (sample, level)


def test_line_ends_of_windows_change_nothing() -> None:
    for sample in IN_TEXT:
        good = parse(dialect(sample.dialect), sample.kind, sample.rendered.text).value
        read = reading(sample, sample.rendered.text.replace("\n", "\r\n"), "standard")
        assert isinstance(read, Parsed), sample
        assert json.dumps(to_json(read.value)).replace(r"\r\n", r"\n") == json.dumps(to_json(good)), sample


# Words that want to be more than words.


@pytest.mark.slow
@pytest.mark.parametrize("name", DIALECTS)
@pytest.mark.parametrize("kind", ["task", "result"])
@settings(max_examples=examples(150))
@given(data=st.data())
def test_no_text_forges_a_field_a_signal_or_a_section(name: DialectName, kind: Kind, data: st.DataObject) -> None:
    """Whatever stands in one field, what is read differs from what was written only where the loss report says so."""
    speaks = dialect(name)
    nouns: list[Task | Result] = [*REQUESTS.values()] if kind == "task" else [*ANSWERS.values()]
    forms = speaks.TASK_FORMS if kind == "task" else speaks.RESULT_FORMS
    _, noun = data.draw(
        st.sampled_from(
            list(with_text(data.draw(st.sampled_from(nouns)), data.draw(st.sampled_from([*UNSAFE.values()]))))
        )
    )
    rendered = render(speaks, kind, cast("MessageValue", noun), form=data.draw(st.sampled_from(forms)))
    read = parse(speaks, kind, rendered.text)
    assert_exact_losses(noun, cast("Model", read.value), rendered.losses, unit_ns=UNITS_NS[name])
