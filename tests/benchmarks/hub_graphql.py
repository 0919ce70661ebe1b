"""Milliseconds that the hub takes for what gh asks most: `pr view`, and a list of 100 issues.

Run: python -m tests.benchmarks.hub_graphql
"""

import statistics
import tempfile
import time
from pathlib import Path
from typing import Final

from scylla_gha.hub.cell import Hub
from tests.support.hub import NAME, OWNER, Caller
from tests.support.hub_contents import filled_hub

TIMES: Final = 30
PULL: Final = """
query PullRequestByNumber($owner: String!, $repo: String!, $number: Int!) {
  repository(owner: $owner, name: $repo) {
    pullRequest(number: $number) {
      url number title state body isDraft maintainerCanModify mergeable additions deletions
      headRefName baseRefName headRepositoryOwner{id,login,...on User{name}} headRepository{id,name} isCrossRepository
      author{login,...on User{id,name}} autoMergeRequest{enabledAt}
      commits(last: 1){totalCount,nodes{commit{oid,statusCheckRollup{contexts(first:100){nodes{__typename
        ...on StatusContext{context,state,targetUrl,createdAt,description}
        ...on CheckRun{name,checkSuite{workflowRun{event,workflow{name}}},status,conclusion,startedAt,completedAt
          detailsUrl}
      },pageInfo{hasNextPage,endCursor}}}}}}
      comments(first: 100){nodes{id,author{login,...on User{id,name}},authorAssociation,body,createdAt
        includesCreatedEdit
        isMinimized,minimizedReason,reactionGroups{content,users{totalCount}},url,viewerDidAuthor}
        pageInfo{hasNextPage,endCursor},totalCount}
      reviews(first: 100){nodes{id,author{login},authorAssociation,submittedAt,body,state,commit{oid}
        reactionGroups{content,users{totalCount}}},pageInfo{hasNextPage,endCursor},totalCount}
      reviewRequests(first: 100){nodes{requestedReviewer{__typename,...on User{login,name}}}}
      assignees(first:100){nodes{id,login,name},totalCount}
      labels(first:100){nodes{id,name,description,color},totalCount}
      milestone{number,title,description,dueOn} closingIssuesReferences(first:100){nodes{number}}
      reviewDecision mergeStateStatus
    }
  }
}"""
ISSUES: Final = """
query IssueList($owner: String!, $repo: String!) {
  repository(owner: $owner, name: $repo) {
    hasIssuesEnabled
    issues(first: 100, orderBy: {field: CREATED_AT, direction: DESC}, states: OPEN) {
      totalCount nodes { number title url state updatedAt
        labels(first:100){nodes{id,name,description,color},totalCount} }
      pageInfo { hasNextPage endCursor }
    }
  }
}"""


def measured(caller: Caller, query: str, **variables: object) -> str:
    """The medians, of a cell that asks for the first time, and of one that asked before."""
    caller.data(query, owner=OWNER, repo=NAME, **variables)  # parses the query, which all cells do once
    medians = []
    for is_cold in (True, False):
        times = []
        for _ in range(TIMES):
            hub = (
                Hub(caller.hub.folder, caller.hub.state, caller.hub.blobs, caller.hub.tokens) if is_cold else caller.hub
            )
            start = time.perf_counter()
            Caller(hub).data(query, owner=OWNER, repo=NAME, **variables)
            times.append((time.perf_counter() - start) * 1000)
        medians.append(statistics.median(times))
    return f"{medians[0]:.1f} ms for the first time, {medians[1]:.1f} ms again"


def main() -> None:
    """Print both."""
    with tempfile.TemporaryDirectory() as folder:
        caller = Caller(filled_hub(Path(folder) / "hub", issues=150))
        caller.data("{viewer{login}}")  # the schema
        print("pr view:", measured(caller, PULL, number=1), "(target: 25 ms)")
        print("100 issues:", measured(caller, ISSUES), "(target: 30 ms)")


if __name__ == "__main__":
    main()
