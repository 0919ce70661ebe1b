# All is right, but the review with the replies is never submitted.
set -eu
graph() { gh api graphql "$@"; }
pull=$(gh pr list -R ridge-walkers/trailkit --head feature/simplify --json id --jq ".[0].id")
review=$(graph -F pull="$pull" --jq .data.addPullRequestReview.pullRequestReview.id -f query='
  mutation($pull: ID!) { addPullRequestReview(input: {pullRequestId: $pull}) { pullRequestReview { id } } }')
thread() {
  graph -F pull="$pull" -f query='
    query($pull: ID!) {
      node(id: $pull) {
        ... on PullRequest { reviewThreads(first: 50) { nodes { id path originalLine } } }
      }
    }' --jq ".data.node.reviewThreads.nodes[] | select(.path == \"$1\" and .originalLine == $2) | .id"
}
reply() {
  graph --silent -F review="$review" -F thread="$1" -F body="$2" -f query='
    mutation($review: ID!, $thread: ID!, $body: String!) {
      addPullRequestReviewThreadReply(
        input: {pullRequestReviewId: $review, pullRequestReviewThreadId: $thread, body: $body}
      ) { comment { id } }
    }'
}
done_in() {
  id=$(thread "$1" "$2")
  sha=$(gh api "repos/ridge-walkers/trailkit/commits?sha=feature/simplify" --jq ".[] | select(.commit.message | startswith(\"$3\")) | .sha")
  reply "$id" "Thanks!

**Done in** [the commit about it](https://github.com/ridge-walkers/trailkit/commit/$sha)."
  graph --silent -F thread="$id" -f query='
    mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { id } } }'
}
done_in src/trailkit/simplify.py 11 "Tracks of no or one point"
done_in src/trailkit/simplify.py 9 "Say in which unit"
done_in tests/test_simplify.py 15 "Tracks of no or one point"
reply "$(thread src/trailkit/simplify.py 15)" "**Not yet:** the final point is not kept if it is near."
reply "$(thread src/trailkit/simplify.py 20)" "Not yet: an empty track is still an error here."
reply "$(thread docs/simplify.md 3)" "Not yet: the page has \`5m\` again."
