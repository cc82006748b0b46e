"""The agent itself: typed skills over the source of a project. What is found out stands in the modules beside."""

from os import PathLike
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._model_choice import needs_model, no_model_error
from retinue.catalogue._prose import phrases
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.model import JsonMapping
from retinue.contract.plan import Delegation, Plan
from retinue.contract.task import Task
from retinue.llm.models import Models

from .analysis import read_components, run_skill
from .parameters import (
    Architecture,
    Assessment,
    HotspotScope,
    LayerScope,
    ProjectScope,
    QuestionText,
    RestructuringOptions,
)

_DOCUMENTS: Final = "What do the documents say about the architecture?"
"""The words of the request are left out: what documents call things is not what somebody asks in passing."""
_WHO_DEPENDS: Final = {"question": "which component depends on which"}
_WHO_USES_WHOM: Final[JsonMapping] = {
    "components": [{"name": "agents", "files": 12, "lines": 1800, "complexity": 310, "fan_in": 3, "fan_out": 1,
                    "instability": 0.25}],
    "edges": [{"from": "cli", "to": "agents", "imports": 14, "place": "src/shop/cli/run.py:7", "deferred": False}],
    "cycles": [], "hotspots": [], "violations": [], "findings": [],
    "answer": "31 source files in 4 components, with 5 dependencies between them.",
}  # fmt: skip
_OWN_LAYERS: Final = {"question": "do the imports keep these layers", "layers": ["cli", "web | jobs", "core"]}
_EXAMPLES: Final[dict[str, tuple[str, ...]]] = {
    "dependencies": phrases("""
        draw the dependency graph of the components; show component dependencies; dependencies between the packages;
        modules the `cli` package depends on; what depends on the `contract` component; fan-in and fan-out of
        packages; how stable are the components; instability of components; which modules does the `billing` package
        import; how strongly are the modules coupled; how tightly are the packages coupled; which packages does the
        `billing` package rely on; who depends on src/billing/rates.py
    """),
    "cycles": phrases("""
        are there circular imports; find circular dependencies; modules that import each other in a circle; import
        cycles between packages; list dependency cycles; do any components depend on each other in a circle; are there
        cyclic imports between the packages; is there a dependency loop; can the core be split without circular
        imports
    """),
    "layers": phrases("""
        does the code keep its layer rules; check the architecture layers; imports that violate the layering;
        forbidden imports between layers; do the imports only go down; violations of the import contracts; which
        imports go from a lower layer to a higher one; does something break the layering; verify that the layer
        contracts hold; is a layer rule violated
    """),
    "hotspots": phrases("""
        where are the hotspots; hotspots in the code; complex files that are changed often; churn and complexity of
        the code; refactoring candidates by churn and complexity; top 5 hotspots by churn and complexity; which files
        are complex and change all the time; which parts of the code should be refactored first; which files are
        complicated and edited all the time; the riskiest files by churn; files with the worst mix of churn and
        complexity
    """),
    "overview": phrases("""
        give an overview of the architecture; summarise the system architecture; how is this codebase structured into
        components; architecture of this project; architecture report with cycles and hotspots; what is this codebase
        made of; sketch the overall structure of the codebase; overview of how the code is put together
    """),
    "options": phrases("""
        weigh options for restructuring the code; propose ways to break up the circles; what are our options to
        untangle the modules; suggest alternatives for the architecture of the project
    """),
    "assess": phrases("""
        assess the whole codebase before a rewrite; full technical assessment of the codebase; due diligence of this
        codebase; assess architecture, tests and documents together; have the codebase assessed by all agents; assess
        this project thoroughly from every side
    """),
}


_READS: Final[dict[str, Any]] = {
    "instruction_field": "question",
    "effects": ("read",),
    "timeout_s": 120,
    "facts": read_components,
}


@retinue.agent(
    name="system_architect",
    version="1.1",
    description="Says what a project is made of and where change is hard: components, dependencies, circles, layer"
    " rules and hotspots. Use it for questions about the structure of a codebase as a whole; not for who changed a file"
    " or what a document says. Returns figures, each with its file and line.",
    category="analysis",
    aliases=("architect",),
    tags=("architecture", "dependencies", "cycles", "layers", "hotspots"),
    tier="large",
)
class SystemArchitect:
    """Says what a project is made of and where change is hard, each with its file and line.

    Args:
        models: Who is asked for options; without them that skill is not available.
        cache_dir: Where what was read of a tree is kept between runs; None keeps nothing.
    """

    def __init__(self, models: Models | None = None, *, cache_dir: str | PathLike[str] | None = None) -> None:
        self.models = models
        self.cache_dir = None if cache_dir is None else Path(cache_dir)

    @retinue.skill(
        **_READS,
        output=Architecture,
        examples=_EXAMPLES["dependencies"],
        samples=(Sample(title="Who uses whom", parameters=_WHO_DEPENDS, answer=_WHO_USES_WHOM),),
    )
    async def dependencies(self, scope: ProjectScope, run: RunContext) -> Reply:
        """Tells which component of the project depends on which, by its imports.

        Use it to see how the source is put together, what a part depends on, or who uses it. Returns components with
        fan-in, fan-out and instability, and each dependency with its place.
        """
        return (await run_skill("dependencies", scope, run, self.cache_dir)).reply()

    @retinue.skill(**_READS, output=Architecture, examples=_EXAMPLES["cycles"])
    async def cycles(self, scope: ProjectScope, run: RunContext) -> Reply:
        """Finds circular dependencies between components and between files.

        Use it when imports go round in a circle, or before a module is split. Returns each circle, the shortest first,
        with the place of every import in it.
        """
        return (await run_skill("cycles", scope, run, self.cache_dir)).reply()

    @retinue.skill(
        **_READS,
        output=Architecture,
        examples=_EXAMPLES["layers"],
        samples=(Sample(title="Layers of its own", parameters=_OWN_LAYERS),),
    )
    async def layers(self, scope: LayerScope, run: RunContext) -> Reply:
        """Checks that imports keep the layer rules of the project.

        Use it to find imports that go up, sideways or where they are forbidden. Returns every violation with its rule
        and place.
        """
        return (await run_skill("layers", scope, run, self.cache_dir)).reply()

    @retinue.skill(**_READS, output=Architecture, examples=_EXAMPLES["hotspots"])
    async def hotspots(self, scope: HotspotScope, run: RunContext) -> Reply:
        """Finds the source files that are complex and changed often, by churn times complexity.

        Use it to see where refactoring pays. Returns files with their commits, complexity and hardest function.
        """
        return (await run_skill("hotspots", scope, run, self.cache_dir)).reply()

    @retinue.skill(**_READS, output=Architecture, examples=_EXAMPLES["overview"])
    async def overview(self, scope: ProjectScope, run: RunContext) -> Reply:
        """Sums up the architecture of the project in figures: components, circles, broken layer rules and hotspots.

        Use it for a first look at how a codebase is built. Returns the main facts of each.
        """
        return (await run_skill("overview", scope, run, self.cache_dir)).reply()

    @retinue.skill(
        description="Weighs ways to fix what the figures of the project show: what to change, why, and what it risks,"
        " each reason held against components, circles, broken rules and hotspots. Use it to decide how to restructure"
        " a codebase. Returns two to four options with the places they rest on; a model proposes them.",
        **_READS,
        output=RestructuringOptions,
        unavailable=needs_model,
        thinks="must",
        thinks_within=ThinkingBounds(requests=6, tokens_in=30_000, tokens_out=3_000),
        examples=_EXAMPLES["options"],
    )
    async def options(self, scope: ProjectScope, task: Task, run: RunContext) -> Reply:
        """Has a model weigh ways to mend what the figures of the project show."""
        if self.models is None or not self.models.configured:
            raise no_model_error("options")
        from .restructuring import with_options  # noqa: PLC0415 - other skills need no model

        report = await run_skill("options", scope, run, self.cache_dir)
        definition, question = SystemArchitect.definition, scope.question or task.instruction
        return await with_options(report, self.models, question, definition=definition, task=task, run=run)

    @retinue.skill(
        description="Has the whole project assessed from every side at once: its structure, its hotspots, its tests"
        " and its documents. Use it before a large change, when facts from all sides are wanted. Returns a part for"
        " each, with sources.",
        output=Assessment,
        instruction_field="question",
        effects=("read",),
        timeout_s=900,
        thinks="by_others",
        examples=_EXAMPLES["assess"],
    )
    async def assess(self, question: QuestionText, task: Task) -> Plan:
        """Has the whole project assessed by several agents at once."""
        whole = {"question": question or task.instruction}
        documents = {"task": _DOCUMENTS, "depth": "quick_scan", "sources": ["docs"]}
        nodes = (
            Delegation(id="structure", agent="system_architect", skill="overview", parameters=whole),
            # After the structure, so that the files are read once.
            Delegation(
                id="hotspots", agent="system_architect", skill="hotspots", parameters=whole, optional=True,
                needs=("structure",), context={"structure": "none"},
            ),
            Delegation(id="tests", agent="pattern_discovery", skill="full_survey", parameters=whole, optional=True),
            Delegation(
                id="documents", agent="researcher_analyst", skill="research", parameters=documents, optional=True
            ),
        )  # fmt: skip
        return Plan(goal=whole["question"] or "Assess the project", nodes=nodes)
