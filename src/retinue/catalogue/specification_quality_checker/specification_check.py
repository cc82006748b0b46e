"""One ticket held against the rubric: its issues, the score that they make, and the report that says so."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from retinue.catalogue._prose import code, one_line, quote
from retinue.catalogue._report import SkillReport, plural
from retinue.catalogue._run_limits import RunDeadline
from retinue.catalogue.tickets import Ticket
from retinue.catalogue.tickets.judgement import judge_criteria
from retinue.llm.models import Models

from .parameters import SpecFix, SpecificationRubric, SpecIssue, SpecRule, SpecSection
from .statements import SpecStatement, read_statements, vague_words

_MOST_ISSUES: Final = 500
_MOST_SENTENCES: Final = 5
_LEAST_WORDS: Final = 40  # of fewer nothing is said about their language
_LEAST_SHARE: Final = 0.12
_WORD: Final = re.compile(r"[^\W\d_]+")


@dataclass(slots=True)
class SpecificationCheck:
    """What was examined of a ticket, in which sections (in all when none is named), and what was found.

    Attributes:
        checks: The section that each check beyond a single statement counts for.
    """

    ticket: Ticket
    rubric: SpecificationRubric
    sections: Sequence[SpecSection]
    statements: list[SpecStatement] = field(default_factory=list[SpecStatement])
    issues: list[SpecIssue] = field(default_factory=list[SpecIssue])
    checks: list[str | None] = field(default_factory=list[str | None])
    not_judged: list[str] = field(default_factory=list[str])

    def examine(self, deadline: RunDeadline) -> None:
        """Find what the dictionary and the rules can."""
        ticket, rule = self.ticket, self.rubric.failing_path
        every = read_statements(ticket, self.rubric)
        self.statements = [one for one in every if not self.sections or one.section in self.sections]
        for statement in self.statements:
            deadline.check()
            for term, line, fix in vague_words(statement, self.rubric):
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

    async def judge(self, report: SkillReport, models: Models | None, **asked: Any) -> None:
        """Have a model judge the criteria that the sections are about, and that no rule has found unmet."""
        there, unmet = {one.section for one in self.statements}, {one.category for one in self.issues}
        criteria = {one.id: one for one in self.rubric.criteria if not there.isdisjoint(one.sections)}
        texts = {key: one.text for key, one in criteria.items() if one.category not in unmet}
        judgements = await judge_criteria(texts, self.ticket.text, report, models=models, **asked)
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
        advice += [
            f"Mend {key.replace('_', ' ')}: {plural(count, 'issue')}, the first at {first[key].location}."
            for key, count in by_category.most_common()
        ]
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
            report.warn(
                "degraded_analysis",
                f"The dictionary is {self.rubric.language}, and the ticket is not.",
                impact="Vague words of its language are not found, so its score is too high.",
                recovery=f"Write a rubric in its language: `.retinue/rubrics/{self.rubric.id}.toml`.",
            )
