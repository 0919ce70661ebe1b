"""Check that an experiment can work on github.com: its scenarios, repositories, accounts, modes and sandbox."""

import functools
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

from scylla_gha.config import load_yaml
from scylla_gha.config.library import Library
from scylla_gha.config.scenario_folder import ScenarioFolder
from scylla_gha.errors import ConfigError
from scylla_gha.github_com import token_variable
from scylla_gha.hub.actions_records import CheckRecord, RunRecord, WorkflowRecord
from scylla_gha.hub.fixture import StartCommit, build_fixture
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.records import RepositoryRecord, ReviewRecord
from scylla_gha.model.experiment import Experiment, SandboxName
from scylla_gha.model.github_condition import GitHubQuery, GitHubStart
from scylla_gha.model.github_fixture import REPOSITORIES_FILE, GitHubRepositories, RepositoryPool
from scylla_gha.model.github_views import PUSHES
from scylla_gha.model.plan import Arm, Plan
from scylla_gha.model.scenario import Checkpoint, Scenario
from scylla_gha.prepare.start_state import own_files_commit
from scylla_gha.prepare.tools import cache_root
from scylla_gha.sandboxes import SANDBOXES

_RUNS: Final = frozenset({"run", "runs", "check", "checks", "workflow", "workflows"})
_NUMBER: Final = re.compile(r"\{\{\s*[a-z_]+\.[a-z0-9_-]+\.(number|url)\s*\}\}")
_PARTS: Final = re.compile(r"\b(threads|comments|reviews)\b")  # of an object, whose authors GitHub names


def check_github_com(
    experiment: Experiment, folders: Sequence[ScenarioFolder], arms: Sequence[Arm], library: Library
) -> None:
    """Refuse scenarios and modes that need the hub, for an experiment on github.com.

    Raises:
        ConfigError: one line for each scenario, mode or account, with the reason.
    """
    tasks = [folder for folder in folders if folder.github is not None]
    pools = library.repositories() if tasks else GitHubRepositories(fixtures={})
    faults = [] if tasks else ["none of its scenarios has GitHub; remove `github`"]
    for folder in tasks:
        faults += (f"{folder.scenario.id}: {fault}" for fault in _scenario_faults(folder, pools))
    faults += _mode_faults(tasks, arms)
    if faults:
        raise ConfigError(
            "\n".join(f"experiment {experiment.id}: github: github.com: {fault}" for fault in faults)
            + "\nChoose other scenarios, or `github: hub`"
        )


def require_reachable(experiment: Experiment, arms: Sequence[Arm], sandbox: SandboxName) -> None:
    """Refuse agents without a model on github.com in a sandbox without a network; only the gateway has a proxy.

    Raises:
        ConfigError: an arm cannot reach github.com.
    """
    unable = [arm.id for arm in arms if arm.model is None]
    if unable and not SANDBOXES[sandbox].has_network:
        raise ConfigError(
            f"experiment {experiment.id}: github: github.com: {', '.join(unable)} cannot reach it in the "
            f"sandbox {sandbox}: an agent without a model has no proxy; set sandbox: host"
        )


def require_lane_tokens(plan: Plan, library: Library, environ: Mapping[str, str], *, leased: bool) -> None:
    """Check that the environment has the tokens that the first trial of an experiment on github.com needs.

    Args:
        plan: plan of the run.
        library: library with its scenarios.
        environ: environment with the tokens.
        leased: True if an earlier step leased and reset the repositories, so no administrator's token is needed.

    Raises:
        ConfigError: tokens are missing; the message names all.
    """
    missing: dict[str, str] = {}
    for name in sorted({cell.scenario for cell in plan.cells}):
        folder = library.scenario(name)
        if folder.github is None or folder.scenario.github is None or folder.scenario.source.fixture is None:
            continue
        pool = library.repositories().fixtures[folder.scenario.source.fixture]
        for user in (identity_of(folder), *(() if leased else (pool.admin,))):
            if not environ.get(token_variable(user), "").strip():
                missing[token_variable(user)] = f"{user} of {folder.scenario.source.fixture}"
    if missing:
        lines = "\n".join(f"set {variable}: token of {user}" for variable, user in missing.items())
        raise ConfigError(f"experiment {plan.experiment.id}: github: github.com: tokens are missing:\n{lines}")


def _scenario_faults(folder: ScenarioFolder, pools: GitHubRepositories) -> Iterator[str]:
    """Yield the reasons why a scenario can only run on the hub."""
    scenario = folder.scenario
    fixture, github = scenario.source.fixture, scenario.github
    if fixture is None or github is None or folder.github is None:
        return
    if github.hub_only:
        yield f"stays on the hub: {github.hub_only}"
    if fixture not in pools.fixtures:
        yield f"{REPOSITORIES_FILE}: fixtures: {fixture!r} is not listed, so it has no repository"
        return
    for checkpoint in scenario.checkpoints:
        yield from (f"checkpoints.{checkpoint.id}: {fault}" for fault in _checkpoint_faults(checkpoint))
    yield from _number_faults(load_yaml(folder.path / "scenario.yaml", Scenario))
    yield from _fixture_faults(_world(folder.github), github)
    yield from _identity_faults(identity_of(folder), pools.fixtures[fixture])


def _checkpoint_faults(checkpoint: Checkpoint) -> Iterator[str]:
    condition = checkpoint.github
    if condition is not None:
        if condition.before is not None:
            yield "before: GitHub does not report the order of changes"
        if condition.by is not None and not _PARTS.search(condition.select):
            yield "by: GitHub names the authors of comments, reviews and threads, but not of other changes"
        yield from _query_faults(condition)
    if checkpoint.git is not None and checkpoint.git.not_forced:
        yield "not_forced: GitHub does not list the pushes of a trial"


def _query_faults(query: GitHubQuery) -> Iterator[str]:
    if query.query == PUSHES:
        yield "query: GitHub does not list the pushes of a trial"
    if query.query in _RUNS:
        yield f"query: {query.query} are not read from github.com"
    if re.search(r"\btimeline\b", query.select):
        yield "select: timelines are not read from github.com"


def _number_faults(written: Scenario) -> Iterator[str]:
    """Yield the conditions on commits and files that name numbers, which differ in a repository on github.com."""
    for checkpoint in written.checkpoints:
        parts = (checkpoint.git, checkpoint.checkout)
        texts = [checkpoint.run or "", *(part.model_dump_json() for part in parts if part is not None)]
        if any(_NUMBER.search(text) for text in texts):
            yield (
                f"checkpoints.{checkpoint.id}: contains the number of an issue or pull request, but numbers differ "
                "between repositories"
            )
    changes = written.github.may_change if written.github else ()
    if any(_NUMBER.search(pattern) for change in changes for pattern in change.refs):
        yield (
            "github.may_change: refs contain the number of an issue or pull request, but numbers differ between "
            "repositories"
        )


@functools.cache
def _world(fixture: Path) -> FixtureWorld:
    """Return the state of a fixture; use only its records, since its git directory is removed."""
    with tempfile.TemporaryDirectory(prefix="fixture-") as scratch:
        start = own_files_commit(fixture, cache_root())
        return build_fixture(fixture, Path(scratch) / "hub", StartCommit(*start) if start else None)


def _fixture_faults(world: FixtureWorld, github: GitHubStart) -> Iterator[str]:
    state, fixture = world.hub.state, world.fixture
    may_push = any(change.refs or change.created for change in github.may_change)
    if fixture.scripted_reviewers:
        yield "its fixture has scripted reviewers, but nobody reviews on github.com"
    if fixture.rate_limit is not None:
        yield "its fixture sets a rate limit"
    if state.where(RunRecord):
        yield "its fixture has runs of workflows, which cannot be created on github.com"
    elif state.where(WorkflowRecord) and may_push:
        yield "its fixture has workflows, which pushes would queue on github.com"
    if state.where(CheckRecord, run=None):
        yield "its fixture has checks that no workflow made"
    if state.where(ReviewRecord, state="PENDING"):
        yield "its fixture has a pending review"
    if len(state.where(RepositoryRecord)) > 1:
        yield "its fixture has several repositories"


def identity_of(folder: ScenarioFolder) -> str:
    """Return the fixture's name for the agent's user; "" without GitHub."""
    identity = folder.scenario.github.identity if folder.scenario.github else ""
    users = _world(folder.github).fixture.users if folder.github else {}
    return next((name for name, user in users.items() if identity in (name, user.login)), identity)


def _identity_faults(identity: str, pool: RepositoryPool) -> Iterator[str]:
    login = pool.accounts.get(identity)
    if login is None:
        yield f"{REPOSITORIES_FILE}: accounts: the agent's user {identity} has no account; add one"
        return
    others = [user for user, account in pool.accounts.items() if account.lower() == login.lower() and user != identity]
    if identity == pool.admin or others:
        who = ", ".join([*others, *(["the administrator"] if identity == pool.admin else [])])
        yield (
            f"{REPOSITORIES_FILE}: accounts: the agent's user {identity} has the account of {who}; give it its own "
            "account, since the agent gets the token"
        )


def _mode_faults(folders: Sequence[ScenarioFolder], arms: Sequence[Arm]) -> Iterator[str]:
    modes = {mode.id: mode for folder in folders for arm in arms if (mode := folder.arm(arm).mode)}
    for mode in modes.values():
        names = sorted(name for name, text in mode.env.items() if "{address}" in text or "{socket}" in text)
        if names:
            yield (
                f"mode {mode.id}: env: {', '.join(names)} contains the address of the hub; its programs must reach "
                "github.com by themselves, with {token}"
            )
