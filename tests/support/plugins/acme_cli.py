"""The program of the agent `acme-cli`: ask the model once by chat completions, and do what it is asked for."""

import json
import os
import sys
import urllib.error
import urllib.request
from pathlib import Path


def main(model: str) -> int:
    """Ask with the prompt of standard input; say why on standard error if there is no answer."""
    body = {"model": model, "messages": [{"role": "user", "content": sys.stdin.read()}], "max_completion_tokens": 50}
    request = urllib.request.Request(
        f"{os.environ['ACME_BASE_URL']}/chat/completions",
        json.dumps(body).encode(),
        {"authorization": f"Bearer {os.environ['ACME_API_KEY']}", "content-type": "application/json"},
    )
    try:
        with urllib.request.urlopen(request) as answer:
            print(json.load(answer)["choices"][0]["message"]["content"])
    except urllib.error.HTTPError as error:
        sys.stderr.write(f"{error.code}: {json.load(error)['error']['message']}\n")
        return 1
    Path("greet.sh").write_text("#!/bin/sh\necho hello\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
