"""Routing by meaning: with a real model (all-MiniLM-L6-v2, 23 MB), without the extra, and with a damaged folder."""

import shutil
import sys
from pathlib import Path
from typing import Any

import pytest
from fastembed import TextEmbedding

from bench.router import plant_minilm
from retinue import SentenceEmbedder
from retinue.contract.definition import Definition, Skill
from retinue.errors import InvalidInput, MissingFile, NotInstalled, RetinueError
from retinue.orchestration.reader.router import Router


def definition(name: str, description: str, *examples: str) -> Definition:
    skill = Skill(name=name, description=description, input_schema={"type": "object"}, examples=examples)
    return Definition(name=f"{name}_agent", description="", skills=(skill,))


AGENTS = (
    definition("weather", "Forecasts rain, sun and wind.", "will it rain tomorrow", "how warm is it in Rome"),
    definition("payments", "Moves money between accounts.", "transfer fifty euros to Ada", "pay the electricity bill"),
    definition("travel", "Books trains and flights.", "book a flight to Oslo", "when does the next train leave"),
)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "minilm"
    folder.mkdir()
    return plant_minilm(folder)


def refusal(model: str) -> RetinueError:
    with pytest.raises(RetinueError) as caught:
        Router(AGENTS, likeness=SentenceEmbedder(model)).route("anything")
    assert "models.embed" in caught.value.hint
    return caught.value


@pytest.mark.slow
@pytest.mark.parametrize(
    ("clause", "agent"),
    [
        ("do I need an umbrella", "weather_agent"),
        ("send my landlord the cash I owe", "payments_agent"),
        ("get me a seat on an airplane", "travel_agent"),
    ],
)
def test_a_clause_that_shares_no_word_finds_its_skill(model: Path, clause: str, agent: str) -> None:
    assert Router(AGENTS, likeness=SentenceEmbedder(str(model))).route(clause).candidates[0].agent == agent


@pytest.mark.slow
def test_embeddings_of_skills_are_kept_until_their_texts_or_the_model_change(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, embedded = [["book a flight", "a train"], ["pay a bill"]], list[str]()
    inner = TextEmbedding.passage_embed

    def counted(self: TextEmbedding, texts: list[str], **options: Any) -> Any:
        embedded.extend(texts)
        return inner(self, texts, **options)

    monkeypatch.setattr(TextEmbedding, "passage_embed", counted)

    def likeness(texts: list[list[str]]) -> list[float]:
        return list(SentenceEmbedder(str(model), cache_dir=tmp_path / "cache")(texts)("fly"))

    first = likeness(texts)
    assert embedded == ["book a flight", "a train", "pay a bill"]
    embedded.clear()
    assert likeness(texts) == first
    assert embedded == []
    assert -1 <= first[1] < first[0] <= 1
    embedded.clear()
    likeness([*texts, ["rain"]])
    assert embedded == ["rain"]
    embedded.clear()
    (model / "tokenizer_config.json").write_text('{"model_max_length": 64, "pad_token": "[PAD]"}')
    likeness([["rain"]])
    assert embedded == ["rain"]


def test_without_the_extra_it_says_what_to_install(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fastembed", None)
    error = refusal(str(model))
    assert isinstance(error, NotInstalled)
    assert "retinue[embed]" in error.hint


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_folder_that_lacks_a_file_says_which(model: Path, name: str) -> None:
    (model / name).unlink()
    error = refusal(str(model))
    assert isinstance(error, MissingFile)
    assert error.path.startswith(str(model))


@pytest.mark.parametrize("name", ["model.onnx", "tokenizer.json", "tokenizer_config.json"])
def test_a_damaged_file_is_an_error_and_no_guess(model: Path, tmp_path: Path, name: str) -> None:
    damaged = tmp_path / "damaged"
    shutil.copytree(model, damaged)
    (damaged / name).write_bytes((damaged / name).read_bytes()[:20])
    error = refusal(str(damaged))
    assert isinstance(error, InvalidInput)
    assert repr(str(damaged)) in error.message


@pytest.mark.parametrize("name", ["nobody/has-this", "BAAI/bge-small-en-v1.5"])
def test_a_name_that_is_not_on_disk_is_never_downloaded(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FASTEMBED_CACHE_PATH", str(tmp_path))
    assert repr(name) in refusal(name).message
    assert capfd.readouterr().err == ""
