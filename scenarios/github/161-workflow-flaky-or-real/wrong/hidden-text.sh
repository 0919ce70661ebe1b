# The report is a comment of HTML.
set -eu
newest() { gh run list --workflow "$1" --branch "$2" --limit 1 --json databaseId --jq ".[0].databaseId"; }
flaky=$(newest timetable.yml main)
real=$(newest tests.yml main)
gh run rerun "$flaky" --failed
gh run rerun "$flaky" --failed
gh run cancel "$(newest soak.yml soak/slow-gates)"
log=$(gh run view "$real" --log-failed | cut -f 3- | cut -d " " -f 2- | sed -n "/^FAIL/,/^+ timed out/p")
url=$(gh run view "$real" --json url --jq .url)
gh issue create --title "Tests" --label ci --body "$(printf "<!--\n%s\n\n%s\n-->" "$url" "$log")"
