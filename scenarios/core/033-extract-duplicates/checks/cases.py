"""The jobs for the driver, in groups. Always the same, without chance."""

import itertools
from pathlib import Path

SUPPLIERS = {"acme": ";", "borealis": "|", "corvid": ","}
FUNCTIONS = ["load", "parse_line", "parse_price", "read_offers", "summary"]
SETTINGS = ["DEFAULT_CURRENCY", "DEFAULT_PACK"]
PACKAGE = ["FeedError", "Offer", "acme", "borealis", "corvid", "load_acme", "load_borealis", "load_corvid", "till"]

PRICES = [
    *["", " ", "  ", "\t", "0", "00", "7", "0.5", "0,5", "1.005", "1.015", "1.025", "1,005", "1,015", "1,025"],
    *["2.345", "2,345", "2.355", "2,355", "0.001", "0,009", "0.009", "9.999", "9,999", "12.5", "12,5"],
    *["1,234.565", "1.234,565", "1'234.565", "1 234.565", "1,234,567.885", "1.234.567,885", "1'234'567.885"],
    *["-1", "-1.005", "-0.001", "-1,005", " 3.455 ", " 3,455 ", "3.4 55", " 4", "4 ", "'", ",", ".", "..", "1..2"],
    *["NaN", "Infinity", "-Infinity", "sNaN", "ten", "1e3", "1E-3", "1_000", "+5", "0x10", "EUR 5", "5 EUR", "٣"],
    *["1" * 26, "1" * 27, "1" * 30, "0.0249", "0.025", "0.075", "0,025", "0.125", "10.024", "10.026", "1.1.1", "--1"],
    *["\u00a05.125\u00a0", "5\u2009000", "5\n", "\n"],
]
SKUS = ["a1", " a1 ", "B-2", "", "  ", "ß3", "a  b", "#9", "//9"]
NAMES = ["Lamp", "  Lamp  ", "Desk  lamp", "", "Lamp\t", "Lämpchen"]
CURRENCIES = [None, "", "usd", " sek ", "CHF"]
PACKS = [None, "", "0", "6", " 6", "06", "six", "-1", "2.5", "٣"]
LAST = {"acme": "2.345", "borealis": "2,345", "corvid": "2.345"}


def groups(folder: Path) -> dict[str, list[dict]]:
    return {
        "api": _api(),
        "prices": _prices(),
        "lines": _lines(),
        "lists": _lists(folder),
        "summaries": _summaries(),
        "settings": _settings(),
        "till": _till(),
    }


def _job(module: str, name: str, *args: object, kind: str = "plain", **more: object) -> dict:
    return {"module": f"pricefeed.{module}", "name": name, "args": list(args), "kind": kind, **more}


def _api() -> list[dict]:
    jobs = [_job(supplier, name, kind="api") for supplier in SUPPLIERS for name in FUNCTIONS + SETTINGS]
    jobs += [_job("till", name, kind="api") for name in ("NAME_WIDTH", "sheet_price", "till_lines")]
    jobs += [_job("model", name, kind="api") for name in ("FeedError", "Offer")]
    jobs += [_job("cli", "main", kind="api")]
    jobs += [{"module": "pricefeed", "name": name, "kind": "api"} for name in PACKAGE]
    for supplier in SUPPLIERS:
        names = [f"load_{supplier}", [f"pricefeed.{supplier}", "load"]]
        jobs.append({"module": "pricefeed", "kind": "same", "names": names})
    return jobs


def _prices() -> list[dict]:
    return [_job(supplier, "parse_price", text) for supplier in SUPPLIERS for text in PRICES]


def _line(supplier: str, *fields: str | None) -> str:
    return SUPPLIERS[supplier].join(field for field in fields if field is not None)


def _lines() -> list[dict]:
    jobs = []
    for supplier in SUPPLIERS:
        price = LAST[supplier]
        lines = [_line(supplier, sku, name, price) for sku, name in itertools.product(SKUS, NAMES)]
        lines += [
            _line(supplier, "a1", "Lamp", price, "" if currency is None and pack is not None else currency, pack)
            for currency, pack in itertools.product(CURRENCIES, PACKS)
        ]
        lines += [_line(supplier, "a1", "Lamp", text) for text in ("", " ", "x", "-1", " 1 ", "1.005", "1,005")]
        lines += [_line(supplier, "", "", "x", "", "six"), _line(supplier, "a", "b", "x", "", "six")]
        lines += ["", " ", "\t", "\n", " \n", "\r\n", "# note", " # note", "// note", " // note", "#", "//", "#a;b;1"]
        lines += [_line(supplier, *["a"] * count) for count in (1, 2, 6, 7)]
        lines += [_line(supplier, "a1", "Lamp", price, "usd", "2") + end for end in ("\n", "\r\n", "\r\r\n", " \n")]
        lines += [other.join(["a1", "Lamp", price]) for other in (";", "|", ",", "\t")]
        lines += [_line(supplier, f" {mark}a", "b", price) for mark in ("#", "//")]
        jobs += [_job(supplier, "parse_line", line, number) for number, line in enumerate(lines, start=3)]
    return jobs


def _lists(folder: Path) -> list[dict]:
    jobs = []
    for supplier in SUPPLIERS:
        first = _line(supplier, "sku", "name", "1")
        a, b, c = (_line(supplier, sku, sku * 2, "1") + "\n" for sku in "abc")
        again = [_line(supplier, sku, "again", "2") + "\n" for sku in ("A", "b", " a", "a ")]
        lists = [
            [],
            [first],
            [first, a, b, c],
            [first, a, b, again[0], c],
            [first, a, b, again[1], c, again[0]],
            [first, c, a, b, again[2], again[3], "# x\n", "\n", a],
            [a, "\n", "# x\n", "//y\n", b, "bad\n", c],
            ["bad\n", a],
            [first, "\n", " # x\n", "bad"],
            [first, a, _line(supplier, "z", "z", "x"), "bad"],
            [first, a, " \n", b],
        ]
        jobs += [_job(supplier, "read_offers", lines, kind="lines") for lines in lists]
        for number, lines in enumerate(lists):
            for ending in ("\n", "\r\n"):
                path = folder / f"{supplier}-{number}-{len(ending)}.txt"
                path.write_bytes("".join(line.strip("\n") + ending for line in lines).encode())
                jobs.append(_job(supplier, "load", str(path)))
                jobs.append(_job("cli", "main", supplier, str(path), kind="command"))
        text = "".join([first + "\n", a, _line(supplier, "u1", "Bücher", "1"), "\n", b])
        for encoding in ("utf-8", "utf-8-sig", "cp1252", "utf-16"):
            path = folder / f"{supplier}-{encoding}.txt"
            path.write_bytes(text.encode(encoding))
            jobs.append(_job(supplier, "load", str(path)))
        jobs.append(_job(supplier, "load", "no-such-file"))
        jobs.append(_job("cli", "main", supplier, "no-such-file", kind="command"))
    return jobs


def _summaries() -> list[dict]:
    prices = [
        ["1.00"],
        ["1.00", "1.01"],
        ["1.01", "1.02"],
        ["0.00", "0.01", "0.01"],
        ["1.00", "1.00", "1.01", "1.01", "1.01", "1.01"],
        ["-1.00", "0.99"],
        ["10", "20.5", "3.333"],
        [],
    ]
    currencies = [["EUR"], ["USD", "EUR"], ["SEK", "EUR", "SEK", "CHF"], ["usd", "USD"], [""]]
    jobs = []
    for supplier in SUPPLIERS:
        for amounts, names in itertools.product(prices, currencies):
            rows = [[f"S{i}", "n", amount, names[i % len(names)], 1] for i, amount in enumerate(amounts)]
            jobs.append(_job(supplier, "summary", rows, kind="offers"))
    return jobs


def _settings() -> list[dict]:
    jobs = []
    choices = [{"DEFAULT_CURRENCY": "NOK"}, {"DEFAULT_CURRENCY": ""}, {"DEFAULT_PACK": 12}]
    choices.append({"DEFAULT_CURRENCY": "xof", "DEFAULT_PACK": 3})
    for supplier, change in itertools.product(SUPPLIERS, choices):
        price = LAST[supplier]
        for currency, pack in itertools.product(("", "usd"), ("", "0", "6")):
            line = _line(supplier, "a1", "Lamp", price, currency, pack)
            jobs.append(_job(supplier, "parse_line", line, 1, set=change))
            jobs.append(_job(supplier, "read_offers", ["", line], kind="lines", set=change))
            jobs.append(_job(supplier, "parse_line", line, 1))
    return jobs


def _till() -> list[dict]:
    jobs = [_job("till", "sheet_price", text) for text in PRICES]
    sheets = [
        [],
        ["a1\tLamp\t10\n", "A1\tDesk\t12\n", "b2\tRug\t1 234.52\r\n"],
        ["a1\tLamp\t10\n", "A1\tDesk\tx\n"],
        ["# x\n", "\n", " # x\n", "a\tb\t1"],
        ["a\tb\t1\n", "a\tb"],
        ["a\tb\t1\tEUR"],
        [" \tb\t1"],
        [" a \t  b b  \t 1 0 "],
        ["\tb\tx"],
        ["a\tb\t"],
        ["a\tb\t-1"],
        ["abcdefghijklmn\t" + "long name " * 4 + "\t99.975"],
    ]
    jobs += [_job("till", "till_lines", lines, kind="lines") for lines in sheets]
    jobs += [_job("till", "till_lines", lines, kind="lines", set={"NAME_WIDTH": 6}) for lines in sheets[1:]]
    return jobs
