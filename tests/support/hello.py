"""A scripted provider for `hello-claude`: an agent that writes the file, and judges that find nothing wrong."""

from tests.support.panel import asked_for, raw, reply
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
    text = body["messages"][0]["content"]
    scored = {name: 1.0 for name in asked_for(body) if f"\n- {name} (subjective" not in text}
    return Say(reply(*(raw(name, score=scored.get(name)) for name in asked_for(body))))
