"""Plans of experiments on github.com: what cannot be done there is refused before anything runs, with the reason."""

from pathlib import Path

import pytest
import yaml

from scylla_gha.config.library import Library
from scylla_gha.errors import ConfigError
from scylla_gha.images import SandboxImages
from scylla_gha.model.mode import Mode
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.github_com import check_github_com
from tests.support.agents import BUILT_IN
from tests.support.hub_scenario import GITHUB, ID, write_hub_scenario
from tests.support.records import make_experiment

KEEPER = GITHUB.replace("  author:", "  keeper: {login: keeper, permission: admin}\n  author:")
REVIEWED = """\
scripted_reviewers:
  - {reviewer: reader, pulls: {base: main}, reviews: [{event: COMMENT, body: Hm}]}
"""
CONDITIONS = """\
  - id: ordered
    what: It was commented after a push
    github: {query: pushes, exists: true, before: {query: issue, target: issue.crash, select: "comments[]"}}
  - id: written
    what: It was changed by the agent
    github: {query: issue, target: issue.crash, by: octocat}
  - id: green
    what: A run is green
    github: {query: runs, select: "[].conclusion", contains: success}
  - id: told
    what: It was closed
    github: {query: issue, target: issue.crash, select: "timeline[].event", contains: closed}
  - id: named
    what: A file names the issue
    git: {ref: fix, file_matches: {path: app.py, matches: "#{{ issue.crash.number }}"}}
progress:"""
SHARED = (
    "github-fixtures.yaml: accounts: the agent's user author has the account of the administrator; give it its own "
    "account, since the agent gets the token"
)
EXPERIMENT = make_experiment(id="live", scenarios=(ID,), agents=("oracle",), baseline="oracle", github="github.com")


def project(root: Path, github: str = KEEPER, *, admin: str = "keeper", conditions: str = "progress:") -> Library:
    file = write_hub_scenario(root) / "scenario.yaml"
    text = file.read_text().replace("progress:", conditions)
    if conditions == "progress:":
        text = text.replace(", not_forced: true", "")
    file.write_text(text)
    (root / "fixtures/demo/github.yaml").write_text(github)
    accounts = {"keeper": "my-keeper", "author": "my-author", "reader": "my-reader"}
    pool = {"repositories": ["pool/demo-0"], "admin": admin, "accounts": accounts}
    (root / "config").mkdir()
    (root / "config/github-fixtures.yaml").write_text(yaml.safe_dump({"fixtures": {"demo": pool}}))
    return Library.here(root)


def planned(library: Library, **fields: object) -> Plan:
    experiment = EXPERIMENT.model_copy(update=fields)
    return plan_cells(experiment, library, {"oracle": BUILT_IN})


def test_what_github_com_cannot_tell_is_refused_with_the_checkpoint_and_the_reason(tmp_path: Path) -> None:
    library = project(tmp_path, KEEPER + REVIEWED, admin="author", conditions=CONDITIONS)
    with pytest.raises(ConfigError) as caught:
        planned(library)
    before = f"experiment live: github: github.com: {ID}: "
    *lines, advice = str(caught.value).splitlines()
    assert [line.removeprefix(before) for line in lines] == [
        "checkpoints.clean: not_forced: GitHub does not list the pushes of a trial",
        "checkpoints.ordered: before: GitHub does not report the order of changes",
        "checkpoints.ordered: query: GitHub does not list the pushes of a trial",
        "checkpoints.written: by: GitHub names the authors of comments, reviews and threads, but not of other changes",
        "checkpoints.green: query: runs are not read from github.com",
        "checkpoints.told: select: timelines are not read from github.com",
        "checkpoints.named: contains the number of an issue or pull request, but numbers differ between repositories",
        "its fixture has scripted reviewers, but nobody reviews on github.com",
        SHARED,
    ]
    assert advice == "Choose other scenarios, or `github: hub`"
    assert planned(library, github="hub").cells


def test_fixtures_without_repositories_modes_of_the_hub_and_sandboxes_without_a_way_out_are_refused(
    tmp_path: Path,
) -> None:
    library = project(tmp_path)
    assert len(planned(library).cells) > 0
    with pytest.raises(ConfigError, match="oracle cannot reach it in the sandbox bubblewrap: an agent without a model"):
        plan_cells(EXPERIMENT, library, {"oracle": BUILT_IN}, images=SandboxImages("bubblewrap"))
    mode = Mode(id="tool", env={"TOOL_API": "{address}/api/v3"})
    arms = [Arm(id="tool.oracle", agent="oracle", version="1", mode=mode)]
    with pytest.raises(ConfigError, match=r"mode tool: env: TOOL_API contains the address of the hub"):
        check_github_com(EXPERIMENT, [library.scenario(ID)], arms, library)
    (tmp_path / "config/github-fixtures.yaml").write_text("fixtures: {}\n")
    with pytest.raises(ConfigError, match=f"{ID}: github-fixtures.yaml: fixtures: 'demo' is not listed"):
        planned(library)


def test_trials_on_github_com_have_keys_of_their_own(tmp_path: Path) -> None:
    library = project(tmp_path)
    keys = {planned(library, github=server).cells[0].key for server in ("hub", "github.com")}
    assert len(keys) == 2
