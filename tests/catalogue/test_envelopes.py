"""What our agents of spec 003 own of an answer: the `result` of each operation, and nothing of the envelope (K22)."""

import json

import pytest

from retinue.catalogue import agents
from retinue.contract import schema
from retinue.contract.definition import Definition, Skill
from retinue.contract.result import Result
from retinue.dialects import markdown_json

OPERATIONS = [
    pytest.param(agent.definition, skill, id=f"{agent.definition.name}/{skill.name}")
    for agent in agents()
    if agent.definition.name in {"git_state_analyzer", "pattern_discovery", "specification_quality_checker"}
    for skill in agent.definition.skills
    if not skill.unavailable
]


def test_there_are_operations() -> None:
    assert len(OPERATIONS) == 12


@pytest.mark.requirement("K22")
@pytest.mark.parametrize(("definition", "skill"), OPERATIONS)
def test_an_operation_says_what_its_result_is_and_the_envelope_is_everybodys(
    definition: Definition, skill: Skill
) -> None:
    assert skill.output_schema is not None
    (answer, *_) = [sample.answer for sample in skill.samples if sample.answer]
    assert schema.compile(skill.output_schema).findings(answer) == []
    assert schema.compile(skill.output_schema).findings({}) != []
    result = Result(task_id="", agent=definition.name, skill=skill.name, outcome="success", data=answer, duration_ns=1)
    envelope = json.loads(markdown_json.render_result(result).text)
    assert envelope.keys() == {"status", "agent", "version", "operation", "result", "metadata"}
    assert (envelope["result"], envelope["version"]) == (answer, "1.0")
