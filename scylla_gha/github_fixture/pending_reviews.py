"""Reviews that an agent has begun and not submitted: only its own account sees them, so it also has to remove them."""

from typing import Final

from scylla_gha.errors import GitHubError
from scylla_gha.github.client import GitHubRepository
from scylla_gha.github.graphql import GraphQLRequest
from scylla_gha.github_fixture.mutations import Mutation, send_mutations

_DOCUMENT: Final = """query($owner: String!, $name: String!) { repository(owner: $owner, name: $name) {
    pullRequests(first: 100, orderBy: {field: CREATED_AT, direction: DESC}) {
        nodes { reviews(first: 1, states: [PENDING]) { nodes { id } } } } } }"""


def remove_pending_reviews(client: GitHubRepository) -> int:
    """Remove the pending reviews of a client's user, of the hundred newest pull requests; return their number.

    Raises:
        GitHubError: they cannot be read or removed.
    """
    owner, name = client.repository.split("/")
    what = "remove reviews that were not submitted"
    request = GraphQLRequest(_DOCUMENT, what, "pull-requests: write", {"owner": owner, "name": name})
    pulls = client.graphql(request).data["repository"]["pullRequests"]["nodes"]
    ids = [review["id"] for pull in pulls for review in pull["reviews"]["nodes"]]
    removals = [Mutation("deletePullRequestReview", {"pullRequestReviewId": id_}) for id_ in ids]
    failed = send_mutations(client, removals, what) if removals else []
    if failed:
        raise GitHubError(f"{client.repository}: cannot {what}: {failed[0].error.message}")
    return len(ids)
