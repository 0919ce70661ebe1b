"""The real Claude Code CLI is held back from destructive commands by the safety net, and the trial goes on."""

import json
from pathlib import Path
from typing import Any

from tests.e2e.test_delivery import evaluate, only_attempt
from tests.support.hello import WRITE, hello
from tests.support.provider import Body, Say, Script, serve, tool_results

NOWHERE = "/srv/scylla-gha-nowhere"
DESTROY = Say("I clean up.", "Bash", {"command": f"cd / && rm -rf {NOWHERE[1:]}; true"})
NET = "api_retries: 0"
ON_THE_HOST = "the safety net: on the host the agent could change it"
OWN_HOOK = {"type": "command", "command": "touch own-hook-ran"}


def after(*answers: Say) -> Script:
    """These answers, one after each tool result; then the end. Judges are answered as usual."""

    def script(body: Body) -> Say:
        at = len(tool_results(body))
        return (answers[at] if at < len(answers) else Say("Done.")) if body.get("tools") else hello(body)

    return script


def write_tier(root: Path, settings: dict[str, Any]) -> None:
    """A tier whose one treatment is settings."""
    treatment = json.dumps({"settings": settings})
    sub_test = f"{{id: 00-own, description: Own, treatment: {treatment}}}"
    tier = f"id: T2\nname: Settings\nfocus: Hooks\nsub_tests:\n  - {sub_test}\n"
    (root / "config/tiers").mkdir(parents=True)
    (root / "config/tiers/T2.yaml").write_text(tier)


def only_row(root: Path) -> dict[str, Any]:
    (line,) = (root / "runs/probe/results.jsonl").read_text().splitlines()
    row: dict[str, Any] = json.loads(line)
    return row


def test_a_destructive_command_is_blocked_and_counted_and_the_trial_goes_on(tmp_path: Path) -> None:
    with serve(after(DESTROY, WRITE)) as provider:
        report = evaluate(tmp_path, provider, "T1/00-vanilla", limits=NET)
    attempt = only_attempt(tmp_path)
    assert (attempt["outcome"], attempt["delivery"]["proved"]) == ("completed", False), attempt["reason"]
    assert attempt["delivery"]["unverified"] == [ON_THE_HOST]
    assert attempt["safety_net"] == {"by": "hook", "calls": 2, "unread": 0, "unguarded": 0, "unseen": 0, "blocked": [
        {"rule": "delete-outside", "tool": "Bash", "command": DESTROY.arguments["command"]}]}  # fmt: skip
    told = tool_results(provider.requests[-1])
    assert "[safety net] delete-outside: blocked" in told[0], "the model must read what to do instead"
    assert told[1] == "Hello, World!"
    row = only_row(tmp_path)
    assert (row["passed"], row["blocked_calls"], row["unread_calls"]) == (True, 1, 0)
    arm = report["arms"][0]["arm"]
    assert f"{arm}: the safety net blocked 1 call, in 1 of 1 trial." in report["warnings"]


def test_without_the_hook_the_delivery_is_not_proved(tmp_path: Path) -> None:
    with serve(hello) as provider:
        evaluate(tmp_path, provider, "T1/00-vanilla", taken="--settings", limits=NET)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "completed"
    assert attempt["delivery"]["claimed"][0].startswith("safety net (hook events): it was not asked about Bash toolu_")


def test_where_no_call_was_made_nothing_is_proved_of_it(tmp_path: Path) -> None:
    with serve(lambda _: Say("Done.")) as provider:
        evaluate(tmp_path, provider, "T1/00-vanilla", taken="--settings", limits=NET)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "completed"
    assert "the safety net: no call that it watches was made" in attempt["delivery"]["unverified"]


def test_the_hooks_of_a_treatment_run_too(tmp_path: Path) -> None:
    write_tier(tmp_path, {"hooks": {"PreToolUse": [{"matcher": "Bash", "hooks": [OWN_HOOK]}]}})
    with serve(after(DESTROY)) as provider:
        evaluate(tmp_path, provider, "T2/00-own", limits=NET)
    attempt = only_attempt(tmp_path)
    assert attempt["delivery"]["unverified"][0] == ON_THE_HOST
    assert attempt["diff"]["files"] == ["own-hook-ran"]
    assert len(attempt["safety_net"]["blocked"]) == 1


def test_on_the_host_a_treatment_without_hooks_has_no_safety_net(tmp_path: Path) -> None:
    write_tier(tmp_path, {"disableAllHooks": True})
    with serve(hello) as provider:
        evaluate(tmp_path, provider, "T2/00-own", limits=NET)
    attempt = only_attempt(tmp_path)
    assert attempt["outcome"] == "completed"
    assert attempt["delivery"]["claimed"][0].startswith("safety net (hook events): it was not asked about Bash toolu_")


def test_it_can_be_turned_off_for_all_arms(tmp_path: Path) -> None:
    with serve(after(DESTROY)) as provider:
        evaluate(tmp_path, provider, "T1/00-vanilla", limits="api_retries: 0, safety_net: false")
    attempt = only_attempt(tmp_path)
    assert (attempt["outcome"], attempt["safety_net"]) == ("completed", None), attempt["reason"]
    assert "[safety net]" not in tool_results(provider.requests[-1])[0]
