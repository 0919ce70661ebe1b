"""Runs the package and reports what came out: driver.py SOURCES DESCRIPTOR, the job on standard input.

A job is either a list of cases whose results are reported, or a list of workloads for which the
steps are counted as well. Nothing is compared here.
"""

import hashlib
import json
import os
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))

import meter as metering  # noqa: E402
from workloads import WORKLOADS  # noqa: E402

sources, descriptor = Path(sys.argv[1]), int(sys.argv[2])
job = json.load(sys.stdin)
report: list = []


def send() -> None:
    data = json.dumps(report).encode()
    while data:
        data = data[os.write(descriptor, data) :]


def measure(package, meter) -> None:
    for name, size, limit, depots in job["workloads"]:
        scans = [package.Scan(*row) for row in WORKLOADS[name](size)]
        text = ""
        meter.start(limit)
        try:
            text = package.render(package.build_report(scans, package.DepotList(depots)))
        except metering.TooMany:
            pass
        except Exception as error:
            text = f"raised {type(error).__name__}: {error}"
        steps = meter.steps
        meter.start(0)
        report.append([name, steps, hashlib.sha256(text.encode()).hexdigest()[:16]])


def note(value):
    """Notes as JSON cannot tell them: NaN objects by name, anything else as it is."""
    if isinstance(value, dict):
        if value.keys() == {"$nan"}:
            return NANS.setdefault(value["$nan"], float("nan"))
        return {key: note(item) for key, item in value.items()}
    return [note(item) for item in value] if isinstance(value, list) else value


NANS: dict[int, float] = {}


def plain(package, value):
    if isinstance(value, package.Report):
        return {
            "depots": [[r.name, r.scans, r.parcels, r.grams] for r in value.depots],
            "notes": [[type(r.note).__name__, repr(r.note), r.scans] for r in value.notes],
            "stops": [[r.parcel, r.start, r.end, r.minutes] for r in value.stops],
            "busiest": [repr(value.busiest)],
        }
    return value


def cases(package) -> None:
    for steps in job["cases"]:
        answers = []
        kept: dict = {}
        for step in steps:
            try:
                answers.append(plain(package, perform(package, step, kept)))
            except Exception as error:
                answers.append(["raised", type(error).__name__, str(error)])
        report.append(answers)


def perform(package, step, kept):
    what, *rest = step
    if what == "write":
        Path(rest[0]).write_text(rest[1], encoding="utf-8")
        return None
    if what == "depots":
        kept["depots"] = package.DepotList(rest[0])
        return None
    if what == "name":
        return kept["depots"].name_of(rest[0])
    if what == "scans":
        kept["scans"] = [package.Scan(*row[:4], note(row[4])) for row in rest[0]]
        return None
    if what == "read":
        kept["scans"] = package.read_scans(rest[0])
        return [[s.parcel, s.depot, s.minute, s.grams, repr(s.note)] for s in kept["scans"]]
    if what == "build":
        before = repr(kept["scans"])
        kept["report"] = package.build_report(kept["scans"], kept["depots"])
        return [plain(package, kept["report"]), repr(kept["scans"]) == before]
    if what == "tuple":
        return plain(package, package.build_report(tuple(kept["scans"]), kept["depots"]))
    if what == "render":
        return package.render(kept["report"])
    if what == "table":
        kept["table"] = package.Table(*rest[0], rows=rest[1])
        return None
    if what == "add":
        return kept["table"].add(*rest)
    if what == "rows":
        kept["table"].rows.append(rest[0])
        return None
    if what == "text":
        table = kept["table"]
        return [table.render(), table.line(table.header), [table.width(i) for i in range(len(table.header))]]
    raise ValueError(what)


if "workloads" in job:
    counter = metering.Meter()
    counter.stop = lambda: (send(), os._exit(3))
    sys.meta_path.insert(0, metering.Finder(sources, counter))
    import scanlog

    measure(scanlog, counter)
else:
    sys.path.insert(0, str(sources))
    import scanlog

    cases(scanlog)
send()
