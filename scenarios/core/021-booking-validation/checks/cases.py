"""Lists of rooms and bookings, and what has to be reported for them."""

from typing import Any, NamedTuple

Found = tuple[int, str, str, str]  # record, code, field, message


class Case(NamedTuple):
    name: str
    bookings: list[Any]
    problems: list[Found]
    options: tuple[str, ...] = ()
    status: int | None = None  # None: 1 when there are errors, else 0


def room(id: str, name: str, capacity: int = 10, zone: str = "Europe/Berlin", hours: str = "00:00 24:00") -> dict:
    opens, closes = hours.split()
    return {"id": id, "name": name, "capacity": capacity, "zone": zone, "opens": opens, "closes": closes}


ROOMS = [
    room("r-1", "Garden Room"),
    room("r-2", "Straße Süd", capacity=4),
    room("office", "Back Office", hours="08:30 18:00"),
    room("lisbon", "Tagus", zone="Europe/Lisbon", hours="09:00 17:00"),
    room("athens", "Agora", zone="Europe/Athens", hours="06:00 24:00"),
]

_serial = 0


def book(start: str, end: str, room: Any = "r-1", **changes: Any) -> dict[str, Any]:
    """A booking with an id of its own; a value of None leaves the field out."""
    global _serial
    _serial += 1
    record = {"id": f"n{_serial}", "room": room, "start": start, "end": end, "attendees": 2} | changes
    return {name: value for name, value in record.items() if value is not None}


def short(record: int, minutes: int) -> Found:
    return (record, "RD-306", "end", f"lasts {minutes} minutes, allowed are 15 to 600")


def hours(record: int, opens: str, closes: str) -> Found:
    return (record, "RD-307", "start", f"is not within the opening hours {opens} to {closes}")


def overlap(record: int, other: int) -> Found:
    return (record, "RD-308", "room", f"overlaps record {other}")


def missing(record: int, field: str) -> Found:
    return (record, "RD-101", field, "is missing")


def no_room(record: int, name: str) -> Found:
    return (record, "RD-301", "room", f"no room matches '{name}'")


def bad_time(record: int, field: str, text: str) -> Found:
    return (record, "RD-302", field, f"'{text}' is not a time")


def skipped(record: int, field: str, text: str, zone: str = "Europe/Berlin") -> Found:
    return (record, "RD-303", field, f"{text} is skipped by the clocks in {zone}")


def twice(record: int, field: str, text: str, zone: str = "Europe/Berlin") -> Found:
    return (record, "RD-304", field, f"{text} happens twice in {zone}, write it with its offset")


def backwards(record: int) -> Found:
    return (record, "RD-305", "end", "is not after the start")


def crowded(record: int, people: int, capacity: int) -> Found:
    return (record, "RD-309", "attendees", f"{people} people in a room for {capacity}")


def bad_status(record: int, status: str) -> Found:
    return (record, "RD-310", "status", f"must be 'booked' or 'cancelled', not '{status}'")


def day(number: int, start: str, end: str, room: str = "r-1", **changes: Any) -> dict[str, Any]:
    """A booking on a quiet day of June 2025."""
    return book(f"2025-06-{number:02d}T{start}", f"2025-06-{number:02d}T{end}", room, **changes)


CHECKS: dict[str, list[Case]] = {
    "clean": [
        Case("nothing to report", [day(1, "09:00", "10:00"), day(1, "10:00", "11:00", status="booked")], []),
        Case("empty list", [], []),
    ],
    "everything": [
        Case(
            "one record with seven problems",
            [
                day(1, "09:00", "10:00", id="x"),
                book("2025-06-01T08:30Z", "2025-06-01T07:00Z", "attic", id="x", attendees=0, status="maybe", colour=1),
                book("2025-06-01 09:00", None, "r-2", attendees=5, id=7),
                {},
                ["r-1"],
            ],
            [
                (2, "RD-103", "id", "'x' is already used by record 1"),
                (2, "RD-104", "colour", "is not a known field"),
                (2, "RD-105", "attendees", "must be at least 1, not 0"),
                no_room(2, "attic"),
                backwards(2),
                bad_status(2, "maybe"),
                missing(3, "end"),
                (3, "RD-102", "id", "must be text, not a whole number"),
                bad_time(3, "start", "2025-06-01 09:00"),
                crowded(3, 5, 4),
                *(missing(4, field) for field in ("attendees", "end", "id", "room", "start")),
                (5, "RD-102", "-", "must be an object, not a list"),
            ],
        ),
        Case(
            "one booking that breaks several rules at once",
            [
                book("2025-06-01T06:00", "2025-06-01T09:30", "office"),
                book("2025-06-01T07:00", "2025-06-01T19:00", "office", attendees=11),
                book("2025-06-30", "2025-06-02T01:99", "nowhere"),
            ],
            [
                hours(1, "08:30", "18:00"),
                short(2, 720),
                hours(2, "08:30", "18:00"),
                overlap(2, 1),
                crowded(2, 11, 10),
                no_room(3, "nowhere"),
                bad_time(3, "end", "2025-06-02T01:99"),
                bad_time(3, "start", "2025-06-30"),
            ],
        ),
        Case(
            "rules that need the room are left out without one",
            [
                book("2025-03-30T02:30", "2025-03-30T02:00", "nowhere"),
                book("2025-06-01T09:00Z", "2025-06-01T11:05+02:00", "nowhere", attendees=500),
                book("2025-06-01T09:00Z", "2025-06-01T09:05", "nowhere"),
                book("2025-06-01T11:00+02:00", "2025-06-01T09:00Z", None),
            ],
            [no_room(1, "nowhere"), no_room(2, "nowhere"), short(2, 5), no_room(3, "nowhere")]
            + [missing(4, "room"), backwards(4)],
        ),
    ],
    "overlaps": [
        Case(
            "touching bookings are fine",
            [
                day(1, "10:00", "11:00"),
                day(1, "11:00", "12:00"),
                day(1, "09:00", "10:00"),
                day(1, "10:00", "11:00", "r-2"),
            ],
            [],
        ),
        Case(
            "every pair, on the later record, in the order of the list",
            [
                day(2, "14:00", "15:00"),
                day(2, "09:00", "18:00"),
                day(2, "10:00", "10:30"),
                day(2, "10:30", "11:00"),
                day(2, "10:59", "14:01"),
                day(2, "10:00", "10:30", "r-2"),
            ],
            [overlap(2, 1), overlap(3, 2), overlap(4, 2), overlap(5, 1), overlap(5, 2), overlap(5, 4)],
        ),
        Case(
            "cancelled bookings occupy nothing",
            [
                day(3, "09:00", "10:00", status="cancelled"),
                day(3, "09:00", "10:00"),
                day(3, "09:00", "10:00", status=" cancelled "),
                day(3, "09:30", "09:40", status="cancelled", attendees=11),
                day(3, "09:30", "09:45", status="Cancelled"),
            ],
            [short(4, 10), crowded(4, 11, 10), overlap(5, 2), bad_status(5, "Cancelled")],
        ),
        Case(
            "bookings that break another rule still occupy their room",
            [
                book("2025-06-04T20:00", "2025-06-05T09:00"),
                day(5, "08:59", "09:01"),
                day(5, "08:50", "08:40"),
                day(5, "08:00", "08:30", attendees=99),
            ],
            [short(1, 780), hours(1, "00:00", "24:00"), short(2, 2), overlap(2, 1), backwards(3), overlap(4, 1)]
            + [crowded(4, 99, 10)],
        ),
        Case(
            "instants are compared, however they are written",
            [
                book("2025-06-06T12:00", "2025-06-06T13:00"),
                book("2025-06-06T09:00Z", "2025-06-06T10:00Z"),
                book("2025-06-06T09:59Z", "2025-06-06T10:15Z"),
                book("2025-06-06T15:00+04:00", "2025-06-06T15:30+04:00"),
                book("2025-10-26T02:15+02:00", "2025-10-26T02:45+02:00"),
                book("2025-10-26T02:15+01:00", "2025-10-26T02:45+01:00"),
                book("2025-10-26T02:30+02:00", "2025-10-26T03:00"),
            ],
            [overlap(3, 1), overlap(3, 2), overlap(7, 5), overlap(7, 6)],
        ),
    ],
    "lengths": [
        Case(
            "15 and 600 minutes are allowed",
            [day(1, "09:00", "09:15"), day(1, "10:00", "20:00"), day(2, "09:00", "09:14"), day(2, "10:00", "20:01")],
            [short(3, 14), short(4, 601)],
        ),
        Case(
            "end before or at the start",
            [day(3, "09:00", "09:00"), day(3, "12:00", "09:00", "office"), day(3, "07:00", "06:59", "office")],
            [backwards(1), backwards(2), backwards(3)],
        ),
        Case(
            "the clocks go forward",
            [
                book("2025-03-30T01:50", "2025-03-30T03:05"),
                book("2025-03-30T01:50", "2025-03-30T03:00", "r-2"),
                book("2025-03-30T01:30", "2025-03-30T12:30", "Garden Room"),
                book("2025-03-30T01:30", "2025-03-30T12:31", "r-2"),
            ],
            [short(2, 10), overlap(3, 1), short(4, 601), overlap(4, 2)],
        ),
        Case(
            "the clocks go back",
            [
                book("2025-10-26T00:30", "2025-10-26T09:30"),
                book("2025-10-26T00:30", "2025-10-26T10:00", "r-2"),
                book("2025-10-26T02:50+02:00", "2025-10-26T02:05+01:00", "r-2", status="cancelled"),
                book("2025-10-26T02:05+02:00", "2025-10-26T02:05+01:00", "r-2", status="cancelled"),
                book("2025-10-26T02:05+01:00", "2025-10-26T02:50+02:00", "r-2", status="cancelled"),
            ],
            [short(2, 630), backwards(5)],
        ),
    ],
    "clock-changes": [
        Case(
            "skipped local times",
            [
                book("2025-03-30T02:00", "2025-03-30T03:00"),
                book("2025-03-30T01:00", "2025-03-30T02:59"),
                book("2025-03-30T02:15", "2025-03-30T02:45"),
                book("2025-03-30T01:30", "2025-03-30T03:00"),
                book("2025-03-30T03:30", "2025-03-30T04:30", "Agora"),
                book("2026-03-29T02:00", "2026-03-29T04:00"),
                book("2025-03-30T02:15+01:00", "2025-03-30T03:30"),
            ],
            [
                skipped(1, "start", "2025-03-30T02:00"),
                skipped(2, "end", "2025-03-30T02:59"),
                skipped(3, "end", "2025-03-30T02:45"),
                skipped(3, "start", "2025-03-30T02:15"),
                skipped(5, "start", "2025-03-30T03:30", "Europe/Athens"),
                skipped(6, "start", "2026-03-29T02:00"),
            ],
        ),
        Case(
            "local times that happen twice",
            [
                book("2025-10-26T02:00", "2025-10-26T03:00"),
                book("2025-10-26T01:00", "2025-10-26T02:59"),
                book("2025-10-26T02:15", "2025-10-26T02:45"),
                book("2025-10-26T01:59", "2025-10-26T03:00"),
                book("2025-10-26T01:30", "2025-10-26T09:30", "Tagus", attendees=12),
                book("2025-10-26T02:00Z", "2025-10-26T02:30Z"),
            ],
            [
                twice(1, "start", "2025-10-26T02:00"),
                twice(2, "end", "2025-10-26T02:59"),
                twice(3, "end", "2025-10-26T02:45"),
                twice(3, "start", "2025-10-26T02:15"),
                twice(5, "start", "2025-10-26T01:30", "Europe/Lisbon"),
                crowded(5, 12, 10),
            ],
        ),
    ],
    "hours": [
        Case(
            "on the clock at the room",
            [
                day(1, "08:30", "09:00", "office"),
                day(1, "17:00", "18:00", "office"),
                day(2, "08:29", "09:00", "office"),
                day(2, "17:00", "18:01", "office"),
                day(6, "18:00", "19:00", "office"),
                book("2025-06-03T06:30Z", "2025-06-03T07:30Z", "office"),
                book("2025-06-04T08:30Z", "2025-06-04T16:30Z", "office"),
                book("2025-06-05T08:00Z", "2025-06-05T16:00Z", "Tagus"),
                book("2025-01-08T08:30Z", "2025-01-08T10:00Z", "Tagus"),
            ],
            [hours(record, "08:30", "18:00") for record in (3, 4, 5, 7)] + [hours(9, "09:00", "17:00")],
        ),
        Case(
            "a room that closes at midnight",
            [
                book("2025-06-01T20:00", "2025-06-02T00:00"),
                book("2025-06-02T23:00", "2025-06-03T00:01"),
                book("2025-06-04T00:00", "2025-06-04T01:00"),
                book("2025-06-30T19:00", "2025-07-01T00:00", "Agora"),
                book("2025-12-31T21:00Z", "2025-12-31T22:00Z", "Agora"),
                book("2025-12-31T21:30Z", "2025-12-31T22:30Z", "Agora", status="cancelled"),
                book("2025-06-05T14:00", "2025-06-06T09:00", "office"),
            ],
            [hours(2, "00:00", "24:00"), hours(6, "06:00", "24:00"), short(7, 1140), hours(7, "08:30", "18:00")],
        ),
    ],
    "rooms": [
        Case(
            "rooms by id or name, compared by key",
            [
                day(1, "09:00", "10:00", "GARDEN_room"),
                day(1, "09:30", "10:30", "  garden -  room "),
                day(1, "10:15", "11:00", "ｒ-1"),
                day(1, "09:00", "10:00", "strasse süd"),
                day(1, "09:59", "10:30", "STRASSE-SU\u0308D", attendees=5),
                day(1, "09:00", "10:00", "Gardenroom"),
                day(1, "09:00", "10:00", 1),
                day(1, "09:00", "10:00", " "),
            ],
            [
                overlap(2, 1),
                overlap(3, 2),
                overlap(5, 4),
                crowded(5, 5, 4),
                no_room(6, "Gardenroom"),
                (7, "RD-102", "room", "must be text, not a whole number"),
                missing(8, "room"),
            ],
        ),
    ],
    "shape": [
        Case(
            "kinds, trimming and ids",
            [
                day(1, "09:00", "10:00", id="a"),
                day(1, "10:00", "11:00", id="A"),
                day(1, "11:00", "12:00", id=" a "),
                day(1, "12:00", "13:00", id="a"),
                day(1, "13:00", "14:00", attendees=True),
                day(1, "14:00", "15:00", attendees=2.0, status=3),
                day(1, "15:00", "16:00", attendees="2", status=""),
                book(" 2025-06-01T16:00 ", "2025-06-01T17:00", note="x", attendees=-1),
                {"id": "z", "room": "r-1", "start": None, "end": "", "attendees": 1, "status": None},
                book("2025-06-01T17:00:00", "20250601T1800"),
            ],
            [
                (3, "RD-103", "id", "'a' is already used by record 1"),
                (4, "RD-103", "id", "'a' is already used by record 1"),
                (5, "RD-102", "attendees", "must be a whole number, not true or false"),
                (6, "RD-102", "attendees", "must be a whole number, not a fraction"),
                (6, "RD-102", "status", "must be text, not a whole number"),
                (7, "RD-102", "attendees", "must be a whole number, not text"),
                (8, "RD-104", "note", "is not a known field"),
                (8, "RD-105", "attendees", "must be at least 1, not -1"),
                missing(9, "end"),
                missing(9, "start"),
                bad_time(10, "end", "20250601T1800"),
                bad_time(10, "start", "2025-06-01T17:00:00"),
            ],
        ),
    ],
    "exit-status": [
        Case("warnings do not count", [day(1, "09:00", "10:00", attendees=11)], [crowded(1, 11, 10)], (), 0),
        Case("unless strict", [day(1, "09:00", "10:00", attendees=11)], [crowded(1, 11, 10)], ("--strict",), 1),
        Case("errors count", [day(1, "09:00", "09:01")], [short(1, 1)], (), 1),
        Case("strict and clean", [day(1, "09:00", "10:00")], [], ("--strict",), 0),
    ],
}
