"""Spec 003's own check of an answer, to the letter, for conformance tests only.

It asks for no warnings, no metadata, no operation and no grammar of versions; everything else uses the dialect. The
guards of paths and content are in `contract.sanitize`.
"""

from collections.abc import Mapping

from retinue.errors import InvalidInput


def validate_agent_contract(answer: Mapping[str, object], agent: str) -> None:
    """Spec 003's `validate_agent_contract` (K25, C3).

    Args:
        answer: The envelope, read.
        agent: Who was asked, spelled as on the wire.

    Raises:
        InvalidInput: With the spec's own text as its message.
    """
    missing = [key for key in ("status", "agent", "version") if key not in answer]
    _refuse_if(bool(missing), f"Missing required fields: {missing}")
    _refuse_if(answer["agent"] != agent, f"Agent mismatch: expected {agent}, got {answer['agent']}")
    status = answer["status"]
    _refuse_if(status not in ("success", "partial", "error"), f"Invalid status: {status}")
    whole = status in ("success", "partial")
    _refuse_if(whole and "result" not in answer, "Success/partial status requires 'result' field")
    _refuse_if(not whole and "error_type" not in answer, "Error status requires 'error_type' field")


def _refuse_if(condition: bool, message: str) -> None:  # noqa: FBT001 - reads as the sentence it is
    if condition:
        raise InvalidInput(message, hint="Give what spec 003 allows.")
