"""What becomes of each agent CLI with a manifest if the model's provider fails, is silent or answers by half.

The gateway's log decides, whatever exit code or success the CLI reports. Three CLIs meet the faults that end a session
in seconds, and one meets those at which many CLIs wait until the time limit.
"""

from pathlib import Path

import pytest

from tests.support.agent_clis import attempts, diligent, evaluate
from tests.support.provider import Body, Fail, Hang, Hangup, Say, Script, serve, tool_results

CLIS = ("copilot", "kimi-code", "qwen-code")
ENOUGH, SHORT = 100, 60  # seconds of trials that end by themselves, and of trials that end at their limit


def after_work(answer: Say | Fail | Hang | Hangup) -> Script:
    """Let the agent write the file, and then answer with this."""
    return lambda body: answer if tool_results(body) else diligent(body)


def endless(body: Body) -> Say:
    """Ask for the shell again and again."""
    return diligent({**body, "messages": []})


QUICK: list[tuple[str, Script, str, str]] = [
    ("401", lambda _: Fail(401), "", "provider_error"),
    ("400 after work", after_work(Fail(400)), "", "agent_error"),
    ("a cut answer after work", after_work(Say("I wr", cut=True)), "", "provider_error"),
    ("a limit of requests", endless, ", requests: 2", "budget_exceeded"),
    ("a limit of turns", endless, ", turns: 2", "budget_exceeded"),
]
LONG: list[tuple[str, Script, str, str]] = [
    ("429", lambda _: Fail(429), "", "provider_error"),
    ("500", lambda _: Fail(500), "", "provider_error"),
    ("a closed connection", lambda _: Hangup(), "", "provider_error"),
    ("silence", lambda _: Hang(), "", "provider_error"),
    ("silence after work", after_work(Hang()), "", "provider_error"),
]
CASES = [
    *(pytest.param(name, ENOUGH, *case[1:], id=f"{name}: {case[0]}") for name in CLIS for case in QUICK),
    *(pytest.param(CLIS[-1], SHORT, *case[1:], id=f"{CLIS[-1]}: {case[0]}") for case in LONG),
]


@pytest.mark.parametrize(("name", "seconds", "script", "limits", "outcome"), CASES)
def test_the_outcome_is_what_the_gateway_saw(
    tmp_path: Path, name: str, seconds: int, script: Script, limits: str, outcome: str
) -> None:
    with serve(script) as provider:
        evaluate(tmp_path, name, provider.url, seconds=seconds, limits=limits)
    (attempt,) = attempts(tmp_path).values()
    assert attempt["outcome"] == outcome, attempt["reason"]
