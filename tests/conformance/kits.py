"""The dialects that have requirements, and a judgement without ceremony."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from dataclasses import asdict
from importlib import import_module
from pathlib import Path
from typing import Any

import retinue.conformance
from retinue.conformance.judge import judge, requirements
from retinue.conformance.port import KITS, CheckReport, RequestTemplate, RequirementVerdict
from retinue.conformance.subjects import CallableSubject

__all__ = ["FILES", "JUDGED", "broken", "digest", "judged", "verdict"]

_ROOM = Path(retinue.conformance.__file__).parent

JUDGED = KITS
FILES = tuple(sorted(file.stem for file in (_ROOM / "kits").glob("*.toml")))
"""Every kit there is, those of protocols too."""


def broken(dialect: str) -> Any:
    """The module with the agents of a dialect: `ASKING`, `GOOD`, `BROKEN`."""
    return import_module(f"tests.conformance.mutants.{dialect}")


def judged(
    function: Callable[[str], object], dialect: str, *, asking: RequestTemplate | None = None, timeout_s: float = 20.0
) -> CheckReport:
    """Judge a function."""

    async def conduct() -> CheckReport:
        subject = CallableSubject(function)
        try:
            return await judge(subject, dialect, template=asking or broken(dialect).TEMPLATE, timeout_s=timeout_s)
        finally:
            subject.close()

    return asyncio.run(conduct())


def verdict(report: CheckReport, requirement: str) -> RequirementVerdict:
    """What one requirement came to, by its id with or without the dialect."""
    name = requirement if "/" in requirement else f"{report.dialect}/{requirement}"
    return next(each for each in report.verdicts if each.requirement.id == name)


def digest(dialect: str) -> str:
    """What a dialect asks, as a number that changes with it; comments and layout do not count."""
    version, required = requirements(dialect)
    said = json.dumps([version, [asdict(each) for each in required]], sort_keys=True)
    return hashlib.sha256(said.encode()).hexdigest()
