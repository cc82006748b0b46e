"""What is asked of a message: that it can be read, and one rule for each wire format; ids go on after the slash."""

from typing import Final

from .rule import LintRule


def _message_rule(dialect: str, what: str, requirements: tuple[str, ...], wrong: str, right: str) -> LintRule:
    return LintRule(
        dialect,
        "error",
        f"A message of `{dialect}` is {what}.",
        "Otherwise readers guess, and two readers guess differently.",
        requirements,
        wrong=wrong,
        right=right,
    )


MESSAGE: Final = (
    LintRule("message", "error", "A message is one whole text in UTF-8 that says which dialect it speaks.",
        "A message that is cut off or ambiguous cannot be read.",
        ("C3", "C36"), wrong='{"status": "success", "result": {', right='{"status": "success", "result": {}, …}'),
    LintRule("convert", "error", "A definition can be said in the format it is to be written in.",
        "A text that reads back as something else, or not at all, is not written.",
        wrong="a name that no file of that format can hold", right="another format, or another name"),
    _message_rule("tool_use", "a call, a hand-off or a return envelope of spec 000", ("A7", "A11", "A12"),
        '{"status": "done", "result": "It is sunny."}', '{"status": "success", "result": {"sky": "clear"}, …}'),
    _message_rule("run_agent", "what a `run_agent` function of spec 001 takes or gives", ("B1", "B4", "B5"),
        '{"content": "…"}', '{"content": "…", "response_time_secs": 0.2, "traces": []}'),
    _message_rule("task_signal", "a Task block, or an answer with its signals first (spec 002)", ("H1", "H6", "H16"),
        "I have CREATED: /tmp/report.md", "CREATED: /tmp/report.md"),
    _message_rule("markdown_json", "an input block or one of the three envelopes of spec 003", ("K2", "K3", "K4", "K6"),
        '{"status": "success", "result": {}}',
        '{"status": "success", "agent": "scanner", "version": "1.0", "operation": "scan", "result": {}, …}'),
    _message_rule("agent_http", "a body that spec 004 sends or answers", ("P1", "P3", "P5"),
        '{"task": "…"}', '{"id": "t1", "status": {"state": "completed", …}, …}'),
)  # fmt: skip
