"""Every kind of event in a timeline is a type of GitHub's schema, with its fields."""

from typing import Any

import pytest
from graphql import GraphQLObjectType, get_named_type, is_leaf_type

from scylla_gha.hub.cell import Hub
from scylla_gha.hub.graphql.schema import github_schema
from scylla_gha.hub.graphql.timeline import TYPES
from scylla_gha.hub.records import EventRecord, IssueRecord, PullRequestRecord, RepositoryRecord, ReviewRecord
from tests.support.hub import AUTHOR, NAME, OWNER, READER, Caller
from tests.support.hub_contents import filled_hub

ON_ISSUES = {"marked_as_duplicate", "unmarked_as_duplicate"}
ABSENT = {"dismissalMessageHTML", "pullRequestCommit", "willCloseTarget"}  # of these the hub has no use


@pytest.fixture(scope="module")
def hub(tmp_path_factory: pytest.TempPathFactory) -> Hub:
    return filled_hub(tmp_path_factory.mktemp("hub"))


@pytest.mark.parametrize("event", sorted(TYPES))
def test_an_event_has_the_fields_of_its_type(hub: Hub, event: str) -> None:
    kind = IssueRecord if event in ON_ISSUES else PullRequestRecord
    subject, issue, review = hub.state.first(kind), hub.state.first(IssueRecord), hub.state.first(ReviewRecord)
    pull = hub.state.first(PullRequestRecord)
    assert subject is not None
    assert issue is not None
    assert review is not None
    assert pull is not None
    head = hub.git(subject.repository).refs()["refs/pull/1/head"]
    is_ref = event in ("base_ref_changed", "automatic_base_change_succeeded", "renamed")
    data = {"label": "bug", "color": "d73a4a", "milestone": "v2", "assignee": AUTHOR, "reviewer": READER,
            "reason": "too heated" if event == "locked" else "completed", "canonical": str(issue.id),
            "source": str(pull.id), "commit": head, "ref": "topic", "review": str(review.id), "state": "approved",
            "message": "Old", "from": "main" if is_ref else head, "to": "topic" if is_ref else head}  # fmt: skip
    hub.state.create(0, EventRecord(id=hub.state.new_id(), created_at=hub.state.now(), subject=subject.id,
                                    actor=hub.tokens[AUTHOR], event=event, data=tuple(data.items())))  # fmt: skip
    name = TYPES[event]
    items = f"timelineItems(last:1){{nodes{{__typename ...on {name}{{{_selection(name)}}}}}}}"
    field = "issue(number:2)" if kind is IssueRecord else "pullRequest(number:1)"
    answer = Caller(hub).data(f'{{repository(owner:"{OWNER}",name:"{NAME}"){{{field}{{{items}}}}}}}')["repository"]
    (node,) = next(iter(answer.values()))["timelineItems"]["nodes"]
    empty = {key for key, value in node.items() if value is None}
    assert node["__typename"] == name
    assert empty <= {"stateReason", "headRef"}, "each has a value"


def _selection(name: str) -> str:
    """All fields of a type; of objects their type's name."""
    kind: Any = github_schema().type_map[name]
    assert isinstance(kind, GraphQLObjectType)
    wanted = {key: value for key, value in kind.fields.items() if key not in ABSENT}
    return " ".join(
        key if is_leaf_type(get_named_type(value.type)) else f"{key}{{__typename}}" for key, value in wanted.items()
    )


def test_a_reference_from_a_hidden_repository_is_in_nobodys_timeline(tmp_path_factory: pytest.TempPathFactory) -> None:
    """See https://docs.github.com/rest/using-the-rest-api/issue-event-types#cross-referenced."""
    hub = filled_hub(tmp_path_factory.mktemp("hub"))
    state, now = hub.state, hub.state.now()
    hidden = RepositoryRecord(id=state.new_id(), created_at=now, updated_at=now, pushed_at=now, name="hidden",
                              owner=hub.tokens[AUTHOR], private=True)  # fmt: skip
    source = IssueRecord(id=state.new_id(), created_at=now, updated_at=now, repository=hidden.id, number=1, title="x",
                         author=hub.tokens[AUTHOR])  # fmt: skip
    issue = state.first(IssueRecord)
    assert issue is not None
    event = EventRecord(id=state.new_id(), created_at=now, subject=issue.id, actor=hub.tokens[AUTHOR],
                        event="cross-referenced", data=(("source", str(source.id)),))  # fmt: skip
    for record in (hidden, source, event):
        state.create(0, record)
    items = "timelineItems(first:9,itemTypes:[CROSS_REFERENCED_EVENT]){totalCount}"
    query = f'{{repository(owner:"{OWNER}",name:"{NAME}"){{issue(number:2){{{items}}}}}}}'
    counts = [
        Caller(hub, login).data(query)["repository"]["issue"]["timelineItems"]["totalCount"]
        for login in (AUTHOR, READER)
    ]
    assert counts == [2, 1]
