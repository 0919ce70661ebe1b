"""`scylla-gha skill` with the real Claude Code CLI and a scripted provider, as the author of a skill runs it."""

from pathlib import Path

from tests.support.command import Said, scylla
from tests.support.provider import Provider, serve
from tests.support.skill_author import adder, author

KEY = "sk-ant-canary-0123456789"


def measure(root: Path, provider: Provider, *options: str) -> Said:
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": KEY}
    return scylla("skill", "skills/tally", "--yes", "--only", "evals", *options, cwd=root, env=env)


def test_evals_are_run_with_and_without_the_skill_and_paid_once(tmp_path: Path) -> None:
    author(tmp_path)
    with serve(adder) as provider:
        said = measure(tmp_path, provider, "--repetitions", "1")
        assert said.code == 0, said.err
        paid = len(provider.requests)
        again = measure(tmp_path, provider, "--repetitions", "1")
        assert again.code == 0, again.err
        assert len(provider.requests) == paid, "the second run must ask no model"
    assert "tally: evals: 4 trials to run, $" in said.err
    assert "0 of 4 trials to run" in again.err
    assert "100% in t1-01-with.claude-code.claude-sonnet-5 (2 trials)" in said.out
    assert "33% in t1-02-without.claude-code.claude-sonnet-5 (2 trials)" in said.out
    assert said.out.splitlines()[-1] == again.out.splitlines()[-1]
