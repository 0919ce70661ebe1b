set -eu
git switch --quiet --create fix/ci
sed -i 's|PYTHONPATH: \.$|PYTHONPATH: src|' .github/workflows/ci.yml
sed -i 's/"target": 1188/"target": 1288/' recipes/celadon.json
git commit --quiet --all --message "CI finds the package in src; the celadon is fired to 1288 °C"
git push --quiet --set-upstream origin fix/ci
mcp-call create_pull_request '{"owner": "mill-lane-studio", "repo": "kilnlog", "title": "Make CI green again",
  "head": "fix/ci", "base": "main", "body": "The package is in src, and cone 10 needs 1288 °C."}'
