"""The interview as a state: what was said, in order; all else follows from that and the rubric. It asks nobody."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Annotated, Any, Final, Literal, Self

from pydantic import Field, ValidationError, model_validator

from retinue.catalogue._prose import one_line
from retinue.catalogue.tickets import Rubric, RubricName, TicketScenario, mask_names
from retinue.catalogue.tickets.gherkin_blocks import GherkinBlock, read_scenarios
from retinue.catalogue.tickets.vocabulary import fold_words
from retinue.contract.finding import findings_of, summarise_findings
from retinue.contract.model import Many, Model
from retinue.contract.sanitize import clean_content, printable
from retinue.contract.task import Question
from retinue.errors import InvalidInput

from .parameters import MAX_ANSWER, AnswerEntry, CapturedAnswers, InterviewCompleteness, MissingAnswer

CONFIRM: Final = "confirm"
CHOICES: Final = ("right", "back", "stop")
NONE: Final = "none"
WORDS: Final = frozenset({"skip", "back", "stop"})
NUMBER: Final = re.compile(r"(?<![\w.,])[0-9]{1,6}(?:[.,][0-9]{1,3})?(?!\w)")
_MAX_ALL: Final = 180_000  # characters of all answers: more than an interview takes, and any door lets it through
_BULLET: Final = re.compile(r"\s*+(?:(?:[-*+•]|[0-9]{1,3}[.)])\s++)?(?:\[[ xX]?\]\s++)?")
_SCHEMA: Final = {"type": "string", "maxLength": MAX_ANSWER}

_Id = Annotated[str, Field(pattern=r"^[a-z][a-z0-9_]*$", max_length=50)]
_Text = Annotated[str, Field(min_length=1, max_length=1000)]
_Name = Annotated[str, Field(max_length=100)]


class InterviewQuestion(Model):
    """A question of a rubric; what its members mean stands in `requirements-initiative.toml`."""

    id: _Id
    phase: Literal["intro", "questions", "completeness"]
    text: _Text
    fills: Literal[
        "core", "acceptance_criteria", "bdd_scenarios", "children", "technical_design", "dependencies", "risks"
    ] = "core"
    form: Literal["text", "line", "list", "number", "scenarios"] = "text"
    heading: _Name = ""
    section: _Name = ""
    part: _Name = ""
    lead: _Name = ""
    field: Literal["", "points", "estimate"] = ""
    none: bool = False
    min_words: int = 1
    number: bool = False
    probe: Annotated[str, Field(max_length=1000)] = ""


class InterviewCriterion(Model):
    """What makes the ticket complete: answers to `questions`, each with at least so many entries."""

    id: _Id
    text: _Text
    questions: Annotated[Many[str], Field(min_length=1)]
    at_least: int = 1


class InterviewRubric(Rubric):
    """What is asked, in order, and what makes the ticket complete to at least `target` percent."""

    target: Annotated[int, Field(ge=1, le=100)]
    opening: _Text
    confirm: _Text
    hedges: Many[str]
    questions: Annotated[Many[InterviewQuestion], Field(min_length=1, max_length=60)]
    criteria: Annotated[Many[InterviewCriterion], Field(min_length=1, max_length=60)]

    @cached_property
    def by_id(self) -> Mapping[str, InterviewQuestion]:
        """The questions, in order."""
        return {one.id: one for one in self.questions}

    @model_validator(mode="after")
    def _check_questions(self) -> Self:
        if len({*self.by_id, CONFIRM}) <= len(self.questions) or "title" not in self.by_id:
            raise ValueError(f"the ids of `questions` differ, one is `title`, and none is `{CONFIRM}`")
        unknown = [name for one in self.criteria for name in one.questions if name not in self.by_id]
        if unknown:
            raise ValueError(f"a criterion names {unknown[0]!r}, which is no question")
        return self


class InterviewState(Model):
    """An interview as a caller keeps it."""

    form: Literal["retinue-interview/1"]
    rubric: RubricName
    target: Annotated[str, Field(max_length=400)]
    entries: Annotated[Many[AnswerEntry], Field(max_length=1000)]


@dataclass(slots=True)
class Interview:
    """What was said so far, and what follows from it."""

    rubric: InterviewRubric
    target: str
    entries: list[AnswerEntry] = field(default_factory=list[AnswerEntry])
    answers: dict[str, AnswerEntry] = field(default_factory=dict[str, AnswerEntry])
    pending: dict[str, AnswerEntry] = field(default_factory=dict[str, AnswerEntry])  # what has to be said anew
    chosen: str = ""  # the question that the person wants to answer anew
    confirmed_at: int = 0  # how many entries there were when the person said that they are right; 0 before
    is_stopped: bool = False

    @classmethod
    def from_state(cls, text: str, rubric: InterviewRubric, target: str) -> Self:
        """The interview that `state_text` made `text` of; a new one when it is empty.

        Raises:
            InvalidInput: It is no such text, or that of another interview.
        """
        interview = cls(rubric, target)
        if not text:
            return interview
        hint = "Give `state` back as it was in the last result, with the same `target`; or begin anew without it."
        try:
            state = InterviewState.model_validate_json(text)
        except ValidationError as error:
            why = summarise_findings(findings_of(error, rule="state")).rstrip(".")
            raise InvalidInput(f"`state` is not that of an interview: {why}.", hint=hint, path="/state") from None
        its, own = ((one.id, one.version, goal) for one, goal in ((state.rubric, state.target), (rubric, target)))
        if its != own:
            message = f"`state` is that of {' '.join(its)!r}, and this interview is {' '.join(own)!r}."
            hint = f"{hint} What was said stands in it, and can be given as `answers`."
            raise InvalidInput(message, hint=hint, path="/state")
        for entry in state.entries:
            by_rules = interview.judge(entry.question, entry.text)
            if by_rules.text == "back" or (by_rules.fault == "wrong" and entry.question not in rubric.by_id):
                raise InvalidInput(f"`state` answers {entry.question!r} as nobody can.", hint=hint, path="/state")
            interview.add(by_rules if by_rules.fault == "wrong" else entry)
        return interview

    def state_text(self) -> str:
        """All of it as text, to go on from."""
        name, entries = self.rubric.name, tuple(self.entries)
        state = InterviewState(form="retinue-interview/1", rubric=name, target=self.target, entries=entries)
        return state.model_dump_json(exclude_defaults=True)

    # What is said.

    def judge(self, name: str, text: str) -> AnswerEntry:
        """What `text` is as an answer, by rules: a word of the interview, good, vague, or not to be taken."""
        question = self.rubric.by_id.get(name)
        fault: Literal["vague", "wrong"] = "wrong"
        try:
            text = clean_content(text, max_length=MAX_ANSWER).strip()
            size = len(text) + sum(len(one.text) for one in self.entries)
            why = "The answers are too long together." if size > _MAX_ALL else ""
        except InvalidInput as error:
            why = error.message
        word = text.casefold()
        if why:
            text, why = "", f"{why} Shorten this one, or `stop`."
        elif question is None:
            text, is_choice = word, name == CONFIRM and word in {*CHOICES, *self.rubric.by_id}
            why = "" if is_choice else "That is no choice."
        elif word in WORDS or (word == NONE and question.none):
            text = word
        elif question.form == "scenarios":
            scenarios = read_gherkin(text)
            wrong = next((one for one in scenarios if one.problem or not one.steps), None)
            where = f"line {wrong.line}, {one_line(wrong.problem or 'no step')}" if wrong else "it has no scenario"
            if wrong or not scenarios:
                why = f"That is no Gherkin: {where}. Write a line `Scenario: …`, and its steps below it."
        else:
            fault, why = "vague", self._vagueness(question, text)
        return AnswerEntry(question=name[:60], text=text, fault=fault if why else "", why=why)

    def _vagueness(self, question: InterviewQuestion, text: str) -> str:
        """Why the answer says too little; empty when it does not."""
        for entry in entries_of(question, text) or [""]:
            words, excerpt = fold_words(entry), f"“{one_line(entry, limit=60)}”"
            # Some scripts have no space between words: two of their characters count as one.
            if len(words.split()) + sum(character >= "\u3040" for character in words) // 2 < question.min_words:
                return f"{excerpt} is short." if entry else "That is empty."
            if NUMBER.search(entry):
                continue
            if question.number:
                return f"{excerpt} has no number."
            own_words = f" {fold_words(mask_names(entry))} "
            hedge = next((hedge for hedge in self.rubric.hedges if f" {fold_words(hedge)} " in own_words), None)
            if hedge is not None:
                return f"“{hedge}” leaves it open."
        return ""

    def add(self, entry: AnswerEntry) -> None:
        """Take what was said to a question; what is none of the choices is dropped."""
        name, text = entry.question, entry.text
        if name == CONFIRM and entry.fault:
            return
        is_probed = any((one.question, one.fault) == (name, "vague") for one in self.entries)
        self.entries.append(entry)
        self.is_stopped = text == "stop"
        if self.is_stopped:
            return
        if name == CONFIRM:
            self.chosen = "" if text == "right" else text
            self.confirmed_at = 0 if self.chosen else self.confirmed_at or len(self.entries)
            return
        self.pending.pop(name, None)
        self.chosen = "" if self.chosen == name else self.chosen
        if entry.fault != "wrong" and text != "skip":
            self.answers[name] = entry
        if entry.fault == "wrong" or (entry.fault and not is_probed):
            self.pending[name] = entry

    def without_last(self) -> "Interview":
        """The interview before the last entry."""
        earlier = Interview(self.rubric, self.target)
        for entry in self.entries[:-1]:
            earlier.add(entry)
        return earlier

    # What is asked.

    def open_questions(self) -> list[Question]:
        """What is still to be asked, the next first; nothing when all was."""
        completeness, questions = self.completeness(), self.rubric.by_id
        past = {one.question for one in self.entries if one.text != "stop"}
        names = [*self.pending, *filter(None, [self.chosen])]
        if not completeness.target_met:
            names += [name for name, one in questions.items() if one.phase != "completeness" and name not in past]
        if not names and not self.confirmed_at:
            ids = [name for name in questions if name in self.answers]
            lines = [f"- {name}: {one_line(self.answers[name].text, limit=200)}" for name in ids]
            text = "\n".join([self.rubric.confirm, *lines])
            return [Question(id=CONFIRM, text=text, kind="choice", options=(*CHOICES, *ids))]
        if not names:
            again = {one.question for one in self.entries[self.confirmed_at :]}
            names = [one.question for one in completeness.missing if one.question not in again]
            names += [name for name, one in questions.items() if one.phase == "completeness" and name not in past]
        return [self._as_asked(name, completeness.missing) for name in dict.fromkeys(names)]

    def _as_asked(self, name: str, missing: tuple[MissingAnswer, ...]) -> Question:
        question, pending, ids = self.rubric.by_id[name], self.pending.get(name), list(self.rubric.by_id)
        lines = [f"[{ids.index(name) + 1} of {len(ids)}] {question.text}"]
        if not self.entries and name == ids[0]:
            lines.insert(0, self.rubric.opening.strip().replace("{total}", str(len(ids))) + "\n")
        if pending:
            lines = [pending.why, question.probe if pending.fault == "vague" else "", *lines]
            lines.append("The answer takes the place of the one before; `skip` keeps that.")
        elif self.confirmed_at:
            lines = [*(f"It is not complete: {one.reason}" for one in missing if one.question == name), *lines]
        options = (*[NONE] * question.none, "skip", *["back"] * bool(self.entries), "stop")
        options = () if question.form == "number" else options
        return Question(id=name, text="\n".join(filter(None, lines)), options=options, answer_schema=_SCHEMA)

    # What it comes to.

    def completeness(self) -> InterviewCompleteness:
        """How many criteria are met."""
        missing: list[MissingAnswer] = []
        for one in self.rubric.criteria:
            for name in one.questions:
                entry = self.answers.get(name)
                count = len(entries_of(self.rubric.by_id[name], entry.text)) if entry else 0
                if entry is None:
                    reason = f"`{name}` is not answered."
                elif entry.fault:
                    reason = f"`{name}` is vague: {entry.why}"
                elif entry.text != NONE and count < one.at_least:
                    reason = f"`{name}` has {count} of at least {one.at_least} entries."
                else:
                    continue
                missing.append(MissingAnswer(criterion=one.id, description=one.text, question=name, reason=reason))
        total, goal = len(self.rubric.criteria), self.rubric.target
        met = total - len({one.criterion for one in missing})
        share = {"met": met, "total": total, "percent": met * 100 // total, "target": goal}
        return InterviewCompleteness(**share, target_met=met * 100 >= goal * total, missing=tuple(missing))

    def usable_answers(self) -> Iterator[tuple[InterviewQuestion, list[str]]]:
        """The questions that were answered, with the entries of the answers: none where that is `none`."""
        for one in self.rubric.questions:
            if entry := self.answers.get(one.id):
                yield one, [] if entry.text == NONE and one.none else entries_of(one, entry.text)

    def captured(self) -> CapturedAnswers:
        """What was said, by what it is for."""
        members = dict[str, Any](core={}, technical_design={})
        for question, entries in self.usable_answers():
            part = members.setdefault(question.fills, list[Any]())
            if isinstance(part, dict):
                part[question.id] = "\n".join(entries)
            elif question.fills == "bdd_scenarios":
                part += [{"name": one.name, "steps": one.steps} for text in entries for one in read_gherkin(text)]
            else:
                part += entries
        return CapturedAnswers.model_validate(members)


def entries_of(question: InterviewQuestion, text: str) -> list[str]:
    """The entries of an answer: of a list its lines without their bullets, else the whole."""
    if question.form == "list":
        return [entry for line in text.split("\n") if (entry := _BULLET.sub("", line, count=1).strip())]
    return [" ".join(text.split()) if question.form == "line" else text]


def gherkin_rows(text: str) -> list[str]:
    """The lines of an answer in Gherkin, without the fence that somebody may have put around them."""
    rows = [printable(row.expandtabs(4)).rstrip() for row in text.strip().split("\n")]
    return rows[1:-1] if len(rows) > 2 and rows[0].startswith("```") and rows[-1].startswith("```") else rows


def read_gherkin(text: str) -> list[TicketScenario]:
    """The scenarios of an answer, by the numbers of its lines.

    Raises:
        NotInstalled: What reads Gherkin is not there.
    """
    return list(read_scenarios(GherkinBlock(list(enumerate(gherkin_rows(text), 1)), is_fenced=True)))
