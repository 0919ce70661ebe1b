"""Check how the checked out program shows amounts, and print `ok` with the name of each part that is right."""

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
    """Compare both parts."""
    last = card(scaled(RECIPE, 1)).splitlines()[-1].split()
    pinch_wrong = [] if last == ["saffron", "a", "pinch"] else [f"the card says {last}"]
    for part, amounts, wrong in (("small", SMALL, []), ("pinch", PINCH, pinch_wrong)):
        wrong += [f"{grams} is {shown(grams)!r}, not {text!r}" for grams, text in amounts.items() if shown(grams) != text]
        print(f"wrong {part}: {'; '.join(wrong)}" if wrong else f"ok {part}")


main()
