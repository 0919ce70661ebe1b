"""Changes of branches and tags: what is moved at once, and what has to wait until pull requests are open again."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from scylla_gha.github_fixture.mutations import Mutation, ref_updates
from scylla_gha.github_fixture.recreation import is_complete
from scylla_gha.github_fixture.view import FixtureView

BRANCH = "refs/heads/"
Updates = dict[str, tuple[str | None, str | None]]


@dataclass
class RefPlan:
    """Objects before and after by ref: `first` at once, `then` when pull requests have been closed or reopened."""

    first: Updates = field(default_factory=dict)
    then: Updates = field(default_factory=dict)

    @property
    def is_empty(self) -> bool:
        """True if all refs are as they have to be."""
        return not self.first and not self.then


def plan_refs(view: FixtureView, recreated: set[str]) -> RefPlan:
    """Plan the changes of all branches and tags.

    GitHub reopens a pull request only while its branch has the commit with which it was closed. So the branch is
    brought there first, and moved when it is open.
    """
    wanted, actual = view.reference.state.refs, view.state.refs
    detours = _detours(view, recreated)
    busy = _busy(view, recreated)
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
    """Return where branches have to be while pull requests are closed or reopened."""
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


def _busy(view: FixtureView, recreated: set[str]) -> set[str]:
    """Return the branches of pull requests in the making: whoever makes them moves these, and brought some there."""
    busy = set()
    for key, pull in view.reference.objects.pulls.items():
        if key not in recreated and is_complete(view, key):
            continue
        busy.add(BRANCH + pull.head_ref_name)
        base = BRANCH + pull.base_ref_name
        if pull.state != "OPEN" and view.state.refs.get(base) == pull.base_ref_oid:
            busy.add(base)
    return busy


def mutation_of(view: FixtureView, updates: Mapping[str, tuple[str | None, str | None]]) -> list[Mutation]:
    """Return the atomic change of some refs; nothing if there are none."""
    return [ref_updates(view.state.id, updates)] if updates else []
