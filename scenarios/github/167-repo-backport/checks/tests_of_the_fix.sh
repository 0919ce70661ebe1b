# The tests pass, and fail with the program as it is in a release ($1).
set -u
export PYTHONPATH=src PYTHONDONTWRITEBYTECODE=1
tests() { python3 -m unittest discover tests 2>&1; }
tests || exit 1
git show "$1:src/meterlog/bill.py" >src/meterlog/bill.py
if tests; then
  echo "the tests pass without the fix"
  exit 1
fi
