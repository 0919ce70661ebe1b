set -eu
repo=elm-street-garden/seedbox
release=$(gh api "repos/$repo/releases" --jq '.[] | select(.tag_name == "v1.4.0") | .id')
line() { gh api "repos/$repo/pulls?state=closed&per_page=100" --jq ".[] | select(.title == \"$1\") | \"- \(.title) (#\(.number)) by @\(.user.login)\""; }
{
  gh api "repos/$repo/releases/$release" --jq .body | sed '/^## Added/,$d'
  printf '## Added\n\n'
  line "Say in which months seeds are sown"
  printf '\n## Fixed\n\n'
  line "Seeds of this year are not a year old"
  line "Read weights with a decimal comma"
  printf '\n## Documentation\n\n'
  line "Explain the columns of the list"
} >notes.md
gh api --silent -X PATCH "repos/$repo/releases/$release" -F body=@notes.md
rm notes.md
