set -eu
git switch --quiet --create fix/ci
cat >.github/workflows/ci.yml <<'YAML'
name: CI
on:
  push:
    branches: [main]
  pull_request:
permissions:
  contents: read
jobs:
  tests:
    runs-on: ubuntu-latest
    defaults:
      run:
        working-directory: src
    steps:
      - uses: actions/checkout@v4
      - uses: actions/setup-python@v5
        with: {python-version: "3.12"}
      - run: python -m unittest discover --start-directory ../tests --top-level-directory ../tests
  recipes:
    needs: tests
    runs-on: ubuntu-latest
    steps:
      - uses: actions/checkout@v4
      - run: echo "PYTHONPATH=$GITHUB_WORKSPACE/src" >> "$GITHUB_ENV"
      - run: python tools/check_recipes.py recipes
YAML
git commit --quiet --all --message "Tests and recipes are jobs of their own"
git push --quiet --set-upstream origin fix/ci
gh pr create --base main --title "CI" --fill
run=$(gh run list --branch fix/ci --limit 1 --json databaseId --jq ".[0].databaseId")
gh run watch "$run" --interval 1
gh run view "$run" --log-failed | grep -q celadon
sed -i 's/"target": 1188/"target": 1288/' recipes/celadon.json
git commit --quiet --all --message "Cone 10 needs 1288 °C"
git push --quiet
