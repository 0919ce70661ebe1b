"""What `scylla-gha init` writes into an empty repository, run by act as it is: a report."""

from pathlib import Path

from tests.support import git_server, github_api
from tests.support.act import REF, TOOLKIT, actions, add_workflow
from tests.support.command import scylla
from tests.support.repository import environment

WORKFLOW = ".github/workflows/scylla.yml"


def test_an_empty_repository_gets_a_workflow_that_reports(tmp_path: Path) -> None:
    (tmp_path / "app").mkdir()
    one = actions(tmp_path, tmp_path / "app")
    said = scylla("init", "--yes", "--toolkit", f"{TOOLKIT}@{REF}", cwd=one.repository, env=environment(tmp_path))
    assert said.code == 0, said.err
    add_workflow(one.repository, "scylla.yml", (one.repository / WORKFLOW).read_text())  # without what act cannot take
    one.commit("What init wrote")
    inputs = {"experiment": "app", "lanes": "2", "parallelism": "2", "minutes": "60", "runs-on": "ubuntu-latest"}
    github = github_api.State()
    with git_server.serve(one.services / "git") as server, github_api.serving(github):
        one.env = {"GITHUB_API_URL": github.url, "GITHUB_SERVER_URL": server}
        ran = one.run("scylla.yml", payload={"inputs": inputs}, secrets={"GITHUB_TOKEN": github_api.TOKEN})
    assert set(ran.ended.values()) == {"succeeded"}, ran.log()
    (summary,) = ran.summaries
    assert "oracle" in summary
    assert "2 planned, 2 ran, 2 judged, 2 scored" in summary
    assert (one.artifact("scylla-report-app-1") / "report.md").is_file()
