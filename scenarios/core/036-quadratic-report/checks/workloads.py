"""Exports of any size that are hard in one way each. Always the same, without chance."""

import json
from collections.abc import Callable
from pathlib import Path

Row = tuple  # parcel, depot, minute, grams, note


def _mixed(index: int, modulus: int) -> int:
    return (index * 7919 + 104729) % modulus


def _parcels(n: int) -> list[Row]:
    return [(f"P{_mixed(i, 10 * n + 1)}-{i}", f"d{i % 3}", i, 10, None) for i in range(n)]


def _depots(n: int) -> list[Row]:
    return [(f"P{i % 5}", f"Code-{_mixed(i, n)}-{i}", _mixed(i, n), i, None) for i in range(n)]


def _plain_notes(n: int) -> list[Row]:
    return [("P", "d1", 0, 1, f"note {i}" if i % 2 else i) for i in range(n)]


def _nested_notes(n: int) -> list[Row]:
    return [("P", "d1", 0, 1, {"tags": [i, str(i)], "by": {"id": i}} if i % 2 else [i, [i]]) for i in range(n)]


def _one_parcel(n: int) -> list[Row]:
    return [("P1", f"d{i % 2}", i, 1, "same") for i in range(n)]


def _far_apart(n: int) -> list[Row]:
    half = n // 2
    return [(f"P{i % half}", f"d{i // half}", _mixed(i, 10 * n + 1), 1, None) for i in range(n)]


def _one_minute(n: int) -> list[Row]:
    return [(f"P{i % 4}", "d1", 5, 1, None) for i in range(n)]


def _all_alike(n: int) -> list[Row]:
    return [("P1", "d1", 5, 1, ["x"]) for _ in range(n)]


def _long_list(n: int) -> list[Row]:
    return [(f"P{i % 7}", f"d{_mixed(i, n)}", i // 3, 1, None) for i in range(n)]


WORKLOADS: dict[str, Callable[[int], list[Row]]] = {
    "parcels": _parcels,
    "depots": _depots,
    "plain-notes": _plain_notes,
    "nested-notes": _nested_notes,
    "one-parcel": _one_parcel,
    "far-apart": _far_apart,
    "one-minute": _one_minute,
    "all-alike": _all_alike,
    "long-list": _long_list,
}


def depot_file(folder: Path, name: str, n: int) -> Path:
    """A list of depots; it grows with the export in two of the workloads."""
    path = folder / f"{name}-{n}.txt"
    count = n if name in ("depots", "long-list") else 3
    path.write_text("".join(f"D{count - 1 - i};Depot {count - 1 - i}\n" for i in range(count)), encoding="utf-8")
    return path


def export_files(folder: Path, each: int) -> tuple[Path, Path]:
    """An export with scans of all kinds, and a list of depots for it."""
    export, depots = folder / f"export-{each}.jsonl", folder / f"depots-{each}.txt"
    with export.open("w", encoding="utf-8") as stream:
        for number, rows in enumerate(WORKLOADS.values()):
            for parcel, depot, minute, grams, note in rows(each):
                scan = {"parcel": f"{number}/{parcel}", "depot": f"{depot}-{number}", "minute": minute, "grams": grams}
                stream.write(json.dumps(scan | {"note": note}) + "\n")
    kinds = range(len(WORKLOADS))
    depots.write_text("".join(f"D{i}-{i % len(kinds)};Depot {i}\n" for i in range(each)), encoding="utf-8")
    return export, depots
