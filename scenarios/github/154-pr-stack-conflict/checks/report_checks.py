"""Tests of the program on main after the merge; the name of a class says which."""

import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

LINES = "household,day,kwh\n3b,2025-01-01,1200\n3b,2025-02-01,1310\n4a,2025-01-01,80\n4a,2025-01-20,95.5\n3b,2025-03-01,1305\n"


def printed(command: str, *arguments: str) -> str:
    """Output of a command of the program; without arguments, on a file of readings."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "readings.csv"
        path.write_text(LINES, encoding="utf-8")
        done = subprocess.run([sys.executable, "-m", "meterlog", command, *(arguments or [str(path)])], check=True,
                              capture_output=True, text=True)
        return done.stdout


class ReportTest(unittest.TestCase):
    def test_use_by_household_and_month(self) -> None:
        lines = [line.split() for line in printed("report").splitlines()]
        self.assertEqual(lines, [["3b", "2025-01", "110"], ["3b", "2025-02", "-5"], ["4a", "2025-01", "15.5"]])

    def test_the_tests_of_the_pull_request(self) -> None:
        show = ["git", "show", "refs/start/heads/feature/report:tests/test_report.py"]
        text = subprocess.run(show, check=True, capture_output=True, text=True).stdout
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "test_report.py").write_text(text, encoding="utf-8")
            subprocess.run([sys.executable, "-m", "unittest", "discover", folder], check=True)


class CommandsTest(unittest.TestCase):
    def test_bill_list_and_check(self) -> None:
        self.assertEqual(printed("bill", "2025-01-01", "1200", "2025-02-01", "1310"), "41.85 EUR\n")
        self.assertEqual(printed("check"), "3b     2025-03-01 is too low\n")
        self.assertEqual(len(printed("list").splitlines()), 5)


if __name__ == "__main__":
    unittest.main()
