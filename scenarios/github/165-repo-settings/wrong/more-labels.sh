# The labels of the file are there, and one that it does not know.
set -eu
export GH_REPO=st-anns-choir/choirbook
gh repo edit $GH_REPO --description "Sheets, voices and rehearsals of a choir" --homepage https://choirbook.example.org \
  --enable-issues=true --enable-projects=false --enable-wiki=false --enable-merge-commit=false \
  --enable-rebase-merge=false --enable-squash-merge=true --delete-branch-on-merge=true \
  --remove-topic music --add-topic sheet-music,lilypond
gh label edit Bug --name bug --description "Something does not work"
gh label edit Enhancement --name enhancement
gh label edit "Help Wanted" --name "help wanted"
gh label edit voice --name Voice
gh label edit Question --name support
gh api --silent -X PATCH "repos/$GH_REPO/labels/documentation" -f description=
gh label create rehearsal --color C5DEF5 --description "Dates and places"
gh label delete wontfix --yes
gh label delete invalid --yes
gh label create choir --color C5DEF5 --description "All voices"
