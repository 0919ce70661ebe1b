# HEAD is one commit on a release ($1), of the author of the last commit of main, whose name is in its message.
set -u
main=$(git rev-parse refs/start/heads/main)
[ "$(git rev-parse HEAD~1)" = "$(git rev-parse "$1")" ] || { echo "it is not one commit on the release"; exit 1; }
author=$(git log -1 --format="%an <%ae>")
[ "$author" = "$(git log -1 --format="%an <%ae>" "$main")" ] || { echo "its author is $author"; exit 1; }
git log -1 --format=%B | grep -F "(cherry picked from commit $main)"
