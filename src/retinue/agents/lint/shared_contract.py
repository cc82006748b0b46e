"""The contract that a family of agents shares (spec 003): who follows it, shows it, repeats it, and in which version.

An agent follows it when it says so, or when most agents beside it do; of all others nothing is asked.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile
from typing import Any, Final

from retinue.agents.load.operations import CodeBlock
from retinue.contract import json
from retinue.contract.finding import Finding, Severity
from retinue.contract.formatting import natural_list
from retinue.contract.lint.rules import make_finding
from retinue.contract.version import Version, is_version
from retinue.dialects.markdown_json.parse import parse_result
from retinue.dialects.port import ParseContext
from retinue.errors import OutputInvalid, ParseError

from .definitions import MarkdownText

_LINE: Final = re.compile(r"\*\*Contract(?::\*\*|\*\*:)")
_CITED: Final = re.compile(r"\b(?:[A-Za-z0-9_]+[-_])?AGENT[-_]?CONTRACT\b", re.IGNORECASE)
_TITLE: Final = re.compile(r"(?:shared )?agent contract\b", re.IGNORECASE)
_OWN_VERSION: Final = re.compile(r"\*\*Version(?::\*\*|\*\*:)[ \t]*[`v]*([0-9]+(?:\.[0-9]+){1,2})\b", re.IGNORECASE)
_CITED_VERSION: Final = re.compile(r"\bv(?:ersion)?\.?[ \t]*([0-9]+(?:\.[0-9]+){1,2})\b", re.IGNORECASE)
_ERRORS: Final = re.compile(
    r"(?:[0-9.]+\s+)?(?:standard |common )?(?:error handling|error types|error responses?|"
    r"error format|handling errors|errors)"
    r"(?: (?:strategy|rules|requirements)| (?:and|&) .*)?:?",
    re.IGNORECASE,
)
_CHANGES: Final = re.compile(r"\b(?:break|change|histor|migrat|upgrad|what.s new)", re.IGNORECASE)
_HEADER: Final = 40
"""Lines in which the header of a file ends, heading or not."""
_MAX_LINES_BESIDE_REFERENCE: Final = 3
"""Lines that a section may have beside its reference to the contract without repeating it."""

_STATUSES: Final = ("success", "partial", "error")
_STATUS: Final = re.compile(r'^[ \t]{0,4}"status"\s*:\s*"(success|partial|error)"', re.MULTILINE)
_MEMBER: Final = re.compile(r'^[ \t]{0,4}"(?:agent|result|error_type|warnings)"\s*:', re.MULTILINE)
_VERSION: Final = re.compile(r'^[ \t]{0,4}"version"\s*:\s*"([0-9]+(?:\.[0-9]+){1,2})"', re.MULTILINE)
_OPERATION: Final = re.compile(r'^[ \t]{0,4}"operation"\s*:\s*"([A-Za-z][\w-]*)"', re.MULTILINE)
_JSON: Final = frozenset({"", "json", "json5", "jsonc"})


@dataclass(frozen=True, slots=True)
class ExampleEnvelope:
    """An example answer.

    Attributes:
        value: What it says; None when it is cut short and no JSON.
        problem: Then, why, with the place in the block.
    """

    fence: CodeBlock
    status: str
    value: Mapping[str, Any] | None
    problem: ParseError | None = None

    @property
    def operation(self) -> re.Match[str] | None:
        """Where in the block it says its operation, group 1 being that."""
        return None if self.status == "error" else _OPERATION.search(self.fence.text)


@dataclass(frozen=True, slots=True)
class _Citation:
    """A version of the contract, where it is said."""

    version: str
    text: MarkdownText
    line: int
    column: int


def find_envelopes(text: MarkdownText) -> tuple[ExampleEnvelope, ...]:
    """The example answers in a text, whole and cut short."""
    envelopes: list[ExampleEnvelope] = []
    for fence in text.outline.code_blocks:
        if fence.kind not in _JSON or '"status"' not in fence.text:
            continue
        try:
            value = json.loads(fence.text)
        except ParseError as error:
            match = _STATUS.search(fence.text)
            if match and _MEMBER.search(fence.text):
                envelopes.append(ExampleEnvelope(fence, match[1], None, error))
            continue
        if isinstance(value, dict) and {"agent", "result", "error_type"} & value.keys():
            status = value.get("status")
            if isinstance(status, str) and status in _STATUSES:
                envelopes.append(ExampleEnvelope(fence, status, value))
    return tuple(envelopes)


def check_contract(texts: Sequence[MarkdownText]) -> Iterator[Finding]:
    """Everything to say about the shared contract in a tree (K27, K28)."""
    envelopes = {text.name: find_envelopes(text) for text in texts}
    agents = [text for text in texts if text.agent is not None]
    lines = {text.name: _contract_line(text) for text in agents}
    sizes = Counter(text.folder for text in agents)
    followers = Counter(text.folder for text in agents if lines[text.name])
    for text in agents:
        family = followers[text.folder] >= 2 and followers[text.folder] * 2 >= sizes[text.folder]
        yield from _check_agent(text, lines[text.name], envelopes[text.name], family=family)
    # Versions: each citation against the nearest contract, or against what most of the tree says.
    contracts = {text.name: version for text in texts if (version := _contract_version(text))}
    yield from filter(None, map(_find_undocumented_break, contracts.values()))
    citations = [citation for text in texts for citation in _citations(text, envelopes[text.name])]
    counts = Counter(str(Version.parse(each.version)) for each in citations)
    most = max(counts, key=lambda version: (counts[version], Version.parse(version)), default=None)
    nearest: dict[str, str | None] = {}
    for citation in citations:
        folder, own = citation.text.folder, citation.text.name.split("/")
        if folder not in nearest:

            def nearness(name: str, own: list[str] = own) -> tuple[int, int]:
                shared = zip(own, name.split("/"), strict=False)
                return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], shared)), -len(name)

            nearest[folder] = max(contracts, key=nearness, default=None)
        source = nearest[folder]
        expected = contracts[source].version if source else most
        if expected is None or Version.parse(citation.version) == Version.parse(expected):
            continue
        where = source or "most of the tree"
        message = f"It speaks version {citation.version} of the contract; {where} says {expected}."
        fix = f"Bring it to {expected}, or the contract back."
        yield _finding_at(citation.text, "contract/version", message, fix, line=citation.line, column=citation.column)


def _contract_line(text: MarkdownText) -> int | None:
    """The line of the header that names the contract."""
    outline = text.outline
    end = next((section.line - 1 for section in outline.sections if section.level >= 2), len(outline.lines))
    for number in range(outline.body, min(end, outline.body + _HEADER) + 1):
        line = outline.lines[number - 1]
        if _LINE.search(line) and (_CITED.search(line) or "](" in line):
            return number
    return None


def _check_agent(
    text: MarkdownText, line: int | None, envelopes: tuple[ExampleEnvelope, ...], *, family: bool
) -> Iterator[Finding]:
    cited = next((number for number, content in text.outline.prose() if _CITED.search(content)), None)
    if line is None and (cited or family):
        severity: Severity = "error" if cited else "warning"
        why = f"Line {cited} cites it." if cited else "The agents beside it do."
        message = f"The header of `{text.agent}` does not say which contract it follows. {why}"
        fix = "Add **Contract:** This agent follows [AGENT_CONTRACT.md](AGENT_CONTRACT.md)"
        yield _finding_at(text, "contract/line", message, fix, line=text.outline.body, severity=severity)
    if line is None and not cited:
        return
    statuses = {envelope.status for envelope in envelopes}
    missing = [status for status in _STATUSES if status not in statuses]
    if missing:
        message = f"`{text.agent}` shows no example of {natural_list(f'`{each}`' for each in missing)}."
        fix = "Add one answer of each kind, as JSON in a code block."
        yield _finding_at(text, "contract/examples", message, fix, line=line or cited or 1)
    for envelope in envelopes:
        yield from _check_example(text, envelope)
    for section in text.outline.sections:
        if section.level and _ERRORS.fullmatch(section.heading):
            lines = [line for line in text.outline.text_of(section, whole=True).split("\n") if line.strip()]
            if len(lines) > _MAX_LINES_BESIDE_REFERENCE and not any(_CITED.search(line) for line in lines):
                message = f"The section “{section.heading}” handles errors, which the contract does for all."
                fix = "Refer to the contract, and keep only what is this agent's own."
                yield _finding_at(text, "contract/own-errors", message, fix, line=section.line)


def _check_example(text: MarkdownText, envelope: ExampleEnvelope) -> Iterator[Finding]:
    """What the contract has against an example."""
    fence = envelope.fence
    if envelope.value is None:
        detail = envelope.problem.detail if envelope.problem else {}
        message = f"The example of `{envelope.status}` is cut short or marked up: it is not JSON."
        fix = "Write it out, or say in prose what is left out."
        line, column = int(detail.get("line", 1)), int(detail.get("column", 1))
        place = {"line": fence.line + line - 1, "column": fence.column + column - 1}
        yield _finding_at(text, "contract/example", message, fix, **place, severity="warning")
        return
    # What the specs themselves disagree about is a warning of the dialect, and so it is here.
    try:
        wrong = parse_result(fence.text, context=ParseContext(agent=text.agent or "")).findings
    except OutputInvalid as error:
        wrong = [Finding.model_validate(each) for each in error.detail.get("findings", [])]
    for each in wrong:
        severity = each.severity
        if each.rule.endswith("/version"):
            continue  # which one is right, the tree says
        if each.rule.endswith("/unknown"):
            # An agent defines its `result` and nothing beside it (K27); within the contract's objects it may tell more.
            if each.path.count("/") != 1:
                continue
            severity = "info"
        line, column = fence.json_place(each.path)
        message = f"The example of `{envelope.status}` breaks the contract: {each.message}"
        yield make_finding(
            "contract/example",
            each.path,
            message,
            each.fix,
            severity=severity,
            file=text.name,
            line=line,
            column=column,
        )


def _contract_version(text: MarkdownText) -> _Citation | None:
    """The version that a text gives itself, when it is a contract."""
    titles = (section.heading for section in text.outline.sections[:3])
    if text.agent is not None or text.file.kind != "text":
        return None
    if not (_CITED.search(text.file.path.stem) or any(_TITLE.match(title) for title in titles)):
        return None
    for number, line in enumerate(text.outline.lines[:_HEADER], start=1):
        match = _OWN_VERSION.search(line)
        if match and is_version(match[1]):
            return _Citation(match[1], text, number, match.start(1) + 1)
    return None


def _find_undocumented_break(contract: _Citation) -> Finding | None:
    """A new major version breaks what was: without a section on what has changed in it, nobody knows what."""
    major, outline = Version.parse(contract.version).major, contract.text.outline
    is_named = re.compile(rf"(?<![0-9.]){major}(?:\.[0-9]+)*(?![0-9])").search
    if major < 2 or any(
        _CHANGES.search(section.heading) and is_named(f"{section.heading}\n{outline.text_of(section, whole=True)}")
        for section in outline.sections
    ):
        return None
    message = f"Version {contract.version} breaks version {major - 1}, and no section says what has changed."
    fix = f"Add a section “Breaking changes” that says what agents and callers of version {major - 1} must change."
    return _finding_at(contract.text, "contract/break", message, fix, line=contract.line, column=contract.column)


def _citations(text: MarkdownText, envelopes: tuple[ExampleEnvelope, ...]) -> Iterator[_Citation]:
    """Each place where a text says which version of the contract it speaks."""
    for envelope in envelopes:
        match = _VERSION.search(envelope.fence.text)
        if match and is_version(match[1]):
            line, column = envelope.fence.place(match.start(1))
            yield _Citation(match[1], text, line, column)
    for number, line in text.outline.prose():
        cited = _CITED.search(line)
        match = _CITED_VERSION.search(line, cited.end()) if cited else None
        if match and is_version(match[1]):
            yield _Citation(match[1], text, number, match.start(1) + 1)


def _finding_at(
    text: MarkdownText,
    rule: str,
    message: str,
    fix: str,
    *,
    line: int,
    column: int = 1,
    severity: Severity | None = None,
) -> Finding:
    return make_finding(rule, "", message, fix, file=text.name, line=line, column=column, severity=severity)
