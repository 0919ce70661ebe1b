"""The issue of a suite's regression: opened when it is confirmed, closed when it is over."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal

from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.issues import create_comment, find_issue, open_issue, update_issue
from scylla_gha.model.publication import ArmVerdict, RegressionState, RunPage
from scylla_gha.publish.comment import read_hidden_line, write_hidden_line
from scylla_gha.report.numbers import clipped
from scylla_gha.report.summary import marked
from scylla_gha.report.templates import Markdown, Table, code, escape, render

LABEL: Final = "scylla-regression"
_MOST_STATE: Final = 400_000  # characters
_MOST_ARMS: Final = 30  # that a text names
_MOST_NAME: Final = 80
_MOST_REASON: Final = 250
State = Literal["quiet", "alarm", "unconfirmed", "opened", "updated", "reopened", "still open", "recovered"]


@dataclass(frozen=True, slots=True)
class RegressionPost:
    """State of the issue, and its URL; empty: there is no issue."""

    state: State
    url: str = ""


@dataclass(frozen=True, slots=True)
class RegressionSuite:
    """The suite of an issue; `author` is our own login."""

    name: str
    experiment: str
    author: str
    page: RunPage

    @property
    def marker(self) -> str:
        """First line of the issue, by which it is found."""
        return f"<!-- scylla:alert suite={self.name} -->"


def open_regression(
    repository: GitHubRepository, suite: RegressionSuite, first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict]
) -> RegressionPost:
    """Open the issue, update it, or reopen it.

    Args:
        repository: where the issue is.
        suite: the suite of the issue.
        first: verdicts of the first measurement on all arms.
        confirmed: verdicts of the confirming one on the arms that are worse in both; at least one.

    Raises:
        GitHubError: GitHub refused.
    """
    arms = tuple(verdict.arm[:300] for verdict in confirmed)[:500]
    state = RegressionState(suite=suite.name, arms=arms, run=suite.page.run)
    body = "\n".join((suite.marker, write_hidden_line(state), opened_text(suite, first, confirmed)))
    existing = find_issue(repository, suite.author, suite.marker, LABEL)
    if existing is None:
        title = f"{suite.experiment}: an agent does worse than it did"
        return RegressionPost("opened", open_issue(repository, suite.author, title, body, LABEL).html_url)
    before = read_hidden_line(existing.body or "", RegressionState, suite.name, _MOST_STATE)
    issue = update_issue(repository, existing.number, body, "open")
    if existing.state == "closed" or before is None or set(before.arms) != set(state.arms):
        create_comment(
            repository,
            existing.number,
            other_arms_text([verdict.arm for verdict in confirmed], suite.page),
            suite.author,
        )
    return RegressionPost("reopened" if existing.state == "closed" else "updated", issue.html_url)


def close_regression(
    repository: GitHubRepository, suite: RegressionSuite, verdicts: Sequence[ArmVerdict]
) -> RegressionPost:
    """Close the issue if every arm that it names is shown to be not worse; otherwise leave it open.

    Raises:
        GitHubError: GitHub refused.
    """
    issue = find_issue(repository, suite.author, suite.marker, LABEL)
    if issue is None or issue.state == "closed":
        return RegressionPost("quiet")
    state = read_hidden_line(issue.body or "", RegressionState, suite.name, _MOST_STATE)
    by_arm = {verdict.arm[:300]: verdict for verdict in verdicts}
    if state is None or not all(arm in by_arm and by_arm[arm].not_worse for arm in state.arms):
        return RegressionPost("still open", issue.html_url)
    text = recovered_text([by_arm[arm] for arm in state.arms], suite.page)
    create_comment(repository, issue.number, text, suite.author)
    update_issue(repository, issue.number, issue.body or "", "closed")
    return RegressionPost("recovered", issue.html_url)


def opened_text(suite: RegressionSuite, first: Sequence[ArmVerdict], confirmed: Sequence[ArmVerdict]) -> str:
    """Return the issue's text below its first two lines; arguments as of `open_regression`."""
    before = {verdict.arm: verdict for verdict in first}
    rows = [
        (_name(verdict.arm), _name(verdict.against), _reason(before[verdict.arm]), _reason(verdict))
        for verdict in confirmed[:_MOST_ARMS]
    ]
    return render("regression_issue.md.j2", {
        "arms": Table(("arm", "against", "first measurement", "confirming one"), rows), "count": len(confirmed),
        "experiment": suite.experiment, "page": suite.page,
    })  # fmt: skip


def recovered_text(verdicts: Sequence[ArmVerdict], page: RunPage) -> str:
    """Return the comment with which the issue is closed."""
    lines = [f"- {_name(verdict.arm)}: {escape(_reason(verdict))}\n" for verdict in verdicts[:_MOST_ARMS]]
    return f"Recovered: none of the arms does worse any more ({page.url}).\n\n{''.join(lines)}"


def other_arms_text(arms: Sequence[str], page: RunPage) -> str:
    """Return the comment for the case that other arms are worse than before."""
    names = ", ".join(_name(arm) for arm in arms[:_MOST_ARMS])
    return f"Measured again, and confirmed ({page.url}): now of {names}.\n"


def _name(arm: str) -> Markdown:
    return code(clipped(arm, _MOST_NAME))


def _reason(verdict: ArmVerdict) -> str:
    return marked(verdict.verdict, clipped(verdict.why, _MOST_REASON))
