# Each reply names all commits of the branch.
set -eu
repo=ridge-walkers/trailkit
pull=$(gh pr list -R "$repo" --head feature/simplify --json number --jq ".[0].number")
git fetch -q origin feature/simplify
commit() { git log -1 --format=%h --abbrev=7 --grep="$1" origin/feature/simplify; }
threads=$(gh api graphql -F pull="$pull" -f query='
  query($pull: Int!) {
    repository(owner: "ridge-walkers", name: "trailkit") {
      pullRequest(number: $pull) {
        reviewThreads(first: 50) { nodes { id isResolved comments(first: 1) { nodes { databaseId body } } } }
      }
    }
  }' --jq '.data.repository.pullRequest.reviewThreads.nodes[] | select(.isResolved | not)
    | [.id, .comments.nodes[0].databaseId, (.comments.nodes[0].body | gsub("\\s+"; " "))] | join("|")')
answer() {
  comment=$(echo "$threads" | grep -F "$1" | cut -d "|" -f 2)
  gh api --silent "repos/$repo/pulls/$pull/comments/$comment/replies" -f body="$2"
}
resolve() {
  gh api graphql --silent -F thread="$(echo "$threads" | grep -F "$1" | cut -d "|" -f 1)" -f query='
    mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { isResolved } } }'
}
answer "raises an IndexError" "Done in $(commit "no or one point") or $(commit "in which unit")."
resolve "raises an IndexError"
answer "test with a track of a single point" "Done in $(commit "no or one point") or $(commit "in which unit")."
resolve "test with a track of a single point"
answer "10 of what?" "Done in $(commit "no or one point") or $(commit "in which unit")."
resolve "10 of what?"
answer "the tour ends before the hut" "Not yet: the line has changed, but a last point near the one before is still left out."
answer "divides by zero" "Not yet: \`savings\` still divides by the number of points."
answer "so \`5m\` as it stands here" "Not yet: it was a number for a while, but my last commit brought the 5m back."
