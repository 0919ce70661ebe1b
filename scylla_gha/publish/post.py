"""Post comments, checks and refusals to GitHub; in two phases for forks, whose jobs cannot write.

A fork's job saves a file. When it has ended, a job of this repository (`workflow_run`) treats the file as untrusted: it
validates schema and size, renders the text anew, so that a fork's Markdown is never posted, and posts it only if it
agrees with GitHub's data about the run. The suite gets a separate prefix, so the post can neither edit a trusted
comment nor replace a trusted check.
"""

import datetime
import os
import re
import stat
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Final, Literal

import click
from pydantic import ValidationError

from scylla_gha.counting import counted
from scylla_gha.errors import ConfigError, GateError, GitHubError
from scylla_gha.github_api.client import ApiRequest, GitHubRepository, open_repository
from scylla_gha.github_api.pulls import (
    CheckReport,
    Conclusion,
    post_conclusion,
    read_pull_request,
    reply_once,
    token_login,
    workflow_run,
)
from scylla_gha.github_api.responses import Artifact, PullRequest, WorkflowRun, WorkflowRunEvent, read_event
from scylla_gha.model import digest, one_line
from scylla_gha.model.plan import Plan, WavePacking
from scylla_gha.model.publication import ArmEntry, CommentFacts, PendingPost, RunPage
from scylla_gha.model.report import Report
from scylla_gha.publish.edited_posts import post_comment
from scylla_gha.report.comment import comment
from scylla_gha.report.document import clipped, code, escape
from scylla_gha.report.summary import conclusion, require_gate, title
from scylla_gha.store import write_record

_MOST_TITLE: Final = 200
_MOST_TEXT: Final = 300  # characters of a name or reason
_MOST_ARMS: Final = 2000
_MOST_PENDING: Final = 5  # maximum comments from one run without write access
_MOST_CELLS: Final = 500
_NAME: Final = re.compile(r"(?:.*[^a-z])?scylla-trials-(?P<experiment>.+)-(?P<shard>\d+)-\d+")
MOST_BYTES: Final = 16 << 20
_MOST_ROWS: Final = 1_000_000
FILE: Final = "pending.json"
_FORK: Final = "fork-"
_SAME_REPOSITORY: Final = "pull-"
_MOST_SUITE: Final = 120


def run_page_from(environ: Mapping[str, str]) -> RunPage:
    """Return the page of this workflow run.

    Raises:
        ConfigError: the environment variables do not name a run.
    """
    try:
        return RunPage(
            server=environ.get("GITHUB_SERVER_URL", "").rstrip("/") or "https://github.com",
            repository=environ.get("GITHUB_REPOSITORY", ""),
            run=int(environ.get("GITHUB_RUN_ID", "0")),
            attempt=int(environ.get("GITHUB_RUN_ATTEMPT", "1") or "1"),
        )
    except ValueError:
        raise ConfigError(
            "GITHUB_REPOSITORY and GITHUB_RUN_ID do not name a run; publish from a job of Actions, "
            "or set them to the repository (OWNER/REPO) and the number of the run"
        ) from None


@dataclass(frozen=True, slots=True)
class PullRequestInfo:
    """A command's options about a comment: suite, pull request, commits, and where the run is published."""

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
    """Return the facts about plan, pull request and run that a comment shows in addition to the report.

    Raises:
        ConfigError: a suite, commit or branch is malformed.
    """
    gate_fault = ""
    try:
        require_gate(plan.experiment, report)
    except GateError as error:
        gate_fault = str(error)
    entrants = [
        ArmEntry(arm=clipped(arm.id, _MOST_TEXT), agent=arm.agent, version=arm.version, model=arm.model)
        for arm in plan.arms[:_MOST_ARMS]
    ]
    values = {
        **asdict(info),
        "suite": info.suite or plan.experiment.id,
        "base_name": clipped(info.base_name, _MOST_TEXT),
        "experiment": plan.experiment.id,
        "origin": page,
        "at": datetime.datetime.now(datetime.UTC),
        "entrants": tuple(entrants),
        "digest": digest(sorted(cell.key for cell in plan.cells)),
        "margin": plan.experiment.margin,
        "has_gate": plan.experiment.gate != "none",
        "gate_fault": clipped(gate_fault, _MOST_TEXT),
    }
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
    repository: GitHubRepository,
    report: Report,
    facts: CommentFacts,
    targets: tuple[int | None, str | None],
    author: str | None,
) -> None:
    pull, commit = targets
    if pull is not None:
        posted = post_comment(repository, report, facts, pull, author or token_login(repository))
        later = ", since a later run wrote it" if posted.how == "kept" else ""
        click.echo(f"comment {posted.how}{later}: {posted.url}", err=True)
    if commit is not None:
        concluded, kind = post_check(repository, report, facts, commit)
        click.echo(f"{kind} on {commit[:7]}: {concluded}", err=True)


def post_check(
    repository: GitHubRepository, report: Report, facts: CommentFacts, commit: str
) -> tuple[Conclusion, Literal["check run", "commit status"]]:
    """Post the verdict as a check on a commit; return its conclusion and kind.

    A fork's figures can make a check fail, but never succeed.
    """
    concluded = conclusion(report, facts)
    if facts.from_fork and concluded == "success":
        concluded = "neutral"
    text = comment(report, facts).partition("\n")[2]
    check = CheckReport(
        name=f"scylla / {facts.suite}",
        sha=commit,
        conclusion=concluded,
        title=clipped(one_line(title(report)), _MOST_TITLE),
        summary=text,
        url=facts.origin.url,
        mark=f"{facts.suite}:{facts.origin.run}:{facts.origin.attempt}",
    )
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
        login = author or token_login(repository)
        reply_once(repository, pull, f"<!-- scylla:refused run={page.run} -->", text, login)


def post_pending(path: Path, event: Path, author: str | None) -> None:
    """Post the reports of jobs without write access, if GitHub confirms their facts: a comment and a check on the head.

    Args:
        path: a file that such a job saved, or a folder of downloaded artifacts.
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
        raise ConfigError(
            f"{path}: contains no {FILE}, so nothing was posted for run {run.id}; download its artifact "
            "scylla-pending-* to this folder"
        )
    if len(files) > _MOST_PENDING:
        raise ConfigError(
            f"{path}: run {run.id} left {counted(len(files), 'report')}, and at most {_MOST_PENDING} "
            "of one run are posted, so none was; evaluate fewer experiments in one run"
        )
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

    A shard with several artifacts (from several attempts, or two evaluations in one run) is left out, since its trials
    may be in any of them.

    Args:
        repository: repository of the run.
        facts: the facts of a comment.
        report: its failures name the trials.
        packing: the jobs of the trials; None: they ran in one job, which does not upload trials.
    """
    failed = {cell for failure in report.failures for cell in failure.cells}
    shards = {cell: shard.name for shard in packing.shards for cell in shard.cells if cell in failed} if packing else {}
    if not shards:
        return facts
    try:
        artifacts = _artifacts(repository, facts.origin.run, facts.experiment)
    except GitHubError as error:
        click.echo(f"the run's artifacts cannot be listed, so the evidence links to the list itself: {error}", err=True)
        return facts
    single = [(cell, artifacts[shard]) for cell, shard in sorted(shards.items()) if len(artifacts[shard]) == 1]
    return facts.model_copy(update={"evidence": {cell: ids[0] for cell, ids in single[:_MOST_CELLS]}})


def _artifacts(repository: GitHubRepository, run: int, experiment: str) -> defaultdict[str, list[int]]:
    """Return the ids of the artifacts with trials of an experiment, by shard."""
    request = ApiRequest("GET", f"/actions/runs/{run}/artifacts", f"list the artifacts of run {run}", "actions: read")
    ids: defaultdict[str, list[int]] = defaultdict(list)
    for artifact in repository.pages(request, Artifact, "artifacts"):
        name = _NAME.fullmatch(artifact.name)
        if name is not None and name["experiment"] == experiment and not artifact.expired:
            ids[name["shard"]].append(artifact.id)
    return ids


def write_pending(path: Path, report: Report, facts: CommentFacts) -> None:
    """Save report and facts for a job that may post; no token is needed.

    Raises:
        ConfigError: the evaluated commit is unknown, or the report is too large.
    """
    if facts.head is None:
        raise ConfigError("publish save-pending: name the evaluated commit of the pull request by --head")
    pending = PendingPost(facts=facts, report=report)
    if len(pending.model_dump_json()) > MOST_BYTES // 2:  # the file is indented
        raise ConfigError(
            f"{path}: the report is larger than {MOST_BYTES >> 21} MiB, which the second phase would "
            "refuse; evaluate fewer cells at once with --only"
        )
    write_record(path, pending)
    click.echo(f"left for a job that may post: {path}", err=True)


def pending_files(path: Path) -> list[Path]:
    """Return the saved files: the path itself, or all files in a folder of downloaded artifacts.

    download-artifact unpacks several artifacts into separate folders, but a single one directly into its path.
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
        raise ConfigError(
            f"{path}: is refused: {counted(len(report.arms), 'arm')} and "
            f"{counted(len(report.scenarios), 'scenario')} are more than any experiment has"
        )
    try:
        comment(report, pending.facts)
    except (LookupError, ArithmeticError, ValueError) as error:
        raise ConfigError(f"{path}: is refused: its report cannot be shown ({type(error).__name__})") from None


def verified(repository: GitHubRepository, pending: PendingPost, run_id: int, server: str) -> CommentFacts:
    """Return the facts, with everything that GitHub knows replaced by GitHub's own data.

    Args:
        repository: the repository that is posted to.
        pending: content of the file that a job saved.
        run_id: id of that job's run, from the event, which GitHub wrote.
        server: address of GitHub's site.

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
            f"the file is about {facts.head[:7]}, but run {run_id} was of {run.head_sha[:7]}; the file is refused"
        )
    pull = read_pull_request(repository, facts.pull)
    _require_same_pull(pull, run, run_id)
    from_fork = pull.head.repo is None or pull.head.repo.full_name != repository.repository
    prefix = _FORK if from_fork else _SAME_REPOSITORY
    suite = facts.suite if facts.suite.startswith(prefix) else f"{prefix}{facts.suite}"[:_MOST_SUITE].rstrip("._-")
    origin = RunPage(server=server, repository=repository.repository, run=run_id, attempt=run.run_attempt)
    changes = {
        "suite": suite,
        "origin": origin,
        "from_fork": from_fork,
        "branch": "",
        "folder": "",
        "site": "",
        "evidence": {},
        "has_chart": False,
        "base": None,
        "base_name": pull.base.ref,
    }
    return CommentFacts.model_validate({**dict(facts), **changes})


def _require_same_pull(pull: PullRequest, run: WorkflowRun, run_id: int) -> None:
    """Refuse a pull request that does not belong to the run, or whose head has moved on."""
    source = (pull.head.repo.full_name if pull.head.repo else None, pull.head.ref)
    if source != (run.head_repository.full_name if run.head_repository else None, run.head_branch):
        raise ConfigError(f"#{pull.number} is not the pull request of run {run_id}; the file is refused")
    if pull.head.sha != run.head_sha:
        raise ConfigError(
            f"the head of #{pull.number} is {pull.head.sha[:7]} by now, and run {run_id} was of "
            f"{run.head_sha[:7]}; the run of the new head posts instead"
        )
