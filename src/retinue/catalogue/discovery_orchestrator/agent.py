"""The agent itself: takes a ticket, answers with a plan, and makes its result of what the agents of the plan found."""

from typing import Annotated, Any, Final

from pydantic import Field

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._lazy import read_skills
from retinue.catalogue._prose import first_of
from retinue.catalogue.tickets.ticket_tree import id_order
from retinue.catalogue.tickets.ticket_work import TicketTarget, find_ticket, run_on_tickets
from retinue.contract.plan import Delegation, Plan
from retinue.errors import InvalidInput

from .gap_report import MATRIX, build_reply
from .parameters import Discovery

InitiativeTarget = Annotated[str, Field(
    max_length=400, pattern=r"^$|[0-9/\\]", json_schema_extra={"default": ""},  # filled in before it is called
    description="The initiative, such as INIT-0001; empty for the only one.",
)]  # fmt: skip
_MOST_CHILDREN: Final = 12
"""Most children that an agent is asked about, one by one."""

_SKILLS: Final = read_skills(__file__)
_ASKS: Final[dict[str, Any]] = {
    "output": Discovery, "target_field": "target", "effects": ("read",), "timeout_s": 120, "thinks": "by_others",
}  # fmt: skip


@retinue.agent(
    name="discovery_orchestrator",
    version="1.0",
    category="planning",
    wire_names={"markdown_json": "discovery-orchestrator"},
    tags=("tickets", "discovery", "gaps", "parallel"),
    tier="small",
    composes=True,
)
class DiscoveryOrchestrator:
    """Has a ticket and what is below it looked at by every agent that knows a side of it, all at once.

    Use it before tickets are written or work begins, when all that is missing, unclear or too large is wanted in one
    answer; not for one question to one agent. Returns gaps, patterns to use, signs of overengineering and issues of
    quality, each with who says so.
    """

    @retinue.skill(**_ASKS, **_SKILLS["initiative_gaps"])
    async def initiative_gaps(self, run: RunContext, target: InitiativeTarget) -> Reply:
        """Finds what an initiative lacks and where its epics are built too large.

        Use it before the epics of an initiative are written. Returns gaps, ready to write or blocked, and signs of
        overengineering.
        """
        return await _discover(run, "initiative", target)

    @retinue.skill(**_ASKS, **_SKILLS["epic_gaps"])
    async def epic_gaps(self, run: RunContext, target: TicketTarget) -> Reply:
        """Finds what an epic and its stories lack, which patterns could be used, and what is too large or unclear.

        Use it before the stories of an epic are written. Returns gaps, ready to write or blocked, patterns, signs of
        overengineering and issues of quality.
        """
        return await _discover(run, "epic", target)

    @retinue.skill(**_ASKS, **_SKILLS["story_gaps"])
    async def story_gaps(self, run: RunContext, target: TicketTarget) -> Reply:
        """Finds what a story and its tasks lack, and what is too large or unclear.

        Use it before the tasks of a story are written, or work on it begins. Returns gaps, ready to write or blocked,
        signs of overengineering and issues of quality.
        """
        return await _discover(run, "story", target)

    @retinue.skill(**_ASKS, **_SKILLS["task_gaps"])
    async def task_gaps(self, run: RunContext, target: TicketTarget) -> Reply:
        """Finds what a task lacks, and what keeps it from being started.

        Use it before somebody begins a task. Returns gaps, ready to write or blocked.
        """
        return await _discover(run, "task", target)


async def _discover(run: RunContext, kind: str, target: str) -> Reply:
    """The plan for a ticket of this kind; called again, what came of it."""
    if run.parts is not None:
        return build_reply(run.parts, target)
    goal = f"What is missing in {target or 'the project'}"
    report, tree = await run_on_tickets(run, f"{kind}_gaps", lambda tree, _, __: tree)
    ids = sorted((key for key, ticket in tree.by_id.items() if ticket.kind == kind), key=id_order)
    if not target and len(ids) != 1:
        hint = f"Name one of {first_of(ids, 5)}." if ids else "Write one, or name another ticket."
        raise InvalidInput(f"There are {len(ids)} tickets of kind `{kind}`.", hint=hint, path="/target")
    ticket = find_ticket(tree, target or ids[0], kind)
    nodes = list[Delegation]()
    for name, child_kind in MATRIX["asks"][kind].items():
        agent, _, skill = name.partition(".")
        children = [one for one in tree.parts(ticket.ticket_id) if one.kind == child_kind]
        targets, left_out = children[:_MOST_CHILDREN], [one.ticket_id for one in children[_MOST_CHILDREN:]]
        if left_out:
            which = f"{len(targets)} of {len(children)}, and not about {first_of(left_out, 5)}"
            impact, recovery = "Nothing is said about these.", f"Ask about each by itself: `{child_kind}_gaps`."
            report.warn("missing_data", f"`{name}` is asked about {which}.", impact=impact, recovery=recovery)
        for number, one in enumerate(targets if child_kind else [ticket], 1):
            # Patterns are looked for in the whole project, by the words of the title.
            of = {"context": one.title} if agent == "pattern_discovery" else {"target": one.ticket_id}
            nodes.append(Delegation(id=f"{name}.{number}", agent=agent, skill=skill, parameters=of, optional=True))
    return Reply(plan=Plan(goal=goal, nodes=nodes, call_again=True), warnings=tuple(report.warnings))
