"""Who may name which model: its user any, a definition no file of this machine, a task what is configured or allowed."""

from collections.abc import Callable, Mapping

import pytest
from hypothesis import example, given, settings, strategies as st

from retinue.contract.definition import Tier
from retinue.errors import AccessDenied, RetinueError, UnknownName
from retinue.llm.models import Models
from retinue.llm.scripted import ScriptedModel
from tests.examples import examples

NAMES: Mapping[Tier, str] = {"small": "openai:little", "medium": "openai:middling", "large": "anthropic:big"}


def mine(*allowed: str) -> Models:
    return Models(tiers=NAMES, default="local:/home/me/mine.gguf", environment={}, allowed=allowed)


@pytest.mark.parametrize(
    "word", ["small", "Haiku", "opus", "openai:little", " anthropic:big ", "local:/home/me/mine.gguf"]
)
def test_a_task_may_name_a_tier_and_what_is_configured(word: str) -> None:
    assert mine().choose(model=word).name in {*NAMES.values(), "local:/home/me/mine.gguf"}


@pytest.mark.parametrize(
    "word",
    [
        "local:/etc/passwd", "LOCAL:/etc/passwd", "local:/home/me/mine.gguf ../x", "replay:/tmp/x", "openai:other",
        "http://evil.example/v1", "file:///etc/passwd", "/etc/passwd", "../model.gguf", "claude-haiku-4-5",
    ],
)  # fmt: skip
def test_a_task_may_name_nothing_else_and_is_told_what_there_is(word: str) -> None:
    with pytest.raises(AccessDenied if ":" in word or "claude" in word else UnknownName) as refused:
        mine().choose(model=word, own="medium", tier="small")
    if isinstance(refused.value, AccessDenied):
        assert refused.value.suggestions == ("anthropic:big", "openai:little", "openai:middling")
        assert refused.value.path == "/model"
        assert "mine.gguf" not in refused.value.hint  # the files of a user are nobody's business


def test_the_user_may_name_anything() -> None:
    for word in ("local:/etc/passwd", "replay:/tmp/x", "openai:other", "claude-haiku-4-5"):
        assert mine().choose(model=word, source="user").name.endswith(word)


def test_what_the_user_allows_a_task_may_name() -> None:
    models = mine("anthropic:claude-*", "gpt-5-mini", "local:*")
    assert models.choose(model="claude-haiku-4-5").name == "anthropic:claude-haiku-4-5"
    assert models.choose(model="openai:gpt-5-mini").name == "openai:gpt-5-mini"
    for word in ("openai:gpt-5", "local:/etc/passwd"):  # a pattern never means a file
        with pytest.raises(AccessDenied):
            models.choose(model=word)


def test_an_exact_file_can_be_allowed() -> None:
    assert mine("local:/models/a.gguf").choose(model="local:/models/a.gguf").name == "local:/models/a.gguf"


def test_what_the_definition_says_may_be_repeated_by_a_task_but_no_file() -> None:
    assert mine().choose(model="openai:other", own="openai:other").name == "openai:other"
    for spelled in ("local:/etc/passwd", " Local :/etc/passwd", "REPLAY:/tmp/x"):
        with pytest.raises(AccessDenied):
            mine().choose(model=spelled, own=spelled)
        with pytest.raises(AccessDenied):
            mine().choose(own=spelled)


def test_a_parent_that_a_task_makes_up_opens_no_file() -> None:
    with pytest.raises(AccessDenied):
        mine().choose(model="inherit", parent="local:/etc/passwd")
    assert mine().choose(model="inherit", parent="openai:little").name == "openai:little"


def test_a_model_at_hand_may_be_named() -> None:
    models = Models(ready={"mine": ScriptedModel([], name="mine")}, default="mine")
    assert models.choose(model="mine").name == "mine"


def test_the_usual_tiers_are_not_configured_for_somebody_elses_default() -> None:
    with pytest.raises(AccessDenied):
        Models(default="openai:gpt-5").choose(model="anthropic:claude-haiku-4-5")
    assert Models(default="medium").choose(model="anthropic:claude-haiku-4-5").tier == "small"


def _changed(change: Callable[[str], str]) -> st.SearchStrategy[str]:
    return st.sampled_from([*NAMES.values(), "local:/etc/passwd", "replay:x", "local:/home/me/mine.gguf"]).map(change)


SPELLED = st.one_of(
    st.text(max_size=30),
    st.builds("{}{}:{}".format, st.sampled_from(["", " ", "\t", "\u202e"]), st.text(max_size=8), st.text(max_size=20)),
    _changed(str.upper), _changed(str.title), _changed(lambda name: f" {name}\n"), _changed(lambda name: name + "/.."),
    _changed(lambda name: name.replace(":", " : ")), _changed(lambda name: name.replace("local", "lo\u0441al")),
)  # fmt: skip


@settings(max_examples=examples(200))
@given(word=SPELLED, own=st.none() | SPELLED, parent=st.none() | SPELLED)
@example(word="local:/etc/passwd", own=None, parent=None)
@example(word="inherit", own="inherit", parent="replay:x")
def test_however_a_task_spells_it_only_what_the_user_set_is_chosen(
    word: str, own: str | None, parent: str | None
) -> None:
    configured = {*NAMES.values(), "local:/home/me/mine.gguf"}
    try:
        chosen = mine().choose(model=word, own=own, parent=parent).name
    except RetinueError:
        return
    provider = chosen.partition(":")[0].strip().casefold()
    assert chosen in configured or provider not in {"local", "replay"}
    if own is None and parent is None and word.strip():
        assert chosen in configured
