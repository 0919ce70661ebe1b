# The issue is in German, quotes the two lines that matter, and comes first.
set -eu
newest() { gh run list --workflow "$1" --branch "$2" --limit 1 --json databaseId --jq ".[0].databaseId"; }
flaky=$(newest timetable.yml main)
real=$(newest tests.yml main)
gh issue create --title "CI: Tests ist rot" --label ci --body "$(gh run view "$real" --json url --jq .url)

    FAIL: test_a_gate_that_takes_too_long_has_timed_out
    AssertionError: 'closed' != 'timed out'

Seit dem letzten Commit auf main gilt ein Tor, das zu lange braucht, als geschlossen. Das ist unser Fehler."
gh run cancel "$(newest soak.yml soak/slow-gates)"
gh run rerun "$flaky"
gh run rerun "$flaky"
