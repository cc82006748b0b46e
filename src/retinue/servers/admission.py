"""Who asks, for what, within what: decided once for all doors.

What a body says is a wish. Agent and skill are those of the route, limits those of the key, and ids, ancestry and
paths are ours.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeVar, get_args

from retinue.contract.definition import Effect
from retinue.contract.model import DialectName
from retinue.contract.names import fold
from retinue.contract.task import Budget, Limits, Task
from retinue.errors import (
    AccessDenied,
    BudgetExceeded,
    InvalidInput,
    RetinueError,
    Unauthenticated,
    Unavailable,
    UnknownName,
)
from retinue.servers.keys import ApiKey, KeyStore

if TYPE_CHECKING:
    from retinue.llm.models import Models

_LOGGER: Final = logging.getLogger("retinue.servers")

NumberT = TypeVar("NumberT", int, float)

HOPS_HEADER: Final = "retinue-hops"
MAX_HOPS: Final = 8
"""Servers that may stand before this one. A ring of servers cannot be seen otherwise."""

_DIALECTS: Final = frozenset(get_args(DialectName))

FREE_USD: Final = 1e-9
"""The cost limit of who pays for nothing: less than any call costs, since with nothing left no agent is called at all,
not even one that asks no model."""

_ANONYMOUS: Final = ApiKey(name="anonymous", max_cost_usd=FREE_USD)
"""Who needs no key on this machine: reads, and pays for nothing."""


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody who asks.

    Attributes:
        key: What they may do.
        owner: Whose runs theirs are. No key can be called like the owner of runs that need none.
        hops: Servers that passed the request on already.
    """

    key: ApiKey
    owner: str
    hops: int = 0

    @property
    def answers_as(self) -> str:
        """Who their answers are by: see `Answer.by`."""
        return f"key:{self.key.name}"


ANONYMOUS: Final = Caller(_ANONYMOUS, "anonymous")


@dataclass(frozen=True, slots=True)
class AdmittedTask:
    """A task as it may run.

    Attributes:
        effects: What it may touch.
    """

    task: Task
    budget: Budget
    effects: tuple[Effect, ...]


@dataclass(slots=True)
class _Use:
    """What one key is using."""

    running: int = 0
    tokens: float = 0.0
    at_s: float = 0.0


@dataclass(slots=True)
class Admission:
    """Decides for one server.

    Attributes:
        keys: The user's keys.
        anonymous: Whether somebody without a key is let in.
        models: Where models that tasks name are looked up.
        timeout_s: The longest any task may take.
    """

    keys: KeyStore
    anonymous: bool = True
    models: "Models | None" = None
    timeout_s: float = 3600.0
    clock_s: Callable[[], float] = time.monotonic
    _uses: dict[str, _Use] = field(default_factory=dict[str, _Use])

    def authenticate(self, headers: Mapping[str, str]) -> Caller:
        """Who asks, by the headers of a request (names in small letters).

        Raises:
            Unauthenticated: The key is wrong, or there is none and one is needed.
            Unavailable: The keys cannot be read; why is in the log.
            InvalidInput: The request has gone round through too many servers.
        """
        hops = read_hops(headers.get(HOPS_HEADER, "0"))
        scheme, _, secret = headers.get("authorization", "").partition(" ")
        if not scheme:
            secret = headers.get("x-api-key", "")
            if not secret:
                if not self.anonymous:
                    raise Unauthenticated("A key is needed.", hint="Send it as `Authorization: Bearer KEY`.")
                return Caller(_ANONYMOUS, ANONYMOUS.owner, hops)
        elif scheme.lower() != "bearer":
            raise Unauthenticated(f"{scheme[:20]!r} is not supported.", hint="Send `Authorization: Bearer KEY`.")
        try:
            key = self.keys.find(secret.strip())
        except Unauthenticated:
            raise
        except RetinueError as error:
            _LOGGER.exception("no key can be read: %s", error.hint)
            raise Unavailable("Keys cannot be read here.", hint="Tell the operator.", retry_after_s=60.0) from None
        return Caller(key, f"key:{key.name}", hops)

    def check_rate(self, caller: Caller) -> None:
        """Count one request of the caller.

        Raises:
            BudgetExceeded: There were too many in the last minute; `retry_after_s` says when to come again.
        """
        rate = caller.key.rate
        if rate is None:
            return
        now_s = self.clock_s()
        use = self._uses.setdefault(caller.owner, _Use(tokens=rate, at_s=now_s))
        use.tokens = min(float(rate), use.tokens + (now_s - use.at_s) * rate / 60)
        use.at_s = now_s
        if use.tokens < 1:
            wait_s = (1 - use.tokens) * 60 / rate
            raise BudgetExceeded(
                f"This key allows {rate} requests a minute.",
                hint="Wait, and ask again.",
                retry_after_s=wait_s,
                detail={"bound": "rate"},
            )
        use.tokens -= 1

    def take_slot(self, caller: Caller) -> Callable[[], None]:
        """Count one more run of the caller, and give what to call when it has ended.

        Raises:
            BudgetExceeded: As many as the key allows are at work.
        """
        allowed = caller.key.concurrent
        use = self._uses.setdefault(caller.owner, _Use(tokens=caller.key.rate or 0, at_s=self.clock_s()))
        if allowed is not None and use.running >= allowed:
            raise BudgetExceeded(
                f"This key allows {allowed} runs at once.",
                hint="Wait for one of them to end, or cancel it.",
                retry_after_s=1.0,
                detail={"bound": "concurrent"},
            )
        use.running += 1

        def release() -> None:
            use.running -= 1

        return release

    def check_agent(self, caller: Caller, agent: str, door: str) -> None:
        """See that the caller may reach an agent.

        Raises:
            AccessDenied: The key does not open it.
        """
        if not caller.key.opens(agent, door):
            raise AccessDenied(
                f"This key does not open `{agent}` over {door}.",
                hint="Ask the operator for a key that does: `retinue keys add NAME --agents PATTERN --doors DOOR`.",
            )

    def admit(
        self, caller: Caller, wish: Task, *, door: str, agent: str, skill: str | None, major: int
    ) -> AdmittedTask:
        """The task that runs for a wish. How often it is tried again is the policy's business, not the peer's.

        What the peer says besides stays in `extras` under the name of its dialect, and nowhere else.

        Args:
            caller: Who asks.
            wish: What the body was read as.
            door: `http`, `a2a` or `mcp`.
            agent: The agent of the route.
            skill: The skill of the route; None where the body may name one of this agent's.
            major: The major version of the route's agent.

        Raises:
            AccessDenied: The key does not open the agent, or the wish to write a file is not covered, or the model is
                not configured.
            InvalidInput: The body names another agent or skill than the route, or a wrong model.
        """
        self.check_agent(caller, agent, door)
        if wish.agent and fold(wish.agent) != fold(agent):
            raise InvalidInput(
                f"The body is for `{wish.agent}`, and this is the route of `{agent}`.",
                hint="Leave the agent out of the body, or post to its own route.",
                path="/agent",
            )
        if skill is not None and wish.skill not in (None, skill):
            raise InvalidInput(
                f"The body is for the skill `{wish.skill}`, and this is the route of `{skill}`.",
                hint="Leave the skill out of the body, or post to its own route.",
                path="/skill",
            )
        if wish.output.path is not None and "write" not in caller.key.effects:
            raise AccessDenied(
                "This key may not have files written.", hint="Leave `output.path` out.", path="/output/path"
            )
        if wish.model:
            self._check_model(wish.model)
        key, limits = caller.key, wish.limits
        tokens, cost_usd = _least(limits.tokens, key.max_tokens), _least(limits.cost_usd, key.max_cost_usd)
        timeout_s = _least(limits.timeout_s, self.timeout_s)
        task = Task(
            id="",
            agent=agent,
            major=major,
            skill=skill or wish.skill,
            instruction=wish.instruction,
            target=wish.target,
            parameters=wish.parameters,
            untyped=wish.untyped,
            context=wish.context,
            limits=Limits(timeout_s=timeout_s, deadline_ns=limits.deadline_ns, tokens=tokens, cost_usd=cost_usd),
            output=wish.output,
            model=wish.model,
            thinking=wish.thinking,
            extras={name: each for name, each in wish.extras.items() if name in _DIALECTS},
        )
        return AdmittedTask(task, Budget(timeout_s=timeout_s, tokens=tokens, cost_usd=cost_usd), caller.key.effects)

    def _check_model(self, model: str) -> None:
        if self.models is None or not self.models.configured:
            raise InvalidInput("No model is configured here.", hint="Leave `model` out.", path="/model")
        try:
            self.models.choose(model=model, source="task")
        except (UnknownName, AccessDenied) as error:
            error.path = "/model"
            raise


def read_hops(text: str) -> int:
    """How many servers passed a request on.

    Raises:
        InvalidInput: It is no count, or too many.
    """
    if not (text.isascii() and text.isdecimal() and len(text) < 4):
        raise InvalidInput(f"{HOPS_HEADER!r} is a count, not {text[:20]!r}.", hint="Leave the header out.")
    if int(text) >= MAX_HOPS:
        raise InvalidInput(
            f"The request has passed {text} servers; {MAX_HOPS} is the limit.",
            hint="See whether they ask each other in a ring.",
            detail={"bound": "hops"},
        )
    return int(text)


def _least(*bounds: NumberT | None) -> NumberT | None:
    return min((bound for bound in bounds if bound is not None), default=None)
