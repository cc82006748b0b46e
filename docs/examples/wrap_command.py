"""Foreign agents behind the boundary: a program that mends itself, a function of texts, and prepared answers."""

import asyncio
import json
import sys

import retinue

PROGRAM = """
import json, sys

request = sys.stdin.read()
answer = {"status": "success", "agent": "word-counter", "version": "1.0", "operation": "word-counter",
          "metadata": {"execution_time_ms": 1}}
if "**Correction:**" in request:  # the first answer had no result, and was refused
    answer["result"] = {"words": len(request.rsplit("\\n\\n", 1)[-1].split())}
print(json.dumps(answer))
"""


def chatty(request: str) -> str:
    """Answers like a language model: the JSON that was asked for, and prose around it."""
    prompt = json.loads(request)["prompt"]
    answer = json.dumps({"content": f"You said {prompt!r}.", "response_time_secs": 0.0, "traces": []})
    return f"Sure! Here it is:\n```json\n{answer}\n```\n"


async def main() -> None:
    """Ask all three."""
    program = retinue.CommandAgent([sys.executable, "-c", PROGRAM], name="word_counter", dialect="markdown_json")
    result = await retinue.call(program, "How many words are these?")
    print(result.outcome, result.data, f"after {result.retries} retry")
    for attempt in result.attempts:
        print(f"  attempt {attempt.number}:", attempt.fault.message if attempt.fault else "accepted")

    result = await retinue.call(retinue.TextAgent(chatty, dialect="run_agent"), "Hello")
    print(result.outcome, result.content)
    print("  warning:", result.warnings[0].message)

    analyst = retinue.scripted(
        "I think it is fine.", {"status": "success", "result": {"score": 85}}, dialect="tool_use"
    )
    result = await retinue.call(analyst, "Judge it")
    correction = analyst.calls[1].correction
    print(result.outcome, result.data, "because it was told:", correction.message if correction else "nothing")


if __name__ == "__main__":
    asyncio.run(main())
