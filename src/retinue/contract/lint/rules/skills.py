"""What is asked of a skill, and of every schema in it."""

from typing import Final

from .rule import LintRule

SKILL: Final = (
    LintRule(
        "skill/field",
        "error",
        "`instruction_field` and `target_field` are text fields of the input.",
        "The binder would write into nothing.",
        ("C45",),
        wrong='"instruction_field": "question"  (there is only `place`)',
        right='"instruction_field": "place"',
    ),
    LintRule(
        "skill/default",
        "error",
        "A skill's `defaults` are fields of its input and pass the schema.",
        "The binder would make every call fail.",
        ("C45",),
        wrong='"defaults": {"days": "three"}',
        right='"defaults": {"days": 3}',
    ),
    LintRule(
        "skill/sample",
        "error",
        "Samples pass the schemas of their skill.",
        "Readers copy samples.",
        ("A22", "C27"),
        wrong='"samples": [{"parameters": {"days": "three"}}]',
        right='"samples": [{"parameters": {"place": "Delft", "days": 3}}]',
    ),
    LintRule(
        "skill/output",
        "info",
        "A skill has an output schema.",
        "Without one, no answer can be found wrong.",
        ("A11",),
        wrong='"input_schema": {…}',
        right='"input_schema": {…}, "output_schema": {…}',
    ),
    LintRule(
        "skill/examples",
        "info",
        "A skill has a few utterances as `examples`.",
        "Nothing improves routing as much.",
        (),
        wrong='"examples": []',
        right='"examples": ["what will the weather be in Delft", "is it going to rain"]',
    ),
    LintRule(
        "schema",
        "error",
        "A value passes its JSON Schema, and a schema is one. The word after the slash is the keyword.",
        "What does not pass is refused at the boundary.",
        ("A5", "A22", "C7"),
        wrong='{"type": "objct"}',
        right='{"type": "object"}',
    ),
)
