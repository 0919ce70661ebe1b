# Only branches whose commits are in main are deleted; one of them is the base of an open pull request.
set -eu
git fetch --quiet origin
for branch in $(git branch --remotes --merged origin/main --format '%(refname:lstrip=3)' | grep -v -e '^main$' -e '^HEAD$' -e '^release/'); do
  git push --quiet origin --delete "$branch"
done
