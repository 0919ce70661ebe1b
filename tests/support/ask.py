"""A program: ask a model as any client does, by the address and the key in the environment; prints what it says.

`python ask.py MODEL TEXT [TOOLS]`, with the names of tools between commas; without an answer it says why on standard
error and ends with exit code 1.
"""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path

ASK = f"{sys.executable} {Path(__file__).resolve()}"  # as a shell script starts it


def main(model: str, text: str, tools: str = "") -> int:
    """Ask one question."""
    body = {"model": model, "max_tokens": 10, "messages": [{"role": "user", "content": text}]}
    if tools:
        body["tools"] = [{"name": name} for name in tools.split(",")]
    request = urllib.request.Request(
        f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages",
        json.dumps(body).encode(),
        {"x-api-key": os.environ["ANTHROPIC_API_KEY"], "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            sys.stdout.write(json.load(answer)["content"][0]["text"] + "\n")
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"{error.code}: {json.load(error)['error']['message']}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
