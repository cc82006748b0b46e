"""What reading one file came to."""

from dataclasses import dataclass

from retinue.agents.port import Agent
from retinue.contract.definition import CallSite
from retinue.contract.finding import Finding


@dataclass(frozen=True, slots=True)
class LoadedAgents:
    """The agents of one file, and everything there is to say about it.

    Attributes:
        agents: Those without an error; the others are in `findings` only.
        calls: Whom the file calls in its turn, when it is a skill or a command (K23).
    """

    agents: tuple[Agent, ...] = ()
    findings: tuple[Finding, ...] = ()
    calls: tuple[CallSite, ...] = ()

    @property
    def errors(self) -> tuple[Finding, ...]:
        """The findings that left something out."""
        return tuple(finding for finding in self.findings if finding.severity == "error")
