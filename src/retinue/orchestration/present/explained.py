"""An explanation (see `explain`) as blocks, to be drawn below the answer it explains. Every word of it is foreign."""

from collections.abc import Iterator
from typing import Final, cast

from retinue.contract.json import dumps
from retinue.contract.model import JsonMapping
from retinue.contract.table import Column, Table
from retinue.orchestration.present.blocks import Block, Heading, Prose, as_code, as_line, as_prose, blocks_of

__all__ = ["all_blocks", "explanation_blocks", "how_bound"]

_ORIGINS: Final = {
    "said": "said",
    "default": "the default of the schema",
    "fallback": "what the skill takes when nothing is said",
    "delegation": "handed on",
    "given": "given",
}
_LONGEST: Final = 120


def all_blocks(data: object) -> tuple[Block, ...]:
    """The blocks of the data of a run's result, its explanation last when it has one."""
    if not isinstance(data, dict):
        return ()
    whole = cast("JsonMapping", data)
    explanation: object = whole.get("explanation")
    if not isinstance(explanation, dict):
        return tuple(blocks_of(whole))
    return (*blocks_of(whole), *explanation_blocks(cast("JsonMapping", explanation)))


def explanation_blocks(explanation: JsonMapping) -> Iterator[Block]:
    """What `explain` gives, in reading order."""
    planning: object = explanation.get("planning")
    if isinstance(planning, dict):
        yield from _of_planning(cast("JsonMapping", planning))
    for clause in _listed(explanation, "clauses"):
        yield from _of_clause(clause)
    confidence: object = explanation.get("confidence")
    if isinstance(confidence, dict):
        sure = cast("JsonMapping", confidence)
        yield Heading("How sure it is")
        yield Prose(f"{str(sure['label']).capitalize()}: {sure['value']:.2f}, by what the agents say of themselves.")
    left_out = [_left_out(one) for one in _listed(explanation, "dropped")]
    if left_out:
        yield Heading("Why something was left out")
        yield Prose("\n".join(left_out))
    decided = [_decided(one) for one in _listed(explanation, "decisions")]
    if decided:
        yield Heading("What was decided on the way")
        yield Prose("\n".join(decided))
    tokens: object = explanation.get("tokens")
    facts = cast("JsonMapping", tokens) if isinstance(tokens, dict) else {}
    full, used = facts.get("full"), facts.get("handed_on")
    if isinstance(full, int) and isinstance(used, int) and full:
        yield Heading("How much of the results was passed on")
        yield Prose(f"{used:,} of {full:,} tokens (counted by {as_code(str(facts.get('counter', '')))}).")


def how_bound(how: str, words: str, *, clause: str = "") -> str:
    """Where a value comes from, in words; `clause` is what all of the words are."""
    if how == "said" and words == clause:
        return "all of it"
    origin = _ORIGINS.get(how, how)
    return f"{origin}: {_cut(words)!r}" if words else origin


def _of_clause(clause: JsonMapping) -> Iterator[Block]:
    agent = ".".join(filter(None, (str(clause["agent"]), str(clause["skill"]))))
    needs = cast("list[str]", clause["needs"])
    after = f", after {', '.join(map(as_code, needs))}" if needs else ""
    yield Heading(
        f"Why {clause['node']}: {_cut(str(clause['clause']))}" if clause["clause"] else f"Why {clause['node']}"
    )
    yield Prose(f"Put to {as_code(agent)}{after}.{_thinking(clause)}")
    considered = [
        (f"{one['agent']}.{one['skill']}", round(float(one["share"]), 2), _because(one))
        for one in _listed(clause, "candidates")
    ]
    if considered:
        columns = (Column(name="considered"), Column(name="fit", kind="number"), Column(name="because"))
        yield Table(columns=columns, rows=tuple(considered))
    bound = [
        (
            str(one["parameter"]),
            _cut(dumps(one["value"])),
            how_bound(str(one["how"]), str(one.get("words", "")), clause=str(clause["clause"])),
        )
        for one in _listed(clause, "parameters")
    ]
    if bound:
        columns = (Column(name="parameter"), Column(name="value"), Column(name="from"))
        yield Table(columns=columns, rows=tuple(bound))
    questions = cast("list[str]", clause["questions"])
    if questions:
        yield Prose("\n".join(f"- to be asked: {as_prose(text)}" for text in questions))


def _of_planning(planning: JsonMapping) -> Iterator[Block]:
    yield Heading("Who made the plan")
    move = as_line(str(planning["move"]).replace("_", " "))
    by = "The rules" if planning["by"] == "rules" else f"A model, {as_code(str(planning.get('model', '')))}: {move}"
    corrected: object = planning.get("corrections")
    times = f" Its draft was sent back {corrected} times." if corrected else ""
    reason = as_prose(str(planning.get("reason", "")))
    yield Prose(f"{by}.{times} {reason}".rstrip())


def _thinking(clause: JsonMapping) -> str:
    """With which model its agent thinks, why, and how hard (A31)."""
    said = ""
    model: object = clause.get("model")
    if isinstance(model, dict):
        facts = cast("JsonMapping", model)
        named = as_code(str(facts.get("model") or facts.get("tier") or ""))
        score = f", score {facts['score']}" if "score" in facts else ""
        points = "; ".join(map(str, cast("list[object]", facts.get("reasons") or [])))
        why = "; ".join(filter(None, (str(facts.get("why", "")), points)))
        said = f" It thinks with {named}{score}{f': {as_prose(why)}' if why else ''}."
    if "thinking" in clause:
        said += f" Thinking mode: {as_line(str(clause['thinking']).replace('_', ' '))}."
    return said


def _because(one: JsonMapping) -> str:
    return "; ".join(filter(None, (str(one.get("reason", "")), str(one["verdict"]))))


def _left_out(one: JsonMapping) -> str:
    near = ", ".join(as_code(f"{each['agent']}.{each['skill']}") for each in _listed(one, "nearest"))
    nearest = f" Nearest: {near}." if near else ""
    return f"- {as_line(_cut(str(one['clause'])))}: {as_prose(str(one['reason']))}{nearest}"


def _decided(one: JsonMapping) -> str:
    node = f"{as_code(str(one['node']))} " if one["node"] else ""
    return f"- {node}{as_line(str(one['move']).replace('_', ' '))}: {as_prose(str(one['reason']))}"


def _listed(data: JsonMapping, name: str) -> list[JsonMapping]:
    return cast("list[JsonMapping]", data.get(name) or [])


def _cut(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _LONGEST else f"{line[:_LONGEST]}…"
