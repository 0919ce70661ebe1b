"""Facts of a comment or check: from the plan, the pull request and the workflow run."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import ValidationError

from scylla_gha.errors import ConfigError
from scylla_gha.model.plan import Plan
from scylla_gha.model.publication import ArmEntry, CommentFacts, RunPage
from scylla_gha.model.record import digest
from scylla_gha.report.numbers import clipped

_ROOM = 300


@dataclass(frozen=True, slots=True)
class PullRequestInfo:
    """The pull request and its commits, as the caller names them."""

    suite: str
    pull: int | None = None
    head: str | None = None
    base: str | None = None
    base_name: str = ""
    branch: str = ""
    minutes: float | None = None


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


def comment_facts(plan: Plan, about: PullRequestInfo, origin: RunPage, gate_fault: str) -> CommentFacts:
    """Return the facts of a run of the plan.

    Args:
        plan: of the experiment.
        about: the pull request and its commits.
        origin: the run.
        gate_fault: why the gate fails; empty: it passes, or there is none.

    Raises:
        ConfigError: a suite, commit or branch is malformed.
    """
    given = {
        "suite": about.suite, "experiment": plan.experiment.id, "origin": origin, "head": about.head,
        "base": about.base, "base_name": clipped(about.base_name, _ROOM), "pull": about.pull,
        "branch": about.branch, "minutes": about.minutes, "at": datetime.datetime.now(datetime.UTC),
        "entrants": tuple(ArmEntry(arm=clipped(arm.id, _ROOM), agent=arm.agent, version=arm.version, model=arm.model)
                          for arm in plan.arms[:2000]),
        "digest": digest(sorted(cell.key for cell in plan.cells)), "margin": plan.experiment.margin,
        "has_gate": plan.experiment.gate != "none", "gate_fault": clipped(gate_fault, _ROOM),
    }  # fmt: skip
    try:
        return CommentFacts.model_validate(given)
    except ValidationError as error:
        first = error.errors()[0]
        name = re.sub("[^a-z_.]", "", ".".join(map(str, first["loc"])))
        raise ConfigError(f"--{name.replace('_', '-')} {first['input']!r}: {first['msg']}") from None
