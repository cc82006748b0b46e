"""What an agent handed back, validated: is it what its contract promises, and did it really do what it claims (C3, C5)?

Nothing an agent puts into a reply leaves here unchecked, and nothing is shared with it afterwards. Every finding is
reported. Whether to ask again because of them is for `call` to decide.
"""

import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from pydantic import ValidationError

from retinue.agents.boundary.prepare import PreparedSkill, json_copy, prefix_paths
from retinue.agents.port import ABSENT, Reply, RunContext
from retinue.contract import json, schema
from retinue.contract.credentials import redact
from retinue.contract.fault import Fault
from retinue.contract.finding import Finding, findings_of
from retinue.contract.json import pointer
from retinue.contract.model import DialectName, JsonMapping
from retinue.contract.plan import Plan
from retinue.contract.result import Artifact, Cost, Lifecycle, Outcome, Result, Trace, Usage, Warned, WarningType
from retinue.contract.sanitize import escape_inline
from retinue.contract.schema import Validator
from retinue.contract.task import Task
from retinue.errors import FaultCode, InternalError, InvalidInput, OutputInvalid, RetinueError, YourError

if TYPE_CHECKING:
    from retinue.agents.boundary.parse_reply import Reader

Readers: TypeAlias = Mapping[DialectName, "Reader"]
"""How the text of each dialect is read."""


@dataclass(slots=True)
class ValidatedReply:
    """A reply after all checks.

    Attributes:
        data: Plain JSON, or `ABSENT`; kept also when it breaks its schema.
        is_valid: `data` passes every schema it must pass.
        outcome: How it ended; None while the lifecycle has not ended.
        claims: Further fields of a `Result`, checked and copied.
        fault: Why the reply is not an answer: what the agent reports, or what was found.
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
        """It is a whole or a partial answer, a question, or a plan: no further attempt is due."""
        return self.lifecycle != "ended" or self.outcome in {"success", "partial"}


_RUNNER_FIELDS: Final = ("warnings", "traces", "usage", "files_read", "files_written")
"""What a runner says of an attempt, whatever the answer's own text is worth."""

CLAIMS: Final = (
    "outcome", "content", "artifacts", "warnings", "fault", "traces", "usage", "confidence", "completeness",
    "files_read", "files_written", "questions", "reasoning", "extras",
)  # fmt: skip
"""The fields of a `Reply` that become fields of a `Result` as they are."""

_CLAIM_DEFAULTS: Final = tuple((name, getattr(Reply(), name)) for name in CLAIMS)
_ONE_OF_BOTH: Final = "Report the fault with `partial` or `error`, or leave it out."
_SAY_WHY: Final = "Give at least one warning with message, impact and recovery."
_USE_MODELS: Final = "Use the models of `retinue.contract`, filled with plain values."


class ReplyValidator:
    """Validates one reply: findings and warnings are collected, and the verdict comes last.

    Args:
        prepared: The skill that answered.
        task: What it was asked.
        run: Holds the workspace in which claimed files must be.
        answer: The caller's own schema for the data, beside the skill's.
    """

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
        """Make all checks of `reply`, which may be anything; `readers` read the text of a dialect."""
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
        from retinue.agents.boundary.parse_reply import parse_text  # noqa: PLC0415 - most agents are Python and give data

        try:
            if not isinstance(text, str):
                raise OutputInvalid(f"`Reply.text` is a `{type(text).__name__}`, not a text.", hint="Give text.")
            self._result.native = text if text.isascii() else text.encode(errors="replace").decode()
            return parse_text(
                text, reply, reader=self._pick_reader(text, readers), validator=self._prepared.output_validator
            )
        except YourError as error:
            # The reader says "you asked wrongly" to the author of the text, and here that is the agent.
            parse_error: Exception = OutputInvalid(
                error.message, hint=error.hint, path=error.path, suggestions=error.suggestions, detail=error.detail
            )
        except RetinueError as error:
            parse_error = error
        except Exception as error:  # noqa: BLE001 - a reader that fails must not take the call with it
            message = f"The reader of its answer failed: {Fault.from_error(error).message}"
            parse_error = InternalError(message, hint="Report it with the text in `native`; the agent is not to blame.")
        self._result.fault = fault_of(parse_error, self._task, self._run)
        self._result.outcome = "error"
        return None

    def _pick_reader(self, text: str, readers: Readers) -> "Reader | None":
        """How `text` is read: as the agent's dialect, or as one that it certainly is; None for plain text."""
        from retinue.agents.boundary.parse_reply import pick_dialect, read_answer  # noqa: PLC0415 - as above

        prepared, task = self._prepared, self._task
        dialect, evidence = pick_dialect(text, prepared.definition, prepared.output_validator)
        if dialect is None:
            return None
        if evidence:
            self._warn(
                f"`{prepared.definition.name}` declares no dialect, and answered in `{dialect}`: {evidence}.",
                impact="It was read as that dialect.",
                recovery=f"Declare that it speaks `{dialect}`.",
            )
        return readers.get(dialect) or (
            lambda answer: read_answer(answer, dialect, prepared.definition, task, level=prepared.policy.level)
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
            self._findings += prefix_paths("/data", obstacles or [too_large])
            return
        result.is_valid = True
        for validator in (output_validator, self._answer):
            if validator is not None and not validator.is_valid(copy, bounded=True):
                result.is_valid = False
                self._findings += prefix_paths("/data", validator.findings(copy, bounded=True))

    def _check_claims(self, reply: Reply) -> None:
        claims = {name: value for name, default in _CLAIM_DEFAULTS if (value := getattr(reply, name)) is not default}
        if not claims:
            return
        copies, problems = copy_claims(claims)
        if traces := cast("tuple[Trace, ...]", copies.get("traces", ())):
            copies["traces"] = tuple(map(redact, traces))  # people read them, and they are kept
        self._result.claims = copies
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
        except Exception as error:  # noqa: BLE001 - whatever it is, it is not a plan
            reason = str(error).partition("\n")[0]
            self._add_finding("reply/plan", f"Its plan cannot be used: {reason}.", fix="Return a `Plan`.")
            return
        objections = [one for one in self._run.review(parsed_plan) if one.severity == "error"]
        if objections:
            self._findings += prefix_paths("/plan", objections)
            return
        self._result.lifecycle = "working"
        self._result.claims["extras"] = {**self._result.claims.get("extras", {}), "plan": parsed_plan.to_json()}

    def _determine_outcome(self) -> None:
        """The outcome that the agent reports, and whether that can be."""
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
            required: A reported success alone is accepted unless strict: asking again would repeat what the agent did.
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
        """Findings make an answer invalid; beside a failure that the agent reports itself they are warnings."""
        result = self._result
        if self._findings and (result.is_answer or result.fault is None):
            result.fault = output_invalid(self._findings, self._task, self._run)
            result.lifecycle, result.outcome = "ended", "error"
        elif self._findings:
            for finding in self._findings:
                self._warn(finding.message, recovery=finding.fix)
        if result.fault is not None:
            # What an agent's own fault often lacks: what was attempted, on what, and when.
            values = {
                "operation": self._prepared.skill.name,
                "target": self._task.target,
                "timestamp_ns": self._run.now(),
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

    def _add_finding(self, rule: str, message: str, path: str = "", fix: str = "") -> None:
        self._findings.append(Finding(rule=rule, message=message, path=path, fix=fix))

    def _warn(
        self, message: str, *, kind: WarningType = "degraded_analysis", impact: str = "", recovery: str = ""
    ) -> None:
        impact = impact or "The answer may be incomplete."
        self._warnings.append(Warned(type=kind, message=message, impact=impact, recovery=recovery, synthetic=True))


def plan_findings(error: BaseException | None) -> list[Finding]:
    """The findings of an invalid plan: circles, repeated ids, dangling needs. Empty for other errors."""
    raw_findings: object = error.detail.get("findings") if isinstance(error, InvalidInput) else None
    members = cast("list[JsonMapping]", raw_findings) if isinstance(raw_findings, list) else []
    if not members or not all(str(one.get("rule", "")).startswith("plan/") for one in members):
        return []
    return prefix_paths("/plan", [Finding(**one) for one in members])


def copy_claims(claims: JsonMapping) -> tuple[JsonMapping, list[Finding]]:
    """The valid claims, copied, and a finding for each other; its path begins with the claim's name.

    An agent may put anything into a `Reply`. So each claim becomes the field of a result, is written and read back: all
    at once, and one by one only where something is wrong.
    """
    copies: JsonMapping = {}
    findings: list[Finding] = []
    content: object = claims.get("content")
    if type(content) is str and content.isascii() and len(content) < _SHORT:
        copies["content"] = content
    others = {name: value for name, value in claims.items() if name not in copies}
    with suppress(Exception):
        return copies | _copy_together(others), []
    for name, value in others.items():
        try:
            copies |= _copy_together({name: value})
        except ValidationError as error:
            problems: list[Any] = list(error.errors(include_url=False, include_context=False, include_input=False))
            findings += [_claim_finding(pointer(each["loc"]), f"{each['msg']}.", _USE_MODELS) for each in problems]
        except RetinueError as error:
            findings.append(_claim_finding(error.path, error.message, error.hint))
        except Exception as error:  # noqa: BLE001 - writing runs foreign code
            message = f"`{type(error).__name__}` was raised when it was read."
            findings.append(_claim_finding(pointer([name]), message, _USE_MODELS))
    return copies, findings


def _copy_together(claims: JsonMapping) -> JsonMapping:
    """The claims, written as those of a result and read back.

    Raises:
        Exception: One is no such claim; or whatever foreign code raises while it is written.
    """
    if not claims:
        return {}
    fields: JsonMapping = {
        name: tuple(cast("list[object]", value)) if type(value) is list else value for name, value in claims.items()
    }
    trial = Result(task_id="-", agent="-", **fields)
    data = trial.model_dump(
        include={"task_id", "agent", *fields}, exclude_none=True, exclude_unset=True, by_alias=True, warnings=False
    )
    copy = Result.model_validate_json(json.dumps(data))
    return {name: getattr(copy, name) for name in fields}


_SHORT: Final = 100_000


def _claim_finding(path: str, message: str, fix: str) -> Finding:
    text = message if path.count("/") < 1 else f"`{path.split('/')[1]}` is wrong: {message[:1].lower()}{message[1:]}"
    return Finding(rule="reply/claim", message=text, path=path or "/", fix=fix)


# The answer as text, for an agent that gave only data (C8). Short on purpose: `data` holds the whole.

_LINES: Final = 12
_ITEMS: Final = 8
_WIDTH: Final = 200
_LONG: Final = 1_000
_LINE: Final = r"[A-Za-z0-9,;:?'\"%][A-Za-z0-9,;:?'\"% ]*"
_PLAIN_LINES: Final = re.compile(rf"{_LINE}(?:\n{_LINE})*")


def render_content(data: object) -> str:
    """A few lines of Markdown that say what `data` (JSON) holds.

    Scalars stand as they are, and so do a few of them one level deeper; of what is more, or lies deeper, the size.
    """
    if isinstance(data, dict):
        members = cast("dict[str, object]", data)
        lines = [f"{_format_line(name)}: {_format_value(members[name])}" for name in islice(members, _LINES)]
        size = len(members)
    elif isinstance(data, list):
        items = cast("list[object]", data)
        lines = [_format_value(item) for item in items[:_LINES]]
        size = len(items)
    else:
        return _escape(_format_value(data))
    if size > _LINES:
        lines.append(f"and {size - _LINES} more")
    return "- " + _escape("\n".join(lines)).replace("\n", "\n- ") if lines else "Nothing."


def _escape(text: str) -> str:
    """`text` safe to stand in Markdown. Words and numbers are, and most answers are nothing else."""
    if _PLAIN_LINES.fullmatch(text):
        return text
    return "\n".join(map(escape_inline, text.split("\n")))


def _format_value(value: object) -> str:
    """One value on one line."""
    if isinstance(value, str):
        return _format_line(value)
    if isinstance(value, dict):
        members = cast("dict[str, object]", value)
        return _format_members(members) or _format_count(len(members), "member")
    if isinstance(value, list):
        # A few scalars, or a few objects of scalars, as they are; of anything else how many there are.
        items = cast("list[object]", value)
        if not items:
            return "none"
        if len(items) <= _ITEMS:
            if not any(isinstance(item, (dict, list)) for item in items):
                return ", ".join(map(_format_value, items))
            flat = [_format_members(cast("dict[str, object]", item)) for item in items if isinstance(item, dict)]
            if len(flat) == len(items) and all(flat) and len(text := "; ".join(flat)) <= _LONG:
                return text
        return _format_count(len(items), "item")
    if value is None:
        return "none"
    return ("no", "yes")[value] if isinstance(value, bool) else str(value)


def _format_members(members: dict[str, object]) -> str:
    """A few scalars by name; empty when it holds more, or something deeper."""
    if len(members) > _ITEMS or any(isinstance(each, (dict, list)) for each in members.values()):
        return ""
    text = ", ".join(f"{_format_line(name)}: {_format_value(each)}" for name, each in members.items())
    return text if len(text) <= _LONG else ""


def _format_line(text: str) -> str:
    line = text if len(text) <= _WIDTH else f"{text[:_WIDTH]}…"
    return line if line.isprintable() else " ".join(line.split())


def _format_count(count: int, what: str) -> str:
    return f"{count} {what}" if count == 1 else f"{count} {what}s"


# Failures as faults. The one place where an agent's exceptions become data: an exception may itself be broken, so
# what comes out is always something that can be shown, written and read back.

_LONGEST: Final = 10_000
_MAX_SHOWN: Final = 3

_BUILT_IN: Final[tuple[tuple[type[BaseException], FaultCode], ...]] = (
    (TimeoutError, "timeout"),
    (ConnectionError, "network_error"),
    (FileNotFoundError, "missing_file"),
    (PermissionError, "access_denied"),
)
"""Exceptions of the language that say plainly what kind of failure it is (K33)."""

_REPORT_MODELS: Final = frozenset(model.__name__ for model in (Artifact, Cost, Result, Trace, Usage, Warned))
"""What an agent builds to report its work. An invalid one is a wrong answer, as it is in JSON."""

_ENDS_PROGRAM: Final = (SystemExit, GeneratorExit)
_TRANSIENT: Final = frozenset[FaultCode]({"timeout", "network_error", "unavailable"})
_FIX_AGENT: Final = "The error is inside the agent: fix it, or use another agent."
_MUST_NOT_END: Final = "An agent must not end the program: let it return, or raise an error of its own."


def fault_of(error: BaseException, task: Task, run: RunContext, *, failed_at: str = "run") -> Fault:
    """The fault that says what `error` says. Never raises, not even for an error that cannot be shown."""
    place = _place(task, run, failed_at)
    try:
        if isinstance(error, ValidationError) and error.title in _REPORT_MODELS:
            return output_invalid(list(findings_of(error, rule=f"reply/{error.title.lower()}")), task, run)
        return Fault.model_validate_json(_build_fault(error, task.agent, place).to_json_text())
    except Exception:  # noqa: BLE001 - `__str__`, an attribute or the detail of a foreign error is broken
        kind = type(error).__name__
        message = f"`{task.agent}` raised `{kind}`, which cannot be shown."
        return Fault(code="internal_error", message=message, hint=_FIX_AGENT, detail={"class": kind}, **place)


def output_invalid(findings: list[Finding], task: Task, run: RunContext) -> Fault:
    """The fault for an answer that breaks its contract, with every finding."""
    error = _with_findings(OutputInvalid, f"The answer of `{task.agent}` breaks its contract", findings)
    return Fault.from_error(error, **_place(task, run, "output"))


def invalid_input(findings: list[Finding], task: Task, run: RunContext) -> Fault:
    """The fault for a task that a skill does not take, with every finding."""
    error = _with_findings(InvalidInput, f"`{task.agent}` cannot be called like this", findings)
    return Fault.from_error(error, **_place(task, run, "input"))


def _place(task: Task, run: RunContext, failed_at: str) -> dict[str, Any]:
    """What was attempted, on what, and when."""
    return {"operation": task.skill, "target": task.target, "failed_at": failed_at, "timestamp_ns": run.now()}


def _with_findings(kind: type[RetinueError], message: str, findings: list[Finding]) -> RetinueError:
    text = " ".join(f"{finding.message[:-1]} (at `{finding.path or '/'}`)." for finding in findings[:_MAX_SHOWN])
    more = f" And {len(findings) - _MAX_SHOWN} more." if len(findings) > _MAX_SHOWN else ""
    fixes = tuple(dict.fromkeys(f"`{finding.path or '/'}`: {finding.fix}" for finding in findings if finding.fix))
    return kind(
        f"{message}: {text}{more}",
        hint=" ".join(fixes[:_MAX_SHOWN]),
        path=findings[0].path,
        suggestions=fixes[:20],
        detail={"findings": [finding.to_json() for finding in findings]},
    )


def notes_of(error: BaseException | None) -> tuple[str, ...]:
    """What was noted on an exception on its way (`add_note`)."""
    notes: object = getattr(error, "__notes__", None)
    if not isinstance(notes, list):
        return ()
    texts = (note for note in cast("list[object]", notes) if isinstance(note, str))
    return tuple(_truncate(text.encode(errors="replace").decode()) for text in texts)


def _build_fault(error: BaseException, agent: str, place: JsonMapping) -> Fault:
    fault = Fault.from_error(error, **place)
    if isinstance(error, RetinueError):
        short = len(fault.message) <= _LONGEST
        return fault if short else fault.model_copy(update={"message": _truncate(fault.message)})
    kind = type(error).__name__
    code = next((code for base, code in _BUILT_IN if isinstance(error, base)), fault.code)
    description = fault.message.replace(f"`{kind}` was raised without", f"`{kind}` without")
    hint = _MUST_NOT_END if isinstance(error, _ENDS_PROGRAM) else _FIX_AGENT if code == "internal_error" else ""
    where, trace = "", error.__traceback__
    while trace is not None:  # function and line in which it was raised
        frame = trace.tb_frame
        where = f"{frame.f_globals.get('__name__', '?')}.{frame.f_code.co_qualname}:{trace.tb_lineno}"
        trace = trace.tb_next
    return fault.model_copy(
        update={
            "code": code,
            "message": f"`{agent}` raised {_truncate(description)}",
            "hint": hint,
            "retryable": code in _TRANSIENT,
            "detail": {**fault.detail, **({"where": where} if where else {})},
        }
    )


def _truncate(text: str) -> str:
    """A foreign text for a message: not endless."""
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
