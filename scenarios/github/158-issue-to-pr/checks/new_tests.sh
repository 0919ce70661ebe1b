# The tests fail with a program that shows 0.0 g in place of a pinch, and with the program as it was.
set -u
tests() { python3 -m pytest -q -p no:cacheprovider; }
cat >>src/doughbook/amounts.py <<'PY'


own_shown = shown


def shown(grams: float) -> str:
    return own_shown(grams).replace("a pinch", "0.0 g")
PY
if tests; then echo "the tests pass with a program that knows no pinch" && exit 1; fi
rm -rf src && git checkout -q refs/start/heads/main -- src
if tests; then echo "the tests pass with the program as it was" && exit 1; fi
