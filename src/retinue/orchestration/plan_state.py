"""How far a plan has come, and what follows from one more node having ended.

Pure bookkeeping over ids and yes or no: no results, no engine, no waiting. Every node is looked at once when it ends
and once for each edge, so a plan of n nodes and m edges takes O(n + m) in all, however it goes.
"""

import math
from collections import deque
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias, assert_never

from retinue.contract.plan import Delegation, Join, Plan

_Verdict: TypeAlias = Literal["wait", "start", "skip"]
_ROUNDING: Final = 1e-9
"""0.07 of 100 is 7, and not the 7.000000000000001 of floating point."""


@dataclass(frozen=True, slots=True)
class Skip:
    """A node that will not be started.

    Attributes:
        unneeded: Not because something is missing, but because nobody needs it any more.
    """

    node: Delegation
    reason: str
    unneeded: bool


@dataclass(slots=True)
class Actions:
    """What is to be done now.

    Attributes:
        start: These are ready, in the plan's order.
        skip: These will never be started. They count as ended already.
        stop: Ids of nodes that run and are needed no longer.
    """

    start: list[Delegation] = field(default_factory=list)
    skip: list[Skip] = field(default_factory=list)
    stop: list[str] = field(default_factory=list)


@dataclass(slots=True)
class _Node:
    delegation: Delegation
    place: int
    needs: int
    followers: list["_Node"] = field(default_factory=list)
    wanted_by: int = 0
    ended_needs: int = 0
    useful_needs: int = 0
    missing_needs: int = 0
    status: Literal["waiting", "running", "stopping", "ended"] = "waiting"


class PlanState:
    """One walk of one plan.

    `all` and `fail_fast` are satisfied when every need is useful (or optional), `quorum` when every need has ended and
    at least the share was useful, `any` at the first useful one. What a satisfied `any` waits for no longer is stopped,
    unless somebody else needs it. `fail_fast` stops the other needs at the first failure; `all` and `quorum` let them
    go on, for their own worth.
    """

    def __init__(self, plan: Plan) -> None:
        self._plan = plan
        self._nodes = {node.id: _Node(node, place, len(set(node.needs))) for place, node in enumerate(plan.nodes)}
        for node in self._nodes.values():
            for need in dict.fromkeys(node.delegation.needs):
                self._nodes[need].followers.append(node)
                self._nodes[need].wanted_by += 1
        self._open = len(self._nodes)
        self._is_settled = False
        self._ready: dict[str, Delegation] = {}

    @property
    def is_done(self) -> bool:
        """Whether every node has ended."""
        return not self._open

    def begin(self) -> Actions:
        """The nodes that need nothing."""
        actions = Actions()
        for node in self._nodes.values():
            if not node.needs:
                self._start(node)
        return self._with_ready_nodes(actions)

    def end(self, name: str, *, useful: bool) -> Actions:
        """Note that the node called `name` has ended, and say what follows."""
        actions = Actions()
        ended_node = self._nodes[name]
        pending = deque([(ended_node, useful)])
        while pending:
            node, worth = pending.popleft()
            if node.status == "ended":
                continue
            node.status = "ended"
            self._open -= 1
            for follower in node.followers:
                follower.ended_needs += 1
                follower.useful_needs += worth
                follower.missing_needs += not worth and not node.delegation.optional
                if follower.status == "waiting":
                    self._update_node(follower, actions, pending)
            self._update_plan(node, actions, pending, useful=worth)
        return self._with_ready_nodes(actions)

    def _with_ready_nodes(self, actions: Actions) -> Actions:
        ready, self._ready = self._ready, {}
        actions.start = sorted(ready.values(), key=lambda node: self._nodes[node.id].place)
        return actions

    def _update_node(self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]") -> None:
        verdict = _verdict(node.delegation.join, node)
        match verdict:
            case "wait":
                return
            case "start":
                self._start(node)
                self._release(node, actions, pending)
            case "skip":
                node.status = "stopping"
                needs = node.delegation.needs
                names = ", ".join(f"`{name}`" for name in needs[:5]) + (" …" if len(needs) > 5 else "")
                why = f"what it needs has not come ({names})"
                if node.delegation.join == "quorum":
                    required, reachable = required_count(node.delegation.quorum, node.needs), _reachable(node)
                    why = f"{required} of its {node.needs} needs are wanted, and no more than {reachable} can come"
                actions.skip.append(Skip(node.delegation, f"Not started: {why}.", unneeded=False))
                pending.append((node, False))
                if node.delegation.join == "fail_fast":
                    self._release(node, actions, pending)
            case _:
                assert_never(verdict)

    def _start(self, node: _Node) -> None:
        node.status = "running"
        self._ready[node.delegation.id] = node.delegation

    def _release(self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]") -> None:
        """Nobody waits on behalf of `node` any more: whatever only it wanted may stop."""
        queue = [node]
        for one in queue:  # grows during the loop
            for need in dict.fromkeys(one.delegation.needs):
                need_node = self._nodes[need]
                need_node.wanted_by -= 1
                if need_node.wanted_by == 0 and self._drop(need_node, actions, pending):
                    queue.append(need_node)

    def _drop(self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]") -> bool:
        """Stop `node`, or keep it from starting; whether it was still to be started."""
        if node.status not in {"waiting", "running"}:
            return False
        waiting = node.status == "waiting"
        node.status = "stopping"
        if waiting or self._ready.pop(node.delegation.id, None):
            actions.skip.append(Skip(node.delegation, "Not started: it is not needed any more.", unneeded=True))
            pending.append((node, False))
        else:
            actions.stop.append(node.delegation.id)
        return waiting

    def _update_plan(
        self, node: _Node, actions: Actions, pending: "deque[tuple[_Node, bool]]", *, useful: bool
    ) -> None:
        """Whether the plan as a whole has what it wants, or can no longer have it."""
        if self._is_settled:
            return
        match self._plan.join:
            case "all" | "quorum":
                return
            case "any":
                self._is_settled = useful and not node.followers
            case "fail_fast":
                self._is_settled = not useful and not node.delegation.optional
            case _:
                assert_never(self._plan.join)
        if self._is_settled:
            for other in self._nodes.values():
                self._drop(other, actions, pending)


def required_count(quorum: float, branches: int) -> int:
    """How many of so many branches a share asks for, at least one."""
    return max(1, math.ceil(quorum * branches - _ROUNDING))


def _verdict(join: Join, node: _Node) -> _Verdict:
    all_ended = node.ended_needs == node.needs
    match join:
        case "all" | "fail_fast":
            if node.missing_needs:
                return "skip"
            return "start" if all_ended else "wait"
        case "any":
            return "start" if node.useful_needs else "skip" if all_ended else "wait"
        case "quorum":
            if _reachable(node) < required_count(node.delegation.quorum, node.needs):
                return "skip"
            return "start" if all_ended else "wait"
        case _:
            assert_never(join)


def _reachable(node: _Node) -> int:
    return node.useful_needs + node.needs - node.ended_needs
