"""Generated notes of a release: merged pull requests since the release before, in GitHub's form.

By https://docs.github.com/en/repositories/releasing-projects-on-github/automatically-generated-release-notes.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.errors import HubError, invalid
from scylla_gha.hub.operations.plain_yaml import list_of, mapping_of, read_mapping, text_of
from scylla_gha.hub.records import LabelRecord, PullRequestRecord, ReleaseRecord, RepositoryRecord, UserRecord

_FILES: Final = (".github/release.yml", ".github/release.yaml")


@dataclass(frozen=True, slots=True)
class ReleaseNotes:
    """Name and text that GitHub proposes for a release."""

    name: str
    body: str


@dataclass(frozen=True, slots=True)
class _Filter:
    """Labels and authors, as `exclude` and the categories of release.yml have them."""

    labels: frozenset[str]
    authors: frozenset[str]

    @classmethod
    def read(cls, part: Any) -> "_Filter":  # noqa: ANN401 whatever the file says
        return cls(*(frozenset(_texts(mapping_of(part).get(name))) for name in ("labels", "authors")))

    def has(self, labels: frozenset[str], author: str) -> bool:
        return bool(self.labels & labels) or author.casefold() in self.authors


def _texts(value: Any) -> Iterator[str]:  # noqa: ANN401 whatever the file says
    yield from (text_of(item).casefold() for item in list_of(value))


def generated_notes(
    session: HubSession,
    repository: RepositoryRecord,
    tag: str,
    target: str,
    previous: str | None = None,
    file: str | None = None,
) -> ReleaseNotes:
    """Return the notes of a release.

    Args:
        session: who asks.
        repository: where.
        tag: the release's, which need not exist yet.
        target: branch or commit of a tag that does not exist.
        previous: tag to count from; None for the newest release before.
        file: configuration file; None for .github/release.yml.

    Raises:
        HubError: a tag, the target or the configuration is invalid.
    """
    git = session.git(repository)
    head = git.resolve(f"refs/tags/{tag}") or git.resolve(target)
    if head is None:
        raise invalid("Release", "target_commitish")
    before = previous or _previous_tag(session, repository, tag, head)
    base = git.resolve(f"refs/tags/{before}") if before else None
    if previous and base is None:
        raise invalid("Release", "previous_tag_name")
    pulls = _merged(session, repository, base, head)
    path, changelog = _configuration(session, repository, head, file)
    url = f"{SITE}/{session.state.full_name(repository)}"
    parts = []
    if path:
        parts.append(f"<!-- Release notes generated using configuration in {path} at {target} -->\n\n")
    if lines := _changes(session, pulls, changelog, url):
        parts.append("## What's Changed\n" + "\n".join(lines) + "\n\n")
        if newcomers := _newcomers(session, repository, pulls, url):
            parts.append("## New Contributors\n" + "\n".join(newcomers) + "\n")
        parts.append("\n")
    span = f"compare/{before}...{tag}" if before else f"commits/{tag}"
    return ReleaseNotes(tag, "".join(parts) + f"**Full Changelog**: {url}/{span}")


def _previous_tag(session: HubSession, repository: RepositoryRecord, tag: str, head: str) -> str | None:
    """Return the tag of the newest published release that the head contains; None if there is none."""
    git = session.git(repository)
    tags = git.tags()
    releases = session.state.where(ReleaseRecord, repository=repository.id, draft=False)
    reached = [
        release
        for release in releases
        if release.tag != tag and release.tag in tags and git.is_ancestor(tags[release.tag], head)
    ]
    newest = max(reached, key=lambda release: (git.commit(tags[release.tag]).committer.date, release.id), default=None)
    return newest.tag if newest else None


def _merged(session: HubSession, repository: RepositoryRecord, base: str | None, head: str) -> list[PullRequestRecord]:
    git = session.git(repository)
    if base is not None:
        shas = {commit.sha for commit in git.commits_between(base, head)}
    else:
        shas = set(git.text("rev-list", head).split())
    pulls = session.state.where(PullRequestRecord, repository=repository.id)
    merged = [(pull.merged_at, pull.number, pull) for pull in pulls if pull.merged_at and pull.merge_commit in shas]
    return [pull for _, _, pull in sorted(merged, key=lambda entry: entry[:2])]


def _configuration(
    session: HubSession, repository: RepositoryRecord, head: str, file: str | None
) -> tuple[str | None, Mapping[str, Any]]:
    """Return the path of the configuration at a commit, and its `changelog`; None and nothing without one."""
    git = session.git(repository)
    for path in (file,) if file else _FILES:
        content = git.content(f"{head}:{path}")
        if content is not None:
            document = read_mapping(content)
            if document is None:
                raise HubError(422, f"Invalid configuration file {path}")
            return path, mapping_of(document.get("changelog"))
    return None, {}


def _changes(
    session: HubSession, pulls: Sequence[PullRequestRecord], changelog: Mapping[str, Any], url: str
) -> list[str]:
    """Return the lines of the pull requests, below the titles of their categories if there are some."""
    state = session.state
    excluded = _Filter.read(changelog.get("exclude"))
    categories = [mapping_of(part) for part in list_of(changelog.get("categories"))]
    sections: list[tuple[str, list[str]]] = [(text_of(part.get("title")), []) for part in categories]
    for pull in pulls:
        author = state.need(UserRecord, pull.author).login
        labels = frozenset(label.name.casefold() for id_ in pull.labels if (label := state.get(LabelRecord, id_)))
        if excluded.has(labels, author):
            continue
        at = next((at for at, part in enumerate(categories) if _belongs(part, labels, author)), None)
        if at is None and categories:
            continue  # as on GitHub, if no category has the label "*"
        if not sections:
            sections.append(("", []))
        sections[at or 0][1].append(f"* {pull.title} by @{author} in {url}/pull/{pull.number}")
    return [line for title, lines in sections if lines for line in ((f"### {title}",) if title else ()) + tuple(lines)]


def _belongs(category: Mapping[str, Any], labels: frozenset[str], author: str) -> bool:
    wanted = frozenset(_texts(category.get("labels")))
    return ("*" in wanted or bool(wanted & labels)) and not _Filter.read(category.get("exclude")).has(labels, author)


def _newcomers(
    session: HubSession, repository: RepositoryRecord, pulls: Sequence[PullRequestRecord], url: str
) -> list[str]:
    """Return the lines of people whose first merged pull request is among these."""
    state = session.state
    merged = [pull for pull in state.where(PullRequestRecord, repository=repository.id) if pull.merged_at]
    firsts: dict[int, PullRequestRecord] = {}
    for pull in sorted(merged, key=lambda pull: (pull.merged_at or pull.created_at, pull.number)):
        firsts.setdefault(pull.author, pull)
    ids = {pull.id for pull in pulls}
    return [
        f"* @{state.need(UserRecord, author).login} made their first contribution in {url}/pull/{pull.number}"
        for author, pull in firsts.items()
        if pull.id in ids
    ]
