"""Commits of the two small code bases of the readiness tests: each replaces a text of one file."""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True)
class Revision:
    """A commit: `after` stands once in the file as it is at the end, and `before` stood in its place."""

    subject: str
    path: str
    before: str
    after: str


PYTHON: Final = (
    Revision(
        "fix: round half a cent of sales tax upwards (#3)",
        "parcels/money.py",
        "return (cents * (100 + percent)) // 100",
        "return (cents * (100 + percent) + 50) // 100",
    ),
    Revision(
        "Let the first payers of a bill carry its remainder",
        "parcels/money.py",
        "[part for number in range(people)]",
        "[part + 1 if number < rest else part for number in range(people)]",
    ),
    Revision(
        "Accept hyphens inside postcodes",
        "parcels/addresses.py",
        'text.replace(" ", "")\n',
        'text.replace(" ", "").replace("-", "")\n',
    ),
    Revision(
        "feat(rates): reward loyal customers beyond fifty orders",
        "parcels/rates.py",
        "    return cents * 5",
        "    if orders >= 50:\n        return cents * 10 // 100\n    return cents * 5",
    ),
    Revision(
        "Refuse parcels heavier than thirty kilograms",
        "parcels/weights.py",
        "    if grams <= 2000:\n",
        '    if grams > 30000:\n        raise ParcelError(f"too heavy: {grams}")\n    if grams <= 2000:\n',
    ),
    Revision(
        "Group shipment numbers for the scanner instead of one long word",
        "parcels/labels.py",
        "    return full\n",
        '    return " ".join(full[start : start + 4] for start in range(0, len(full), 4))\n',
    ),
    Revision(
        "Refuse damaged order books at once\n\nA list was a crash.\n\nSigned-off-by: Dev <d@example.com>",
        "parcels/storage.py",
        "    return rows\n\n\ndef save_rows",
        "    if not all(isinstance(row, dict) for row in rows):\n"
        '        raise ParcelError(f"damaged: {path.name}")\n'
        "    return rows\n\n\ndef save_rows",
    ),
    Revision(
        "Continue numbering from the highest existing order",
        "parcels/storage.py",
        "number = len(rows) + 1001\n",
        'number = max((row["number"] for row in rows), default=1000) + 1\n',
    ),
    Revision(
        "Closing an order twice must fail",
        "parcels/orders.py",
        "    order = find_order(book, number)\n    rows = [",
        '    order = find_order(book, number)\n    if not order["open"]:\n'
        '        raise ParcelError(f"closed already: {number}")\n    rows = [',
    ),
    Revision(
        "`best_town` breaks ties between towns by alphabet",
        "parcels/reports.py",
        "key=lambda town: totals[town])",
        "key=lambda town: (totals[town], town))",
    ),
    Revision(
        "Never overwrite the book with monthly figures",
        "parcels/reports.py",
        "    storage.write_text(",
        '    if target == book:\n        raise ParcelError("would overwrite the book")\n    storage.write_text(',
    ),
    Revision("wip", "parcels/cli.py", 'return f"wrote {', 'return f"written {'),
    Revision(
        "Understand capital letters between the three lengths of a box",
        "parcels/cli.py",
        'parts = text.split("x")',
        'parts = text.lower().split("x")',
    ),
    Revision(
        "Explain units in the notes for agents",
        "CLAUDE.md",
        "Amounts are in cents.",
        "Amounts are in cents and weights in grams.",
    ),
)
SCRIPT: Final = (
    Revision(
        "Accept blanks around the name of a seat", "src/seats.x", "text.toUpperCase()", "text.trim().toUpperCase()"
    ),
    Revision(
        "fix(seats): neighbours sit in one row (#9)",
        "src/seats.x",
        "return Math.abs(",
        "return row === otherRow && Math.abs(",
    ),
    Revision(
        "Pensioners pay half from sixty seven years on",
        "src/prices.x",
        "return age < 15 ?",
        "return age < 15 || age >= 67 ?",
    ),
    Revision(
        "Refuse parties where somebody has no chair",
        "src/prices.x",
        "  return seats.reduce(",
        "  if (seats.length !== ages.length) {\n"
        '    throw new BookingError("each visitor needs a seat");\n  }\n  return seats.reduce(',
    ),
    Revision(
        "Refuse a damaged ledger with an understandable message",
        "src/storage.x",
        "  return rows;\n",
        "  if (!Array.isArray(rows)) {\n    throw new BookingError(`damaged: ${path}`);\n  }\n  return rows;\n",
    ),
    Revision(
        "Weight digits of booking codes by their position",
        "src/tickets.x",
        "Number(digit), 0);",
        "Number(digit) * (at + 1), 0);",
    ),
    Revision(
        "Sort reserved places before they are stored",
        "src/bookings.x",
        "const names = seats.map((seat) => seat.toUpperCase());",
        "const names = ordered(seats);",
    ),
    Revision(
        "Places must not be given back twice",
        "src/bookings.x",
        "  const booking = findBooking(path, code);\n  saveBookings(",
        "  const booking = findBooking(path, code);\n  if (booking.seats.length === 0) {\n"
        "    throw new BookingError(`released already: ${code}`);\n  }\n  saveBookings(",
    ),
    Revision(
        "Released reservations bring no income",
        "src/figures.x",
        "=> sum + row.cents, 0)",
        "=> (row.seats.length > 0 ? sum + row.cents : sum), 0)",
    ),
    Revision("wip", "src/figures.x", "a house with no places", "a house without places"),
)
