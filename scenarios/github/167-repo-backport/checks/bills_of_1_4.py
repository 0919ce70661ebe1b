"""Bills on the branch for 1.4."""

import unittest

from meterlog import bill as module
from meterlog.readings import reading


def cents(day: str, kwh: str) -> int:
    return module.bill(reading("2025-01-01", "1200"), reading(day, kwh))


class BillTest(unittest.TestCase):
    def test_halves_of_a_cent_go_up(self) -> None:
        for day in ("2025-01-31", "2025-12-31"):
            self.assertEqual(cents(day, "1250.5"), 1566)
            self.assertEqual(cents(day, "1250.51"), 1566)
            self.assertEqual(cents(day, "1250.4"), 1562)
            self.assertEqual(cents(day, "1200.5"), 16)
            self.assertEqual(cents(day, "1201.5"), 47)
        self.assertEqual(module.bill_command(["2025-01-01", "1200", "2025-01-31", "1250.5"]), "15.66 EUR")

    def test_there_is_no_standing_charge(self) -> None:
        self.assertEqual(cents("2025-12-31", "1200"), 0)
        self.assertEqual([name for name in dir(module) if "standing" in name.lower()], [])


if __name__ == "__main__":
    unittest.main()
