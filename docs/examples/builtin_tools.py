"""Use the built-in tools without a model: read a file, change it, and see what a mistake gives."""

import asyncio
from pathlib import Path
from tempfile import TemporaryDirectory

from retinue.errors import InvalidInput
from retinue.tools.builtin import builtin_tools
from retinue.tools.port import ToolContext
from retinue.tools.workspace import Workspace


async def main() -> None:
    """Change one line."""
    with TemporaryDirectory() as folder:
        (Path(folder) / "cart.py").write_text("def total(cart):\n    return 0\n")
        context = ToolContext(Workspace(folder, write=["."]))
        tools = {tool.spec.name: tool for tool in builtin_tools()}

        print((await tools["read"].use({"path": "cart.py"}, context)).text)
        change = {"path": "cart.py", "edits": [{"old": "return 0", "new": "return sum(cart)"}]}
        print((await tools["edit"].use(change, context)).text)
        try:
            await tools["edit"].use({"path": "cart.py", "edits": [{"old": "return  sum(cart)", "new": ""}]}, context)
        except InvalidInput as error:
            print(error.message)


if __name__ == "__main__":
    asyncio.run(main())
