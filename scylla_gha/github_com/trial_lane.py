"""Lane of a trial: a repository on github.com that is leased and reset before the trial, and read and freed after it.

The administrator's token leases and resets it; if an earlier step of the job does so, it writes a `TrialLane`. Later
requests use the token of the agent's user. This user sees its own unsubmitted reviews, but sees branch protection
rules only if it administers the repository.
"""

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from scylla_gha.config.github_files import rendered
from scylla_gha.counting import counted
from scylla_gha.errors import FixtureError, GitHubError, ToolError
from scylla_gha.github_com.accounts import FixtureAccounts, limits_of, retries_of, site_of
from scylla_gha.github_com.canonical import StateDifference
from scylla_gha.github_com.commands import FixtureSession, bindings_of
from scylla_gha.github_com.leases import LeasedError
from scylla_gha.github_com.replay import TrialReplay
from scylla_gha.github_com.replay_subjects import ReplayWords, read_details
from scylla_gha.github_com.view import FixtureReference, FixtureView, view_of
from scylla_gha.hub.git_store import NO_COMMIT
from scylla_gha.hub.trial_files import exported_state, write_trial_files
from scylla_gha.model import Record
from scylla_gha.model.github_fixture import RepositoryPool
from scylla_gha.results_branch.clone import remote_from
from scylla_gha.system.git import run_git

_POLL_SECONDS: Final = 15.0
_MAX_READS: Final = 6
_MAX_SHOWN: Final = 5
_FETCHED: Final = "refs/lane/"
_FETCH_SECONDS: Final = 300.0


class TrialLane(Record):
    """Repository that was leased and reset for a cell (`lanes/<cell>.json`). It contains no secret."""

    fixture: str
    repository: str
    lane: int
    holder: str
    digest: str
    expires: str


def lanes_folder(run: Path) -> Path:
    """Return the folder of a run with the records of its cells' repositories."""
    return run / "lanes"


def lane_record(run: Path, cell: str) -> Path:
    """Return the file that records the repository of a cell."""
    return lanes_folder(run) / f"{cell}.json"


@dataclass(frozen=True, slots=True)
class LanePool:
    """Repositories of a fixture, and the environment with the tokens of its accounts."""

    fixture: str
    pool: RepositoryPool
    environ: Mapping[str, str] = field(repr=False)
    report: Callable[[str], None]

    def accounts(self, repository: str, admin: str | None = None) -> FixtureAccounts:
        """Return the clients of a repository; the user `admin`, if given, replaces the administrator."""
        pool = self.pool.model_copy(update={"admin": admin}) if admin else self.pool
        retries, limits = retries_of(self.report), limits_of(self.environ)
        return FixtureAccounts(pool, repository, self.environ, retries, limits)

    @property
    def may_reset(self) -> bool:
        """True if the environment has the administrator's token."""
        return self.accounts(self.pool.repositories[0]).has_token(self.pool.admin)


@dataclass(frozen=True, slots=True)
class LeaseTerms:
    """Holder of a lease, and how long to wait for a free repository.

    Attributes:
        holder: name in the lease, different for each cell.
        wait: pauses for the given seconds; returns True if the run is cancelled.
        wait_seconds: longest wait for a free repository.
    """

    holder: str
    wait: Callable[[float], object] = field(repr=False)
    wait_seconds: float = 3600.0


def lease_lane(
    pool: LanePool, reference: FixtureReference, terms: LeaseTerms, minutes: int, identity: str
) -> TrialLane:
    """Lease the first free repository, and reset it; if the reset fails, free the repository.

    Args:
        pool: repositories to choose from.
        reference: wanted state.
        terms: terms of the lease.
        minutes: length of the lease in minutes.
        identity: the agent's user.

    Raises:
        LeasedError: no repository became free within `wait_seconds`.
        ScyllaError: the repository cannot be reset to the fixture.
    """
    left = terms.wait_seconds
    while True:
        try:
            return _lease_first_free(pool, reference, terms.holder, minutes, identity)
        except LeasedError:
            if left <= 0 or terms.wait(min(left, _POLL_SECONDS)):
                raise
            left -= _POLL_SECONDS


def _lease_first_free(
    pool: LanePool, reference: FixtureReference, holder: str, minutes: int, identity: str
) -> TrialLane:
    refusals = []
    for lane, repository in enumerate(pool.pool.repositories):
        session = FixtureSession(reference, pool.accounts(repository), lane, holder, pool.report)
        try:
            facts = session.converge(minutes, identity, is_new=False)
        except LeasedError as error:
            refusals.append(str(error))
            continue
        return TrialLane(
            fixture=pool.fixture,
            repository=repository,
            lane=lane,
            holder=holder,
            digest=facts["digest"],
            expires=facts["lease"]["expires"],
        )
    raise LeasedError("\n".join(refusals))


def free_lane(pool: LanePool, reference: FixtureReference, lane: TrialLane) -> None:
    """Free the lease of a lane, unless another holder has taken it meanwhile.

    Raises:
        GitHubError: a request to GitHub failed.
    """
    accounts = pool.accounts(lane.repository)
    FixtureSession(reference, accounts, lane.lane, lane.holder, pool.report).release()


@dataclass
class LaneTrial:
    """A trial in a lane; the repository is read as the agent's user.

    Attributes:
        start: state before the agent starts, which equals the fixture.
    """

    pool: LanePool
    reference: FixtureReference
    lane: TrialLane
    identity: str
    start: FixtureView = field(init=False)

    def __post_init__(self) -> None:
        """Read the repository, and compare it with the fixture.

        Raises:
            FixtureError: the repository differs from the fixture.
            GitHubError: the repository cannot be read.
        """
        self.start = self._read({}, by_id_only=False)
        if different := visible_differences(self.start):
            lines = "\n".join(map(str, different[:_MAX_SHOWN]))
            raise FixtureError(
                f"{self.lane.repository}: differs from the fixture {self.lane.fixture} before the agent starts "
                f"({counted(len(different), 'difference')}); reset it, and run the cell again:\n{lines}"
            )

    @functools.cached_property
    def _accounts(self) -> FixtureAccounts:
        return self.pool.accounts(self.lane.repository, self.identity)

    @property
    def token(self) -> str:
        """Token of the agent's user."""
        return self._accounts.access(self.identity).token or ""

    @property
    def login(self) -> str:
        """Login of the agent's user."""
        return self._accounts.login(self.identity)

    @property
    def name(self) -> str:
        """Display name of the agent's user in the fixture."""
        return str(self.reference.world.bindings[f"user.{self.identity}"]["name"])

    def _read(self, ids: Mapping[str, str], *, by_id_only: bool) -> FixtureView:
        return view_of(self.reference, self._accounts, ids, by_id_only=by_id_only)

    def _settled(self) -> FixtureView:
        """Read the repository until two readings are equal, since GitHub's lists can be some seconds out of date."""
        ids = self.start.objects.ids()
        view = self._read(ids, by_id_only=True)
        for attempt in range(_MAX_READS):
            self._accounts.retries.pause(self._accounts.limits.backoff * 2**attempt, 0)
            before, view = view, self._read(ids, by_id_only=True)
            if before.state == view.state:
                return view
        raise GitHubError(
            f"{self.lane.repository}: its state still changes after {_MAX_READS} more readings; run the cell again"
        )

    def write_files(self, folder: Path) -> None:
        """Write the trial's `github.json` and `github.bundle`, as a trial on the fixture's hub would.

        Raises:
            ScyllaError: the repository cannot be read.
        """
        world = self.reference.world
        start = exported_state(world.hub)
        view = self._settled()
        words = ReplayWords(view, world)
        refs = self._fetch(words.pulls)
        if _plain_refs(refs) != view.state.refs:  # lists can be out of date, git is not
            view = self._settled()
            words = ReplayWords(view, world)
            refs = self._fetch(words.pulls)
        if _plain_refs(refs) != view.state.refs:
            raise GitHubError(
                f"{self.lane.repository}: GitHub's API and git show different branches or tags; run the cell again"
            )
        TrialReplay(words, read_details(view, self._accounts.admin), refs).replay()
        write_trial_files(folder, world.hub, start, world.names)

    def _fetch(self, numbers: Mapping[int, int]) -> dict[str, str]:
        """Fetch branches, tags and heads of pull requests; return their commits by their ref names on the hub."""
        git = self.reference.world.git
        environ = {**self.pool.environ, "GITHUB_TOKEN": self.token}
        remote = remote_from(f"{site_of(environ)}/{self.lane.repository}.git", environ)
        specs = [f"+refs/{kind}:{_FETCHED}{kind}" for kind in ("heads/*", "tags/*", "pull/*/head")]
        _fetch_refs(git.path, remote.url, specs, remote.env)
        git.forget_refs()
        fetched = {name: sha for name, sha in git.refs().items() if name.startswith(_FETCHED)}
        commits: dict[str, str] = {}
        for name, sha in fetched.items():
            hub_name = _hub_name(name.removeprefix(_FETCHED), numbers)
            commits |= {hub_name: sha} if hub_name else {}
            git.set_ref(name, NO_COMMIT)
        return commits


def visible_differences(view: FixtureView) -> list[StateDifference]:
    """Return the differences from the fixture, without protection rules if the user cannot see them."""
    is_admin = view.state.viewer_can_administer
    return [part for part in view.differences if is_admin or not part.name.startswith("protection ")]


def _fetch_refs(git_dir: Path, url: str, specs: Sequence[str], env: Mapping[str, str]) -> None:
    options = ("--quiet", "--no-tags", "--no-write-fetch-head")
    for is_last in (False, True):
        done = run_git(git_dir, "fetch", *options, url, *specs, env=env, seconds=_FETCH_SECONDS)
        if not done.code:
            return
        if is_last:
            raise ToolError(f"git fetch failed: {done.message}")


def _plain_refs(refs: Mapping[str, str]) -> dict[str, str]:
    """Return the refs that are branches or tags."""
    return {name: sha for name, sha in refs.items() if not name.startswith("refs/pull/")}


def _hub_name(name: str, numbers: Mapping[int, int]) -> str | None:
    """Return the hub's name of a fetched ref; None for retired pull requests."""
    if not name.startswith("pull/"):
        return f"refs/{name}"
    number = numbers.get(int(name.split("/")[1]))
    return f"refs/pull/{number}/head" if number is not None else None


def lane_prompt(text: str, view: FixtureView) -> str:
    """Return a prompt with a lane's numbers, repository and logins instead of the fixture's.

    Args:
        text: prompt in the scenario's file, with placeholders such as `{{ pr.review_me.number }}`.
        view: reading of the lane's repository.
    """
    prompt = rendered(text, bindings_of(view))
    for user, login in view.dialect.logins.items():
        facts = view.reference.world.bindings.get(f"user.{user}")
        if facts is not None:
            login_in_fixture = re.escape(str(facts["login"]))
            prompt = re.sub(rf"(?<![\w.-]){login_in_fixture}(?![\w-])", lambda _, login=login: login, prompt)  # type: ignore[misc]
    return prompt
