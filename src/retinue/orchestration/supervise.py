"""The supervisor's plan as a value: one worker a topic, all at once, each with a file of its own, then a barrier (H22).

A pure builder: it decides nothing about who is asked. The walk holds the protocol: it looks for every expected file,
counts what came against what was asked, and asks for at least the quorum (H24, H25).
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, Final, Literal, cast

from retinue.agents.boundary.policy import POLICY, RULES, Policy, Rule
from retinue.contract.model import JsonMapping
from retinue.contract.names import fold
from retinue.contract.plan import Delegation, Expected, Plan
from retinue.contract.sanitize import check_workspace_path
from retinue.contract.task import Limits
from retinue.errors import InvalidInput

WORKER: Final = Policy(max_retries=1, first_wait_s=2.0, timeout_s=300.0)
"""A worker of a supervisor: 300 seconds, two attempts two seconds apart."""

RESEARCH: Final = Policy(
    rules=MappingProxyType(
        {
            **RULES,
            "network_error": Rule("backoff", retries=3),
            "missing_file": Rule("backoff", retries=2, first_wait_s=0.5, insists=True),
            "unavailable": Rule("backoff", retries=1),
        }
    ),
    max_retries=3,
    first_wait_s=1.0,
)
"""An agent that does research: the network is tried again after 1, 2 and 4 seconds, a file twice after half a second
and one, a search that is not to be had once."""

POLICIES: Final[Mapping[str, Policy]] = MappingProxyType({"usual": POLICY, "worker": WORKER, "research": RESEARCH})

SECTIONS: Final = ("Overview", "Findings", "Recommendations")
"""What a research report has (H23)."""

_TOPIC: Final = "{topic}"
_SLUG: Final = 48


def supervise(
    topics: Sequence[str],
    *,
    agent: str,
    skill: str,
    instruction: str = _TOPIC,
    parameters: Mapping[str, object] | None = None,
    folder: str | None = None,
    sections: Sequence[str] = SECTIONS,
    min_bytes: int = 1,
    rules: Literal["research"] | None = None,
    quorum: float = 0.5,
    limits: Limits | None = None,
    then: Delegation | None = None,
    goal: str = "",
) -> Plan:
    """A plan that puts the same request about each of `topics` to one skill.

        plan = supervise(
            ["caching", "retries"], agent="writer", skill="report",
            instruction="Research {topic}.", folder="reports",
        )  # expects reports/001_caching.md and reports/002_retries.md

    Args:
        topics: What the workers are about, one each.
        agent: Who works.
        skill: Which of its skills.
        instruction: What each is asked; `{topic}` stands for its topic.
        parameters: What each is given; `{topic}` is replaced in the texts among them, at any depth.
        folder: Where each leaves a report, relative to the workspace: `NNN_topic.md`, no two alike. None expects none.
        sections: Headings that a report must have; a missing one is a warning.
        min_bytes: The least size of a report.
        rules: What else is asked of it: sources, recommendations, no placeholders for `research` (H29).
        quorum: The share of workers that must bring something: fewer fail the plan, fewer than all are a warning.
        limits: The bounds of each worker.
        then: A delegation that needs them all; it is handed their metadata, unless its `context` says otherwise.
        goal: What the whole is for.

    Raises:
        InvalidInput: There are no topics, one is empty or stands twice, or the quorum is no share.
        AccessDenied: The folder lies outside the workspace.
    """
    _check_topics(topics)
    if not 0 < quorum <= 1:
        raise InvalidInput(
            f"A quorum of {quorum!r} is not a share.", hint="Give one above 0 and at most 1.", path="/quorum"
        )
    place = None if folder is None else check_workspace_path(folder)
    # As wide for all, so that the files sort in the order of the topics.
    width = max(3, len(str(len(topics))))
    workers: list[Delegation] = []
    for number, topic in enumerate(topics, start=1):
        name = f"{number:0{width}}_{fold(topic.replace('/', ' '))[:_SLUG].strip('_') or 'topic'}"
        report = Expected(
            path=f"{place}/{name}.md", title=topic, sections=tuple(sections), min_bytes=min_bytes, rules=rules
        )
        workers.append(
            Delegation(
                id=name,
                agent=agent,
                skill=skill,
                instruction=instruction.replace(_TOPIC, topic),
                target=topic,
                parameters=cast("JsonMapping", _fill_topic(topic, dict(parameters or {}))),
                expects=() if place is None else (report,),
                limits=limits or Limits(),
            )
        )
    if then is None:
        return Plan(goal=goal, nodes=tuple(workers), join="quorum", quorum=quorum)
    needs = tuple(dict.fromkeys((*then.needs, *(worker.id for worker in workers))))
    context = {worker.id: "metadata" for worker in workers} | then.context
    joining = then.model_copy(update={"needs": needs, "context": context, "join": "quorum", "quorum": quorum})
    return Plan(goal=goal, nodes=(*workers, joining))


def _check_topics(topics: Sequence[str]) -> None:
    keys = [" ".join(topic.split()).casefold() for topic in topics]
    empty = [f"topic {place} is empty" for place, topic in enumerate(keys) if not topic]
    twice = [f"{topics[place]!r} appears twice" for place, topic in enumerate(keys) if topic in keys[:place]]
    if wrong := [*empty, *dict.fromkeys(twice)] if topics else ["there are none"]:
        raise InvalidInput(
            f"These topics cannot be given out: {'; '.join(wrong[:5])}.",
            hint="Give at least one topic, each once, in words.",
            path="/topics",
        )


def _fill_topic(topic: str, value: object) -> Any:
    if isinstance(value, str):
        return value.replace(_TOPIC, topic)
    if isinstance(value, dict):
        return {name: _fill_topic(topic, item) for name, item in cast("dict[str, object]", value).items()}
    if isinstance(value, (list, tuple)):
        return [_fill_topic(topic, item) for item in cast("Sequence[object]", value)]
    return value
