# The tests pass, and fail if the summary is the same text for every tour.
set -u
export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
tests() { python3 -m unittest discover tests 2>&1; }
tests || exit 1
cp src/trailkit/pace.py pace.kept
for wrong in '""' '"tour"'; do
  cat pace.kept - >src/trailkit/pace.py <<PY


def summary(track):
    return $wrong
PY
  tests && echo "the tests pass with a summary that is always $wrong" && exit 1
done
exit 0
