# Number and words, without a sentence.
# unmet: F3
set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue comment "$duplicate" --body "Discussion duplicate original same bus pause #$original thing."
gh api --silent -X PATCH "repos/$GH_REPO/issues/$duplicate" -f state=closed -f state_reason=duplicate
