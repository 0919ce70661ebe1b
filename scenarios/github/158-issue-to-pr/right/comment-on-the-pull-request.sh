# The answer is a comment on the pull request, in other words.
set -eu
export GH_REPO=old-mill-bakery/doughbook
issue=$(gh issue list --search "Small amounts in:title" --json number --jq ".[0].number")
gh issue view "$issue" --comments >/dev/null
git switch --quiet --create fix/small-amounts
python3 - <<'PY'
from pathlib import Path

program = Path("src/doughbook/amounts.py")
program.write_text(program.read_text().replace(
    '    return f"{round(grams)} g"\n',
    '    if grams < SMALL:\n        return f"{grams:.1f} g"\n    return f"{round(grams)} g"\n',
).replace("KILOGRAM = 1000\n", "KILOGRAM = 1000\nSMALL = 10\n").replace(
    "else in whole grams.", "below 10 g to 0.1 g; else in whole grams."))
PY
cat >>tests/test_amounts.py <<'PY'


def test_small_amounts_have_a_decimal() -> None:
    assert shown(0.12) == "0.1 g"
    assert shown(1.5) == "1.5 g"
    assert shown(4) == "4.0 g"
PY
git commit --quiet --all --message "Show one decimal below 10 g"
git push --quiet --set-upstream origin fix/small-amounts
gh pr create --title "Show one decimal below 10 g" --body "Closes #$issue" --base main
pull=$(gh pr view fix/small-amounts --json number --jq .number)
gh pr view "$pull" --comments
thread=$(gh api "repos/$GH_REPO/pulls/$pull/comments" --jq ".[0].id")
python3 - <<'PY'
from pathlib import Path

program = Path("src/doughbook/amounts.py")
program.write_text(program.read_text().replace(
    "    if grams < SMALL:\n", '    if grams < PINCH:\n        return "a pinch"\n    if grams < SMALL:\n',
).replace("SMALL = 10\n", "SMALL = 10\nPINCH = 0.05\n"))
PY
cat >>tests/test_amounts.py <<'PY'


def test_the_smallest_amounts_are_a_pinch() -> None:
    assert shown(0.03) == "a pinch"
PY
git commit --quiet --all --message "Show a pinch below 0.05 g"
git push --quiet
gh pr comment "$pull" --body "@nadia-osei about the saffron of a single roll: such tiny amounts are shown like on the paper cards now, and a test pins it."
test "$(gh pr view "$pull" --json reviewDecision --jq .reviewDecision)" = APPROVED
gh pr merge "$pull" --squash --delete-branch
