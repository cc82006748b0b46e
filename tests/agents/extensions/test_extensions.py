"""Extensions under a tool root: found, reported, shown to a router, and called with checked arguments."""

import asyncio
import json
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from retinue.agents.extensions import Extension, discover, light_schema, read_words
from retinue.errors import InvalidInput, MissingFile, NotTrusted

TEA = '''
NAME = "TEA"
SYSTEM_PROMPT = """
You keep the tea of one person.
Never praise coffee.
"""
CALLS = []

def TEA_GET_stock(kind: str = "all") -> dict[str, int]:
    """Say how much tea there is.

    How much green tea is left?
    Example response: Forty grams.
    Example args: {"kind": "green"}
    Notes: Weighs
    in grams.
    """
    return {"green": 40} if kind != "none" else {}

async def TEA_ACTION_brew(kind: str, cups: int) -> str:
    """Brew tea."""
    return f"{cups} cups of {kind}"

def TEA_ACTION_slip(times: int = 1) -> str:
    """Drop a cup."""
    CALLS.append(times)
    if len(CALLS) <= times:
        raise RuntimeError("the cup fell")
    return "caught"

TOOLS = [TEA_GET_stock, TEA_ACTION_brew, TEA_ACTION_slip]
'''


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "tea_tool.py").write_text(TEA)
    return tmp_path


def tea(root: Path) -> Extension:
    (found,) = discover(root, trusted=True).extensions
    return found


@pytest.mark.requirement("B8", "B20")
def test_whatever_exports_the_three_names_is_an_extension(root: Path) -> None:
    found = tea(root)
    assert (found.name, found.file) == ("TEA", "tea_tool.py")
    assert [tool.name for tool in found.tools] == ["TEA_GET_stock", "TEA_ACTION_brew", "TEA_ACTION_slip"]


@pytest.mark.requirement("B20")
@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("NAME = 'X'\nTOOLS = []", "`SYSTEM_PROMPT` is not text"),
        ("NAME = 3\nSYSTEM_PROMPT = 'p'\nTOOLS = []", "`NAME` is not text"),
        ("NAME = ' '\nSYSTEM_PROMPT = 'p'\nTOOLS = []", "`NAME` is empty"),
        ("NAME = 'X'\nSYSTEM_PROMPT = 'p'\nTOOLS = (1,)", "`TOOLS` is not a list"),
        ("raise RuntimeError('boom')", "boom"),
        ("def broken(:", "cannot be imported"),
        ("NAME = 'tea'\nSYSTEM_PROMPT = 'p'\nTOOLS = []", "there already"),
        ("NAME = 'X'\nSYSTEM_PROMPT = 'p'\nTOOLS = [3]", "not a function"),
        ("NAME = 'X'\nSYSTEM_PROMPT = 'p'\ndef f(a): ...\nTOOLS = [f]", "has no type"),
        ("NAME = 'X'\nSYSTEM_PROMPT = 'p'\nTOOLS = [lambda: 1]", "cannot be called"),
    ],
)
def test_what_is_no_extension_is_passed_over_and_told(root: Path, text: str, reason: str) -> None:
    (root / "zoo_tool.py").write_text(text)
    extensions = discover(root, trusted=True)
    assert extensions.extensions[0].name == "TEA"
    (skipped,) = extensions.skipped
    assert skipped.path == "zoo_tool.py"
    assert reason in skipped.reason


def test_folders_below_are_searched_and_links_out_are_not(root: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    elsewhere = tmp_path_factory.mktemp("elsewhere")
    (elsewhere / "far_tool.py").write_text(TEA.replace('"TEA"', '"FAR"'))
    (root / "linked").symlink_to(elsewhere)
    (root / "deep").mkdir()
    (root / "deep/near_tool.py").write_text(TEA.replace('"TEA"', '"NEAR"'))
    assert [found.name for found in discover(root, trusted=True).extensions] == ["TEA", "NEAR"]


def test_code_of_a_folder_that_is_not_trusted_is_not_run(root: Path) -> None:
    (root / "evil_tool.py").write_text("raise SystemExit('it ran')")
    with pytest.raises(NotTrusted, match="2 extensions"):
        discover(root, trusted=False)


def test_a_tool_root_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(MissingFile):
        discover(tmp_path / "none", trusted=True)
    assert discover(tmp_path, trusted=False).extensions == ()


@pytest.mark.requirement("B9")
def test_only_the_named_domains_are_kept_and_an_unknown_one_is_told(root: Path) -> None:
    kept = discover(root, trusted=True).only(["tea", "tee"])
    assert [found.name for found in kept.extensions] == ["TEA"]
    (unknown,) = kept.skipped
    assert (unknown.path, unknown.hint) == ("tee", "Did you mean 'tea'?")
    assert discover(root, trusted=True).only([]).extensions == ()


@pytest.mark.requirement("B21")
def test_a_docstring_gives_its_five_parts() -> None:
    words = read_words("Say it.\n\n'How are you?'\nExample response: Well.\nand glad\nExample args: {}\nNotes: none")
    assert words.summary == "Say it."
    assert words.example_prompt == "How are you?"
    assert words.example_response == "Well. and glad"
    assert (words.example_args, words.notes) == ("{}", "none")
    assert read_words("Say it.\nExample prompt: Hi\nthere").notes == "there"
    assert read_words(None).summary == ""


@pytest.mark.requirement("B19")
def test_the_light_schema_is_a_paragraph_for_each_extension(root: Path) -> None:
    (root / "zoo_tool.py").write_text("NAME = 'ZOO'\nSYSTEM_PROMPT = 'You keep animals.'\nTOOLS = []")
    assert light_schema(discover(root, trusted=True).extensions) == (
        "TEA — You keep the tea of one person.\n"
        '- TEA_GET_stock: Say how much tea there is. EX: "How much green tea is left?"\n'
        "- TEA_ACTION_brew: Brew tea.\n"
        "- TEA_ACTION_slip: Drop a cup.\n"
        "\n"
        "ZOO — You keep animals."
    )


@given(st.text(), st.text())
def test_no_author_can_forge_a_line_of_the_light_schema(name: str, prompt: str) -> None:
    text = light_schema([Extension(name or "X", prompt, ())])
    assert len(text.splitlines()) <= 1


def test_a_tool_is_called_with_checked_arguments(root: Path) -> None:
    tool = tea(root).tool("TEA_ACTION_brew")
    assert tool is not None
    used = asyncio.run(tool.use({"kind": "green", "cups": 2}))
    assert (used.output, used.failed, used.tries) == ("2 cups of green", False, 1)
    assert used.trace.duration_ns is not None
    for wrong in ({"kind": "green"}, {"kind": "green", "cups": "two"}, {"kind": "green", "cups": 2, "sugar": True}):
        with pytest.raises(InvalidInput, match="TEA_ACTION_brew"):
            asyncio.run(tool.use(wrong))


@pytest.mark.requirement("B5")
def test_a_structured_answer_is_json_text(root: Path) -> None:
    tool = tea(root).tool("TEA_GET_stock")
    assert tool is not None
    assert json.loads(asyncio.run(tool.use({})).output) == {"green": 40}


@pytest.mark.requirement("B23")
@pytest.mark.parametrize(("times", "failed", "tries"), [(0, False, 1), (1, False, 2), (5, True, 2)])
def test_a_tool_that_raises_is_called_once_more_and_then_its_error_is_the_output(
    root: Path, times: int, failed: bool, tries: int
) -> None:
    tool = tea(root).tool("TEA_ACTION_slip")
    assert tool is not None
    used = asyncio.run(tool.use({"times": times}))
    assert (used.failed, used.tries) == (failed, tries)
    assert used.output == ("RuntimeError: the cup fell" if failed else "caught")
