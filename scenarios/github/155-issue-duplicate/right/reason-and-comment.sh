set -eu
repo=repos/white-trail-club/trailbook
original=$(gh api -X GET search/issues -f q='repo:white-trail-club/trailbook is:issue trkseg bus' --jq '.items[0].number')
duplicate=$(gh api "$repo/issues?creator=kees-v&labels=figures&per_page=1" --jq '.[0].number')
gh api --silent "$repo/issues/$duplicate/comments" \
  -f body="This was reported before: https://github.com/white-trail-club/trailbook/issues/$original"
gh api --silent -X PATCH "$repo/issues/$duplicate" -f state=closed -f state_reason=duplicate
