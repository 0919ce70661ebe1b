"""Journeys with the real gh and git against `scylla-gha hub serve`, as a reader of docs/hub.md starts it."""

import io
import json
import os
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.hub_clients import octokit_at, pygithub_at
from tests.support.hub_journey import JOURNEYS, Journey
from tests.support.hub_server import BIN
from tests.support.pages import ROOT, python_parts

SERVED = JOURNEYS / "served"
# Journeys that end at what the contract lacks, by the message of their first failing line.
GAPS = {"issue-lifecycle": "Mutation.pinIssue is not available"}


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What `hub serve --json` prints."""
    folder = tmp_path_factory.mktemp("serve")
    argv = [sys.executable, "-m", "scylla_gha", "hub", "serve", str(SERVED), "--user", "tester", "--json",
            "--workflows", "none"]  # fmt: skip
    env = {**os.environ, "SCYLLA_CACHE": str(folder / "cache"), "HOME": str(folder)}
    with subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        try:
            yield json.loads("".join([*iter(process.stdout.readline, "}\n"), "}"]))
        finally:
            process.send_signal(signal.SIGINT)


@pytest.mark.parametrize("name", sorted(path.stem for path in SERVED.glob("*.txtar")))
def test_a_journey_passes_or_ends_at_a_gap_that_names_itself(served: dict[str, Any], name: str, tmp_path: Path) -> None:
    variables = {"ORG": "octo-org", "RANDOM_STRING": f"x-{name}", "GH_HOST": "github.com"}
    clients = {"PATH": f"{BIN}:{os.environ['PATH']}", "HOME": str(tmp_path), **served["environment"]}
    failure = Journey(lambda _: clients, "octo-tester", tmp_path, variables).first_failure(SERVED / f"{name}.txtar")
    assert GAPS[name] in (failure or "") if name in GAPS else failure is None, failure


def test_the_example_of_the_page_runs(served: dict[str, Any]) -> None:
    (example,) = python_parts(ROOT / "docs/hub.md")
    argv = [sys.executable, "-c", example.replace("northgate-library/loanbook", "octo-org/seed")]
    clients = {"PATH": os.environ["PATH"], **served["environment"]}
    assert subprocess.run(argv, env=clients, capture_output=True, text=True, check=True).stdout.startswith("[")


def addresses(served: dict[str, Any]) -> list[str]:
    """The address that docs/hub.md names, and the port alone, which people try first."""
    documented = served["environment"]["GITHUB_API_URL"]
    assert documented == f"http://127.0.0.1:{served['port']}/api/v3"
    return [documented, documented.removesuffix("/api/v3")]


@pytest.mark.parametrize("number", [0, 1])
def test_pygithub_works_at_the_address(served: dict[str, Any], number: int) -> None:
    address, token = addresses(served)[number], served["environment"]["GH_TOKEN"]
    repository = pygithub_at(address, token).get_repo("octo-org/seed")
    issue = repository.create_issue("From PyGithub", body="Text", labels=["bug"])
    for text in ("One", "Two"):
        issue.create_comment(text)
    issue.update()
    assert (issue.comments, [comment.body for comment in issue.get_comments()]) == (2, ["One", "Two"])
    issue.edit(state="closed")
    assert repository.get_branch("main").commit.get_statuses().totalCount == 0
    branch, path = f"py-{number}", f"py-{number}.txt"
    repository.create_git_ref(f"refs/heads/{branch}", repository.get_branch("main").commit.sha)
    repository.create_file(path, "Add", "text\n", branch=branch)
    pull = repository.create_pull(base="main", head=branch, title="A file")
    pull.create_issue_comment("Please look.")
    assert [file.filename for file in pull.get_files()] == [path]
    assert pull.merge().merged
    release = repository.create_git_release(f"v1.{number}", "First", "Notes")
    release.upload_asset_from_memory(io.BytesIO(b"data"), 4, "data.bin")
    assert [asset.name for asset in release.get_assets()] == ["data.bin"]
    with urllib.request.urlopen(repository.get_archive_link("tarball", branch)) as archive:
        assert archive.headers["Content-Disposition"].startswith("attachment; filename=octo-org-seed-")


@pytest.mark.parametrize("number", [0, 1])
def test_octokit_works_at_the_address(served: dict[str, Any], number: int, tmp_path: Path) -> None:
    address, token = addresses(served)[number], served["environment"]["GH_TOKEN"]
    script = """
        const { data: issue } = await octokit.rest.issues.create({ ...at, title: "From octokit", labels: ["bug"] });
        await octokit.rest.issues.createComment({ ...at, issue_number: issue.number, body: "One" });
        const labels = await octokit.paginate(octokit.rest.issues.listLabelsForRepo, { ...at, per_page: 1 });
        const { viewer } = await octokit.graphql("{ viewer { login } }");
        const { data, headers } = await octokit.rest.repos.downloadZipballArchive({ ...at, ref: "main" });
        const { data: release } = await octokit.rest.repos.createRelease({ ...at, tag_name: "js-" + issue.number });
        const asset = { ...at, release_id: release.id, name: "a.txt", data: "text" };
        await octokit.rest.repos.uploadReleaseAsset({ baseUrl: undefined, url: release.upload_url, ...asset });
        const { data: assets } = await octokit.rest.repos.listReleaseAssets({ ...at, release_id: release.id });
        console.log(JSON.stringify([labels.length > 0, viewer.login, data.byteLength > 100, assets[0].name,
                                    headers["content-disposition"].slice(0, 35)]));
    """
    assert octokit_at(address, token, tmp_path, script, "seed") == [
        True, "octo-tester", True, "a.txt", "attachment; filename=octo-org-seed-",
    ]  # fmt: skip
