"""Protection of branches: which rule a branch has, and what it refuses."""

import re
from typing import Final

from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.git_store import GitRepository
from scylla_gha.hub.operations.check_facts import checks_of, unmet_checks
from scylla_gha.hub.records import ProtectionRecord, RepositoryRecord

_LONGEST_PATTERN: Final = 300  # names of branches have 250 at most


def protection_of(session: HubSession, repository: RepositoryRecord, branch: str) -> ProtectionRecord | None:
    """Return the rule of a branch: the one of its very name, else the oldest that matches; None without one."""
    rules = session.state.where(ProtectionRecord, repository=repository.id)
    exact = [rule for rule in rules if rule.pattern == branch]
    matching = [rule for rule in rules if _fits(rule.pattern, branch)]
    return next(iter(exact or matching), None)


def _fits(pattern: str, branch: str) -> bool:
    """Return whether a branch matches by GitHub's fnmatch (File::FNM_PATHNAME): only `**/` matches a slash.

    `ends` are the numbers of characters that the pattern may have used up. (A regular expression of many wildcards
    could take for ever, and nothing else would run meanwhile.)
    """
    ends = {0}
    for part in re.split(r"(\*\*/|\*|\?)", pattern[:_LONGEST_PATTERN]):
        if part == "**/":
            ends |= {at + 1 for at in range(min(ends, default=len(branch)), len(branch)) if branch[at] == "/"}
        elif part == "*":
            ends = {at for end in ends for at in range(end, _end_of_part(branch, end) + 1)}
        elif part == "?":
            ends = {end + 1 for end in ends if end < _end_of_part(branch, end)}
        else:
            ends = {end + len(part) for end in ends if branch.startswith(part, end)}
    return len(branch) in ends


def _end_of_part(branch: str, start: int) -> int:
    """Return where the part of a name between slashes ends in which a character is."""
    end = branch.find("/", start)
    return len(branch) if end < 0 else end


def is_exempt(session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord) -> bool:
    """Return whether the user may pass over requirements of a rule: administrators may, unless it holds for them."""
    return session.may(repository, "admin") and not rule.enforce_admins


def unmet_requirements(
    session: HubSession, repository: RepositoryRecord, rule: ProtectionRecord, old: str | None, new: str
) -> list[str]:
    """Return, in GitHub's words, what forbids to push a commit to a protected branch; empty if nothing does."""
    reasons = []
    if (reason := unmet_checks(rule.required_checks, checks_of(session, repository.id, new))) is not None:
        reasons.append(reason)
    if rule.required_reviews is not None:
        reasons.append("Changes must be made through a pull request.")
    if rule.linear_history and _has_merges(session.git(repository), old, new):
        reasons.append("This branch must not contain merge commits.")
    return reasons


def _has_merges(git: GitRepository, old: str | None, new: str) -> bool:
    commits = git.commits_between(old, new) if old else [git.commit(new)]
    return any(len(commit.parents) > 1 for commit in commits)
