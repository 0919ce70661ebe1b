# `gh label create --force` finds labels in any case, and leaves their names as they are.
set -eu
export GH_REPO=st-anns-choir/choirbook
gh repo edit $GH_REPO --description "Sheets, voices and rehearsals of a choir" --homepage https://choirbook.example.org \
  --enable-issues=true --enable-projects=false --enable-wiki=false --enable-merge-commit=false \
  --enable-rebase-merge=false --enable-squash-merge=true --delete-branch-on-merge=true \
  --remove-topic music --add-topic sheet-music,lilypond
gh label edit Question --name support
gh label create bug --force --color D73A4A --description "Something does not work"
gh label create enhancement --force --color A2EEEF --description "Something new"
gh label create documentation --force --color 0075CA --description ""
gh label create "good first issue" --force --color 7057FF --description "Good for a rainy afternoon"
gh label create "help wanted" --force --color 008672 --description ""
gh label create Voice --force --color FBCA04 --description "Concerns one voice only"
gh label create rehearsal --force --color C5DEF5 --description "Dates and places"
gh api --silent -X PATCH "repos/$GH_REPO/labels/documentation" -f description=
gh label delete wontfix --yes
gh label delete invalid --yes
