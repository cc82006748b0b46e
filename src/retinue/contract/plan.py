"""A plan: a directed acyclic graph of delegations, as a value. `orchestration/` runs it."""

from collections.abc import Iterator, Sequence
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import Field, StringConstraints, model_validator

from retinue.contract.finding import Finding
from retinue.contract.model import Count, JsonMapping, Many, Model, SnakeName
from retinue.contract.task import ContextLevel, Limits, Question, Thinking
from retinue.errors import InvalidInput

Join: TypeAlias = Literal["all", "any", "quorum", "fail_fast"]
"""When a join is satisfied (C32).

`all`: every branch is useful. `any`: at the first useful one; the others are stopped. `quorum`: every branch has ended,
and at least a share of them was useful (H25). `fail_fast`: as `all`, and the first failure stops the others.
"""

NodeId: TypeAlias = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.~-]*$", max_length=80)]


class Binding(Model):
    """How one parameter got its value: shown, so that nobody has to guess.

    Attributes:
        how: `said` in the goal, a schema `default`, the skill's declared `fallback`, or the result of another
            `delegation`.
        words: The words of the goal it was read from.
    """

    parameter: str
    value: Any = None
    how: Literal["said", "default", "fallback", "delegation", "given"]
    words: str = ""


class Candidate(Model):
    """One agent that was considered for a clause.

    Attributes:
        share: Score over the best that the clause could reach, 0 to 1.
    """

    agent: SnakeName
    skill: SnakeName
    score: float
    share: float
    reason: str = ""


class Dropped(Model):
    """A clause of the goal that is not planned: no agent here can do it, or the goal says not to.

    Attributes:
        nearest: Who came nearest to doing it.
        examples: Goals near to it that would be answered here, best first; one for each of `nearest` is enough.
        wanted: False when the goal itself says not to do it: then nothing is missing.
    """

    clause: str
    reason: str
    nearest: tuple[Candidate, ...] = ()
    examples: Many[str] = ()
    wanted: bool = True


class Expected(Model):
    """A file that a delegation must leave behind, settled before it starts (H22, H24).

    Attributes:
        path: Where, relative to the workspace.
        sections: Headings that the file must have; a missing one is a warning.
        min_bytes: The least size at which it counts as written.
        rules: What else is asked of its text: a `research` report names its sources and recommends something (H29).
    """

    path: Annotated[str, StringConstraints(pattern=r"^[^\x00-\x1f\x7f\\]+$", max_length=1000)]
    title: str = ""
    sections: Many[str] = ()
    min_bytes: Annotated[int, Field(ge=1)] = 1
    rules: Literal["research"] | None = None


class Delegation(Model):
    """One node: one request to one agent, and what must be there before it.

    Attributes:
        needs: Ids of the nodes it waits for.
        context: How much of each needed result it is handed; `summary` for those not named (C30).
        join: How many of `needs` must be useful before it starts.
        quorum: The share for a `quorum` join.
        expects: Files that must be there when it has ended, or it has failed.
        optional: Its failure does not count against the plan.
        alternatives: Who else could do it, best first: where escalation looks (A14).
        questions: What is still missing to call it (C45); such a node ends as `input_required`.
        model: The model, or the tier, that its agent is to think with; its own when absent.
        thinking: How hard it is to think (C43).
    """

    id: NodeId
    agent: SnakeName
    skill: SnakeName | None = None
    major: Count | None = None
    instruction: str = ""
    target: str | None = None
    parameters: JsonMapping = Field(default_factory=dict)
    needs: Many[NodeId] = ()
    context: dict[NodeId, ContextLevel] = Field(default_factory=dict)
    join: Join = "all"
    quorum: Annotated[float, Field(gt=0, le=1)] = 0.5
    optional: bool = False
    expects: Many[Expected] = ()
    limits: Limits = Field(default_factory=Limits)
    alternatives: tuple[Candidate, ...] = ()
    chosen: Candidate | None = None
    bindings: tuple[Binding, ...] = ()
    questions: tuple[Question, ...] = ()
    model: str | None = None
    thinking: Thinking | None = None


class Plan(Model):
    """A DAG of delegations for one goal.

    Raises:
        InvalidInput: Ids repeat, a node needs one that is not there, or nodes need each other in a circle.

    Attributes:
        format: Raised when the meaning of a plan changes; a durable run is resumed by the same format only.
        join: When the whole plan is done.
        call_again: When all nodes have ended, the agent that answered with this plan is called again, with what they
            came to in `run.parts`: what it answers then is the result. Otherwise the parts are put side by side.
        dropped: What was asked and is not in the plan, said in the answer.
    """

    format: Literal[1] = 1
    goal: str = ""
    nodes: Many[Delegation] = ()
    join: Join = "all"
    quorum: Annotated[float, Field(gt=0, le=1)] = 0.5
    call_again: bool = False
    dropped: tuple[Dropped, ...] = ()
    extras: JsonMapping = Field(default_factory=dict)

    @model_validator(mode="after")
    def _is_a_dag(self) -> Self:
        topological_order(self.nodes)
        return self


def topological_order(nodes: Sequence[Delegation]) -> list[str]:
    """The ids of `nodes` so that each stands after what it needs; ties stay as written.

    Raises:
        InvalidInput: The nodes are not a DAG. `detail["findings"]` lists every repeated and dangling id, and the
            circles, each spelled out.
    """
    if len(nodes) == 1 and not nodes[0].needs:
        return [nodes[0].id]
    # Of an id that stands twice, the first place counts.
    place = {node.id: position for position, node in reversed([*enumerate(nodes)])}
    needs = {node.id: [need for need in dict.fromkeys(node.needs) if need in place] for node in nodes}
    followers: dict[str, list[str]] = {}
    for node, needed in needs.items():
        for need in needed:
            followers.setdefault(need, []).append(node)
    waiting = {node: len(needed) for node, needed in needs.items()}
    ready = [node for node, count in waiting.items() if not count]
    for current in ready:  # grows during the loop
        for follower in followers.get(current, ()):
            waiting[follower] -= 1
            if not waiting[follower]:
                ready.append(follower)
    blocked = [node for node, count in waiting.items() if count]
    findings: list[Finding] = []
    for position, node in enumerate(nodes):
        if place[node.id] != position:
            path, fix = f"/nodes/{position}/id", "Give it another id."
            findings.append(Finding(rule="plan/id", message=f"`{node.id}` appears twice.", path=path, fix=fix))
        for need in (need for need in node.needs if need not in place):
            message, path = f"`{node.id}` needs `{need}`, which is not there.", f"/nodes/{position}/needs"
            fix = f"Add a node `{need}`, or remove it from `needs`."
            findings.append(Finding(rule="plan/needs", message=message, path=path, fix=fix))
    findings += _find_cycles(blocked, needs, place)
    if findings:
        summary = " ".join(finding.message for finding in findings[:10])
        more = f" And {len(findings) - 10} more." if len(findings) > 10 else ""
        raise InvalidInput(
            f"The plan is not an order of work: {summary}{more}",
            path="/nodes",
            hint="Fix the ids, and remove one of the `needs` of each circle so that some node can start first.",
            detail={"findings": [finding.to_json() for finding in findings]},
        )
    return ready


def _find_cycles(blocked: list[str], needs: dict[str, list[str]], place: dict[str, int]) -> Iterator[Finding]:
    """One circle out of each tangle: follow what each node waits for until a node comes back."""
    waiting, visited = set(blocked), set[str]()
    for start in blocked:
        walk: dict[str, int] = {}
        node = start
        while node not in visited:
            visited.add(node)
            walk[node] = len(walk)
            node = next(need for need in needs[node] if need in waiting)
        if node in walk:
            cycle = [*list(walk)[walk[node] :], node]
            middle = [f"… {len(cycle) - 10} more …"] if len(cycle) > 10 else []
            names = [f"`{name}`" for name in cycle]
            spelled = " needs ".join([*names[:5], *middle, *names[-5:]] if middle else names)
            path = f"/nodes/{place[node]}/needs"
            fix = "Take one of these out of `needs`, so that some node can start first."
            yield Finding(rule="plan/circle", message=f"{spelled}.", path=path, fix=fix)
