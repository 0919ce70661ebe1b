"""What a trial left on github.com is stored as the hub would store it: same form, same words, same differences."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from scylla_gha.github_com.commands import bindings_of
from scylla_gha.github_com.trial_lane import LanePool, LaneTrial, TrialLane
from scylla_gha.hub.cell import Hub
from scylla_gha.hub.fixture import build_fixture
from scylla_gha.hub.records import UserRecord
from scylla_gha.hub.trial_files import exported_state, write_trial_files
from scylla_gha.judge.github_checks import all_changes
from scylla_gha.judge.github_trial import trial_github
from tests.support.fixture_repositories import SMALL, FixtureSite, fixture_site
from tests.support.hub import Caller

RESOLVE = "mutation($id: ID!) { unresolveReviewThread(input: {threadId: $id}) { thread { id } } }"
# What users of the fixture do: method, path below the repository, body. $ISSUE, $PULL, $DUP are numbers there.
WORK: tuple[tuple[str, str, str, Any], ...] = (
    ("author", "PATCH", "", {"description": "Sums", "has_wiki": False}),
    ("author", "PATCH", "labels/bug", {"new_name": "defect", "color": "000000"}),
    ("author", "POST", "labels", {"name": "later", "color": "cccccc", "description": "Not now"}),
    ("author", "POST", "milestones", {"title": "v2"}),
    ("author", "PATCH", "milestones/1", {"state": "closed"}),
    ("author", "POST", "issues", {"title": "New, as #$ISSUE", "body": "See #$PULL, @$reviewer", "labels": ["later"]}),
    ("author", "PATCH", "issues/$ISSUE", {"title": "Other", "body": "Of #$PULL", "assignees": [], "milestone": None}),
    ("author", "PATCH", "issues/$ISSUE", {"state": "closed", "state_reason": "not_planned"}),
    ("author", "PATCH", "issues/$DUP", {"state": "open"}),
    ("reviewer", "POST", "issues/$ISSUE/comments", {"body": "Fixed by #$PULL (GH-$PULL), $URL/pull/$PULL, @$author"}),
    ("author", "DELETE", "issues/comments/$HELLO", None),
    ("reviewer", "POST", "pulls/$PULL/reviews", {
        "event": "COMMENT", "body": "Look",
        "comments": [{"path": "src/app.py", "line": 1, "body": "One", "side": "RIGHT"}],
    }),
    ("author", "POST", "pulls/$PULL/comments/$LINE/replies", {"body": "No"}),
    ("author", "PATCH", "pulls/$PULL", {"title": "Much better"}),
    ("author", "POST", "git/refs", {"ref": "refs/heads/work", "sha": "$MAIN"}),
    ("author", "PUT", "contents/a.txt", {"message": "A (#$PULL)", "content": "YQo=", "branch": "work"}),
    ("author", "POST", "pulls", {"title": "Work", "head": "work", "base": "main", "body": "Closes #$DUP"}),
    ("author", "DELETE", "branches/main/protection", None),
    ("author", "PUT", "pulls/$NEXT/merge", {"merge_method": "squash"}),
    ("author", "PATCH", "releases/$RELEASE", {"name": "One", "body": "Of #$PULL"}),
    ("author", "POST", "releases", {"tag_name": "v2", "body": "N", "draft": True}),
    ("reviewer", "POST", "pulls/$PULL/reviews", {"body": "Pending"}),
)  # fmt: skip


def work(hub: Hub, repository: str, tokens: Mapping[str, str], facts: dict[str, str]) -> None:
    """Do the work in a repository with these numbers and logins."""
    for user, method, path, body in WORK:
        filled = _filled({"path": path, "body": body}, facts)
        url = f"/repos/{repository}/{filled['path']}".rstrip("/")
        answer = Caller(hub, tokens[user]).rest(method, url, filled["body"])
        assert answer.status < 300, (url, answer.body)
        if method == "POST" and path == "pulls":
            facts["NEXT"] = str(answer.body["number"])
    Caller(hub, tokens["author"]).data(RESOLVE, id=facts["THREAD"])


def _filled(part: Any, facts: Mapping[str, str]) -> Any:
    if isinstance(part, dict):
        return {key: _filled(value, facts) for key, value in part.items()}
    if isinstance(part, list):
        return [_filled(value, facts) for value in part]
    return re.sub(r"\$([A-Za-z]+)", lambda name: facts[name[1]], part) if isinstance(part, str) else part


def facts_of(bindings: Mapping[str, Mapping[str, str | int]], hub: Hub, repository: str, token: str) -> dict[str, str]:
    """The numbers and ids that the work names."""
    caller = Caller(hub, token)
    issue, pull = bindings["issue.crash"]["number"], bindings["pr.review_me"]["number"]
    comments = caller.get(f"/repos/{repository}/issues/{issue}/comments")
    lines = caller.get(f"/repos/{repository}/pulls/{pull}/comments")
    return {
        "ISSUE": str(issue), "PULL": str(pull), "DUP": str(bindings["issue.dup"]["number"]),
        "HELLO": str(comments[0]["id"]), "LINE": str(lines[0]["id"]),
        "RELEASE": str(bindings["release.one"]["id"]), "THREAD": str(bindings["thread.test"]["node_id"]),
        "URL": f"https://github.com/{repository}",
        "MAIN": caller.get(f"/repos/{repository}/git/ref/heads/main")["object"]["sha"],
    }  # fmt: skip


_LEFT_OUT = frozenset({"id", "sequence", "timeline", "review", "reply_to"})


def plain(part: Any) -> Any:
    """A view without ids and order, and without the names of commits, which have the time in them."""
    if isinstance(part, dict):
        return {name: plain(value) for name, value in part.items() if name not in _LEFT_OUT}
    if isinstance(part, list):
        return [plain(value) for value in part]
    return re.sub(r"\b[0-9a-f]{7,40}\b", "...", part) if isinstance(part, str) else part


def changes_of(folder: Path) -> list[str]:
    """All differences between start and end, and what was created."""
    with trial_github(folder) as github:
        changes = list(all_changes(github))
        views = [github.end.view(change.kind, change.id) for change in changes if change.created]
        texts = [plain(re.sub(r"'id': \d+", "...", change.text)) for change in changes]
        return sorted([*texts, *(str(plain(view.model_dump(mode="json"))) for view in views if view)])


def on_the_hub(folder: Path) -> list[str]:
    """The differences after the work on the hub of the fixture."""
    world = build_fixture(SMALL, folder / "world")
    hub, state = world.hub, world.hub.state
    hub.tokens = {user.login: user.id for user in state.where(UserRecord)}
    start = exported_state(hub)
    logins = {"author": "octocat", "reviewer": "hubot"}
    work(hub, "octo-org/demo", logins, facts_of(world.bindings, hub, "octo-org/demo", "octocat") | logins)
    files = folder / "files"
    files.mkdir()
    write_trial_files(files, hub, start, world.names)
    return changes_of(files)


def trial_of(site: FixtureSite, identity: str) -> LaneTrial:
    pool = LanePool("demo", site.pool, site.environ, lambda _: None)
    lane = TrialLane(fixture="demo", repository="pool/demo-0", lane=0, holder="me", digest="", expires="")
    return LaneTrial(pool, site.reference, lane, identity)


def test_the_files_of_a_trial_are_those_that_the_hub_would_have_written(tmp_path: Path) -> None:
    wanted = on_the_hub(tmp_path)
    with fixture_site(tmp_path / "site") as site:
        site.converge()
        hub, logins = site.served.hub, {"author": "acct-author", "reviewer": "acct-reviewer"}
        author = Caller(hub, "acct-author")
        author.rest("DELETE", "/repos/pool/demo-0/branches/main/protection")
        assert author.rest("PUT", "/repos/pool/demo-0/pulls/2/merge", {}).status == 200
        site.converge()  # the pull request has another number from now on
        trial = trial_of(site, "reviewer")
        bindings = bindings_of(trial.start)
        assert bindings["pr.review_me"]["number"] != 2
        work(hub, "pool/demo-0", logins, facts_of(bindings, hub, "pool/demo-0", "acct-author") | logins)
        trial.write_files(tmp_path)
    # The agent's user does not administer the repository, so it is not shown any rule.
    assert changes_of(tmp_path) == [text for text in wanted if text != "protection 'main' was deleted"]
