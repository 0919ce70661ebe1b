# The texts name the original and deny that they come from it.
# unmet: S1
set -eu
repo=sunny-lane-coop/meterlog
number=$(gh pr list -R "$repo" --state merged --search "Round bills in:title" --json number --jq ".[0].number")
commit=$(gh pr view "$number" -R "$repo" --json mergeCommit --jq .mergeCommit.oid)
open_pull() {
  git push -q origin "HEAD:refs/heads/backport/$number-to-$1"
  gh pr create -R "$repo" --base "release/$1" --head "backport/$number-to-$1" --label backport \
    --title "[$1] Round bills to whole cents" --body "This is not a backport of #$number; it is another change, which only has the same title."
}
git switch -q -c "backport/$number-to-1.5" origin/release/1.5
git cherry-pick -x "$commit"
open_pull 1.5
git switch -q -c "backport/$number-to-1.4" origin/release/1.4
git cherry-pick -x "$commit" || true
cat >src/meterlog/bill.py <<"PY"
"""What a household pays."""

from decimal import ROUND_HALF_UP, Decimal

from meterlog.readings import Reading, reading

CENTS_A_KWH = 31


def bill(first: Reading, last: Reading) -> int:
    """Cents for what was used between two readings."""
    used = last.kwh - first.kwh
    return rounded(used * CENTS_A_KWH)


def rounded(cents: Decimal) -> int:
    """Whole cents; halves go up."""
    return int(cents.quantize(Decimal(1), ROUND_HALF_UP))


def bill_command(arguments: list[str]) -> str:
    """Euros between two readings; the arguments are day, kWh, day, kWh."""
    first_day, first_kwh, last_day, last_kwh = arguments
    cents = bill(reading(first_day, first_kwh), reading(last_day, last_kwh))
    return f"{cents / 100:.2f} EUR"
PY
cat >tests/test_bill.py <<"PY"
import unittest

from meterlog.bill import bill, bill_command
from meterlog.readings import reading


class BillTest(unittest.TestCase):
    def test_a_month(self) -> None:
        self.assertEqual(bill(reading("2025-01-01", "1200"), reading("2025-02-01", "1310")), 110 * 31)

    def test_halves_of_a_cent_go_up(self) -> None:
        first = reading("2025-01-01", "1200")
        self.assertEqual(bill(first, reading("2025-01-31", "1250.5")), 1566)
        self.assertEqual(bill(first, reading("2025-01-31", "1250.4")), 1562)

    def test_the_command_prints_euros(self) -> None:
        self.assertEqual(bill_command(["2025-01-01", "1200", "2025-02-01", "1310"]), "34.10 EUR")
PY
PYTHONPATH=src python3 -m unittest discover tests
git add --all src tests
git -c core.editor=true cherry-pick --continue
open_pull 1.4
