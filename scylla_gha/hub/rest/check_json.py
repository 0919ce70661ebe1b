"""JSON of check runs, check suites and commit statuses."""

from typing import Any, Final

from scylla_gha.hub.actions_records import CheckRecord
from scylla_gha.hub.addresses import SITE
from scylla_gha.hub.cell import HubSession
from scylla_gha.hub.operations.checks import CheckSuiteFacts, suite_id
from scylla_gha.hub.operations.pull_facts import base_sha, head_sha
from scylla_gha.hub.records import PullRequestRecord, RepositoryRecord, UserRecord
from scylla_gha.hub.rest.present import ids, time, user
from scylla_gha.hub.rest.repository_json import api_url, minimal_repository, site_url

_ACTIONS_ID: Final = 15368  # of the app GitHub Actions on github.com, whose owner is the organization github
_GITHUB_ID: Final = 9919


def check_run_json(session: HubSession, repository: RepositoryRecord, check: CheckRecord) -> dict[str, Any]:
    """Return a check run."""
    url, page = f"{api_url(session, repository)}/check-runs/{check.id}", site_url(session, repository)
    html = f"{page}/actions/runs/{check.run}/job/{check.job}" if check.run else f"{page}/runs/{check.id}"
    return {
        **ids(check),
        "head_sha": check.sha,
        "external_id": "",
        "url": url,
        "html_url": html,
        "details_url": check.details_url or html,
        "status": check.status,
        "conclusion": check.conclusion,
        "started_at": time(check.started_at),
        "completed_at": time(check.completed_at),
        "output": {
            "title": check.description,
            "summary": check.summary,
            "text": None,
            "annotations_count": len(check.annotations),
            "annotations_url": f"{url}/annotations",
        },
        "name": check.name,
        "check_suite": {"id": suite_id(session, repository, check)},
        "app": _app(session, check),
        "pull_requests": _pulls(session, repository, check.sha),
    }


def check_suite_json(session: HubSession, repository: RepositoryRecord, suite: CheckSuiteFacts) -> dict[str, Any]:
    """Return a check suite."""
    url, commit = f"{api_url(session, repository)}/check-suites/{suite.id}", session.git(repository).commit(suite.sha)
    branches = [name for name, tip in session.git(repository).branches().items() if tip == suite.sha]
    people = {"author": commit.author, "committer": commit.committer}
    return {
        "id": suite.id,
        "node_id": f"CS_kwDO{suite.id:08d}",
        "head_branch": suite.run.head_branch if suite.run else next(iter(branches), None),
        "head_sha": suite.sha,
        "status": suite.status,
        "conclusion": suite.conclusion,
        "url": url,
        "before": commit.parents[0] if commit.parents else None,
        "after": suite.sha,
        "pull_requests": _pulls(session, repository, suite.sha),
        "app": _app(session, suite.checks[0]),
        "repository": minimal_repository(session, repository),
        "created_at": time(suite.checks[0].created_at),
        "updated_at": time(max(check.completed_at or check.created_at for check in suite.checks)),
        "head_commit": {
            "id": commit.sha,
            "tree_id": commit.tree,
            "message": commit.message,
            "timestamp": time(commit.committer.date),
            **{role: {"name": who.name, "email": who.email} for role, who in people.items()},
        },
        "latest_check_runs_count": len(suite.checks),
        "check_runs_url": f"{url}/check-runs",
        "rerequestable": True,
        "runs_rerequestable": True,
    }


def _app(session: HubSession, check: CheckRecord) -> dict[str, Any]:
    """Return the app of a check run: GitHub Actions for a job, else the bot that made it."""
    creator = session.state.get(UserRecord, check.creator)
    bot = creator if check.run is None and creator is not None else None
    slug = bot.login.removesuffix("[bot]") if bot else "github-actions"
    id_ = bot.id if bot else _ACTIONS_ID
    github = UserRecord(id=_GITHUB_ID, created_at=check.created_at, login="github", kind="Organization")
    return {
        "id": id_,
        "slug": slug,
        "node_id": f"A_kwHO{id_:08d}",
        "owner": user(bot or github),
        "name": slug if bot else "GitHub Actions",
        "description": "" if bot else "Automate your workflow from idea to production",
        "external_url": f"{SITE}/apps/{slug}" if bot else "https://help.github.com/en/actions",
        "html_url": f"{SITE}/apps/{slug}",
        "created_at": time(check.created_at),
        "updated_at": time(check.created_at),
        "permissions": {"checks": "write", "metadata": "read", "statuses": "write"},
        "events": [],
    }


def _pulls(session: HubSession, repository: RepositoryRecord, sha: str) -> list[dict[str, Any]]:
    """Return the open pull requests of a commit, whose branch is in the repository itself."""
    pulls = session.state.where(
        PullRequestRecord, repository=repository.id, head_repository=repository.id, state="open"
    )
    url = api_url(session, repository)
    own = {"id": repository.id, "name": repository.name, "url": url}
    return [
        {
            "id": pull.id,
            "number": pull.number,
            "url": f"{url}/pulls/{pull.number}",
            "head": {"ref": pull.head_ref, "sha": sha, "repo": own},
            "base": {"ref": pull.base_ref, "sha": base_sha(session, pull), "repo": own},
        }
        for pull in pulls
        if head_sha(session, pull) == sha
    ]


def status_json(session: HubSession, repository: RepositoryRecord, status: CheckRecord) -> dict[str, Any]:
    """Return a commit status."""
    creator = session.state.get(UserRecord, status.creator)
    return {
        "url": f"{api_url(session, repository)}/statuses/{status.sha}",
        "avatar_url": user(creator)["avatar_url"] if creator else None,
        **ids(status),
        "state": status.conclusion,
        "description": status.description,
        "target_url": status.details_url,
        "context": status.name,
        "created_at": time(status.created_at),
        "updated_at": time(status.created_at),
        "creator": user(creator) if creator else None,
    }


def combined_status_json(
    session: HubSession, repository: RepositoryRecord, sha: str, state: str, statuses: list[CheckRecord]
) -> dict[str, Any]:
    """Return the combined status of a commit with the last status of each context."""
    url = api_url(session, repository)
    shown = [status_json(session, repository, record) for record in statuses]
    return {
        "state": state,
        "statuses": [{name: value for name, value in status.items() if name != "creator"} for status in shown],
        "sha": sha,
        "total_count": len(statuses),
        "repository": minimal_repository(session, repository),
        "commit_url": f"{url}/commits/{sha}",
        "url": f"{url}/commits/{sha}/status",
    }
