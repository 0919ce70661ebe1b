"""Facts of a repository, computed from its records and git: counts, languages, its README, its people."""

from pathlib import PurePosixPath
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_store import GitRepository, GitSignature, GitTreeEntry
from scylla_gha.hub.records import IssueRecord, Permission, PullRequestRecord, RepositoryRecord, UserRecord

_NOREPLY: Final = "@users.noreply.github.com"
_LANGUAGES: Final = {
    ".c": "C", ".h": "C", ".cc": "C++", ".cpp": "C++", ".hpp": "C++", ".cs": "C#", ".css": "CSS", ".go": "Go",
    ".html": "HTML", ".java": "Java", ".js": "JavaScript", ".mjs": "JavaScript", ".jsx": "JavaScript",
    ".kt": "Kotlin", ".lua": "Lua", ".pl": "Perl", ".php": "PHP", ".py": "Python", ".rb": "Ruby", ".rs": "Rust",
    ".scala": "Scala", ".sh": "Shell", ".bash": "Shell", ".swift": "Swift", ".ts": "TypeScript",
    ".tsx": "TypeScript", ".vue": "Vue",
}  # fmt: skip
_LANGUAGE_FILES: Final = {"Makefile": "Makefile", "Dockerfile": "Dockerfile"}


def all_files(git: GitRepository, commit: str) -> list[GitTreeEntry]:
    """Return the files of a commit, with their paths from the root."""
    return [entry for entry in git.tree(commit, recursive=True) if entry.kind == "blob"]


def language_of(path: str) -> str | None:
    """Return the language of a file, by its name alone; None if it is not known."""
    name = PurePosixPath(path)
    return _LANGUAGE_FILES.get(name.name) or _LANGUAGES.get(name.suffix)


def languages(session: HubSession, repository: RepositoryRecord) -> dict[str, int]:
    """Return the bytes of each language in the default branch, the most first; by the names of files alone."""
    git = session.git(repository)
    tip = git.branch(repository.default_branch)
    sizes: dict[str, int] = {}
    for entry in all_files(git, tip) if tip else ():
        language = language_of(entry.path)
        if language and entry.size:
            sizes[language] = sizes.get(language, 0) + entry.size
    return dict(sorted(sizes.items(), key=lambda item: (-item[1], item[0])))


def size_in_kilobytes(session: HubSession, repository: RepositoryRecord) -> int:
    """Return the size of the default branch's files, in kB rounded down."""
    git = session.git(repository)
    tip = git.branch(repository.default_branch)
    return sum(entry.size or 0 for entry in all_files(git, tip)) // 1024 if tip else 0


def open_subjects(session: HubSession, repository: RepositoryRecord) -> int:
    """Return how many issues and pull requests are open, which GitHub counts as open issues."""
    state = session.state
    issues = state.where(IssueRecord, repository=repository.id, state="open")
    return len(issues) + len(state.where(PullRequestRecord, repository=repository.id, state="open"))


def forks_of(session: HubSession, repository: RepositoryRecord) -> list[RepositoryRecord]:
    """Return the forks that the user may read, the newest first."""
    forks = session.state.where(RepositoryRecord, parent=repository.id)
    return [fork for fork in reversed(forks) if session.may(fork, "read")]


def source_of(session: HubSession, repository: RepositoryRecord) -> RepositoryRecord | None:
    """Return the root of a fork's network; None if it is no fork, or the root was deleted."""
    parent = session.state.get(RepositoryRecord, repository.parent)
    return None if parent is None else source_of(session, parent) or parent


def permission_of(session: HubSession, repository: RepositoryRecord, user: UserRecord) -> Permission | None:
    """Return what somebody may do with a repository; None: not even read it."""
    return type(session)(session.hub, user).permission(repository)


def collaborators_of(session: HubSession, repository: RepositoryRecord) -> list[UserRecord]:
    """Return the owner, unless it is an organization, and everybody who was given a permission."""
    state = session.state
    owner = state.need(UserRecord, repository.owner)
    others = [state.need(UserRecord, user) for user, _ in repository.permissions]
    return [*([] if owner.kind == "Organization" else [owner]), *others]


def user_of(session: HubSession, signature: GitSignature) -> UserRecord | None:
    """Return the account of a commit's author or committer, by the address."""
    email = signature.email.casefold()
    login = email.removesuffix(_NOREPLY).rpartition("+")[2] if email.endswith(_NOREPLY) else None
    users = session.state.where(UserRecord)
    return next(
        (user for user in users if email == (user.email or "").casefold() or login == user.login.casefold()), None
    )


def readme_of(session: HubSession, repository: RepositoryRecord, commit: str, folder: str = "") -> GitTreeEntry | None:
    """Return the README of a folder; of the root also the one in .github or docs, in GitHub's order."""
    git = session.git(repository)
    for where in [".github", "", "docs"] if not folder else [folder]:
        if git.kind_of(f"{commit}:{where}") != "tree":
            continue
        files = [entry for entry in git.tree(f"{commit}:{where}") if entry.kind == "blob"]
        readmes = [file for file in files if file.path.casefold().partition(".")[0] == "readme"]
        if readmes:
            best = min(readmes, key=lambda file: (not file.path.casefold().endswith(".md"), file.path))
            return GitTreeEntry(best.mode, best.kind, best.sha, f"{where}/{best.path}".lstrip("/"), best.size)
    return None
