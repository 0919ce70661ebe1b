"""Repositories for whole trials on a served hub that stands for github.com: seeded, with tokens unlike the logins."""

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from scylla_gha.agents import InstalledAgent
from scylla_gha.config.library import ConfigSources, Library
from scylla_gha.evaluate.context import RunContext, RunSettings
from scylla_gha.github_api.client import RetryPolicy
from scylla_gha.github_com import token_variable
from scylla_gha.github_com.accounts import FixtureAccounts, limits_of
from scylla_gha.github_com.converge import Convergence
from scylla_gha.github_com.view import make_reference
from scylla_gha.hub.fixture import StartCommit
from scylla_gha.hub.trial_files import REQUESTS_FILE
from scylla_gha.model.github_fixture import RepositoryPool
from scylla_gha.model.result import Result
from scylla_gha.plan.cells import plan_cells
from scylla_gha.plan.selection import CellSelection
from scylla_gha.prepare.start_state import own_files_commit
from scylla_gha.store.run_folder import RunFolder
from tests.support.agents import BUILT_IN, ShellAgent
from tests.support.fixture_repositories import empty_site
from tests.support.hub_scenario import ID, write_hub_scenario
from tests.support.hub_server import ServedHub, serving_hub
from tests.support.records import make_experiment

FIXTURE = "demo"


@dataclass
class LaneSite:
    """A project with the small scenario, and seeded repositories for it on a served hub."""

    root: Path
    served: ServedHub
    pool: RepositoryPool
    environ: dict[str, str]

    def token(self, user: str) -> str:
        """Token of a fixture's user."""
        return self.environ[token_variable(user)]

    def requests(self) -> list[dict[str, Any]]:
        """The requests so far, as the log has them."""
        lines = (self.served.folder / REQUESTS_FILE).read_text().splitlines()
        return [json.loads(line) for line in lines]

    def accounts(self, lane: int = 0) -> FixtureAccounts:
        """Clients of a lane's repository."""
        retries = RetryPolicy(lambda _: None, seconds=30.0, sleep=lambda _: None)
        return FixtureAccounts(self.pool, self.pool.repositories[lane], self.environ, retries, limits_of(self.environ))

    def context(self, agent: ShellAgent | None = None, **experiment: object) -> RunContext:
        """A run of the scenario on github.com by an agent."""
        library = Library.here(self.root)
        fields = {"id": "live", "scenarios": (ID,), "agents": ("sh",), "baseline": "sh", "github": "github.com",
                  "retry": {"attempts": 1, "backoff_seconds": 0.0}, **experiment}  # fmt: skip
        plan = plan_cells(make_experiment(**fields), library, {"sh": BUILT_IN}, CellSelection())
        installed = {"sh": InstalledAgent(agent or ShellAgent(), "", "1")}
        return RunContext(RunSettings(plan, RunFolder(self.root / "runs"), ConfigSources(library), installed))


@contextmanager
def lane_site(root: Path, github: str, lanes: int = 1) -> Iterator[LaneSite]:
    """Write the project, with a fixture's `github.yaml`, and serve its seeded repositories."""
    file = write_hub_scenario(root) / "scenario.yaml"
    file.write_text(file.read_text().replace(", not_forced: true", ""))  # which github.com cannot tell
    folder = root / "fixtures" / FIXTURE
    (folder / "github.yaml").write_text(github)
    names = [f"pool/demo-{number}" for number in range(lanes)]
    hub, pool = empty_site(root / "site", folder, FIXTURE, names, renames=True)
    tokens = {user: f"lane-token-of-{user}-{4711 * (number + 1)}" for number, user in enumerate(pool.accounts)}
    ids = {login: hub.state.user(login) for login in pool.accounts.values()}
    hub.tokens = {tokens[user]: record.id for user, login in pool.accounts.items() if (record := ids[login])}
    (root / "config").mkdir(exist_ok=True)
    pools = {"fixtures": {FIXTURE: pool.model_dump(mode="json")}}
    (root / "config/github-fixtures.yaml").write_text(yaml.safe_dump(pools))
    with serving_hub(hub, root / "served") as served:
        address = f"http://127.0.0.1:{served.port}"
        environ = {"GITHUB_API_URL": f"{address}/api/v3", "GITHUB_SERVER_URL": address,
                   **{token_variable(user): token for user, token in tokens.items()}}  # fmt: skip
        site = LaneSite(root, served, pool, environ)
        start = own_files_commit(folder, root / "cache")
        for lane in range(lanes):
            scratch = root / f"seeded-{lane}"
            scratch.mkdir()
            reference = make_reference(FIXTURE, folder, scratch, StartCommit(*start) if start else None, {})
            Convergence(reference, site.accounts(lane), lambda _: None).run()
        yield site


def environment_of(site: LaneSite, *users: str) -> Mapping[str, str]:
    """The variables of a job that has the tokens of these users alone."""
    names = {token_variable(user) for user in users}
    return {name: text for name, text in site.environ.items() if name.startswith("GITHUB_") or name in names}


def rows_of(context: RunContext) -> list[Result]:
    """Run all cells and return their rows."""
    from scylla_gha.collect import rows
    from scylla_gha.evaluate.run_cells import run_cells

    run_cells(context, context.settings.plan.cells, lambda *_: None)
    return list(rows(context.settings.plan, context.settings.folder, context.settings.library))
