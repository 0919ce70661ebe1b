set -eu
git switch --quiet --create fix/ci
sed -i 's|PYTHONPATH: \.$|PYTHONPATH: src|' .github/workflows/ci.yml
git commit --quiet --all --message "CI finds the package in src"
git push --quiet --set-upstream origin fix/ci
gh pr create --base main --title "Make CI green again" --body "The package is in src."
