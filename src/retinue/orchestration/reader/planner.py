"""The reader by rules: a person's goal becomes a plan of calls, with no model and nothing invented.

The goal is cut into clauses, each is ranked among the skills there are, and the first skill that can be called with its
words is: all it must have is bound, and no word that tells something is left over. Else nobody is called, and the plan
says what was understood and what would work. The plan is run by `executor`.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Final

from retinue.contract.definition import Definition, Skill
from retinue.contract.json import as_list
from retinue.contract.plan import Binding, Candidate, Delegation, Dropped, Plan
from retinue.errors import InvalidInput
from retinue.orchestration.planning import by_name
from retinue.orchestration.reader.bind import BoundParameters, bind
from retinue.orchestration.reader.parameters import (
    EMPTY_ENVIRONMENT,
    Parameter,
    ReaderEnvironment,
    accepts_free_text,
    parameters_of,
)
from retinue.orchestration.reader.router import THRESHOLD, THRESHOLD_WITHOUT_EXAMPLES, Embedder, Router, strip_values
from retinue.orchestration.reader.tables import accepts_query, example_questions, is_data_file
from retinue.orchestration.reader.text_tokens import (
    FUNCTION_STEMS,
    NEGATIONS,
    Clause,
    back_reference,
    content_words,
    is_generic,
    join_pieces,
    split_clause,
    split_sentences,
    strip_courtesy,
    word_set,
    word_tokens,
)

GOAL_CHARS: Final = 10_000
"""The longest goal that is read. What is longer belongs into a file that the goal names."""

_NAME_BONUS: Final = 1.0
"""What it adds to a score, in standard deviations, that a word of the clause is a name among the facts of a skill"""
_MAX_CLAUSES: Final = 50
_MAX_PIECES: Final = 12
_MAX_CANDIDATES: Final = 8
_REFUSAL: Final = {"reason": "The goal says not to.", "nearest": (), "wanted": False}
_MAX_ALTERNATIVES: Final = 3
_EXAMPLE_VALUE: Final = re.compile(r"`[^`]+`")
_REQUEST_WORDS: Final = word_set("what who how where when which why is are was were do does did can give tell get take")
_PERSONS: Final = word_set("he him his she her")
_DETERMINERS: Final = word_set("a an the me us my our your this that these those all some any every")


def check_goal(goal: str) -> str:
    """`goal` without space around it.

    Raises:
        InvalidInput: It is empty, longer than `GOAL_CHARS`, no Unicode, or holds control characters.
    """
    stripped = goal.strip()
    if not stripped:
        raise InvalidInput("The goal is empty.", hint="Say what you want to know or have done.", path="/goal")
    if len(stripped) > GOAL_CHARS:
        raise InvalidInput(
            f"The goal has {len(stripped):,} characters; {GOAL_CHARS:,} are read.",
            hint="Put the long part into a file of the workspace and name the file in the goal.",
            path="/goal",
        )
    for place, character in enumerate(stripped):
        if "\ud800" <= character <= "\udfff":
            raise InvalidInput(
                f"The goal is not valid Unicode at position {place}: {character!r}.",
                hint="Write it in UTF-8; in a terminal, set a UTF-8 locale such as `LC_ALL=C.UTF-8`.",
                path="/goal",
            )
        if (character < " " and character not in "\t\n\r") or character == "\x7f":
            raise InvalidInput(
                f"The goal holds the control character {character!r} at position {place}.",
                hint="Remove it; only tabs and line ends may stand beside printable characters.",
                path="/goal",
            )
    return stripped


@dataclass(frozen=True, slots=True)
class ClauseCall:
    """One clause as a call; or why nobody is called.

    Attributes:
        instruction: The clause without courtesies.
        chosen: Who is called; None when nobody is.
        others: Who else could be called with these words.
        reason: Why nobody is called, in words a person can judge.
        nearest: Who came nearest.
        unknown_words: Words that keep the nearest from being called.
        needs_previous: It needs what the request before it brings.
    """

    clause: Clause
    instruction: str
    chosen: Candidate | None = None
    bound: BoundParameters = field(default_factory=BoundParameters)
    others: tuple[Candidate, ...] = ()
    reason: str = ""
    unknown_words: tuple[str, ...] = ()
    nearest: tuple[Candidate, ...] = ()
    needs_previous: bool = False

    @property
    def dropped(self) -> Dropped:
        """The clause as what the plan leaves out."""
        return Dropped(clause=self.clause.text[:500], reason=self.reason, nearest=self.nearest)


class Planner:
    """Plans goals for the agents of one registry.

    Args:
        definitions: The agents; of two majors side by side the first answers to the bare name.
        threshold: The share of a clause that whoever takes any text must know; `router` has the usual one.
        likeness: Ranks skills by meaning as well, such as `retinue.SentenceEmbedder`.
    """

    def __init__(
        self,
        definitions: Iterable[Definition],
        *,
        threshold: float | None = None,
        likeness: Embedder | None = None,
    ) -> None:
        self.router = Router(by_name(definitions).values(), threshold=threshold, likeness=likeness)
        self._opening_words = [_opening_words(skill) for _, skill in self.router.skills]
        self._all_opening_words = _REQUEST_WORDS | (frozenset[str]().union(*self._opening_words) - FUNCTION_STEMS)
        self._parameters: dict[int, tuple[Parameter, ...]] = {}
        self._reads_tables = any(accepts_query(skill) for _, skill in self.router.skills)

    def plan(self, goal: str, *, environment: ReaderEnvironment = EMPTY_ENVIRONMENT) -> Plan:
        """A plan for `goal`: empty, with everything dropped, when nobody here can do any of it.

        Empty with nothing dropped when it asks for nothing ("thanks!").

        Raises:
            InvalidInput: The goal is empty, too long, or holds control characters.
        """
        text = check_goal(goal)
        if not any(character.isalnum() for character in text):
            return Plan(goal=text, dropped=(Dropped(clause=text, reason="There is no word in it."),))
        requests: list[ClauseCall] = []
        for sentence in split_sentences(text):
            if content_words(sentence.text) or not sentence.text.isascii():
                requests += self._split_sentence(sentence, requests, environment)
        refused = [one.dropped.model_copy(update=_REFUSAL) for one in requests if _is_refusal(one.clause.text)]
        requests = [one for one in requests if not _is_refusal(one.clause.text)]
        nodes = self._nodes(requests[:_MAX_CLAUSES])
        left_out = [one.dropped for one in requests[:_MAX_CLAUSES] if not one.chosen]
        reason = f"Only the first {_MAX_CLAUSES} requests of a goal are planned."
        beyond = [one.dropped.model_copy(update={"reason": reason}) for one in requests[_MAX_CLAUSES:]]
        return Plan(goal=text, nodes=nodes, dropped=(*left_out, *refused, *beyond))

    def read(
        self,
        clause: Clause,
        environment: ReaderEnvironment,
        *,
        before: ClauseCall | None = None,
        allows: Callable[[Definition, Skill], bool] | None = None,
    ) -> ClauseCall:
        """`clause` as a call.

        Args:
            clause: What is asked, of one agent.
            environment: What is known beside the words.
            before: The call that an "it" may refer to.
            allows: Which skills may be called at all; all, unless said.
        """
        instruction = strip_courtesy(clause.text)
        routing = self.router.route(instruction, limit=_MAX_CANDIDATES, allows=allows)
        candidates = list(routing.candidates)
        if environment.facts is not None:  # what a table is called and holds, its skills do not say
            of_tables = self.router.route(
                instruction,
                limit=_MAX_CANDIDATES,
                allows=(
                    lambda definition, skill: accepts_query(skill) and (allows is None or allows(definition, skill))
                ),
            ).candidates
            candidates += [one for one in of_tables if one not in candidates]
        readings = [self._read_as(one, instruction, environment, before) for one in candidates]
        readings.sort(key=lambda one: (one.candidate.share < 1, -one.score))  # an example, word for word, comes first
        fitting_readings = [one for one in readings if one.fits]
        if fitting_readings and not fitting_readings[0].fits_better_than(readings[0]):
            fitting_readings = []
        last = before.chosen.skill if before is not None and before.chosen else None
        has_reference = back_reference(instruction) is not None

        def sort_key(one: _SkillReading) -> tuple[bool, ...]:
            is_exact = not self._accepts_free_text(one.candidate)
            is_again = has_reference and one.candidate.skill == last and is_exact
            # Who can be told every word comes before who takes any text, if it knows as much of it.
            is_surer = is_exact and one.candidate.share >= fitting_readings[0].candidate.share
            # Far behind the best of those that fit, a skill is no rival, however exactly it can be told.
            is_weak = not one.is_whole and one.candidate.share < THRESHOLD * fitting_readings[0].candidate.share
            return is_weak, one.needs_answer, not one.is_whole, not is_again, not is_surer

        fitting_readings = sorted(fitting_readings, key=sort_key)
        if not fitting_readings:
            reason = readings[0].objection if readings else routing.reason
            unknown = readings[0].unknown_words if readings else ()
            nearest: list[Candidate] = []
            for candidate in (one.candidate for one in readings[:3]):
                example = next(self._examples(candidate, environment), "")
                capability = f"can be asked “{example}”"
                if example and not nearest:
                    reason = f"{reason} It {capability}."
                update = {"reason": f"{candidate.reason}; {capability}"} if example else {}
                nearest.append(candidate.model_copy(update=update))
            return ClauseCall(clause, instruction, reason=reason, nearest=tuple(nearest), unknown_words=unknown)
        chosen, *others = fitting_readings
        return ClauseCall(
            clause,
            instruction,
            chosen.candidate,
            chosen.bound,
            tuple(one.candidate for one in others if not one.needs_answer)[:_MAX_ALTERNATIVES],
            needs_previous=clause.follows or bool(chosen.reference),
        )

    def _read_as(
        self, candidate: Candidate, text: str, environment: ReaderEnvironment, before: ClauseCall | None
    ) -> "_SkillReading":
        """How `text` would be put to one skill."""
        index = self.router.index_of(candidate)
        skill = self._skill(candidate)
        if index not in self._parameters:
            self._parameters[index] = parameters_of(skill.input_schema)
        parameters = self._parameters[index]
        if mismatch := self._scope_objection(candidate, text):
            return _SkillReading(candidate, BoundParameters(), candidate.score, objection=mismatch)
        reference = back_reference(text) if before is not None else None
        antecedents: tuple[Binding, ...] = ()
        pronoun_targets: list[str] = []
        if before is not None and reference:
            antecedents = _antecedent_bindings(before, candidate, skill, parameters, environment)
            if not self._accepts_free_text(candidate):
                # Whose value the "it" or the "she" of the clause may be; a "them" may be anything.
                is_person, is_thing = reference.lower() in _PERSONS, reference.lower() in {"it", "its"}
                pronoun_targets = [
                    one.name
                    for one in parameters
                    if one.facts
                    and NEGATIONS.isdisjoint(one.words)
                    and (is_person if one.facts == "author" else is_thing)
                ]
        if reference and reference.lower() in _PERSONS and "it" not in text.lower().split():
            antecedents = tuple(one for one in antecedents if one.parameter in pronoun_targets)
        bind_text = partial(
            bind, skill, text, agent=candidate.agent, before=antecedents, environment=environment, parameters=parameters
        )
        bound = bind_text()
        # A query to a table is read anew: what it takes over is the same value, in other words.
        is_known = any(one.value == bound.parameters.get(one.parameter) for one in antecedents)
        spoken_names = {one.parameter for one in bound.bindings if one.how == "said"}
        if pronoun_targets and not (
            bound.missing or pronoun_targets[0] in spoken_names or (is_known and str(reference).lower() not in _PERSONS)
        ):
            bound, is_known = bind_text(ask_for=pronoun_targets[:1]), False
        value_count = len(content_words(text)) - len(content_words(f"{bound.rest} {bound.guesses}"))
        result = _SkillReading(
            candidate,
            bound,
            candidate.score + _NAME_BONUS * value_count,
            is_whole=accepts_query(skill) and not bound.rest,
            reference=reference if reference is not None and not is_known else "",
        )
        result = replace(result, unknown_words=tuple(self.router.unknown_words(bound.rest, index)))
        objection = self._objection(result, skill, {one.name: one for one in parameters})
        return replace(result, fits=not objection, objection=objection)

    def _objection(self, reading: "_SkillReading", skill: Skill, parameters: Mapping[str, Parameter]) -> str:
        """What keeps a skill from being called like this; empty when nothing does."""
        name = f"`{reading.candidate.agent}.{reading.candidate.skill}`"
        missing = reading.bound.missing
        targets = [parameters.get(one) for one in missing]
        # Whether what another request brings may be a value for all that is missing.
        is_supplied_later = bool(reading.reference) and all(
            one is not None and ((one.items or one).is_free_text or bool(one.facts)) for one in targets
        )
        if missing and not is_supplied_later and (reading.unknown_words or reading.reference):
            return f"The nearest, {name}, needs {', '.join(f'`{one}`' for one in missing)}, and nothing says it."
        if self._accepts_free_text(reading.candidate):
            # A file of data, read for a parameter that takes a path, is for a skill that reads tables if there is one.
            for one in reading.values if self._reads_tables and not accepts_query(skill) else ():
                parameter = parameters.get(one.parameter)
                if parameter is not None and (parameter.items or parameter).facts == "path":
                    paths = map(str, as_list(one.value) or [one.value])
                    data = next(filter(is_data_file, paths), "")
                    return f"`{data}` is data, which {name} does not read." if data else ""
            return ""
        if accepts_query(skill) and any(one.parameter == "files" and "." in one.words for one in reading.values):
            return ""
        if reading.unknown_words:
            words = ", ".join(map(repr, dict.fromkeys(reading.unknown_words[:3])))
            return f"The nearest, {name}, cannot be told of {words}."
        if reading.reference and not missing:
            return f"What “{reading.reference}” is, {name} cannot be told before another has answered."
        return ""

    def _scope_objection(self, candidate: Candidate, text: str) -> str:
        """What speaks against putting `text` to a skill that changes things, or that may be told any text."""
        name, index = f"`{candidate.agent}.{candidate.skill}`", self.router.index_of(candidate)
        # It orders something in a word with which no example of the skill begins: "order me a pizza".
        first, second, *_ = [*text.lower().split(), "", ""]
        is_command = first.isalpha() and second in _DETERMINERS and not is_generic(first) and bool(content_words(first))
        is_unknown_command = (
            is_command
            and bool(self.router.skills[index][1].examples)
            and word_tokens(first)[0] not in self._opening_words[index]
        )
        if not self._accepts_free_text(candidate) and not is_unknown_command:
            skill, is_order = self._skill(candidate), not self._opening_words[index].isdisjoint(word_tokens(text))
            is_change = "write" in (skill.effects or ()) and skill.examples and not is_order
            return f"The nearest, {name}, changes things, and nothing says to." if is_change else ""
        if is_unknown_command:
            return f"No agent here says that it can `{first}` anything."
        if candidate.share < (threshold := self.router.threshold(index)):
            return f"The nearest, {name}, knows {candidate.share:.2f} of it where {threshold:.2f} is needed."
        if not self.router.is_on_topic(text, index):
            return f"The nearest, {name}, is about something else."
        return ""

    def _split_sentence(
        self, sentence: Clause, before: Sequence[ClauseCall], environment: ReaderEnvironment
    ) -> list[ClauseCall]:
        """The requests in one sentence: cut where both sides are requests that somebody can do."""
        parts = split_clause(sentence)
        calls: list[ClauseCall] = []

        def read_piece(clause: Clause) -> ClauseCall:
            previous = next((one for one in reversed([*before, *calls]) if one.chosen), None)
            return self.read(clause, environment, before=previous)

        if len(parts) > _MAX_PIECES or not parts:
            return [read_piece(sentence)]
        current = parts[0]
        request = read_piece(current)
        for part in parts[1:]:
            calls.append(request)  # for this reading only: an "it" of the next piece may mean what this one names
            following = read_piece(part)
            calls.pop()
            if self._are_separate(request, following, join_pieces(sentence, current, part)):
                if content_words(current.text):
                    calls.append(request)
                current, request = part, following
            else:
                current = join_pieces(sentence, current, part)
                request = read_piece(current)
        calls.append(request)
        if not any(one.chosen for one in calls) and not any(NEGATIONS.intersection(part.words[:1]) for part in parts):
            singly = [read_piece(part) for part in parts]  # nobody does all of it: perhaps somebody does a part
            chosen = [one for one in singly if one.chosen]
            calls = singly if chosen and all(map(self._starts_request, chosen)) else calls
        return [one for one in calls if content_words(one.clause.text) or len(calls) == 1]

    def _starts_request(self, request: ClauseCall) -> bool:
        """Whether it begins as requests do, and says what about."""
        words = word_tokens(request.instruction)
        if len(words) < 2 or words[0] not in self._all_opening_words:
            return False
        object_words = content_words(request.instruction.partition(" ")[2])
        return any(not (is_generic(word) or word.isdecimal()) for word in object_words)

    def _are_separate(self, first: ClauseCall, second: ClauseCall, whole: Clause) -> bool:
        """Whether two neighbouring pieces of a sentence are two requests."""
        if _is_refusal(first.clause.text) or _is_refusal(second.clause.text):
            return True
        if NEGATIONS.intersection(second.clause.words[:1]):  # "but not by Ada" says more of the one before
            return False
        if self._starts_request(first) and self._starts_request(second) and (first.chosen or second.chosen):
            return True
        if first.chosen is None or second.chosen is None or first.chosen.agent == second.chosen.agent:
            return False
        together = self.router.route(strip_courtesy(whole.text), limit=1).candidates[0].share
        says_enough = min(len(content_words(strip_values(one.instruction))) for one in (first, second)) > 1
        return says_enough and max(first.chosen.share, second.chosen.share) >= together

    def _nodes(self, requests: Iterable[ClauseCall]) -> tuple[Delegation, ...]:
        nodes: list[Delegation] = []
        same: dict[str, int] = {}
        for request in requests:
            needs = (nodes[-1].id,) if request.needs_previous and nodes else ()
            chosen = request.chosen
            if chosen is None:  # only requests that somebody does become nodes
                continue
            node = Delegation(
                id=f"n{len(nodes) + 1}",
                agent=chosen.agent,
                skill=chosen.skill,
                instruction=request.instruction,
                parameters=request.bound.parameters,
                needs=needs,
                alternatives=request.others,
                chosen=chosen,
                bindings=request.bound.bindings,
                questions=request.bound.questions,
            )
            # What makes two requests the same; the order of parameters and the case of an instruction do not.
            instruction_field = self._skill(chosen).instruction_field
            parameters = dict(node.parameters)
            if instruction_field and isinstance(text := parameters.get(instruction_field), str):
                parameters[instruction_field] = " ".join(text.lower().rstrip(".?! ").split())
            key = json.dumps([node.agent, node.skill, node.needs, parameters], sort_keys=True, default=str)
            if key in same:
                first = nodes[same[key]]
                if node.instruction.lower() not in first.instruction.lower():
                    words = f"{first.instruction} {node.instruction}"
                    nodes[same[key]] = first.model_copy(update={"instruction": words})
                continue
            same[key] = len(nodes)
            nodes.append(node)
        return tuple(nodes)

    def _accepts_free_text(self, candidate: Candidate) -> bool:
        """Whether a skill may be told any words: by its schema, or since its agent is told all words as they are."""
        definition, skill = self.router.skills[self.router.index_of(candidate)]
        return accepts_free_text(skill) or _accepts_raw_words(definition, skill)

    def _skill(self, candidate: Candidate) -> Skill:
        return self.router.skills[self.router.index_of(candidate)][1]

    def _examples(self, candidate: Candidate, environment: ReaderEnvironment) -> Iterator[str]:
        """Examples of a skill whose names are there; else one with names that are."""
        skill = self._skill(candidate)
        facts = environment.facts_of(candidate.agent, candidate.skill)
        if accepts_query(skill) and facts is not None and facts.tables:
            table = facts.tables[0]
            yield from (f"{one} in {table.path}" for one in example_questions(table))
        names = [several[0] for several in (facts.names.values() if facts else ()) if several]
        paths = list(environment.find("readme"))[:1] if environment.find else []
        place = self.router.index_of(candidate)
        for example in skill.examples:
            # Its own value gives way to one that is there: a path to a path, else to each of the names.
            values = _EXAMPLE_VALUE.findall(example)
            replacements = paths if values and re.search(r"[./]", values[0]) else names
            requests = [example.replace(values[0], f"`{one}`") for one in replacements] if len(values) == 1 else []
            for request in requests if values else [example]:
                bound = bind(skill, request, agent=candidate.agent, environment=environment)
                if not (bound.questions or self.router.unknown_words(bound.rest, place)):
                    yield request
        if names:
            yield f"{skill.name.replace('_', ' ')} {names[0]}"


def read_words(
    definition: Definition,
    words: str,
    environment: ReaderEnvironment,
    *,
    skill: str | None = None,
    likeness: Embedder | None = None,
) -> ClauseCall:
    """What `words` ask of one agent: the call, or why it cannot be made.

    Args:
        definition: The agent.
        words: What it is asked.
        environment: What is known beside the words.
        skill: Which of its skills is meant, when the caller said so.
        likeness: Ranks its skills by meaning as well.
    """

    def is_selected(_definition: Definition, one: Skill) -> bool:
        return skill is None or one.name == skill

    # Whoever names the agent has said who is meant; which of its skills, a weak sign is enough for.
    planner = Planner([definition], threshold=THRESHOLD_WITHOUT_EXAMPLES / 2, likeness=None if skill else likeness)
    call = planner.read(Clause(words), environment, allows=is_selected)
    if call.chosen is not None:
        return call
    nearest = planner.router.route(words, limit=1, allows=is_selected).candidates
    nearest_skill = definition.skill(nearest[0].skill) if nearest and (skill or len(definition.skills) == 1) else None
    # Who is asked for a table by name reads the question against it, and says which of its words name nothing.
    if nearest_skill is None:
        return call
    facts = environment.facts_of(definition.name, nearest_skill.name)
    if not (_accepts_raw_words(definition, nearest_skill) or (facts is not None and facts.tables)):
        return call
    return replace(
        call,
        chosen=nearest[0],
        bound=bind(nearest_skill, words, agent=definition.name, environment=environment),
        unknown_words=(),
    )


def _accepts_raw_words(definition: Definition, skill: Skill) -> bool:
    """Whether a skill is told words as they are: it is a prompt, speaks a dialect of its own, or asks a model."""
    return bool(definition.instructions or definition.dialect or skill.thinks in ("must", "by_others"))


@dataclass(frozen=True, slots=True)
class _SkillReading:
    """How a clause would be put to one skill.

    Attributes:
        is_whole: Every word of it is a name or a value of one table.
        fits: The skill can be called like this.
        reference: What it says of something that only the request before brings: "it".
        objection: Why it does not fit.
        unknown_words: The words that keep it from fitting.
    """

    candidate: Candidate
    bound: BoundParameters
    score: float
    is_whole: bool = False
    fits: bool = False
    reference: str = ""
    objection: str = ""
    unknown_words: tuple[str, ...] = ()

    @property
    def needs_answer(self) -> bool:
        """Whether a person has to say something first."""
        return bool(self.bound.questions) and not self.reference

    def fits_better_than(self, best: "_SkillReading") -> bool:
        """Whether it may be called in place of the one that came first; not when that only misses a fact."""
        return (
            not best.unknown_words
            or best.needs_answer
            or best.candidate.share < THRESHOLD
            or best.score - self.score < _NAME_BONUS
        )

    @property
    def values(self) -> list[Binding]:
        """What was read from the words."""
        return [one for one in self.bound.bindings if one.how == "said"]


def _is_refusal(text: str) -> bool:
    """Whether `text` says what is not to be done: "don't list any commits"."""
    words = strip_courtesy(text).lower().replace("\u2019", "'").split(maxsplit=2)
    return bool(words) and (words[0] in {"don't", "dont", "never"} or words[:2] == ["do", "not"])


def _opening_words(skill: Skill) -> frozenset[str]:
    """The words with which requests to a skill begin, by its own examples, name and description."""
    texts = (skill.description, skill.name.replace("_", " "), *map(strip_courtesy, skill.examples))
    return frozenset(tokens[0] for text in texts if (tokens := word_tokens(text)))


def _antecedent_bindings(
    before: ClauseCall,
    candidate: Candidate,
    skill: Skill,
    parameters: Sequence[Parameter],
    environment: ReaderEnvironment,
) -> tuple[Binding, ...]:
    """What the request before names, for a skill that speaks of "it"; of another skill only files and names."""
    bound = bind(skill, before.instruction, agent=candidate.agent, environment=environment, parameters=parameters)
    is_same = before.chosen is not None and before.chosen.skill == candidate.skill
    kinds = {one.name for one in parameters if one.facts or (is_same and one.accepts_dates)}
    return tuple(one for one in bound.bindings if one.how == "said" and one.parameter in kinds)
