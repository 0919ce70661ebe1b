"""Commands of `scylla-gha fixture` on one repository: seed, reset, status and cleanup; each returns a report."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GitHubError, ScyllaError
from scylla_gha.github_api.client import GitHubRepository, GraphQLRequest
from scylla_gha.github_com.accounts import FixtureAccounts
from scylla_gha.github_com.canonical import canonical_digest, name_of
from scylla_gha.github_com.converge import ConvergedRun, Convergence
from scylla_gha.github_com.leases import (
    FixtureLease,
    HeldLease,
    free_lease,
    lease_of,
    now_utc,
    push_commits,
    require_free,
    require_mark,
    take_lease,
)
from scylla_gha.github_com.ref_plan import (
    BRANCH,
    FailedMutation,
    Mutation,
    batches,
    pulls_to_recreate,
    ref_mutations,
    send_mutations,
)
from scylla_gha.github_com.repairs import milestone_requests, release_requests, removals
from scylla_gha.github_com.view import OBJECTS_MARK, FixtureReference, FixtureView, read_state
from scylla_gha.hub.records import id_of_node
from scylla_gha.model.github_fixture import REPOSITORIES_FILE

_PERMANENT: Final = (
    "timelines, edit marks and notifications stay",
    "an issue that was reopened keeps the reason REOPENED",
    "a review that was not submitted is visible only to its author; reset removes those of --agent",
)
_FACTS: Final = {"id": "database_id", "node_id": "id", "number": "number", "url": "url"}
_DOCUMENT: Final = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
    pullRequests(first: 100, orderBy: {field: CREATED_AT, direction: DESC}) {
        nodes { reviews(first: 1, states: [PENDING]) { nodes { id } } } } } }"""


@dataclass(frozen=True, slots=True)
class FixtureSession:
    """One repository of a fixture with the accounts that act in it."""

    reference: FixtureReference
    accounts: FixtureAccounts
    lane: int
    holder: str
    report: Callable[[str], None]

    def converge(self, minutes: int | None, agent: str | None = None, *, is_new: bool) -> dict[str, Any]:
        """Seed (`is_new`) or reset the repository, and take its lease for `minutes` (None: no lease).

        `agent` is the user whose token trials use; its unsubmitted reviews are removed.

        Raises:
            ConfigError: accounts or tokens are missing.
            GitHubError: GitHub refuses something, or the state does not become equal.
            RefusedError: the repository is not marked as one of this fixture, or another holder has leased it.
        """
        if is_new:
            self._require_accounts()
        convergence = Convergence(self.reference, self.accounts, self.report)
        view = convergence.read()
        require_mark(view.state, self.reference.name)
        require_free(view.state, self.holder, now_utc())
        if is_new and not view.is_equal:
            self.accounts.require_logins(self._actors())
        leased: dict[str, Any] = {}
        if minutes is not None:
            if view.state.is_empty and push_commits(self.reference, self.accounts, view.state):
                view = convergence.read()  # an empty repository cannot have a lease
            lease = take_lease(self.accounts, view.state, self.holder, self.lane, minutes)
            leased = {"lease": lease_facts(lease)}
        if agent is not None and (number := remove_pending_reviews(self.accounts.client(agent))):
            self.report(f"removed {counted(number, 'unsubmitted review')} of {agent}")
        run = self._run(convergence, view, is_leased=bool(leased))
        changes = {"created": sorted(set(run.created)), "recreated": run.recreated, "rounds": run.rounds}
        return {**self._facts(run.view), **changes, **leased}

    def _run(self, convergence: Convergence, view: FixtureView, *, is_leased: bool) -> ConvergedRun:
        """Repair the repository; if that fails, free the lease, and say so in the error."""
        try:
            return convergence.run(view)
        except ScyllaError as error:
            if is_leased:
                error.args = (f"{error}\n{self._freed()}",)
            raise

    def _freed(self) -> str:
        try:
            self.release()
        except ScyllaError as error:
            return f"the lease could not be freed ({error}); wait until it ends, or run `scylla-gha fixture cleanup`"
        return "the lease was freed"

    def release(self) -> None:
        """Free this holder's lease, if the repository still has it.

        Raises:
            GitHubError: a request to GitHub failed.
        """
        state = read_state(self.accounts.admin)[0]
        current = lease_of(state)
        if current is not None and current.lease.holder == self.holder:
            free_lease(self.accounts, state, current)

    def _actors(self) -> set[str]:
        """Return the users who create the fixture's objects, and the administrator."""
        return self.reference.authors() | {self.accounts.pool.admin}

    def _require_accounts(self) -> None:
        """Require all accounts and tokens that seeding needs, before the first change."""
        reference, accounts = self.reference, self.accounts
        accounts.require(self._actors(), reference.people())
        if self_reviews := reference.self_reviews():
            raise ConfigError(
                f"{REPOSITORIES_FILE}: accounts: the author of a pull request cannot approve or refuse "
                f"it, so give other accounts to the reviewers of {', '.join(self_reviews)}"
            )

    def status(self) -> dict[str, Any]:
        """Return how the repository differs from the fixture.

        Raises:
            GitHubError: a request to GitHub failed.
            RefusedError: the repository is not marked as one of this fixture.
        """
        return self._facts(self._read_marked())

    def cleanup(self, *, is_dry: bool) -> dict[str, Any]:
        """Remove objects that are not in the fixture, and free the holder's or a stale lease; `is_dry` only lists them.

        Raises:
            GitHubError: GitHub refuses something.
            RefusedError: the repository is not marked as one of this fixture, or another holder has leased it.
        """
        view = self._read_marked()
        require_free(view.state, self.holder, now_utc())
        current = lease_of(view.state)
        names = [*_extra_refs(view), *sorted(name_of(node) for node in view.objects.extras.values())]
        names += [f"lease of {current.lease}"] if current else []
        if not is_dry:
            self._remove(view, current)
        return {"repository": self.accounts.repository, "removed" if not is_dry else "would_remove": names}

    def _read_marked(self) -> FixtureView:
        view = Convergence(self.reference, self.accounts, self.report).read()
        require_mark(view.state, self.reference.name)
        return view

    def _remove(self, view: FixtureView, current: HeldLease | None) -> None:
        refs = {name: (view.state.refs[name], None) for name in _extra_refs(view)}
        listed: list[Mutation] = [*ref_mutations(view, refs), *removals(view, set(), set())]
        kept = set(view.objects.ids().values())
        listed = [change for change in listed if not kept & {str(part) for part in change.fields.values()}]
        failed: list[FailedMutation] = []
        for _, batch in batches(listed):
            failed += send_mutations(self.accounts.admin, batch, "remove objects that the fixture does not have")
        for request in (*milestone_requests(view), *release_requests(view)):
            if request.method == "DELETE":
                self.accounts.admin.send(request)
        if current is not None:
            free_lease(self.accounts, view.state, current)
        if failed:
            reasons = "\n".join(map(str, failed))
            raise GitHubError(
                f"{self.accounts.repository}: GitHub refused some removals; try `scylla-gha fixture reset`:\n{reasons}"
            )

    def _facts(self, view: FixtureView) -> dict[str, Any]:
        current = lease_of(view.state)
        return {
            "fixture": self.reference.name,
            "repository": self.accounts.repository,
            "lane": self.lane,
            "equal": view.is_equal,
            "seeded": view.state.mark(OBJECTS_MARK) is not None,  # stored at the end of seeding
            "digest": canonical_digest(view.canonical),
            "wanted_digest": canonical_digest(self.reference.canonical),
            "differences": [str(difference) for difference in view.differences],
            "to_recreate": pulls_to_recreate(view),
            "residue": _residue(view),
            "not_seeded": list(self.reference.not_seeded),
            "lease": lease_facts(current.lease) if current else None,
            "limit": view.limit.model_dump(mode="json"),
            "calls": self.accounts.calls,
            "bindings": bindings_of(view),
        }


def _residue(view: FixtureView) -> list[str]:
    """Describe the differences that no reset can remove; they are not part of the digest."""
    retired = [f"#{subject.number} is retired" for subject in view.objects.retired]
    merged = ["merged pull requests name a merge commit that GitHub made; it is on no branch"]
    return [*retired, *(merged if any(pull.merged for pull in view.objects.pulls.values()) else ()), *_PERMANENT]


def lease_facts(lease: FixtureLease) -> dict[str, Any]:
    """Return a lease as data; `stale`: it has ended, so anybody may take it."""
    return {**lease.model_dump(exclude={"nonce"}), "stale": lease.end <= now_utc()}


def _extra_refs(view: FixtureView) -> list[str]:
    default = f"{BRANCH}{view.state.default_branch_ref}"
    return [name for name in view.state.refs if name not in view.reference.state.refs and name != default]


def bindings_of(view: FixtureView) -> dict[str, dict[str, str | int]]:
    """Return this repository's values of a prompt's placeholders, such as the number of `pr.review_me`.

    Numbers differ from the hub's after an object was created anew. Runs, workflows and checks are left out.
    """
    bindings = {
        name: dict(facts)
        for name, facts in view.reference.world.bindings.items()
        if not name.startswith(("run.", "workflow.", "check."))
    }
    nodes = _nodes_by_name(view)
    for name, facts in bindings.items():
        if name.startswith("user."):
            facts["login"] = view.dialect.logins.get(name.partition(".")[2], facts["login"])
        elif name == "repo.main":
            owner, repository = view.dialect.repository.split("/")
            facts |= {
                "owner": owner,
                "name": repository,
                "full_name": view.dialect.repository,
                "url": f"https://github.com/{view.dialect.repository}",
            }
        node = nodes.get(name)
        if node is not None:
            facts |= {
                key: getattr(node, field) for key, field in _FACTS.items() if key in facts and hasattr(node, field)
            }
        for key, text in facts.items():
            if isinstance(text, str) and key in ("title", "name"):
                facts[key] = view.dialect.fill_placeholders(
                    view.reference.dialect.with_placeholders(text), view.numbers
                )
    return bindings


def _nodes_by_name(view: FixtureView) -> dict[str, Any]:
    """Return this repository's objects by their names in the fixture."""
    names = {id_: name for name, id_ in view.reference.world.names.items()}
    wanted, actual = view.reference.objects, view.objects
    nodes: dict[str, Any] = {}
    for wanted_objects, objects in zip((*wanted.groups, wanted.threads), (*actual.groups, actual.threads), strict=True):
        for key, node in wanted_objects.items():
            if (name := names.get(id_of_node(node.id) or 0)) is not None:
                nodes[name] = objects.get(key)
    return nodes


def remove_pending_reviews(client: GitHubRepository) -> int:
    """Remove the user's pending reviews in the hundred newest pull requests; return their number.

    Raises:
        GitHubError: the reviews cannot be read or removed.
    """
    owner, name = client.repository.split("/")
    what = "remove reviews that were not submitted"
    request = GraphQLRequest(_DOCUMENT, what, "pull-requests: write", {"owner": owner, "name": name})
    pulls = client.graphql(request).data["repository"]["pullRequests"]["nodes"]
    ids = [review["id"] for pull in pulls for review in pull["reviews"]["nodes"]]
    removals = [Mutation("deletePullRequestReview", {"pullRequestReviewId": id_}) for id_ in ids]
    failed = send_mutations(client, removals, what) if removals else []
    if failed:
        raise GitHubError(f"{client.repository}: cannot {what}: {failed[0].error.message}")
    return len(ids)
