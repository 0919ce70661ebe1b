# All labels are deleted and made anew: no issue has one any more.
set -eu
export GH_REPO=st-anns-choir/choirbook
gh repo edit $GH_REPO --description "Sheets, voices and rehearsals of a choir" --homepage https://choirbook.example.org \
  --enable-issues=true --enable-projects=false --enable-wiki=false --enable-merge-commit=false \
  --enable-rebase-merge=false --enable-squash-merge=true --delete-branch-on-merge=true \
  --remove-topic music --add-topic sheet-music,lilypond
gh api --paginate "repos/$GH_REPO/labels" --jq '.[].name' | while read -r name; do gh label delete "$name" --yes </dev/null; done
gh label create bug --color D73A4A --description "Something does not work"
gh label create enhancement --color A2EEEF --description "Something new"
gh label create documentation --color 0075CA
gh label create "good first issue" --color 7057FF --description "Good for a rainy afternoon"
gh label create "help wanted" --color 008672
gh label create Voice --color FBCA04 --description "Concerns one voice only"
gh label create support --color D876E3 --description "Somebody needs help"
gh label create rehearsal --color C5DEF5 --description "Dates and places"
