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

import click
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
_SAME_REPOSITORY: Final = "pull-"
_MOST_SUITE: Final = 120


def write_pending(path: Path, report: Report, facts: CommentFacts) -> None:
    """Save report and facts for a job that may post; no token is needed.

    Raises:
        ConfigError: the evaluated commit is unknown, or the report is too large.
    """
    if facts.head is None:
        raise ConfigError("publish save-pending: say with --head which commit of the pull request was evaluated")
    pending = PendingPost(facts=facts, report=report)
    if len(pending.model_dump_json()) > MOST_BYTES // 2:  # the file is indented
        raise ConfigError(f"{path}: the report is larger than {MOST_BYTES >> 21} MiB, which the second phase would "
                          "refuse; evaluate fewer cells at once with --only")  # fmt: skip
    write_record(path, pending)
    click.echo(f"left for a job that may post: {path}", err=True)


def pending_files(path: Path) -> list[Path]:
    """Return the files that jobs left: the path itself, or all in a folder of downloaded artifacts.

    download-artifact unpacks several artifacts into a folder each, and the only one straight into its path.
    """
    if not path.is_dir():
        return [path]
    return [file for file in (path / FILE, *sorted(path.glob(f"*/{FILE}"))) if os.path.lexists(file)]


def read_pending(path: Path) -> PendingPost:
    """Read and validate the file that a job saved.

    Raises:
        ConfigError: it is not a regular file of bounded size with a report and facts.
    """
    try:
        status = path.lstat()
        if not stat.S_ISREG(status.st_mode):
            raise ConfigError(f"{path}: is refused: it is not a regular file")
        if status.st_size > MOST_BYTES:
            raise ConfigError(f"{path}: is refused: it has {counted(status.st_size, 'byte')}, more than {MOST_BYTES:,}")
        pending = PendingPost.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise ConfigError(f"{path}: there is no such file; did the first phase run `publish save-pending`?") from None
    except ValidationError as error:
        first = error.errors(include_input=False)[0]
        where = ".".join(str(part) for part in first["loc"])[:200]
        raise ConfigError(f"{path}: is refused: {where!r}: {first['type']}") from None
    _require_renderable(path, pending)
    return pending


def _require_renderable(path: Path, pending: PendingPost) -> None:
    """Refuse a report that is inconsistent, before any request to GitHub.

    Raises:
        ConfigError: it cannot be shown, or only after a very long time.
    """
    report = pending.report
    size = (len(report.comparisons) + len(report.answer) + len(report.arms)) * len(report.scenarios)
    if size > _MOST_ROWS:
        raise ConfigError(f"{path}: is refused: {counted(len(report.arms), 'arm')} and "
                          f"{counted(len(report.scenarios), 'scenario')} are more than any experiment has")  # fmt: skip
    try:
        comment(report, pending.facts)
    except (LookupError, ArithmeticError, ValueError) as error:
        raise ConfigError(f"{path}: is refused: its report cannot be shown ({type(error).__name__})") from None


def verified(repository: GitHubRepository, pending: PendingPost, run_id: int, server: str) -> CommentFacts:
    """Return the facts, with everything that GitHub knows replaced by GitHub's own data.

    Args:
        repository: the repository that is posted to.
        pending: what a job left.
        run_id: id of that job's run, from the event, which GitHub wrote.
        server: GitHub's address for people.

    Raises:
        ConfigError: GitHub knows other facts.
        GitHubError: GitHub refused.
    """
    facts, run = pending.facts, workflow_run(repository, run_id)
    if run.event != "pull_request":
        raise ConfigError(f"run {run_id} was started by {run.event!r}; a second phase posts only runs of pull_request")
    if facts.pull is None or facts.head is None:
        raise ConfigError(
            "the file names no pull request or no head; run `publish save-pending` with --pull and --head"
        )
    if facts.head != run.head_sha:
        raise ConfigError(
            f"the file is about {facts.head[:7]}, and run {run_id} was of {run.head_sha[:7]}; it is refused"
        )
    pull = read_pull_request(repository, facts.pull)
    _require_same_pull(pull, run, run_id)
    from_fork = pull.head.repo is None or pull.head.repo.full_name != repository.repository
    prefix = _FORK if from_fork else _SAME_REPOSITORY
    suite = facts.suite if facts.suite.startswith(prefix) else f"{prefix}{facts.suite}"[:_MOST_SUITE].rstrip("._-")
    origin = RunPage(server=server, repository=repository.repository, run=run_id, attempt=run.run_attempt)
    changes = {"suite": suite, "origin": origin, "from_fork": from_fork, "branch": "", "folder": "", "site": "",
               "evidence": {}, "has_chart": False, "base": None, "base_name": pull.base.ref}  # fmt: skip
    return CommentFacts.model_validate({**dict(facts), **changes})


def _require_same_pull(pull: PullRequest, run: WorkflowRun, run_id: int) -> None:
    """Refuse a pull request that does not belong to the run, or whose head has moved on."""
    source = (pull.head.repo.full_name if pull.head.repo else None, pull.head.ref)
    if source != (run.head_repository.full_name if run.head_repository else None, run.head_branch):
        raise ConfigError(f"#{pull.number} is not the pull request of run {run_id}; the file is refused")
    if pull.head.sha != run.head_sha:
        raise ConfigError(f"the head of #{pull.number} is {pull.head.sha[:7]} by now, and run {run_id} was of "
                          f"{run.head_sha[:7]}; the run of the new head posts instead")  # fmt: skip
