"""The one issue that says how the newest versions of agent CLIs differ from what is stored of them.

It is found again by its first line and its author. It is closed when nothing differs any more.
"""

import hashlib
import re
from typing import Final, Literal

from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.pulls import create_comment, find_issue, open_issue, update_issue
from scylla_gha.model.agent_update import AgentUpdates
from scylla_gha.model.publication import RunPage
from scylla_gha.report.numbers import clipped
from scylla_gha.report.templates import Table, code, escape, render

LABEL: Final = "scylla-agents"
MARKER: Final = "<!-- scylla:agent-updates -->"
_TITLE: Final = "Agent CLIs: the newest version differs from what is stored"
_ABOUT: Final = "The newest version of an agent CLI differs from what is stored"
_DIGEST: Final = re.compile(r"<!-- scylla:data ([0-9a-f]{64}) -->")
_MOST_ROWS: Final = 60  # of an agent; an issue holds 65,536 characters
_MOST_TEXT: Final = 500
State = Literal["quiet", "opened", "updated", "reopened", "closed"]


def keep_updates_issue(
    repository: GitHubRepository, updates: AgentUpdates, page: RunPage, author: str
) -> tuple[State, str]:
    """Open, update or close the issue; return what was done, and its URL (empty: there is none).

    Args:
        repository: where the issue is.
        updates: the measured agent CLIs.
        page: the run that measured them.
        author: our own login; issues of others are never touched.

    Raises:
        GitHubError: GitHub refused.
    """
    existing = find_issue(repository, author, MARKER, LABEL)
    differing = [update for update in updates.agents if update.differences]
    if not differing:
        if existing is None or existing.state == "closed":
            return "quiet", ""
        create_comment(repository, existing.number, f"There are no differences any more ({page.url}).\n", author)
        return "closed", update_issue(repository, existing.number, existing.body or "", "closed").html_url
    digest = hashlib.sha256(AgentUpdates(agents=tuple(differing)).model_dump_json().encode()).hexdigest()
    body = f"{MARKER}\n<!-- scylla:data {digest} -->\n{issue_text(updates, page)}"
    if existing is None:
        return "opened", open_issue(repository, author, _TITLE, body, LABEL, _ABOUT).html_url
    before = _DIGEST.search((existing.body or "")[:500])
    issue = update_issue(repository, existing.number, body, "open")
    if existing.state == "closed" or before is None or before[1] != digest:
        create_comment(repository, existing.number, f"Measured again, with other differences ({page.url}).\n", author)
    return "reopened" if existing.state == "closed" else "updated", issue.html_url


def issue_text(updates: AgentUpdates, page: RunPage) -> str:
    """Return the issue's text below its first two lines. Names and reasons come from the CLIs, and are escaped."""
    agents = []
    for update in updates.agents:
        shown = update.differences[:_MOST_ROWS]
        rows = [
            (code(clipped(difference.part, _MOST_TEXT)), escape(clipped(difference.text, _MOST_TEXT)))
            for difference in shown
        ]
        agents.append({
            "name": code(update.agent), "version": code(update.version), "sub_tests": update.sub_tests,
            "stored": code(update.stored) if update.stored else None, "table": Table(("what", "difference"), rows),
            "left": len(update.differences) - len(shown), "id": f"{update.agent}@{update.version}",
        })  # fmt: skip
    return render("agent_updates_issue.md.j2", {"agents": agents, "page": page})
