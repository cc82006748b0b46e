"""Leave to use a tool: by the rules of the run, or because a person says so. What stays denied is an error."""

from collections.abc import Sequence
from hashlib import sha256

from retinue.agents.port import RunContext
from retinue.contract.question import Question
from retinue.contract.tool import ToolSpec
from retinue.errors import AccessDenied

__all__ = ["see_allowed"]

_LONGEST = 1_000


async def see_allowed(
    run: RunContext, spec: ToolSpec, tellings: Sequence[str], what: str, *, agent: str, skill: str | None, key: str
) -> None:
    """See that a tool may be used on all of `tellings`; a person is asked once for all of them.

    Args:
        run: Knows the rules, and asks.
        spec: The tool.
        tellings: What it would be used on.
        what: The same for a person, as in "May `agent` … ?".
        agent: Who wants it.
        skill: For which of its skills.
        key: Tells this question from others: an agent that waited for an answer runs anew and asks the same again.

    Raises:
        AccessDenied: It may not.
    """
    verdicts = [run.grants.verdict(spec, telling) for telling in tellings]
    denied = next((each for each in verdicts if each.word == "deny"), None)
    if denied is not None:
        raise AccessDenied(f"It may not {what}: {denied.reason}.", hint="Ask for it without, or change the rules.")
    if all(each.word == "allow" for each in verdicts):
        return
    facts = chr(0).join((agent, key, spec.name, *tellings))
    question = Question(
        id=f"approve_{sha256(facts.encode(errors='replace')).hexdigest()[:16]}",
        text=f"May `{agent}` {what}?"[:_LONGEST],
        kind="approval",
        agent=agent,
        skill=skill,
    )
    answer = await run.ask(question)
    if answer is None or answer.value is not True:
        raise AccessDenied(f"It may not {what}: nobody approved it.", hint="Approve it, or add a rule that allows it.")
