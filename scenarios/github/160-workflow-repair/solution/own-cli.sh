set -eu
git switch --quiet --create fix/ci
sed -i 's|PYTHONPATH: \.$|PYTHONPATH: src|' .github/workflows/ci.yml
sed -i 's/"target": 1188/"target": 1288/' recipes/celadon.json
git commit --quiet --all --message "CI finds the package in src; the celadon is fired to 1288 °C"
git push --quiet --set-upstream origin fix/ci
pull=$(octo create pulls base=main head=fix/ci title="Make CI green again" --show number body="PYTHONPATH still named the \
old place of the package. Behind that, the recipes' check had found a typo in the celadon: cone 10 needs 1288 °C.")
octo checks "$pull" --show name,conclusion
