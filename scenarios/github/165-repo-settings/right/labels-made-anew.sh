# Two labels are made anew, and all that had them gets them back.
set -eu
export GH_REPO=st-anns-choir/choirbook
gh repo edit $GH_REPO --description "Sheets, voices and rehearsals of a choir" --homepage https://choirbook.example.org \
  --enable-projects=false --enable-wiki=false --enable-merge-commit=false --enable-rebase-merge=false \
  --delete-branch-on-merge --add-topic LilyPond,sheet-music --remove-topic music
move() {
  numbers=$(gh api --paginate "repos/$GH_REPO/issues?state=all&per_page=100&labels=$1" --jq '.[].number')
  gh label delete "$1" --yes
  gh label create "$2" --color "$3" --description "$4"
  for number in $numbers; do gh api --silent "repos/$GH_REPO/issues/$number/labels" -f "labels[]=$2"; done
}
move Bug bug D73A4A "Something does not work"
move Question support D876E3 "Somebody needs help"
gh label edit Enhancement --name enhancement
gh label edit "Help Wanted" --name "help wanted"
gh label edit voice --name Voice
gh api --silent -X PATCH "repos/$GH_REPO/labels/documentation" -f description=
gh label create rehearsal --color C5DEF5 --description "Dates and places"
gh label delete wontfix --yes
gh label delete invalid --yes
