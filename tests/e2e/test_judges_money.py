"""An agent that spends all it can, the real CLI, leaves enough of the experiment's budget for its judges."""

from pathlib import Path

from tests.support.faults import JUDGES, agents_repository, content, evaluate, left
from tests.support.provider import Body, Say, serve, tool_results

BUDGET = 3.5
MORE = Say("Once more.", "Bash", {"command": "true"}, output_tokens=30_000)
WRITE = Say("I write.", "Bash", {"command": "printf '#!/bin/sh\\necho hello\\n' >greet.sh"})


def spend(body: Body) -> Say:
    """The agent writes its answer and then goes on for as long as it is answered; judges are fair."""
    if not body.get("tools"):
        return content(body)
    return MORE if tool_results(body) else WRITE


def test_an_agent_that_spends_all_it_can_leaves_enough_for_its_judges(tmp_path: Path) -> None:
    agents_repository(tmp_path, judges=JUDGES, budget_usd=BUDGET)
    with serve(spend) as provider:
        said = evaluate(tmp_path, provider)
    assert "note: $1.92 of the $3.50 of budget_usd is reserved for the judges of each running cell" in said.err
    found = left(tmp_path)
    attempt = found.record("trial.json")["attempts"][-1]
    assert attempt["outcome"] == "budget_exceeded"
    assert 1.0 < attempt["usage"]["usd"] <= BUDGET - 1.92, "it went on until what is kept"
    judgment = found.record("judgment.json")
    assert [(one["judge"], one["lost"]) for one in judgment["answers"]] == [(name, None) for name in JUDGES]
    assert (judgment["error"], judgment["unjudged"], found.row["judged"]) == (None, None, True)
    assert found.row["usd"] + found.row["judge_usd"] <= BUDGET
