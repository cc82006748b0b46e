"""A Claude Code that crashes, hangs or talks nonsense is a fault: never an exception, never a hang."""

import asyncio
import os
import signal
import time
from importlib import import_module
from pathlib import Path

import pytest
from claude_agents import MODEL, driven, fake, models
from retinue_claude import ClaudeCode

from retinue.agents.grants import Grants
from retinue.agents.prompted import PromptedAgent
from retinue.contract.event import ToolCallEvent
from retinue.contract.result import Result
from retinue.contract.task import Budget
from retinue.llm.budget_tracker import BudgetTracker
from retinue.llm.models import Models
from retinue.llm.port import AssistantMessage, Request, ToolCall, ToolResult, ToolResults, UserMessage
from retinue.llm.scripted import ScriptedModel
from tests.agents.prompted.cast import orchestrated
from tests.agents.prompted.given import Made, Person, ask, bodies, context, definition as defined, rules, toolbox

pytestmark = pytest.mark.slow

import_module("claude_agent_sdk")  # which takes its time, and some tests have little


def asked(folder: Path, script: str, **facts: object) -> Result:
    """What an agent comes to whose Claude Code does what `script` says; a second attempt is not waited for."""
    options = {"silence_s": 20.0, **facts}
    return ask(driven(program=fake(folder, script), **options))  # pyright: ignore[reportArgumentType] - by name


def unheard(_: object) -> None:
    """Nobody listens."""


def code(result: Result) -> str:
    assert result.fault is not None
    return result.fault.code


def test_an_answer_is_taken_with_what_it_is_said_to_have_cost(tmp_path: Path) -> None:
    result = asked(tmp_path, "greet(); respond('Well.'); end('Well.')")
    assert (result.outcome, result.content) == ("success", "Well.")
    assert result.usage is not None
    assert (result.usage.tokens_in, result.usage.tokens_out, result.usage.model) == (10, 10, MODEL)
    assert result.usage.cost is not None
    assert result.usage.cost.usd == 0.25
    assert result.usage.cost.price_id == "claude-code-9.9.9 (as it says)"


@pytest.mark.parametrize(
    ("script", "expected", "words"),
    [
        ("sys.exit(3)", "unavailable", "status 3"),
        ("print('no such option', file=sys.stderr); sys.exit(1)", "unavailable", "no such option"),
        ("hear(); print('{\"type\": [}', flush=True); hear()", "output_invalid", "cannot be read"),
        ("greet(); print('{' * 100000, flush=True); hear()", "output_invalid", "cannot be read"),
        ("greet(); print('x' * 9_000_000, flush=True); hear()", "output_invalid", "too long"),
        ("greet(); say(type='control_request'); say(type='control_request', request_id='1', request=[]); sys.exit(0)", "unavailable", "before it had answered"),
        ("greet(); say(type='result', subtype=7, is_error=False)", "output_invalid", "ended with"),
        ("greet(); end('', is_error=True, subtype='error_during_execution', errors=['Out of luck', 7])", "output_invalid", "Out of luck"),
        ("greet(); end('')", "output_invalid", "empty"),
        ("greet(); end('API Error: 401', is_error=True, api_error_status=401)", "unauthenticated", "401"),
        ("greet(); end('API Error: 404', is_error=True, api_error_status=404)", "invalid_input", "404"),
        ("greet(); end('API Error: 413', is_error=True, api_error_status=413)", "invalid_input", "413"),
        ("greet(); end('API Error: 529', is_error=True, api_error_status=529)", "unavailable", "529"),
        ("greet(); end('Connection error', is_error=True)", "network_error", "Connection error"),
        ("greet(); end('no', is_error=True, subtype='error_max_structured_output_retries')", "output_invalid", "schema"),
        ("greet(); end('no', stop_reason='refusal')", "output_invalid", "refused"),
    ],
)  # fmt: skip
def test_whatever_goes_wrong_is_a_fault_that_says_why(tmp_path: Path, script: str, expected: str, words: str) -> None:
    result = asked(tmp_path, script)
    assert not result.useful
    assert code(result) == expected
    assert result.fault is not None
    assert words in result.fault.message
    assert result.fault.hint


def test_one_that_is_silent_is_given_up_and_ended(tmp_path: Path) -> None:
    result = asked(
        tmp_path,
        f"open({str(tmp_path / 'pid')!r}, 'w').write(str(__import__('os').getpid())); greet(); hear()",
        silence_s=4.0,
    )
    assert (result.outcome, code(result)) == ("failed", "timeout")
    assert is_gone(int((tmp_path / "pid").read_text(encoding="utf-8")))


def test_what_was_said_before_the_time_was_up_is_a_part(tmp_path: Path) -> None:
    agent = driven(program=fake(tmp_path, "greet(); respond('So far.'); hear()"))
    result = ask(agent, run=context(deadline_ns=time.time_ns() + 8_000_000_000))
    assert (result.outcome, result.content, code(result)) == ("partial", "So far.", "timeout")


def test_a_cancelled_call_leaves_no_process_behind(tmp_path: Path) -> None:
    pid = tmp_path / "pid"
    # It ignores the closing of its stdin and being asked to end.
    script = f"__import__('signal').signal(15, 1); greet(); open({str(pid)!r}, 'w').write(str(__import__('os').getpid()))\nwhile True: __import__('time').sleep(1)"
    loop = ClaudeCode(program=fake(tmp_path, script))
    model = loop.model(MODEL, models())

    async def nobody(use: ToolCall) -> ToolResult:
        raise AssertionError(use)

    async def main() -> int:
        talk = asyncio.create_task(
            loop.converse(
                model, Request((UserMessage("Go"),)), call_tool=nobody, budget_tracker=BudgetTracker(), max_turns=3, on_text=unheard, on_turns=unheard, clock=time.time_ns, deadline_ns=None
            )
        )  # fmt: skip
        async with asyncio.timeout(20):
            while not (pid.exists() and pid.read_text(encoding="utf-8")):  # noqa: ASYNC110 - another process writes it
                await asyncio.sleep(0.02)
        talk.cancel()
        with pytest.raises(asyncio.CancelledError):
            await talk
        return int(pid.read_text(encoding="utf-8"))

    assert is_gone(asyncio.run(main()))


def is_gone(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return True
    os.kill(process, signal.SIGKILL)
    return False


def test_a_tool_that_nobody_offered_is_not_used_whatever_is_asked(tmp_path: Path) -> None:
    made = Made("burn", effects=("write",))
    script = (
        "greet(); respond('', uses=[('a', 'mcp__retinue__burn', {})])\n"
        "said = call('burn', {}); respond('ok')\n"
        "say(type='control_request', request_id='p', request={'subtype': 'can_use_tool', 'tool_name': 'Bash', 'input': {'command': 'rm -rf .'}})\n"
        "end(json.dumps([said, hear()]))"
    )
    run = context(grants=Grants(rules=rules(deny="burn")))
    result = ask(driven(program=fake(tmp_path, script), toolbox=toolbox(made)), run=run)
    assert made.calls == []
    assert "was not used" in result.content
    assert "There is no tool 'Bash' here" in result.content.replace('\\"', "'").replace("\\'", "'")
    (told,) = bodies(run, ToolCallEvent)
    assert told.failed


def test_a_use_waits_for_the_person_who_is_asked(tmp_path: Path) -> None:
    made, person = Made("burn", effects=("write",)), Person()
    script = "greet(); respond('', uses=[('a', 'mcp__retinue__burn', {})]); call('burn', {}); end('done')"
    result = ask(driven(program=fake(tmp_path, script), toolbox=toolbox(made)), run=context(person=person))
    assert (result.outcome, len(person.asked), len(made.calls)) == ("success", 1, 1)


def test_a_run_that_is_parked_for_an_answer_goes_on_and_repeats_nothing(tmp_path: Path) -> None:
    script = (
        "asked = greet()\n"
        "if 'You have begun already' in asked: end('told: ' + asked); sys.exit(0)\n"
        "respond('First.', uses=[('a', 'mcp__retinue__look', {})]); call('look', {}, number=1)\n"
        "respond('Now.', uses=[('b', 'mcp__retinue__burn', {})]); call('burn', {}, number=2)\n"
        "end('never')"
    )
    look, burn = Made("look", lambda _: "seen"), Made("burn", lambda _: "burnt", effects=("write",))
    agent = driven(program=fake(tmp_path, script), toolbox=toolbox(look, burn), name="boss")
    result = orchestrated(agent, answer=True)
    assert (result.outcome, len(look.calls), len(burn.calls)) == ("success", 1, 1)
    assert "burnt" in result.content
    assert "seen" in result.content


def test_a_request_that_might_pass_the_budget_is_not_made(tmp_path: Path) -> None:
    # Of 3,000 tokens the first request takes 2,800: there is no room for what it would say next.
    script = (
        "greet(); respond('Let me look.', tokens=1400, uses=[('a', 'mcp__retinue__look', {})])\n"
        f"open({str(tmp_path / 'said')!r}, 'w').write(str(call('look', {{}})))\nend('too far')"
    )
    made = Made("look")
    result = ask(
        driven(program=fake(tmp_path, script), toolbox=toolbox(made)), run=context(budget=Budget(tokens=3_000))
    )
    assert (result.outcome, code(result), result.content) == ("partial", "budget_exceeded", "Let me look.")
    assert len(made.calls) == 1
    assert not (tmp_path / "said").exists() or (tmp_path / "said").read_text(encoding="utf-8") in {"", "None"}


def test_a_budget_of_nothing_starts_nothing(tmp_path: Path) -> None:
    result = ask(driven(program=str(tmp_path / "nowhere")), run=context(budget=Budget(tokens=0)))
    assert (result.outcome, code(result)) == ("error", "budget_exceeded")


def test_the_same_again_and_again_is_stopped(tmp_path: Path) -> None:
    script = "greet()\nfor n in range(9):\n respond('', uses=[(str(n), 'mcp__retinue__look', {})]); call('look', {}, number=n)\nend('never')"
    made = Made("look")
    result = ask(driven(program=fake(tmp_path, script), toolbox=toolbox(made)))
    assert code(result) == "budget_exceeded"
    assert len(made.calls) == 4


def test_no_more_requests_are_made_than_the_definition_allows(tmp_path: Path) -> None:
    script = "greet()\nfor n in range(9):\n respond('', uses=[(str(n), 'mcp__retinue__look', {'n': n})]); call('look', {'n': n}, number=n)\nend('never')"
    made = Made("look")
    result = ask(driven(program=fake(tmp_path, script), toolbox=toolbox(made), runner={"max_turns": 3}))
    assert code(result) == "budget_exceeded"
    assert len(made.calls) == 3


def test_a_model_of_somebody_else_is_refused(tmp_path: Path) -> None:
    agent = PromptedAgent(defined(), models=Models.only(ScriptedModel(["hi"])), loop=ClaudeCode(program="x"))
    result = ask(agent)
    assert code(result) == "invalid_input"
    assert result.fault is not None
    assert "Anthropic" in result.fault.message


def test_without_a_key_the_variable_is_named() -> None:
    agent = PromptedAgent(defined(), models=models(key=""), loop=ClaudeCode(program="x"))
    result = ask(agent)
    assert code(result) == "unauthenticated"
    assert result.fault is not None
    assert "ANTHROPIC_API_KEY" in result.fault.hint


def test_a_program_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    result = ask(driven(program=str(tmp_path / "nowhere")))
    assert code(result) == "unavailable"
    assert result.fault is not None
    assert "There is no program" in result.fault.message


def test_what_waited_for_an_answer_is_done_first_and_told(tmp_path: Path) -> None:
    loop = ClaudeCode(program=fake(tmp_path, "end(greet())"))
    turns = (
        UserMessage("Begin"),
        AssistantMessage("I look", (ToolCall("a", "look", {}), ToolCall("b", "look", {"n": 2}))),
        ToolResults((ToolResult("a", "look", "first"),)),
    )
    done: list[str] = []

    async def use(wanted: ToolCall) -> ToolResult:
        done.append(wanted.id)
        return ToolResult(wanted.id, wanted.name, "second")

    async def main() -> str:
        request = Request(turns, tools=(Made("look").spec,))
        came = await loop.converse(
            loop.model(MODEL, models()), request, call_tool=use, budget_tracker=BudgetTracker(), max_turns=3, on_text=unheard, on_turns=unheard, clock=time.time_ns, deadline_ns=None
        )  # fmt: skip
        return came.text

    text = asyncio.run(main())
    assert done == ["b"]
    assert all(words in text for words in ("Begin", "I look", "first", "second", "Go on from there."))
