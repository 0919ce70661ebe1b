"""A scripted provider for `hello-claude`: an agent that writes the file, and judges that find nothing wrong."""

import json
import re

from tests.support.panel import raw, reply
from tests.support.provider import Body, Say, tool_results

WRITE = Say("I write it.", "Bash", {"command": "printf 'print(\"Hello, World!\")\\n' > hello.py && python3 hello.py"})


def hello(body: Body) -> Say:
    """Answer as agent or as judge: only agents bring tools."""
    return diligent(body) if body.get("tools") else content_judge(body)


def diligent(body: Body) -> Say:
    """Write the file, and say that it is done only where the tool really printed the greeting."""
    results = tool_results(body)
    if not results:
        return WRITE
    return Say("Done." if results[-1] == "Hello, World!" else f"That failed: {results[-1]}")


def content_judge(body: Body) -> Say:
    """Full points for every item that is asked for."""
    asked = json.dumps(body["messages"]).partition("# Judge these items")[2].partition("# Progress steps")[0]
    return Say(reply(*(raw(name) for name in dict.fromkeys(re.findall(r"\b([A-Z][0-9]+)\b", asked)))))
