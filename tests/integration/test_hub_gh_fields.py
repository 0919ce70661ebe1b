"""gh reads with all of its `--json` fields, and finds each of them in the hub's GraphQL interface."""

import json
import subprocess
from collections.abc import Iterator

import pytest

from scylla_gha.hub.trial_files import REQUESTS_FILE
from tests.support.hub import AUTHOR, NAME, OWNER, READER, REVIEWER
from tests.support.hub_contents import filled_hub
from tests.support.hub_server import ServedHub, serving_hub

FULL_NAME = f"{OWNER}/{NAME}"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServedHub]:
    folder = tmp_path_factory.mktemp("served")
    with serving_hub(filled_hub(folder / "hub"), folder / "trial") as hub:
        yield hub


def fields(served: ServedHub, *command: str) -> str:
    """Return the fields of a command that gh names."""
    ran = subprocess.run(
        [*command, "--json"], env=served.environment(), cwd=served.folder, capture_output=True, text=True, check=False
    )
    return ",".join(line.strip() for line in ran.stderr.splitlines() if line.startswith("  "))


@pytest.mark.parametrize(
    ("command", "least"),
    [
        (("repo", "view", FULL_NAME), 60),
        (("repo", "list", OWNER), 60),
        (("issue", "list", "-R", FULL_NAME), 20),
        (("issue", "view", "2", "-R", FULL_NAME), 20),
        (("issue", "status", "-R", FULL_NAME), 20),
        (("pr", "list", "-R", FULL_NAME), 40),
        (("pr", "view", "1", "-R", FULL_NAME), 40),
        (("pr", "status", "-R", FULL_NAME), 40),
        (("pr", "checks", "1", "-R", FULL_NAME), 8),
        (("label", "list", "-R", FULL_NAME), 7),
        (("release", "list", "-R", FULL_NAME), 7),
        (("release", "view", "v1", "-R", FULL_NAME), 14),
    ],
    ids=lambda value: " ".join(value[:2]) if isinstance(value, tuple) else "",
)
def test_every_field_of_a_command_is_read(served: ServedHub, command: tuple[str, ...], least: int) -> None:
    names = fields(served, "gh", *command)
    answer = json.loads(served.run("gh", *command, "--json", names))
    record = answer[0] if isinstance(answer, list) else answer
    if command[1] == "status":
        record = next(group[0] for group in record.values() if group)
    assert len(record) >= least
    assert set(record) == set(names.split(","))
    entries = [json.loads(line) for line in (served.folder / REQUESTS_FILE).read_text().splitlines()]
    assert [entry["gaps"] for entry in entries if entry["gaps"]] == []


def test_gh_shows_a_pull_request_with_reviews_and_comments(served: ServedHub) -> None:
    view = served.run("gh", "pr", "view", "1", "-R", FULL_NAME)
    assert f"reviewers:\t{REVIEWER} (Changes requested), {READER} (Monalisa) (Requested)" in view
    assert "additions:\t2" in view
    comments = served.run("gh", "pr", "view", "1", "-R", FULL_NAME, "--comments")
    assert [line for line in comments.splitlines() if line in ("I see.", "Not so.")] == ["I see.", "Not so."]
    checks = served.run("gh", "pr", "checks", "1", "-R", FULL_NAME, code=1)
    assert [line.split("\t")[:2] for line in checks.splitlines()] == [["test", "fail"], ["lint", "pass"]]


@pytest.mark.parametrize(
    ("command", "message"),
    [
        (("pr", "view", "99"), "Could not resolve to a PullRequest with the number of 99."),
        (("issue", "view", "99"), "Could not resolve to an issue or pull request with the number of 99."),
    ],
)
def test_gh_names_what_is_missing(served: ServedHub, command: tuple[str, ...], message: str) -> None:
    assert message in served.run("gh", *command, "-R", FULL_NAME, code=1)


def test_gh_finds_no_repository_of_that_name(served: ServedHub) -> None:
    answer = served.run("gh", "repo", "view", "octo-org/none", token=AUTHOR, code=1)
    assert "Could not resolve to a Repository with the name 'octo-org/none'." in answer
