from pathlib import Path

import pytest
import yaml

from scylla_gha.adoption.caller import (
    COMMENT_PATH,
    PATH,
    PULL_PATH,
    REGRESSION_PATH,
    Toolkit,
    toolkit_here,
    toolkit_named,
    toolkits_called,
    workflow_files,
)
from tests.support.library import write

SHA = "0123456789" * 4
OURS = Toolkit("octo-org/scylla-gha", "v1")


@pytest.mark.parametrize("text", ["octo-org/scylla-gha@v1", f"o/r@{SHA}", "o/r.x@feature/a"])
def test_a_toolkit_is_read_as_it_is_written(text: str) -> None:
    assert str(toolkit_named(text)) == text


@pytest.mark.parametrize("text", ["o/r", "o@v1", "o/r@", "o/r@v1 # x", "o/r@${{ x }}", "https://x/o/r@v1"])
def test_all_else_is_none(text: str) -> None:
    assert toolkit_named(text) is None


def test_only_a_whole_sha_pins() -> None:
    assert Toolkit("o/r", SHA).is_pinned
    assert not Toolkit("o/r", SHA[:12]).is_pinned
    assert not OURS.is_pinned


def test_calls_are_found_where_they_are_not_commented_out() -> None:
    text = f"""
      # uses: a/a/.github/workflows/evaluate.yml@v0
      uses: o/scylla-gha/.github/workflows/evaluate.yml@{SHA}  # v1
      - uses: "o/scylla-gha/.github/actions/setup@v2"
      - uses: actions/checkout@{SHA}
    """
    assert [str(each) for each in toolkits_called(text)] == [f"o/scylla-gha@{SHA}", "o/scylla-gha@v2"]


def test_the_written_workflow_tells_which_toolkit_it_calls(tmp_path: Path) -> None:
    toolkit = Toolkit("octo-org/scylla-gha", SHA)
    assert toolkit_here(tmp_path) is None
    for file in workflow_files("app", toolkit):
        write(tmp_path / file.path, file.content)
    assert toolkit_here(tmp_path) == toolkit


@pytest.mark.parametrize("path", [PATH, COMMENT_PATH, REGRESSION_PATH, PULL_PATH])
def test_a_written_workflow_permits_nothing_but_by_a_job(path: str) -> None:
    (text,) = (file.content for file in workflow_files("app", OURS) if file.path == path)
    workflow = yaml.safe_load(text)
    assert workflow["permissions"] == {}
    assert all(job["permissions"] for job in workflow["jobs"].values())
    scripts = [step["run"] for job in workflow["jobs"].values() for step in job.get("steps", ()) if "run" in step]
    assert all("${{" not in script for script in scripts)


def test_every_input_that_is_offered_is_handed_on() -> None:
    (text,) = (file.content for file in workflow_files("app", OURS) if file.path == PATH)
    workflow = yaml.safe_load(text)
    given = workflow["jobs"]["evaluate"]["with"]
    offered = workflow[True]["workflow_dispatch"]["inputs"]
    assert offered.keys() == given.keys() - {"results-branch", "environment"}
    assert all(f"inputs.{name}" in str(given[name]) for name in offered)
    assert offered["experiment"]["default"] == "app"
