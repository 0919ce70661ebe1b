"""Check runs, check suites and commit statuses over the hub's REST interface."""

import datetime
from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.operations.check_facts import unmet_checks
from scylla_gha.hub.records import UserRecord
from tests.support.hub import NAME, OWNER, READER, REPO, Caller, make_hub

BOT = "checker[bot]"
NOW = datetime.datetime(2026, 1, 5, tzinfo=datetime.UTC)
RUN = {"name": "ci", "head_sha": "topic", "output": {"title": "T", "summary": "S"}}


def with_bot(folder: Path) -> Hub:
    hub = make_hub(folder)
    state, repository = hub.state, hub.state.repository(OWNER, NAME)
    assert repository is not None
    bot = state.create(0, UserRecord(id=state.new_id(), created_at=state.now(), login=BOT, kind="Bot"))
    state.update(0, repository, permissions=(*repository.permissions, (bot.id, "write")))
    hub.tokens = {**hub.tokens, BOT: bot.id}
    return hub


def test_a_check_run_is_made_by_an_app_and_completed(tmp_path: Path) -> None:
    """https://docs.github.com/rest/checks/runs"""
    hub = with_bot(tmp_path)
    bot, caller = Caller(hub, BOT), Caller(hub)
    refused = caller.rest("POST", f"{REPO}/check-runs", RUN)
    assert (refused.status, refused.body["message"]) == (403, "You must authenticate via a GitHub App.")
    check = bot.rest("POST", f"{REPO}/check-runs", RUN).body
    assert (check["status"], check["conclusion"], check["app"]["slug"]) == ("queued", None, "checker")
    note = {"path": "src/app.py", "start_line": 1, "end_line": 2, "annotation_level": "warning", "message": "Odd"}
    output = {"title": "T2", "summary": "S2", "annotations": [note]}
    done = bot.rest("PATCH", f"{REPO}/check-runs/{check['id']}", {"conclusion": "failure", "output": output}).body
    assert (done["status"], done["conclusion"], done["output"]["annotations_count"]) == ("completed", "failure", 1)
    assert caller.get(f"{REPO}/check-runs/{check['id']}/annotations")[0]["message"] == "Odd"
    assert caller.get(f"{REPO}/check-runs/{check['id']}") == done
    assert bot.rest("POST", f"{REPO}/check-runs", {**RUN, "status": "completed"}).status == 422
    assert bot.rest("POST", f"{REPO}/check-runs", {**RUN, "head_sha": "none"}).status == 422


def test_the_last_check_run_of_a_name_counts_and_suites_hold_them(tmp_path: Path) -> None:
    """https://docs.github.com/rest/checks/runs#list-check-runs-for-a-git-reference"""
    hub = with_bot(tmp_path)
    bot, caller = Caller(hub, BOT), Caller(hub)
    for fields in ({"conclusion": "failure"}, {"conclusion": "success"}, {"name": "lint", "conclusion": "success"}):
        bot.rest("POST", f"{REPO}/check-runs", {**RUN, **fields})
    url = f"{REPO}/commits/topic"
    latest = caller.get(f"{url}/check-runs")
    assert [(one["name"], one["conclusion"]) for one in latest["check_runs"]] == [
        ("ci", "success"),
        ("lint", "success"),
    ]
    assert caller.get(f"{url}/check-runs?filter=all")["total_count"] == 3
    assert caller.get(f"{url}/check-runs?check_name=lint")["total_count"] == 1
    (suite,) = caller.get(f"{url}/check-suites")["check_suites"]
    assert (suite["conclusion"], suite["head_branch"], suite["latest_check_runs_count"]) == ("success", "topic", 2)
    assert caller.get(f"{REPO}/check-suites/{suite['id']}") == suite
    assert caller.get(f"{REPO}/check-suites/{suite['id']}/check-runs")["total_count"] == 2
    assert latest["check_runs"][0]["check_suite"]["id"] == suite["id"]


def test_the_last_status_of_each_context_makes_the_combined_one(tmp_path: Path) -> None:
    """https://docs.github.com/rest/commits/statuses"""
    hub = make_hub(tmp_path)
    caller = Caller(hub)
    sha = caller.get(f"{REPO}/commits/topic")["sha"]
    url = f"{REPO}/statuses/{sha}"
    assert caller.get(f"{REPO}/commits/topic/status")["state"] == "pending", "there is none"
    for state, expected in (("pending", "pending"), ("failure", "failure"), ("success", "success")):
        assert caller.rest("POST", url, {"state": state, "context": "ci/a", "description": "D"}).status == 201
        assert caller.get(f"{REPO}/commits/topic/status")["state"] == expected
    caller.rest("POST", url, {"state": "error"})
    combined = caller.get(f"{REPO}/commits/{sha}/status")
    assert (combined["state"], combined["total_count"]) == ("failure", 2)
    listed = caller.get(f"{REPO}/commits/{sha}/statuses")
    assert [one["context"] for one in listed] == ["default", "ci/a", "ci/a", "ci/a"]
    assert Caller(hub, READER).rest("POST", url, {"state": "success"}).status == 403
    assert caller.rest("POST", url, {"state": "good"}).status == 422
    assert caller.rest("POST", url, {"state": "success", "description": "x" * 141}).status == 422
    assert caller.rest("POST", f"{REPO}/statuses/{'f' * 40}", {"state": "success"}).status == 422


@pytest.mark.parametrize(
    ("standings", "reason"),
    [
        (["success", "skipped"], None),
        (["success", "none"], 'Required status check "b" is expected.'),
        (["in_progress", "neutral"], 'Required status check "a" is in progress.'),
        (["queued", "success"], 'Required status check "a" is queued.'),
        (["none", "none"], "2 of 2 required status checks are expected."),
        (["in_progress", "in_progress"], "2 of 2 required status checks are in progress."),
        (["failure", "in_progress"], "2 of 2 required status checks have not succeeded: 1 failing."),
        (
            ["failure", "timed_out", "none"],
            "3 of 3 required status checks have not succeeded: 2 failing and 1 expected.",
        ),
        (["failure", "timed_out", "success"], "2 of 3 required status checks have not succeeded: 2 failing."),
        (["in_progress", "queued"], "2 of 2 required status checks have not succeeded."),
    ],
)
def test_required_checks_are_missed_in_githubs_words(standings: list[str], reason: str | None) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/collaborating-on-repositories-with-code-quality-features/troubleshooting-required-status-checks"""
    checks = []
    for name, standing in zip("abc", standings, strict=False):
        is_running = standing in ("queued", "in_progress")
        fields: dict[str, Any] = {"status": standing} if is_running else {"conclusion": standing}
        record = CheckRecord(id=1, created_at=NOW, repository=1, sha="", name=name, kind="check_run", **fields)
        checks += [record] if standing != "none" else []
    assert unmet_checks("abc"[: len(standings)], checks) == reason
