# The original is a link with words, and the comment explains why.
set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue comment "$duplicate" --body "Hi Kees, the cable car is drawn as if you had walked it, since trailbook forgets where a segment ends. [Hana's report about her bus](https://github.com/$GH_REPO/issues/$original) is about just that; we go on there."
gh api --silent -X PATCH "repos/$GH_REPO/issues/$duplicate" -f state=closed -f state_reason=duplicate
