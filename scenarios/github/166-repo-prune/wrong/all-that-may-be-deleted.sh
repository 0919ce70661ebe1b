# Every branch that is not protected is deleted.
set -eu
repo=repos/fellside-walkers/walklog
for branch in $(gh api --paginate "$repo/branches" --jq ".[] | select(.protected | not) | .name"); do
  gh api --silent -X DELETE "$repo/git/refs/heads/$branch" || true
done
