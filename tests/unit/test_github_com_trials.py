"""Whole trials in repositories of a pool, on a served hub that stands for github.com."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scylla_gha.model.trial import Outcome
from tests.support.agents import ShellAgent
from tests.support.hub_scenario import GITHUB, SOLUTION
from tests.support.lanes import LaneSite, lane_site, rows_of

LIVE = GITHUB.replace("  author:", "  keeper: {login: keeper, name: Kim Keeper, permission: admin}\n  author:")
# GH_REPO names the repository for gh, which then wants to be told the branch.
SOLVED = f"set -eu\n{SOLUTION}".replace("gh pr create", "gh pr create --head fix")


@pytest.fixture
def site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[LaneSite]:
    with lane_site(tmp_path, LIVE) as site:
        for name, text in site.environ.items():
            monkeypatch.setenv(name, text)
        yield site


def test_a_trial_is_read_back_and_judged_as_one_on_the_hub(site: LaneSite) -> None:
    (row,) = rows_of(site.context(ShellAgent(SOLVED)))
    assert (row.outcome, row.reason, row.passed) == (Outcome.COMPLETED, "done", True)
    assert (row.github, row.github_requests, row.github_gaps) == ("github.com", None, None)
    folder = site.context(ShellAgent()).folder.cell(row.cell).attempt(1)
    assert folder.file("prompt.md").read_text() == "Fix #2 of pool/demo-0.\n"
