"""What each role sees (B26). The roles are functions of these values and of nothing else, so that none sees more."""

from dataclasses import dataclass

from retinue.agents.extensions import Extension

__all__ = ["DomainSight", "RouterSight", "SynthesizerSight", "Target", "Told", "talk"]


@dataclass(frozen=True, slots=True)
class Target:
    """One domain that a prompt is for, and what is wanted of it. Never a tool: those are the domain's to pick (B22)."""

    extension: str
    intent: str


@dataclass(frozen=True, slots=True)
class Told:
    """What one domain came to, as the synthesizer sees it."""

    name: str
    intent: str
    output: str


@dataclass(frozen=True, slots=True)
class RouterSight:
    """The light schema, the prompt, what was said before and what is remembered."""

    light_schema: str
    prompt: str
    history: tuple[str, ...] = ()
    memory: str = ""


@dataclass(frozen=True, slots=True)
class DomainSight:
    """A domain's whole prompt with its tools, and its intent: not the prompt of the person, nor the other domains."""

    extension: Extension
    intent: str


@dataclass(frozen=True, slots=True)
class SynthesizerSight:
    """What the domains came to, the prompt, what was said before and what is remembered: no tools, no schemas."""

    results: tuple[Told, ...]
    prompt: str
    history: tuple[str, ...] = ()
    memory: str = ""


def talk(sight: RouterSight | SynthesizerSight) -> str:
    """The person's side of a sight as one text for a model; each part under its name."""
    parts = {
        "Memory": sight.memory,
        "Earlier turns": "\n".join(sight.history),
        "Prompt": sight.prompt,
    }
    return "\n\n".join(f"{name}:\n{text}" for name, text in parts.items() if text)
