set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue close "$duplicate" --duplicate-of "$original" \
  --comment "Thank you, Kees. The cable car is the line between two segments, which #$original is about."
