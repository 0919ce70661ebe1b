"""Writes of the toolkit to GitHub, against a local server that knows GitHub's description of its API."""

from collections.abc import Callable, Iterator

import pytest

from scylla_gha.errors import GitHubError
from scylla_gha.github_api.access import GitHubAccess
from scylla_gha.github_api.client import GitHubRepository, RequestLimits, RetryPolicy
from scylla_gha.github_api.pulls import (
    ACTIONS_BOT,
    CheckReport,
    add_reaction,
    can_write,
    create_comment,
    dispatch_workflow,
    edit_comment,
    find_issue,
    find_marked,
    last_push,
    open_issue,
    pin_commit,
    post_conclusion,
    read_pull_request,
    token_login,
    update_issue,
)
from tests.support.github_api import BOT, FORK, REPOSITORY, TOKEN, Broken, State, serving, sha

MARKER = "<!-- scylla:v1 suite=demo -->"
CHECK = CheckReport("scylla / demo", sha("a"), "neutral", "Not enough data", "why", "https://github.com/x", "demo:1:1")
USED_UP = {"x-ratelimit-remaining": "0", "x-ratelimit-reset": "1"}
TOO_FAST = "You have exceeded a secondary rate limit. Please wait a few minutes before you try again."


@pytest.fixture
def state() -> Iterator[State]:
    with serving(State()) as served:
        yield served


def channel(state: State, *, seconds: float = 5.0, most: int = 300, told: list[str] | None = None) -> GitHubRepository:
    said = told if told is not None else []
    return GitHubRepository(
        GitHubAccess(state.url, TOKEN), REPOSITORY, RetryPolicy(said.append, seconds), RequestLimits(0.0, 0.01, most)
    )


def test_a_comment_is_found_by_marker_and_author_over_all_pages(state: State) -> None:
    state.most = 10
    for number in range(25):
        state.comment(7, f"chat {number}")
    mine = state.comment(7, f"{MARKER}\nmine")
    state.comment(7, f"{MARKER}\nnot mine", "mallory")
    state.comment(7, f"> {MARKER}\nquoted")
    state.comment(8, f"{MARKER}\nof another pull request")
    made = channel(state)
    assert [one.id for one in find_marked(made, 7, BOT, MARKER)] == [mine]
    assert made.calls == 3


@pytest.mark.parametrize("broken", [Broken(502, "POST", done=True), Broken(0, "POST", done=True, hangup=True)])
def test_what_was_made_before_its_answer_was_lost_is_not_made_twice(state: State, broken: Broken) -> None:
    state.refs["refs/tags/scylla/c"] = sha("c")
    state.labels = {"regression"}
    for make in (
        lambda: create_comment(channel(state), 7, f"{MARKER}\ntext", BOT).id,
        lambda: post_conclusion(channel(state), CHECK),
        lambda: dispatch_workflow(channel(state), "dispatch.yml", "scylla/c", {"experiment": "demo"}).workflow_run_id,
        lambda: open_issue(channel(state), BOT, "Worse", f"{MARKER}\ntext", "regression").number,
        lambda: pin_commit(channel(state), "scylla/new", sha("d")),
    ):
        state.broken = [broken]
        make()
    assert (len(state.comments), len(state.checks), len(state.dispatches), len(state.issues)) == (1, 1, 1, 1)
    assert state.refs["refs/tags/scylla/new"] == sha("d")


def test_a_server_that_tells_no_run_is_asked_for_it(state: State) -> None:
    state.details, state.refs = False, {"refs/tags/scylla/c": sha("c")}
    made = dispatch_workflow(channel(state), "dispatch.yml", "scylla/c", {})
    assert [made.workflow_run_id] == list(state.runs)


def test_what_was_not_made_is_made_at_the_next_try(state: State) -> None:
    state.broken = [Broken(500, "POST"), Broken(503, "POST")]
    create_comment(channel(state), 7, f"{MARKER}\ntext", BOT)
    assert state.bodies(7) == [f"{MARKER}\ntext"]


def test_an_edit_is_tried_again(state: State) -> None:
    mine = state.comment(7, "old")
    state.broken = [Broken(502, "PATCH"), Broken(502, "PATCH", done=True)]
    assert edit_comment(channel(state), mine, "new") is not None
    assert state.bodies(7) == ["new"]


def test_a_comment_that_somebody_deleted_cannot_be_edited(state: State) -> None:
    assert edit_comment(channel(state), 1, "new") is None


@pytest.mark.parametrize(
    "broken",
    [
        Broken(429, "POST", headers={"retry-after": "0"}),
        Broken(403, "POST", TOO_FAST, headers={"retry-after": "0"}),
        Broken(403, "POST", "API rate limit exceeded", headers=USED_UP),
    ],
)
def test_a_limit_is_waited_for_as_github_asks(state: State, broken: Broken) -> None:
    state.broken = [broken]
    create_comment(channel(state), 7, "text", BOT)
    assert state.asked == [f"POST /repos/{REPOSITORY}/issues/7/comments"] * 2, "nothing is searched: it was not made"


@pytest.mark.parametrize("headers", [{"retry-after": "3600"}, {}], ids=["an hour", "GitHub names no time"])
def test_a_limit_beyond_all_patience_ends_the_matter(state: State, headers: dict[str, str]) -> None:
    state.broken = [Broken(403, "POST", TOO_FAST, headers)]
    with pytest.raises(GitHubError, match="rate limit is reached; try again after"):
        create_comment(channel(state), 7, "text", BOT)
    assert len(state.asked) == 1


def test_a_server_that_stays_broken_is_given_up(state: State) -> None:
    state.broken = [Broken(502, "PATCH")] * 9
    with pytest.raises(GitHubError, match=r"cannot edit the comment 1 \(502: scripted\); try again later"):
        edit_comment(channel(state), 1, "new")
    assert len(state.asked) == 4


def test_what_is_forbidden_says_which_permission_it_takes(state: State) -> None:
    state.broken = [Broken(403, "POST", "Resource not accessible by integration")]
    with pytest.raises(GitHubError, match=r"cannot comment on #7: .*needs the permission `pull-requests: write`"):
        create_comment(channel(state), 7, "text", BOT)


def test_requests_are_counted_and_bounded(state: State) -> None:
    state.most = 1
    for number in range(9):
        state.comment(7, str(number))
    made = channel(state, most=4)
    with pytest.raises(GitHubError, match="cannot read the comments on #7: stopped after 4 requests"):
        find_marked(made, 7, BOT, MARKER)
    assert made.calls == 4 == len(state.asked)


def test_writes_are_a_second_apart_unless_told_otherwise() -> None:
    assert RequestLimits().between_writes >= 1.0


def test_who_writes_is_asked_or_is_the_bot_of_actions(state: State) -> None:
    assert token_login(channel(state)) == BOT
    state.login = None
    assert token_login(channel(state)) == ACTIONS_BOT
    jobs = GitHubRepository(GitHubAccess(state.url, "ghs_job"), REPOSITORY, RetryPolicy(print), RequestLimits())
    assert (token_login(jobs), jobs.calls) == (ACTIONS_BOT, 0)


def test_where_check_runs_are_refused_a_status_says_it(state: State) -> None:
    assert post_conclusion(channel(state), CHECK) == "check run"
    state.broken = [Broken(403, "check-runs", "Resource not accessible by integration")]
    assert post_conclusion(channel(state), CHECK) == "commit status"
    assert [one["conclusion"] for one in state.checks] == ["neutral"]
    assert [(one["state"], one["context"]) for one in state.statuses] == [("success", "scylla / demo")]


def test_another_refusal_of_a_check_run_is_told(state: State) -> None:
    state.broken = [Broken(422, "check-runs", "No commit found for SHA")]
    with pytest.raises(GitHubError, match=r"cannot create a check run on aaaaaaa \(422: No commit found for SHA\)"):
        post_conclusion(channel(state), CHECK)


@pytest.mark.parametrize(
    ("right", "may"),
    [("admin", True), ("maintain", True), ("write", True), ("triage", False), ("read", False), ("none", False)],
)
def test_a_right_is_githubs_own_word(state: State, right: str, *, may: bool) -> None:
    state.rights["hubot"] = right
    assert can_write(channel(state), "hubot") is may


def test_a_stranger_may_not_write(state: State) -> None:
    assert can_write(channel(state), "who[bot]") is False


def test_a_push_is_dated_by_github(state: State) -> None:
    state.pull(7, sha("a"), repository=FORK, pushed="2026-02-03T04:05:06Z")
    of = read_pull_request(channel(state), 7)
    pushed = last_push(channel(state), of)
    assert pushed is not None
    assert (pushed.after, f"{pushed.timestamp:%d.%m.%Y %H:%M}") == (sha("a"), "03.02.2026 04:05")
    state.pull(8, sha("a"), repository=None)
    assert last_push(channel(state), read_pull_request(channel(state), 8)) is None
    state.pushes.clear()
    assert last_push(channel(state), of) is None


def test_a_tag_stays_where_it_is(state: State) -> None:
    assert pin_commit(channel(state), "scylla/c", sha("a")) == sha("a")
    assert pin_commit(channel(state), "scylla/c", sha("b")) == sha("a")


def test_a_tag_that_another_run_makes_meanwhile_is_taken(state: State) -> None:
    state.before["POST"] = lambda now: now.refs.update({"refs/tags/scylla/c": sha("c")})
    assert pin_commit(channel(state), "scylla/c", sha("a")) == sha("c")


def test_a_tag_that_is_no_plain_one_or_cannot_be_made_is_told(state: State) -> None:
    state.refs, state.annotated = {"refs/tags/scylla/c": sha("c")}, {"refs/tags/scylla/c"}
    with pytest.raises(GitHubError, match="the tag scylla/c is annotated"):
        pin_commit(channel(state), "scylla/c", sha("c"))
    state.broken = [Broken(422, "POST", "Object does not exist")]
    with pytest.raises(GitHubError, match=r"cannot create the tag scylla/d \(422: Object does not exist\)"):
        pin_commit(channel(state), "scylla/d", sha("d"))


@pytest.mark.parametrize("call", ["GET /user", "permission", "activity", "git/ref", "labels"])
def test_a_refusal_that_is_no_answer_is_told(state: State, call: str) -> None:
    state.pull(7, sha("a"))
    of = read_pull_request(channel(state), 7)
    state.broken = [Broken(451, call)]
    asked: dict[str, Callable[[], object]] = {
        "GET /user": lambda: token_login(channel(state)),
        "permission": lambda: can_write(channel(state), "x"),
        "activity": lambda: last_push(channel(state), of),
        "git/ref": lambda: pin_commit(channel(state), "scylla/c", sha("a")),
        "labels": lambda: open_issue(channel(state), BOT, "Worse", MARKER, "regression"),
    }
    with pytest.raises(GitHubError, match=r"\(451: scripted\)"):
        asked[call]()


def test_a_label_that_another_job_makes_meanwhile_is_taken(state: State) -> None:
    state.before["POST"] = lambda now: now.labels.add("regression")
    assert open_issue(channel(state), BOT, "Worse", f"{MARKER}\none", "regression").state == "open"


def test_an_issue_is_opened_found_closed_and_opened_again(state: State) -> None:
    made = open_issue(channel(state), BOT, "Worse", f"{MARKER}\none", "regression")
    open_issue(channel(state), BOT, "Other", "<!-- other -->", "regression")
    assert state.labels == {"regression"}
    assert update_issue(channel(state), made.number, f"{MARKER}\ntwo", "closed").state == "closed"
    found = find_issue(channel(state), BOT, MARKER, "regression")
    assert found is not None
    assert (found.number, found.state, found.body) == (made.number, "closed", f"{MARKER}\ntwo")
    assert find_issue(channel(state), "mallory", MARKER, "regression") is None
    assert find_issue(channel(state), BOT, MARKER, "other") is None


def test_a_reaction_may_be_given_twice(state: State) -> None:
    mine = state.comment(7, "/scylla evaluate demo")
    for _ in range(2):
        add_reaction(channel(state), mine, "eyes")
    assert state.reactions == [(mine, "eyes")]


def test_a_server_that_is_not_githubs_is_named(state: State) -> None:
    state.comments[1] = {"id": "x", "issue": 7, "updated_at": "2026"}
    with pytest.raises(GitHubError, match="does not answer as GitHub's API does"):
        find_marked(channel(state), 7, BOT, MARKER)
