# Each branch of a merged pull request is deleted: commits were added to some, and others were merged elsewhere.
set -eu
export GH_REPO=fellside-walkers/walklog
for branch in $(gh pr list --state merged --limit 100 --json headRefName --jq '.[].headRefName' | sort -u); do
  git push --quiet origin --delete "$branch" || true
done
git push --quiet origin --delete spelling fix-pace
