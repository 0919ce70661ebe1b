"""Whole trials in repositories of a pool, on a served hub that stands for github.com."""

import datetime
from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.evaluate.lanes import free_lanes, lease_lanes
from scylla_gha.evaluate.run_cells import run_trial
from scylla_gha.github_com.leases import lease_of, take_lease
from scylla_gha.github_com.view import read_state
from scylla_gha.hub.faults import FaultInjector
from scylla_gha.hub.records import IssueRecord, PullRequestRecord
from scylla_gha.model.github_requests import GitHubFault
from scylla_gha.model.result import Result
from scylla_gha.model.trial import Outcome
from scylla_gha.plan.github_com import require_lane_tokens
from scylla_gha.store import read_lines
from tests.support.agents import ShellAgent
from tests.support.command import scylla
from tests.support.hub_scenario import GITHUB, SOLUTION
from tests.support.lanes import LaneSite, environment_of, lane_site, rows_of

LIVE = GITHUB.replace("  author:", "  keeper: {login: keeper, name: Kim Keeper, permission: admin}\n  author:")
# GH_REPO names the repository for gh, which then wants to be told the branch.
SOLVED = f"set -eu\n{SOLUTION}".replace("gh pr create", "gh pr create --head fix")
LIVE_EXPERIMENT = """\
id: live
question: Does it work on github.com?
scenarios: [001-fix]
agents: [oracle]
repetitions: 1
baseline: oracle
sandbox: host
github: github.com
"""
FAULTS = (
    GitHubFault(kind="server_error", operation="mutation updateRefs"),  # the lease is taken, and the answer lost
    GitHubFault(kind="lost_connection", operation="query rateLimit, repository", nth=2),
    GitHubFault(kind="secondary_limit", operation="POST */git/commits", seconds=0, nth=2),
    GitHubFault(kind="stale_reads", operation="mutation createPullRequest"),
    GitHubFault(kind="server_error", operation="info/refs git-upload-pack", status=503),
)


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LaneSite]:
    with lane_site(tmp_path, LIVE) as site:
        for name, text in site.environ.items():
            monkeypatch.setenv(name, text)
        yield site


def test_trials_are_reset_read_back_and_judged_though_github_has_faults(site: LaneSite) -> None:
    hub = site.served.hub
    site.served.endpoint.faults = FaultInjector(hub, FAULTS)
    context = site.context(ShellAgent(f"env; {SOLVED}"), repetitions=2)
    rows = rows_of(context)
    assert [(row.outcome, row.reason, row.passed) for row in rows] == [(Outcome.COMPLETED, "done", True)] * 2
    assert {(row.github, row.github_requests, row.github_gaps) for row in rows} == {("github.com", None, None)}
    merged = [(pull.number, pull.state) for pull in hub.state.where(PullRequestRecord)]
    assert merged == [(3, "closed"), (4, "open")], "the second trial began without the first one's pull request"
    seen = {request["fault"] for request in site.requests()}
    assert {fault.kind for fault in FAULTS} <= seen

    folder = context.settings.folder.cell(rows[0].cell).attempt(1)
    assert folder.file("prompt.md").read_text() == "Fix #2 of pool/demo-0.\n"
    assert not folder.file("github-requests.jsonl").exists()
    written = b"".join(path.read_bytes() for path in context.settings.folder.root.rglob("*") if path.is_file())
    assert [user for user in site.pool.accounts if site.token(user).encode() in written] == []
    environment = folder.file("transcript.jsonl").read_text()
    assert "GH_TOKEN=" in environment
    assert "SCYLLA_FIXTURE_TOKEN" not in environment
    accounts = site.accounts()
    assert lease_of(read_state(accounts.admin)[0]) is None


def test_a_careless_solution_fails_as_on_the_hub(site: LaneSite) -> None:
    (row,) = rows_of(site.context(ShellAgent(f"{SOLVED}gh issue close 1\n")))
    assert (row.passed, row.broken_guards) == (False, 1)


def test_a_repository_that_another_one_has_or_that_cannot_be_reset_is_no_failure_of_the_agent(site: LaneSite) -> None:
    accounts = site.accounts()
    state = read_state(accounts.admin)[0]
    take_lease(accounts, state, "somebody", 0, 1)
    context = site.context(ShellAgent(SOLVED))
    context.state.cancel.set()  # nobody waits for the lease
    site.served.hub.state.update(0, site.served.hub.state.where(IssueRecord)[0], title="Other")
    trial = run_trial(context, context.settings.plan.cells[0])
    assert trial.outcome is Outcome.FIXTURE_ERROR
    assert "pool/demo-0: is leased by somebody (lane 0) until" in trial.last.reason
    later = lambda: datetime.datetime.now(datetime.UTC) + datetime.timedelta(hours=1)  # noqa: E731 a clock
    assert take_lease(accounts, read_state(accounts.admin)[0], "another", 0, 1, later), "it ends by itself"


def test_without_the_administrators_token_a_trial_needs_a_repository_that_was_reset_before(
    site: LaneSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SCYLLA_FIXTURE_TOKEN_KEEPER")
    context = site.context(ShellAgent(SOLVED))
    environ = environment_of(site, "author")
    require_lane_tokens(context.settings.plan, context.settings.library, environ, leased=True)
    with pytest.raises(ConfigError, match="set SCYLLA_FIXTURE_TOKEN_KEEPER: token of keeper of demo"):
        require_lane_tokens(context.settings.plan, context.settings.library, environ, leased=False)
    (row,) = rows_of(context)
    assert row.outcome is Outcome.FIXTURE_ERROR
    assert "no repository was reset for this cell" in row.reason


def test_a_job_resets_its_repositories_in_a_step_and_its_agents_never_have_that_token(
    site: LaneSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = site.context(ShellAgent(f"env; {SOLVED}"))
    folder = context.settings.folder
    lines: list[str] = []
    leased = lease_lanes(context.settings.plan, folder, context.settings.library, site.environ, lines.append)
    assert (leased, lines[0].split(",")[0]) == (
        1,
        f"{context.settings.plan.cells[0].id}: pool/demo-0 matches the fixture",
    )
    monkeypatch.delenv("SCYLLA_FIXTURE_TOKEN_KEEPER")
    monkeypatch.delenv("SCYLLA_FIXTURE_TOKEN_AUTHOR")
    monkeypatch.setenv("SCYLLA_FIXTURE_TOKENS", f"author={site.token('author')}\n")
    before = len(site.requests())
    (row,) = rows_of(context)
    assert (row.outcome, row.passed) == (Outcome.COMPLETED, True)
    assert {request["identity"] for request in site.requests()[before:]} <= {"acct-author", None}
    assert site.token("keeper").encode() not in b"".join(
        path.read_bytes() for path in folder.root.rglob("*") if path.is_file()
    )
    free_lanes(context.settings.plan, folder, context.settings.library, site.environ, lines.append)
    assert lines[-1] == "pool/demo-0: freed"

    (again,) = rows_of(site.context(ShellAgent(SOLVED), repetitions=1, seed=1, limits={"timeout_seconds": 99}))
    assert again.outcome is Outcome.FIXTURE_ERROR, "nobody has reset it since"
    assert "pool/demo-0: differs from the fixture demo before the agent starts" in again.reason


def test_the_steps_of_a_job_by_the_command_line(site: LaneSite, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in site.environ:
        monkeypatch.delenv(name)
    (site.root / "config/experiments").mkdir()
    (site.root / "config/experiments/live.yaml").write_text(LIVE_EXPERIMENT)
    solution = site.root / "scenarios/core/001-fix/solution/solution.sh"
    solution.write_text(SOLVED)
    servers = {name: text for name, text in site.environ.items() if name.startswith("GITHUB_")}
    job = {**servers, "GITHUB_RUN_ID": "7", "GITHUB_RUN_ATTEMPT": "1", "GITHUB_OUTPUT": str(site.root / "out"),
           "GITHUB_ACTIONS": "true", "SCYLLA_CACHE": str(site.root / "cache")}  # fmt: skip
    admin = {"SCYLLA_FIXTURE_TOKENS": "".join(f"{user}={site.token(user)}\n" for user in site.pool.accounts)}
    agent = {"SCYLLA_FIXTURE_TOKENS": f"author={site.token('author')}"}
    planned = scylla("plan", "live", "--github", cwd=site.root, env=job)
    assert planned.code == 0, planned.err
    refused = scylla("cell", "live", "--shard", "0", "--github", cwd=site.root, env={**job, **agent})
    assert "set SCYLLA_FIXTURE_TOKEN_KEEPER: token of keeper of demo" in refused.err

    leased = scylla("fixture", "lease", "live", "--shard", "0", cwd=site.root, env={**job, **admin})
    assert leased.code == 0, leased.err
    assert f"::add-mask::{site.token('keeper')}" in leased.err
    assert leased.out == "leased and reset: 1 repository\n"
    run = scylla("cell", "live", "--shard", "0", "--github", cwd=site.root, env={**job, **agent})
    assert run.code == 0, run.err
    (row,) = read_lines(site.root / "runs/live/shards/000/results.jsonl", Result)
    assert (row.outcome, row.passed, row.github) == (Outcome.COMPLETED, True, "github.com")
    freed = scylla("fixture", "free", "live", "--shard", "0", cwd=site.root, env={**job, **admin})
    assert "pool/demo-0: freed" in freed.err
