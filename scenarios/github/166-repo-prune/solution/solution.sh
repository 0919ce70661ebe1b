# A branch is deleted if, at some commit of main since it began, a merge of it would have changed nothing.
set -eu
export GH_REPO=fellside-walkers/walklog
git fetch --quiet --prune origin
open=$(gh pr list --limit 100 --json headRefName,baseRefName --jq '.[] | .headRefName, .baseRefName')
for branch in $(gh api --paginate "repos/$GH_REPO/branches" --jq '.[] | select(.protected | not) | .name'); do
  if echo "$open" | grep -qxF "$branch"; then continue; fi
  for commit in $(git rev-list --first-parent origin/main); do
    if [ "$(git merge-tree --write-tree "$commit" "origin/$branch" 2>/dev/null | head -1)" = "$(git rev-parse "$commit^{tree}")" ]; then
      git push --quiet origin --delete "$branch"
      break
    fi
  done
done
