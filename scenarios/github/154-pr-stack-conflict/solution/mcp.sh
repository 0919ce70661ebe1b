set -eu
call() { mcp-call "$1" "{\"owner\": \"sunny-lane-coop\", \"repo\": \"meterlog\", $2}"; }
git fetch -q origin
pull=$(call list_pull_requests '"head": "sunny-lane-coop:feature/report"' |
  python3 -c 'import json, sys; print(json.load(sys.stdin)[0]["number"])')
call update_pull_request "\"pullNumber\": $pull, \"base\": \"main\""
first=$(git rev-list --reverse origin/feature/files..origin/feature/report | head -n 1)
git switch -q -c feature/report origin/main
git cherry-pick "$first"
sed -i "s/\.value/.kwh/g" src/meterlog/report.py
git commit -q --amend --no-edit -a
git cherry-pick origin/feature/report || true
sed -i "/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d" src/meterlog/cli.py
git add src/meterlog/cli.py
git -c core.editor=true cherry-pick --continue
git push -q --force origin feature/report
call merge_pull_request "\"pullNumber\": $pull, \"merge_method\": \"rebase\""
git push -q origin --delete feature/files feature/report
