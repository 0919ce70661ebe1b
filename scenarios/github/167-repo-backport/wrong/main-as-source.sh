# Branches of main are proposed to the releases.
set -eu
repo=sunny-lane-coop/meterlog
number=$(gh pr list -R "$repo" --state merged --search "Round bills in:title" --json number --jq ".[0].number")
commit=$(gh pr view "$number" -R "$repo" --json mergeCommit --jq .mergeCommit.oid)
open_pull() {
  git push -q origin "HEAD:refs/heads/backport/$number-to-$1"
  gh pr create -R "$repo" --base "release/$1" --head "backport/$number-to-$1" --label backport \
    --title "[$1] Round bills to whole cents" --body "Backport of #$number"
}
git switch -q -c for-1.5 origin/main
open_pull 1.5
open_pull 1.4
