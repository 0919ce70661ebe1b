"""Check how main shows amounts: `amounts.py small` or `amounts.py pinch`, in the checkout."""

import sys

sys.path.insert(0, "src")

from doughbook.amounts import shown  # noqa: E402
from doughbook.card import card  # noqa: E402
from doughbook.recipe import Recipe, scaled  # noqa: E402

SMALL = {0.12: "0.1 g", 0.26: "0.3 g", 1.5: "1.5 g", 2.54: "2.5 g", 4: "4.0 g", 9.0: "9.0 g",
         10: "10 g", 12.4: "12 g", 350: "350 g", 999: "999 g", 1000: "1 kg", 1860.4: "1.86 kg"}  # fmt: skip
PINCH = {0.03: "a pinch", 0.049: "a pinch", 0.001: "a pinch", 0.06: "0.1 g"}
RECIPE = Recipe("Rolls", 40, {"yeast": 10, "saffron": 1.2})


def main() -> None:
    """Compare, and print `ok` with the name of the part."""
    part = sys.argv[1]
    for grams, text in (SMALL if part == "small" else PINCH).items():
        assert shown(grams) == text, f"{grams} is shown as {shown(grams)!r}, not {text!r}"
    if part == "pinch":
        last = card(scaled(RECIPE, 1)).splitlines()[-1]
        assert last.split() == ["saffron", "a", "pinch"], f"the card says {last!r}"
    print(f"ok {part}")


main()
