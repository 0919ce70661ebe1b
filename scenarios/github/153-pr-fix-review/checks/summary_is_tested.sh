# The tests pass, and fail if the summary is empty.
set -u
export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
tests() { python3 -m unittest discover tests 2>&1; }
tests || exit 1
cat >>src/trailkit/pace.py <<'PY'


def summary(track):
    return ""
PY
tests && echo "the tests pass with a summary that is empty" && exit 1
exit 0
