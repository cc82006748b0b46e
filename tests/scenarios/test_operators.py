"""What whoever runs Retinue sees of it, and what those who only ask do not."""

import asyncio
import logging
import subprocess
import sys
from pathlib import Path

import pytest

import retinue

SECRET = "/srv/keys/db-01.pem is unreadable"


@retinue.agent
async def broken(prompt: str) -> str:
    """Fails with a text of its own. Use in tests. Returns nothing."""
    error = ValueError(f"{prompt}: {SECRET}")
    error.add_note(f"seen at {SECRET}")
    raise error


@retinue.agent
async def flaky(prompt: str, run: retinue.RunContext) -> int:
    """Fails once. Use in tests. Returns a number."""
    if run.attempt == 1:
        raise ConnectionError(SECRET)
    return len(prompt)


def test_a_stranger_is_told_a_fixed_sentence_and_the_log_has_the_rest(caplog: pytest.LogCaptureFixture) -> None:
    answer = asyncio.run(retinue.as_run_agent(broken, environment={})("hello"))
    assert answer["error"]["code"] == "internal_error"
    run = answer["error"]["detail"]["run"]
    assert run in answer["error"]["message"]
    for word in ("db-01", "ValueError", "test_operators", "hello"):
        assert word not in str(answer), word
    logged = [record for record in caplog.records if run in record.getMessage()]
    assert any(SECRET in record.getMessage() for record in logged)
    assert all(record.name.startswith("retinue.") for record in logged)


def test_the_one_who_asked_wrongly_is_told_how_to_ask() -> None:
    answer = asyncio.run(retinue.as_run_agent(broken, environment={})("x", None, None, {"domain_timeout_secs": "soon"}))
    assert "domain_timeout_secs" in str(answer["warnings"])
    refused = asyncio.run(retinue.as_run_agent(flaky, skill="no_such", environment={})("x"))
    assert refused["error"]["code"] == "invalid_input"
    assert "no_such" in refused["error"]["message"]


def test_the_log_tells_starts_retries_and_ends_but_nothing_that_was_asked(caplog: pytest.LogCaptureFixture) -> None:
    async def main() -> retinue.Result:
        registry = retinue.Registry([flaky])
        async with retinue.InProcessEngine(retinue.workflows(registry)) as engine:
            orchestrator = retinue.Orchestrator(registry, engine)
            return await orchestrator.run_task("flaky", parameters={"prompt": "a very private question"})

    with caplog.at_level(logging.DEBUG, logger="retinue"):
        result = asyncio.run(main())
    assert result.outcome == "success"
    told = [(record.levelname, record.getMessage()) for record in caplog.records if record.name == "retinue.runs"]
    run = result.task_id
    assert ("INFO", f"run {run}: started") in told
    assert any(level == "WARNING" and "attempt 1 failed (network_error)" in text for level, text in told)
    assert ("INFO", f"run {run}: ended, success") in told
    assert not any("private" in text for _, text in told)


def test_files_that_are_refused_are_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    from retinue.agents.discover import discover

    (tmp_path / ".claude" / "agents").mkdir(parents=True)
    (tmp_path / ".claude" / "agents" / "bad.md").write_text("---\nname: [\n---\n")
    (tmp_path / ".retinue" / "agents").mkdir(parents=True)
    (tmp_path / ".retinue" / "agents" / "code.py").write_text("raise SystemExit\n")
    discover(tmp_path, trusted=False)
    told = [record.getMessage() for record in caplog.records]
    assert any("bad.md is not used" in text for text in told)
    assert any("code.py is not used" in text and "not trusted" in text for text in told)


def test_a_program_that_sets_up_no_logging_prints_nothing_of_it() -> None:
    program = (
        "import asyncio, retinue\n"
        "async def broken(a: int) -> int:\n    '''Fails. Use in tests. Returns.'''\n    raise ValueError('oh')\n"
        "print(asyncio.run(retinue.call(broken, a=1)).outcome)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout.strip(), done.stderr) == ("error", "")
