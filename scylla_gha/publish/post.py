"""Posts to GitHub: comment and check of this run, with links to evidence; refusals; reports that were saved."""

import datetime
import os
import re
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal

import click
from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GateError, GitHubError
from scylla_gha.github.client import ApiRequest, GitHubRepository, open_repository
from scylla_gha.github.pulls import CheckReport, Conclusion, own_login, post_conclusion, reply_once
from scylla_gha.github.responses import Artifact, WorkflowRunEvent, read_event
from scylla_gha.model import digest
from scylla_gha.model.plan import Plan, WavePacking
from scylla_gha.model.printable_text import one_line
from scylla_gha.model.publication import ArmEntry, CommentFacts, RunPage
from scylla_gha.model.report import Report
from scylla_gha.publish.edited_posts import post_comment
from scylla_gha.publish.fork_handoff import FILE, pending_files, read_pending, verified
from scylla_gha.report.comment import comment
from scylla_gha.report.numbers import clipped
from scylla_gha.report.summary import conclusion, require_gate, title
from scylla_gha.report.templates import code, escape

_MOST_TITLE: Final = 200
_MOST_TEXT: Final = 300  # characters of a name or reason
_MOST_ARMS: Final = 2000
_MOST_PENDING: Final = 5  # comments that one run without write access may cause, whatever it calls them
_MOST_CELLS: Final = 500
_NAME: Final = re.compile(r"(?:.*[^a-z])?scylla-trials-(?P<experiment>.+)-(?P<shard>\d+)-\d+")


def run_page_from(environ: Mapping[str, str]) -> RunPage:
    """Return the page of this workflow run.

    Raises:
        ConfigError: the variables do not name a run.
    """
    try:
        return RunPage(
            server=environ.get("GITHUB_SERVER_URL", "").rstrip("/") or "https://github.com",
            repository=environ.get("GITHUB_REPOSITORY", ""), run=int(environ.get("GITHUB_RUN_ID", "0")),
            attempt=int(environ.get("GITHUB_RUN_ATTEMPT", "1") or "1"),
        )  # fmt: skip
    except ValueError:
        raise ConfigError("GITHUB_REPOSITORY and GITHUB_RUN_ID do not name a run; publish from a job of Actions, "
                          "or set them to the repository (OWNER/REPO) and the number of the run") from None  # fmt: skip


@dataclass(frozen=True, slots=True)
class PullRequestInfo:
    """The pull request, its commits, and where the run is published, as the caller names them."""

    suite: str
    pull: int | None = None
    head: str | None = None
    base: str | None = None
    base_name: str = ""
    branch: str = ""
    folder: str = ""
    has_chart: bool = False
    site: str = ""


def comment_facts(plan: Plan, report: Report, info: PullRequestInfo, page: RunPage) -> CommentFacts:
    """Return the facts that a comment shows beside the report: of the plan, the pull request and the run.

    Raises:
        ConfigError: a suite, commit or branch is malformed.
    """
    gate_fault = ""
    try:
        require_gate(plan.experiment, report)
    except GateError as error:
        gate_fault = str(error)
    entrants = [ArmEntry(arm=clipped(arm.id, _MOST_TEXT), agent=arm.agent, version=arm.version, model=arm.model)
                for arm in plan.arms[:_MOST_ARMS]]  # fmt: skip
    values = {
        "suite": info.suite or plan.experiment.id, "experiment": plan.experiment.id, "origin": page, "head": info.head,
        "base": info.base, "base_name": clipped(info.base_name, _MOST_TEXT), "pull": info.pull, "branch": info.branch,
        "folder": info.folder, "has_chart": info.has_chart, "site": info.site,
        "at": datetime.datetime.now(datetime.UTC), "entrants": tuple(entrants),
        "digest": digest(sorted(cell.key for cell in plan.cells)), "margin": plan.experiment.margin,
        "has_gate": plan.experiment.gate != "none", "gate_fault": clipped(gate_fault, _MOST_TEXT),
    }  # fmt: skip
    try:
        return CommentFacts.model_validate(values)
    except ValidationError as error:
        first = error.errors()[0]
        name = re.sub("[^a-z_.]", "", ".".join(map(str, first["loc"])))
        raise ConfigError(f"--{name.replace('_', '-')} {first['input']!r}: {first['msg']}") from None


def post_report(
    report: Report,
    facts: CommentFacts,
    *,
    pull: int | None = None,
    commit: str | None = None,
    author: str | None = None,
    packing: WavePacking | None = None,
) -> None:
    """Post a comment on a pull request, a check on a commit, or both.

    Args:
        report: the report.
        facts: the run, pull request and commits.
        pull: number of the pull request; None: no comment.
        commit: full SHA; None: no check.
        author: our own login; None: asked of GitHub.
        packing: the jobs of the trials, to which a comment links; None: it links to the run's artifacts.

    Raises:
        GitHubError: GitHub refused.
    """
    with open_repository() as repository:
        if pull is not None:
            facts = with_evidence(repository, facts, report, packing)
        _post(repository, report, facts, (pull, commit), author)


def _post(
    repository: GitHubRepository, report: Report, facts: CommentFacts, targets: tuple[int | None, str | None],
    author: str | None,
) -> None:  # fmt: skip
    pull, commit = targets
    if pull is not None:
        posted = post_comment(repository, report, facts, pull, author or own_login(repository))
        later = "; it is of a later run" if posted.how == "kept" else ""
        click.echo(f"comment {posted.how}{later}: {posted.url}", err=True)
    if commit is not None:
        concluded, kind = post_check(repository, report, facts, commit)
        click.echo(f"{kind} on {commit[:7]}: {concluded}", err=True)


def post_check(
    repository: GitHubRepository, report: Report, facts: CommentFacts, commit: str
) -> tuple[Conclusion, Literal["check run", "commit status"]]:
    """Post the verdict as a check on a commit; return its conclusion and kind.

    A fork's own numbers can fail a check, but never make it succeed.
    """
    concluded = conclusion(report, facts)
    if facts.from_fork and concluded == "success":
        concluded = "neutral"
    text = comment(report, facts).partition("\n")[2]
    check = CheckReport(
        name=f"scylla / {facts.suite}", sha=commit, conclusion=concluded,
        title=clipped(one_line(title(report)), _MOST_TITLE), summary=text, url=facts.origin.url,
        mark=f"{facts.suite}:{facts.origin.run}:{facts.origin.attempt}",
    )  # fmt: skip
    return concluded, post_conclusion(repository, check)


def post_refusal(experiment: str, why: str, pull: int, author: str | None) -> None:
    """Comment once on the pull request that a run measured nothing.

    Raises:
        ConfigError: this is not a run of Actions.
        GitHubError: GitHub refused.
    """
    page = run_page_from(os.environ)
    reason = escape(why.rstrip(".")) or "its plan failed"
    text = f"This run measured nothing of {code(experiment)}: {reason}.\n\n[The run]({page.url}) has the whole log."
    with open_repository() as repository:
        login = author or own_login(repository)
        reply_once(repository, pull, f"<!-- scylla:refused run={page.run} -->", text, login)


def post_pending(path: Path, event: Path, author: str | None) -> None:
    """Post what jobs without write access left, as far as GitHub confirms it: a comment, and a check on the head.

    Args:
        path: a file that a job left, or a folder of downloaded artifacts.
        event: the runner's file of the workflow_run event.
        author: our own login; None: asked of GitHub.

    Raises:
        ConfigError: a file is malformed, GitHub knows other facts, or a run that succeeded left no file.
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
    server = run_page_from({**os.environ, "GITHUB_RUN_ID": str(run.id)}).server
    with open_repository() as repository:
        for post in pending:
            facts = verified(repository, post, run.id, server)
            _post(repository, post.report, facts, (facts.pull, facts.head), author)


def with_evidence(
    repository: GitHubRepository, facts: CommentFacts, report: Report, packing: WavePacking | None
) -> CommentFacts:
    """Return the facts with the artifacts of failed trials; unchanged if GitHub does not list the run's artifacts.

    A shard with several artifacts (of several attempts, or of two evaluations in one run) is left out, since its trials
    may be in any of them.

    Args:
        repository: of the run.
        facts: the facts of a comment.
        report: its failures name the trials.
        packing: the jobs of the trials; None: they ran in one job, which uploads no trials.
    """
    failed = {cell for failure in report.failures for cell in failure.cells}
    shards = {cell: shard.name for shard in packing.shards for cell in shard.cells if cell in failed} if packing else {}
    if not shards:
        return facts
    try:
        artifacts = _artifacts(repository, facts.origin.run, facts.experiment)
    except GitHubError as error:
        click.echo(f"evidence is linked to the list of artifacts, since they cannot be read: {error}", err=True)
        return facts
    known = [(cell, artifacts[shard]) for cell, shard in sorted(shards.items()) if len(artifacts[shard]) == 1]
    return facts.model_copy(update={"evidence": {cell: ids[0] for cell, ids in known[:_MOST_CELLS]}})


def _artifacts(repository: GitHubRepository, run: int, experiment: str) -> defaultdict[str, list[int]]:
    """Return the ids of the artifacts with trials of an experiment, by shard."""
    request = ApiRequest("GET", f"/actions/runs/{run}/artifacts", f"list the artifacts of run {run}", "actions: read")
    ids: defaultdict[str, list[int]] = defaultdict(list)
    for artifact in repository.pages(request, Artifact, "artifacts"):
        name = _NAME.fullmatch(artifact.name)
        if name is not None and name["experiment"] == experiment and not artifact.expired:
            ids[name["shard"]].append(artifact.id)
    return ids
