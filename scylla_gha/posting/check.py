"""The verdict as a check on a commit."""

from typing import Literal

from scylla_gha.github.channel import Channel
from scylla_gha.github.checks import Check, Conclusion, conclude
from scylla_gha.model.posting import Facts
from scylla_gha.model.report import Report
from scylla_gha.render.comment import comment
from scylla_gha.render.headline import conclusion, title
from scylla_gha.render.text import clipped, plain

_MOST_TITLE = 200


def post_check(
    channel: Channel, report: Report, facts: Facts, sha: str
) -> tuple[Conclusion, Literal["check run", "commit status"]]:
    """Say the verdict of a commit; its conclusion, and what it became.

    A fork's own numbers can fail a check, but never make it green.
    """
    found = conclusion(report, facts)
    if facts.from_fork and found == "success":
        found = "neutral"
    text = comment(report, facts).partition("\n")[2]
    check = Check(
        name=f"scylla / {facts.suite}", sha=sha, conclusion=found, title=clipped(plain(title(report)), _MOST_TITLE),
        summary=text, url=facts.origin.url, mark=f"{facts.suite}:{facts.origin.run}:{facts.origin.attempt}",
    )  # fmt: skip
    return found, conclude(channel, check)
