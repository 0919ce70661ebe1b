"""Small cases in groups: steps for the driver."""

from pathlib import Path

DEPOTS = (
    "ham; Hamburg \nMUC;München\n\n# closed\n # x;No\nHAM;Harburg\nbroken line\n;Nowhere\n"
    "STRASSE;Street\nstraße;Straße\nİst;Istanbul\n b r e ;Bremen;Port\n ber ;\nxx;Hamburg"
)


def _scan(parcel: str, depot: str, minute: int = 0, grams: int = 1, note: object = None) -> list:
    return [parcel, depot, minute, grams, note]


def groups(folder: Path) -> dict[str, list[list]]:
    path = str(folder / "depots.txt")
    start = [["write", path, DEPOTS], ["depots", path]]

    def reports(*exports: list) -> list[list]:
        return [[*start, ["scans", scans], ["build"], ["render"], ["tuple"]] for scans in exports]

    return {
        "depot-rules": reports(*_depot_exports()) + _names(start),
        "note-rules": reports(*_note_exports()),
        "stop-rules": reports(*_stop_exports()),
        "window-rules": reports(*_window_exports()),
        "files": _files(folder, start),
        "tables": _tables(),
    }


def _depot_exports() -> list[list]:
    spellings = ["Ham", " HAM ", "straße", "STRASSE", "strasse", "IST", "i̇st", "İST", "", " ", "#", "ber", "b r e"]
    return [
        [_scan("p", code) for code in spellings],
        [_scan("p", code) for code in reversed(spellings)],
        [_scan("p", code) for code in ("zz", "ZZ", "yy", "xx", "ham", "ham", "yy ")],
        [_scan(f"p{i % 3}", f"d{i % 4}", grams=i) for i in range(22)],
        [_scan(p, "muc", grams=g) for p, g in (("a", 1), ("A ", 10), ("ß", 100), ("SS", 1000), ("ss", -5))],
        [_scan("p", code) for code in ("a", "b", "c", "b", "a", "c", "d", "e", "e")],
        [_scan("p", code) for code in ("  New Depot ", "new depot", "NEW DEPOT")],
        [_scan("p", code) for code in ("ham", "xx")],
    ]


def _names(start: list) -> list[list]:
    codes = ["ham", "Ham ", "STRASSE", "Straße", "broken line", "", " ", "# x", "nope", " Nope ", "b r e", "ber"]
    return [[*start, *(["name", code] for code in codes)]]


def _note_exports() -> list[list]:
    sets = [
        [1, 1.0, True, "1", [1], "[1]", [1.0], [True], {"a": 1}, {"a": 1.0}, {"a": True}, 2, 2.0],
        [True, 1, False, 0, 0.0, -0.0, "", [], {}, [[]], [{}], {"a": []}, {"a": {}}, "[]", "{}", None],
        [{"a": 1, "b": 2}, {"b": 2, "a": 1}, [{"a": 1, "b": 2}], [{"b": 2, "a": 1}], {"a": 1}, {"b": 2}],
        [["a", "b"], ["b", "a"], ["ab"], "ab", "AB", "a, b", {"a": "b"}, [["a", "b"]], [["a"], "b"]],
        [{"$nan": 1}, {"$nan": 2}, {"$nan": 1}, [{"$nan": 1}], [{"$nan": 1}], [{"$nan": 2}]],
        [{"k": {"$nan": 1}}, {"k": {"$nan": 1}}, {"k": {"$nan": 3}}, "NaN"],
        [2**53, 2**53 + 1, float(2**53), 1e300, 10**300, 0.1, "0.1", 1e16, 10**16],
        [[None], [0], [False], [""], {"a": None}, {}, "null", "None", [[None]]],
        [{"x": [1, {"y": [2]}]}, {"x": [1.0, {"y": [2.0]}]}, {"x": [True, {"y": [2]}]}, {"x": [1, {"y": 2}]}],
        [["dict", ["a", 1]], {"a": 1}, [["a", 1]], ["list", 1], [1], ["frozenset"], "dict"],
        ["é", "e\u0301", "\u00a0", " ", "a\nb"],
    ]
    exports = [[_scan("p", "d", note=value) for value in [*values, *reversed(values)]] for values in sets]
    return exports


def _stop_exports() -> list[list]:
    return [
        [_scan("P1", "ham", 5), _scan("p1 ", "muc", 3), _scan(" P1", "Ham ", 9), _scan("P1", "ham", 11)],
        [_scan("  q1 ", "ham", 5), _scan("Q1", "muc", 3), _scan(" q1", "xx", 9)],
        [_scan("a", "zz"), _scan("b", "ZZ"), _scan("A", "yy", 4), _scan("b", "Yy ", 6), _scan("a", " Zz", 2)],
        [_scan("a", "straße"), _scan("a", "STRASSE"), _scan("a", "strasse")],
        [_scan("ß", "ham", 1), _scan("SS", "muc", 2), _scan("ss ", "xx", 4)],
        [_scan("a", "ham", 1), _scan("b", "ham", 2), _scan("a", "ham", 3), _scan("a", "muc", 4), _scan("b", "muc", 9)],
        [_scan(f"p{i % 4}", f"d{i * i % 5}", 100 - 3 * i) for i in range(30)],
        [_scan("a", "", 1), _scan("a", "ham", 5), _scan("a", " ", 7), _scan("", "ham", 1), _scan(" ", "muc", 2)],
    ]


def _window_exports() -> list[list]:
    minutes = [
        [],
        [7],
        [7, 7, 7],
        [30, 0, 15, 45],
        [100, 0, 14, 15, 29, 114, 1],
        [50, 40, 50, 40, 1, 2, 3],
        [64, 50, 0, 14, 64, 3],
        [0, 15, 30, 14, 29],
        [-20, -6, -5, 0, 5, 9],
        [(i * 37) % 101 for i in range(60)],
        [(i * 53) % 211 - 60 for i in range(60)],
    ]
    return [[_scan("p", "d", minute) for minute in values] for values in minutes]


def _files(folder: Path, start: list) -> list[list]:
    path, missing = str(folder / "changing.txt"), str(folder / "missing.txt")
    export = str(folder / "export.jsonl")
    scans = [_scan("a", "ham", 1), _scan("a", "muc", 2), _scan("b", "bre", 3)]
    line = '{"parcel": "%s", "depot": "%s", "minute": %d, "grams": 3, "note": %s}\n'
    rows = [("a", "ham", 1, "NaN"), ("a", "muc", 2, "NaN"), ("b", "ham", 3, "[NaN]"), ("b", "xx", 4, "[NaN]")]
    text = "\n".join(line % row for row in rows)
    changed = [["write", path, "HAM;Altona\nbre;Bremen\n"], ["build"], ["render"], ["name", "ham"]]
    return [
        [["write", path, "ham;Hamburg\n"], ["depots", path], ["scans", scans], ["build"], ["name", "ham"], *changed],
        [["depots", missing], ["scans", scans], ["build"], ["name", "ham"]],
        [["depots", missing], ["scans", []], ["build"], ["render"]],
        [["write", path, ""], ["depots", path], ["scans", scans], ["build"], ["scans", scans[:1]], ["build"]],
        [["write", export, text], *start, ["read", export], ["build"], ["render"]],
        [["write", export, ""], *start, ["read", export], ["build"], ["render"]],
    ]


def _tables() -> list[list]:
    return [
        [["table", ["a", "bb"], []], ["text"], ["add", "ccc", 1], ["text"], ["rows", ["d" * 9, ""]], ["text"]],
        [["table", ["Name", "N"], [["x", 10], ["longer name", 2]]], ["text"], ["add", 1], ["add", 1, 2, 3], ["text"]],
        [["table", ["x", ""], [[" ", " "], ["", ""]]], ["text"], ["add", None, True], ["text"]],
    ]
