"""Every field that has a resolver gives what its type in GitHub's schema wants."""

from typing import Any

import pytest
from graphql import GraphQLNonNull, get_named_type, is_leaf_type

from scylla_gha.hub.graphql import RESOLVERS
from scylla_gha.hub.graphql.register import register
from scylla_gha.hub.graphql.schema import github_schema
from scylla_gha.hub.records import ProtectionRecord
from tests.support.hub import AUTHOR, NAME, OWNER, Caller
from tests.support.hub_contents import filled_hub

PULL, ISSUE = "pullRequest(number:1){%s}", "issue(number:2){%s}"
HEAD = PULL % "commits(last:1){nodes{commit{%s}}}"
CHECKS = HEAD % "statusCheckRollup{contexts(first:9){nodes{__typename ...on %s{%%s}}}}"
SUITES = HEAD % "checkSuites(first:1){nodes{%s}}"
PLACES = {
    "Repository": "%s",
    "Issue": ISSUE,
    "PullRequest": PULL,
    "IssueComment": ISSUE % "comments(first:1){nodes{%s}}",
    "PullRequestReview": PULL % "reviews(first:1){nodes{%s}}",
    "PullRequestReviewThread": PULL % "reviewThreads(first:1){nodes{%s}}",
    "PullRequestReviewComment": PULL % "reviewThreads(first:1){nodes{comments(first:2){nodes{%s}}}}",
    "PullRequestCommit": PULL % "commits(first:1){nodes{%s}}",
    "PullRequestChangedFile": PULL % "files(first:3){nodes{%s}}",
    "TreeEntry": HEAD % "file(path:\"src/app.py\"){%s}",
    "RefUpdateRule": 'ref(qualifiedName:"main"){refUpdateRule{%s}}',
    "GitActor": HEAD % "author{%s}",
    "ReviewRequest": PULL % "reviewRequests(first:1){nodes{%s}}",
    "Label": 'label(name:"bug"){%s}',
    "Milestone": "milestone(number:1){%s}",
    "User": PULL % "author{...on User{%s}}",
    "Organization": "owner{...on Organization{%s}}",
    "Ref": "refs(first:9,refPrefix:\"refs/\"){nodes{%s}}",
    "Commit": HEAD,
    "Tree": HEAD % "tree{%s}",
    "Tag": 'ref(qualifiedName:"refs/tags/v2"){target{...on Tag{%s}}}',
    "Comparison": 'ref(qualifiedName:"main"){compare(headRef:"topic"){%s}}',
    "BranchProtectionRule": "branchProtectionRules(first:1){nodes{%s}}",
    "Blob": 'object(expression:"main:README.md"){...on Blob{%s}}',
    "Release": 'release(tagName:"v1"){%s}',
    "ReleaseAsset": 'release(tagName:"v1"){releaseAssets(first:1){nodes{%s}}}',
    "StatusCheckRollup": HEAD % "statusCheckRollup{%s}",
    "CheckRun": CHECKS % "CheckRun",
    "StatusContext": CHECKS % "StatusContext",
    "CheckAnnotation": CHECKS % "CheckRun" % "annotations(first:1){nodes{%s}}",
    "CheckSuite": SUITES,
    "WorkflowRun": SUITES % "workflowRun{%s}",
    "Workflow": SUITES % "workflowRun{workflow{%s}}",
}  # fmt: skip

# Fields that no resolver gives but the parent has.
MORE = {
    "Comparison": ["aheadBy", "behindBy", "status", "baseTarget", "headTarget", "id"],
    "TreeEntry": ["name", "nameRaw", "path", "type", "mode", "oid", "size", "extension", "object", "isGenerated"],
    "RefUpdateRule": [
        "allowsDeletions",
        "pattern",
        "requiresSignatures",
        "viewerCanPush",
        "requiredStatusCheckContexts",
    ],
    "GitActor": ["name", "email", "date", "user", "avatarUrl"],
    "ReviewRequest": ["id", "asCodeOwner", "requestedReviewer", "pullRequest"],
}


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    register()
    hub = filled_hub(tmp_path_factory.mktemp("hub"))
    state, repository = hub.state, hub.state.repository(OWNER, NAME)
    assert repository is not None
    git, author = hub.git(repository), hub.session(AUTHOR).signature()
    git.run("tag", "-a", "v2", "-m", "Two", git.branches()["main"], env=author.environment("COMMITTER"))
    git.forget_refs()
    rule = ProtectionRecord(id=state.new_id(), created_at=state.now(), repository=repository.id, pattern="main")
    state.create(0, rule)
    return Caller(hub)


@pytest.mark.parametrize("kind", PLACES)
def test_all_fields_of_a_type_are_read(caller: Caller, kind: str) -> None:
    names = [name for owner, name in RESOLVERS if owner == kind] + MORE.get(kind, [])
    selections = [text for name in names if (text := _selection(kind, name))]
    place = PLACES[kind] % " ".join(selections)
    answer = caller.data(f'{{repository(owner:"{OWNER}",name:"{NAME}"){{{place}}}}}')
    assert len(selections) > len(names) // 2
    assert answer["repository"]


def _selection(kind: str, name: str) -> str:
    """A field with a page of two, if it has pages; empty if it needs other arguments."""
    types: Any = github_schema().type_map
    field = types[kind].fields[name]
    if any(isinstance(argument.type, GraphQLNonNull) for argument in field.args.values()):
        return ""
    inner = get_named_type(field.type)
    if is_leaf_type(inner):
        return name
    if "first" in field.args:
        return f"{name}(first:2){{totalCount nodes{{__typename}} edges{{cursor}} pageInfo{{hasNextPage endCursor}}}}"
    return f"{name}{{__typename}}"


def test_the_viewer_is_who_asks(caller: Caller) -> None:
    viewer = caller.data(
        "{viewer{login isViewer repositories(first:5){totalCount} organizations(first:5){totalCount}}}"
    )
    assert viewer["viewer"] == {
        "login": AUTHOR,
        "isViewer": True,
        "repositories": {"totalCount": 0},
        "organizations": {"totalCount": 0},
    }
    assert Caller(caller.hub, None).graphql("{viewer{login}}")["errors"][0]["type"] == "UNAUTHENTICATED"
