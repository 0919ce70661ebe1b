set -eu
export GH_REPO=white-trail-club/trailbook
id() { gh issue view "$1" --json id --jq .id; }
original=$(gh issue list --search "pause straight line in:title" --json number --jq ".[0].number")
duplicate=$(gh issue list --search "cable car" --json number --jq ".[0].number")
gh api graphql --silent -F issue="$(id "$duplicate")" -F original="$(id "$original")" -f query='
  mutation($issue: ID!, $original: ID!) {
    closeIssue(input: {issueId: $issue, stateReason: DUPLICATE, duplicateIssueId: $original}) { issue { number } }
  }'
