# Written by hand with an editor's means, in two commits, and with another text of the pull request.
set -eu
git switch --quiet --create changelog/2.2.0
python3 - <<'PY'
from pathlib import Path

page = Path("CHANGELOG.md")
section = """## 2.2.0

### Removed

- Remove the table of cones (#4, @mila-sorel)

### Added

- Say whether a glaze is ripe (#6, @ruben-ott)

### Changed

- Names of programs may have any letters (#11, @mila-sorel)

### Fixed

- Holds can be shorter than a minute (#8, @mila-sorel)
- Stop heating while the lid is open (#12, @mila-sorel)

"""
page.write_text(page.read_text().replace("## 2.1.0", section + "## 2.1.0", 1))
PY
git commit --quiet --all --message "Write down what is new"
git push --quiet origin changelog/2.2.0
gh pr create -R potters-guild/kilnbook --head changelog/2.2.0 --title "Changelog of 2.2.0" --label skip-changelog \
  --body "For Carla: please merge when you release."
