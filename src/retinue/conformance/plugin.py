"""The pytest plugin: `pytest --retinue-subject=agent.py` adds each requirement of the agent's dialect as a test.

Every pytest run of an environment that has Retinue loads this module: it imports nothing, and does nothing without its
option. The tests themselves are in `items`.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pytest


def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add the options."""
    group = parser.getgroup("retinue", "judge an agent by what its dialect asks of it")
    for name, help_text in {
        "subject": "The agent: agent.py, agent.py:answer or package.module:answer, imported; or a command line.",
        "dialect": "What it should speak: found out by asking when it is not said.",
        "agent": "What it is called in its own answers.",
        "operation": "Something it does.",
        "target": "Something that can be done on.",
        "partial-target": "Something that can be done on only in part.",
        "instruction": "What to ask, where its dialect asks in words.",
        "definition": "A file with its definition: says how it is asked validly.",
    }.items():
        group.addoption(f"--retinue-{name}", default=None, metavar=name.upper(), help=help_text)
    group.addoption(
        "--retinue-timeout",
        default=None,
        type=float,
        metavar="SECONDS",
        help="The longest it may take for one request.",
    )
    group.addoption(
        "--retinue-env",
        action="append",
        default=[],
        metavar="NAME",
        help="A variable the command may see; repeatable.",
    )
    group.addoption(
        "--retinue-command",
        action="store_true",
        default=False,
        help="The subject is a command line, run without a shell.",
    )


def pytest_configure(config: "pytest.Config") -> None:
    """Add the tests, when a subject is named."""
    if config.getoption("--retinue-subject"):
        from retinue.conformance.items import JudgePlugin  # noqa: PLC0415 - whoever judges nobody pays nothing

        config.pluginmanager.register(JudgePlugin(config), "retinue-judging")
