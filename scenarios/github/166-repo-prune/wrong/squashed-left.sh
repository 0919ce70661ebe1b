# Nothing is lost, but branches are left whose commits have other names in main.
set -eu
for branch in spelling elevation-profile; do git push --quiet origin --delete "$branch"; done
