"""Publishing of reports and regressions: `scylla-gha publish` and `scylla-gha regression-alert`."""

import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from scylla_gha.cli import options
from scylla_gha.results_branch.clone import branch_option, remote_option

if TYPE_CHECKING:
    from scylla_gha.model.publication import ArmVerdict, CommentFacts
    from scylla_gha.model.report import Report
    from scylla_gha.publish.edited_posts import RegressionPost, RegressionSuite
    from scylla_gha.publish.post import PullRequestInfo


def _check_sha(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[0-9a-f]{40}", value):
        raise click.BadParameter(f"{value!r} is not a full commit SHA of 40 digits (0-9 and a-f)")
    return value


_file = click.Path(path_type=Path, dir_okay=False)
_head = click.option(
    "--head",
    callback=_check_sha,
    envvar="GITHUB_SHA",
    show_envvar=True,
    metavar="SHA",
    help="Full SHA of the commit that was evaluated.",
)
_base = click.option(
    "--base",
    callback=_check_sha,
    metavar="SHA",
    help="Full SHA of the base commit (default: none).",
)
_base_name = click.option(
    "--base-name",
    default="",
    metavar="NAME",
    help="Name of the base in the report, such as main (default: its SHA).",
)
_suite = click.option(
    "--suite", metavar="KEY", help="Key that identifies the comment and the check (default: the experiment's id)."
)


@click.group(cls=options.CommandGroup)
def publish() -> None:
    """Publish the report of a run: on the results branch, as a pull request comment, or as a check run.

    The job of a pull request from a fork may not write to GitHub. It saves the report with `save-pending`, and a
    workflow of the event workflow_run posts it with `post-pending`, after GitHub's API has confirmed the facts in it.

    \b
    scylla-gha publish branch quickstart
    scylla-gha publish comment quickstart --pull 7 --head 1f0c...9e
    scylla-gha publish check quickstart --commit 1f0c...9e
    """  # noqa: D301


@publish.command()
@options.experiment
@options.runs
@branch_option
@remote_option
@_head
@_base
@click.option("--of", metavar="BRANCH", help="Branch that was evaluated (default: the workflow run's).")
@click.option(
    "--pull", type=click.IntRange(1), metavar="N", help="Number of the evaluated pull request (default: none)."
)
@click.option("--campaign", metavar="NAME", help="Name of the campaign (default: the plan's).")
@click.option(
    "--run",
    envvar="GITHUB_RUN_ID",
    show_envvar=True,
    metavar="ID",
    help="Id of the workflow run (default: an id made from the content).",
)
@click.option(
    "--attempt",
    type=click.IntRange(1),
    default=1,
    envvar="GITHUB_RUN_ATTEMPT",
    show_envvar=True,
    show_default=True,
    help="Attempt of the workflow run.",
)
def branch(
    experiment: str,
    runs: Path,
    *,
    branch: str,
    remote: str | None,
    head: str | None,
    base: str | None,
    of: str | None,
    pull: int | None,
    campaign: str | None,
    run: str | None,
    attempt: int,
) -> None:
    """Push the rows and the report of EXPERIMENT to the results branch, and print their folder there.

    \b
    scylla-gha publish branch quickstart
    """  # noqa: D301
    from scylla_gha.model.publication import Origin
    from scylla_gha.publish.push_run import push_run, run_name
    from scylla_gha.results_branch.clone import chosen_remote

    folder = options.run_folder(runs, experiment)
    origin = Origin(head=head, base=base, branch=of, pull=pull, campaign=campaign)
    name = run_name(folder.root.name, run, attempt)
    click.echo(push_run(folder, branch, origin, remote=chosen_remote(remote), name=name).entry.folder)


@publish.command()
@options.experiment
@options.runs
@click.option(
    "--pull",
    type=click.IntRange(1),
    metavar="N",
    help="Number of the pull request (default: none, which --print allows).",
)
@click.option("--print", "only_print", is_flag=True, help="Print the comment as Markdown, and post nothing.")
@_head
@_base
@_base_name
@_suite
@options.results_branch
@click.option(
    "--results-folder",
    default="",
    metavar="PATH",
    help="Folder of the run on that branch, as `publish branch` prints it (default: no chart).",
)
@click.option(
    "--site",
    default="",
    envvar="SCYLLA_SITE_URL",
    show_envvar=True,
    metavar="URL",
    help="Address of the deployed site; the comment links to the run's page there (default: no link).",
)
@options.author
def comment(
    experiment: str,
    runs: Path,
    *,
    pull: int | None,
    only_print: bool,
    head: str | None,
    base: str | None,
    base_name: str,
    suite: str | None,
    results_branch: str,
    results_folder: str,
    site: str,
    author: str | None,
) -> None:
    """Post the report of EXPERIMENT as a comment on a pull request, or edit the existing comment.

    A measurement of `readiness` has a comment of its own, with the flipped anchors first. So has one of `skill` (the
    run `skills`), with a row for each skill.

    \b
    scylla-gha publish comment quickstart --print
    scylla-gha publish comment quickstart --pull 7 --head 1f0c...9e
    """  # noqa: D301
    from scylla_gha.model.plan import WavePacking
    from scylla_gha.publish.post import PullRequestInfo, post_report
    from scylla_gha.publish.push_run import post_marked, stored_measurement
    from scylla_gha.store import read_record
    from scylla_gha.store.run_folder import WavePaths

    folder = options.run_folder(runs, experiment)
    if pull is None and not only_print:
        raise click.UsageError("give --pull N, the number of the pull request, or --print, which posts nothing")
    target = None if only_print else pull
    if (measurement := stored_measurement(folder)) is not None:
        post_marked(*measurement, target, author)
        return
    has_chart = bool(results_branch and results_folder) and folder.forest.is_file()
    packing = read_record(WavePaths(folder.root).packing, WavePacking)
    info = PullRequestInfo(suite or "", pull, head, base, base_name, results_branch, results_folder, has_chart, site)
    report, facts = _report_and_facts(experiment, runs, info, preview=only_print)
    if target is None:
        from scylla_gha.report.comment import comment as markdown

        click.echo(markdown(report, facts))
    else:
        post_report(report, facts, pull=target, author=author, packing=packing)


@publish.command()
@options.experiment
@options.runs
@click.option("--commit", callback=_check_sha, required=True, metavar="SHA", help="Full SHA of the checked commit.")
@_base
@_base_name
@_suite
@options.results_branch
def check(
    experiment: str,
    runs: Path,
    *,
    commit: str,
    base: str | None,
    base_name: str,
    suite: str | None,
    results_branch: str,
) -> None:
    """Post the verdict of EXPERIMENT as a check run on a commit (as a commit status if check runs are refused).

    \b
    scylla-gha publish check quickstart --commit 1f0c...9e
    """  # noqa: D301
    from scylla_gha.publish.post import PullRequestInfo, post_report

    info = PullRequestInfo(suite or "", None, commit, base, base_name, branch=results_branch)
    post_report(*_report_and_facts(experiment, runs, info), commit=commit)


@publish.command()
@click.argument("experiment")
@click.option("--pull", type=click.IntRange(1), required=True, metavar="N", help="Number of the pull request.")
@click.option("--reason", required=True, metavar="TEXT", help="Reason why nothing was measured.")
@options.author
def refusal(experiment: str, *, pull: int, reason: str, author: str | None) -> None:
    """Comment on a pull request why a run of EXPERIMENT measured nothing; no results are needed.

    \b
    scylla-gha publish refusal quickstart --pull 7 --reason 'the plan was refused'
    """  # noqa: D301
    from scylla_gha.publish.post import post_refusal

    post_refusal(experiment, reason, pull, author)


@publish.command("save-pending")
@options.experiment
@options.runs
@click.option("--into", type=_file, required=True, help="File to write.")
@click.option("--pull", type=click.IntRange(1), required=True, metavar="N", help="Number of the pull request.")
@_head
@_base
@_base_name
@_suite
def save_pending(
    experiment: str,
    runs: Path,
    *,
    into: Path,
    pull: int,
    head: str | None,
    base: str | None,
    base_name: str,
    suite: str | None,
) -> None:
    """Save the report of EXPERIMENT in a file for `post-pending`; no token is needed.

    \b
    scylla-gha publish save-pending quickstart --pull 7 --into pending.json
    """  # noqa: D301
    from scylla_gha.publish.post import PullRequestInfo, write_pending

    info = PullRequestInfo(suite or "", pull, head, base, base_name)
    write_pending(into, *_report_and_facts(experiment, runs, info))


@publish.command("post-pending")
@click.argument("path", type=click.Path(path_type=Path))
@options.event("File in which the runner describes the workflow_run event.", required=True)
@options.author
def post_pending(path: Path, *, event: Path, author: str | None) -> None:
    """Post the reports that `save-pending` wrote to PATH (a file, or a folder of downloaded artifacts).

    \b
    scylla-gha publish post-pending pending.json --event event.json
    """  # noqa: D301
    from scylla_gha.publish import post

    post.post_pending(path, event, author)


def _report_and_facts(
    experiment: str, runs: Path, info: "PullRequestInfo", *, preview: bool = False
) -> "tuple[Report, CommentFacts]":
    """Return a run's report and the facts of its comment; a preview without a workflow run has placeholder links."""
    from scylla_gha.publish.post import comment_facts, run_page_from
    from scylla_gha.publish.push_run import stored_report

    environ: Mapping[str, str] = os.environ
    if preview and not environ.get("GITHUB_RUN_ID"):
        click.echo("note: no workflow run is known, so links name OWNER/REPO and run 1", err=True)
        environ = {**environ, "GITHUB_REPOSITORY": "OWNER/REPO", "GITHUB_RUN_ID": "1"}
    plan, report = stored_report(options.run_folder(runs, experiment))
    return report, comment_facts(plan, report, info, run_page_from(environ))


@click.command("regression-alert")
@options.experiment
@options.runs
@click.option(
    "--from",
    "measured",
    type=_file,
    show_default="the run's report.json",
    help="File with the verdicts: a report.json, or the JSON of `compare` or `history`.",
)
@click.option("--confirmed", type=_file, help="File with the verdicts of the confirming run (default: none yet).")
@click.option("--suite", metavar="KEY", help="Key that identifies the issue (default: the experiment's id).")
@options.author
def regression_alert(
    experiment: str,
    runs: Path,
    *,
    measured: Path | None,
    confirmed: Path | None,
    suite: str | None,
    author: str | None,
) -> None:
    """Open, update or close the issue about a regression of EXPERIMENT.

    The first alarm opens nothing: the output `confirm` names the cells to measure again. With --confirmed, arms that
    do worse in both files open or update the issue. A run without an alarm closes it, if every arm that it names is
    shown to be no worse.

    \b
    scylla-gha regression-alert quickstart
    scylla-gha regression-alert quickstart --confirmed confirming/report.json
    """  # noqa: D301
    from scylla_gha.compare import arm_globs, arm_verdicts, worse_arms
    from scylla_gha.github_api.actions import write_outputs
    from scylla_gha.publish.edited_posts import RegressionPost, RegressionSuite
    from scylla_gha.publish.post import run_page_from
    from scylla_gha.store.run_folder import stored_plan

    folder = options.run_folder(runs, experiment)
    verdicts = arm_verdicts(measured or folder.report("json"))
    alarms, confirm = worse_arms(verdicts), ""
    if alarms and confirmed is None:
        confirm = arm_globs(alarms, (cell.arm for cell in stored_plan(folder).cells))
        post = RegressionPost("alarm")
    else:
        key, name = suite or folder.root.name, folder.root.name
        post = _conclude(RegressionSuite(key, name, author or "", run_page_from(os.environ)), verdicts, confirmed)
    outputs = {"state": post.state, "alarm": str(bool(alarms)).lower(), "confirm": confirm, "issue": post.url}
    write_outputs(os.environ, outputs)
    for alarm in alarms:
        click.echo(f"{alarm.arm} is worse than {alarm.against}: {alarm.why}", err=True)
    again = f"to be measured again: {confirm}" if confirm else ""
    click.echo(": ".join(filter(None, (post.state, post.url, again))), err=True)


def _conclude(suite: "RegressionSuite", verdicts: "Sequence[ArmVerdict]", confirmed: Path | None) -> "RegressionPost":
    """Open or update the issue if the confirming run agrees; close it if there is no alarm."""
    from scylla_gha.compare import arm_verdicts, worse_arms
    from scylla_gha.github_api.client import open_repository
    from scylla_gha.github_api.pulls import token_login
    from scylla_gha.publish.edited_posts import RegressionPost, close_regression, open_regression

    alarms = {alarm.arm for alarm in worse_arms(verdicts)}
    again = worse_arms(arm_verdicts(confirmed)) if confirmed and alarms else []
    both = [alarm for alarm in again if alarm.arm in alarms]
    if alarms and not both:
        return RegressionPost("unconfirmed")
    with open_repository() as repository:
        suite = replace(suite, author=suite.author or token_login(repository))
        if both:
            return open_regression(repository, suite, verdicts, both)
        return close_regression(repository, suite, verdicts)
