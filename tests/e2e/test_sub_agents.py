"""The real Claude Code CLI with parallel sub-agents on a scripted provider: their models, and what they cost."""

import json
import threading
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.command import scylla
from tests.support.hello import WRITE
from tests.support.provider import Body, Provider, Say, serve, tool_results, user_texts
from tests.support.repository import write_tree

EXPERIMENT = """\
id: team
question: What do sub-agents cost?
scenarios: [001-hello-world]
agents: [claude-code@2.1.332]
variants: [T4/01-readers]
models: [claude-sonnet-5]
repetitions: 1
baseline: t4-01-readers.claude-code.claude-sonnet-5
limits: {timeout_seconds: 180, usd: 2.0, api_retries: 0}
"""
TIER = """\
id: T4
name: Delegation
focus: Sub-agents
sub_tests:
  - {id: 01-readers, description: Two sub-agents, treatment: {agents: [reader, second]}}
"""
READER = "---\nname: {name}\ndescription: Reads files\ntools: Read\nmodel: {model}\n---\nYou read.\n"
TASK = "Look into the folder, and say what you see."
SONNET, HAIKU, OPUS = "claude-sonnet-5", "claude-haiku-5-5", "claude-opus-5-5"


class Team:
    """An agent that starts two sub-agents at once, writes the file when both have answered, and ends."""

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.both = threading.Barrier(2, action=self.asked.set, timeout=90)

    def __call__(self, body: Body) -> Say:
        if user_texts(body)[-1] == TASK:
            self.both.wait()  # no answer before both have asked
            return Say("Nothing is there.")
        answers = tool_results(body)
        if not answers:
            first, second = ({"description": "Look", "prompt": TASK, "subagent_type": name}
                             for name in ("reader", "second"))  # fmt: skip
            return Say("I ask two.", "Agent", first, beside=(second,))
        if answers[-1] == "Hello, World!":
            return Say("Done.")
        # Sub-agents run beside the conversation, which gets a turn more for each that ends after its last answer.
        self.asked.wait(timeout=90)
        return replace(WRITE, wait=3.0)


def evaluate(folder: Path, provider: Provider, first: str, second: str) -> None:
    write_tree(folder, {
        "team.yaml": EXPERIMENT, "config/tiers/T4.yaml": TIER,
        "config/agents/reader.md": READER.format(name="reader", model=first),
        "config/agents/second.md": READER.format(name="second", model=second),
    })  # fmt: skip
    env = {"ANTHROPIC_BASE_URL": provider.url, "ANTHROPIC_API_KEY": "sk-ant-canary-0123456789"}
    said = scylla("evaluate", "team.yaml", "--yes", "--json", cwd=folder, env=env)
    assert said.code == 0, said.err


@pytest.mark.parametrize(
    ("aliases", "models", "usd"),  # of 100 tokens in and 25 out, at $0.1 and $0.5 or at $4 and $20 a million
    [(("haiku", "inherit"), {HAIKU, SONNET}, 0.0000225), (("sonnet", "opus"), {SONNET, OPUS}, 0.0009)],
    ids=["haiku and inherit", "sonnet and opus"],
)
def test_parallel_sub_agents_finish_within_the_trials_budget(
    tmp_path: Path, aliases: tuple[str, str], models: set[str], usd: float
) -> None:
    with serve(Team()) as provider:
        evaluate(tmp_path, provider, *aliases)
    (line,) = (tmp_path / "runs/team/results.jsonl").read_text().splitlines()
    row = json.loads(line)
    assert (row["outcome"], row["passed"], row["attempts"]) == ("completed", True, 1), row["reason"]
    assert (row["tools"], row["turns"], row["requests"]) == ({"Agent": 2, "Bash": 1}, 3, 5)
    assert {body["model"] for body in provider.requests if user_texts(body)[-1] == TASK} == models
    assert (row["side_requests"], row["side_usd"]) == (1, pytest.approx(usd))
    assert row["usd"] == pytest.approx(4 * 0.00045 + usd)


@pytest.mark.parametrize(
    ("aliases", "models"),
    [
        (("best", "opusplan"), {OPUS, "claude-sonnet-5-5"}),
        (("sonnet[1m]", "opus[1m]"), {"claude-sonnet-5-5", OPUS}),
    ],
    ids=["best and opusplan", "with long contexts"],
)
def test_sub_agents_may_ask_for_what_their_alias_means(
    tmp_path: Path, aliases: tuple[str, str], models: set[str]
) -> None:
    with serve(Team()) as provider:
        evaluate(tmp_path, provider, *aliases)
    (line,) = (tmp_path / "runs/team/results.jsonl").read_text().splitlines()
    assert json.loads(line)["outcome"] == "completed"
    assert {body["model"] for body in provider.requests if user_texts(body)[-1] == TASK} == models
