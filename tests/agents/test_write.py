"""Definitions as files: each format says what it can, reads back as it was, and names what it cannot say."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, note, settings, strategies as st

from retinue import catalogue
from retinue.agents.load.definition import TASK_SCHEMA
from retinue.agents.load.kinds import Kind, kind_of, load
from retinue.agents.load.prompted import NEEDS_MODEL
from retinue.agents.load.yaml import read_yaml
from retinue.agents.write import FORMATS, Format, Written, format_of_file, write
from retinue.agents.write.yaml import write_yaml
from retinue.contract.definition import Definition, Deprecation, Runner, Sample, Skill
from retinue.contract.json import JsonObject
from retinue.errors import InvalidInput
from tests.contract.nouns import json_values, values_of
from tests.dialects.laws import assert_exact_losses

SCHEMAS: list[JsonObject] = [
    TASK_SCHEMA,
    {"type": "object"},
    {"type": "object", "properties": {"n": {"type": "integer", "minimum": 0}}, "required": ["n"]},
    {"type": "object", "properties": {"query": {"type": "string", "default": None}}},
]
said = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20).filter(str.strip)


@st.composite
def definitions(draw: st.DrawFn) -> Definition:
    """Any definition whose description says something and whose schemas are some."""
    drawn: Any = draw(values_of(Definition))
    skills = tuple(
        Skill(
            **{
                **dict(skill),
                "description": draw(said),
                "input_schema": draw(st.sampled_from(SCHEMAS)),
                "output_schema": draw(st.none() | st.sampled_from(SCHEMAS)),
            }
        )
        for skill in drawn.skills
    )
    return Definition(**{**dict(drawn), "description": draw(said), "skills": skills})


def kind_for(form: Format) -> Kind:
    return form


def read(written: Written, form: Format) -> Definition:
    loaded = load(written.text.encode(), file=written.file, kind=kind_for(form))
    (agent,) = loaded.agents
    return agent.definition


def placeless(definition: Definition) -> Definition:
    """The definition without the places where it was said."""
    skills = [
        Skill(**{**dict(skill), "samples": tuple(Sample(**{**dict(each), "source": None}) for each in skill.samples)})
        for skill in definition.skills
    ]
    return Definition(**{**dict(definition), "skills": tuple(skills), "source": None})


@pytest.mark.slow
@pytest.mark.row("A26", "C46")
@settings(max_examples=100)
@given(definition=definitions())
def test_what_is_written_reads_back_but_for_what_the_report_names(definition: Definition) -> None:
    for form in FORMATS:
        note(form)
        written = write(definition, form)
        once = read(written, form)
        assert_exact_losses(placeless(definition), placeless(once), written.losses)
        assert all(loss.why for loss in written.losses)
        again = write(once, form)
        assert [loss.field for loss in again.losses] == []
        assert placeless(read(again, form)) == placeless(once)
