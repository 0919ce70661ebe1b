set -eu
call() { mcp-call "$1" "{\"owner\": \"old-mill-bakery\", \"repo\": \"doughbook\", $2}"; }
number() { python3 -c 'import json, sys; print(json.load(sys.stdin)["items"][0]["number"])'; }
repo="repo:old-mill-bakery/doughbook"
issue=$(call search_issues "\"query\": \"$repo is:open Small amounts in:title\"" | number)
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
call create_pull_request "\"title\": \"Show one decimal below 10 g\", \"head\": \"fix/small-amounts\", \"base\": \"main\",
  \"body\": \"Closes #$issue\""
pull=$(call search_pull_requests "\"query\": \"$repo is:open author:emil-strand\"" | number)
call get_pull_request_reviews "\"pullNumber\": $pull"
call get_pull_request_comments "\"pullNumber\": $pull"
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
call add_issue_comment "\"issue_number\": $pull, \"body\": \"On amounts.py: below 0.05 g it is a pinch now, with a test.\""
call get_pull_request_reviews "\"pullNumber\": $pull" | grep -q APPROVED
call merge_pull_request "\"pullNumber\": $pull, \"merge_method\": \"squash\""
git push --quiet origin --delete fix/small-amounts
