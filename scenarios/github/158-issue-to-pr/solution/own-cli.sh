set -eu
issue=$(octo search "is:issue is:open Small amounts in:title" --show number)
octo list "issues/$issue/comments" --show body
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
pull=$(octo create pulls title="Show one decimal below 10 g" body="Closes #$issue" base=main head=fix/small-amounts \
  --show number)
remark=$(octo list "pulls/$pull/comments" --show id)
octo list "pulls/$pull/comments" --show body
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
octo create "pulls/$pull/comments/$remark/replies" body="Done: below 0.05 g it is a pinch, with a test." --show html_url
test -n "$(octo list "pulls/$pull/reviews" --if state=APPROVED --show id)"
octo set "pulls/$pull/merge" merge_method=squash --show merged
git push --quiet origin --delete fix/small-amounts
