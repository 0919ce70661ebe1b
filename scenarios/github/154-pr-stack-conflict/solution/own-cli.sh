set -eu
git fetch -q origin
pull=$(octo list pulls --if head.ref=feature/report --show number)
octo edit "pulls/$pull" base=main --show base.ref
first=$(git rev-list --reverse origin/feature/files..origin/feature/report | head -n 1)
git switch -q -c feature/report origin/main
git cherry-pick "$first"
sed -i "s/\.value/.kwh/g" src/meterlog/report.py
git commit -q --amend --no-edit -a
git cherry-pick origin/feature/report || true
sed -i "/^<<<<<<< /d; /^=======$/d; /^>>>>>>> /d" src/meterlog/cli.py
git add src/meterlog/cli.py
git -c core.editor=true cherry-pick --continue
PYTHONPATH=src python3 -m unittest discover tests
git push -q --force origin feature/report
octo set "pulls/$pull/merge" merge_method=rebase --show merged
git push -q origin --delete feature/files feature/report
