# The pull request itself has not the label that the guide asks for.
set -eu
git switch --quiet --create changelog/2.2.0
cat >new.md <<'MD'
# Changelog

## 2.2.0

### Removed

- Remove the table of cones (#4, @mila-sorel)

### Added

- Say whether a glaze is ripe (#6, @ruben-ott)

### Changed

- Names of programs may have any letters (#11, @mila-sorel)

### Fixed

- Holds can be shorter than a minute (#8, @mila-sorel)
- Stop heating while the lid is open (#12, @mila-sorel)
MD
tail -n +2 CHANGELOG.md >>new.md
mv new.md CHANGELOG.md
git commit --quiet --all --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
gh pr create --repo potters-guild/kilnbook --title "Changelog of 2.2.0" --body "" --head changelog/2.2.0 --base main
