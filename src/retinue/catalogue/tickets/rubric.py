"""Rubrics: what an agent judges a ticket by, as data with an id and a version that every result names (C38)."""

import tomllib
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias, TypeVar

from pydantic import Field, ValidationError

from retinue.contract.finding import as_detail, findings_of, summarise_findings
from retinue.contract.model import Model
from retinue.errors import InvalidDefinition, MissingFile
from retinue.tools.workspace import Workspace

OWN_RUBRICS: Final = ".retinue/rubrics"
"""Where a project keeps rubrics of its own, from the root of its workspace: one file each, `ID.toml`."""
_MAX_BYTES: Final = 256 * 1024
IssueSeverity: TypeAlias = Literal["high", "medium", "low"]


class RubricName(Model):
    """Which rubric a result rests on, in which version, and the project's own file if it is from one."""

    id: Annotated[str, Field(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
    version: Annotated[str, Field(pattern=r"^[0-9]+([.][0-9]+){1,2}$", max_length=20)]
    source: str | None = None


class Rubric(RubricName):
    """What every rubric has; each agent adds its own members."""

    @property
    def name(self) -> RubricName:
        """Its id, version and source."""
        return RubricName(id=self.id, version=self.version, source=self.source)


R = TypeVar("R", bound=Rubric)


def read_rubric(kind: type[R], default: Path, workspace: Workspace) -> R:
    """The rubric in `default`, or the one that the project has in its place: `.retinue/rubrics/ID.toml`, whole.

    Raises:
        InvalidDefinition: The project's file is not TOML or does not fit; the message has the place.
    """
    path = f"{OWN_RUBRICS}/{default.stem}.toml"
    try:
        source, text = {"source": path}, workspace.read_text(path, max_bytes=_MAX_BYTES)
    except MissingFile:
        source, text = {}, default.read_text(encoding="utf-8")
    try:
        return kind.model_validate({**tomllib.loads(text), **source, "id": default.stem})
    except ValidationError as error:
        findings = findings_of(error, rule="ticket/rubric")
        why, detail = summarise_findings(findings), as_detail(findings)
    except (ValueError, RecursionError) as error:
        why, detail = str(error), {}
    message = f"The rubric `{path}` cannot be used: {why.rstrip('.')}."
    raise InvalidDefinition(message, hint="Mend it, or delete it to have the built-in one.", path=path, detail=detail)
