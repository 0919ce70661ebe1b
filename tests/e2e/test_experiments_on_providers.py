"""`models` and `instructions` with the real agent CLIs, and models and judges of four providers by scripted answers.

Each runs one scenario once. `models` runs two agents of the three here, and `instructions` two of the seven; all run by
`EXPERIMENTS=all pytest tests/e2e/test_experiments_on_providers.py`.
"""

import json
import os
import re
from pathlib import Path

import pytest

from scylla_gha.providers import PROVIDERS
from scylla_gha.providers.base import Body
from scylla_gha.providers.scripted import next_answer
from scylla_gha.providers.scripted_style import ScriptedAnswer, ScriptedStyle
from tests.support.agent_clis import WRITE
from tests.support.command import NO_ENGINE, scylla
from tests.support.model_apis import serving
from tests.support.panel import raw, reply

KEYS = dict.fromkeys(("ANTHROPIC", "OPENAI", "GEMINI", "OPENROUTER"), "sk-canary-1234567890")
# Parts of the experiments that run by default: globs over cells, and the number of their arms.
PARTS = {
    "models": (("*t0-01-vanilla.qwen-code.*", "*t0-01-vanilla.gemini-cli.*"), 7),
    "instructions": (("*.claude-code.*", "*.gemini-cli.*"), 4),
}
ARMS = {"models": 26, "instructions": 14}
ALL = os.environ.get("EXPERIMENTS") == "all"
PANEL = "3 judges of 3 providers (anthropic, openai, gemini)"
ITEM = re.compile(r"\\n- (\w+) \((\w+)")


def answer(style: ScriptedStyle, body: Body, _: str = "") -> ScriptedAnswer:
    """Answer an agent, or a judge, which brings no tools, with full points for every item that it is asked for."""
    text = json.dumps(body)
    if "# Judge these items" not in text:
        return next_answer(style, body, WRITE)
    items = ITEM.findall(text.partition("# Judge these items")[2].partition("# Progress steps")[0])
    return ScriptedAnswer(reply(*(raw(name, score=None if kind == "subjective" else 1.0) for name, kind in items)))


@pytest.mark.parametrize("name", PARTS)
def test_each_arm_works_and_the_panel_of_three_providers_judges(name: str, tmp_path: Path) -> None:
    globs, some = PARTS[name]
    arms = ARMS[name] if ALL else some
    parts = () if ALL else tuple(word for glob in globs for word in ("--only", glob))
    with serving(script=answer) as apis:
        addresses = {provider.base_url_variable: apis.url for provider in PROVIDERS.values() if provider.needs_key}
        env = {**{f"{key}_API_KEY": value for key, value in KEYS.items()}, **addresses, "DOCKER_HOST": NO_ENGINE}
        said = scylla(
            "evaluate",
            name,
            "--scenario",
            "001-hello-world",
            "--repetitions",
            "1",
            "--jobs",
            "2",
            "--yes",
            "--json",
            *parts,
            cwd=tmp_path,
            env=env,
            seconds=1800,
        )
    assert said.code == 0, said.err
    report = json.loads(said.out)
    assert report["counts"] == {"planned": arms, "ran": arms, "judged": arms, "scored": arms}, report["excluded"]
    assert report["delivery"] == [arms, arms]
    assert {arm["passed"] for arm in report["arms"]} == {1}
    assert len(set(report["judge_providers"].values())) == 3
    assert report["judge_usd"] > 0
    text = (tmp_path / "runs" / name / "report.md").read_text()
    assert PANEL in text
