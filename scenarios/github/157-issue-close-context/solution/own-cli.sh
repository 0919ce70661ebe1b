set -eu
issue=$(octo search "is:issue is:open charmap writerows" --show number | head -n 1)
fix=$(octo search "is:pr is:merged CSV in UTF-8 in:title" --show number | head -n 1)
git fetch --quiet --tags
release=$(git tag --contains "$(octo show "pulls/$fix" --show merge_commit_sha)" --sort=creatordate | head -n 1)
octo create "issues/$issue/comments" body="Fixed by #$fix, first released in $release." --show html_url
octo edit "issues/$issue" state=closed state_reason=completed --show state
