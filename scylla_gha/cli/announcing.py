"""What `publish` posts to GitHub: comment and check of this run, a file for a job that may post, or such a file."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click

from scylla_gha.cli.channels import open_channel
from scylla_gha.cli.gate import hold_gate
from scylla_gha.errors import ConfigError, GateError
from scylla_gha.github.channel import Channel
from scylla_gha.github.comments import answer, own_login
from scylla_gha.github.events import WorkflowRunEvent, read_event
from scylla_gha.model.plan import Plan
from scylla_gha.model.posting import Facts
from scylla_gha.model.report import Report
from scylla_gha.posting.check import post_check
from scylla_gha.posting.facts import About, facts_of, run_page_from
from scylla_gha.posting.pending import FILE, pending_files, read_pending, verified, write_pending
from scylla_gha.posting.sticky import post_comment
from scylla_gha.render.grid import code, escape

_MOST_PENDING: Final = 5  # comments that one run without write access may cause, whatever it calls them


@dataclass(frozen=True, slots=True)
class Places:
    """Where to post: a comment on a pull request, a check on a commit; `author` is our own login."""

    pull: int | None = None
    check: str | None = None
    author: str | None = None


def facts(plan: Plan, report: Report, about: About) -> Facts:
    """What is known of this run.

    Raises:
        ConfigError: it is no run of Actions, or what is said of the commits is wrong.
    """
    return facts_of(plan, about, run_page_from(os.environ), _gate_fault(plan, report))


def _gate_fault(plan: Plan, report: Report) -> str:
    try:
        hold_gate(plan.experiment, report)
    except GateError as fault:
        return str(fault)
    return ""


def announce(report: Report, of: Facts, places: Places) -> None:
    """Post comment and check.

    Raises:
        GitHubError: GitHub refused.
    """
    with open_channel() as channel:
        _post(channel, report, of, places)


def leave(path: Path, report: Report, of: Facts) -> None:
    """Write the file for a job that may post; no token is needed.

    Raises:
        ConfigError: pull request or head are not named, or the report is too large.
    """
    if of.pull is None or of.head is None:
        raise ConfigError("--pending: say with --pull and --head which pull request and commit it is about")
    write_pending(path, report, of)
    click.echo(f"left for a job that may post: {path}", err=True)


def refuse(experiment: str, why: str, places: Places) -> None:
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
    with open_channel() as channel:
        author = places.author or own_login(channel)
        answer(channel, places.pull, f"<!-- scylla:refused run={page.run} -->", text, author)


def second_phase(path: Path, event: Path, author: str | None) -> None:
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
        raise ConfigError(f"{path}: run {run.id} left {len(files)} reports, and at most {_MOST_PENDING} of one run are "
                          "posted, so none was; evaluate fewer experiments in one run")  # fmt: skip
    pending = [read_pending(file) for file in files]
    with open_channel() as channel:
        server = run_page_from({**os.environ, "GITHUB_RUN_ID": str(run.id)}).server
        for left in pending:
            of = verified(channel, left, run.id, server)
            _post(channel, left.report, of, Places(of.pull, of.head, author))


def _post(channel: Channel, report: Report, of: Facts, places: Places) -> None:
    if places.pull is not None:
        author = places.author or own_login(channel)
        posted = post_comment(channel, report, of, places.pull, author)
        later = "; it is of a later run" if posted.how == "kept" else ""
        click.echo(f"comment {posted.how}{later}: {posted.url}", err=True)
    if places.check is not None:
        conclusion, kind = post_check(channel, report, of, places.check)
        click.echo(f"{kind} on {places.check[:7]}: {conclusion}", err=True)
