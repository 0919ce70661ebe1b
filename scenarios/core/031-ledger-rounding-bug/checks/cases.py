"""Calls of the public functions and commands, and what they have to answer."""

from fractions import Fraction
from itertools import accumulate, pairwise
from math import floor
from random import Random

Call = tuple[str, list]  # function, arguments
Case = tuple[Call, object]

RATES = {
    "EUR JPY": "162.5",
    "EUR SEK": "11.085",
    "USD EUR": "0.925",
    "JPY EUR": "0.00615",
    "USD KWD": "0.3075",
    "KWD EUR": "3.05",
}


def vat_on(net: str, rate: str, expected: str) -> Case:
    return ("vat_on", [net, rate]), expected


def vat_within(gross: str, rate: str, expected: str) -> Case:
    return ("vat_within", [gross, rate]), expected


def convert(amount: str, expected: str) -> Case:
    return ("convert", [amount, expected[-3:], RATES]), expected


def split(amount: str, weights: list[int], *expected: str) -> Case:
    currency = amount[-3:]
    return ("split", [amount, weights]), [f"{part} {currency}" for part in expected]


def cash(amount: str, expected: str) -> Case:
    return ("cash_amount", [amount]), f"{expected} {amount[-3:]}"


def command(books: dict | None, args: list[str], *expected: str) -> Case:
    """A run of the command line; BOOKS in the arguments is the file with these books."""
    return ("main", [books, args]), [0, "".join(f"{line}\n" for line in expected)]


def entry(number: str, day: int, *lines: tuple[str, str, str]) -> dict:
    records = [{"quantity": quantity, "price": price, "vat": vat} for quantity, price, vat in lines]
    return {"number": number, "customer": "shop", "date": f"2025-01-{day:02d}", "lines": records}


def payment(number: str, day: int, paid: str) -> dict:
    return {"number": number, "customer": "shop", "date": f"2025-01-{day:02d}", "paid": paid}


def books(currency: str, *documents: dict) -> dict:
    rates = [{"from": pair[:3], "to": pair[4:], "rate": rate} for pair, rate in RATES.items()]
    return {"customers": {"shop": currency}, "rates": rates, "documents": list(documents)}


REPORTED = books(
    "EUR",
    entry("INV-7", 2, ("1", "12.50 EUR", "7%")),
    entry("CN-7", 9, ("-1", "12.50 EUR", "7%")),
)

MIXED = books(
    "EUR",
    entry("A", 1, ("2.5", "0.99 EUR", "19%"), ("1", "7.50 EUR", "7%"), ("0.5", "0.01 EUR", "7%")),
    entry("B", 2, ("-2.5", "0.99 EUR", "19%"), ("-1", "7.50 EUR", "7%"), ("-0.5", "0.01 EUR", "7%")),
    entry("C", 3, ("1", "10.00 EUR", "19%"), ("0.5", "-2.25 EUR", "19%"), ("1", "-1.50 EUR", "7%")),
    entry("D", 4, ("-1.5", "-0.05 EUR", "0%")),
)

FOREIGN = books(
    "EUR",
    entry("A", 1, ("1", "0.20 USD", "0%")),
    entry("B", 2, ("-1", "0.20 USD", "0%")),
    entry("C", 3, ("-1", "0.500 KWD", "0%")),
    payment("D", 4, "0.60 USD"),
)

TILL = books("SEK", payment("A", 1, "12.50 SEK"))

# Amounts of all sizes, most of them half a unit from the next result, reckoned here with fractions.

PLACES = {"CHF": 2, "EUR": 2, "JPY": 0, "KWD": 3, "NZD": 2, "SEK": 2, "USD": 2}
COINS = {"CHF": 5, "NZD": 10, "SEK": 100}
DIGITS = (2, 4, 7, 10, 15, 16, 17, 18, 20, 27, 40)


def written(minor: int, currency: str) -> str:
    digits = f"{abs(minor):0{PLACES[currency] + 1}d}"
    point = len(digits) - PLACES[currency]
    return f"{'-' * (minor < 0)}{digits[:point]}{'.' * bool(PLACES[currency])}{digits[point:]} {currency}"


def away(value: Fraction) -> int:
    size = floor(abs(value) + Fraction(1, 2))
    return size if value >= 0 else -size


def upwards(value: Fraction) -> int:
    return floor(value + Fraction(1, 2))


def hard(random: Random, digits: int, factor: Fraction, sign: int) -> int:
    """A number of so many digits whose product is half of a unit off, where there is one nearby."""
    start = random.randrange(10 ** (digits - 1), 10**digits)
    near = (start + step for step in range(400) if (start + step) * factor % 1 == Fraction(1, 2))
    return sign * next(near, start)


def generated(random: Random, sign: int) -> dict[str, list[Case]]:
    """Cases by the function that they call."""
    found: dict[str, list[Case]] = {"documents": [], "conversion": [], "splitting": [], "cash": []}
    for digits in DIGITS:
        rate = random.choice(["7%", "19%", "50%", "12.5%", "2.5%", "0.5%"])
        value = Fraction(rate[:-1]) / 100
        for minor in (net := hard(random, digits, value, sign), net + sign):
            found["documents"].append(vat_on(written(minor, "EUR"), rate, written(away(minor * value), "EUR")))
        gross = hard(random, digits, Fraction(3, 8), sign)
        found["documents"].append(
            vat_within(written(gross, "EUR"), "60%", written(away(gross * Fraction(3, 8)), "EUR"))
        )
        for pair in ("EUR JPY", "EUR SEK", "USD KWD", "JPY EUR", "KWD EUR"):
            start, end = pair.split()
            factor = Fraction(RATES[pair]) * Fraction(10) ** (PLACES[end] - PLACES[start])
            minor = hard(random, digits, factor, sign)
            found["conversion"].append(convert(written(minor, start), written(away(minor * factor), end)))
        weights = [random.randrange(1, 9) for _ in range(random.randrange(2, 5))]
        minor = hard(random, digits, Fraction(weights[0], sum(weights)), sign)
        marks = [away(Fraction(minor * reached, sum(weights))) for reached in accumulate(weights, initial=0)]
        parts = [written(after - before, "EUR").removesuffix(" EUR") for before, after in pairwise(marks)]
        found["splitting"].append(split(written(minor, "EUR"), weights, *parts))
        for currency, coin in COINS.items():
            minor = hard(random, digits, Fraction(1, coin), sign)
            result = written(upwards(Fraction(minor, coin)) * coin, currency)
            found["cash"].append(cash(written(minor, currency), result.removesuffix(f" {currency}")))
    return found


NEGATIVE, POSITIVE = (generated(Random(31), sign) for sign in (-1, 1))

# Documents and commands with amounts that no floating point number holds.
HUGE = 1250 * 10**18 + 50  # in cents; 7 % of it ends in half a cent
WHOLE = written(HUGE + away(HUGE * Fraction("0.07")), "EUR")
LARGE = books(
    "EUR",
    entry("A", 1, ("1", written(HUGE, "EUR"), "7%")),
    entry("B", 2, ("-1", written(HUGE, "EUR"), "7%")),
)
ODD = -(2**63) - 12  # in cents: half a yen off, and half a cent when split in two after one more

CHECKS: dict[str, list[Case]] = {
    "reported": [
        command(
            None,
            ["statement", "examples/books.json", "harbour-cafe"],
            "Statement for harbour-cafe",
            "2025-04-02  INV-7         13.38 EUR      13.38 EUR",
            "2025-04-09  CN-7         -13.38 EUR       0.00 EUR",
            "Balance: 0.00 EUR",
        ),
        command(
            REPORTED,
            ["statement", "BOOKS", "shop"],
            "Statement for shop",
            "2025-01-02  INV-7         13.38 EUR      13.38 EUR",
            "2025-01-09  CN-7         -13.38 EUR       0.00 EUR",
            "Balance: 0.00 EUR",
        ),
    ],
    "documents": [
        *NEGATIVE["documents"],
        command(
            LARGE,
            ["statement", "BOOKS", "shop"],
            "Statement for shop",
            f"2025-01-01  A        {WHOLE} {WHOLE}",
            f"2025-01-02  B        -{WHOLE}       0.00 EUR",
            "Balance: 0.00 EUR",
        ),
        vat_on("-12.50 EUR", "7%", "-0.88 EUR"),
        vat_on("-0.50 EUR", "19%", "-0.10 EUR"),
        vat_on("-0.50 EUR", "1%", "-0.01 EUR"),
        vat_on("-10 JPY", "5%", "-1 JPY"),
        vat_on("-0.100 KWD", "12.5%", "-0.013 KWD"),
        vat_within("-0.12 EUR", "60%", "-0.05 EUR"),
        command(
            MIXED,
            ["statement", "BOOKS", "shop"],
            "Statement for shop",
            "2025-01-01  A             10.99 EUR      10.99 EUR",
            "2025-01-02  B            -10.99 EUR       0.00 EUR",
            "2025-01-03  C              8.95 EUR       8.95 EUR",
            "2025-01-04  D              0.08 EUR       9.03 EUR",
            "Balance: 9.03 EUR",
        ),
    ],
    "conversion": [
        *NEGATIVE["conversion"],
        command(
            books("EUR"),
            ["convert", "BOOKS", written(ODD, "EUR"), "JPY"],
            written(away(ODD * Fraction("1.625")), "JPY"),
        ),
        convert("-0.20 EUR", "-33 JPY"),
        convert("-0.60 EUR", "-98 JPY"),
        convert("-1.00 USD", "-0.308 KWD"),
        convert("-1000 JPY", "-6.15 EUR"),
        convert("-0.500 KWD", "-1.53 EUR"),
        command(books("EUR"), ["convert", "BOOKS", "-1.00 EUR", "JPY"], "-163 JPY"),
        command(
            FOREIGN,
            ["statement", "BOOKS", "shop"],
            "Statement for shop",
            "2025-01-01  A              0.19 EUR       0.19 EUR",
            "2025-01-02  B             -0.19 EUR       0.00 EUR",
            "2025-01-03  C             -1.53 EUR      -1.53 EUR",
            "2025-01-04  D             -0.56 EUR      -2.09 EUR",
            "Balance: -2.09 EUR",
        ),
    ],
    "splitting": [
        *NEGATIVE["splitting"],
        command(
            None,
            ["split", written(ODD - 1, "EUR"), "1", "1"],
            written(away(Fraction(ODD - 1, 2)), "EUR"),
            written(ODD - 1 - away(Fraction(ODD - 1, 2)), "EUR"),
        ),
        split("-0.05 EUR", [1, 1], "-0.03", "-0.02"),
        split("-0.01 EUR", [1, 1], "-0.01", "0.00"),
        split("-10 JPY", [1, 3, 4], "-1", "-4", "-5"),
        split("-0.15 EUR", [1, 1, 1, 1], "-0.04", "-0.04", "-0.03", "-0.04"),
        command(None, ["split", "-0.25 EUR", "1", "0", "1"], "-0.13 EUR", "0.00 EUR", "-0.12 EUR"),
    ],
    "cash": [
        *NEGATIVE["cash"],
        *POSITIVE["cash"],
        cash("-12.50 SEK", "-12.00"),
        cash("-13.50 SEK", "-13.00"),
        cash("-0.50 SEK", "0.00"),
        cash("-4.25 NZD", "-4.20"),
        cash("-4.26 NZD", "-4.30"),
        cash("-9.98 CHF", "-10.00"),
        cash("-9.99 EUR", "-9.99"),
        cash("12.50 SEK", "13.00"),
        cash("0.05 NZD", "0.10"),
        command(TILL, ["cash", "BOOKS", "shop"], "-12.00 SEK"),
    ],
    "unchanged": [
        *POSITIVE["documents"],
        *POSITIVE["conversion"],
        *POSITIVE["splitting"],
        vat_on("12.50 EUR", "7%", "0.88 EUR"),
        vat_on("0.50 EUR", "1%", "0.01 EUR"),
        vat_on("2.50 EUR", "1%", "0.03 EUR"),
        vat_on("-12.49 EUR", "7%", "-0.87 EUR"),
        vat_on("-12.51 EUR", "7%", "-0.88 EUR"),
        vat_on("90071992547409.93 EUR", "50%", "45035996273704.97 EUR"),
        vat_on("-90071992547409.91 EUR", "33%", "-29723757540645.27 EUR"),
        vat_within("-10.00 EUR", "19%", "-1.60 EUR"),
        vat_within("0.12 EUR", "60%", "0.05 EUR"),
        convert("0.20 EUR", "33 JPY"),
        convert("0.60 EUR", "98 JPY"),
        convert("-60 JPY", "-0.37 EUR"),
        split("0.05 EUR", [1, 1], "0.03", "0.02"),
        split("-1.00 EUR", [1, 1, 1], "-0.33", "-0.34", "-0.33"),
        split("0.15 EUR", [1, 1, 1, 1], "0.04", "0.04", "0.03", "0.04"),
    ],
}
