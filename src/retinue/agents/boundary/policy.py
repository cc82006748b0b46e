"""What happens after a failed attempt: one table by fault code (C6), and the move it gives.

Pure: a policy is a value, and `next_move` a function of what is known. Who waits and asks again is the boundary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from types import MappingProxyType
from typing import Final, Literal, NamedTuple, TypeAlias, get_args

from retinue.contract.fault import Fault
from retinue.contract.finding import Level
from retinue.contract.model import JsonMapping
from retinue.errors import FaultCode

Action: TypeAlias = Literal["correct", "hand_back", "backoff", "none"]
"""What is due after a fault: ask again with a correction; give it back to the model that made the parameters; wait and
ask again; or nothing."""


class Rule(NamedTuple):
    """One line of the table.

    Attributes:
        retries: The most for this code; None means the policy's `max_retries`.
        first_wait_s: The first wait of a backoff for this code; None means the policy's.
        insists: It is tried again even if the fault says that this is of no use.
    """

    action: Action
    retries: int | None = None
    first_wait_s: float | None = None
    insists: bool = False


RULES: Final[Mapping[FaultCode, Rule]] = MappingProxyType(
    {
        **dict.fromkeys(get_args(FaultCode), Rule("none")),
        "invalid_input": Rule("hand_back"),
        "output_invalid": Rule("correct"),
        "network_error": Rule("backoff"),
        "unavailable": Rule("backoff"),
        "timeout": Rule("backoff", retries=1),
    }
)


class Retry(NamedTuple):
    """Try again after `wait_s` seconds; with a correction when `corrects`."""

    wait_s: float = 0.0
    corrects: bool = False


class Stop(NamedTuple):
    """No further attempt. `exhausted`: one was due, but the attempts or the time for it are used up (C1)."""

    reason: str
    exhausted: bool = False


Move: TypeAlias = Retry | Stop


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """How the boundary treats a call.

    Attributes:
        max_retries: Further attempts after the first, unless the task says otherwise.
        first_wait_s: The first wait of a backoff; each further one is twice as long (K33), give or take a half.
        longest_wait_s: A peer that asks for a longer wait is not asked again.
        timeout_s: Seconds for an attempt when neither task nor skill says any.
        timeouts: Seconds for an attempt, by agent: they take the place of what its skill says (K32).
        grace_s: Seconds an agent has to clean up after it was told to stop.
        instruction_limit: Characters in an instruction.
        level: How strictly an answer is checked (C3). `strict` refuses whatever the contract does; `standard` adds
            what is missing (the warning of a partial answer, the fault of an error) and marks it;
            `lenient` also drops claims that make no sense. None of them lets data pass that breaks its schema, or a
            file that is not there. Only `strict` refuses parameters that came as text and that a closed schema does not
            know (C7).
    """

    rules: Mapping[FaultCode, Rule] = field(default_factory=lambda: RULES)
    max_retries: int = 2
    first_wait_s: float = 1.0
    longest_wait_s: float = 60.0
    timeout_s: float = 120.0
    timeouts: Mapping[str, float] = field(default_factory=dict[str, float])
    grace_s: float = 1.0
    instruction_limit: int = 100_000
    level: Level = "standard"

    def next_move(
        self,
        fault: Fault,
        *,
        retries: int,
        limit: int | None = None,
        remaining_s: float | None = None,
        chance: float = 0.5,
    ) -> Move:
        """What to do after `fault`.

        Args:
            fault: Why the latest attempt failed.
            retries: How many attempts after the first there were already.
            limit: The most retries the task allows; None leaves it to the policy.
            remaining_s: Seconds until the whole call must end.
            chance: A number in [0, 1) that spreads the waits of many callers.
        """
        rule = self.rules[fault.code]
        if rule.action in {"none", "hand_back"} or (_forbids_retry(fault) and not rule.insists):
            return Stop(f"`{fault.code}` is not tried again")
        retry_limit = self.max_retries if limit is None else limit
        if rule.retries is not None:
            retry_limit = min(retry_limit, rule.retries)
        if retries >= retry_limit:
            return Stop(f"{retries + 1} of {retry_limit + 1} attempts are used up", exhausted=True)
        if rule.action == "correct":
            has_time = remaining_s is None or remaining_s > 0
            return Retry(corrects=True) if has_time else Stop("no time is left", exhausted=True)
        # Twice as long each time, spread by a half both ways; never shorter than the peer asks for.
        first_s = self.first_wait_s if rule.first_wait_s is None else rule.first_wait_s
        wait_s = min(first_s * 2**retries * (0.5 + chance), self.longest_wait_s)
        wait_s = max(wait_s, fault.retry_after_s or 0.0)
        if wait_s > self.longest_wait_s:
            return Stop(f"the peer asks to wait {wait_s:g} s", exhausted=True)
        if remaining_s is not None and wait_s >= remaining_s:
            time_left = f"{max(remaining_s, 0.0):.3g} s are left"
            return Stop(f"{time_left}, and the wait would take {wait_s:.3g} s", exhausted=True)
        return Retry(wait_s)

    def differences(self) -> JsonMapping:
        """Where this policy departs from the usual one, to be shown (K33)."""
        rules = {
            code: {name: setting for name, setting in rule._asdict().items() if setting not in (None, False)}
            for code, rule in self.rules.items()
            if rule != RULES[code]
        }
        defaults = {each.name: getattr(POLICY, each.name) for each in fields(self) if each.name != "rules"}
        changed = {name: current for name, value in defaults.items() if (current := getattr(self, name)) != value}
        return {**changed, **({"rules": rules} if rules else {})}


def _forbids_retry(fault: Fault) -> bool:
    """Whether the fault itself says that trying again is of no use.

    An answer that breaks its contract is sent back whatever it says of itself, unless it says so in so many words.
    """
    if fault.detail.get("retryable") is False:
        return True
    return not fault.retryable and "retryable" in fault.model_fields_set and fault.code != "output_invalid"


POLICY: Final = Policy()
"""The default."""
