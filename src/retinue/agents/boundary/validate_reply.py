"""What an agent handed back, judged: is it what its contract promises, and did it really do what it claims (C3, C5)?

Nothing an agent puts into a reply leaves here unchecked, and nothing is shared with it afterwards. Every finding is
told. Who asks again because of them is the boundary.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, TypeAlias, TypedDict, cast

from retinue.agents.boundary.faults import fault_of, output_invalid
from retinue.agents.boundary.prepare_skill import PreparedSkill
from retinue.agents.boundary.validate_claims import CLAIMS, json_copy, validate_claims
from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import json, schema
from retinue.contract.credentials import redact
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Lifecycle, Outcome, Trace, Warned, WarningType
from retinue.contract.schema import Validator
from retinue.contract.task import Task
from retinue.errors import InternalError, InvalidInput, OutputInvalid, RetinueError, YourError

if TYPE_CHECKING:
    from retinue.agents.boundary.parse_text import Reader

Readers: TypeAlias = Mapping[DialectName, "Reader"]
"""How the text of each dialect is read."""


@dataclass(slots=True)
class ValidatedReply:
    """A reply after all checks.

    Attributes:
        data: Plain JSON, or `ABSENT`; kept also when it breaks its schema.
        is_valid: `data` passes every schema it must pass.
        outcome: What it came to; None while the lifecycle has not ended.
        claims: Further fields of a `Result`, checked and copied.
        fault: Why the reply is no answer: what the agent reports, or what was found.
        native: The text it was read from.
    """

    data: object = ABSENT
    is_valid: bool = False
    lifecycle: Lifecycle = "ended"
    outcome: Outcome | None = None
    claims: JsonMapping = field(default_factory=dict)
    fault: Fault | None = None
    native: str | None = None

    @property
    def is_answer(self) -> bool:
        """It is a whole or a partial answer, a question, or a plan: no attempt is owed any more."""
        return self.lifecycle != "ended" or self.outcome in {"success", "partial"}


async def validate_reply(
    reply: object, prepared: PreparedSkill, task: Task, run: RunContext, *, readers: Readers, answer: Validator | None
) -> ValidatedReply:
    """Judge what `prepared` handed back for `task`.

    Args:
        reply: Anything at all.
        prepared: Whose answer it is.
        task: What was asked.
        run: Holds the workspace in which claimed files must be.
        readers: How the text of each dialect is read.
        answer: The caller's own schema for the data, beside the skill's.
    """
    return await _ReplyValidator(prepared, task, run, answer).validate(reply, readers)


def plan_findings(error: BaseException | None) -> list[Finding]:
    """The findings of a plan that is none: circles, repeated ids, dangling needs. Nothing for other errors."""
    raw_findings: object = error.detail.get("findings") if isinstance(error, InvalidInput) else None
    members = cast("list[JsonMapping]", raw_findings) if isinstance(raw_findings, list) else []
    if not members or not all(str(one.get("rule", "")).startswith("plan/") for one in members):
        return []
    return _prefix_paths("/plan", [Finding(**one) for one in members])


_RUNNER_FIELDS: Final = ("warnings", "traces", "usage", "files_read", "files_written")
"""What a runner says of an attempt, whatever the answer's own text is worth."""

_CLAIM_DEFAULTS: Final = tuple((name, getattr(Reply(), name)) for name in CLAIMS)


class _ReplyValidator:
    """One reply before the bench: findings and warnings are collected, and the sentence comes last."""

    __slots__ = ("_answer", "_findings", "_prepared", "_result", "_run", "_task", "_warnings")

    def __init__(self, prepared: PreparedSkill, task: Task, run: RunContext, answer: Validator | None) -> None:
        self._prepared = prepared
        self._task = task
        self._run = run
        self._answer = answer
        self._findings: list[Finding] = []
        self._warnings: list[Warned] = []
        self._result = ValidatedReply()

    async def validate(self, reply: object, readers: Readers) -> ValidatedReply:
        """All checks, in the order in which they make sense."""
        if not isinstance(reply, Reply):
            self._add_finding(
                "reply/type", f"`run` gave a `{type(reply).__name__}`, not a `Reply`.", fix="Return a `Reply`."
            )
            return self._conclude()
        if reply.text is not None:
            read = self._read(reply, reply.text, readers)
            if read is None:
                # Nobody can read what it said; what it took, and what was done for it, is known all the same.
                self._check_claims(Reply(**{name: getattr(reply, name) for name in _RUNNER_FIELDS}))
                await self._check_files()
                return self._conclude()
            reply = read
        self._check_data(reply.data)
        self._check_claims(reply)
        if reply.plan is not None:
            self._check_plan(reply.plan)
        self._determine_outcome()
        await self._check_files()
        return self._conclude()

    def _read(self, reply: Reply, text: object, readers: Readers) -> Reply | None:
        """The reply with its text read; None when it cannot be, and the fault says why."""
        from retinue.agents.boundary.parse_text import parse_text  # noqa: PLC0415 - most agents are Python and give data

        try:
            if not isinstance(text, str):
                raise OutputInvalid(f"`Reply.text` is a `{type(text).__name__}`, not a text.", hint="Give text.")
            self._result.native = text if text.isascii() else text.encode(errors="replace").decode()
            return parse_text(
                text, reply, reader=self._pick_reader(text, readers), validator=self._prepared.output_validator
            )
        except YourError as error:
            # The reader says "you asked wrongly" to whoever wrote the text, and here that is the agent.
            parse_error: Exception = OutputInvalid(
                error.message, hint=error.hint, path=error.path, suggestions=error.suggestions, detail=error.detail
            )
        except RetinueError as error:
            parse_error = error
        except Exception as error:  # noqa: BLE001 - a reader that fails must not take the call with it
            message = f"The reader of its answer failed: {Fault.from_error(error).message}"
            parse_error = InternalError(message, hint="Report it with the text in `native`; the agent is not to blame.")
        self._result.fault = fault_of(parse_error, **self._fault_context)
        self._result.outcome = "error"
        return None

    def _pick_reader(self, text: str, readers: Readers) -> "Reader | None":
        """How `text` is read: as the agent's dialect, or as one that it certainly is; None when as plain text."""
        from retinue.agents.boundary.dialect_adapter import looks_like_dialect, read_answer, recognise_dialect  # noqa: PLC0415
        from retinue.agents.boundary.parse_text import is_valid_output  # noqa: PLC0415 - as above

        prepared, task = self._prepared, self._task
        dialect = prepared.definition.dialect
        if dialect is None:
            if not looks_like_dialect(text) or is_valid_output(
                text, prepared.output_validator
            ):  # its own contract comes before anybody's guess
                return None
            dialect, evidence = recognise_dialect(text)
            if dialect is None:
                return None
            self._warn(
                f"`{prepared.definition.name}` says no dialect, and answered in `{dialect}`: {evidence}.",
                impact="It was read as that dialect.",
                recovery=f"Say that it speaks `{dialect}`.",
            )
        spoken_dialect = dialect
        level = prepared.policy.level
        return readers.get(spoken_dialect) or (
            lambda answer_text: read_answer(answer_text, spoken_dialect, prepared.definition, task, level=level)
        )

    def _check_data(self, data: object) -> None:
        """Is it JSON, and does it pass the skill's schema and the caller's?"""
        if data is ABSENT:
            return
        result, output_validator = self._result, self._prepared.output_validator
        try:
            result.data = copy = json_copy(data)
        except InvalidInput as error:
            # The schema's guard lists every obstacle but does not know how large a text may become.
            obstacles = schema.compile({}).findings(data)
            too_large = Finding(rule="reply/data", message=error.message, path=error.path, fix=error.hint)
            self._findings += _prefix_paths("/data", obstacles or [too_large])
            return
        result.is_valid = True
        for validator in (output_validator, self._answer):
            if validator is not None and not validator.is_valid(copy, bounded=True):
                result.is_valid = False
                self._findings += _prefix_paths("/data", validator.findings(copy, bounded=True))

    def _check_claims(self, reply: Reply) -> None:
        claims = {name: value for name, default in _CLAIM_DEFAULTS if (value := getattr(reply, name)) is not default}
        if not claims:
            return
        claims_copy, problems = validate_claims(claims)
        if traces := cast("tuple[Trace, ...]", claims_copy.get("traces", ())):
            claims_copy = {
                **claims_copy,
                "traces": tuple(map(redact, traces)),
            }  # they are for people to read, and are kept
        self._result.claims = claims_copy
        if self._prepared.policy.level == "lenient":
            for finding in problems:
                self._warn(f"A claim was dropped. {finding.message}", recovery=finding.fix)
        else:
            self._findings += problems

    def _check_plan(self, plan: object) -> None:
        if not self._prepared.definition.composes:
            self._add_finding("reply/plan", "It gave a plan and does not say that it composes.", fix="Set `composes`.")
            return
        try:
            parsed_plan = Plan.model_validate_json(
                json.dumps(plan.to_json() if isinstance(plan, Plan) else {"format": 0})
            )
        except InvalidInput as error:
            self._findings += plan_findings(error) or [
                Finding(rule="reply/plan", message=error.message, path="/plan", fix=error.hint)
            ]
            return
        except Exception as error:  # noqa: BLE001 - whatever it is, it is no plan
            reason = str(error).partition("\n")[0]
            self._add_finding("reply/plan", f"Its plan cannot be used: {reason}.", fix="Return a `Plan`.")
            return
        objections = [one for one in self._run.review(parsed_plan) if one.severity == "error"]
        if objections:
            self._findings += _prefix_paths("/plan", objections)
            return
        self._result.lifecycle = "working"
        self._result.claims["extras"] = {**self._result.claims.get("extras", {}), "plan": parsed_plan.to_json()}

    def _determine_outcome(self) -> None:
        """What the agent says it came to, and whether that can be."""
        result, claims = self._result, self._result.claims
        if result.lifecycle == "ended" and claims.get("questions"):
            result.lifecycle = "input_required"
        result.fault = fault = claims.pop("fault", None)
        stated_outcome: Outcome | None = claims.pop("outcome", None)
        if result.lifecycle != "ended":
            return
        result.outcome = stated_outcome or ("error" if fault else "success")
        match result.outcome:
            case "success":
                if fault is not None:
                    self._add_finding(
                        "reply/success", "It says `success` and reports a fault.", "/outcome", _ONE_OF_BOTH
                    )
                self._check_not_empty(required=stated_outcome is None)
            case "partial":
                self._check_not_empty(required=True)
                self._check_partial()
            case "error" | "failed":
                if fault is None:
                    self._add_missing_fault()
            case "canceled" | "rejected":
                pass

    def _check_not_empty(self, *, required: bool) -> None:
        """An answer has something in it (K29, K31).

        Args:
            required: A word for success alone is borne unless strict: asking again would repeat what the agent did.
                Silence and an empty partial answer are not.
        """
        result, prepared = self._result, self._prepared
        if result.data is not ABSENT or self._findings:
            return
        if prepared.output_validator is not None or self._answer is not None:
            self._add_finding(
                "reply/data", "It gave no data, and its skill promises some.", "/data", "Return the data."
            )
        elif not (
            result.claims.get("content", "").strip()
            or result.claims.get("artifacts")
            or result.claims.get("files_written")
        ) and (required or prepared.policy.level == "strict"):
            self._add_finding("reply/empty", "The answer is empty.", "", "Return an answer.")

    def _check_partial(self) -> None:
        """A partial answer says what is missing (K4, C3)."""
        warnings: tuple[Warned, ...] = self._result.claims.get("warnings", ())
        if self._prepared.policy.level != "strict":
            if not warnings:
                self._warn("The answer is partial, but does not say why.")
            return
        if not warnings:
            self._add_finding("reply/partial", "It says `partial` without a warning.", "/warnings", _SAY_WHY)
        for at, warning in enumerate(warnings):
            if not warning.impact or not warning.recovery:
                message = "A warning of a partial answer lacks its impact or recovery."
                self._add_finding("reply/partial", message, f"/warnings/{at}", _SAY_WHY)
        if "completeness" not in self._result.claims:
            self._add_finding(
                "reply/partial", "It says `partial` without `completeness`.", "/completeness", "Say how much."
            )

    def _add_missing_fault(self) -> None:
        """A failure without a reason: refused when strict, else given one that says so."""
        result, name = self._result, self._prepared.definition.name
        if self._prepared.policy.level == "strict":
            self._add_finding(
                "reply/error", f"It says `{result.outcome}` without a fault.", "/fault", "Report a fault."
            )
            return
        message = f"`{name}` reports `{result.outcome}` without a reason."
        hint = "Ask another agent, or look at what this one needs."
        result.fault = Fault(code="internal_error", message=message, hint=hint, detail={"synthetic": True})

    async def _check_files(self) -> None:
        """Every file it claims is there; so is the one the caller asked for, when writing is the skill's trade."""
        claims, task = self._result.claims, self._task
        writes = "write" in (self._prepared.skill.effects or ())
        requested_path = task.output.path if self._result.is_answer and self._result.outcome is not None else None
        if "artifacts" in claims or "files_written" in claims or (writes and requested_path is not None):
            from retinue.agents.boundary.check_files import check_files  # noqa: PLC0415 - most answers claim none

            files = await check_files(
                claims.get("artifacts", ()),
                claims.get("files_written", ()),
                requested_path if writes else None,
                self._run,
            )
            claims.update(artifacts=files.artifacts, files_written=files.files_written)
            self._findings += files.findings
        if requested_path is not None and not writes:
            message = (
                f"A report at {requested_path[:200]!r} was asked for, and "
                f"`{self._prepared.skill.name}` writes no files."
            )
            self._warn(message, kind="missing_data", recovery="Write the answer there, or ask an agent that writes.")

    def _conclude(self) -> ValidatedReply:
        """Findings make an answer invalid; beside a failure that the agent reports itself they are only told."""
        result = self._result
        if self._findings and (result.is_answer or result.fault is None):
            result.fault = output_invalid(self._findings, **self._fault_context)
            result.lifecycle, result.outcome = "ended", "error"
        elif self._findings:
            for finding in self._findings:
                self._warn(finding.message, recovery=finding.fix)
        if result.fault is not None:
            # The fault with what an agent's own often lacks: what was attempted, on what, and when.
            values = {
                "operation": self._fault_context["operation"],
                "target": self._fault_context["target"],
                "timestamp_ns": self._fault_context["now_ns"],
            }
            missing = {
                name: value
                for name, value in values.items()
                if getattr(result.fault, name) is None and value is not None
            }
            result.fault = result.fault.model_copy(update=missing) if missing else result.fault
        if self._warnings:
            result.claims["warnings"] = (*result.claims.get("warnings", ()), *self._warnings)
        return result

    @property
    def _fault_context(self) -> "_FaultContext":
        return {
            "agent": self._prepared.definition.name,
            "operation": self._prepared.skill.name,
            "target": self._task.target,
            "now_ns": self._run.now(),
        }

    def _add_finding(self, rule: str, message: str, path: str = "", fix: str = "") -> None:
        self._findings.append(Finding(rule=rule, message=message, path=path, fix=fix))

    def _warn(
        self, message: str, *, kind: WarningType = "degraded_analysis", impact: str = "", recovery: str = ""
    ) -> None:
        impact = impact or _IMPACT
        self._warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery, synthetic=True))


class _FaultContext(TypedDict):
    agent: str
    operation: str | None
    target: str | None
    now_ns: int


_ONE_OF_BOTH: Final = "Report the fault with `partial` or `error`, or leave it out."
_SAY_WHY: Final = "Give at least one warning with message, impact and recovery."
_IMPACT: Final = "The answer may be incomplete."


def _prefix_paths(path: str, findings: list[Finding]) -> list[Finding]:
    return [finding.model_copy(update={"path": path + finding.path}) for finding in findings]
