"""`scylla-gha publish`."""

import re
from pathlib import Path

import click

from scylla_gha.cli import options
from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.model.report import Report
from scylla_gha.store import RunFolder, read_record


def _sha(_: click.Context, __: click.Parameter, value: str | None) -> str | None:
    if value is not None and not re.fullmatch("[0-9a-f]{40}", value):
        raise click.BadParameter(f"{value!r} is no commit in full: 40 of the digits 0-9 and a-f")
    return value


_file = click.Path(path_type=Path, dir_okay=False)


@click.command()
@options.experiment
@options.runs
@click.option("--pull", type=click.IntRange(1), metavar="N", help="Comment on this pull request.")
@click.option("--head", callback=_sha, metavar="SHA", help="The commit that was evaluated.")
@click.option("--base", callback=_sha, metavar="SHA", help="The commit that it is held against.")
@click.option("--base-name", default="", metavar="NAME", help="What that is called, e.g. main.")
@click.option("--check", callback=_sha, metavar="SHA", help="Say the verdict as a check on this commit.")
@click.option("--suite", metavar="KEY", help="One comment and one check each; else the experiment's id.")
@click.option("--pending", type=_file, help="Post nothing; leave a file for a job that may.")
@click.option("--from-pending", type=_file, help="Post what a job of a fork left there.")
@click.option("--event", type=_file, envvar="GITHUB_EVENT_PATH", show_envvar=True,
              help="The runner's file of the event; for --from-pending, one of workflow_run.")  # fmt: skip
@options.author
def command(
    experiment: str, runs: Path, *, pull: int | None, head: str | None, base: str | None, base_name: str,
    check: str | None, suite: str | None, pending: Path | None, from_pending: Path | None, event: Path | None,
    author: str | None,
) -> None:  # fmt: skip
    """Post the verdict of EXPERIMENT to GitHub: one comment on a pull request, and a check on a commit.

    A job of a fork's pull request may not post: there --pending leaves a file, and a workflow of `workflow_run` posts
    it with --from-pending, once GitHub's own view of the run agrees with it.

    \b
    scylla-gha publish quickstart --pull 7 --head 1f0c...9e --check 1f0c...9e
    """  # noqa: D301
    from scylla_gha.cli.announcing import Places, announce, facts, leave, second_phase
    from scylla_gha.posting.facts import About

    if from_pending is not None:
        if event is None:
            raise ConfigError("--from-pending: give --event, the runner's file of the workflow_run event")
        second_phase(from_pending, event, author)
        return
    if pull is None and check is None:
        raise ConfigError(f"publish {experiment}: say where to, with --pull or --check")
    folder = options.run_folder(runs, experiment)
    plan, report = found(folder)
    of = facts(plan, report, About(suite or plan.experiment.id, pull, head, base, base_name))
    if pending is not None:
        leave(pending, report, of)
    else:
        announce(report, of, Places(pull, check, author))


def found(folder: RunFolder) -> tuple[Plan, Report]:
    """The plan and the report that a run's folder holds.

    Raises:
        ConfigError: one of them is not there.
    """
    plan, report = read_record(folder.plan, Plan), read_record(folder.report("json"), Report)
    if plan is None or report is None:
        raise ConfigError(f"{folder.root}: there is no plan.json or no report.json; run `scylla-gha collect "
                          f"{folder.root.name}` and `scylla-gha aggregate {folder.root.name}` first")  # fmt: skip
    return plan, report
