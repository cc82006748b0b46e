"""What an agent handed back, judged: is it what its contract promises, and did it really do what it claims (C3, C5)?

Nothing an agent puts into a reply leaves here unchecked, and nothing is shared with it afterwards. Every finding is
told. Who asks again because of them is the boundary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict, cast

from retinue.agents.boundary.faults import fault_of, output_invalid
from retinue.agents.boundary.prepared import Prepared
from retinue.agents.boundary.sound import CLAIMS, plain_copy, sound
from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import json, schema
from retinue.contract.credentials import cleaned
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Lifecycle, Outcome, Trace, Warned, WarningType
from retinue.contract.schema import Validator
from retinue.contract.task import Task
from retinue.errors import InternalError, InvalidInput, OutputInvalid, RetinueError, YourError

if TYPE_CHECKING:
    from retinue.agents.boundary.reading import Reader

__all__ = ["Judged", "Readers", "broken_plan", "judge"]

Readers: TypeAlias = Mapping[DialectName, "Reader"]
"""How the text of each dialect is read."""


@dataclass(slots=True)
class Judged:
    """A reply after all checks.

    Attributes:
        data: Plain JSON, or `ABSENT`; kept also when it breaks its schema.
        fits: `data` passes every schema it must pass.
        outcome: What it came to; None while the lifecycle has not ended.
        claims: Further fields of a `Result`, checked and copied.
        fault: Why the reply is no answer: what the agent reports, or what was found.
        native: The text it was read from.
    """

    data: object = ABSENT
    fits: bool = False
    lifecycle: Lifecycle = "ended"
    outcome: Outcome | None = None
    claims: JsonMapping = field(default_factory=dict)
    fault: Fault | None = None
    native: str | None = None

    @property
    def answers(self) -> bool:
        """It is a whole or a partial answer, a question, or a plan: no attempt is owed any more."""
        return self.lifecycle != "ended" or self.outcome in {"success", "partial"}


async def judge(
    reply: object, prepared: Prepared, task: Task, run: RunContext, *, readers: Readers, answer: Validator | None
) -> Judged:
    """Judge what `prepared` handed back for `task`.

    Args:
        reply: Anything at all.
        prepared: Whose answer it is.
        task: What was asked.
        run: Holds the workspace in which claimed files must be.
        readers: How the text of each dialect is read.
        answer: The caller's own schema for the data, beside the skill's.
    """
    return await _Judge(prepared, task, run, answer).judge(reply, readers)


def broken_plan(error: BaseException | None) -> list[Finding]:
    """The findings of a plan that is none: circles, repeated ids, dangling needs. Nothing for other errors."""
    listed: object = error.detail.get("findings") if isinstance(error, InvalidInput) else None
    found = cast("list[JsonMapping]", listed) if isinstance(listed, list) else []
    if not found or not all(str(one.get("rule", "")).startswith("plan/") for one in found):
        return []
    return _below("/plan", [Finding(**one) for one in found])


_BESIDE: Final = ("warnings", "traces", "usage", "files_read", "files_written")
"""What a runner says of an attempt, whatever the answer's own text is worth."""

_UNCLAIMED: Final = tuple((name, getattr(Reply(), name)) for name in CLAIMS)


class _Judge:
    """One reply before the bench: findings and warnings are collected, and the sentence comes last."""

    __slots__ = ("_answer", "_findings", "_judged", "_prepared", "_run", "_task", "_warnings")

    def __init__(self, prepared: Prepared, task: Task, run: RunContext, answer: Validator | None) -> None:
        self._prepared = prepared
        self._task = task
        self._run = run
        self._answer = answer
        self._findings: list[Finding] = []
        self._warnings: list[Warned] = []
        self._judged = Judged()

    async def judge(self, reply: object, readers: Readers) -> Judged:
        """All checks, in the order in which they make sense."""
        if not isinstance(reply, Reply):
            self._find("reply/type", f"`run` gave a `{type(reply).__name__}`, not a `Reply`.", fix="Return a `Reply`.")
            return self._sentence()
        if reply.text is not None:
            read = self._read(reply, reply.text, readers)
            if read is None:
                # Nobody can read what it said; what it took, and what was done for it, is known all the same.
                self._check_claims(Reply(**{name: getattr(reply, name) for name in _BESIDE}))
                await self._check_files()
                return self._sentence()
            reply = read
        self._check_data(reply.data)
        self._check_claims(reply)
        if reply.plan is not None:
            self._check_plan(reply.plan)
        self._settle_outcome()
        await self._check_files()
        return self._sentence()

    def _read(self, reply: Reply, text: object, readers: Readers) -> Reply | None:
        """The reply with its text read; None when it cannot be, and the fault says why."""
        from retinue.agents.boundary.reading import read_text  # noqa: PLC0415 - most agents are Python and give data

        try:
            if not isinstance(text, str):
                raise OutputInvalid(f"`Reply.text` is a `{type(text).__name__}`, not a text.", hint="Give text.")  # noqa: TRY301
            self._judged.native = text if text.isascii() else text.encode(errors="replace").decode()
            return read_text(text, reply, reader=self._reader(text, readers), gives=self._prepared.gives)
        except YourError as error:
            # The reader says "you asked wrongly" to whoever wrote the text, and here that is the agent.
            refused: Exception = OutputInvalid(
                error.message, hint=error.hint, path=error.path, suggestions=error.suggestions, detail=error.detail
            )
        except RetinueError as error:
            refused = error
        except Exception as error:  # noqa: BLE001 - a reader that fails must not take the call with it
            message = f"The reader of its answer failed: {Fault.from_error(error).message}"
            refused = InternalError(message, hint="Report it with the text in `native`; the agent is not to blame.")
        self._judged.fault = fault_of(refused, **self._place)
        self._judged.outcome = "error"
        return None

    def _reader(self, text: str, readers: Readers) -> "Reader | None":
        """How `text` is read: as the agent's dialect, or as one that it certainly is; None when as plain text."""
        from retinue.agents.boundary.reading import fits  # noqa: PLC0415 - as above
        from retinue.agents.boundary.spoken import read_spoken, recognised, resembles  # noqa: PLC0415

        prepared, task = self._prepared, self._task
        dialect = prepared.definition.dialect
        if dialect is None:
            if not resembles(text) or fits(text, prepared.gives):  # its own contract comes before anybody's guess
                return None
            dialect, why = recognised(text)
            if dialect is None:
                return None
            self._warn(
                f"`{prepared.definition.name}` says no dialect, and answered in `{dialect}`: {why}.",
                impact="It was read as that dialect.",
                recovery=f"Say that it speaks `{dialect}`.",
            )
        named = dialect
        level = prepared.policy.level
        return readers.get(named) or (lambda said: read_spoken(said, named, prepared.definition, task, level=level))

    def _check_data(self, data: object) -> None:
        """Is it JSON, and does it pass the skill's schema and the caller's?"""
        if data is ABSENT:
            return
        judged, gives = self._judged, self._prepared.gives
        try:
            judged.data = copy = plain_copy(data)
        except InvalidInput as error:
            # The schema's guard lists every obstacle but does not know how large a text may become.
            obstacles = schema.compile({}).findings(data)
            too_large = Finding(rule="reply/data", message=error.message, path=error.path, fix=error.hint)
            self._findings += _below("/data", obstacles or [too_large])
            return
        judged.fits = True
        for validator in (gives, self._answer):
            if validator is not None and not validator.accepts(copy, bounded=True):
                judged.fits = False
                self._findings += _below("/data", validator.findings(copy, bounded=True))

    def _check_claims(self, reply: Reply) -> None:
        claims = {name: value for name, default in _UNCLAIMED if (value := getattr(reply, name)) is not default}
        if not claims:
            return
        held, wrong = sound(claims)
        if traces := cast("tuple[Trace, ...]", held.get("traces", ())):
            held = {**held, "traces": tuple(map(cleaned, traces))}  # they are for people to read, and are kept
        self._judged.claims = held
        if self._prepared.policy.level == "lenient":
            for finding in wrong:
                self._warn(f"A claim was dropped. {finding.message}", recovery=finding.fix)
        else:
            self._findings += wrong

    def _check_plan(self, plan: object) -> None:
        if not self._prepared.definition.composes:
            self._find("reply/plan", "It gave a plan and does not say that it composes.", fix="Set `composes`.")
            return
        try:
            whole = Plan.model_validate_json(json.dumps(plan.to_json() if isinstance(plan, Plan) else {"format": 0}))
        except InvalidInput as error:
            self._findings += broken_plan(error) or [
                Finding(rule="reply/plan", message=error.message, path="/plan", fix=error.hint)
            ]
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no plan
            said = str(error).partition("\n")[0]
            self._find("reply/plan", f"Its plan cannot be used: {said}.", fix="Return a `Plan`.")
            return
        objections = [one for one in self._run.review(whole) if one.severity == "error"]
        if objections:
            self._findings += _below("/plan", objections)
            return
        self._judged.lifecycle = "working"
        self._judged.claims["extras"] = {**self._judged.claims.get("extras", {}), "plan": whole.to_json()}

    def _settle_outcome(self) -> None:
        """What the agent says it came to, and whether that can be."""
        judged, claims = self._judged, self._judged.claims
        if judged.lifecycle == "ended" and claims.get("questions"):
            judged.lifecycle = "input_required"
        judged.fault = fault = claims.pop("fault", None)
        said: Outcome | None = claims.pop("outcome", None)
        if judged.lifecycle != "ended":
            return
        judged.outcome = said or ("error" if fault else "success")
        match judged.outcome:
            case "success":
                if fault is not None:
                    self._find("reply/success", "It says `success` and reports a fault.", "/outcome", _ONE_OF_BOTH)
                self._check_substance(owed=said is None)
            case "partial":
                self._check_substance(owed=True)
                self._check_partial()
            case "error" | "failed":
                if fault is None:
                    self._blame()
            case "canceled" | "rejected":
                pass

    def _check_substance(self, *, owed: bool) -> None:
        """An answer has something in it (K29, K31).

        Args:
            owed: A word for success alone is borne unless strict: asking again would repeat what the agent did.
                Silence and an empty partial answer are not.
        """
        judged, prepared = self._judged, self._prepared
        if judged.data is not ABSENT or self._findings:
            return
        if prepared.gives is not None or self._answer is not None:
            self._find("reply/data", "It gave no data, and its skill promises some.", "/data", "Return the data.")
        elif not (
            judged.claims.get("content", "").strip()
            or judged.claims.get("artifacts")
            or judged.claims.get("files_written")
        ) and (owed or prepared.policy.level == "strict"):
            self._find("reply/empty", "The answer is empty.", "", "Return an answer.")

    def _check_partial(self) -> None:
        """A partial answer says what is missing (K4, C3)."""
        warnings: tuple[Warned, ...] = self._judged.claims.get("warnings", ())
        if self._prepared.policy.level != "strict":
            if not warnings:
                self._warn("The answer is partial, but does not say why.")
            return
        if not warnings:
            self._find("reply/partial", "It says `partial` without a warning.", "/warnings", _SAY_WHY)
        for at, warning in enumerate(warnings):
            if not warning.impact or not warning.recovery:
                message = "A warning of a partial answer lacks its impact or recovery."
                self._find("reply/partial", message, f"/warnings/{at}", _SAY_WHY)
        if "completeness" not in self._judged.claims:
            self._find("reply/partial", "It says `partial` without `completeness`.", "/completeness", "Say how much.")

    def _blame(self) -> None:
        """A failure without a reason: refused when strict, else given one that says so."""
        judged, name = self._judged, self._prepared.definition.name
        if self._prepared.policy.level == "strict":
            self._find("reply/error", f"It says `{judged.outcome}` without a fault.", "/fault", "Report a fault.")
            return
        message = f"`{name}` reports `{judged.outcome}` without a reason."
        hint = "Ask another agent, or look at what this one needs."
        judged.fault = Fault(code="internal_error", message=message, hint=hint, detail={"synthetic": True})

    async def _check_files(self) -> None:
        """Every file it claims is there; so is the one the caller asked for, when writing is the skill's trade."""
        claims, task = self._judged.claims, self._task
        writes = "write" in (self._prepared.skill.effects or ())
        asked = task.output.path if self._judged.answers and self._judged.outcome is not None else None
        if "artifacts" in claims or "files_written" in claims or (writes and asked is not None):
            from retinue.agents.boundary.claims import check_files  # noqa: PLC0415 - most answers claim none

            files = await check_files(
                claims.get("artifacts", ()), claims.get("files_written", ()), asked if writes else None, self._run
            )
            claims.update(artifacts=files.artifacts, files_written=files.written)
            self._findings += files.findings
        if asked is not None and not writes:
            message = f"A report at {asked[:200]!r} was asked for, and `{self._prepared.skill.name}` writes no files."
            self._warn(message, kind="missing_data", recovery="Write the answer there, or ask an agent that writes.")

    def _sentence(self) -> Judged:
        """Findings make an answer invalid; beside a failure that the agent reports itself they are only told."""
        judged = self._judged
        if self._findings and (judged.answers or judged.fault is None):
            judged.fault = output_invalid(self._findings, **self._place)
            judged.lifecycle, judged.outcome = "ended", "error"
        elif self._findings:
            for finding in self._findings:
                self._warn(finding.message, recovery=finding.fix)
        if judged.fault is not None:
            judged.fault = _placed(judged.fault, self._place)
        if self._warnings:
            judged.claims["warnings"] = (*judged.claims.get("warnings", ()), *self._warnings)
        return judged

    @property
    def _place(self) -> "_Place":
        return {
            "agent": self._prepared.definition.name,
            "operation": self._prepared.skill.name,
            "target": self._task.target,
            "now_ns": self._run.now(),
        }

    def _find(self, rule: str, message: str, path: str = "", fix: str = "") -> None:
        self._findings.append(Finding(rule=rule, message=message, path=path, fix=fix))

    def _warn(
        self, message: str, *, kind: WarningType = "degraded_analysis", impact: str = "", recovery: str = ""
    ) -> None:
        impact = impact or _IMPACT
        self._warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery, synthetic=True))


class _Place(TypedDict):
    agent: str
    operation: str | None
    target: str | None
    now_ns: int


_ONE_OF_BOTH: Final = "Report the fault with `partial` or `error`, or leave it out."
_SAY_WHY: Final = "Give at least one warning with message, impact and recovery."
_IMPACT: Final = "The answer may be incomplete."


def _below(path: str, findings: list[Finding]) -> list[Finding]:
    return [finding.model_copy(update={"path": path + finding.path}) for finding in findings]


def _placed(fault: Fault, place: _Place) -> Fault:
    """The fault with what an agent's own often lacks: what was attempted, on what, and when."""
    known = {"operation": place["operation"], "target": place["target"], "timestamp_ns": place["now_ns"]}
    lacking = {name: value for name, value in known.items() if getattr(fault, name) is None and value is not None}
    return fault.model_copy(update=lacking) if lacking else fault
