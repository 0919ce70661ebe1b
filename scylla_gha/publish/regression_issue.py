"""The issue of a suite's regression: opened when it is confirmed, closed when it is over."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.issues import create_comment, find_issue, open_issue, update_issue
from scylla_gha.github.responses import Issue
from scylla_gha.model.publication import ArmVerdict, RegressionState, RunPage
from scylla_gha.report.regression_issue import alarm, alarm_marker, alarm_title, recovery, spread

LABEL: Final = "scylla-regression"
_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]{1,400000}) -->")
State = Literal["quiet", "alarm", "unconfirmed", "opened", "updated", "reopened", "still open", "recovered"]


@dataclass(frozen=True, slots=True)
class RegressionPost:
    """State of the issue, and its URL; empty: there is no issue."""

    state: State
    url: str = ""


@dataclass(frozen=True, slots=True)
class RegressionSuite:
    """The suite of an issue; `author` is our own login."""

    name: str
    experiment: str
    author: str
    page: RunPage


def open_regression(
    channel: GitHubRepository, suite: RegressionSuite, first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict]
) -> RegressionPost:
    """Open the issue, update it, or reopen it.

    Args:
        channel: to the repository.
        suite: whose issue.
        first: the first measurement, of all arms.
        confirmed: the confirming one, of those that do worse in both; one at least.

    Raises:
        GitHubError: GitHub refused.
    """
    arms = tuple(verdict.arm for verdict in confirmed)
    memory = RegressionState(suite=suite.name, arms=tuple(arm[:300] for arm in arms)[:500], run=suite.page.run)
    body = "\n".join((alarm_marker(suite.name), _line(memory), alarm(first, confirmed, suite.experiment, suite.page)))
    found = find_issue(channel, suite.author, alarm_marker(suite.name), LABEL)
    if found is None:
        made = open_issue(channel, suite.author, alarm_title(suite.experiment), body, LABEL)
        return RegressionPost("opened", made.html_url)
    before = regression_state(found, suite.name)
    made = update_issue(channel, found.number, body, "open")
    if found.state == "closed" or before is None or set(before.arms) != set(memory.arms):
        create_comment(channel, found.number, spread(arms, suite.page), suite.author)
    return RegressionPost("reopened" if found.state == "closed" else "updated", made.html_url)


def close_regression(
    channel: GitHubRepository, suite: RegressionSuite, standings: Sequence[ArmVerdict]
) -> RegressionPost:
    """Close the issue if every arm that it names is shown to be not worse; otherwise leave it open.

    Raises:
        GitHubError: GitHub refused.
    """
    found = find_issue(channel, suite.author, alarm_marker(suite.name), LABEL)
    if found is None or found.state == "closed":
        return RegressionPost("quiet")
    memory = regression_state(found, suite.name)
    named = {verdict.arm[:300]: verdict for verdict in standings}
    if memory is None or not all(arm in named and named[arm].not_worse for arm in memory.arms):
        return RegressionPost("still open", found.html_url)
    create_comment(channel, found.number, recovery((named[arm] for arm in memory.arms), suite.page), suite.author)
    update_issue(channel, found.number, found.body or "", "closed")
    return RegressionPost("recovered", found.html_url)


def regression_state(issue: Issue, suite: str) -> RegressionState | None:
    """Read the state from an issue; None if somebody overwrote it."""
    lines = (issue.body or "").split("\n", 2)
    found = _LINE.fullmatch(lines[1].strip()) if len(lines) > 1 else None
    if found is None:
        return None
    try:
        memory = RegressionState.model_validate_json(base64.b64decode(found[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return memory if memory.suite == suite else None


def _line(memory: RegressionState) -> str:
    return f"<!-- scylla:data {base64.b64encode(memory.model_dump_json().encode()).decode()} -->"
