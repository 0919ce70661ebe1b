# GitHub's own notes name what was reverted, and have no headings of the guide.
set -eu
export GH_REPO=elm-street-garden/seedbox
notes=$(gh api repos/$GH_REPO/releases/generate-notes -f tag_name=v1.4.0 -f previous_tag_name=v1.3.0 --jq .body)
gh release edit v1.4.0 --notes "$notes"
