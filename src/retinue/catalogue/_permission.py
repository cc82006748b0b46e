"""Leave to use a tool: by the rules of the run, or because a person says so. What stays denied is an error."""

from collections.abc import Sequence
from hashlib import sha256

from retinue.agents.grants import PermissionSubject
from retinue.agents.port import RunContext
from retinue.contract.definition import ToolSpec
from retinue.contract.task import Question
from retinue.errors import AccessDenied


async def ensure_allowed(
    run: RunContext,
    spec: ToolSpec,
    subjects: Sequence[PermissionSubject],
    action: str,
    *,
    agent: str,
    skill: str | None,
    key: str,
) -> None:
    """See that a tool may be used on all that `subjects` names; a person is asked once for all of them.

    Args:
        run: Knows the rules, and asks.
        spec: The tool.
        subjects: What it would be used on.
        action: The same for a person, whole, as in "May `agent` … ?".
        agent: Who wants it.
        skill: For which of its skills.
        key: Tells this question from others: an agent that waited for an answer runs anew and asks the same again.

    Raises:
        AccessDenied: It may not.
    """
    verdict = run.grants.verdict(spec, *subjects)
    if verdict.word == "deny":
        raise AccessDenied(f"It may not {action}: {verdict.reason}.", hint="Ask for it without, or change the rules.")
    if verdict.word == "allow":
        return
    identity = chr(0).join((agent, key, spec.name, *(each.real for each in subjects)))
    question = Question(
        id=f"approve_{sha256(identity.encode(errors='replace')).hexdigest()[:16]}",
        text=f"May `{agent}` {action}?",
        kind="approval",
        agent=agent,
        skill=skill,
    )
    answer = await run.ask(question)
    if answer is None or answer.value is not True:
        raise AccessDenied(
            f"It may not {action}: nobody approved it.", hint="Approve it, or add a rule that allows it."
        )
