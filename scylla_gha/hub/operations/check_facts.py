"""Combined status of the checks of a commit."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.cell import HubSession

StatusState = Literal["ERROR", "EXPECTED", "FAILURE", "PENDING", "SUCCESS"]
_STATES: Final[Mapping[str, StatusState]] = {
    "success": "SUCCESS",
    "neutral": "SUCCESS",
    "skipped": "SUCCESS",
    "error": "ERROR",
    "failure": "FAILURE",
    "pending": "PENDING",
    "expected": "EXPECTED",
}
_WORST_FIRST: Final[tuple[StatusState, ...]] = ("ERROR", "FAILURE", "EXPECTED", "PENDING", "SUCCESS")
_COUNTED: Final = ("failing", "expected", "pending")


def checks_of(session: HubSession, repository: int, sha: str) -> list[CheckRecord]:
    """Return the check runs and statuses of a commit: of each name, and of each workflow, the last one."""
    last: dict[tuple[object, ...], CheckRecord] = {}
    for check in session.state.where(CheckRecord, sha=sha, repository=repository):
        last[check.kind, check.name, check.run] = check
    return list(last.values())


def state_of_check(check: CheckRecord) -> StatusState:
    """Return the state that a check has in its commit's rollup."""
    if check.conclusion is None or (check.kind == "check_run" and check.status != "completed"):
        return "PENDING"
    return _STATES.get(check.conclusion.lower(), "FAILURE")


def rollup_state(checks: Iterable[CheckRecord]) -> StatusState | None:
    """Return the worst state of checks; None if there are none."""
    states = {state_of_check(check) for check in checks}
    return next((state for state in _WORST_FIRST if state in states), None)


def unmet_checks(required: Sequence[str], checks: Iterable[CheckRecord]) -> str | None:
    """Return, in GitHub's words, which required checks have not succeeded; None if all have.

    Of several, GitHub counts those that failed, are expected or are pending, and leaves out those that run.
    """
    last = {check.name: check for check in checks}
    missing = {name: _standing(last.get(name)) for name in required}
    missing = {name: standing for name, standing in missing.items() if standing is not None}
    counts = Counter(missing.values())
    if len(missing) <= 1:
        return next((f'Required status check "{name}" is {standing}.' for name, standing in missing.items()), None)
    parts = [f"{counts[standing]} {standing}" for standing in _COUNTED if counts[standing]]
    whole = f"{len(missing)} of {len(required)} required status checks"
    if len(counts) == 1 and "failing" not in counts:
        return f"{whole} are {next(iter(counts))}."
    return f"{whole} have not succeeded{': ' if parts else ''}{' and '.join(parts)}."


def _standing(check: CheckRecord | None) -> str | None:
    if check is None:
        return "expected"
    state = state_of_check(check)
    if state != "PENDING":
        return None if state == "SUCCESS" else "failing"
    return check.status.replace("_", " ") if check.kind == "check_run" else "pending"
