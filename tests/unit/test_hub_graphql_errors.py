"""Errors of GraphQL have GitHub's types and words, which clients look for."""

import pytest

from tests.support.hub import NAME, OWNER, Caller
from tests.support.hub_contents import filled_hub

IN_DEMO = f'{{repository(owner:"{OWNER}",name:"{NAME}"){{%s}}}}'
NO_SELECTIONS = (
    "Field must have selections (field 'viewer' returns User but has no selections. Did you mean 'viewer { ... }'?)"
)


@pytest.fixture(scope="module")
def caller(tmp_path_factory: pytest.TempPathFactory) -> Caller:
    return Caller(filled_hub(tmp_path_factory.mktemp("hub")))


@pytest.mark.parametrize(
    ("fields", "kind", "message"),
    [
        ("issues(first:101){nodes{id}}", "EXCESSIVE_PAGINATION", "Requesting 101 records on the `issues` connection"),
        ("issues{nodes{id}}", "MISSING_PAGINATION_BOUNDARIES", "You must provide a `first` or `last` value"),
        ('issues(first:1,after:"x"){nodes{id}}', "INVALID_CURSOR_ARGUMENTS", "`x` does not appear to be"),
        ("pullRequest(number:9){id}", "NOT_FOUND", "Could not resolve to a PullRequest with the number of 9."),
        ("issue(number:1){id}", "NOT_FOUND", "Could not resolve to an Issue with the number of 1."),
        ("issueOrPullRequest(number:99){__typename}", "NOT_FOUND", "Could not resolve to an issue or pull request"),
        ("dependencyGraphManifests(first:1){totalCount}", "NOT_AVAILABLE", "Repository.dependencyGraphManifests is"),
        ("issues(first:1,filterBy:{viewerSubscribed:true}){totalCount}", None, None),
        ("forks(first:1,isLocked:true){totalCount}", "NOT_AVAILABLE", "Repository.forks(isLocked:) is"),
    ],
)  # fmt: skip
def test_errors_of_fields_have_types_and_messages_of_github(
    caller: Caller, fields: str, kind: str | None, message: str | None
) -> None:
    answer = caller.graphql(IN_DEMO % fields)
    errors = [(error["type"], error["message"]) for error in answer.get("errors", [])]
    assert len(errors) == (kind is not None)
    assert all(error[0] == kind and error[1].startswith(message or "") for error in errors)


@pytest.mark.parametrize(
    ("query", "message", "code"),
    [
        ("{viewer{nope}}", "Field 'nope' doesn't exist on type 'User'", "undefinedField"),
        ("{viewer(x:1){login}}", "Field 'viewer' doesn't accept argument 'x'", "argumentNotAccepted"),
        ("{repository(owner:\"o\"){id}}", "Field 'repository' is missing required arguments: name",
         "missingRequiredArguments"),
        ("{viewer}", NO_SELECTIONS, "selectionMismatch"),
        ("query Q($a:Int){viewer{login}}", "Variable $a is declared by Q but not used", "variableNotUsed"),
        ("{repository(owner:$o,name:\"x\"){id}}", "Variable $o is used by anonymous query but not declared",
         "variableNotDefined"),
        ("mutation{addComment(input:{subjectId:\"x\",body:\"\",x:1}){clientMutationId}}",
         "InputObject 'AddCommentInput' doesn't accept argument 'x'", "argumentNotAccepted"),
        ("query A{viewer{login}} query B{viewer{login}}", "An operation name is required", "operationNameRequired"),
        (IN_DEMO % "issues(first:1,states:[OPENED]){totalCount}",
         "Argument 'states' on Field 'issues' has an invalid value (OPENED). Expected type '[IssueState!]'.", None),
        (IN_DEMO % "issues(first:1,orderBy:{field:X,direction:ASC}){totalCount}",
         "Argument 'field' on InputObject 'IssueOrder' has an invalid value (X). Expected type 'IssueOrderField!'.",
         None),
        ("query($n:Int)" + IN_DEMO % "issue(number:$n){id}",
         "Nullability mismatch on variable $n and argument number (Int / Int!)", None),
        ("query($n:Int!)" + IN_DEMO % "issue(number:$n){id}", "Variable $n of type Int! was provided invalid value",
         None),
        ("query($n:Foo){viewer{...F}} fragment F on User{id}", "Foo isn't a defined input type (on $n)", None),
    ],
)  # fmt: skip
def test_invalid_queries_are_refused_in_the_words_of_github(
    caller: Caller, query: str, message: str, code: str | None
) -> None:
    answer = caller.graphql(query)
    assert "data" not in answer
    errors = [(error["message"], error.get("extensions", {}).get("code")) for error in answer["errors"]]
    assert (message, code) in errors


@pytest.mark.parametrize(("size", "nodes"), [(100, "1,010,100"), (70, None)])
def test_a_query_may_ask_for_half_a_million_nodes(caller: Caller, size: int, nodes: str | None) -> None:
    """See https://docs.github.com/graphql/overview/rate-limits-and-query-limits-for-the-graphql-api#node-limit."""
    query = (
        'query($size: Int!) {repository(owner: "octo-org", name: "demo") {issues(first: $size) {nodes {...Comments}}}} '
        "fragment Comments on Issue {comments(first: $size) {nodes {reactions(last: $size) {totalCount}}}}"
    )
    errors = [(error["type"], error["message"]) for error in caller.graphql(query, size=size).get("errors", [])]
    message = f"This query requests up to {nodes} possible nodes which exceeds the maximum limit of 500,000."
    assert errors == ([("MAX_NODE_LIMIT_EXCEEDED", message)] if nodes else [])
