set -eu
repo=northgate-library/loanbook
pull=$(gh pr list -R "$repo" --head feature/renewals --json id --jq ".[0].id")
review=$(gh api graphql -F pull="$pull" --jq .data.addPullRequestReview.pullRequestReview.id -f query='
  mutation($pull: ID!) { addPullRequestReview(input: {pullRequestId: $pull}) { pullRequestReview { id } } }')
comment() {
  gh api graphql --silent -F review="$review" -F path="$1" -F line="$2" -F body="$3" -f query='
    mutation($review: ID!, $path: String!, $line: Int!, $body: String!) {
      addPullRequestReviewThread(input: {pullRequestReviewId: $review, path: $path, line: $line, side: RIGHT, body: $body}) {
        thread { id }
      }
    }'
}
comment src/loanbook/renewals.py 23 "With two renewals this is false, so a third one is allowed."
comment src/loanbook/renewals.py 31 "The period belongs to the old due date, not to today."
comment src/loanbook/reminders.py 15 "A default dict is shared by all calls."
gh api graphql --silent -F review="$review" -f query='
  mutation($review: ID!) {
    submitPullRequestReview(input: {pullRequestReviewId: $review, event: REQUEST_CHANGES, body: "Please see below."}) {
      pullRequestReview { state }
    }
  }'
