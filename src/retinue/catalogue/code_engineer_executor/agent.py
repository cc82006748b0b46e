"""The agent itself: typed skills over the source of a project. What is found out stands in the modules beside."""

from collections.abc import Mapping
from functools import partial
from os import PathLike
from pathlib import Path
from typing import Any, Final

import retinue
from retinue.agents.port import Reply, RunContext
from retinue.catalogue._model_choice import needs_model
from retinue.catalogue._names import symbol_facts
from retinue.catalogue._prose import phrases
from retinue.contract.definition import Sample, ThinkingBounds
from retinue.contract.facts import Facts
from retinue.contract.task import Task
from retinue.llm.models import Models
from retinue.tools.workspace import Workspace

from .parameters import (
    ChangeRequest,
    CodeAnalysis,
    CodeChange,
    CodeDocumentation,
    CodeReview,
    CodeScope,
    CodeTarget,
    CodeWork,
    NavigationTarget,
    RefactoringRequest,
)


def _facts(engineer: Any, workspace: Workspace) -> Facts:
    """What the code here defines."""
    return symbol_facts(workspace, engineer.cache_dir)


_READ_OPTIONS: Final[dict[str, Any]] = {"instruction_field": "task", "effects": ("read",), "timeout_s": 300}
_PROPOSAL_OPTIONS: Final[dict[str, Any]] = {
    "output": CodeChange,
    "instruction_field": "task",
    "effects": ("read", "write", "network"),
    "timeout_s": 1800,
    "thinks": "must",
    "thinks_within": ThinkingBounds(requests=120),
    "unavailable": needs_model,
}
_EXAMPLES: Final = {
    "navigate_only": phrases("""
        who calls `parse_header`; list all callers of `Workspace.resolve`; find every reference to `retry_policy`;
        where is the function `load_config` used; go to the definition of `TokenBucket`; which functions does `walk`
        call; what implements `Engine.start`; list the symbols defined in src/app.py; find usages of the class
        `HttpClient`; which methods override `Base.run`; what invokes `on_close`; what calls `flush`; who uses the
        function `parse_date`; where is the class `Invoice` defined; which classes inherit from `BaseView`; take me to
        the declaration of `Invoice`; show usages of `Cart.add`
    """),
    "analyze": phrases("""
        which functions are the most complex; what is the cyclomatic complexity of `parse`; how many functions and
        classes does this module have; what are the longest functions in src; how branched is the function `walk`;
        measure the code in the package `billing`; how many lines does src/models.py have; is the class `Invoice` too
        large; complexity figures per function in src/app.py; how complex is `walk`
    """),
    "review": phrases("""
        review src/app.py; do a code review of the `billing` package; lint the code in src; find code smells in the
        `payments` module; which TODO and FIXME comments are left; are there unused imports; find broad except
        clauses; what would you criticise in src/api.py; are there lint problems in src/api.py; look over src/api.py
        for code smells; are there bare excepts or unused variables anywhere
    """),
    "docs": phrases("""
        which public functions have no docstring; list missing docstrings in src/app.py; what is the docstring
        coverage; give me a table of all function signatures in src/api.py; which classes are undocumented; list the
        public API of the package with signatures; which functions in src lack docstrings; signatures of everything
        public in src/app.py
    """),
    "refactor": phrases("""
        rename the function `load` to `load_settings`; rename class `Foo` to `Bar`; move `slugify` from utils.py to
        text.py; extract lines 20 to 35 of app.py into a function `validate`; refactor: rename `tmp` to `folder`
        everywhere; call the class `Parser` `Reader` from now on; relocate the function `slugify` to text.py; pull
        lines 8-19 of app.py out into `load_all`
    """),
    "fix_bug": phrases("""
        fix the bug that the total is wrong when the cart is empty; the parser crashes on empty input, fix it; fix the
        failing test test_refund; fix the off-by-one error in `paginate`; debug and fix why login times out
    """),
    "add_feature": phrases("""
        add a --verbose option to the command line; implement pagination for the orders endpoint; add support for CSV
        export; write a function that validates e-mail addresses; implement retry with backoff in client.py
    """),
}  # fmt: skip
_SAMPLE_PARAMETERS: Final = {"task": "who calls helper", "symbol": "helper", "show": "callers"}
_SAMPLE_ANSWER: Final[dict[str, Any]] = {
    "operation": "navigate_only", "answer": "`use` calls `helper`. (b.py:3)", "changes": [],
    "findings": [{"topic": "callers", "content": "`use` calls `helper`.", "source": "b.py:3"}],
    "navigation_trace": [{
        "operation": "incomingCalls", "from": "a.py:10:5", "to": "1 calls", "symbol": "helper",
        "execution_time_ms": 3.2,
    }],
    "affected_symbols": ["helper", "use"],
    "metadata": {"lsp_operations": 1, "files_analyzed": 2, "files_modified": 0},
}  # fmt: skip


@retinue.agent(
    name="code_engineer_executor",
    version="1.1",
    description="Navigates, measures, reviews and refactors source code through a language server, syntax trees and a"
    " linter. Use it for callers and usages of a symbol, complexity figures, lint findings and missing docstrings, or"
    " to rename, move or extract code. Returns places, figures and diffs; it writes only when told to.",
    category="engineering",
    aliases=("code_engineer", "code_executor"),
    tags=("code", "lsp", "refactoring", "review", "complexity"),
    tier="medium",
    tools=("read", "write", "edit", "lsp"),
)
class CodeEngineerExecutor:
    """Reads and changes code: without a model by language server and syntax trees, with one by proposals it verifies.

    Args:
        models: Who is asked for fixes and features; without them those two skills are not available.
        servers: The argument vectors of language servers, by language, from the user's own settings.
        cache_dir: Where what was read of a tree is kept between runs; None keeps nothing.
    """

    def __init__(
        self,
        models: Models | None = None,
        *,
        servers: Mapping[str, tuple[str, ...]] | None = None,
        cache_dir: str | PathLike[str] | None = None,
    ) -> None:
        self.models = models
        self.cache_dir = None if cache_dir is None else Path(cache_dir)
        self._servers = servers

    @retinue.skill(
        output=CodeWork,
        facts=_facts,
        **_READ_OPTIONS,
        examples=_EXAMPLES["navigate_only"],
        samples=(Sample(title="Who calls it", parameters=_SAMPLE_PARAMETERS, answer=_SAMPLE_ANSWER),),
    )
    async def navigate_only(self, target: NavigationTarget, task: Task, run: RunContext) -> Reply:
        """Finds callers, callees, references, implementations and the definition of a symbol by a language server.

        Use it when a function, class or method is named and somebody asks who calls it or what refers to it. Returns
        places in the code.
        """
        return await self._run_operation(target, task, run)

    @retinue.skill(output=CodeAnalysis, facts=_facts, **_READ_OPTIONS, examples=_EXAMPLES["analyze"])
    async def analyze(self, target: CodeTarget, task: Task, run: RunContext) -> Reply:
        """Measures source code: lines, functions, classes, cyclomatic complexity, the longest and most branched ones.

        Use it when somebody asks how complex, how long or how large code is. Returns figures with places; for one
        symbol its callers and callees too.
        """
        return await self._run_operation(target, task, run)

    @retinue.skill(
        description="Reviews source code with a linter: broad excepts, mutable defaults, unused imports, complexity,"
        " missing docstrings, TODO comments. Use it when somebody asks for a code review, lint findings, code smells or"
        " leftover TODOs. Returns findings with rule, severity, place and fix.",
        output=CodeReview,
        **_READ_OPTIONS,
        examples=_EXAMPLES["review"],
    )
    async def review(self, target: CodeScope, task: Task, run: RunContext) -> Reply:
        """Reviews source code with a linter."""
        return await self._run_operation(target, task, run)

    @retinue.skill(output=CodeDocumentation, **_READ_OPTIONS, examples=_EXAMPLES["docs"])
    async def docs(self, target: CodeScope, task: Task, run: RunContext) -> Reply:
        """Lists the signatures of a module's public functions and classes and which of them have no docstring.

        Use it when somebody asks for documentation coverage, missing docstrings or a table of signatures. Returns the
        share that is documented, the missing names and all signatures.
        """
        return await self._run_operation(target, task, run)

    @retinue.skill(
        output=CodeChange,
        instruction_field="task",
        effects=("read", "write"),
        timeout_s=600,
        facts=_facts,
        examples=_EXAMPLES["refactor"],
    )
    async def refactor(self, target: RefactoringRequest, task: Task, run: RunContext) -> Reply:
        """Renames a symbol everywhere, moves a function or class to another module, or extracts lines into a function.

        Use it when somebody asks to rename, move or extract code. Returns the changed files and a diff; writes them
        only with `apply`.
        """
        return await self._run_operation(target, task, run)

    @retinue.skill(**_PROPOSAL_OPTIONS, examples=_EXAMPLES["fix_bug"])
    async def fix_bug(self, request: ChangeRequest, task: Task, run: RunContext) -> Reply:
        """Lets a model find and fix a bug, and verifies its edits: they fit, parse, and pass the tests when asked.

        Use it when somebody describes wrong behaviour of the code and wants it fixed. Returns a proposed diff with its
        reasoning.
        """
        return await self._run_operation(request, task, run)

    @retinue.skill(**_PROPOSAL_OPTIONS, examples=_EXAMPLES["add_feature"])
    async def add_feature(self, request: ChangeRequest, task: Task, run: RunContext) -> Reply:
        """Lets a model write a feature as edits and new files, and verifies them: they fit, parse, and pass the tests.

        Use it when somebody wants the code to do something new. Returns a proposed diff with its reasoning.
        """
        return await self._run_operation(request, task, run)

    async def _run_operation(self, target: CodeScope, task: Task, run: RunContext) -> Reply:
        """Do what the skill of `task` is for, in one of the modules beside."""
        from . import analyze, refactor, work  # noqa: PLC0415 - when they are needed

        change = partial(refactor.propose, self.models, CodeEngineerExecutor.definition)
        operations = {
            "navigate_only": analyze.navigate,
            "analyze": analyze.analyze,
            "review": analyze.review,
            "docs": analyze.document,
            "refactor": refactor.refactor,
            "fix_bug": change,
            "add_feature": change,
        }
        operation = operations[task.skill or ""]
        return await work.do_work(operation, target, task, run, servers=self._servers, cache_dir=self.cache_dir)
