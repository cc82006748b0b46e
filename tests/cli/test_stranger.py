"""A stranger's folder: what it runs, asks and spends before its user trusts it, and what afterwards."""

import importlib.util
import marshal
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from tests.cli import shell
from tests.cli.conftest import Give

AGENT = '''import sys
from pathlib import Path

import retinue

sys.path.insert(0, str(Path(__file__).parent))
{body}


@retinue.agent
def teller(task: str) -> str:
    """Tells who was imported. Use when it must be told. Returns a name."""
    return {value}
'''


def write(file: Path, text: str) -> Path:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def mark(file: Path) -> str:
    """Python that leaves a mark when it runs."""
    return f"open({str(file)!r}, 'w').close()\nNAME = 'stranger'\n"


# Code


@pytest.mark.requirement("B27")
def test_the_test_of_the_assistant_imports_nothing_from_the_folder(home: Path, folder: Path) -> None:
    write(folder / "retinue.py", mark(home / "ran"))
    write(folder / "json.py", mark(home / "ran"))
    write(folder / "cases.toml", '[[case]]\nprompt = "list my notes"\ntool = "NOTES_GET_list"\n')
    ended = subprocess.run(
        [sys.executable, "-P", "-m", "retinue", "assistant", "test", "cases.toml", "--json"],
        cwd=folder,
        env=shell.environment(home),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert '"verdict"' in ended.stdout
    assert not (home / "ran").exists()


def test_a_program_in_a_definition_with_a_byte_order_mark_is_asked_about(retinue: Give, folder: Path) -> None:
    write(folder / ".retinue/agents/good.py", AGENT.format(body="", value="'good'"))
    assert retinue("trust", "--yes").code == 0
    about = '"name": "helper", "description": "Helps. Use for help. Returns help.", "input_schema": {"type": "object"}'
    text = f'{{{about}, "command": ["./evil"]}}'
    (folder / ".retinue/agents/more.json").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert ".retinue/agents/more.json" in retinue("trust").err
    refused = retinue("ask", "helper", "help me please", "--json")
    assert refused.code == 2
    assert "'.retinue/agents/more.json' may define it, but this folder is not trusted" in refused.error["message"]
    assert "retinue trust" in refused.error["hint"]


@pytest.mark.parametrize("layout", ["sourceless", "cached", "linked", "hidden", "archive"])
def test_only_the_sources_that_were_shown_are_imported(home: Path, folder: Path, layout: str) -> None:
    agents = folder / ".retinue/agents"
    code = compile(mark(home / "ran"), "helper.py", "exec")
    unchecked = importlib.util.MAGIC_NUMBER + (1).to_bytes(4, "little") + bytes(8) + marshal.dumps(code)
    body = "try:\n    from helper import NAME\nexcept ImportError:\n    NAME = 'nobody'\n"
    match layout:
        case "sourceless":
            agents.mkdir(parents=True)
            (agents / "helper.pyc").write_bytes(unchecked)
        case "cached":
            source = write(agents / "helper.py", "NAME = 'source'\n")
            cached = Path(importlib.util.cache_from_source(str(source)))
            cached.parent.mkdir()
            cached.write_bytes(unchecked)
        case "linked":
            write(folder / "elsewhere/__init__.py", mark(home / "ran"))
            agents.mkdir(parents=True)
            (agents / "helper").symlink_to(folder / "elsewhere")
            write(folder / "elsewhere/inner.py", mark(home / "ran"))
            body = body.replace("helper", "helper.inner")
        case "hidden":
            write(agents / ".lib/helper.py", mark(home / "ran"))
            body = "sys.path.insert(0, str(Path(__file__).parent / '.lib'))\n" + body
        case _:
            import zipfile

            agents.mkdir(parents=True)
            with zipfile.ZipFile(agents / "lib.zip", "w") as archive:
                archive.writestr("helper.py", mark(home / "ran"))
            body = "sys.path.insert(0, str(Path(__file__).parent / 'lib.zip'))\n" + body
    write(agents / "teller.py", AGENT.format(body=body, value="NAME"))
    assert shell.run(home, folder, "trust", "--yes").returncode == 0
    told = shell.run(home, folder, "ask", "teller", "who was it?", PYTHONDONTWRITEBYTECODE="")
    assert ("source" if layout == "cached" else "nobody") in told.stdout
    assert not (home / "ran").exists()


@pytest.mark.requirement("B8", "B20")
def test_a_tool_root_is_used_once_it_is_trusted_and_asked_about_when_it_changes(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = '''NAME = "WINE"
SYSTEM_PROMPT = "You look after the cellar."


def WINE_GET_bottles() -> list:
    """List the bottles of the wine cellar.

    Example prompt: which bottles of wine are in the cellar?
    Example response: A bottle of Zweigelt.
    Example args: {}
    Notes: What is in the cellar.
    """
    return ["Zweigelt"]


TOOLS = [WINE_GET_bottles]
'''
    file = write(folder / "tools/wine_tool.py", text)
    monkeypatch.setenv("TOOL_ROOT", "tools")
    words = ("ask", "personal_assistant", "which bottles of wine are in the cellar?", "--json")
    refused = retinue(*words)
    assert (refused.code, refused.data["fault"]["code"]) == (5, "access_denied")
    assert f"retinue trust --tool-root {folder / 'tools'}" in refused.data["fault"]["hint"]
    assert retinue("trust", "--yes").code == 0
    assert retinue(*words).code == 5
    trusted = retinue("trust", "--tool-root", "tools", "--yes", "--json").data
    assert trusted == {"folder": str(folder / "tools"), "trusted": True, "files": ["wine_tool.py"]}
    answer = retinue(*words)
    assert answer.code == 0
    assert "WINE_GET_bottles" in [trace["tool"] for trace in answer.data["traces"]]
    assert f"{folder / 'tools'}  (tool root)" in retinue("trust", "--list").out
    write(file, text + "# changed\n")
    assert retinue(*words).data["fault"]["code"] == "access_denied"
    assert retinue("trust", "--tool-root", "tools", "--revoke", "--json").data["was_trusted"] is True
    assert retinue("trust", "--tool-root").code == 2


@pytest.mark.parametrize("place", ["/", "..", "../..", "link"])
def test_a_tool_root_outside_the_workspace_is_not_looked_into(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch, place: str
) -> None:
    (folder / "link").symlink_to("/")
    monkeypatch.setenv("TOOL_ROOT", place)
    refused = retinue("ask", "personal_assistant", "list my notes", "--json")
    assert (refused.code, refused.data["fault"]["code"]) == (5, "access_denied")
    assert "not inside the workspace" in refused.data["fault"]["message"]


# Money


@pytest.fixture
def provider() -> Iterator[tuple[str, list[str]]]:
    """A provider on this machine that refuses everybody, and what it was asked."""
    asked: list[str] = []

    class Refusing(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked.append(self.path)
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.send_response(401)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *_: object) -> None:  # noqa: A002 - its name there
            """Keep quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Refusing)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/v1", asked
    server.shutdown()
    thread.join()
    server.server_close()


POET = """---
name: poet
description: Writes short poems about a theme. Use when a poem must be written. Returns the poem.
model: {model}
---
Write a short poem.
"""


@pytest.mark.parametrize("place", ["retinue.toml", "pyproject.toml", "definition"])
def test_a_stranger_spends_nothing_until_the_folder_is_trusted(
    retinue: Give, folder: Path, monkeypatch: pytest.MonkeyPatch, provider: tuple[str, list[str]], place: str
) -> None:
    pytest.importorskip("pydantic_ai")
    address, asked = provider
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-user")
    monkeypatch.setenv("OPENAI_BASE_URL", address)
    model = "openai-chat:gpt-5"
    if place == "definition":
        monkeypatch.setenv("RETINUE_MODELS_DEFAULT", "openai-chat:gpt-5-nano")
    else:
        head = "[models]" if place == "retinue.toml" else "[tool.retinue.models]"
        write(folder / place, f'{head}\ndefault = "{model}"\nsmall = "{model}"\n')
    write(folder / ".claude/agents/poet.md", POET.format(model=model if place == "definition" else "small"))
    before = retinue("ask", "poet", "write a poem about rain", "--json")
    assert before.code != 0
    assert "retinue trust" in before.err + before.out
    assert asked == []
    assert retinue("trust", "--yes").code == 0
    assert retinue("ask", "poet", "write a poem about rain", "--json").code == 3
    assert asked != []


def test_nobody_is_called_so_names_the_trust_that_is_missing(retinue: Give, folder: Path) -> None:
    write(folder / ".retinue/agents/team.py", AGENT.format(body="", value="'x'"))
    for words in (("ask", "teller", "who was it?"), ("run", "--agent", "teller", "who was it?")):
        refused = retinue(*words, "--json")
        assert refused.code == 2
        assert "'.retinue/agents/team.py' may define it" in refused.error["message"]
        assert "retinue trust" in refused.error["hint"]
