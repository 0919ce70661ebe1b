# Without a commit of git's: the file is written by the contents API, in two steps.
set -eu
repo=repos/potters-guild/kilnbook
tip=$(gh api "$repo/git/ref/heads/main" --jq .object.sha)
gh api --silent "$repo/git/refs" -f ref=refs/heads/changelog/2.2.0 -f sha="$tip"
write() {
  sha=$(gh api "$repo/contents/CHANGELOG.md?ref=changelog/2.2.0" --jq .sha)
  gh api --silent -X PUT "$repo/contents/CHANGELOG.md" -f message="$1" -f branch=changelog/2.2.0 -f sha="$sha" \
    -f content="$(base64 -w 0 <new.md)"
}
head -2 CHANGELOG.md >new.md
printf '## 2.2.0\n\n' >>new.md
tail -n +3 CHANGELOG.md >>new.md
write "A section for 2.2.0"
cat >section.md <<'MD'
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
tail -n +2 CHANGELOG.md | cat section.md - >new.md
write "Lines of 2.2.0"
rm section.md new.md
number=$(gh api "$repo/pulls" -f title="Changelog" -f head=changelog/2.2.0 -f base=main -F draft=false --jq .number)
gh api --silent -X PATCH "$repo/pulls/$number" -f title="Changelog of 2.2.0"
gh api --silent "$repo/issues/$number/labels" -f 'labels[]=skip-changelog'
