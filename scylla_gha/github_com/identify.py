"""Find a fixture's objects in a repository: by recorded ids, by markers in texts, or by unique names."""

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Protocol, TypeVar

from scylla_gha.github_com.snapshot import (
    IssueSnapshot,
    LabelSnapshot,
    MilestoneSnapshot,
    PullSnapshot,
    ReleaseSnapshot,
    RepositorySnapshot,
    ReviewThread,
    SubjectSnapshot,
    SubmittedReview,
    TextSnapshot,
    ThreadCommentSnapshot,
)

# Body of issues and pull requests that are not in the fixture but cannot be deleted.
RETIRED: Final = "<!-- scylla:retired -->"
_MARKER: Final = re.compile(r"(?<!\n)\n*<!-- scylla:seed:(?P<key>[^\s>]+) -->")
_NUMBER: Final = re.compile(r"(?<![\w&/])#(\d+)\b")
_ADDRESS: Final = re.compile(r"(?<=⟦repo⟧/)(issues|pull)/(\d+)\b")
_LOGIN: Final = re.compile(r"(?<![\w/`])@([A-Za-z0-9](?:[A-Za-z0-9-]*[A-Za-z0-9])?(?:\[bot\])?)")
_TOKEN: Final = re.compile(r"⟦([^⟦⟧]+)⟧")


class _HasId(Protocol):
    @property
    def id(self) -> str: ...


N = TypeVar("N", bound=_HasId)


@dataclass
class FixtureObjects:
    """Objects by key: `issue.crash`, `issue.crash/c1`, `pr.fix/r1`, `pr.fix/t1`, `pr.fix/t1/c2`, `release.v1`.

    Attributes:
        lines: comments in threads; the first one of a thread has the thread's key.
        labels: labels by their names in the fixture.
        milestones: milestones by their titles in the fixture.
        extras: objects that are not in the fixture, by id.
        retired: pull requests and issues that could not be deleted.
    """

    issues: dict[str, IssueSnapshot] = field(default_factory=dict)
    pulls: dict[str, PullSnapshot] = field(default_factory=dict)
    comments: dict[str, TextSnapshot] = field(default_factory=dict)
    reviews: dict[str, SubmittedReview] = field(default_factory=dict)
    threads: dict[str, ReviewThread] = field(default_factory=dict)
    lines: dict[str, ThreadCommentSnapshot] = field(default_factory=dict)
    releases: dict[str, ReleaseSnapshot] = field(default_factory=dict)
    labels: dict[str, LabelSnapshot] = field(default_factory=dict)
    milestones: dict[str, MilestoneSnapshot] = field(default_factory=dict)
    extras: dict[str, _HasId] = field(default_factory=dict)
    retired: list[SubjectSnapshot] = field(default_factory=list)

    @property
    def subjects(self) -> dict[str, SubjectSnapshot]:
        """Issues and pull requests by key, in the order of their numbers."""
        everything: dict[str, SubjectSnapshot] = {**self.issues, **self.pulls}
        return dict(sorted(everything.items(), key=lambda pair: pair[1].number))

    @property
    def groups(self) -> tuple[Mapping[str, _HasId], ...]:
        """Objects by key, one mapping per kind; a thread is represented by its first comment, which has its key."""
        return (self.issues, self.pulls, self.comments, self.reviews, self.lines, self.releases)

    def extras_of(self, kind: type[N]) -> list[N]:
        """Return the objects of one kind that are not in the fixture."""
        return [node for node in self.extras.values() if isinstance(node, kind)]

    def nodes(self) -> dict[str, _HasId]:
        """Return the objects by key, with labels and milestones as `label:NAME` and `milestone:TITLE`."""
        nodes = {key: node for group in self.groups for key, node in group.items()}
        nodes |= {f"label:{name}": label for name, label in self.labels.items()}
        return nodes | {f"milestone:{title}": milestone for title, milestone in self.milestones.items()}

    def ids(self) -> dict[str, str]:
        """Return the global ids by the keys of `nodes`."""
        return {key: node.id for key, node in self.nodes().items()}


def objects_of_fixture(state: RepositorySnapshot, names: Mapping[str, int]) -> FixtureObjects:
    """Return the objects of a fixture's hub by key; `names` maps the fixture's names to record ids."""
    keys = {id_: name for name, id_ in names.items() if name.startswith(("issue.", "pr."))}
    objects = FixtureObjects(
        issues={keys.get(issue.database_id, f"issue.{issue.number}"): issue for issue in state.issues},
        pulls={keys.get(pull.database_id, f"pr.{pull.number}"): pull for pull in state.pull_requests},
        releases={f"release.{release.tag_name}": release for release in state.releases},
        labels={label.name: label for label in state.labels},
        milestones={milestone.title: milestone for milestone in state.milestones},
    )
    for key, subject in objects.subjects.items():
        objects.comments |= {f"{key}/c{at}": comment for at, comment in enumerate(subject.comments, 1)}
    for key, pull in objects.pulls.items():
        with_text = (review for review in pull.reviews if not review.is_bare)
        objects.reviews |= {f"{key}/r{at}": review for at, review in enumerate(with_text, 1)}
        for at, thread in enumerate(pull.review_threads, 1):
            objects.threads[f"{key}/t{at}"] = thread
            objects.lines |= {line_key(f"{key}/t{at}", number): line for number, line in enumerate(thread.comments, 1)}
    return objects


def line_key(thread: str, number: int) -> str:
    """Return the key of a thread's comment; `number` counts from one."""
    return thread if number == 1 else f"{thread}/c{number}"


def objects_of_repository(
    state: RepositorySnapshot, wanted: FixtureObjects, recorded: Mapping[str, str], *, by_id_only: bool = False
) -> FixtureObjects:
    """Find the objects of a fixture in a repository.

    Args:
        state: state of the repository.
        wanted: the fixture's objects.
        recorded: ids by key, as recorded when the objects were created.
        by_id_only: ignore markers and names, since an agent may have written them.
    """
    search = _Search(recorded, by_id_only=by_id_only)
    objects = FixtureObjects()
    subjects: list[SubjectSnapshot] = [*state.issues, *state.pull_requests]
    objects.retired = [subject for subject in subjects if RETIRED in subject.body and subject.state != "OPEN"]
    retired = {subject.id for subject in objects.retired}
    issues = [issue for issue in state.issues if issue.id not in retired]
    pulls = [pull for pull in state.pull_requests if pull.id not in retired]
    objects.issues = search.claim(issues, wanted.issues, _marker)
    objects.pulls = search.claim(pulls, wanted.pulls, _marker)
    labels = {name.casefold(): f"label:{name}" for name in wanted.labels}
    titles = {name.casefold(): f"milestone:{name}" for name in wanted.milestones}
    claimed = search.claim(state.labels, labels.values(), lambda label: labels.get(label.name.casefold()))
    objects.labels = {key.partition(":")[2]: label for key, label in claimed.items()}
    stones = search.claim(state.milestones, titles.values(), lambda stone: titles.get(stone.title.casefold()))
    objects.milestones = {key.partition(":")[2]: stone for key, stone in stones.items()}
    objects.releases = search.claim(
        state.releases,
        wanted.releases,
        lambda release: key_in(release.description) or f"release.{release.tag_name}",
    )
    for key, subject in objects.subjects.items():
        keys = {name for name in wanted.comments if name.startswith(f"{key}/")}
        objects.comments |= search.claim(subject.comments, keys, _marker)
    for key, pull in objects.pulls.items():
        _add_reviews(search, objects, wanted, key, pull)
    objects.extras = search.extras
    return objects


def _add_reviews(
    search: "_Search", objects: FixtureObjects, wanted: FixtureObjects, key: str, pull: PullSnapshot
) -> None:
    """Find a pull request's reviews and threads; skip pending reviews and reviews that only contain threads."""
    with_text = [review for review in pull.reviews if not review.is_bare and review.state != "PENDING"]
    keys = {name for name in wanted.reviews if name.startswith(f"{key}/")}
    objects.reviews |= search.claim(with_text, keys, _marker)
    lines = [line for thread in pull.review_threads for line in thread.comments]
    keys = {name for name in wanted.lines if name.startswith(f"{key}/")}
    claimed = search.claim(lines, keys, _marker)
    objects.lines |= claimed
    names = {line.id: name for name, line in claimed.items()}
    for thread in pull.review_threads:
        firsts = (names[line.id].split("/c")[0] for line in thread.comments if line.id in names)
        if (name := next(firsts, None)) is not None:
            objects.threads.setdefault(name, thread)


class _Search:
    """Matches objects to keys; `extras` collects the objects without a key."""

    def __init__(self, recorded: Mapping[str, str], *, by_id_only: bool) -> None:
        self._recorded = recorded
        self._by_id_only = by_id_only
        self.extras: dict[str, _HasId] = {}

    def claim(self, nodes: Sequence[N], keys: Collection[str], key_of: Callable[[N], str | None]) -> dict[str, N]:
        """Match objects to keys: by recorded id, otherwise the first object whose text or name contains the key."""
        by_id = {id_: key for key, id_ in self._recorded.items() if key in keys}
        claimed = {by_id[node.id]: node for node in nodes if node.id in by_id}
        for node in nodes:
            key = None if self._by_id_only else key_of(node)
            if node.id not in by_id and key is not None and key in keys:
                claimed.setdefault(key, node)
        ids = {node.id for node in claimed.values()}
        self.extras |= {node.id: node for node in nodes if node.id not in ids}
        return claimed


def _marker(node: TextSnapshot) -> str | None:
    return key_in(node.body)


def marked(text: str, key: str) -> str:
    """Append the hidden marker of a fixture's key to a text."""
    mark = f"<!-- scylla:seed:{key} -->"
    return f"{text.rstrip()}\n\n{mark}" if text.strip() else mark


def key_in(text: str | None) -> str | None:
    """Return the key of a text's last marker, or None if it has no marker."""
    keys = [matched["key"] for matched in _MARKER.finditer(text or "")]
    return keys[-1] if keys else None


def without_marker(text: str | None) -> str:
    r"""Return a text without markers and trailing space, with `\n` as line end."""
    return _MARKER.sub("", (text or "").replace("\r\n", "\n")).rstrip()


@dataclass(frozen=True, slots=True)
class Dialect:
    """Translation between a repository's numbers, logins and name and the fixture's keys.

    Attributes:
        repository: OWNER/NAME.
        users: names of the fixture's users by login in lower case.
        keys: keys such as `pr.review_me` by number.
        logins: logins with their original case, by the fixture's name of the user.
        has_markers: False for a fixture's hub, since its texts have no markers.
    """

    repository: str
    users: Mapping[str, str]
    keys: Mapping[int, str]
    logins: Mapping[str, str] = field(default_factory=dict)
    has_markers: bool = True

    def user(self, login: str) -> str:
        """Return the fixture's name of a user; `@login` for users that are not in the fixture."""
        return self.users.get(login.lower().removesuffix("[bot]"), f"@{login}")

    def with_placeholders(self, text: str | None) -> str:
        """Return a text without its marker, with placeholders such as ⟦pr.fix⟧ for numbers, logins and repository."""
        neutral = re.sub(rf"(?i)(?<![\w/.-]){re.escape(self.repository)}(?![\w-])", "⟦repo⟧", without_marker(text))
        neutral = re.sub(rf"(?i)(?<=github\.com/){re.escape(self.repository)}(?![\w-])", "⟦repo⟧", neutral)
        neutral = _ADDRESS.sub(lambda part: f"{part[1]}/{self._key(part[2])}", neutral)
        neutral = _NUMBER.sub(lambda part: f"#{self._key(part[1])}", neutral)
        return _LOGIN.sub(self._mention, neutral)

    def _key(self, number: str) -> str:
        key = self.keys.get(int(number)) if len(number) < 10 else None  # noqa: PLR2004 no number is that long
        return f"⟦{key}⟧" if key else number

    def _mention(self, part: "re.Match[str]") -> str:
        name = self.users.get(part[1].lower().removesuffix("[bot]"))
        return f"@⟦@{name}⟧" if name else part[0]

    def marker(self, key: str, text: str | None) -> str | None:
        """Return the key in the marker of an object's text; `key` itself on the hub, which has no markers."""
        return key_in(text) if self.has_markers else key

    def fill_placeholders(self, text: str, numbers: Mapping[str, int]) -> str:
        """Replace placeholders by this repository's numbers (by key), logins and name."""
        names = {f"@{user}": login for user, login in self.logins.items()}
        names |= {key: str(number) for key, number in numbers.items()} | {"repo": self.repository}
        return _TOKEN.sub(lambda part: names.get(part[1], part[0]), text)
