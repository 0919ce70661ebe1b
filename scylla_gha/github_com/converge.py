"""Seed or reset a repository: read it, repair its differences from the fixture, and read it again until it is equal.

Repairs of existing objects can be repeated safely; most of them are sent in one request. Missing objects are created
with a marker. So a run that was interrupted at any request is finished by the next run.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import ApiRequestError
from scylla_gha.github_api.client import ApiRequest
from scylla_gha.github_com.accounts import FixtureAccounts
from scylla_gha.github_com.builder import FixtureBuilder, PullBuilder
from scylla_gha.github_com.leases import push_commits, record_object_ids, require_mark
from scylla_gha.github_com.ref_plan import (
    Mutation,
    RefPlan,
    batches,
    is_complete,
    plan_refs,
    pulls_to_recreate,
    ref_mutations,
    send_mutations,
)
from scylla_gha.github_com.repairs import (
    label_repairs,
    milestone_requests,
    opening,
    protection_repairs,
    release_requests,
    removals,
    settings_repairs,
    settings_requests,
    subject_repairs,
)
from scylla_gha.github_com.view import FixtureReference, FixtureView, view_of

_MAX_ROUNDS: Final = 8
_MAX_READS: Final = 4  # repeated readings if lists do not show new objects yet
_OUTDATED: Final = {404, 409, 422}  # HTTP statuses of requests that do not fit the repository's present state
_MAX_SHOWN: Final = 10


@dataclass
class ConvergedRun:
    """Result of a seed or reset.

    Attributes:
        view: the last reading of the repository.
        created: keys of created objects.
        recreated: reasons for creating pull requests anew, by key.
        rounds: number of rounds of changes.
    """

    view: FixtureView
    created: list[str] = field(default_factory=list)
    recreated: dict[str, str] = field(default_factory=dict)
    rounds: int = 0


class Convergence:
    """Brings one repository to the state of its fixture."""

    def __init__(self, reference: FixtureReference, accounts: FixtureAccounts, report: Callable[[str], None]) -> None:
        """Prepare for a repository; `report` gets one progress line per round."""
        self._reference, self._accounts, self._report = reference, accounts, report
        self._known: dict[str, str] = {}  # ids of objects that this run created, by key
        self._undeletable: set[str] = set()
        self._problems: list[str] = []

    def read(self) -> FixtureView:
        """Read the repository; read again if lists do not show all created objects yet.

        Raises:
            GitHubError: it cannot be read.
        """
        view = view_of(self._reference, self._accounts, self._known)
        for attempt in range(_MAX_READS):
            shown = view.objects.ids().values()
            if all(id_ in shown for id_ in self._known.values()):
                break
            self._accounts.retries.pause(self._accounts.limits.backoff * 2**attempt, 0)
            view = view_of(self._reference, self._accounts, self._known)
        return view

    def run(self, first: FixtureView | None = None) -> ConvergedRun:
        """Repair the repository until it is equal to the fixture; `first` is a recent reading.

        Raises:
            ConfigError: tokens are missing.
            GitHubError: GitHub refuses something, or the state does not become equal.
            RefusedError: the repository is not marked as one of this fixture.
        """
        outcome = ConvergedRun(first or self.read())
        require_mark(outcome.view.state, self._reference.name)
        for _ in range(_MAX_ROUNDS):
            if outcome.view.is_equal:
                push_commits(self._reference, self._accounts, outcome.view.state)
                record_object_ids(outcome.view, self._accounts)
                return outcome
            outcome.rounds += 1
            self._round(outcome)
            outcome.view = self.read()
        different = [str(difference) for difference in outcome.view.differences]
        reasons = "\n".join((*different[:_MAX_SHOWN], *dict.fromkeys(self._problems)))
        raise GitHubError(
            f"{self._accounts.repository}: differs from the fixture after {_MAX_ROUNDS} rounds:\n{reasons}"
        )

    def _round(self, outcome: ConvergedRun) -> None:
        """Repair the differences of one reading."""
        view = outcome.view
        recreated = pulls_to_recreate(view)
        outcome.recreated |= recreated
        for key in [name for name in self._known if name.partition("/")[0] in recreated]:
            del self._known[key]
        missing = self._missing(view, set(recreated))
        self._accounts.require(self._actors(view, missing))
        if push_commits(self._reference, self._accounts, view.state):
            return  # the first push creates the default branch, so read the repository again
        refs = plan_refs(view, set(recreated))
        lifts_rules = not refs.is_empty or bool(missing)
        self._report(f"{len(view.differences)} differences from the fixture, {len(missing)} objects to create")
        self._send(self._mutations(view, refs, set(recreated), lifts_rules=lifts_rules, builds=bool(missing)))
        outcome.created += [
            f"label:{name}" for name in view.reference.objects.labels if name not in view.objects.labels
        ]
        self._request([*settings_requests(view), *milestone_requests(view), *release_requests(view)])
        self._build(outcome, missing, recreated, refs)

    def _missing(self, view: FixtureView, recreated: set[str]) -> list[str]:
        """Return the keys of objects to create or complete."""
        wanted, actual = view.reference.objects, view.objects
        subjects = [key for key in wanted.subjects if key in recreated or not is_complete(view, key)]
        others = [
            name
            for name in view.reference.canonical
            if name.startswith(("milestone ", "release.")) and name not in view.canonical
        ]
        files = [key for key in actual.releases if view.differs(key, "assets")]
        return [*others, *subjects, *files]

    def _actors(self, view: FixtureView, missing: Sequence[str]) -> set[str]:
        """Return the users who create the missing objects, and the administrator."""
        canonical = view.reference.canonical
        users = {self._accounts.pool.admin}
        for key in missing:
            names = (name for name in canonical if name == key or name.startswith(f"{key}/"))
            users |= {canonical[name]["author"] for name in names if "author" in canonical[name]}
            pull = view.reference.objects.pulls.get(key)
            users |= {view.reference.user(pull.merged_by)} if pull and pull.merged_by else set()
        return users

    def _mutations(
        self, view: FixtureView, refs: RefPlan, recreated: set[str], *, lifts_rules: bool, builds: bool
    ) -> list[Mutation]:
        """Return the changes of one round, in the order in which they are sent."""
        listed = [*opening(view, lifts_rules=lifts_rules), *ref_mutations(view, refs.first)]
        listed += [*removals(view, recreated, self._undeletable), *settings_repairs(view), *label_repairs(view)]
        listed += subject_repairs(view, recreated)
        listed += ref_mutations(view, refs.then)
        if not builds:
            listed += protection_repairs(view, were_lifted=lifts_rules)
        return listed

    def _send(self, mutations: Sequence[Mutation]) -> None:
        for user, batch in batches([self._by_admin_without_token(mutation) for mutation in mutations]):
            client = self._accounts.client(user) if user else self._accounts.admin
            for failed in send_mutations(client, batch, "restore the state"):
                if failed.mutation.name == "deleteIssue":
                    self._undeletable.add(str(failed.mutation.fields["issueId"]))
                self._problems.append(str(failed))

    def _by_admin_without_token(self, mutation: Mutation) -> Mutation:
        """Return the change; if its user has no token, the administrator makes it."""
        if mutation.user is None or self._accounts.has_token(mutation.user):
            return mutation
        return Mutation(mutation.name, mutation.fields)

    def _request(self, requests: Sequence[ApiRequest]) -> None:
        for request in requests:
            try:
                self._accounts.admin.send(request)
            except ApiRequestError as error:
                if error.status not in _OUTDATED:
                    raise
                self._problems.append(str(error))

    def _build(self, outcome: ConvergedRun, missing: Sequence[str], recreated: dict[str, str], refs: RefPlan) -> None:
        """Create missing objects. If the plan is outdated, stop; the next round makes a new plan."""
        if not missing:
            return
        view = outcome.view
        current = {**view.state.refs, **{name: after for name, (_, after) in (refs.first | refs.then).items()}}
        builder = FixtureBuilder(
            view,
            self._accounts,
            self.read,
            {name: sha for name, sha in current.items() if sha},
            {key: subject.number for key, subject in view.objects.subjects.items()},
        )
        builder.created = self._known
        before = set(self._known)
        try:
            self._build_all(builder, missing, recreated)
        except ApiRequestError as error:
            if error.status not in _OUTDATED:
                raise
            self._problems.append(str(error))
        outcome.created += [key for key in self._known if key not in before or key in recreated]

    def _build_all(self, builder: FixtureBuilder, missing: Sequence[str], recreated: dict[str, str]) -> None:
        objects = builder.view.objects
        builder.build_milestones()
        builders = {}
        for key in missing:
            if key in self._reference.objects.pulls:
                existing = None if key in recreated else objects.pulls.get(key)
                builders[key] = PullBuilder(builder, key, existing)
        starts = [pull.start() for key, pull in builders.items() if key in recreated or key not in objects.pulls]
        builder.stage({name: sha for start in starts for name, sha in start.items()})
        for key in missing:
            if key in builders:
                builders[key].build()
            elif key in self._reference.objects.issues:
                builder.build_issue(key)
        builder.build_releases()
