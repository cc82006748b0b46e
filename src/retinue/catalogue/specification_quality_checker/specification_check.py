"""One ticket held against the rubric: its statements, the issues in them, and the report that says so."""

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket, mask_names
from retinue.catalogue.tickets.ticket import line_starts
from retinue.catalogue.tickets.ticket_work import judge_criteria
from retinue.catalogue.tickets.vocabulary import fold_words

from .parameters import SpecFix, SpecificationRubric, SpecIssue, SpecRule, SpecSection

_MOST_ISSUES: Final = 500
_MOST_SENTENCES: Final = 5
_LEAST_WORDS: Final = 40  # of fewer nothing is said about their language
_LEAST_SHARE: Final = 0.12
_WORD: Final = re.compile(r"[^\W\d_]+")
_SECTION_OF: Final[Mapping[str, SpecSection]] = {
    "user_story": "user_story", "acceptance_criteria": "acceptance_criteria", "scenarios": "bdd_scenarios",
    "technical_design": "technical_design", "implementation": "implementation_checklist",
}  # fmt: skip
_ASIDE_KEY: Final = "aside"
_RECORD: Final = re.compile(r"\s*[*_]{0,2}(?:[✅✓✔☑🎉⏸❌]|~~|Scenario\b)")
_STEP: Final = re.compile(r"\s*[*_]{0,2}(?:Given|When|Then|And|But)\b")
_FRONT_MATTER: Final = re.compile(r"\A---[ \t]*\r?\n.*?^(?:---|\.\.\.)[ \t]*$", re.DOTALL | re.MULTILINE)
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|[0-9]{1,3}[.)])[ \t]+(?:\[.\][ \t]+)?")
_APART: Final = re.compile(r"\s*(?:#|[-=|: \t]*\Z)")
_LABEL: Final = re.compile(r"\s*(?:\*\*|__)?([^*_:\n]{1,80})(?::(?:\*\*|__)?|(?:\*\*|__)[ ]?:)(?=\s)")
_STEP_WITHIN: Final = 5_000  # characters after one step of a scenario, in which the next is looked for
_NEAR: Final = 150  # characters on each side of a word, in which something counts for it
_AMOUNT: Final = re.compile(r"(?<![\w.-])[0-9]{1,9}(?:[.,][0-9]{1,9})?[ ]?(?:[+%*`(]|[-\u2013][0-9]{1,9}|[^\W\d_])")
_BRACKETS: Final = re.compile(r"\([^()\n]{1,400}\)")
_SENTENCE_END: Final = re.compile(r"[.!?](?=\s|\*|\Z)")
_NEIGHBOUR: Final = re.compile(r"[\w'-]+|/")


class SpecStatement(NamedTuple):
    """A paragraph, an item, a row of a table or a step of a scenario, from `line` on."""

    raw: str
    prose: str  # as long, with blanks for names, code and quotations
    line: int
    section: SpecSection | None
    is_step: bool
    is_aside: bool = False  # it gives a reason, or tells what is done already


def read_statements(ticket: Ticket, rubric: SpecificationRubric) -> list[SpecStatement]:
    """Everything that a ticket states, in the order of its lines; not its labels, headings, code and quotations."""
    text, starts = ticket.text, line_starts(ticket.text)
    keys, asides = [""] * (len(starts) + 1), {fold_words(word) for word in rubric.asides}
    for section in ticket.sections:  # of one inside another the name counts, if it has one
        key = _ASIDE_KEY if fold_words(section.title) in asides else section.key
        if key:
            keys[section.line : section.end + 1] = [key] * (section.end + 1 - section.line)
    statements = list(_steps(ticket, starts, keys))
    front = _FRONT_MATTER.match(text)
    apart = {ticket.line, *(one.line for one in (*statements, *ticket.sections, *ticket.fields.values()))}
    apart |= set(range(1, bisect_right(starts, front.end()) + 1)) if front else set()
    for line, start, prose in _blocks(text, mask_names(text), starts, apart):
        raw, label = text[start : start + len(prose)], _LABEL.match(prose)
        rest = prose[label.end() :] if label else prose
        if keys[line] == "children" or not (fold_words(rest) or "??" in rest):  # titles of others, and bare labels
            continue
        is_aside = keys[line] == _ASIDE_KEY or bool(_RECORD.match(raw) or (label and fold_words(label[1]) in asides))
        section = _SECTION_OF.get(keys[line])
        statements.append(SpecStatement(raw, prose, line, section, bool(_STEP.match(raw)), is_aside))
    return sorted(statements, key=lambda one: one.line)


def _blocks(text: str, masked: str, starts: list[int], apart: set[int]) -> Iterator[tuple[int, int, str]]:
    """The line, the start and the prose of each paragraph, item and row."""
    block_start: tuple[int, int] | None = None
    for line, (start, end) in enumerate(zip(starts, [*starts[1:], len(text)], strict=True), start=1):
        prose, item = masked[start:end], _ITEM.match(text, start, end)
        is_apart = line in apart or _APART.match(prose.rstrip("\r\n")) is not None
        if block_start is not None and (is_apart or item or prose.lstrip().startswith("|")):
            yield *block_start, masked[block_start[1] : start]
            block_start = None
        if block_start is None and not is_apart:
            block_start = (line, item.end() if item else start)
    if block_start is not None:
        yield *block_start, masked[block_start[1] :]


def _steps(ticket: Ticket, starts: list[int], keys: list[str]) -> Iterator[SpecStatement]:
    """The steps of the scenarios. They stand in code, so each is looked for behind the one before."""
    for scenario in ticket.scenarios:
        at = starts[scenario.line - 1]
        for step in scenario.steps:
            body = step.split(maxsplit=1)[-1]
            at = max(at, ticket.text.find(body, at, at + _STEP_WITHIN))
            line = bisect_right(starts, at)
            section = _SECTION_OF.get(keys[line], "bdd_scenarios")
            yield SpecStatement(body, mask_names(body), line, section, is_step=True)


def _vague_words(statement: SpecStatement, rubric: SpecificationRubric) -> Iterator[tuple[SpecRule, int, SpecFix]]:
    """Each term by which a statement leaves something open, once: with its line and what to write."""
    term_ids = set[str]()
    for match in rubric.vague.finditer(statement.prose):
        word = " ".join(match[0].split())
        term = rubric.term_of[word.casefold()]
        is_counted = (term.everywhere or not statement.is_aside) and (not term.exact_case or word in term.words)
        if term.id not in term_ids and is_counted and not _is_disarmed(term, statement, match, rubric):
            term_ids.add(term.id)
            new = term.fix[:1].upper() + term.fix[1:] if match[0].istitle() else term.fix
            is_new = word.casefold() in term.replaces
            fix = SpecFix.of(match[0], new, "rule") if is_new else SpecFix(old=match[0], advice=term.fix)
            yield term, statement.line + len(line_starts(statement.raw[: match.start()])) - 1, fix


def _is_disarmed(term: SpecRule, statement: SpecStatement, match: re.Match[str], rubric: SpecificationRubric) -> bool:
    """Whether something beside the word says what it leaves open, or makes it mean something else."""
    (start, end), prose, raw = match.span(), statement.prose, statement.raw
    low, high = max(0, start - _NEAR), end + _NEAR
    near, before, after = raw[low:high].casefold(), prose[low:start].casefold(), prose[end:high].casefold()
    neighbours = {*_NEIGHBOUR.findall(before)[-1:]} & {*term.unless_after}
    neighbours |= {*_NEIGHBOUR.findall(after)[:1]} & {*term.unless_before}
    if neighbours or any(word in near for word in term.unless_words):
        return True

    def holds(kind: str) -> bool:
        if kind == "name":
            return raw[low:high].split() != prose[low:high].split()
        if kind == "reason":
            sentence = f" {' '.join(_SENTENCE_END.split(before)[-1].split())} "
            return any(f" {word} " in sentence for word in rubric.reasons)
        if kind == "question":
            stop = _SENTENCE_END.search(after)
            return stop is not None and stop[0] == "?"
        if kind == "examples":  # a list around the word, or more words behind it
            around = [one for one in _BRACKETS.finditer(raw, low, high) if one.start() < start < one.end()]
            behind = [one for one in _BRACKETS.finditer(raw, end, high) if one.start() - end < 60]
            return any("," in one[0] for one in around) or any(" " in one[0] for one in behind)
        if kind == "step":
            return statement.is_step
        return (_AMOUNT if kind == "number" else rubric.quantity).search(raw, low, high) is not None

    return any(map(holds, term.unless))


@dataclass(slots=True)
class SpecificationCheck:
    """What was examined of a ticket, in which sections (in all when none is named), and what was found."""

    ticket: Ticket
    rubric: SpecificationRubric
    sections: Sequence[SpecSection]
    statements: list[SpecStatement] = field(default_factory=list[SpecStatement])
    issues: list[SpecIssue] = field(default_factory=list[SpecIssue])
    checks: list[str | None] = field(default_factory=list[str | None])  # the section that each of the rest counts for
    not_judged: list[str] = field(default_factory=list[str])

    def examine(self, deadline: RunDeadline) -> None:
        """Find what the dictionary and the rules can."""
        ticket, rule = self.ticket, self.rubric.failing_path
        every = read_statements(ticket, self.rubric)
        self.statements = [one for one in every if not self.sections or one.section in self.sections]
        for statement in self.statements:
            deadline.check()
            for term, line, fix in _vague_words(statement, self.rubric):
                word = " ".join(fix.old.split())
                self._add(term, line, term=word, context=statement.raw, fix=fix, section=statement.section)
        scenarios = [one for one in ticket.scenarios if one.steps]
        if rule and len(scenarios) > 1 and (not self.sections or "bdd_scenarios" in self.sections):
            self.checks.append("bdd_scenarios")
            said = "\n".join(line for one in scenarios for line in (one.name, *one.steps)).casefold()
            if not any(re.search(rf"(?<!\w){re.escape(word)}", said) for word in rule.words):
                context, fix = f"{len(scenarios)} scenarios: {scenarios[0].name}, …", SpecFix(old="", advice=rule.fix)
                place = {"term": "no failing path", "section": "bdd_scenarios"}
                self._add(rule, scenarios[0].line, context=context, fix=fix, **place)

    def _add(self, rule: SpecRule, line: int, *, context: str, problem: str = "", **said: Any) -> None:
        said |= {"category": rule.category, "severity": rule.severity, "impact": self.rubric.impact[rule.category]}
        said |= {"location": f"{self.ticket.path}:{line}", "context": one_line(context)}
        self.issues.append(SpecIssue(**said, problem=one_line(problem) or rule.problem))

    async def judge(self, report: SkillReport, **asker: Any) -> None:
        """Have a model judge the criteria that the sections are about, and that no rule has found unmet."""
        there, unmet = {one.section for one in self.statements}, {one.category for one in self.issues}
        criteria = {one.id: one for one in self.rubric.criteria if not there.isdisjoint(one.sections)}
        texts = {key: one.text for key, one in criteria.items() if one.category not in unmet}
        judgements = await judge_criteria(texts, self.ticket.text, report, **asker)
        self.not_judged = [key for key in texts if key not in judgements]
        for key, judgement in judgements.items():
            self.checks.append(None)
            if not judgement.is_met:
                line = next(one.line for one in self.statements if one.section in criteria[key].sections)
                self._add(criteria[key], line, term=key, context=judgement.quotation, problem=judgement.reason)

    def fill(self, report: SkillReport) -> None:
        """Say all of it."""
        formula, ticket = self.rubric.formula, self.ticket
        issues = sorted(self.issues, key=lambda one: -formula.penalties[one.severity])
        by_section = Counter([*(one.section for one in self.statements), *self.checks])
        checkpoints = by_section.total()
        score = formula.score(issues, checkpoints)
        level = next((level for level, least in formula.bands.items() if score >= least), "not_ready")
        report.source, name = f"{ticket.path}:{ticket.line}", code(ticket.ticket_id or ticket.path)
        counts = f"{plural(len(issues), 'issue')} in {plural(checkpoints, 'checkpoint')}"
        report.add("score", f"{name} scores {score} of 100 ({level.replace('_', ' ')}): {counts}.")
        advice = [f"Write the {one.replace('_', ' ')}: there is none." for one in self.sections if not by_section[one]]
        for line in advice:
            report.add("missing section", line)
        for one in issues[:_MOST_SENTENCES]:
            report.add(one.category.replace("_", " "), f"{code(one.term)}: {quote(one.problem)}", source=one.location)
        rows = [(one.location, one.severity, one.category, one.term, one.problem) for one in issues]
        report.add_table("What it leaves open", ("place", "severity", "category", "term", "problem"), rows)
        if len(issues) > _MOST_ISSUES:
            report.note(f"`issues` lists the first {_MOST_ISSUES} of {len(issues):,}.")
        report.add_subjects([ticket.ticket_id])
        by_category, first = Counter(one.category for one in issues), {one.category: one for one in reversed(issues)}
        for key, count in by_category.most_common():
            place = f"{plural(count, 'issue')}, the first at {first[key].location}"
            advice.append(f"Mend {key.replace('_', ' ')}: {place}.")
        report.figures = {
            "ticket_id": ticket.ticket_id, "quality_score": score, "quality_level": level,
            "agent_ready": level == "agent_ready", "issues": [one.to_json() for one in issues[:_MOST_ISSUES]],
            "section_scores": {
                key: formula.score((one for one in issues if one.section == key), count)
                for key, count in by_section.items() if key
            },
            "summary": {"total_issues": len(issues), "by_category": dict(by_category),
                        "by_severity": dict(Counter(one.severity for one in issues))},
            "recommendations": advice, "rubric": self.rubric.name.to_json(), "not_judged": self.not_judged,
            "formula": {"id": formula.id, "text": formula.text, "checkpoints": checkpoints},
        }  # fmt: skip
        words = [word.casefold() for one in self.statements for word in _WORD.findall(one.prose)]
        known_words = sum(map(set(self.rubric.language_words).__contains__, words))
        if len(words) >= _LEAST_WORDS and known_words < _LEAST_SHARE * len(words):
            message = f"The dictionary is {self.rubric.language}, and the ticket is not."
            impact = "Vague words of its language are not found, so its score is too high."
            recovery = f"Write a rubric in its language: `.retinue/rubrics/{self.rubric.id}.toml`."
            report.warn("degraded_analysis", message, impact=impact, recovery=recovery)
