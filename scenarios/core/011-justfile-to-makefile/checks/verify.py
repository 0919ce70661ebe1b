"""Run the targets of the Makefile and compare what they do with what the recipes did.

usage: verify.py [CHECK ...]
"""

import functools
import os
import re
import shlex
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

sys.dont_write_bytecode = True
sys.path.insert(0, str(Path(__file__).resolve().parent))

import closed  # noqa: E402, F401
from alone import run_alone  # noqa: E402
from callers import just_left, nightly, readme, workflow  # noqa: E402
from report import Report, commands  # noqa: E402
from sandbox import Sandbox, template  # noqa: E402

UNITTEST = "unittest discover -s tests"
WEB = """#Version: 1.0
#Fields: date time c-ip cs-method cs-uri-stem sc-status time-taken
2024-06-01 11:00:00 10.9.0.1 GET /a 500 90
2024-06-01 11:10:00 10.9.0.2 GET /b 200 400
2024-06-01 11:20:00 10.9.0.2 GET /c 503 600
2024-06-01 12:00:00 10.9.0.3 GET /d 200 700
2024-06-01 12:30:00 10.9.0.4 GET /e 504 20
2024-06-01 13:30:00 10.9.0.5 GET /a 499 20
"""
TALKERS = ["2 10.9.0.2", "1 10.9.0.1", "1 10.9.0.3", "1 10.9.0.4", "1 10.9.0.5"]
SEMICOLONS = WEB.replace("#", ";").replace("10.9.0.1 ", "10.9.0.5 ")
TARGETS = "test lint check prepare index summary top-talkers errors note weekly docs bundle publish rotate".split()


def defaults(report: Report) -> None:
    """Each target alone, without variables."""
    expected = {
        "test": [UNITTEST],
        "lint": ["logtools lint samples/access.log samples/shop.log"],
        "index": ["logtools prepare build", "logtools index samples/access.log build/index.json"],
        "summary": ["logtools summary --top 10 samples/access.log"],
    }
    with Sandbox(light=True) as box:
        for target, calls in expected.items():
            result = box.make(target)
            report.equal(f"make {target}: exit code", 0, result.code)
            report.equal(f"make {target}", calls, commands(box.calls()))
        lines = box.make("top-talkers").out.splitlines()
        report.equal("make top-talkers", ["4 10.0.0.7", "3 10.0.0.9", "1 10.0.0.12"], lines)


def parameters(report: Report) -> None:
    """Values given on the command line."""
    cases = {
        "test ARGS='-k parse -v'": [f"{UNITTEST} -k parse -v"],
        "summary TOP=4 LOG=samples/shop.log": ["logtools summary --top 4 samples/shop.log"],
        "summary SAMPLE=samples/shop.log": ["logtools summary --top 10 samples/shop.log"],
        "index LOG=samples/shop.log OUT=dist": [
            "logtools prepare dist",
            "logtools index samples/shop.log dist/index.json",
        ],
        "note OUT=dist TEXT=hello": ["logtools note dist/journal.txt hello"],
    }
    with Sandbox(light=True) as box:
        for line, calls in cases.items():
            box.make(*shlex.split(line))
            report.equal(f"make {line}", calls, commands(box.calls()))
        web = box.log("web.log", WEB)
        report.equal("talkers, TOP=4", TALKERS[:4], box.make("top-talkers", f"LOG={web}", "TOP=4").out.splitlines())
        other = box.log("other.log", SEMICOLONS)
        lines = box.make("top-talkers", f"LOG={other}", "COMMENT=^;", "TOP=1").out.splitlines()
        report.equal("talkers, COMMENT=^;", ["2 10.9.0.2"], lines)
        box.make("bundle", "OUT=dist", "VERSION=9.9")
        report.equal("bundle, VERSION=9.9", True, (box.root / "dist/logtools-9.9.tar.gz").is_file())
        report.equal("page, VERSION=9.9", True, "log-tools 9.9\n" in box.read("dist/site/index.md"))
        box.make("bundle", "BUNDLE=own.tar.gz")
        report.equal("bundle, BUNDLE=own.tar.gz", True, (box.root / "own.tar.gz").is_file())
        names = [name for name in ("OUT", "TOP", "dist/logtools-1.4.0.tar.gz") if (box.root / name).exists()]
        report.equal("files that must not be there", [], names)


def environment(report: Report) -> None:
    """Only PYTHON, LOGTOOLS_OUT and LOGTOOLS_LIMIT are read from the environment."""
    noise = {"TOP": "1", "LOG": "samples/shop.log", "OUT": "noise", "SAMPLE": "samples/shop.log", "TEXT": "noise"}
    noise |= {"ARGS": "--noise", "VERSION": "0", "BUNDLE": "noise.tar.gz", "COMMENT": "x", "DIR": "noise", "KEEP": "0"}
    with Sandbox(light=True) as box:
        box.make("index", **noise)
        calls = box.calls()
        expected = ["logtools prepare build", "logtools index samples/access.log build/index.json"]
        report.equal("make index, noise in the environment", expected, commands(calls))
        report.equal("LOGTOOLS_LIMIT of the commands", {"500"}, {call.limit for call in calls})
        box.make("summary", **noise)
        box.make("test", **noise)
        expected = ["logtools summary --top 10 samples/access.log", UNITTEST]
        report.equal("summary and test, noise in the environment", expected, commands(box.calls()))
        report.equal("talkers, noise", 3, len(box.make("top-talkers", **noise).out.splitlines()))
        report.equal("note without text, TEXT in the environment fails", True, box.make("note", **noise).code != 0)
        own = box.interpreter("python-own")
        box.make("index", LOGTOOLS_OUT="pages", LOGTOOLS_LIMIT="1000", PYTHON=str(own))
        calls = box.calls()
        report.equal("LOGTOOLS_OUT", "pages/index.json", calls[-1].args[-1] if calls else "no call")
        report.equal("LOGTOOLS_LIMIT in the environment", {"1000"}, {call.limit for call in calls})
        report.equal("PYTHON", {"python-own"}, {call.interpreter for call in calls})
        box.make("index", "OUT=dist", "LOGTOOLS_LIMIT=600", f"PYTHON={own}", LOGTOOLS_OUT="pages", LOGTOOLS_LIMIT="1")
        calls = box.calls()
        report.equal("OUT before LOGTOOLS_OUT", "dist/index.json", calls[-1].args[-1] if calls else "no call")
        report.equal("LOGTOOLS_LIMIT on the command line", {"600"}, {call.limit for call in calls})
        report.equal("PYTHON on the command line", {"python-own"}, {call.interpreter for call in calls})


def order(report: Report) -> None:
    """Dependencies: once, in order, never at the same time, with and without -j."""
    index = ["logtools prepare build", "logtools index samples/access.log build/index.json"]
    gate = ["logtools lint samples/access.log samples/shop.log", UNITTEST]
    pack = [*index, "logtools contents build/site"]
    weekly = [
        "logtools prepare build",
        "logtools index samples/shop.log build/index.json",
        "logtools summary --top 25 samples/shop.log",
        "logtools note build/journal.txt weekly report of samples/shop.log",
    ]
    cases = {"bundle": pack, "publish": [*gate, *pack], "weekly LOG=samples/shop.log": weekly}
    for line, expected in cases.items():
        with Sandbox(light=True) as box:
            result = box.make(*line.split())
            report.equal(f"make {line}: exit code", 0, result.code)
            report.equal(f"make {line}", expected, commands(box.calls()))
            if line.startswith("weekly"):
                report.equal("last line of weekly", "report of samples/shop.log complete", last_line(result.out))
    for line in ("publish", "weekly LOG=samples/shop.log"):
        with Sandbox(light=True, delay=True) as box:
            box.make(*line.split(), MAKEFLAGS="-j8")
            report.equal(f"make {line} with -j8: commands at the same time", False, box.overlaps())
            report.equal(f"make {line} with -j8", cases[line], commands(box.calls()))


def last_line(text: str) -> str:
    """The last line that is not empty."""
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1] if lines else ""


def always(report: Report) -> None:
    """A target runs although there is a file of its name; the index is only built again for a newer log."""
    with Sandbox(light=True) as box:
        for name in TARGETS:
            if not (box.root / name).exists():
                (box.root / name).touch()
        for target, first in {"test": "unittest", "lint": "lint", "summary": "summary", "index": "prepare"}.items():
            for attempt in ("first", "second"):
                box.make(target)
                report.equal(f"make {target}, {attempt} run", True, first in " ".join(commands(box.calls())))
        box.make("check")
        report.equal("make check", 2, len(box.calls()))
        report.equal("make top-talkers", 3, len(box.make("top-talkers").out.splitlines()))
        report.equal("make errors", 2, len(box.make("errors").out.splitlines()))
        box.make("docs")
        calls = commands(box.calls())
        report.equal("make docs", "logtools contents build/site", calls[-1] if calls else "no call")
        box.make("index")
        report.equal("make index, index is newer", ["logtools prepare build"], commands(box.calls()))
        os.utime(box.root / "samples/access.log", (2_000_000_000, 2_000_000_000))
        box.make("index")
        report.equal("make index, log is newer", 2, len(box.calls()))


def failures(report: Report) -> None:
    """Failing commands stop the run, unless the line said otherwise."""
    with Sandbox(light=True) as box:
        for line in ("errors LOG=missing.log", "top-talkers LOG=missing.log", "summary LOG=missing.log", "note"):
            report.equal(f"make {line} fails", True, box.make(*line.split()).code != 0)
        report.equal("note without text starts nothing", False, "note" in " ".join(commands(box.calls())))
        web = box.log("quiet.log", WEB.replace(" 50", " 20"))
        report.equal("make errors on a log without errors: exit code", 0, box.make("errors", f"LOG={web}").code)
        report.equal("make prepare step without a lock: exit code", 0, box.make("index").code)
        (box.root / "build/index.lock").touch()
        box.make("index")
        report.equal("lock is removed", False, (box.root / "build/index.lock").exists())
        box.calls()
        box.log("samples/broken.log", WEB + "no request\n")
        report.equal("make publish with a broken sample fails", True, box.make("publish").code != 0)
        report.equal("nothing runs after lint", 1, len(box.calls()))
        box.make("weekly", "LOG=samples/broken.log")
        report.equal("a failed weekly leaves no note", "", box.read("build/journal.txt"))
        for number in range(1, 6):
            box.log(f"logs/a{number}.log", "x\n")
        (box.root / "logs/a2.log.gz").write_bytes(b"in the way")
        report.equal("make rotate fails when gzip does", True, box.make("rotate").code != 0)
        report.equal("rotate stops there", True, (box.root / "logs/a1.log").is_file())


def results(report: Report) -> None:
    """Output and files of the longer targets."""
    import gzip
    import tarfile

    with Sandbox() as box:
        web = box.log("data/web.log", WEB)
        report.equal("top-talkers", TALKERS[:3], box.make("top-talkers", f"LOG={web}").out.splitlines())
        lines = [line.strip() for line in box.make("errors", f"LOG={web}").out.splitlines()]
        report.equal("errors", ["2 2024-06-01T11", "1 2024-06-01T12"], lines)
        packed = last_line(box.make("bundle").out)
        report.equal("last line of bundle", "packed build/logtools-1.4.0.tar.gz", packed)
        report.equal("slow requests in the index", True, '"slow": 4' in box.read("build/index.json"))
        page = (box.root / "docs/fields.md").read_text().replace("log-tools @VERSION@\n", "log-tools 1.4.0\n")
        report.equal("build/site/fields.md", page, box.read("build/site/fields.md"))
        listing = "fields.md: Fields\nindex.md: Web logs\n"
        report.equal("build/site/contents.txt", listing, box.read("build/site/contents.txt"))
        bundle = box.root / "build/logtools-1.4.0.tar.gz"
        names: list[str] = []
        if bundle.is_file():
            with tarfile.open(bundle) as archive:
                names = sorted(archive.getnames())
        site = ["site", "site/contents.txt", "site/fields.md", "site/index.md"]
        report.equal("names in the bundle", ["index.json", *site], names)
        for number in range(1, 5):
            box.log(f"logs/a{number}.log", f"{number}\n")
            box.log(f"old/b{number}.log", f"{number}\n")
        report.equal("rotate", "4 logs, the newest 2 stay as they are", last_line(box.make("rotate").out))
        box.make("rotate", "DIR=old", "KEEP=3")
        kept = ["a1.log.gz", "a2.log.gz", "a3.log", "a4.log", "b1.log.gz", "b2.log", "b3.log", "b4.log"]
        found = [path for folder in ("logs", "old") for path in sorted((box.root / folder).iterdir())]
        report.equal("logs after rotate", kept, [path.name for path in found])
        if found and found[0].suffix == ".gz":
            report.equal("content of a1.log.gz", b"1\n", gzip.decompress(found[0].read_bytes()))


def text(report: Report) -> None:
    """The text of a note arrives as it was given."""
    samples = [
        "two  words",
        "it's done",
        "\"quoted\" 'twice'",
        "a; touch owned & b | c",
        "`touch owned` and $(touch owned)",
        "costs $5, ${HOME} and $$ remain",
        "back\\slash \\n * ? # %",
    ]
    with Sandbox(light=True) as box:
        for sample in samples:
            box.make("note", f"TEXT={sample}")
            last = [call.args[-1] for call in box.calls()]
            report.equal(f"note {sample!r}", [sample], last)
        report.equal("journal", "\n".join(samples) + "\n", box.read("build/journal.txt"))
        report.equal("commands inside the text were run", False, (box.root / "owned").exists())


def warnings(report: Report) -> None:
    """Make has nothing to say about the Makefile."""
    with Sandbox(light=True) as box:
        for target in ("publish", "weekly"):
            result = box.run("make", "-n", target)
            found = [line for line in result.err.splitlines() if "warning" in line]
            report.equal(f"make -n {target}: exit code", 0, result.code)
            report.equal(f"make -n {target}: warnings", [], found)


def listing(report: Report) -> None:
    """Plain make prints the public targets and their descriptions, and does nothing else."""
    source = Path(os.environ["BASE"], "Justfile").read_text()
    public = dict((name, doc) for doc, name in re.findall(r"^# (.+)\n([a-z-]+)(?: [^:\n]*)?:(?!=)", source, re.M))
    with Sandbox(light=True) as box:
        before = sorted(path.name for path in box.root.iterdir())
        result = box.make()
        report.equal("make: exit code", 0, result.code)
        lines = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in result.out.splitlines()]
        for name, doc in public.items():
            word = re.compile(rf"(?<![\w-]){re.escape(name)}(?![\w-])")
            hit = any(word.search(line) and doc.rstrip(".").lower() in line.lower() for line in lines)
            report.equal(f"make lists {name!r} with {doc!r}", True, hit)
        report.equal("make lists prepare", False, any(re.search(r"\bprepare\b", line) for line in lines))
        report.equal("commands started by make", [], commands(box.calls()))
        report.equal("files after make", before, sorted(path.name for path in box.root.iterdir()))


CHECKS: dict[str, Callable[[Report], None]] = {
    "defaults": defaults,
    "parameters": parameters,
    "environment": environment,
    "order": order,
    "always": always,
    "failures": failures,
    "results": results,
    "text": text,
    "warnings": warnings,
    "listing": listing,
    "nightly": nightly,
    "workflow": workflow,
    "readme": readme,
    "just-left": just_left,
}


def fault_of(check: Callable[[Report], None]) -> str:
    """What a check finds wrong."""
    if not Path("Makefile").is_file() or any(Path(name).exists() for name in ("GNUmakefile", "makefile")):
        return "expected a Makefile in the root and no GNUmakefile or makefile next to it"
    report = Report()
    check(report)
    return report.fault()


def main() -> int:
    source = template()
    try:
        checks = {name: functools.partial(fault_of, CHECKS[name]) for name in sys.argv[1:] or CHECKS}
        return run_alone(checks, [Path.cwd(), Path(os.environ["BASE"]), source])
    finally:
        shutil.rmtree(source.parent, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
