# The mark is right, and the comment contradicts it.
# unmet: F3
set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue close "$duplicate" --duplicate-of "$original" --comment "Kees, this has nothing to do with #$original, please do not write there."
