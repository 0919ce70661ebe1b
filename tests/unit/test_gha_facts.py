from pathlib import Path

import pytest

from scylla_gha.errors import ConfigError
from scylla_gha.gha.facts import facts_of
from tests.support.actions import SHA, step_in


def test_the_facts_are_those_of_the_runners_variables(tmp_path: Path) -> None:
    step = step_in(tmp_path)
    found = facts_of(step.environment(GITHUB_RUN_ATTEMPT="2", GITHUB_EVENT_PATH="/e.json"))
    assert (found.run_id, found.attempt, found.repository, found.sha) == (4711, 2, "octo/repo", SHA)
    assert found.run_url == "https://github.example/octo/repo/actions/runs/4711/attempts/2"
    assert (found.outputs, found.summary, found.environment) == (step.outputs, step.summary, tmp_path / "env")
    assert found.event == Path("/e.json")


def test_without_a_server_it_is_github_and_files_may_be_missing(tmp_path: Path) -> None:
    given = step_in(tmp_path).environment(GITHUB_SERVER_URL="", GITHUB_STEP_SUMMARY="")
    found = facts_of(given)
    assert (found.server_url, found.summary, found.event) == ("https://github.com", None, None)


@pytest.mark.parametrize(
    "name", ["GITHUB_RUN_ID", "GITHUB_RUN_ATTEMPT", "GITHUB_REPOSITORY", "GITHUB_SHA", "GITHUB_OUTPUT"]
)
def test_outside_of_a_step_it_says_so(tmp_path: Path, name: str) -> None:
    given = step_in(tmp_path).environment()
    del given[name]
    with pytest.raises(ConfigError, match=f"--github: {name} is not set; it is for a step of a workflow"):
        facts_of(given)


@pytest.mark.parametrize("value", ["0", "-1", "x", "1.5", "²"])
def test_a_number_is_a_number(tmp_path: Path, value: str) -> None:
    with pytest.raises(ConfigError, match=r"GITHUB_RUN_ID: .* is no number from 1 on"):
        facts_of(step_in(tmp_path).environment(GITHUB_RUN_ID=value))
