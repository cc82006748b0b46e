"""The page of the public names, docs/reference/api.md, as the source says them today.

`python -m tests.repository.api_page` writes it; a test keeps it fresh. Signatures, types and docstrings are read by griffe and
nothing is imported.
"""

import inspect
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, cast

import griffe

from tests.repository.tree import ROOT

__all__ = ["GROUPS", "PAGE", "page"]

PAGE: Final[Path] = ROOT / "docs" / "reference" / "api.md"

GROUPS: Final[Mapping[str, str]] = {
    "Define agents": "agent skill Agent RunContext Reply AgentOptions SkillOptions Choices FromFacts Facts TableFacts ColumnFacts PythonAgent TextAgent CommandAgent "
    "PromptedAgent scripted Scripted ScriptedCall as_run_agent RunAgent",
    "Call agents": "call connect RemoteAgents LocalContext Boundary Agents Policy Rule Correction Outside Pool",
    "Check what others wrote": "check_workspace_path check_branch_name clean_content escape_markdown",
    "Results and errors": "Result Warned Artifact Trace Attempt Usage UsagePart Cost Versions Fault Finding RetinueError",
    "Tasks": "Task Context Limits OutputWish",
    "Definitions": "Definition Skill Sample Runner Deprecation ThinkingBounds Source Registry Skipped",
    "Orchestration": "Orchestrator Planner SentenceEmbedder Plan Delegation Expected Candidate Binding Dropped supervise workflows Budget "
    "Question Answer",
    "Runs and events": "Engine InProcessEngine Capabilities Journal RunRecord RunFilter PendingQuestion Event Progress Checkpoint Message",
    "Models": "Models ProviderSettings Price LanguageModel Request Response ToolCall AnswerShape ScriptedModel Recorder "
    "Replay BudgetTracker BudgetScope Loop Cleaner",
    "Tools and permissions": "Grants ToolRule Tool ToolOutput ToolSpec Toolbox default_toolbox Workspace",
}
"""All names of `retinue.__all__` but the version, as somebody would look for them."""

_HEAD: Final = """\
# Python API

Everything here is imported from `retinue`: `from retinue import agent, call`. All of it is typed; models are frozen pydantic
models. This page is generated from the source.
"""
_DECORATORS: Final = {"property", "classmethod", "staticmethod"}


def page() -> str:
    """The whole page."""
    package = cast("griffe.Module", griffe.load("retinue", search_paths=[ROOT / "src"], docstring_parser="google"))
    parts = [_HEAD]
    seen: list[str] = []
    for title, names in GROUPS.items():
        links: list[str] = []
        entries: list[str] = []
        for name in names.split():
            slug = name.lower()
            if slug in seen:  # `Agent` beside `agent`: forges and site builders number them each in their own way
                slug = f"{slug}-class"
                entries.append(f'<a id="{slug}"></a>\n')
            links.append(f"[`{name}`](#{slug})")
            seen.append(slug)
            entries += _entry(name, package[name])
        parts += [f"## {title}\n", " · ".join(links) + "\n", *entries]
    return "\n".join(parts)


def _entry(name: str, found: "griffe.Object | griffe.Alias") -> Iterator[str]:
    target = found.final_target if isinstance(found, griffe.Alias) else found
    yield f"### {name}\n"
    if isinstance(target, griffe.Function):
        yield from _function(target, name)
        return
    shown = cast("griffe.Class", target)
    bases = [str(base) for base in shown.bases]
    yield _code(f"class {name}" + (f"({', '.join(bases)})" if bases else ""))
    if "__init__" in shown.members and isinstance(shown.members["__init__"], griffe.Function):
        yield _code(_signature(shown.members["__init__"], name))
    told = dict[str, str]()
    yield from _docstring(shown, told)
    fields = [each for each in shown.members.values() if isinstance(each, griffe.Attribute) and _is_public(each)]
    properties = [each for each in fields if "property" in each.labels]
    yield from _fields([each for each in fields if each not in properties and each.annotation], told)
    for each in properties:
        yield f"#### `{name}.{each.name}: {each.annotation}`\n"
        yield from _docstring(each, {})
    for each in shown.members.values():
        if isinstance(each, griffe.Function) and _is_public(each) and each.docstring:
            yield from _function(each, f"{name}.{each.name}", heading=True)


def _is_public(member: griffe.Object) -> bool:
    return not member.name.startswith("_") and member.name != "model_config"


def _function(shown: griffe.Function, name: str, *, heading: bool = False) -> Iterator[str]:
    if heading:
        yield f"#### `{name}()`\n"
    yield _code(_signature(shown, name.rpartition(".")[2]))
    yield from _docstring(shown, {})


def _signature(shown: griffe.Function, name: str) -> str:
    """As in the source, a parameter a line when it is long."""
    parameters = [each for each in shown.parameters if each.name not in {"self", "cls"}]
    said: list[str] = []
    star = False
    for each in parameters:
        prefix = {"variadic positional": "*", "variadic keyword": "**"}.get(each.kind.value if each.kind else "", "")
        if each.kind is griffe.ParameterKind.keyword_only and not star:
            said.append("*")
        star = star or prefix == "*" or each.kind is griffe.ParameterKind.keyword_only
        default = f" = {each.default}" if each.default is not None and not prefix else ""
        said.append(f"{prefix}{each.name}: {each.annotation}{default}" if each.annotation else f"{prefix}{each.name}")
    kind = (
        "async def " if "async" in shown.labels else "def " if name != "__init__" and shown.name != "__init__" else ""
    )
    returns = f" -> {shown.returns}" if shown.returns and shown.name != "__init__" else ""
    line = f"{kind}{name}({', '.join(said)}){returns}"
    return line if len(line) <= 110 else f"{kind}{name}(\n" + "".join(f"    {each},\n" for each in said) + f"){returns}"


def _docstring(shown: griffe.Object, told: dict[str, str]) -> Iterator[str]:
    """Its sections; what it says of attributes goes into `told`, for the table of them."""
    for section in shown.docstring.parsed if shown.docstring else ():
        match section:
            case griffe.DocstringSectionText():
                yield f"{_text(section.value)}\n"
            case griffe.DocstringSectionParameters():
                yield "".join(f"- `{each.name}`: {_flat(each.description)}\n" for each in section.value)
            case griffe.DocstringSectionAttributes():
                told |= {each.name: _flat(each.description) for each in section.value}
            case griffe.DocstringSectionRaises():
                yield "Raises:\n"
                yield "".join(f"- `{each.annotation}`: {_flat(each.description)}\n" for each in section.value)
            case _:
                yield f"{_text(str(section.value))}\n"


def _fields(fields: list[griffe.Attribute], told: Mapping[str, str]) -> Iterator[str]:
    if not fields:
        return
    rows = [
        f"| `{each.name}` | `{_cell(str(each.annotation))}` | {_cell(_default(each))} | {_cell(_about(each, told))} |"
        for each in fields
    ]
    yield "\n".join(["| field | type | default | |", "| --- | --- | --- | --- |", *rows]) + "\n"


def _default(field: griffe.Attribute) -> str:
    said = "" if field.value is None else str(field.value)
    factory = re.search(r"default_factory=([\w\[\], .]+?)\s*[,)]", said)
    plain = re.fullmatch(r"Field\(default=(.*?)(?:, .*)?\)", said)
    shown = f"{factory[1].partition('[')[0]}()" if factory else plain[1] if plain else said
    return f"`{shown}`" if shown and not shown.startswith(("Field(", "field(")) else ""


def _about(field: griffe.Attribute, told: Mapping[str, str]) -> str:
    return told.get(field.name) or (_flat(field.docstring.value) if field.docstring else "")


def _text(text: str) -> str:
    """Prose as it stands, and indented code in a fence."""
    parts = re.split(r"((?:^ {4,}.*\n?|^\n(?= {4}))+)", text, flags=re.MULTILINE)
    return "".join(
        f"\n{_code(inspect.cleandoc(part)).rstrip()}\n" if number % 2 and part.strip() else part
        for number, part in enumerate(parts)
    )


def _code(text: str) -> str:
    return f"```python\n{text}\n```\n"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
