# The rule is that of solution.sh: at some commit of main, a merge of the branch would have changed nothing.
set -eu
git fetch --quiet --prune origin
open=$(octo list pulls --show head.ref,base.ref | tr '\t' '\n')
is_merged() {
  for commit in $(git rev-list --first-parent origin/main); do
    merged=$(git merge-tree --write-tree "$commit" "origin/$1" 2>/dev/null | head -n 1)
    if [ "$merged" = "$(git rev-parse "$commit^{tree}")" ]; then return 0; fi
  done
  return 1
}
for branch in $(octo list branches --if protected=false --show name); do
  if ! echo "$open" | grep -qxF "$branch" && is_merged "$branch"; then octo delete "git/refs/heads/$branch"; fi
done
