#!/bin/sh
# Verifies the list that an agent wrote. It works in a copy of what the agent left; $BASE is the start state, untouched.
set -eu
expected=$(cd "$BASE" && find . -type f ! -path './.git/*' | sed 's|^\./|- |' | LC_ALL=C sort)
case $1 in
  complete) [ "$(LC_ALL=C sort <<file>>)" = "$expected" ] ;;
  in-order) LC_ALL=C sort -c <<file>> ;;
  untouched) (cd "$BASE" && find . -type f ! -path './.git/*') | while IFS= read -r file; do cmp "$BASE/$file" "$file"; done ;;
esac
