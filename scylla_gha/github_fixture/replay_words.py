"""Translation of one repository's logins, numbers and texts into those of its fixture's hub."""

import re
from dataclasses import dataclass, field
from typing import Final

from scylla_gha.github_fixture.dialect import Dialect
from scylla_gha.github_fixture.view import FixtureView
from scylla_gha.hub.fixture_world import FixtureWorld
from scylla_gha.hub.records import LabelRecord, MilestoneRecord, UserRecord

_RETIRED_OFFSET: Final = 1_000_000  # no fixture has that many, so a retired number is never taken for one of its own
_SHORT_NUMBER: Final = re.compile(r"(?<![\w/])GH-(\d{1,9})\b")


@dataclass
class ReplayWords:
    """Words of a repository as the hub of its fixture has them.

    Attributes:
        numbers: of issues and pull requests on the hub, by their numbers in the repository.
    """

    view: FixtureView
    world: FixtureWorld
    numbers: dict[int, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Number what the fixture does not have as it would be numbered there."""
        reference, objects = self.view.reference, self.view.objects
        self.numbers = {subject.number: reference.numbers[key] for key, subject in objects.subjects.items()}
        last = self.world.repository.last_number
        for subject in sorted((*self.view.state.issues, *self.view.state.pull_requests), key=lambda node: node.number):
            if subject in objects.retired:
                self.numbers[subject.number] = _RETIRED_OFFSET + subject.number
            elif subject.number not in self.numbers:
                last += 1
                self.numbers[subject.number] = last

    @property
    def pulls(self) -> dict[int, int]:
        """Numbers of pull requests on the hub by their own, without those that were retired."""
        retired = self.view.objects.retired
        return {pull.number: self.numbers[pull.number] for pull in self.view.state.pull_requests if pull not in retired}

    def text(self, text: str | None) -> str:
        """Return a text with the hub's numbers, logins and name of the repository, and without its marker."""
        keys = {number: f"number.{number}" for number in self.numbers}
        own = self.view.dialect
        shortened = _SHORT_NUMBER.sub(lambda part: f"GH-{self.numbers.get(int(part[1]), part[1])}", text or "")
        neutral = Dialect(own.repository, own.users, keys).neutral(shortened)
        logins = {name.removeprefix("user."): str(facts["login"]) for name, facts in self.world.bindings.items()
                  if name.startswith("user.")}  # fmt: skip
        hub = Dialect(self.view.reference.dialect.repository, {}, {}, logins)
        return hub.spoken(neutral, {f"number.{number}": hub_number for number, hub_number in self.numbers.items()})

    def user(self, login: str | None) -> int:
        """Return the id of an account's user; a stranger becomes a user of the hub."""
        if login is None:
            return 0
        name = self.view.dialect.user(login)
        if not name.startswith("@"):
            return self.world.names[f"user.{name}"]
        state = self.world.hub.state
        stranger = state.user(name[1:])
        if stranger is None:
            record = UserRecord(id=state.new_id(), created_at=state.now(), login=name[1:])
            stranger = state.create(0, record)
        return stranger.id

    def label(self, name: str) -> int | None:
        """Return the id of a label by its present name; None if it does not exist any more."""
        labels = self.world.hub.state.where(LabelRecord, repository=self.world.repository_id)
        return next((label.id for label in labels if label.name.casefold() == name.casefold()), None)

    def milestone(self, title: str | None) -> int | None:
        """Return the id of a milestone by its present title; None without one."""
        stones = self.world.hub.state.where(MilestoneRecord, repository=self.world.repository_id)
        return next((stone.id for stone in stones if stone.title == title), None)
