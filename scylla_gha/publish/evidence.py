"""Artifacts of a workflow run that hold failed trials: the targets of the evidence links in a comment."""

import re
from collections import defaultdict
from typing import Final

import click

from scylla_gha.errors import GitHubError
from scylla_gha.github.client import ApiRequest, GitHubRepository
from scylla_gha.github.responses import Artifact
from scylla_gha.model.plan import WavePacking
from scylla_gha.model.publication import CommentFacts
from scylla_gha.model.report import Report

_MOST_CELLS: Final = 500
_NAME: Final = re.compile(r"(?:.*[^a-z])?scylla-trials-(?P<experiment>.+)-(?P<shard>\d+)-\d+")


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
