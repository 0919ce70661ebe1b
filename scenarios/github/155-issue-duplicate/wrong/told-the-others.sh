# The issue is closed rightly, but the original gets a comment and a new title.
set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue close "$duplicate" --duplicate-of "$original" --comment "Duplicate of #$original"
gh issue edit "$original" --title "A pause is counted as a straight line, and its ascent as well"
gh issue comment "$original" --body "Also reported in #$duplicate."
