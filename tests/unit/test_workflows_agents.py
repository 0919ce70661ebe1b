"""The weekly workflow that measures agent CLIs: what its jobs may do."""

from scylla_gha.agents import AGENTS
from tests.support.workflows import ROOT, WORKFLOWS, texts


def test_the_job_that_starts_the_newest_agents_has_no_token_and_the_one_that_writes_starts_none() -> None:
    jobs = WORKFLOWS["agents"]["jobs"]
    assert jobs["measure"]["permissions"] == {"contents": "read"}
    assert not any("github.token" in text or "secrets." in text for text in texts(jobs["measure"]))
    scripts = [step["run"] for step in jobs["tell"]["steps"] if "run" in step]
    assert scripts == ['scylla-gha agent-updates post "$RUNNER_TEMP/scylla-gha/updates/updates.json"']
    assert not any("checkout" in text for text in texts(jobs))


def test_it_starts_each_week_off_the_full_hour_and_by_hand() -> None:
    on = WORKFLOWS["agents"]["on"]
    assert set(on) == {"schedule", "workflow_dispatch"}
    assert [line["cron"] for line in on["schedule"]] == ["41 4 * * 3"]


def test_the_list_of_agents_is_not_in_the_workflow() -> None:
    text = (ROOT / ".github" / "workflows" / "agents.yml").read_text()
    assert not any(name in text for name, agent in AGENTS.items() if agent.package)
