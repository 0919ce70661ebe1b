set -eu
R=repos/old-mill-bakery/doughbook
git fetch -q origin
git checkout -q -b fix/small-amounts origin/main
python3 - <<'PY'
from pathlib import Path
p = Path("src/doughbook/amounts.py"); s = p.read_text()
s = s.replace('''in whole grams."""''', '''in whole grams, and below 10 g to 0.1 g."""''')
s = s.replace('''    return f"{round(grams)} g"''', '''    if grams < 10:
        return f"{grams:.1f} g"
    return f"{round(grams)} g"''')
p.write_text(s)
PY
cat >> tests/test_amounts.py <<'PY'


def test_below_ten_grams_there_is_a_decimal() -> None:
    assert [shown(grams) for grams in (0.12, 1.5, 4)] == ["0.1 g", "1.5 g", "4.0 g"]
    assert shown(10) == "10 g"
PY
commit() { python3 -m pytest -q >/dev/null; git add -A src tests CHANGELOG.md; git commit -qm "$1"; git push -q -u origin HEAD; }
pinch() { python3 - <<'PY'
from pathlib import Path
p = Path("src/doughbook/amounts.py"); s = p.read_text()
s = s.replace("    if grams < 10:\n", '    if grams < 0.05:\n        return "a pinch"\n    if grams < 10:\n')
p.write_text(s)
PY
}
pinch_test() { cat >> tests/test_amounts.py <<'PY'


def test_what_nobody_can_weigh_is_a_pinch() -> None:
    assert shown(0.03) == "a pinch"
    assert shown(0.049) == "a pinch"
    assert shown(0.05) == "0.1 g"
PY
}
open_pr() { gh pr create --base main --head fix/small-amounts --title "Show a decimal below 10 g" --body "Closes #4" >/dev/null; n=$(gh pr view fix/small-amounts --json number --jq .number); }
remark() { gh api "$R/pulls/$n/comments" --jq '[.[] | select(.user.login=="nadia-osei")][0].id'; }
say() { gh api "$R/pulls/$n/comments/$(remark)/replies" -f body="$1" --silent; }
commit "Show a decimal below 10 g"; open_pr
pinch; pinch_test; commit "Show a pinch"
t=$(gh api graphql -F n="$n" -f query='query($n:Int!){repository(owner:"old-mill-bakery",name:"doughbook"){pullRequest(number:$n){reviewThreads(first:5){nodes{id}}}}}' --jq '.data.repository.pullRequest.reviewThreads.nodes[0].id')
gh api graphql -f t="$t" -f query='mutation($t:ID!){resolveReviewThread(input:{threadId:$t}){thread{isResolved}}}' --silent
gh pr merge "$n" --squash >/dev/null
