"""An agent that gets it wrong first. The boundary shows it the findings and asks again; every attempt is on record."""

import asyncio

from pydantic import BaseModel, Field

import retinue
from retinue.contract.result import Warned


class Verdict(BaseModel):
    """What `review` owes."""

    score: int = Field(ge=0, le=100)
    issues: list[str]


@retinue.agent(output=Verdict)
async def review(text: str, run: retinue.RunContext) -> retinue.Reply:
    """Reviews a text. Use before publishing. Returns a score and the issues found."""
    issues = [f"the word {word!r}" for word in text.split() if word in {"very", "just"}]
    if run.correction is None:
        return retinue.Reply(data={"score": "85", "issues": None})  # as a model might
    return retinue.Reply(
        data={"score": 85, "issues": issues},
        outcome="partial",
        completeness=80,
        warnings=(
            Warned(
                type="degraded_analysis",
                message="The grammar was not checked.",
                impact="Grammar issues are missing.",
                recovery="Configure a grammar checker.",
            ),
        ),
    )


async def main() -> None:
    """Review a sentence."""
    result = await retinue.call(review, text="This is very good")
    print(result.outcome, result.data, f"after {result.retries} retry")
    for attempt in result.attempts:
        print(f"  attempt {attempt.number}:", attempt.fault.message if attempt.fault else "accepted")
    print("  warning:", result.warnings[0].message)


if __name__ == "__main__":
    asyncio.run(main())
