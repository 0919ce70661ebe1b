#!/bin/sh
# Runs tests on what an agent left. $CHECKS is this folder, which no agent sees; $BASE is the start state, untouched.
#   run.sh hidden   the tests that came with the reference solution: they fail on the start state
#   run.sh kept     the tests that were there before: they pass on the start state, and must still pass
# It works in a copy of its own, made anew for each check.
set -eu
<<before>># Tests are the start state's, whatever became of them ...
while IFS= read -r file; do
  mkdir -p "$(dirname "$file")"
  cp -P "$BASE/$file" "$file"
done <"$CHECKS/kept.txt"
# ... and the hidden ones lie over them.
if [ "$1" = hidden ]; then cp -R "$CHECKS/tests/." .; FILES=$CHECKS/hidden.txt; else FILES=$CHECKS/kept-tests.txt; fi
<<run>>
