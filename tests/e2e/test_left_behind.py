"""Files that an agent leaves to trip up the harness: the real Claude Code CLI, the whole command line."""

from pathlib import Path

import pytest

from tests.support.engine import found_by
from tests.support.faults import agents_repository, evaluate, left
from tests.support.provider import Body, Say, serve, tool_results

TRAPS = r"""
printf '#!/bin/sh\necho hello\n' > greet.sh
mkdir dot-git .claude
mkfifo "$(printf '\377')"
ln -s "$(printf 'x%.0s' $(seq 4000))" long
ln -s loop loop
sed -i 's/"timestamp":"20/"timestamp":"10/g' "$CLAUDE_CONFIG_DIR"/projects/*/*.jsonl
mv "$CLAUDE_CONFIG_DIR"/projects "$CLAUDE_CONFIG_DIR"/gone
ln -s / "$CLAUDE_CONFIG_DIR"/projects
"""


@pytest.mark.usefixtures("running_engine")
@pytest.mark.parametrize("sandbox", ["host", "bubblewrap", "docker"])
def test_a_trial_full_of_traps_is_read_like_any_other(tmp_path: Path, sandbox: str) -> None:
    def trap(body: Body) -> Say:
        return Say("Done.") if tool_results(body) else Say("I write it.", "Bash", {"command": TRAPS})

    repository = agents_repository(tmp_path, sandbox=sandbox)
    with serve(trap) as provider:
        said = evaluate(repository, provider, "--keep-workspaces", "all", **found_by())
    found = left(tmp_path)
    assert (said.code, found.row["outcome"], found.row["passed"]) == (0, "completed", True), said.err
    assert 0 <= found.row["tool_seconds"] <= found.row["seconds"]
    kept = found.cell / "attempt-1/workspace"
    assert {"greet.sh", "dot-git", "dot-git-2", "loop", "long"} <= {path.name for path in kept.iterdir()}
