"""The one issue of a suite that tells of a regression: opened when it is confirmed, closed when it is over."""

import base64
import binascii
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from pydantic import ValidationError

from scylla_gha.github.answers import Issue
from scylla_gha.github.channel import Channel
from scylla_gha.github.comments import post
from scylla_gha.github.issues import find, open_issue, update
from scylla_gha.model.posting import AlarmMemory, RunPage, Standing
from scylla_gha.render.alarm import alarm, alarm_marker, alarm_title, recovery, spread

LABEL: Final = "scylla-regression"
_LINE: Final = re.compile(r"<!-- scylla:data ([A-Za-z0-9+/=]{1,400000}) -->")
State = Literal["quiet", "alarm", "unconfirmed", "opened", "updated", "reopened", "still open", "recovered"]


@dataclass(frozen=True, slots=True)
class Told:
    """What became of the issue, and where it is; empty: there is none."""

    state: State
    url: str = ""


@dataclass(frozen=True, slots=True)
class Suite:
    """Whose issue it is: one for each suite, by our own login."""

    name: str
    experiment: str
    author: str
    page: RunPage


def raise_alarm(channel: Channel, suite: Suite, first: Sequence[Standing], confirmed: Sequence[Standing]) -> Told:
    """Open the issue, or bring it up to date; it is reopened where it was closed.

    Args:
        channel: to the repository.
        suite: whose issue.
        first: the first measurement, of all arms.
        confirmed: the confirming one, of those that do worse in both; one at least.

    Raises:
        GitHubError: GitHub refused.
    """
    arms = tuple(one.arm for one in confirmed)
    memory = AlarmMemory(suite=suite.name, arms=tuple(arm[:300] for arm in arms)[:500], run=suite.page.run)
    body = "\n".join((alarm_marker(suite.name), _line(memory), alarm(first, confirmed, suite.experiment, suite.page)))
    found = find(channel, suite.author, alarm_marker(suite.name), LABEL)
    if found is None:
        made = open_issue(channel, suite.author, alarm_title(suite.experiment), body, LABEL)
        return Told("opened", made.html_url)
    before = remembered(found, suite.name)
    made = update(channel, found.number, body, "open")
    if found.state == "closed" or before is None or set(before.arms) != set(memory.arms):
        post(channel, found.number, spread(arms, suite.page), suite.author)
    return Told("reopened" if found.state == "closed" else "updated", made.html_url)


def all_clear(channel: Channel, suite: Suite, standings: Sequence[Standing]) -> Told:
    """Close the issue where every arm that it names is shown to be no worse; leave it open where that is not known.

    Raises:
        GitHubError: GitHub refused.
    """
    found = find(channel, suite.author, alarm_marker(suite.name), LABEL)
    if found is None or found.state == "closed":
        return Told("quiet")
    memory = remembered(found, suite.name)
    named = {one.arm[:300]: one for one in standings}
    if memory is None or not all(arm in named and named[arm].not_worse for arm in memory.arms):
        return Told("still open", found.html_url)
    post(channel, found.number, recovery((named[arm] for arm in memory.arms), suite.page), suite.author)
    update(channel, found.number, found.body or "", "closed")
    return Told("recovered", found.html_url)


def remembered(issue: Issue, suite: str) -> AlarmMemory | None:
    """What an issue of ours remembers; None where somebody wrote over it."""
    lines = (issue.body or "").split("\n", 2)
    found = _LINE.fullmatch(lines[1].strip()) if len(lines) > 1 else None
    if found is None:
        return None
    try:
        memory = AlarmMemory.model_validate_json(base64.b64decode(found[1], validate=True))
    except (ValidationError, binascii.Error, ValueError):
        return None
    return memory if memory.suite == suite else None


def _line(memory: AlarmMemory) -> str:
    return f"<!-- scylla:data {base64.b64encode(memory.model_dump_json().encode()).decode()} -->"
