"""Posts to GitHub: comment and check of this run, refusals, and reports that jobs without write access saved."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import click

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GateError
from scylla_gha.github.client import GitHubRepository, open_repository
from scylla_gha.github.events import WorkflowRunEvent, read_event
from scylla_gha.github.issues import own_login, reply_once
from scylla_gha.github.pulls import CheckReport, Conclusion, post_conclusion
from scylla_gha.model.plan import Plan
from scylla_gha.model.publication import CommentFacts
from scylla_gha.model.report import Report
from scylla_gha.publish.comment import post_comment
from scylla_gha.publish.comment_facts import PullRequestInfo, comment_facts, run_page_from
from scylla_gha.publish.fork_handoff import FILE, pending_files, read_pending, verified, write_pending
from scylla_gha.report.comment import comment
from scylla_gha.report.gate import hold_gate
from scylla_gha.report.markdown_table import code, escape
from scylla_gha.report.numbers import clipped, plain
from scylla_gha.report.summary import conclusion, title

_MOST_TITLE = 200


def post_check(
    channel: GitHubRepository, report: Report, facts: CommentFacts, sha: str
) -> tuple[Conclusion, Literal["check run", "commit status"]]:
    """Post the verdict as a check on a commit; return its conclusion and kind.

    A fork's own numbers can fail a check, but never make it succeed.
    """
    found = conclusion(report, facts)
    if facts.from_fork and found == "success":
        found = "neutral"
    text = comment(report, facts).partition("\n")[2]
    check = CheckReport(
        name=f"scylla / {facts.suite}", sha=sha, conclusion=found, title=clipped(plain(title(report)), _MOST_TITLE),
        summary=text, url=facts.origin.url, mark=f"{facts.suite}:{facts.origin.run}:{facts.origin.attempt}",
    )  # fmt: skip
    return found, post_conclusion(channel, check)


_MOST_PENDING: Final = 5  # comments that one run without write access may cause, whatever it calls them


@dataclass(frozen=True, slots=True)
class PostTargets:
    """Where to post: a comment on a pull request, a check on a commit; `author` is our own login."""

    pull: int | None = None
    check: str | None = None
    author: str | None = None


def facts(plan: Plan, report: Report, about: PullRequestInfo) -> CommentFacts:
    """Return the facts of this run.

    Raises:
        ConfigError: this is not a run of Actions, or an option is malformed.
    """
    return comment_facts(plan, about, run_page_from(os.environ), _gate_fault(plan, report))


def _gate_fault(plan: Plan, report: Report) -> str:
    try:
        hold_gate(plan.experiment, report)
    except GateError as fault:
        return str(fault)
    return ""


def post_report(report: Report, of: CommentFacts, places: PostTargets) -> None:
    """Post comment and check.

    Raises:
        GitHubError: GitHub refused.
    """
    with open_repository() as channel:
        _post(channel, report, of, places)


def write_pending_post(path: Path, report: Report, of: CommentFacts) -> None:
    """Write the file for a job that may post; no token is needed.

    Raises:
        ConfigError: pull request or head are not named, or the report is too large.
    """
    if of.pull is None or of.head is None:
        raise ConfigError("publish save-pending: say with --pull and --head which pull request and commit it is about")
    write_pending(path, report, of)
    click.echo(f"left for a job that may post: {path}", err=True)


def post_refusal(experiment: str, why: str, places: PostTargets) -> None:
    """Say once on the pull request that a run measured nothing.

    Raises:
        ConfigError: no pull request is named, or this is no run of Actions.
        GitHubError: GitHub refused.
    """
    if places.pull is None:
        raise ConfigError("--refused: say with --pull on which pull request")
    page = run_page_from(os.environ)
    reason = escape(why.rstrip(".")) or "its plan failed"
    text = f"This run measured nothing of {code(experiment)}: {reason}.\n\n[The run]({page.url}) has the whole log."
    with open_repository() as channel:
        author = places.author or own_login(channel)
        reply_once(channel, places.pull, f"<!-- scylla:refused run={page.run} -->", text, author)


def post_pending(path: Path, event: Path, author: str | None) -> None:
    """Post what jobs without write access left, as far as GitHub bears it out: a comment, and a check on the head.

    Args:
        path: a file that a job left, or a folder of downloaded artifacts.
        event: the runner's file of the workflow_run event.
        author: our own login; None: asked of GitHub.

    Raises:
        ConfigError: a file is not what it must be, GitHub's view is another one, or a run that succeeded left none.
        GitHubError: GitHub refused.
    """
    run, files = read_event(event, WorkflowRunEvent).workflow_run, pending_files(path)
    if not files and run.conclusion != "success":
        click.echo(f"run {run.id} ended as {run.conclusion}, and left nothing to post", err=True)
        return
    if not files:
        raise ConfigError(f"{path}: holds no {FILE}, so nothing was posted for run {run.id}; was its artifact "
                          "scylla-pending-* downloaded to this folder?")  # fmt: skip
    if len(files) > _MOST_PENDING:
        raise ConfigError(f"{path}: run {run.id} left {counted(len(files), 'report')}, and at most {_MOST_PENDING} "
                          "of one run are posted, so none was; evaluate fewer experiments in one run")  # fmt: skip
    pending = [read_pending(file) for file in files]
    with open_repository() as channel:
        server = run_page_from({**os.environ, "GITHUB_RUN_ID": str(run.id)}).server
        for left in pending:
            of = verified(channel, left, run.id, server)
            _post(channel, left.report, of, PostTargets(of.pull, of.head, author))


def _post(channel: GitHubRepository, report: Report, of: CommentFacts, places: PostTargets) -> None:
    if places.pull is not None:
        author = places.author or own_login(channel)
        posted = post_comment(channel, report, of, places.pull, author)
        later = "; it is of a later run" if posted.how == "kept" else ""
        click.echo(f"comment {posted.how}{later}: {posted.url}", err=True)
    if places.check is not None:
        conclusion, kind = post_check(channel, report, of, places.check)
        click.echo(f"{kind} on {places.check[:7]}: {conclusion}", err=True)
