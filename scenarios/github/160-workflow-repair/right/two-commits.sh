# Two commits, the recipe first, and a text of one line.
set -eu
git switch --quiet --create fix/ci
sed -i 's/"target": 1188/"target": 1288/' recipes/celadon.json
git commit --quiet --all --message "Celadon: cone 10 is 1288 degrees"
sed -i 's|PYTHONPATH: \.$|PYTHONPATH: src|' .github/workflows/ci.yml
git commit --quiet --all --message "CI looks for the package in src"
git push --quiet --set-upstream origin fix/ci
gh pr create --base main --title "CI" --body "Path of the package; typo in the celadon."
gh pr checks --watch --interval 1 --fail-fast
