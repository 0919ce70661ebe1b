"""Posting in two phases for pull requests from forks, whose jobs cannot write to the repository: they save a file.

A job of this repository, started when theirs ended (`workflow_run`), treats the file as untrusted: it is validated by
schema and size, rendered anew, so that no Markdown of a fork is ever posted, and posted only if GitHub's own view of
the run agrees with it. Its suite has a prefix of its own, so that it can neither edit a trusted comment nor replace a
trusted check.
"""

import os
import stat
from pathlib import Path
from typing import Final

from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError
from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.pulls import read_pull_request, workflow_run
from scylla_gha.github.responses import PullRequest, WorkflowRun
from scylla_gha.model.publication import CommentFacts, PendingPost, RunPage
from scylla_gha.model.report import Report
from scylla_gha.report.comment import comment
from scylla_gha.store.records import write_record

MOST_BYTES: Final = 16 << 20
_MOST_ROWS: Final = 1_000_000
FILE: Final = "pending.json"
_FORK: Final = "fork-"
_SAME: Final = "pull-"
_MOST_SUITE: Final = 120


def write_pending(path: Path, report: Report, facts: CommentFacts) -> None:
    """Save report and facts for a job that may post.

    Raises:
        ConfigError: the report is too large to be taken there.
    """
    made = PendingPost(facts=facts, report=report)
    if len(made.model_dump_json()) > MOST_BYTES // 2:  # the file is indented
        raise ConfigError(f"{path}: the report is larger than {MOST_BYTES >> 21} MiB, which the second phase would "
                          "refuse; evaluate fewer cells at once with --only")  # fmt: skip
    write_record(path, made)


def pending_files(path: Path) -> list[Path]:
    """The files that jobs left: the path itself, or all in a folder of downloaded artifacts.

    download-artifact unpacks several artifacts into a folder each, and the only one straight into its path.
    """
    if not path.is_dir():
        return [path]
    return [place for place in (path / FILE, *sorted(path.glob(f"*/{FILE}"))) if os.path.lexists(place)]


def read_pending(path: Path) -> PendingPost:
    """Read and validate the file that a job saved.

    Raises:
        ConfigError: it is not a regular file of bounded size with a report and facts.
    """
    try:
        told = path.lstat()
        if not stat.S_ISREG(told.st_mode):
            raise ConfigError(f"{path}: is no plain file; it is refused")
        if told.st_size > MOST_BYTES:
            raise ConfigError(f"{path}: has {counted(told.st_size, 'byte')}, more than {MOST_BYTES:,}; it is refused")
        pending = PendingPost.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; did the first phase run `publish save-pending`?") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        raise ConfigError(f"{path}: is refused: {where!r}: {first['type']}") from None
    _whole(path, pending)
    return pending


def _whole(path: Path, pending: PendingPost) -> None:
    """Refuse a report that is inconsistent, before any request to GitHub.

    Raises:
        ConfigError: it cannot be shown, or only after a very long time.
    """
    report = pending.report
    size = (len(report.comparisons) + len(report.arms)) * len(report.scenarios)
    if size > _MOST_ROWS:
        raise ConfigError(f"{path}: is refused: {counted(len(report.arms), 'arm')} and "
                          f"{counted(len(report.scenarios), 'scenario')} are more than any experiment has")  # fmt: skip
    try:
        comment(report, pending.facts)
    except (LookupError, ArithmeticError, ValueError) as error:
        raise ConfigError(f"{path}: is refused: its report cannot be shown ({type(error).__name__})") from None


def verified(channel: GitHubRepository, pending: PendingPost, run: int, server: str) -> CommentFacts:
    """Return the facts, with everything that GitHub knows replaced by GitHub's own data.

    Args:
        channel: to the repository that is posted to.
        pending: what was left.
        run: by the event, which GitHub wrote.
        server: GitHub's address for people.

    Raises:
        ConfigError: GitHub's view is another one.
        GitHubError: it cannot be asked.
    """
    facts, told = pending.facts, workflow_run(channel, run)
    if told.event != "pull_request":
        raise ConfigError(f"run {run} is of {told.event!r}; only runs of pull_request are posted in a second phase")
    if facts.pull is None or facts.head is None:
        raise ConfigError(
            "the file names no pull request or no head; run `publish save-pending` with --pull and --head"
        )
    if facts.head != told.head_sha:
        raise ConfigError(
            f"the file is about {facts.head[:7]}, and run {run} was of {told.head_sha[:7]}; it is refused"
        )
    of = read_pull_request(channel, facts.pull)
    _same(of, told, run)
    from_fork = of.head.repo is None or of.head.repo.full_name != channel.repository
    start = _FORK if from_fork else _SAME
    suite = facts.suite if facts.suite.startswith(start) else f"{start}{facts.suite}"[:_MOST_SUITE].rstrip("._-")
    origin = RunPage(server=server, repository=channel.repository, run=run, attempt=told.run_attempt)
    changes = {"suite": suite, "origin": origin, "from_fork": from_fork, "branch": "", "base": None,
               "base_name": of.base.ref}  # fmt: skip
    return CommentFacts.model_validate({**dict(facts), **changes})


def _same(of: PullRequest, told: WorkflowRun, run: int) -> None:
    """Refuse a pull request that does not belong to the run.

    Raises:
        ConfigError: it is not, or its head has moved on.
    """
    theirs = (of.head.repo.full_name if of.head.repo else None, of.head.ref)
    if theirs != (told.head_repository.full_name if told.head_repository else None, told.head_branch):
        raise ConfigError(f"#{of.number} is not the pull request of run {run}; the file is refused")
    if of.head.sha != told.head_sha:
        raise ConfigError(f"the head of #{of.number} is {of.head.sha[:7]} by now, and run {run} was of "
                          f"{told.head_sha[:7]}; the run of the new head posts instead")  # fmt: skip
