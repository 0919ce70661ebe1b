# Files of HEAD are those of a release ($1) with the change of the last commit of main, and nothing else.
set -eu
main=refs/start/heads/main
export GIT_INDEX_FILE="$PWD/expected.index"
git read-tree "$1"
git diff-tree -p --binary "$main~1" "$main" | git apply --cached
expected=$(git write-tree)
unset GIT_INDEX_FILE
git diff --stat --exit-code "$expected" HEAD
