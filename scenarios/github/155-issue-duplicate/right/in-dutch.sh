# The comment is in the language of Kees.
set -eu
export GH_REPO=white-trail-club/trailbook
number() { gh issue list --json number,title,author --jq ".[] | select($1) | .number"; }
original=$(number '.title == "A pause is counted as a straight line"')
duplicate=$(number '.title == "Ascent is much too high" and .author.login == "kees-v"')
gh issue comment "$duplicate" --body "Dank je, Kees! Dit is dezelfde fout als in #$original: de pauze wordt een rechte lijn. Lees daar verder."
gh api --silent -X PATCH "repos/$GH_REPO/issues/$duplicate" -f state=closed -f state_reason=duplicate
