set -eu
export GH_REPO=old-mill-bakery/doughbook
issue=$(gh issue list --search "Small amounts in:title" --json number --jq ".[0].number")
git switch --quiet --create fix/small-amounts
git commit --quiet --allow-empty --message "Begin"
git push --quiet --set-upstream origin fix/small-amounts
gh pr create --draft --title "Small amounts" --body "See CONTRIBUTING.md" --base main
pull=$(gh pr view fix/small-amounts --json number --jq .number)
cat >src/doughbook/amounts.py <<'PY'
"""Amounts as bakers read them."""

KILOGRAM = 1000
SMALL = 10


def shown(grams: float) -> str:
    """An amount with its unit: in kg from a kilogram on, in whole grams from 10 g on, else to 0.1 g."""
    if grams >= KILOGRAM:
        return f"{round(grams / KILOGRAM, 2):g} kg"
    return f"{grams:.1f} g" if grams < SMALL else f"{round(grams)} g"
PY
cat >tests/test_small_amounts.py <<'PY'
from doughbook.amounts import shown


def test_small_amounts_have_a_decimal() -> None:
    assert [shown(grams) for grams in (0.12, 1.5, 4)] == ["0.1 g", "1.5 g", "4.0 g"]
PY
git add --all
git commit --quiet --amend --message "Show one decimal below 10 g" --message "Fixes #$issue"
git push --quiet --force-with-lease
gh pr ready "$pull"
python3 - <<'PY'
from pathlib import Path

program = Path("src/doughbook/amounts.py")
old = '    return f"{grams:.1f} g" if'
program.write_text(program.read_text().replace(old, f'    if grams < 0.05:\n        return "a pinch"\n{old}'))
tests = Path("tests/test_small_amounts.py")
tests.write_text(tests.read_text() + '\n\ndef test_a_pinch() -> None:\n    assert shown(0.03) == "a pinch"\n')
PY
git commit --quiet --all --amend --no-edit
git push --quiet --force-with-lease
thread=$(gh api graphql -F number="$pull" --jq ".data.repository.pullRequest.reviewThreads.nodes[0].id" -f query='
  query($number: Int!) {
    repository(owner: "old-mill-bakery", name: "doughbook") {
      pullRequest(number: $number) { reviewThreads(first: 10) { nodes { id } } }
    }
  }')
gh api graphql --silent -F thread="$thread" -f query='
  mutation($thread: ID!) { resolveReviewThread(input: {threadId: $thread}) { thread { id } } }'
gh pr comment "$pull" --body "The pinch that you asked for is in, so I have resolved your thread."
gh api --silent -X PUT "repos/$GH_REPO/pulls/$pull/merge" -f merge_method=merge
