# Lines are the headlines of commits, not the titles of pull requests.
set -eu
git switch --quiet --create changelog/2.2.0
cat >new.md <<'MD'
# Changelog

## 2.2.0

### Removed

- Remove the table of cones (#4, @mila-sorel)

### Added

- Glazes (#6, @ruben-ott)

### Changed

- Umlauts (#11, @mila-sorel)

### Fixed

- Holds in seconds (#8, @mila-sorel)
- Stop heating while the lid is open (#12, @mila-sorel)
MD
tail -n +2 CHANGELOG.md >>new.md
mv new.md CHANGELOG.md
git commit --quiet --all --message "Changelog of 2.2.0"
git push --quiet origin changelog/2.2.0
gh pr create --repo potters-guild/kilnbook --title "Changelog of 2.2.0" --body "" --head changelog/2.2.0 --label skip-changelog
