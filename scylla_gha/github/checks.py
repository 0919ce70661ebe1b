"""Check runs, and commit statuses where check runs are refused."""

from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.github.answers import Anything, CheckRun
from scylla_gha.github.channel import Ask, Channel
from scylla_gha.github.faults import Errand, RefusedRequestError

Conclusion = Literal["success", "failure", "neutral"]
_FORBIDDEN: Final = 403
_MOST_DESCRIPTION: Final = 140  # characters of a status, GitHub's limit
_MOST_SUMMARY: Final = 60_000  # of 65,535


@dataclass(frozen=True, slots=True)
class Check:
    """What is said of a commit. `mark` is the same for whoever says it again for the same run and attempt."""

    name: str
    sha: str
    conclusion: Conclusion
    title: str
    summary: str
    url: str
    mark: str


def conclude(channel: Channel, check: Check) -> Literal["check run", "commit status"]:
    """Say it, as a check run or, where the token may not make one, as a commit status; tells which."""
    try:
        _check_run(channel, check)
    except RefusedRequestError as error:
        if error.status != _FORBIDDEN:
            raise
        _status(channel, check)
        return "commit status"
    return "check run"


def _check_run(channel: Channel, check: Check) -> None:
    body = {
        "name": check.name, "head_sha": check.sha, "status": "completed", "conclusion": check.conclusion,
        "details_url": check.url, "external_id": check.mark,
        "output": {"title": check.title, "summary": check.summary[:_MOST_SUMMARY]},
    }  # fmt: skip
    errand = Errand(f"make a check run on {check.sha[:7]}", "checks: write")

    def search() -> CheckRun | None:
        asked = Ask("GET", f"/commits/{check.sha}/check-runs", errand,
                    query={"check_name": check.name, "filter": "all"})  # fmt: skip
        return next((one for one in channel.each(asked, CheckRun, "check_runs") if one.external_id == check.mark), None)

    channel.create(Ask("POST", "/check-runs", errand, body), CheckRun, search)


def _status(channel: Channel, check: Check) -> None:
    """A status knows no neutral; as neutral does, a success lets a pull request be merged."""
    state = "failure" if check.conclusion == "failure" else "success"
    body = {"state": state, "context": check.name, "target_url": check.url,
            "description": check.title[:_MOST_DESCRIPTION]}  # fmt: skip
    errand = Errand(f"set a status on {check.sha[:7]}", "checks: write` or `statuses: write")
    channel.read(Ask("POST", f"/statuses/{check.sha}", errand, body), Anything)
