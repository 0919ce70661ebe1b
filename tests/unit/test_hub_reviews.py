"""Reviews, review threads and review requests of pull requests, over REST and GraphQL."""

from pathlib import Path
from typing import Any

import pytest

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.records import CommentRecord, ReviewRecord, ThreadRecord, node_id
from tests.support.hub import AUTHOR, READER, REVIEWER, Caller, make_hub
from tests.support.pulls import PULLS, git_of, open_pull, pull_record, push, refusal

REVIEWS, COMMENTS, REQUESTS = (f"{PULLS}/1/{name}" for name in ("reviews", "comments", "requested_reviewers"))
LINE = {"path": "src/app.py", "line": 2, "body": "Why add 0?"}


@pytest.fixture
def hub(tmp_path: Path) -> Hub:
    """A hub with pull request 1 from topic into main."""
    hub = make_hub(tmp_path)
    open_pull(Caller(hub))
    return hub


def mutate(caller: Caller, name: str, returned: str, **values: Any) -> Any:
    """The payload of a mutation of that name, whose input type is called after it."""
    kind = f"{name[0].upper()}{name[1:]}Input!"
    query = f"mutation($input: {kind}) {{{name}(input: $input) {{clientMutationId {returned}}}}}"
    return caller.data(query, input=values)[name]


def refused(caller: Caller, name: str, **values: Any) -> str:
    """The message with which a mutation is refused."""
    kind = f"{name[0].upper()}{name[1:]}Input!"
    query = f"mutation($input: {kind}) {{{name}(input: $input) {{clientMutationId}}}}"
    message: str = caller.graphql(query, input=values)["errors"][0]["message"]
    return message


def pull_node(hub: Hub) -> str:
    return node_id(pull_record(hub, 1))


def states(hub: Hub, login: str = AUTHOR) -> list[str]:
    return [review["state"] for review in Caller(hub, login).get(REVIEWS)]


def comment(hub: Hub, login: str = REVIEWER, **fields: Any) -> Any:
    """A comment that begins a thread on line 2 of src/app.py at the head."""
    body = {**LINE, "commit_id": git_of(hub).branch("topic"), **fields}
    answer = Caller(hub, login).rest("POST", COMMENTS, body)
    assert answer.status == 201, answer.body
    return answer.body


@pytest.mark.parametrize(
    ("event", "message"),
    [
        ("APPROVE", "Can not approve your own pull request"),
        ("REQUEST_CHANGES", "Can not request changes on your own pull request"),
    ],
)
def test_authors_only_comment_on_their_own(hub: Hub, event: str, message: str) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/about-pull-request-reviews."""
    caller = Caller(hub)
    assert refusal(caller, "POST", REVIEWS, {"event": event, "body": "Fine"}) == (422, message)
    assert refused(caller, "addPullRequestReview", pullRequestId=pull_node(hub), event=event, body="Fine") == message
    assert caller.rest("POST", REVIEWS, {"event": "COMMENT", "body": "Fine"}).body["state"] == "COMMENTED"
    assert caller.rest("POST", REVIEWS, {"event": "BLESS"}).status == 422


@pytest.mark.parametrize("event", ["COMMENT", "REQUEST_CHANGES"])
def test_a_review_without_words_only_approves(hub: Hub, event: str) -> None:
    """https://docs.github.com/rest/pulls/reviews#create-a-review-for-a-pull-request."""
    caller = Caller(hub, REVIEWER)
    assert refusal(caller, "POST", REVIEWS, {"event": event}) == (422, "Body can't be blank")
    assert caller.rest("POST", REVIEWS, {"event": event, "comments": [LINE]}).status == 200
    assert caller.rest("POST", REVIEWS, {"event": "APPROVE"}).status == 200
    assert Caller(hub).get(f"{PULLS}/1")["review_comments"] == 1


def test_a_pending_review_is_its_authors_alone_until_it_is_submitted(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/reviews#submit-a-review-for-a-pull-request."""
    caller = Caller(hub, REVIEWER)
    review = caller.rest("POST", REVIEWS, {"comments": [LINE]}).body
    assert (review["state"], "submitted_at" in review) == ("PENDING", False)
    assert (states(hub), states(hub, REVIEWER)) == ([], ["PENDING"])
    assert (len(Caller(hub).get(COMMENTS)), len(caller.get(COMMENTS))) == (0, 1)
    assert refusal(caller, "POST", REVIEWS, {}) == (422, "User can only have one pending review per pull request")
    url = f"{REVIEWS}/{review['id']}"
    assert refusal(Caller(hub), "POST", f"{url}/events", {"event": "COMMENT"})[0] == 404
    done = caller.rest("POST", f"{url}/events", {"event": "REQUEST_CHANGES", "body": "No"}).body
    assert (done["state"], done["body"], "submitted_at" in done) == ("CHANGES_REQUESTED", "No", True)
    assert len(Caller(hub).get(f"{url}/comments")) == 1
    assert caller.rest("PUT", url, {"body": "No!"}).body["body"] == "No!"


def test_a_submitted_review_is_not_deleted_a_pending_one_is(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/reviews#delete-a-pending-review-for-a-pull-request."""
    caller = Caller(hub, REVIEWER)
    review = caller.rest("POST", REVIEWS, {"comments": [LINE]}).body
    assert caller.rest("DELETE", f"{REVIEWS}/{review['id']}").status == 200
    assert [hub.state.where(kind) for kind in (ReviewRecord, ThreadRecord, CommentRecord)] == [[], [], []]
    review = caller.rest("POST", REVIEWS, {"event": "APPROVE"}).body
    message = "Can not delete a non-pending pull request review"
    assert refusal(caller, "DELETE", f"{REVIEWS}/{review['id']}") == (422, message)
    assert refused(caller, "deletePullRequestReview", pullRequestReviewId=review["node_id"]) == message


def test_reviews_with_weight_are_dismissed_by_writers(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/reviews#dismiss-a-review-for-a-pull-request."""
    reviewer = Caller(hub, REVIEWER)
    review = reviewer.rest("POST", REVIEWS, {"event": "REQUEST_CHANGES", "body": "No"}).body
    url = f"{REVIEWS}/{review['id']}/dismissals"
    assert refusal(Caller(hub, READER), "PUT", url, {"message": "Done"})[0] == 403
    assert Caller(hub).rest("PUT", url, {"message": "Done"}).body["state"] == "DISMISSED"
    other = reviewer.rest("POST", REVIEWS, {"event": "COMMENT", "body": "Hm"}).body
    reason = "Can not dismiss a commented pull request review"
    assert refusal(Caller(hub), "PUT", f"{REVIEWS}/{other['id']}/dismissals", {"message": "Done"}) == (422, reason)


@pytest.mark.parametrize(
    ("fields", "reason"),
    [
        ({"line": 40}, "pull_request_review_thread.line must be part of the diff"),
        ({"line": 1, "start_line": 2}, "pull_request_review_thread.start_line must precede the end line."),
        ({"path": "other.py"}, "pull_request_review_thread.path"),
        ({"line": None, "position": 99}, "pull_request_review_thread.position is invalid"),
        ({"body": " "}, "body can't be blank"),
        ({"body": "x" * 65_537}, "body is too long (maximum is 65536 characters)"),
        ({"commit_id": "--all"}, "commit_id is not part of the pull request"),
        ({"commit_id": "1" * 40}, "commit_id is not part of the pull request"),
        ({"side": "UP"}, "side"),
        ({"line": None}, "line"),
    ],
)
def test_a_comment_is_on_lines_of_the_diff(hub: Hub, fields: Any, reason: str) -> None:
    """https://docs.github.com/rest/pulls/comments#create-a-review-comment-for-a-pull-request."""
    body = {**LINE, "commit_id": git_of(hub).branch("topic"), **fields}
    assert refusal(Caller(hub, REVIEWER), "POST", COMMENTS, body) == (422, reason)
    assert hub.state.where(ReviewRecord) == []


def test_comments_say_where_they_are(hub: Hub) -> None:
    added = comment(hub, start_line=1)
    assert (added["line"], added["start_line"], added["position"], added["side"]) == (2, 1, 3, "RIGHT")
    assert added["diff_hunk"].endswith("-    return a + b\n+    return a + b + 0")
    left = comment(hub, side="LEFT")
    assert (left["original_line"], left["position"], left["side"]) == (2, 2, "LEFT")
    whole = comment(hub, line=None, subject_type="file")
    assert (whole["line"], whole["subject_type"]) == (None, "file")
    by_position = comment(hub, line=None, position=3)
    assert (by_position["line"], by_position["side"]) == (2, "RIGHT")
    assert [entry["id"] for entry in Caller(hub).get(f"{PULLS}/comments?sort=created&direction=desc")][-1] == added[
        "id"
    ]


def test_replies_are_to_the_first_comment_of_a_thread(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/comments#create-a-reply-for-a-review-comment."""
    caller, first = Caller(hub), comment(hub)
    reply = caller.rest("POST", f"{COMMENTS}/{first['id']}/replies", {"body": "Because"})
    assert (reply.status, reply.body["in_reply_to_id"], reply.body["line"]) == (201, first["id"], 2)
    assert refusal(caller, "POST", f"{COMMENTS}/{reply.body['id']}/replies", {"body": "x"}) == (422, "in_reply_to")
    url = f"{PULLS}/comments/{reply.body['id']}"
    assert refusal(Caller(hub, READER), "PATCH", url, {"body": "x"})[0] == 403
    assert caller.rest("PATCH", url, {"body": "Therefore"}).body["body"] == "Therefore"
    assert caller.rest("DELETE", url).status == 204
    assert caller.rest("GET", url).status == 404
    assert caller.rest("DELETE", f"{PULLS}/comments/{first['id']}").status == 204
    assert hub.state.where(ThreadRecord) == hub.state.where(ReviewRecord) == []


def test_a_thread_is_outdated_when_its_lines_change(hub: Hub) -> None:
    """https://docs.github.com/pull-requests/collaborating-with-pull-requests/reviewing-changes-in-pull-requests/commenting-on-a-pull-request."""
    url = f"{PULLS}/comments/{comment(hub)['id']}"
    push(hub, "topic", {"src/app.py": "# First\ndef add(a, b):\n    return a + b + 0\n"})
    moved = Caller(hub).get(url)
    assert (moved["line"], moved["original_line"], moved["commit_id"]) == (3, 2, git_of(hub).branch("topic"))
    push(hub, "topic", {"src/app.py": "# First\ndef add(a, b):\n    return b + a\n"})
    outdated = Caller(hub).get(url)
    assert (outdated["line"], outdated["position"], outdated["original_line"]) == (None, None, 2)
    assert outdated["commit_id"] == outdated["original_commit_id"]


def test_threads_are_begun_answered_and_resolved_over_graphql(hub: Hub) -> None:
    """https://docs.github.com/graphql/reference/mutations#addpullrequestreviewthread."""
    caller, pull = Caller(hub, REVIEWER), pull_node(hub)
    fields = {"pullRequestId": pull, "path": "src/app.py", "body": "Why?"}
    off = mutate(caller, "addPullRequestReviewThread", "thread {id}", **fields, line=40)
    assert off["thread"] is None, "GitHub answers with no thread, and no error"
    mutate(caller, "addPullRequestReviewThread", "", **fields, line=2, startLine=1)
    (thread,) = hub.state.where(ThreadRecord)
    assert states(hub, REVIEWER) == ["PENDING"]
    reply = {"pullRequestReviewThreadId": node_id(thread), "body": "And this?"}
    mutate(caller, "addPullRequestReviewThreadReply", "", **reply)
    mutate(caller, "submitPullRequestReview", "", pullRequestId=pull, event="COMMENT")
    mutate(Caller(hub), "addPullRequestReviewThreadReply", "", **reply)
    assert [entry["user"]["login"] for entry in caller.get(COMMENTS)] == [REVIEWER, REVIEWER, AUTHOR]
    assert states(hub) == ["COMMENTED", "COMMENTED"]
    message = f"{READER} does not have the correct permissions to execute `ResolveReviewThread`"
    assert refused(Caller(hub, READER), "resolveReviewThread", threadId=node_id(thread)) == message
    mutate(Caller(hub), "resolveReviewThread", "", threadId=node_id(thread))
    author = hub.state.user(AUTHOR)
    assert author is not None
    assert hub.state.need(ThreadRecord, thread.id).resolved_by == author.id
    mutate(caller, "unresolveReviewThread", "", threadId=node_id(thread))
    assert hub.state.need(ThreadRecord, thread.id).resolved_by is None


def test_reviews_are_written_over_graphql(hub: Hub) -> None:
    caller, pull = Caller(hub, REVIEWER), pull_node(hub)
    threads = [{"path": "src/app.py", "line": 2, "body": "One"}]
    comments = [{"path": "src/app.py", "position": 2, "body": "Two"}]
    mutate(caller, "addPullRequestReview", "", pullRequestId=pull, threads=threads, comments=comments)
    (review,) = hub.state.where(ReviewRecord)
    first = hub.state.where(CommentRecord)[0]
    where = {"pullRequestReviewId": node_id(review), "body": "Three"}
    mutate(caller, "addPullRequestReviewComment", "", **where, inReplyTo=node_id(first))
    mutate(caller, "updatePullRequestReviewComment", "", pullRequestReviewCommentId=node_id(first), body="1")
    mutate(caller, "deletePullRequestReviewComment", "", id=node_id(hub.state.where(CommentRecord)[1]))
    mutate(caller, "updatePullRequestReview", "", pullRequestReviewId=node_id(review), body="All in all")
    mutate(caller, "submitPullRequestReview", "", pullRequestReviewId=node_id(review), event="APPROVE")
    assert [entry["body"] for entry in Caller(hub).get(COMMENTS)] == ["1", "Three"]
    mutate(caller, "dismissPullRequestReview", "", pullRequestReviewId=node_id(review), message="Late")
    assert states(hub) == ["DISMISSED"]


def test_reviews_are_requested_from_collaborators_but_not_the_author(hub: Hub) -> None:
    """https://docs.github.com/rest/pulls/review-requests#request-reviewers-for-a-pull-request."""
    caller = Caller(hub)
    own = "Review cannot be requested from pull request author."
    assert refusal(caller, "POST", REQUESTS, {"reviewers": [AUTHOR]}) == (422, own)
    status, reason = refusal(caller, "POST", REQUESTS, {"reviewers": ["stranger"]})
    assert (status, reason[:52]) == (422, "Reviews may only be requested from collaborators. On")
    assert refusal(Caller(hub, READER), "POST", REQUESTS, {"reviewers": [REVIEWER]})[0] == 403
    asked = caller.rest("POST", REQUESTS, {"reviewers": [REVIEWER, READER]})
    assert (asked.status, [user["login"] for user in asked.body["requested_reviewers"]]) == (201, [REVIEWER, READER])
    Caller(hub, REVIEWER).rest("POST", REVIEWS, {"event": "APPROVE"})
    assert [user["login"] for user in caller.get(REQUESTS)["users"]] == [READER], "a review answers a request"
    assert caller.rest("DELETE", REQUESTS, {"reviewers": [READER]}).body["requested_reviewers"] == []
    mutate(caller, "requestReviewsByLogin", "", pullRequestId=pull_node(hub), userLogins=[REVIEWER], union=True)
    reader = hub.state.user(READER)
    assert reader is not None
    mutate(caller, "requestReviews", "", pullRequestId=pull_node(hub), userIds=[node_id(reader)])
    assert [user["login"] for user in caller.get(REQUESTS)["users"]] == [READER]
