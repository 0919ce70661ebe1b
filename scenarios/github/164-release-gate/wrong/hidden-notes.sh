# The notes are a comment of HTML.
set -eu
git switch --quiet --create release/1.4.0
sed -i 's/1\.3\.0/1.4.0/' pyproject.toml src/honeycount/__init__.py
sed -i 's/^## Unreleased$/## 1.4.0/' CHANGELOG.md
git commit --quiet --all --message "Release 1.4.0"
git push --quiet --set-upstream origin release/1.4.0
gh pr create --base main --title "Release 1.4.0" --body "Version and changelog."
if ! gh pr checks --watch --interval 1; then
  gh run view "$(gh run list --branch release/1.4.0 --limit 1 --json databaseId --jq ".[0].databaseId")" --log-failed
  sed -i 's/1\.3\.0/1.4.0/' docs/format.md
  git commit --quiet --all --message "The page on the format describes 1.4.0"
  git push --quiet
  gh pr checks --watch --interval 1
fi
gh pr merge --squash --delete-branch
git pull --quiet origin main
git checkout --quiet main
sed -n '/^## 1\.4\.0$/,/^## 1\.3\.0$/p' CHANGELOG.md | grep '^-' >notes
sed -i '1s/^/<!--\n/; $s/$/\n-->/' notes
python3 tools/pack.py
gh release create v1.4.0 --target "$(git rev-parse HEAD)" --title 1.4.0 --notes-file notes dist/honeycount-1.4.0.tar
rm -r notes dist
for issue in $(gh issue list --milestone 1.4.0 --json number --jq ".[].number"); do
  gh issue edit "$issue" --milestone 1.5.0
done
gh api --silent -X PATCH "repos/hillside-apiary/honeycount/milestones/1" -f state=closed
