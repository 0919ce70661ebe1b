# The answer is a table.
set -eu
export GH_REPO=white-trail-club/trailbook
issue=$(gh issue list --search "charmap writerows" --json number --jq ".[0].number")
fix=$(gh pr list --state merged --search "CSV in UTF-8 in:title" --json number,mergeCommit --jq ".[0]")
number=$(echo "$fix" | grep -o '"number":[0-9]*' | cut -d: -f2)
commit=$(echo "$fix" | grep -o '"oid":"[0-9a-f]*' | cut -d'"' -f4)
git fetch --quiet --tags
release=$(git tag --contains "$commit" --sort=creatordate | head -1)
gh issue close "$issue" --reason completed --comment "| fixed by | first release with it |
|---|---|
| #$number | $release |"
