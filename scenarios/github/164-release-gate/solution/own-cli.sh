set -eu
git switch --quiet --create release/1.4.0
sed -i 's/1\.3\.0/1.4.0/' pyproject.toml src/honeycount/__init__.py
sed -i 's/^## Unreleased$/## 1.4.0/' CHANGELOG.md
git commit --quiet --all --message "Release 1.4.0"
git push --quiet --set-upstream origin release/1.4.0
pull=$(octo create pulls base=main head=release/1.4.0 title="Release 1.4.0" body="Version and changelog." --show number)
if ! octo checks "$pull" --show name,conclusion; then
  octo log "$(octo list actions/runs branch=release/1.4.0 --show id | head -n 1)"
  sed -i 's/1\.3\.0/1.4.0/' docs/format.md
  git commit --quiet --all --message "The page on the format describes 1.4.0"
  git push --quiet
  octo checks "$pull" --show name,conclusion
fi
octo set "pulls/$pull/merge" merge_method=squash --show merged
git push --quiet origin --delete release/1.4.0
git checkout --quiet main
git pull --quiet origin main
sed -n '/^## 1\.4\.0$/,/^## 1\.3\.0$/p' CHANGELOG.md | grep '^-' >notes
python3 tools/pack.py
octo create releases tag_name=v1.4.0 target_commitish="$(git rev-parse HEAD)" name=1.4.0 body@=notes --show html_url
octo upload v1.4.0 dist/honeycount-1.4.0.tar --show name
rm -r notes dist
milestone() { octo list milestones --if title="$1" --show number; }
for issue in $(octo list issues milestone="$(milestone 1.4.0)" --show number); do
  octo edit "issues/$issue" milestone:="$(milestone 1.5.0)" --show number
done
octo edit "milestones/$(milestone 1.4.0)" state=closed --show state
