"""No key in clear in what is kept of a run or handed on: the journal, `--json`, `--jsonl`, HTML and the traces in them."""

from pathlib import Path

import pytest

from retinue.llm.port import Request
from retinue.llm.scripted import Line, tool_call
from tests.cli.conftest import Give
from tests.cli.thinking import add_agents, use_models

KNOWN = "sk-proj-4f9aKq02LmZx81TtRw77"
OWN = "correct-horse-battery"


@pytest.fixture
def leak(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project with two secrets in a file, and a model that reads them and says them again."""
    monkeypatch.setenv("DEPLOY_TOKEN", OWN)
    (folder / "notes.md").write_text(f"The key is {KNOWN}, and the other is {OWN}.\n")
    add_agents(folder)

    def answer(request: Request) -> Line:
        if len(request.turns) == 1:
            return tool_call("read", file_path="notes.md")
        return f"I found {KNOWN} and {OWN} in the notes."

    use_models(monkeypatch, answer)
    return folder


@pytest.mark.parametrize("form", [("--json",), ("--jsonl",), ("--format", "html"), ("--format", "md"), ()])
@pytest.mark.parametrize("verb", [("ask", "poet"), ("run", "--agent", "poet")])
def test_no_key_stands_in_what_is_kept_or_handed_on(
    retinue: Give, leak: Path, home: Path, verb: tuple[str, ...], form: tuple[str, ...]
) -> None:
    said = retinue(*verb, "write a poem about the notes", *form)
    assert said.code == 0
    assert "[removed]" in said.out
    kept = b"".join(file.read_bytes() for file in (home / "state").rglob("*") if file.is_file())
    assert b"I found [removed]" in kept
    shown = "".join(retinue("runs", "show", *more).out for more in (("--json", "--events"), (), ("--format", "html")))
    assert "[removed]" in shown
    for secret in (KNOWN, OWN):
        assert secret not in said.out + said.err + shown
        assert secret.encode() not in kept
