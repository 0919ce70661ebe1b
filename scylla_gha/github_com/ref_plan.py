"""Decide which pull requests are created anew, and plan the moves of branches and tags.

Changes that can be repeated safely are sent in batches, one GraphQL document per batch.
"""

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from scylla_gha.github_api.client import FieldError, GitHubRepository, GraphQLRequest
from scylla_gha.github_com.snapshot import PullSnapshot, SubmittedReview
from scylla_gha.github_com.view import FixtureView

NO_OBJECT: Final = "0" * 40
ANY_OBJECT: Final = "*"  # the ref may have any commit
_MAX_BATCH: Final = 20  # changes; GitHub ends a request after ten seconds
BRANCH = "refs/heads/"
Updates = dict[str, tuple[str | None, str | None]]


@dataclass(frozen=True, slots=True)
class Mutation:
    """One GraphQL mutation: name and input. `user` None: the administrator sends it."""

    name: str
    fields: Mapping[str, Any]
    user: str | None = None

    @property
    def is_removal(self) -> bool:
        """True for deletions; they count as done if the object does not exist any more."""
        return self.name.startswith("delete")


@dataclass(frozen=True, slots=True)
class FailedMutation:
    """Change that GitHub refused, with the reason."""

    mutation: Mutation
    error: FieldError

    def __str__(self) -> str:
        """Return the mutation's name and GitHub's reason."""
        return f"{self.mutation.name}: {self.error.message}"


def batches(mutations: Sequence[Mutation]) -> Iterator[tuple[str | None, list[Mutation]]]:
    """Yield batches of at most twenty consecutive changes of one user."""
    for user, group in itertools.groupby(mutations, key=lambda mutation: mutation.user):
        listed = list(group)
        for at in range(0, len(listed), _MAX_BATCH):
            yield user, listed[at : at + _MAX_BATCH]


def send_mutations(client: GitHubRepository, mutations: Sequence[Mutation], what: str) -> list[FailedMutation]:
    """Send changes in one request; return those that GitHub refused. It makes the others nevertheless."""
    inputs = {f"i{at}": mutation.fields for at, mutation in enumerate(mutations)}
    types = ", ".join(
        f"$i{at}: {mutation.name[0].upper()}{mutation.name[1:]}Input!" for at, mutation in enumerate(mutations)
    )
    calls = " ".join(
        f"m{at}: {mutation.name}(input: $i{at}) {{ clientMutationId }}" for at, mutation in enumerate(mutations)
    )
    request = GraphQLRequest(f"mutation({types}) {{ {calls} }}", what, "contents: write", inputs)
    failed = []
    for error in client.graphql(request).errors:
        mutation = mutations[int(error.name[1:])] if error.name[1:].isdecimal() else mutations[0]
        if not (mutation.is_removal and error.kind == "NOT_FOUND"):
            failed.append(FailedMutation(mutation, error))
    return failed


def ref_updates(repository: str, updates: Mapping[str, tuple[str | None, str | None]]) -> Mutation:
    """Return one atomic change of refs, which GitHub refuses if a ref has moved meanwhile.

    Args:
        repository: global id.
        updates: commits before and after the change, by ref; None: the ref does not exist.
    """
    changes = [
        {
            "name": name,
            **({} if before == ANY_OBJECT else {"beforeOid": before or NO_OBJECT}),
            "afterOid": after or NO_OBJECT,
            "force": True,
        }
        for name, (before, after) in sorted(updates.items())
    ]
    return Mutation("updateRefs", {"repositoryId": repository, "refUpdates": changes})


@dataclass
class RefPlan:
    """Moves of refs (commits before and after): `first`, and `then`, after pull requests are closed or reopened."""

    first: Updates = field(default_factory=dict)
    then: Updates = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if no ref has to move."""
        return not self.first and not self.then


def plan_refs(view: FixtureView, recreated: set[str]) -> RefPlan:
    """Plan the changes of all branches and tags.

    GitHub reopens a pull request only while its branch is at the commit at which the pull request was closed. So the
    branch is first moved to that commit, and to its final commit after reopening.
    """
    wanted, actual = view.reference.state.refs, view.state.refs
    detours = _detours(view, recreated)
    busy = _branches_of_incomplete_pulls(view, recreated)
    default = f"{BRANCH}{view.state.default_branch_ref}"
    plan = RefPlan()
    for name in sorted({*wanted, *actual}):
        current, final = actual.get(name), wanted.get(name)
        if name in busy or (final is None and name == default):
            continue
        detour = detours.get(name, final)
        if current != detour:
            plan.first[name] = (current, detour)
        if detour != final:
            plan.then[name] = (detour, final)
    return plan


def _detours(view: FixtureView, recreated: set[str]) -> dict[str, str]:
    """Return, by branch, the commit that it needs while its pull request is closed or reopened."""
    detours = {}
    for key, pull in view.objects.pulls.items():
        wanted = view.reference.objects.pulls[key]
        if key in recreated or pull.merged:
            continue
        if pull.state == "CLOSED" and (wanted.state == "OPEN" or pull.head_ref_oid != wanted.head_ref_oid):
            detours[BRANCH + pull.head_ref_name] = pull.head_ref_oid
        elif wanted.state == "CLOSED" and pull.state == "OPEN":
            detours[BRANCH + pull.head_ref_name] = wanted.head_ref_oid
    return detours


def _branches_of_incomplete_pulls(view: FixtureView, recreated: set[str]) -> set[str]:
    """Return the branches of incomplete pull requests; `PullBuilder` moves them."""
    busy = set()
    for key, pull in view.reference.objects.pulls.items():
        if key not in recreated and is_complete(view, key):
            continue
        busy.add(BRANCH + pull.head_ref_name)
        base = BRANCH + pull.base_ref_name
        if pull.state != "OPEN" and view.state.refs.get(base) == pull.base_ref_oid:
            busy.add(base)
    return busy


def ref_mutations(view: FixtureView, updates: Mapping[str, tuple[str | None, str | None]]) -> list[Mutation]:
    """Return one atomic change of all refs, or no change if there are no updates."""
    return [ref_updates(view.state.id, updates)] if updates else []


def pulls_to_recreate(view: FixtureView) -> dict[str, str]:
    """Return, by key, why pull requests must be created anew: changes that GitHub cannot undo."""
    reasons = {key: next(_reasons(view, key, pull), None) for key, pull in view.objects.pulls.items()}
    return {key: reason for key, reason in reasons.items() if reason is not None}


def _reasons(view: FixtureView, key: str, pull: PullSnapshot) -> Iterator[str]:
    wanted = view.reference.objects.pulls[key]
    if pull.merged and not wanted.merged:
        yield "it was merged"
    if pull.head_ref_name != wanted.head_ref_name or view.differs(key, "author"):
        yield "it has another branch or author"
    if any(isinstance(view.objects.extras.get(review.id), SubmittedReview) for review in pull.reviews):
        yield "a review was submitted"
    names = [name for name in view.objects.reviews if name.startswith(f"{key}/")]
    if any(view.differs(name, "state", "commit", "author") for name in names):
        yield "a review was dismissed"
    order = view.canonical[key]["reviews"]
    if order != view.reference.canonical[key]["reviews"][: len(order)]:
        yield "a review is missing"
    yield from _thread_reasons(view, key, pull)


def _thread_reasons(view: FixtureView, key: str, pull: PullSnapshot) -> Iterator[str]:
    expected, threads = view.reference.canonical[key]["threads"], view.canonical[key]["threads"]
    is_at_head = pull.head_ref_oid == view.reference.objects.pulls[key].head_ref_oid
    for name, thread in threads.items():
        if name not in view.objects.lines:
            yield f"the first comment of the thread {name} was deleted"
        fixed = [field for field in thread if field not in ("is_resolved", "comments", "is_outdated")]
        if any(thread[field] != expected[name][field] for field in fixed):
            yield f"the thread {name} is on other lines"
        if is_at_head and thread["is_outdated"] != expected[name]["is_outdated"]:
            yield f"the thread {name} is outdated" if thread["is_outdated"] else f"the thread {name} is not outdated"
    for review, names in threads_by_review(view, key).items():
        if review in view.objects.reviews and any(name not in threads for name in names):
            yield "a thread was deleted"


def threads_by_review(view: FixtureView, key: str) -> dict[str, list[str]]:
    """Return the keys of a pull request's threads by the key of the review that started them.

    Threads of reviews without text, and threads on whole files, are under "": they can be started at any time.
    """
    objects = view.reference.objects
    reviews = {review.id: name for name, review in objects.reviews.items()}
    threads: dict[str, list[str]] = {}
    for name, thread in objects.threads.items():
        if name.startswith(f"{key}/"):
            review = "" if thread.subject_type == "FILE" else reviews.get(thread.comments[0].review, "")
            threads.setdefault(review, []).append(name)
    return threads


def texts_to_repeat(view: FixtureView) -> set[str]:
    """Return the keys of comments after a missing comment: they are deleted and written again to keep the order."""
    repeated: set[str] = set()
    for key in view.reference.objects.subjects:
        if key in view.canonical:
            repeated |= _after_first_difference(
                view.reference.canonical[key]["comments"], view.canonical[key]["comments"]
            )
            threads = view.reference.canonical[key].get("threads", {})
            for name, thread in view.canonical[key].get("threads", {}).items():
                repeated |= _after_first_difference(threads[name]["comments"], thread["comments"])
    return repeated


def _after_first_difference(wanted: Sequence[str], actual: Sequence[str]) -> set[str]:
    equal = next((at for at, (left, right) in enumerate(zip(wanted, actual, strict=False)) if left != right), None)
    return set() if equal is None else set(actual[equal:])


def has_all_texts(view: FixtureView, key: str) -> bool:
    """Return whether a subject that exists has all comments, reviews and threads of the fixture."""
    wanted, actual = view.reference.objects, view.objects
    groups = (wanted.comments, actual.comments), (wanted.reviews, actual.reviews), (wanted.lines, actual.lines)
    return all(name in texts for names, texts in groups for name in names if name.startswith(f"{key}/"))


def is_complete(view: FixtureView, key: str) -> bool:
    """Return whether a subject has all texts of the fixture, and is merged if the fixture's is."""
    if key not in view.objects.subjects or not has_all_texts(view, key):
        return False
    wanted = view.reference.objects.pulls
    return key not in wanted or not wanted[key].merged or view.objects.pulls[key].merged
